//! Joining from a worker: the task is run in place, a spare stands in, or the deadlock is told.

/// Waits that could never end are told, and nothing else is.
mod deadlocks;
/// A queued task is run by the one who waits for it.
mod in_place;
/// Other pools, locks, closing and outside waiters in the middle of it.
mod meeting;
/// Nested deeper than the pool is wide.
mod nesting;
/// A thread more while one waits.
mod spares;

use punctual::{Pool, PoolBuilder, Queue, Stats};

/// `threads` workers, all of them started, with `spares` to stand in, unbounded.
fn pool_of(threads: usize, spares: usize) -> Pool {
    let pool = builder_of(threads, spares).build().expect("valid settings");
    assert_eq!(pool.prestart(), threads);
    pool
}

fn builder_of(threads: usize, spares: usize) -> PoolBuilder {
    Pool::builder("joining")
        .core_threads(threads)
        .max_threads(threads)
        .spare_threads(spares)
        .queue(Queue::unbounded())
}

/// What every snapshot must satisfy while a thread may be in the middle of several tasks.
fn assert_sums(stats: &Stats) {
    let ends = stats.finished + stats.panicked + stats.cancelled + stats.returned;
    let ends = ends + stats.expired + stats.evicted;
    let open = stats.queued as u64 + stats.active as u64;
    assert_eq!(stats.submitted, ends + open, "{stats:?}");
}
