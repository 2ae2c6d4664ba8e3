//! Counts that one thread writes and anybody reads.
//!
//! In: a worker's ends. Out: sums. A worker's counters lie on lines of their own and are written with a plain load
//! and store: nobody else writes them, so there is nothing to lock. What a worker counted outlives it in the pool's
//! [`Totals`].

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Relaxed, Release};

/// One worker's counts.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Tasks whose body has ended, whatever way.
    ended: AtomicU64,
    /// Of those, the ones that panicked.
    panicked: AtomicU64,
    /// Of those, the ones whose handle said "cancelled" while they ran.
    signalled: AtomicU64,
    parks: AtomicU64,
}

/// Sums of [`Counters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) ended: u64,
    pub(crate) panicked: u64,
    pub(crate) signalled: u64,
    pub(crate) parks: u64,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Counters {
            ended: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
            signalled: AtomicU64::new(0),
            parks: AtomicU64::new(0),
        }
    }

    /// Before the outcome is published: whoever has joined a task finds it counted.
    #[inline]
    pub(crate) fn end(&self) {
        bump(&self.ended);
    }
    pub(crate) fn panic(&self) {
        bump(&self.panicked);
    }
    pub(crate) fn signal(&self) {
        bump(&self.signalled);
    }
    /// A panic that was counted turned out to have been cancelled in the same moment.
    pub(crate) fn panic_was_signalled(&self) {
        self.panicked.store(self.panicked.load(Relaxed) - 1, Release);
        self.signal();
    }
    pub(crate) fn park(&self) {
        bump(&self.parks);
    }

    pub(crate) fn read(&self) -> Totals {
        Totals {
            // The kinds first: an end that is read includes its kind only if that was counted before it.
            panicked: self.panicked.load(Relaxed),
            signalled: self.signalled.load(Relaxed),
            ended: self.ended.load(Relaxed),
            parks: self.parks.load(Relaxed),
        }
    }
}

/// A single writer's increment. Release, so that a reader that sees the end of a task sees its kind too.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Release);
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.ended += other.ended;
        self.panicked += other.panicked;
        self.signalled += other.signalled;
        self.parks += other.parks;
    }
}
