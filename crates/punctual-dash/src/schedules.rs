//! Schedules as rows: when next, how it went, what was missed.

use crate::audit::milliseconds;
use crate::registry::Entry;
use punctual::{RunOutcome, ScheduleHandle};
use serde::Serialize;
use std::sync::Arc;
use std::time::SystemTime;

/// Of all pools together. More are found through the API of one pool.
const MOST: usize = 500;

/// Runs that a preview shows.
pub(crate) const PREVIEW: usize = 10;

/// One schedule.
#[derive(Debug, Serialize)]
pub(crate) struct ScheduleRow {
    pub(crate) pool: u64,
    pub(crate) pool_name: Arc<str>,
    pub(crate) id: u64,
    pub(crate) name: Option<String>,
    /// The plan as a sentence.
    pub(crate) plan: String,
    /// The time zone whose clocks it goes by, if it goes by a calendar.
    pub(crate) zone: Option<String>,
    pub(crate) paused: bool,
    /// Milliseconds since 1970, as all times below.
    pub(crate) next: Option<u64>,
    pub(crate) last: Option<u64>,
    pub(crate) last_completed: Option<u64>,
    pub(crate) outcome: &'static str,
    pub(crate) error: Option<String>,
    pub(crate) runs: u64,
    pub(crate) failures: u64,
    pub(crate) missed: u64,
    pub(crate) skipped: u64,
    pub(crate) running: usize,
}

pub(crate) fn all(entries: &[Arc<Entry>]) -> Vec<ScheduleRow> {
    let of = |entry: &Arc<Entry>| {
        let name = entry.name();
        let handles = entry.control.schedules();
        let id = entry.id;
        handles.into_iter().map(move |handle| row(id, &name, &handle))
    };
    let mut rows: Vec<ScheduleRow> = entries.iter().flat_map(of).take(MOST).collect();
    // The next to run first; those that will not run last.
    rows.sort_by_key(|row| (row.next.is_none(), row.next, row.pool, row.id));
    rows
}

fn row(pool: u64, pool_name: &Arc<str>, handle: &ScheduleHandle) -> ScheduleRow {
    let stats = handle.stats();
    let plan = handle.schedule();
    let at = |time: Option<SystemTime>| time.map(milliseconds);
    let outcome = match stats.last_outcome {
        RunOutcome::None => "none",
        RunOutcome::Started => "running",
        RunOutcome::Succeeded => "succeeded",
        RunOutcome::Failed(_) => "failed",
        _ => "unknown",
    };
    ScheduleRow {
        pool,
        pool_name: Arc::clone(pool_name),
        id: handle.id(),
        name: handle.name(),
        plan: plan.to_string(),
        zone: plan.zone_name().map(String::from),
        paused: handle.is_paused(),
        next: at(handle.next_run()),
        last: at(stats.last_actual),
        last_completed: at(stats.last_completed),
        outcome,
        error: stats.last_error.map(|text| text.chars().take(300).collect()),
        runs: stats.runs,
        failures: stats.failures,
        missed: stats.missed,
        skipped: stats.skipped,
        running: stats.running,
    }
}

pub(crate) fn find(entry: &Entry, id: u64) -> Option<ScheduleHandle> {
    let mut handles = entry.control.schedules().into_iter();
    handles.find(|handle| handle.id() == id)
}
