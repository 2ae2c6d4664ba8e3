//! Counts that one thread writes and anybody reads.
//!
//! In: a worker's ends. Out: sums. A worker's counters lie on lines of their own and are written with a plain load
//! and store: nobody else writes them, so there is nothing to lock. What a worker counted outlives it in the pool's
//! [`Totals`].

use crate::queue::LEVELS;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::unmodelled;
use crate::time::MEASURES;

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
    /// Futures that were polled again by a worker that had kept them, or had them from another.
    yielded: unmodelled::AtomicU64,
    polls: AtomicU64,
    parks: AtomicU64,
    /// How often a worker was called from its sleep, found nothing, and went back.
    in_vain: unmodelled::AtomicU64,
    /// How the last task ended, if it did not just return; taken by [`Counters::ended_at`].
    oddly: unmodelled::AtomicU64,
    /// Ends by level, where the queue has levels; of priorities beyond the last one too. Most tasks return.
    returned: [unmodelled::AtomicU64; LEVELS],
    odd: [[unmodelled::AtomicU64; ENDS]; LEVELS],
}

/// Ends that are counted by level: returned, panicked, cancelled while it ran.
pub(crate) const ENDS: usize = 3;
const PANICKED: u64 = 1;
const SIGNALLED: u64 = 2;
/// No end: a future rests.
const SUSPENDED: u64 = 3;

/// Sums of [`Counters`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    finished: u64,
    pub(crate) panicked: u64,
    signalled: u64,
    mistaken: u64,
    pub(crate) suspended: u64,
    pub(crate) yielded: u64,
    pub(crate) polls: u64,
    pub(crate) parks: u64,
    pub(crate) in_vain: u64,
    /// Ends by priority: returned, panicked, cancelled while it ran. They come a moment after those above.
    pub(crate) levels: [[u64; ENDS]; LEVELS],
}

impl Counters {
    pub(crate) fn new() -> Self {
        Counters {
            finished: AtomicU64::new(0),
            panicked: AtomicU64::new(0),
            signalled: AtomicU64::new(0),
            mistaken: AtomicU64::new(0),
            suspended: AtomicU64::new(0),
            yielded: unmodelled::AtomicU64::new(0),
            polls: AtomicU64::new(0),
            parks: AtomicU64::new(0),
            in_vain: unmodelled::AtomicU64::new(0),
            oddly: unmodelled::AtomicU64::new(0),
            returned: Default::default(),
            odd: Default::default(),
        }
    }

    // Each before the outcome is published: whoever has joined a task finds it counted.

    /// (A build without statistics does not: its pools work, and never tell that they are idle.)
    #[inline]
    pub(crate) fn finish(&self) {
        if MEASURES {
            bump(&self.finished);
        }
    }
    /// A task that was counted as finished turned out to have been signalled in the same moment.
    pub(crate) fn finish_was_signal(&self) {
        bump(&self.mistaken);
        self.oddly.store(SIGNALLED, Relaxed);
    }
    pub(crate) fn panic(&self) {
        bump(&self.panicked);
        self.oddly.store(PANICKED, Relaxed);
    }
    pub(crate) fn signal(&self) {
        bump(&self.signalled);
        self.oddly.store(SIGNALLED, Relaxed);
    }
    /// Before anybody can wake the future: what is polled again was suspended before.
    pub(crate) fn suspend(&self) {
        bump(&self.suspended);
        self.oddly.store(SUSPENDED, Relaxed);
    }
    /// The same of several that this worker kept.
    pub(crate) fn suspend_many(&self, futures: usize) {
        add(&self.suspended, futures as u64);
    }
    pub(crate) fn take_yielded(&self) {
        add_one(&self.yielded);
    }
    pub(crate) fn poll(&self) {
        bump(&self.polls);
    }
    pub(crate) fn park(&self) {
        bump(&self.parks);
    }
    pub(crate) fn called_in_vain(&self) {
        add_one(&self.in_vain);
    }

    /// The task of this priority that was run last has ended, in whichever way, and everybody has been told. For queues with
    /// levels only.
    #[inline]
    pub(crate) fn ended_at(&self, priority: u8) {
        let level = usize::from(priority).min(LEVELS - 1);
        match self.oddly.load(Relaxed) {
            0 => add_one(&self.returned[level]),
            how => self.ended_oddly(how, level),
        }
    }

    #[cold]
    fn ended_oddly(&self, how: u64, level: usize) {
        self.oddly.store(0, Relaxed);
        if how != SUSPENDED {
            add_one(&self.odd[level][how as usize]);
        }
    }

    pub(crate) fn read(&self) -> Totals {
        Totals {
            // First, and Acquire: whoever is read here was counted as finished before.
            mistaken: self.mistaken.load(Acquire),
            signalled: self.signalled.load(Acquire),
            panicked: self.panicked.load(Acquire),
            finished: self.finished.load(Acquire),
            suspended: self.suspended.load(Acquire),
            yielded: self.yielded.load(Relaxed),
            polls: self.polls.load(Relaxed),
            parks: self.parks.load(Relaxed),
            in_vain: self.in_vain.load(Relaxed),
            levels: std::array::from_fn(|level| {
                let mut ends = self.odd[level].each_ref().map(|end| end.load(Relaxed));
                ends[0] = self.returned[level].load(Relaxed);
                ends
            }),
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

    /// How often a worker was done with a task, for ever, until it is woken, or until it is its turn again.
    pub(crate) fn turns(&self) -> u64 {
        self.left() + self.yielded
    }

    /// Tasks that returned and were not cancelled meanwhile.
    pub(crate) fn finished(&self) -> u64 {
        self.finished - self.mistaken
    }

    /// Ends of one of so many levels; what was beyond the last one is the last one's.
    pub(crate) fn of_level(&self, level: usize, levels: usize) -> [u64; ENDS] {
        let to = if level + 1 == levels { LEVELS } else { level + 1 };
        let all = self.levels[level.min(LEVELS - 1)..to].iter();
        all.fold([0; ENDS], |sum, ends| {
            std::array::from_fn(|end| sum[end] + ends[end])
        })
    }

    /// Tasks that were cancelled while they ran.
    pub(crate) fn signalled(&self) -> u64 {
        self.signalled + self.mistaken
    }
}

/// A single writer's increment.
#[inline]
fn bump(counter: &AtomicU64) {
    add(counter, 1);
}

#[inline]
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed) + more, Release);
}

/// The same where no order is asked for.
#[inline]
fn add_one(counter: &unmodelled::AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Relaxed);
}

impl std::ops::AddAssign for Totals {
    fn add_assign(&mut self, other: Self) {
        self.finished += other.finished;
        self.panicked += other.panicked;
        self.signalled += other.signalled;
        self.mistaken += other.mistaken;
        self.suspended += other.suspended;
        self.yielded += other.yielded;
        self.polls += other.polls;
        self.parks += other.parks;
        self.in_vain += other.in_vain;
        for (level, others) in self.levels.iter_mut().zip(other.levels) {
            for (end, others) in level.iter_mut().zip(others) {
                *end += others;
            }
        }
    }
}
