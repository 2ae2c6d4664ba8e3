//! Scenarios of time: a moment comes while somebody cancels, pauses, closes or stops.
//!
//! No time passes here. What is due is due from the start, what is an hour away never comes, and a sleep until then ends
//! by a call only: a call that is lost is a deadlock, which shuttle reports.

/// Capacity that covers delayed tasks.
mod covered;
/// Delayed tasks.
mod delayed;
/// Expiries, and limits of running tasks.
mod limits;
/// Schedules.
mod repeating;

use super::{Marks, explore};
use crate::{Pool, PoolBuilder, Queue, Stats};
use std::time::{Duration, SystemTime};

const NOW: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);
const PAST: SystemTime = SystemTime::UNIX_EPOCH;

fn builder(threads: usize) -> PoolBuilder {
    Pool::builder("scenario")
        .core_threads(threads)
        .queue(Queue::unbounded())
}

/// Nothing is left of a pool that has ended, and the ends of its tasks add up.
fn assert_all_settled(pool: &Pool) -> Stats {
    assert!(pool.close().terminated);
    let stats = pool.stats();
    super::assert_all_settled(&stats);
    let left = (stats.pending_timers, stats.schedules, stats.keepers);
    assert_eq!(left, (0, 0, 0), "{stats:?}");
    stats
}
