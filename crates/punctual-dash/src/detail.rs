//! One pool in full: charts, levels, workers, tasks, rejects, advice.
//!
//! In: a pool's control and a snapshot. Out: [`Detail`]. Lists are cut: what runs and waits is asked for in full, and with a
//! filter, through its own route.

use crate::frame::{FIRST_ROWS, RowJson, millis};
use crate::registry::Entry;
use crate::timeline::{BarJson, label, short_type};
use punctual::{Capacity, RejectedTask, Stats, Status, TaskRef};
use serde::Serialize;
use std::sync::Arc;
use std::time::SystemTime;

/// Rows of each list in a frame: a frame stays within a few kilobytes.
const SHORT_LIST: usize = 10;

/// Rows of a list that is asked for.
pub(crate) const LONG_LIST: usize = 500;

/// Everything the page of a pool shows beside its row in the overview.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    pub(crate) rows: Vec<RowJson>,
    pub(crate) levels: Vec<Level>,
    pub(crate) bars: Vec<BarJson>,
    pub(crate) running: Vec<TaskRow>,
    pub(crate) queued: Vec<TaskRow>,
    /// The last that were rejected; after the first frame only new ones.
    pub(crate) rejects: Vec<RejectRow>,
    pub(crate) totals: Totals,
    /// Whether the pool has a flight recorder.
    pub(crate) records: bool,
    pub(crate) advice: String,
    pub(crate) lints: Vec<Lint>,
}

/// A level of its queue.
#[derive(Debug, Serialize)]
pub(crate) struct Level {
    pub(crate) queued: usize,
    pub(crate) oldest: Option<f64>,
    pub(crate) taken: u64,
    pub(crate) promoted: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
    pub(crate) share_target: Option<f64>,
    pub(crate) share_actual: Option<f64>,
    pub(crate) wait_99: Option<f64>,
}

/// A task that runs or waits.
#[derive(Debug, Serialize)]
pub(crate) struct TaskRow {
    /// Absent: a fire-and-forget task, which nothing can be done about.
    pub(crate) id: Option<u64>,
    pub(crate) name: Arc<str>,
    /// Where in the source it was submitted.
    pub(crate) site: Option<String>,
    /// Milliseconds: how long it has run, at least; or since it was submitted.
    pub(crate) age: Option<f64>,
    pub(crate) level: Option<usize>,
    pub(crate) view: Option<Arc<str>>,
    pub(crate) worker: Option<usize>,
    /// Why it waits, as a sentence.
    pub(crate) why: Option<String>,
    pub(crate) cancelled: bool,
}

/// A task that was not accepted, and the pool at that moment.
#[derive(Debug, Serialize)]
pub(crate) struct RejectRow {
    /// Milliseconds since 1970.
    pub(crate) time: f64,
    pub(crate) reason: String,
    pub(crate) answer: &'static str,
    pub(crate) task: String,
    pub(crate) level: Option<usize>,
    pub(crate) queued: usize,
    pub(crate) capacity: Option<usize>,
    pub(crate) threads: usize,
    pub(crate) max: usize,
    pub(crate) active: usize,
    pub(crate) oldest: Option<f64>,
    /// Others like it, right after it.
    pub(crate) like_it: u64,
}

/// A setting that is often a mistake.
#[derive(Debug, Serialize)]
pub(crate) struct Lint {
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

/// Counts since the pool began.
#[derive(Debug, Serialize)]
pub(crate) struct Totals {
    pub(crate) submitted: u64,
    pub(crate) finished: u64,
    pub(crate) panicked: u64,
    pub(crate) cancelled: u64,
    pub(crate) expired: u64,
    pub(crate) evicted: u64,
    pub(crate) returned: u64,
    pub(crate) full: u64,
    pub(crate) shutdown: u64,
    pub(crate) caller_ran: u64,
    pub(crate) discarded: u64,
    pub(crate) largest: usize,
    pub(crate) largest_since_resize: usize,
    pub(crate) spare: usize,
    pub(crate) suspended: usize,
    pub(crate) steals: u64,
    pub(crate) parks: u64,
    pub(crate) wait_half: Option<f64>,
    pub(crate) wait_99: Option<f64>,
    pub(crate) run_half: Option<f64>,
    pub(crate) run_99: Option<f64>,
}

/// `since`: what the client has seen of the history; `None`: all but the last look.
pub(crate) fn of(entry: &Entry, stats: &Stats, since: Option<u64>) -> Detail {
    let advice = entry.control.advice();
    let (rows, bars, rejected_since) = {
        let seen = entry.seen();
        match since {
            Some(since) => (
                seen.history.since(since, FIRST_ROWS).map(RowJson::of).collect(),
                seen.timeline.all(),
                since,
            ),
            None => (
                seen.history.latest().map(RowJson::of).into_iter().collect(),
                seen.timeline.news(),
                seen.previous,
            ),
        }
    };
    let mut rejects = rejects(entry, rejected_since);
    if since.is_none() {
        rejects.drain(..rejects.len().saturating_sub(SHORT_LIST));
    }
    let lint = |lint: &punctual::Lint| Lint {
        code: lint.code,
        text: lint.text.clone(),
    };
    Detail {
        rows,
        levels: stats.levels.iter().map(level).collect(),
        bars,
        running: running(entry, SHORT_LIST, ""),
        queued: queued(entry, SHORT_LIST, ""),
        rejects,
        totals: totals(stats),
        records: entry.control.records(),
        advice: advice.as_ref().map(ToString::to_string).unwrap_or_default(),
        lints: advice
            .iter()
            .flat_map(|advice| advice.lints())
            .map(lint)
            .collect(),
    }
}

fn level(level: &punctual::LevelStats) -> Level {
    Level {
        queued: level.queued,
        oldest: level.oldest_wait.map(millis),
        taken: level.taken,
        promoted: level.promoted,
        expired: level.expired,
        evicted: level.evicted,
        share_target: level.share_target,
        share_actual: level.share_actual,
        wait_99: level.wait.quantile(0.99).map(millis),
    }
}

/// What workers run, outermost task first, whose name holds `filter`.
pub(crate) fn running(entry: &Entry, most: usize, filter: &str) -> Vec<TaskRow> {
    let workers = entry.control.workers();
    let tasks = workers.iter().flat_map(|worker| {
        let number = worker.number;
        worker.running.iter().map(move |task| (number, task))
    });
    let row = |(worker, running): (usize, &punctual::RunningTask)| {
        let task = running.task.as_ref();
        TaskRow {
            id: task.map(TaskRef::id),
            name: label(running),
            site: task.and_then(site),
            age: Some(millis(running.at_least)),
            level: None,
            view: task.and_then(TaskRef::view),
            worker: Some(worker),
            why: None,
            cancelled: task.is_some_and(|task| task.status() == Status::Cancelled),
        }
    };
    let rows = tasks.map(row).filter(|row| has(row, filter));
    let mut rows: Vec<TaskRow> = rows.collect();
    // The longest at the top: that is what one looks for.
    rows.sort_by(|one, other| other.age.unwrap_or(0.0).total_cmp(&one.age.unwrap_or(0.0)));
    rows.truncate(most);
    rows
}

/// What waits, in the order in which it would be taken, whose name holds `filter`.
pub(crate) fn queued(entry: &Entry, most: usize, filter: &str) -> Vec<TaskRow> {
    let looked_at = if filter.is_empty() {
        most
    } else {
        punctual::Control::MOST_LISTED
    };
    let tasks = entry.control.queued(looked_at);
    let row = |task: &TaskRef| {
        let why = task.explain();
        TaskRow {
            id: Some(task.id()),
            name: task
                .name()
                .map_or_else(|| short_type(task.type_name()).into(), Into::into),
            site: site(task),
            age: task.age().map(millis),
            level: why.effective_level().or(why.level()),
            view: task.view(),
            worker: None,
            why: Some(why.to_string()),
            cancelled: false,
        }
    };
    let rows = tasks.iter().map(row).filter(|row| has(row, filter));
    rows.take(most).collect()
}

/// What was rejected after that time, oldest first.
fn rejects(entry: &Entry, since: u64) -> Vec<RejectRow> {
    let row = |task: RejectedTask| {
        let time = task.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        RejectRow {
            time: millis(time),
            reason: task.reason,
            answer: task.answer,
            task: task.task.unwrap_or_else(|| short_type(task.type_name)),
            level: task.level,
            queued: task.queued,
            capacity: match task.capacity {
                Capacity::Bounded(places) => Some(places),
                _ => None,
            },
            threads: task.threads,
            max: task.size.max,
            active: task.active,
            oldest: task.oldest_wait.map(millis),
            like_it: task.like_it,
        }
    };
    let rows = entry.control.rejected().into_iter().map(row);
    rows.filter(|row| row.time > since as f64).collect()
}

fn site(task: &TaskRef) -> Option<String> {
    let site = task.site()?;
    // The folder says little, and may say whose machine it was built on.
    let file = site.file().rsplit(['/', '\\']).next().unwrap_or_default();
    Some(format!("{file}:{}", site.line()))
}

/// Whether the filter's text is in one of its columns.
fn has(row: &TaskRow, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let texts = [Some(&*row.name), row.site.as_deref(), row.view.as_deref()];
    filter.is_empty()
        || texts
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(&filter))
}

fn totals(stats: &Stats) -> Totals {
    Totals {
        submitted: stats.submitted,
        finished: stats.finished,
        panicked: stats.panicked,
        cancelled: stats.cancelled,
        expired: stats.expired,
        evicted: stats.evicted,
        returned: stats.returned,
        full: stats.rejected.full,
        shutdown: stats.rejected.shutdown,
        caller_ran: stats.rejected.caller_ran,
        discarded: stats.rejected.discarded,
        largest: stats.largest,
        largest_since_resize: stats.largest_since_resize,
        spare: stats.spare,
        suspended: stats.suspended,
        steals: stats.steals,
        parks: stats.parks,
        wait_half: stats.wait.quantile(0.5).map(millis),
        wait_99: stats.wait.quantile(0.99).map(millis),
        run_half: stats.run.quantile(0.5).map(millis),
        run_99: stats.run.quantile(0.99).map(millis),
    }
}
