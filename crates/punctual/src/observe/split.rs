//! What tasks do with their time: compute, or wait.
//!
//! In: timed runs, each for so many others. Out: two sums. A short run counts as computing: a thread that waits even once is
//! away for longer. Of a long one the system says how long the thread computed and how long it was ready and had no
//! processor, which is neither; the rest it waited.
//!
//! The system must be asked before a run, when nobody knows how long it will be, and asking costs more than a short run. So it
//! is asked for a while after each long run, and the next long run of which it was asked stands also for those of which it was
//! not. Whether it is asked depends on earlier runs only, not on the run itself: no kind of long run counts more than another.

use crate::sync::thread;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use std::time::{Duration, Instant};

/// From this length on runs are looked at closely; the look takes some microseconds.
const LONG: Duration = Duration::from_micros(50);

/// So many timed runs after a long one are looked at closely: where one run in thirty is long, hardly a long one is missed, and
/// where they are rarer the looks cost a few per cent of what the long run took.
const WATCHED: u32 = 32;

/// Sums over the runs of a pool; see the module's header.
#[derive(Debug, Default)]
pub(crate) struct Split {
    tasks: AtomicU64,
    computing: AtomicU64,
    waiting: AtomicU64,
}

/// A reading of a [`Split`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Parts {
    /// Runs that were counted, or stand for some that were.
    pub(crate) tasks: u64,
    pub(crate) computing: Duration,
    pub(crate) waiting: Duration,
}

/// One worker's way of looking; see the module's header.
#[derive(Debug, Default)]
pub(crate) struct Looker {
    /// Timed runs that are still to be looked at closely.
    watched: u32,
    /// The weight of long runs that were not.
    owed: u64,
    begin: Option<Readings>,
}

/// Of a thread, in this order at the beginning of a run and in the other at its end: what happens to the thread between two
/// of the readings makes the wait look shorter, never longer.
#[derive(Debug)]
struct Readings {
    kept_waiting: Duration,
    computed: Duration,
    at: Instant,
}

impl Looker {
    /// A timed run begins.
    pub(crate) fn begin(&mut self) {
        let readings = || {
            Some(Readings {
                kept_waiting: thread::kept_waiting().unwrap_or_default(),
                computed: thread::computed()?,
                at: Instant::now(),
            })
        };
        self.begin = if self.watched > 0 { readings() } else { None };
    }

    /// It took so long, and stands for `weight` runs.
    pub(crate) fn end(&mut self, took: Duration, weight: u64, split: &Split) {
        let begin = self.begin.take();
        if took < LONG {
            self.watched = self.watched.saturating_sub(1);
            split.add(weight, took, Duration::ZERO);
            return;
        }
        self.watched = WATCHED;
        let Some(begin) = begin else {
            self.owed += weight;
            return;
        };
        let weight = weight + std::mem::take(&mut self.owed);
        let took = begin.at.elapsed();
        let computing = thread::computed().unwrap_or_default();
        let computing = computing.saturating_sub(begin.computed).min(took);
        let kept = thread::kept_waiting().unwrap_or_default();
        let kept = kept.saturating_sub(begin.kept_waiting);
        let waiting = took.saturating_sub(computing).saturating_sub(kept);
        split.add(weight, computing, waiting);
    }
}

impl Split {
    fn add(&self, weight: u64, computing: Duration, waiting: Duration) {
        let nanos = |part: Duration| (part.as_nanos() as u64).saturating_mul(weight);
        self.tasks.fetch_add(weight, Relaxed);
        self.computing.fetch_add(nanos(computing), Relaxed);
        self.waiting.fetch_add(nanos(waiting), Relaxed);
    }

    pub(crate) fn read(&self) -> Parts {
        let nanos = |sum: &AtomicU64| Duration::from_nanos(sum.load(Relaxed));
        Parts {
            tasks: self.tasks.load(Relaxed),
            computing: nanos(&self.computing),
            waiting: nanos(&self.waiting),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_computes() {
        let (split, mut looker) = (Split::default(), Looker::default());
        looker.begin();
        looker.end(Duration::from_micros(3), 2, &split);
        let parts = split.read();
        assert_eq!(parts.tasks, 2);
        assert_eq!(
            (parts.computing, parts.waiting),
            (Duration::from_micros(6), Duration::ZERO)
        );
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_long_run_is_split_from_the_second_on_which_stands_for_the_first_too() {
        let (split, mut looker) = (Split::default(), Looker::default());
        looker.begin();
        looker.end(Duration::from_millis(20), 3, &split);
        assert_eq!(split.read(), Parts::default());
        looker.begin();
        std::thread::sleep(Duration::from_millis(20));
        looker.end(Duration::from_millis(20), 1, &split);
        let parts = split.read();
        assert_eq!(parts.tasks, 4);
        // Most of it; on a busy machine the thread is kept waiting after its sleep.
        assert!(parts.waiting > Duration::from_millis(4 * 10), "{parts:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn long_runs_between_many_short_ones_all_count() {
        const ROUNDS: u64 = 20;
        let (split, mut looker) = (Split::default(), Looker::default());
        // One in ten, and one in a hundred: in both the run before a long one is short.
        for shorts in [9, 99] {
            for _ in 0..ROUNDS {
                looker.begin();
                std::thread::sleep(Duration::from_millis(2));
                looker.end(Duration::from_millis(2), 1, &split);
                for _ in 0..shorts {
                    looker.begin();
                    looker.end(Duration::from_micros(1), 1, &split);
                }
            }
        }
        // Those that the rare ones still owe.
        looker.watched = 1;
        looker.begin();
        std::thread::sleep(Duration::from_millis(2));
        looker.end(Duration::from_millis(2), 1, &split);
        let parts = split.read();
        assert_eq!(parts.tasks, ROUNDS * (10 + 100) + 1);
        let all = Duration::from_millis(2 * (2 * ROUNDS + 1));
        assert!(parts.waiting > all * 3 / 4, "{parts:?}, of {all:?}");
    }
}
