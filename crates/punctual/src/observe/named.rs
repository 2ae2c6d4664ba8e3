//! How long tasks run, by the name that was given to them.
//!
//! In: runs of named tasks, a sample of each worker's. Out: a [`TaskTimes`] for each name and level, few of them: the first
//! [`MOST_NAMES`] names have their own, all others share one. Costs nothing where no task has a name: a worker comes here on its
//! way round a task that was given more than a closure. Not here: the times of all tasks together, which are sampled apart
//! (`worker/observed.rs`).

use super::{Histogram, Recorder};
use crate::queue::LEVELS;
use crate::sync::{Arc, Lock};
use crate::time::{Clock, MEASURES, Tick};
use std::cell::Cell;
use std::collections::BTreeMap;

/// Names beyond this many are one: `other`.
pub(crate) const MOST_NAMES: usize = 200;

/// What they are called then.
const OTHER: &str = "other";

/// One run of a named task in this many is timed, once a worker has run some: the book has a lock.
const TIME_EVERY: u64 = 8;

/// How long the tasks of one name run; made by [`Control::task_times`](crate::Control::task_times).
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct TaskTimes {
    /// Their name ([`TaskBuilder::name`](crate::TaskBuilder::name)); `other` for all names after the first two hundred; `None` for
    /// tasks that have none.
    pub name: Option<Arc<str>>,
    /// The level of the queue, where it has levels.
    pub level: Option<usize>,
    /// From start to end, sampled: about every eighth run of a named task, and every 64th of the others. Of a future, each poll.
    pub run: Histogram,
}

/// The times of a pool's named tasks, and of the others.
#[derive(Debug)]
pub(crate) struct ByName {
    /// Of the queue; none where it has none.
    levels: usize,
    book: Lock<BTreeMap<Arc<str>, Times>>,
    /// Of those without a name, for each level.
    nameless: Vec<Recorder>,
}

/// Of one name, for each level at which it was seen.
type Times = [Option<Arc<Recorder>>; LEVELS];

impl ByName {
    pub(crate) fn new(levels: usize) -> Self {
        ByName {
            levels,
            book: Lock::new(BTreeMap::new()),
            nameless: (0..levels.max(1)).map(|_| Recorder::new()).collect(),
        }
    }

    /// A run of a task without a name, at this level; 0 where there are none.
    pub(crate) fn record_nameless(&self, level: usize, took: u64, weight: u64) {
        if let Some(recorder) = self.nameless.get(level) {
            recorder.record(took, weight);
        }
    }

    fn record(&self, name: &str, priority: u8, took: u64, weight: u64) {
        let level = usize::from(priority).min(self.levels.saturating_sub(1));
        self.times_of(name, level).record(took, weight);
    }

    fn times_of(&self, name: &str, level: usize) -> Arc<Recorder> {
        let mut book = self.book.lock();
        let is_known = book.contains_key(name);
        let name = if is_known || book.len() < MOST_NAMES {
            name
        } else {
            OTHER
        };
        if !book.contains_key(name) {
            book.insert(name.into(), Times::default());
        }
        let times = book.get_mut(name).expect("it is there, or was put in");
        let recorder = times[level].get_or_insert_with(|| Arc::new(Recorder::new()));
        recorder.clone()
    }

    /// How many runs were timed.
    pub(crate) fn samples(&self) -> u64 {
        let book = self.book.lock();
        let all = book.values().flatten().flatten();
        all.map(|recorder| recorder.samples()).sum()
    }

    /// All of them: those without a name, then by name and level.
    pub(crate) fn read(&self) -> Vec<TaskTimes> {
        let book = self.book.lock();
        let all = book.iter().flat_map(|(name, times)| {
            let filled = times.iter().enumerate();
            filled.filter_map(|(level, times)| Some((name.clone(), level, times.clone()?)))
        });
        let all: Vec<(Arc<str>, usize, Arc<Recorder>)> = all.collect();
        drop(book);
        let times = |name, level, recorder: &Recorder| TaskTimes {
            name,
            level: (self.levels > 0).then_some(level),
            run: recorder.snapshot(),
        };
        let nameless = self.nameless.iter().enumerate();
        let mut read: Vec<TaskTimes> = nameless
            .map(|(level, recorder)| times(None, level, recorder))
            .collect();
        read.extend(
            all.iter()
                .map(|(name, level, recorder)| times(Some(name.clone()), *level, recorder)),
        );
        read
    }
}

/// One worker's way to it: which runs are timed.
#[derive(Debug)]
pub(crate) struct NameSampler<'a> {
    book: &'a ByName,
    clock: &'a Clock,
    seen: Cell<u64>,
    next: Cell<u64>,
}

/// A run that is timed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Timed {
    began: Tick,
    weight: u64,
}

impl<'a> NameSampler<'a> {
    pub(crate) fn new(book: &'a ByName, clock: &'a Clock) -> Self {
        NameSampler {
            book,
            clock,
            seen: Cell::new(0),
            next: Cell::new(0),
        }
    }

    /// A named task is about to run, or to be polled.
    pub(crate) fn begin(&self) -> Option<Timed> {
        let seen = self.seen.replace(self.seen.get() + 1);
        if !MEASURES || seen != self.next.get() {
            return None;
        }
        let began = self.clock.tick();
        let weight = stride(seen.clamp(1, TIME_EVERY), began ^ seen.rotate_left(32));
        self.next.set(seen + weight);
        Some(Timed { began, weight })
    }

    pub(crate) fn end(&self, timed: Timed, name: &str, priority: u8) {
        let took = self.clock.tick().saturating_sub(timed.began);
        self.book.record(name, priority, took, timed.weight);
    }
}

/// How many runs a timed one stands for, up to the next timed one: `about` so many. Not always the same number: of tasks that
/// come in a rhythm some would always be timed, and others never.
pub(crate) fn stride(about: u64, seed: u64) -> u64 {
    if about <= 1 {
        return 1;
    }
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = mixed.rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    1 + (mixed >> 33) % (2 * about - 1)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn names_are_few_and_the_rest_is_other() {
        let book = ByName::new(0);
        for number in 0..MOST_NAMES + 50 {
            book.record(&format!("task {number:03}"), 0, 1_000, 1);
        }
        let read = book.read();
        assert_eq!(read.len(), MOST_NAMES + 2);
        let other = read
            .iter()
            .find(|times| times.name.as_deref() == Some(OTHER))
            .unwrap();
        assert_eq!(other.run.count(), 50);
        assert!(read.iter().all(|times| times.level.is_none()));
        // A known name stays itself.
        book.record("task 000", 0, 1_000, 1);
        assert_eq!(book.read()[2].run.count(), 2);
    }

    #[test]
    fn levels_are_kept_apart_and_no_level_is_beyond_the_last() {
        let book = ByName::new(4);
        for priority in [0, 3, 200] {
            book.record("report", priority, 1_000, 1);
        }
        let read = book.read();
        let seen: Vec<_> = read
            .iter()
            .map(|times| (times.level, times.run.count()))
            .collect();
        assert_eq!(
            seen[..4],
            [(Some(0), 0), (Some(1), 0), (Some(2), 0), (Some(3), 0)]
        );
        assert_eq!(seen[4..], [(Some(0), 1), (Some(3), 2)]);
    }

    #[test]
    fn weights_add_up_and_a_rhythm_is_not_followed() {
        let (mut count, mut even, mut odd) = (0, 0, 0);
        while count < 1_000_000 {
            let weight = stride(8, count);
            *if count % 2 == 0 { &mut even } else { &mut odd } += weight;
            count += weight;
        }
        assert_eq!(even + odd, count);
        let share = even as f64 / count as f64;
        assert!((0.48..0.52).contains(&share), "{share}");
        assert_eq!(stride(1, 77), 1);
    }
}
