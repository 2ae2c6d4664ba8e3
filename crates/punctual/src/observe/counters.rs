//! Counts that one thread writes and anybody reads.
//!
//! In: a worker's ends. Out: sums. A worker's counters lie on lines of their own and are written with a plain load
//! and store: nobody else writes them, so there is nothing to lock. What a worker counted outlives it in the pool's
//! [`Totals`].

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// One worker's counts.
#[derive(Debug)]
pub(crate) struct Counters {
    /// Tasks that were counted as finished.
    finished: AtomicU64,
    panicked: AtomicU64,
    /// Tasks whose handle said "cancelled" while they ran.
    signalled: AtomicU64,
    /// Tasks counted as finished that turned out to have been signalled in the same moment. Kept apart, so that what has
    /// ended never becomes less.
    mistaken: AtomicU64,
    /// Polls after which a future was not ready: its worker is free, as after an end.
    suspended: AtomicU64,
    polls: AtomicU64,
    parks: AtomicU64,
}

/// Sums of [`Counters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    finished: u64,
    pub(crate) panicked: u64,
    signalled: u64,
    mistaken: u64,
    pub(crate) suspended: u64,
    pub(crate) polls: u64,
    pub(crate) parks: u64,
}

impl Counters {
    pub(crate) fn new() -> Self {
        Counters {
            finished: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
            signalled: AtomicU64::new(0),
            mistaken: AtomicU64::new(0),
            suspended: AtomicU64::new(0),
            polls: AtomicU64::new(0),
            parks: AtomicU64::new(0),
        }
    }

    // Each before the outcome is published: whoever has joined a task finds it counted.

    #[inline]
    pub(crate) fn finish(&self) {
        bump(&self.finished);
    }
    /// A task that was counted as finished turned out to have been signalled in the same moment.
    pub(crate) fn finish_was_signal(&self) {
        bump(&self.mistaken);
    }
    pub(crate) fn panic(&self) {
        bump(&self.panicked);
    }
    pub(crate) fn signal(&self) {
        bump(&self.signalled);
    }
    /// Before anybody can wake the future: what is polled again was suspended before.
    pub(crate) fn suspend(&self) {
        bump(&self.suspended);
    }
    pub(crate) fn poll(&self) {
        bump(&self.polls);
    }
    pub(crate) fn park(&self) {
        bump(&self.parks);
    }

    pub(crate) fn read(&self) -> Totals {
        Totals {
            // First, and Acquire: whoever is read here was counted as finished before.
            mistaken: self.mistaken.load(Acquire),
            signalled: self.signalled.load(Acquire),
            panicked: self.panicked.load(Acquire),
            finished: self.finished.load(Acquire),
            suspended: self.suspended.load(Acquire),
            polls: self.polls.load(Relaxed),
            parks: self.parks.load(Relaxed),
        }
    }
}

impl Totals {
    /// Tasks whose body has ended, whatever way.
    pub(crate) fn ended(&self) -> u64 {
        self.finished + self.panicked + self.signalled
    }

    /// How often a worker was done with a task, for ever or until it is woken.
    pub(crate) fn left(&self) -> u64 {
        self.ended() + self.suspended
    }

    /// Tasks that returned and were not cancelled meanwhile.
    pub(crate) fn finished(&self) -> u64 {
        self.finished - self.mistaken
    }

    /// Tasks that were cancelled while they ran.
    pub(crate) fn signalled(&self) -> u64 {
        self.signalled + self.mistaken
    }
}

/// A single writer's increment.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Release);
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.finished += other.finished;
        self.panicked += other.panicked;
        self.signalled += other.signalled;
        self.mistaken += other.mistaken;
        self.suspended += other.suspended;
        self.polls += other.polls;
        self.parks += other.parks;
    }
}
