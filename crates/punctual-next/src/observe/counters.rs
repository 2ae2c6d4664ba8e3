//! Counts of what happens beside the workers: cold, shared, written by any thread.

use crate::sync::unmodelled::{AtomicU64, Relaxed};
use std::fmt;

/// One count.
#[derive(Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add_one(&self) {
        self.0.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.load(Relaxed).fmt(f)
    }
}

/// Tasks that did not end on a worker.
#[derive(Debug, Default)]
pub(crate) struct SharedCounters {
    /// Cancelled before they began.
    pub(crate) cancelled: Counter,
    /// Given back by `stop` and `drain`.
    pub(crate) returned: Counter,
    /// Refused by a full pool, and dropped by its policy.
    pub(crate) discarded: Counter,
    /// Dropped to make room for others.
    pub(crate) evicted: Counter,
    /// Run on their submitter's thread.
    pub(crate) caller_ran: Counter,
}
