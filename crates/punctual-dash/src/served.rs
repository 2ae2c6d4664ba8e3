//! What was served while a level waited: which tasks workers ran in a stretch of time.
//!
//! In: a recorder's events, and what runs now. Out: [`Served`]: tasks by name and level, those that took the most time first. Without
//! a recorder only the levels' own counts are there, from the pool's history. Bounded: a few rows, whatever happened.

use crate::history::History;
use crate::registry::Entry;
use crate::runs;
use crate::timeline::label;
use punctual::{Recent, WorkerStats};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// Rows that are shown; the rest is one.
const MOST: usize = 12;

/// What was served in a stretch of time.
#[derive(Debug, Serialize)]
pub(crate) struct Served {
    /// Whether the pool records: without, the tasks are not known.
    pub(crate) records: bool,
    /// The recorder no longer has the beginning.
    pub(crate) cut: bool,
    /// Tasks that were taken from each level.
    pub(crate) levels: Vec<u64>,
    pub(crate) tasks: Vec<ServedTask>,
    /// Kinds of tasks that are not among these.
    pub(crate) more: usize,
}

/// Tasks of one name and level.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct ServedTask {
    pub(crate) name: Arc<str>,
    pub(crate) level: Option<usize>,
    /// How many of them ran in that time.
    pub(crate) runs: u64,
    /// For how many milliseconds of it, on all workers.
    pub(crate) took: f64,
}

/// From when to when, in milliseconds since 1970.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stretch {
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Stretch {
    /// How much of a run lies in it; `None`: nothing does.
    fn part_of(self, begin: f64, end: f64) -> Option<f64> {
        let part = end.min(self.to as f64) - begin.max(self.from as f64);
        (part >= 0.0).then_some(part)
    }
}

/// `now`: the present, in milliseconds since 1970.
pub(crate) fn of(entry: &Entry, stretch: Stretch, now: u64) -> Served {
    let levels = taken(&entry.seen().history, stretch);
    if !entry.control.records() {
        return Served {
            records: false,
            cut: false,
            levels,
            tasks: Vec::new(),
            more: 0,
        };
    }
    let recent = entry.control.recent(0);
    let mut sums = Sums::default();
    sums.add_events(&recent, stretch, now);
    sums.add_running(&entry.control.workers(), stretch, now);
    let begins = recent
        .events
        .first()
        .map_or(now as f64, |event| at(event.at, &recent, now));
    let (tasks, more) = sums.rows();
    Served {
        records: true,
        cut: recent.is_cut && begins > stretch.from as f64,
        levels,
        tasks,
        more,
    }
}

/// Tasks that were taken from each level, by the rows of that time.
fn taken(history: &History, stretch: Stretch) -> Vec<u64> {
    let mut sums = Vec::new();
    let rows = history.since(stretch.from, crate::history::HOUR);
    for row in rows.take_while(|row| row.time <= stretch.to) {
        sums.resize(sums.len().max(row.levels.len()), 0);
        for (sum, level) in sums.iter_mut().zip(&row.levels) {
            *sum += u64::from(level.taken);
        }
    }
    sums
}

fn at(time: Duration, recent: &Recent, now: u64) -> f64 {
    now as f64 - recent.now.saturating_sub(time).as_secs_f64() * 1e3
}

/// By level and name: how many, and for how long.
#[derive(Debug, Default)]
struct Sums(BTreeMap<(Option<usize>, Arc<str>), (u64, f64)>);

impl Sums {
    fn add(&mut self, level: Option<usize>, name: Arc<str>, part: f64) {
        let (runs, took) = self.0.entry((level, name)).or_default();
        *runs += 1;
        *took += part;
    }

    fn add_events(&mut self, recent: &Recent, stretch: Stretch, now: u64) {
        // What a task runs inside of itself is a task, too.
        for pair in runs::pairs(&recent.events) {
            let end = at(pair.end.at, recent, now);
            if let Some(part) = stretch.part_of(at(pair.begin, recent, now), end) {
                self.add(pair.end.level, runs::label(pair.end), part);
            }
        }
    }

    /// What has not ended is in no event.
    fn add_running(&mut self, workers: &[WorkerStats], stretch: Stretch, now: u64) {
        for running in workers.iter().filter_map(|worker| worker.running.first()) {
            let begin = now as f64 - running.at_least.as_secs_f64() * 1e3;
            if let Some(part) = stretch.part_of(begin, now as f64) {
                let level = running
                    .task
                    .as_ref()
                    .map(|task| usize::from(task.priority().number()));
                self.add(level, label(running), part);
            }
        }
    }

    /// Those that took the most time, and how many kinds are left out.
    fn rows(self) -> (Vec<ServedTask>, usize) {
        let row = |((level, name), (runs, took)): ((Option<usize>, Arc<str>), (u64, f64))| ServedTask {
            name,
            level,
            runs,
            took: (took * 1e3).round() / 1e3,
        };
        let mut rows: Vec<ServedTask> = self.0.into_iter().map(row).collect();
        rows.sort_by(|one, other| other.took.total_cmp(&one.took).then(other.runs.cmp(&one.runs)));
        let more = rows.len().saturating_sub(MOST);
        rows.truncate(MOST);
        (rows, more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use punctual::{Pool, Priority, Queue};

    #[test]
    fn a_run_counts_for_the_part_of_it_that_lies_inside() {
        let stretch = Stretch { from: 100, to: 200 };
        assert_eq!(stretch.part_of(50.0, 150.0), Some(50.0));
        assert_eq!(stretch.part_of(120.0, 130.0), Some(10.0));
        assert_eq!(stretch.part_of(10.0, 99.0), None);
        assert_eq!(stretch.part_of(201.0, 300.0), None);
        assert_eq!(stretch.part_of(0.0, 1_000.0), Some(100.0));
    }

    #[test]
    fn the_longest_come_first_and_the_rest_is_counted() {
        let mut sums = Sums::default();
        for number in 0..20_u32 {
            sums.add(None, format!("task {number}").into(), f64::from(number));
        }
        sums.add(None, "task 3".into(), 100.0);
        let (rows, more) = sums.rows();
        assert_eq!((rows.len(), more), (MOST, 8));
        assert_eq!((&*rows[0].name, rows[0].runs, rows[0].took), ("task 3", 2, 103.0));
        assert_eq!(&*rows[1].name, "task 19");
    }

    /// What a real pool ran, and what it runs.
    #[test]
    fn events_and_what_runs_are_put_together() {
        let pool = Pool::builder("p")
            .core_threads(1)
            .queue(Queue::priority(10))
            .recorder(100);
        let pool = pool.build().unwrap();
        for _ in 0..3 {
            let quick = pool.task(|| ()).name("quick").priority(Priority::URGENT);
            quick.submit().unwrap().join().unwrap();
        }
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let (begin, begun) = std::sync::mpsc::channel();
        let long = pool.task(move || {
            begin.send(()).unwrap();
            let _ = held.recv();
        });
        let long = long.name("long").priority(Priority::LOW).submit().unwrap();
        begun.recv().unwrap();
        let control = pool.control();
        let now = 1_000_000;
        let stretch = Stretch { from: 0, to: now };
        let mut sums = Sums::default();
        sums.add_events(&control.recent(0), stretch, now);
        sums.add_running(&control.workers(), stretch, now);
        let (rows, _) = sums.rows();
        let find = |name: &str| rows.iter().find(|row| &*row.name == name).cloned().unwrap();
        assert_eq!((find("quick").runs, find("quick").level), (3, Some(0)));
        assert_eq!((find("long").runs, find("long").level), (1, Some(3)));
        drop(hold);
        long.join().unwrap();
    }
}
