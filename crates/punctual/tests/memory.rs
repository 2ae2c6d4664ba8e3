//! Memory: what was cancelled is gone, and what a burst took comes back. A binary of its own, because it counts every
//! byte that the process allocates.
//!
//! `PUNCTUAL_CANCEL_TASKS`, `PUNCTUAL_BURST_TASKS` and `PUNCTUAL_TIMERS` set the sizes.

/// What a burst took.
#[path = "memory/bursts.rs"]
mod bursts;
/// What was cancelled in the queue.
#[path = "memory/cancelling.rs"]
mod cancelling;
/// The allocator that counts.
#[path = "starts/counting.rs"]
mod counting;
/// What was moved, and what was cancelled in a line.
#[path = "memory/moving.rs"]
mod moving;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "it/support.rs"]
mod support;
/// What has a time.
#[path = "memory/timers.rs"]
mod timers;

use counting::live;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// One test at a time: they look at the same counter.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What recycled blocks, spare segments and the test's own lists may keep.
const SLACK: i64 = 2 << 20;

fn number(name: &str, default: usize) -> usize {
    support::env_number(name).map_or(default, |number| number as usize)
}

/// Waits until the live bytes are near the base line; says how long that took.
fn falls_back(base: i64, limit: Duration) -> Duration {
    let begin = Instant::now();
    loop {
        let above = live() - base;
        if above <= SLACK {
            return begin.elapsed();
        }
        assert!(
            begin.elapsed() < limit,
            "{above} bytes above the base line after {limit:?} of quiet"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}
