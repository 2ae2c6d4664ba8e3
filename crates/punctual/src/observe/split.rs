//! What tasks do with their time: compute, or wait.
//!
//! In: timed runs, each for so many others. Out: two sums. A short run counts as computing: a thread that waits even once is
//! away for longer. Of a long one the system says how long the thread computed and how long it was ready and had no
//! processor, which is neither; the rest it waited.

use crate::sync::thread;
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use std::time::{Duration, Instant};

/// From this length on runs are looked at closely; the look takes some microseconds.
const LONG: Duration = Duration::from_micros(50);

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

/// One worker's way of looking: closely if its last timed run was long.
#[derive(Debug, Default)]
pub(crate) struct Looker {
    is_close: bool,
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
        self.begin = if self.is_close { readings() } else { None };
    }

    /// It took so long, and stands for `weight` runs.
    pub(crate) fn end(&mut self, took: Duration, weight: u64, split: &Split) {
        let begin = self.begin.take();
        self.is_close = took >= LONG;
        let Some(begin) = begin else {
            if !self.is_close {
                split.add(weight, took, Duration::ZERO);
            }
            return;
        };
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
    fn a_long_run_is_split_from_the_second_on() {
        let (split, mut looker) = (Split::default(), Looker::default());
        looker.begin();
        looker.end(Duration::from_secs(1), 1, &split);
        assert_eq!(split.read(), Parts::default());
        looker.begin();
        std::thread::sleep(Duration::from_millis(20));
        looker.end(Duration::from_millis(20), 1, &split);
        let parts = split.read();
        assert_eq!(parts.tasks, 1);
        // Most of it; on a busy machine the thread is kept waiting after its sleep.
        assert!(parts.waiting > Duration::from_millis(10), "{parts:?}");
    }
}
