//! What a room counts, and what follows from it.
//!
//! `pushed`: records ever written. `popped`: records that left the log; `taken`: those among them that a worker took (the
//! others' task was claimed elsewhere, or the log was drained). `cancelled`, `returned`, `evicted`, `expired`: tasks that ended
//! without being taken; `joined`: tasks that a joiner ran in place; together *removed*. A permit is held from the push
//! until the task is taken or removed, so `waiting = pushed - taken - removed`, and each permit comes back exactly once.
//! The producers look at these only when the records they may write without a look are used up (`open_until`): in the
//! common case they read nothing that consumers write.

use super::Capacity;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use crate::task::home::Removal;

/// Mirror of the consumers' counts, for those who look without their lock.
pub(super) struct Popped {
    pub(super) records: AtomicU64,
    pub(super) taken: AtomicU64,
}

impl Popped {
    pub(super) fn new() -> Self {
        Popped {
            records: AtomicU64::new(0),
            taken: AtomicU64::new(0),
        }
    }

    /// The taken first: whoever sees a record gone sees what became of it.
    pub(super) fn publish(&self, records: u64, taken: u64) {
        self.taken.store(taken, Release);
        self.records.store(records, Release);
    }
}

/// Tasks that left without being taken by a worker; each count only grows, once per task.
pub(super) struct Removed {
    pub(super) cancelled: AtomicU64,
    pub(super) returned: AtomicU64,
    pub(super) evicted: AtomicU64,
    pub(super) expired: AtomicU64,
    pub(super) joined: AtomicU64,
}

impl Removed {
    pub(super) fn new() -> Self {
        Removed {
            cancelled: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            joined: AtomicU64::new(0),
        }
    }

    pub(super) fn count(&self, how: Removal) {
        let counter = match how {
            Removal::Cancelled => &self.cancelled,
            Removal::Returned => &self.returned,
            Removal::Evicted => &self.evicted,
            Removal::Expired => &self.expired,
            Removal::Joined => &self.joined,
        };
        counter.fetch_add(1, AcqRel);
    }

    pub(super) fn sum(&self) -> u64 {
        let ended = self.cancelled.load(Acquire) + self.returned.load(Acquire) + self.evicted.load(Acquire);
        ended + self.expired.load(Acquire) + self.joined.load(Acquire)
    }
}

/// Counts read at one moment; see [`Room::tally`](super::room::Room::tally).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) pushed: u64,
    pub(crate) taken: u64,
    /// Tasks that were cancelled before they were taken.
    pub(crate) cancelled: u64,
    /// Tasks that `stop` or `drain` took out.
    pub(crate) returned: u64,
    /// Tasks that were thrown out for others.
    pub(crate) evicted: u64,
    /// Tasks that waited longer than they were meant to.
    pub(crate) expired: u64,
    /// Tasks that somebody who waited for them ran in place; not part of `taken`.
    pub(crate) joined: u64,
    pub(crate) capacity: Capacity,
    pub(crate) paused: bool,
}

impl Tally {
    /// Both together; what concerns places is this one's.
    pub(crate) fn with(&self, other: &Tally) -> Tally {
        Tally {
            pushed: self.pushed + other.pushed,
            taken: self.taken + other.taken,
            cancelled: self.cancelled + other.cancelled,
            returned: self.returned + other.returned,
            evicted: self.evicted + other.evicted,
            expired: self.expired + other.expired,
            joined: self.joined + other.joined,
            ..*self
        }
    }

    pub(crate) fn waiting(&self) -> u64 {
        let ended = self.cancelled + self.returned + self.evicted + self.expired;
        self.pushed - self.taken - self.joined - ended
    }
}
