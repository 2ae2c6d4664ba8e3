//! What is sent: the figures of one moment as JSON, for one topic.
//!
//! In: the registry and what was seen of each pool. Out: a [`Frame`]; its first one for a client carries the history that the
//! client has not seen, those after it only what is new. Documented for users in `docs/dashboard-api.md`.

use crate::audit::{self, milliseconds};
use crate::dashboard::Shared;
use crate::detail::{self, Detail};
use crate::history::{LevelRow, Row};
use crate::registry::Entry;
use crate::schedules::{self, ScheduleRow};
use crate::stream::Topic;
use punctual::{Capacity, State, Stats};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

/// Rows of history that a first frame carries: five minutes.
pub(crate) const FIRST_ROWS: usize = 300;

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
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) schedules: Option<Vec<ScheduleRow>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) audit: Option<AuditPart>,
    pub(crate) cost: Cost,
}

/// A pool in the overview.
#[derive(Debug, Serialize)]
pub(crate) struct PoolRow {
    pub(crate) id: u64,
    pub(crate) name: Arc<str>,
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
    pub(crate) views: Vec<ViewRow>,
    /// Waiting tasks in the last minute.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) spark: Vec<u32>,
}

/// A view of a pool.
#[derive(Debug, Serialize)]
pub(crate) struct ViewRow {
    pub(crate) name: Arc<str>,
    pub(crate) queued: usize,
    pub(crate) active: usize,
    pub(crate) oldest: Option<f64>,
    pub(crate) taken: u64,
}

/// Changes made through the page.
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
    /// Nanoseconds that counting, and a recorder where there is one, may cost each task: the limits that
    /// `punctual-bench cost` measures against.
    pub(crate) statistics: u32,
    pub(crate) recorder: u32,
}

const STATISTICS_LIMIT: u32 = 12;
const RECORDER_LIMIT: u32 = 120;

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

/// A frame for somebody who has seen everything up to the last look.
pub(crate) fn next(shared: &Shared, topic: Topic) -> Frame {
    build(shared, topic, None)
}

/// A frame for somebody who has seen what came up to `since` (milliseconds since 1970; 0: nothing).
pub(crate) fn first(shared: &Shared, topic: Topic, since: u64) -> Frame {
    build(shared, topic, Some(since))
}

fn build(shared: &Shared, topic: Topic, since: Option<u64>) -> Frame {
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
    let with_spark = topic == Topic::Overview;
    let pools = read
        .iter()
        .map(|(entry, stats)| pool_row(entry, stats.as_ref(), with_spark))
        .collect();
    let detail = match (topic, read.first()) {
        (Topic::Pool(_), Some((entry, Some(stats)))) => Some(detail::of(entry, stats, since)),
        _ => None,
    };
    let schedules = (topic == Topic::Schedules).then(|| schedules::all(&entries));
    let audit = (topic == Topic::Audit).then(|| {
        let (entries, refused) = shared.audit.since(0);
        AuditPart { entries, refused }
    });
    Frame {
        id: shared.sampler.looked.load(Relaxed),
        time: milliseconds(SystemTime::now()),
        first: since.is_some(),
        pools,
        detail,
        schedules,
        audit,
        cost: Cost {
            reading: shared.sampler.reading.load(Relaxed),
            framing: shared.sampler.framing.load(Relaxed),
            watchers: shared.hub.count(),
            statistics: STATISTICS_LIMIT,
            recorder: RECORDER_LIMIT,
        },
    }
}

fn pool_row(entry: &Entry, stats: Option<&Stats>, with_spark: bool) -> PoolRow {
    let seen = entry.seen();
    let spark = if with_spark {
        seen.history.since(0, SPARK).map(|row| row.queued).collect()
    } else {
        Vec::new()
    };
    let mut row = PoolRow {
        id: entry.id,
        name: entry.name(),
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
        name: Arc::clone(&view.name),
        queued: view.queued,
        active: view.active,
        oldest: view.oldest_wait.map(millis),
        taken: view.taken,
    };
    row.views = stats.views.iter().take(50).map(view).collect();
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
