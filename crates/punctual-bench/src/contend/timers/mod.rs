//! The doors through which everything that knows time is driven, each scenario written once. In: closures and times.
//! Out: handles, or the closures run. Not here: the JVM's, which has the same scenarios in `java/Timers.java`.
//!
//! Three doors, because no peer but ours goes through all: [`Insertion`] (G) puts timers in and takes them out,
//! [`Firing`] (H, I, K) lets them come due, [`Repeating`] (J) runs again and again. All are leaked, as the pools are.

mod async_io;
mod bare;
mod ours;
mod sched_tp;
mod tokio;

use std::time::{Duration, Instant};

pub(crate) use async_io::AsyncIo;
pub(crate) use bare::Bare;
pub(crate) use sched_tp::SchedTp;
pub(crate) use tokio::{TokioDelayQueue, TokioSleep, TokioTasks};

/// Timers that are put in and taken out.
pub(crate) trait Insertion: Sized + 'static {
    type Handle;

    /// Whether `cancel` knows if it was in time; then nothing can be lost unseen.
    const TELLS: bool = false;

    /// Those that keep no closure drop it, see `Peer::owns_closure`.
    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, task: F) -> Self::Handle;

    /// True when the task will not run, as far as the peer tells.
    fn cancel(&mut self, handle: Self::Handle) -> bool;

    /// Waits until what was cancelled is gone, where that is somebody else's work.
    fn settle(&mut self) {}
}

/// Timers that come due.
pub(crate) trait Firing: Sized + 'static {
    /// `body(index)` is to run at `at`, by the peer's own means.
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, body: B);

    /// Called once after the last `arm`.
    fn armed<B: Fn(u64) + Copy + Send + 'static>(&mut self, _body: B) {}
}

/// Work that comes again.
pub(crate) trait Repeating: Sized + 'static {
    /// `tick` is to run at `first` and every `period` after it. It is told how many ticks were left out before it.
    fn every<F: FnMut(u64) + Send + 'static>(&mut self, first: Instant, period: Duration, tick: F);
}

/// Kept for the rest of the process.
pub(crate) fn leak<T>(timers: T) -> &'static mut T {
    Box::leak(Box::new(timers))
}

/// From now until then; at once for what is past.
fn until(at: Instant) -> Duration {
    at.saturating_duration_since(Instant::now())
}
