//! Many tasks at once: all, any (`INV-..`), groups (`ECS-..`).
//!
//! Callers whose waiting matters are tasks of a second pool on a manual clock: see the note in `life`.

/// Every outcome, in order: INV-01 to INV-07.
mod all;
/// The first success: INV-01, INV-06 to INV-12.
mod any;
/// In the order in which they end: ECS-01, ECS-02, ECS-04.
mod group;
/// From a worker of the same pool, and in front of a full one.
mod room;

use crate::support::hold;
use punctual::{JoinError, ManualClock, Pool, Queue, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const LIMIT: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_nanos(1);

/// Sleeps for an hour of the pool's clock and counts whether it was told to stop.
fn sleepy(told: &Arc<AtomicUsize>) -> impl FnOnce() -> Result<u32, &'static str> + Send + use<> {
    let told = told.clone();
    move || {
        if task::sleep(HOUR).is_err() {
            told.fetch_add(1, SeqCst);
        }
        Ok(60)
    }
}

/// Counts its run and gives `value`.
fn counted<T: Send>(runs: &Arc<AtomicUsize>, value: T) -> impl FnOnce() -> T + Send + use<T> {
    let runs = runs.clone();
    move || {
        runs.fetch_add(1, SeqCst);
        value
    }
}

/// Every task failed, and in this way.
fn assert_each<T>(outcomes: &[Result<T, JoinError>], failed: fn(&JoinError) -> bool) {
    let is_so = |each: &Result<T, JoinError>| each.as_ref().is_err_and(failed);
    assert!(outcomes.iter().all(is_so));
}

/// One worker with room for one waiting task, at work for an hour of the clock.
fn busy_with_one_place(clock: &ManualClock) -> Pool {
    let pool = Pool::builder("busy")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .clock(clock)
        .build()
        .expect("valid settings");
    pool.execute(|| {
        let _ = task::sleep(HOUR);
    })
    .expect("accepted");
    clock.advance(Duration::ZERO);
    pool
}

/// Waits until a held worker is the only one, so that what is submitted stays queued.
fn held_single() -> (Pool, crate::support::Held) {
    let pool = crate::support::single();
    let held = hold(&pool);
    (pool, held)
}
