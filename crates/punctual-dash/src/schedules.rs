//! Schedules as rows: when next, how it went, what was missed; and which rows are not as they were when they were last sent.
//!
//! In: the pools that are shown. Out: rows, those that run next first, no more than [`MOST`]. Not here: what can be done with a
//! schedule (`routes/write.rs`).

use crate::assets::fingerprint;
use crate::audit::milliseconds;
use crate::frame::json;
use crate::registry::Entry;
use punctual::{RunOutcome, ScheduleHandle};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

/// Of all pools together: those that run next. The others can be looked at when they are among them.
const MOST: usize = 500;

/// The next run of a schedule that goes by the monotonic clock is told by the wall's, and the two are never read at once: a
/// difference of less than this, in milliseconds, is none.
const SAME: u64 = 500;

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

/// The rows as they were last sent to those who listen.
#[derive(Debug, Default)]
pub(crate) struct Told(BTreeMap<(u64, u64), Last>);

/// One of them: when it ran next, and all the rest of it.
#[derive(Debug, PartialEq)]
struct Last {
    next: Option<u64>,
    rest: u64,
}

impl Told {
    /// The rows that are not as they were, and those that were there and are not.
    pub(crate) fn changes(&mut self, rows: Vec<ScheduleRow>) -> (Vec<ScheduleRow>, Vec<(u64, u64)>) {
        let mut before = std::mem::take(&mut self.0);
        let mut changed = Vec::new();
        for mut row in rows {
            let key = (row.pool, row.id);
            let next = row.next.take();
            let rest = fingerprint(&[&json(&row)]);
            row.next = next;
            let is_same = |last: &Last| {
                let moved = match (last.next, next) {
                    (Some(last), Some(next)) => last.abs_diff(next),
                    (None, None) => 0,
                    _ => u64::MAX,
                };
                last.rest == rest && moved < SAME
            };
            // What was sent stays what it was, or many small differences would be none.
            let last = before.remove(&key).filter(is_same);
            if last.is_none() {
                changed.push(row);
            }
            self.0.insert(key, last.unwrap_or(Last { next, rest }));
        }
        (changed, before.into_keys().collect())
    }
}

pub(crate) fn all(entries: &[Arc<Entry>]) -> Vec<ScheduleRow> {
    let of = |entry: &Arc<Entry>| {
        let name = entry.name();
        let handles = entry.control.schedules();
        let id = entry.id;
        handles.into_iter().map(move |handle| row(id, &name, &handle))
    };
    let mut rows: Vec<ScheduleRow> = entries.iter().flat_map(of).collect();
    // The next to run first; those that will not run last.
    rows.sort_by_key(|row| (row.next.is_none(), row.next, row.pool, row.id));
    rows.truncate(MOST);
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

#[cfg(test)]
mod tests {
    use super::*;
    use punctual::{Clock, Pool, Schedule};
    use std::time::Duration;

    fn row(id: u64, next: u64, runs: u64) -> ScheduleRow {
        ScheduleRow {
            pool: 1,
            pool_name: "p".into(),
            id,
            name: None,
            plan: "every second".into(),
            zone: None,
            paused: false,
            next: Some(next),
            last: None,
            last_completed: None,
            outcome: "none",
            error: None,
            runs,
            failures: 0,
            missed: 0,
            skipped: 0,
            running: 0,
        }
    }

    #[test]
    fn only_what_changed_is_sent_again() {
        let mut told = Told::default();
        let ids = |(changed, gone): (Vec<ScheduleRow>, Vec<(u64, u64)>)| {
            let changed: Vec<u64> = changed.iter().map(|row| row.id).collect();
            (changed, gone)
        };
        let both = |runs| vec![row(1, 10_000, 0), row(2, 20_000, runs)];
        assert_eq!(ids(told.changes(both(0))), (vec![1, 2], vec![]));
        assert_eq!(ids(told.changes(both(0))), (vec![], vec![]));
        assert_eq!(ids(told.changes(both(1))), (vec![2], vec![]));
        // A millisecond is nothing, and a thousand of them are not.
        for step in 1..SAME {
            assert_eq!(
                ids(told.changes(vec![row(1, 10_000 + step, 0), row(2, 20_000, 1)])).0,
                [0; 0]
            );
        }
        let moved = vec![row(1, 10_000 + SAME, 0), row(2, 20_000, 1)];
        assert_eq!(ids(told.changes(moved)), (vec![1], vec![]));
        assert_eq!(ids(told.changes(vec![row(2, 20_000, 1)])), (vec![], vec![(1, 1)]));
    }

    /// Those that are cut off are the ones that run last, whichever was made first.
    #[test]
    fn those_that_run_next_are_shown() {
        let clock = Clock::manual();
        let pool = Pool::builder("many")
            .core_threads(1)
            .clock(&clock)
            .build()
            .unwrap();
        for number in 0..MOST as u64 + 20 {
            let start = Duration::from_secs(100_000 - number);
            let every = Schedule::every(start).starting_in(start);
            drop(pool.schedule(every.named(format!("{number}")), |_| ()).unwrap());
        }
        let registry = crate::registry::Registry::default();
        registry.add(pool.control());
        let rows = all(&registry.all());
        assert_eq!(rows.len(), MOST);
        assert_eq!(rows[0].name.as_deref(), Some(&*format!("{}", MOST + 19)));
        assert_eq!(rows[MOST - 1].name.as_deref(), Some("20"));
    }
}
