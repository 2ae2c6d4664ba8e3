//! What is sent: the figures of one moment as JSON, for one topic.
//!
//! In: the registry and what was seen of each pool. Out: a [`Frame`]; its first one for a client carries the history that the
//! client has not seen, those after it only what is new, within [`MOST_BYTES`] for each pool. Documented for users in
//! `docs/dashboard-api.md`.

use crate::audit::{self, milliseconds};
use crate::clip::{clip, fit};
use crate::dashboard::Shared;
use crate::detail::{self, Detail};
use crate::history::{LevelRow, Row};
use crate::registry::Entry;
use crate::schedules::{self, ScheduleRow};
use crate::stream::Topic;
use crate::tasks::is_zero;
use punctual::{Capacity, State, Stats};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed};
use std::time::{Duration, SystemTime};

/// Rows of history that a first frame carries: five minutes.
pub(crate) const FIRST_ROWS: usize = 300;

/// What a pool may take of a frame, in the overview; and a whole frame of the stream of one pool, after the first.
const MOST_BYTES: usize = 4_000;

/// Of that, in bytes: a pool's name; all its views, and the name of each.
const NAME: usize = 400;
const VIEWS: usize = 2_000;
const VIEW_NAME: usize = 100;

/// Seconds in the small chart of the overview.
const SPARK: usize = 60;

/// One moment.
#[derive(Debug, Serialize)]
pub(crate) struct Frame {
    /// When the last look was (milliseconds since 1970): what `Last-Event-ID` brings back.
    pub(crate) id: u64,
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    /// Whether it carries history, not only news.
    pub(crate) first: bool,
    pub(crate) pools: Vec<PoolRow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) detail: Option<Detail>,
    /// All of them in a first frame, then those that changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedules: Option<Vec<ScheduleRow>>,
    /// Pool and number of schedules that are no longer there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) schedules_gone: Vec<(u64, u64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<AuditPart>,
    pub(crate) cost: Cost,
}

/// A pool in the overview.
#[derive(Debug, Serialize)]
pub(crate) struct PoolRow {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) state: &'static str,
    pub(crate) paused: bool,
    pub(crate) threads: usize,
    pub(crate) core: usize,
    pub(crate) max: usize,
    pub(crate) active: usize,
    pub(crate) queued: usize,
    /// Absent: no bound.
    pub(crate) capacity: Option<usize>,
    /// Milliseconds, as all times below.
    pub(crate) oldest: Option<f64>,
    /// Tasks that ended in the last second.
    pub(crate) rate: f64,
    pub(crate) rejected: u64,
    pub(crate) rejected_lately: u64,
    pub(crate) stalled: f64,
    pub(crate) schedules: usize,
    pub(crate) timers: usize,
    /// As many as there is room for; not in the stream of one pool.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) views: Vec<ViewRow>,
    /// Views beside these.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) more_views: usize,
    /// Absent: no lane has anything to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lanes: Option<LaneRow>,
    /// Waiting tasks in the last minute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) spark: Vec<u32>,
}

/// A view of a pool.
#[derive(Debug, Serialize)]
pub(crate) struct ViewRow {
    pub(crate) name: String,
    pub(crate) queued: usize,
    pub(crate) active: usize,
    pub(crate) oldest: Option<f64>,
    pub(crate) taken: u64,
}

/// Lanes (those of keys too) that have something to do.
#[derive(Debug, Serialize)]
pub(crate) struct LaneRow {
    pub(crate) running: usize,
    pub(crate) waiting: usize,
    /// Of all lines of the pool: those of limits too.
    pub(crate) oldest: Option<f64>,
}

/// Changes made through the page: all that are kept in a first frame, then the new ones.
#[derive(Debug, Serialize)]
pub(crate) struct AuditPart {
    pub(crate) entries: Vec<audit::Entry>,
    pub(crate) refused: u64,
}

/// What the looking itself costs.
#[derive(Debug, Serialize)]
pub(crate) struct Cost {
    /// Microseconds for the last look at all pools, and for the frames made of it.
    pub(crate) reading: u64,
    pub(crate) framing: u64,
    /// Tabs that listen.
    pub(crate) watchers: usize,
    /// Of the pool that is shown: nanoseconds that counting and timing, and its recorder if it has one, took for each task so far,
    /// as [`punctual::Cost`] estimates them. Prices are measured here, on the dashboard's own thread, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) statistics: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) recorder: Option<f64>,
}

/// A row of history, as an array: a client is sent hundreds of them.
#[derive(Debug, Serialize)]
pub(crate) struct RowJson(
    u64,
    u32,
    u32,
    u32,
    f64,
    u32,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Vec<LevelJson>,
);

#[derive(Debug, Serialize)]
pub(crate) struct LevelJson(u32, Option<f64>, u32, u32);

impl RowJson {
    pub(crate) fn of(row: &Row) -> RowJson {
        let level = |level: &LevelRow| {
            let oldest = level.oldest.milliseconds();
            LevelJson(level.queued, oldest, level.promoted, level.taken)
        };
        RowJson(
            row.time,
            row.queued,
            row.active,
            row.threads,
            tenth(row.rate),
            row.rejected,
            row.oldest.milliseconds(),
            row.wait_half.milliseconds(),
            row.wait_99.milliseconds(),
            row.levels.iter().map(level).collect(),
        )
    }
}

fn tenth(rate: f32) -> f64 {
    (f64::from(rate) * 10.0).round() / 10.0
}

/// Milliseconds, to a microsecond.
pub(crate) fn millis(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// A frame for those who have seen everything up to the last look. For the sampler alone: what was sent is not sent again.
pub(crate) fn next(shared: &Shared, topic: Topic) -> Frame {
    let mut frame = build(shared, topic, None);
    let watched = match topic {
        Topic::Pool(id) => shared.registry.find(id),
        _ => None,
    };
    let left = MOST_BYTES.saturating_sub(json(&frame).len());
    if let (Some(entry), Some(detail)) = (watched, &mut frame.detail) {
        detail.fill(&entry, left);
    }
    frame
}

/// A frame for somebody who has seen what came up to `since` (milliseconds since 1970; 0: nothing).
pub(crate) fn first(shared: &Shared, topic: Topic, since: u64) -> Frame {
    build(shared, topic, Some(since))
}

fn build(shared: &Shared, topic: Topic, since: Option<u64>) -> Frame {
    // Before anything is read: a look that comes meanwhile is noticed by who compares it ([`crate::stream`]).
    let looked = shared.sampler.looked.load(Acquire);
    let entries = shared.registry.all();
    let is_listed = |entry: &&Arc<Entry>| match topic {
        Topic::Overview => true,
        Topic::Pool(id) => entry.id == id,
        Topic::Schedules | Topic::Audit => false,
    };
    let read: Vec<(&Arc<Entry>, Option<Stats>)> = entries
        .iter()
        .filter(is_listed)
        .map(|entry| (entry, entry.control.stats()))
        .collect();
    let with = Parts {
        spark: topic == Topic::Overview,
        views: topic == Topic::Overview || since.is_some(),
    };
    let pools = read
        .iter()
        .map(|(entry, stats)| pool_row(entry, stats.as_ref(), with))
        .collect();
    let detail = match (topic, read.first(), since) {
        (Topic::Pool(_), Some((entry, Some(stats))), Some(since)) => {
            crate::timeline::catch_up(entry, milliseconds(SystemTime::now()));
            Some(detail::first(entry, stats, since))
        }
        (Topic::Pool(_), Some((entry, Some(stats))), None) => Some(detail::news(entry, stats)),
        _ => None,
    };
    let cost = match (topic, read.first()) {
        (Topic::Pool(_), Some((entry, _))) => entry.control.cost(),
        _ => None,
    };
    let (schedules, schedules_gone) = match (topic, since) {
        (Topic::Schedules, Some(_)) => (Some(schedules::all(&entries)), Vec::new()),
        (Topic::Schedules, None) => {
            let (changed, gone) = shared.sampler.schedules().changes(schedules::all(&entries));
            (Some(changed), gone)
        }
        _ => (None, Vec::new()),
    };
    let audit = (topic == Topic::Audit).then(|| {
        let told = match since {
            Some(_) => 0,
            None => shared.sampler.audited.load(Relaxed),
        };
        let (entries, refused) = shared.audit.since(told);
        if let (None, Some(last)) = (since, entries.last()) {
            shared.sampler.audited.store(last.number, Relaxed);
        }
        AuditPart { entries, refused }
    });
    Frame {
        id: looked,
        time: milliseconds(SystemTime::now()),
        first: since.is_some(),
        pools,
        detail,
        schedules,
        schedules_gone,
        audit,
        cost: Cost {
            reading: shared.sampler.reading.load(Relaxed),
            framing: shared.sampler.framing.load(Relaxed),
            watchers: shared.hub.count(),
            statistics: cost.map(|cost| tenth(cost.statistics as f32)),
            recorder: cost.and_then(|cost| cost.recorder).map(|cost| tenth(cost as f32)),
        },
    }
}

/// What a row has beside its figures.
#[derive(Clone, Copy)]
struct Parts {
    spark: bool,
    views: bool,
}

fn pool_row(entry: &Entry, stats: Option<&Stats>, with: Parts) -> PoolRow {
    let seen = entry.seen();
    let spark = if with.spark {
        seen.history.since(0, SPARK).map(|row| row.queued).collect()
    } else {
        Vec::new()
    };
    let mut row = PoolRow {
        id: entry.id,
        name: clip(&entry.name(), NAME).into_owned(),
        state: "gone",
        paused: false,
        threads: 0,
        core: 0,
        max: 0,
        active: 0,
        queued: 0,
        capacity: None,
        oldest: None,
        rate: seen.history.latest().map_or(0.0, |row| tenth(row.rate)),
        rejected: 0,
        rejected_lately: seen.history.rejected_lately(),
        stalled: seen.stalled.map_or(0.0, millis),
        schedules: 0,
        timers: 0,
        views: Vec::new(),
        more_views: 0,
        lanes: None,
        spark,
    };
    let Some(stats) = stats else {
        row.rate = 0.0;
        return row;
    };
    row.state = state_name(stats.state);
    row.paused = stats.paused;
    (row.threads, row.core, row.max) = (stats.threads, stats.size.core, stats.size.max);
    (row.active, row.queued) = (stats.active, stats.queued);
    row.capacity = match stats.capacity {
        Capacity::Bounded(places) => Some(places),
        _ => None,
    };
    row.oldest = stats.oldest_wait.map(millis);
    row.rejected = crate::history::rejected(stats);
    (row.schedules, row.timers) = (stats.schedules, stats.pending_timers);
    let view = |view: &punctual::ViewStats| ViewRow {
        name: clip(&view.name, VIEW_NAME).into_owned(),
        queued: view.queued,
        active: view.active,
        oldest: view.oldest_wait.map(millis),
        taken: view.taken,
    };
    if with.views {
        // There may be many: no more than could fit are made into rows.
        row.views = stats.views.iter().take(50).map(view).collect();
        fit(&mut row.views, VIEWS);
        row.more_views = stats.views.len() - row.views.len();
    }
    let lanes = entry.control.lanes();
    row.lanes = (lanes.running + lanes.waiting > 0).then(|| LaneRow {
        running: lanes.running,
        waiting: lanes.waiting,
        oldest: stats.oldest_in_line.map(millis),
    });
    row
}

pub(crate) fn state_name(state: State) -> &'static str {
    match state {
        State::Running => "running",
        State::Shutdown => "shut down",
        State::Stop => "stopping",
        State::Tidying => "tidying",
        State::Terminated => "terminated",
        _ => "unknown",
    }
}

/// Figures are numbers, names are text: there is nothing that JSON could not say.
pub(crate) fn json<T: Serialize>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_else(|_| "{}".to_owned())
}
