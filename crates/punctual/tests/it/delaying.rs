//! Delayed tasks: never early, in order, really gone when cancelled (`STPE-..`, `DQ-..`), and what becomes of them at the end
//! of a pool (`LIFE-06`).
//!
//! Time is a manual clock: when `advance` returns, what was due has run.

/// Cancelling and removing: STPE-19 to STPE-23, DQ-04.
mod cancelling;
/// Shutdown, stop, refusals: STPE-11, STPE-25 to STPE-31, LIFE-06, REJ-08, EXE-02, EXE-04.
mod ending;
/// Which of several comes first: STPE-08, DQ-05, DQ-06.
mod order;
/// At its time and not before: STPE-01, STPE-02, STPE-10, STPE-14, DQ-01, DQ-02, DQ-07.
mod timing;

use punctual::{Clock, ManualClock, OnDrop, Pool, PoolBuilder, Stats};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const NANO: Duration = Duration::from_nanos(1);

/// Where the tests' wall clocks begin: a round number of minutes.
pub(crate) fn begin() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_200_000_000)
}

/// So many seconds after the beginning.
pub(crate) fn at(seconds: u64) -> SystemTime {
    begin() + Duration::from_secs(seconds)
}

/// How many whole seconds after the beginning.
pub(crate) fn seconds(when: SystemTime) -> u64 {
    let since = when.duration_since(begin()).expect("after the beginning");
    assert_eq!(
        since.subsec_nanos(),
        0,
        "{since:?} is not a whole number of seconds"
    );
    since.as_secs()
}

pub(crate) fn builder(threads: usize) -> (PoolBuilder, ManualClock) {
    let clock = Clock::manual_at(begin());
    let builder = Pool::builder("timed").core_threads(threads).clock(&clock);
    // A task that sleeps on this clock when the test ends would never wake.
    (builder.on_drop(OnDrop::Stop), clock)
}

pub(crate) fn pool(threads: usize) -> (Pool, ManualClock) {
    let (builder, clock) = builder(threads);
    (builder.build().expect("valid settings"), clock)
}

/// A snapshot, which must never contradict itself.
pub(crate) fn books(pool: &Pool) -> Stats {
    let stats = pool.stats();
    let ends =
        stats.finished + stats.panicked + stats.cancelled + stats.expired + stats.evicted + stats.returned;
    let open = stats.queued + stats.active + stats.pending_timers;
    assert_eq!(stats.submitted, ends + open as u64, "{stats:?}");
    stats
}

/// What tasks noted, in order.
pub(crate) struct Notes<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Notes<T> {
    fn clone(&self) -> Self {
        Notes(self.0.clone())
    }
}

impl<T> Default for Notes<T> {
    fn default() -> Self {
        Notes(Arc::default())
    }
}

impl<T: Send + 'static> Notes<T> {
    pub(crate) fn add(&self, note: T) {
        self.0.lock().expect("nobody panics in here").push(note);
    }

    pub(crate) fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().expect("nobody panics in here"))
    }

    /// A task that notes this.
    pub(crate) fn noting(&self, note: T) -> impl FnOnce() + Send + 'static + use<T> {
        let notes = self.clone();
        move || notes.add(note)
    }
}
