//! The waking of a future: one word beside the block's state, and nothing else in this file.
//!
//! ```text
//!              begin                    rest: nobody has woken it
//!  woken --------------> polled ------------------------------------> resting
//!    ^                   |    |                                          |
//!    |   rest: woken     |    | end                                      |
//!    '-------------------'    '-----------> over                         |
//!    '--- wake: one wins, and gives it a record -------------------------'
//! ```
//!
//! In: wakes, polls, and those who could wake it, come and gone. Out: for each step, what the caller now owes.
//!
//! **Never two polls at once.** *Woken* and not *polled* means: it has a record, or whoever set the bit is about to write one.
//! Only the holder of that record begins a poll. A wake of a future that is woken already adds nothing; one that comes
//! during a poll leaves the bit behind, and the poller gives it a record when it has ended the poll.
//!
//! **Never a lost wake.** The end of a poll and a wake are steps on one word: either the poller sees the wake, or the waker sees
//! that the future rests and gives it a record. So a wake is a read-modify-write always: it must be ordered before the
//! poll that it asks for.
//!
//! **Nobody left.** The upper half counts those who could still do something with it: wakers, the handle, a reference. A resting
//! future that loses the last of them would rest for ever: the last to go gives it a record, and a worker drops it. In the
//! same step as the last one goes, because a moment later the block may be gone.
//!
//! **Their share.** Together they hold one share of the block: while the future is not over, and after that while the count is
//! not zero. It changes hands with a step on this word and nowhere else: the step that makes both false gives it up (the end, or
//! the last to go), and the step that makes the count one again after that takes another. A look through `Control` does that: the
//! task may be over when it is made, by the share of the worker that is about to hide it (model
//! `a_detached_future_that_ends_while_somebody_looks`).

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::unmodelled::AtomicU32;
use std::fmt;

/// A poll is in progress. Set and cleared by the poller.
const POLLED: u64 = 1 << 0;
/// It is to be polled: it has a record, or gets one from whoever set the bit, or from the poller.
const WOKEN: u64 = 1 << 1;
/// The future is gone: nothing is woken any more. Never cleared.
const OVER: u64 = 1 << 2;
/// It has been polled before. Never cleared.
const BEGUN: u64 = 1 << 3;
/// Nobody could wake it: it is to be dropped, not polled.
const UNWANTED: u64 = 1 << 4;
const ONE: u64 = 1 << 32;

/// Who a poll is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Its first poll.
    First,
    Again,
    /// No poll: it is to be dropped.
    Unwanted,
}

/// How a poll that gave no value left the future.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a woken future needs a record"]
pub(crate) enum Rest {
    /// Whoever wakes it gives it a record. The block is not the poller's any more.
    Resting,
    /// It was woken meanwhile, or nobody could wake it: the poller gives it a record.
    Woken,
}

/// What somebody who could have woken it owes when he goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the last one ends the future, or gives up the share"]
pub(crate) enum Gone {
    OthersRemain,
    /// It rests, and nobody else could wake it: give it a record.
    Unwanted,
    /// It is over: give up the share of the block.
    Last,
}

/// The word, and where a resting future stands in its pool's list.
pub(crate) struct Waking {
    word: AtomicU64,
    /// One more than its place; 0: in no list. Changes under the list's lock.
    pub(crate) place: AtomicU32,
}

impl Waking {
    /// Of a future that is about to get its first record.
    pub(crate) fn new(with_handle: bool) -> Self {
        Waking {
            word: AtomicU64::new(WOKEN | if with_handle { ONE } else { 0 }),
            place: AtomicU32::new(0),
        }
    }

    /// The holder of its record begins a poll.
    ///
    /// Acquire: the poller sees what the last one did, and what was done before the wake (model `a_wake_is_seen`).
    pub(crate) fn begin(&self) -> Begin {
        // Only holders of its record change these two bits, one after the other.
        let seen = self.word.load(Relaxed);
        debug_assert!(seen & (WOKEN | POLLED | OVER) == WOKEN, "polled twice: {self:?}");
        let first = if seen & BEGUN == 0 { BEGUN } else { 0 };
        // From woken to polled, in one step.
        self.word
            .fetch_add(POLLED.wrapping_sub(WOKEN).wrapping_add(first), AcqRel);
        if seen & UNWANTED != 0 {
            Begin::Unwanted
        } else if first != 0 {
            Begin::First
        } else {
            Begin::Again
        }
    }

    /// Whether the poller will find it woken: it need not be listed then.
    pub(crate) fn is_woken(&self) -> bool {
        self.word.load(Relaxed) & WOKEN != 0
    }

    /// The poll is over, and the future is not.
    ///
    /// Release: the next poller sees what this one did.
    pub(crate) fn rest(&self) -> Rest {
        let mut seen = self.word.load(Relaxed);
        loop {
            let (next, rest) = if seen & WOKEN != 0 {
                (seen & !POLLED, Rest::Woken)
            } else if seen >> 32 == 0 {
                (seen & !POLLED | WOKEN | UNWANTED, Rest::Woken)
            } else {
                (seen & !POLLED, Rest::Resting)
            };
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return rest,
                Err(now) => seen = now,
            }
        }
    }

    /// True: it rested, and the caller gives it a record.
    #[must_use = "true: it needs a record"]
    pub(crate) fn wake(&self) -> bool {
        self.word.fetch_or(WOKEN, AcqRel) & (WOKEN | POLLED | OVER) == 0
    }

    /// The future is gone. True: nobody is left who could have woken it, and their share is the caller's to give up.
    #[must_use = "true: the share must be given up"]
    pub(crate) fn end(&self) -> bool {
        let before = self.word.fetch_or(OVER, AcqRel);
        debug_assert!(before & OVER == 0, "ended twice");
        before >> 32 == 0
    }

    /// One more who could wake it, made by something that holds the block: the poll, one that is counted, or another share. True:
    /// their share had been given up, and the caller takes another.
    #[must_use = "true: a share must be taken"]
    pub(crate) fn come(&self) -> bool {
        let before = self.word.fetch_add(ONE, Relaxed);
        // As the standard library's `Arc`: so many are a leak, and one more would be a use after free.
        if before >> 63 != 0 {
            std::process::abort();
        }
        before & OVER != 0 && before >> 32 == 0
    }

    /// One less. Unless the answer says otherwise the block is not the caller's any more.
    ///
    /// Release and acquire as for every count that frees.
    pub(crate) fn go(&self) -> Gone {
        let mut seen = self.word.load(Relaxed);
        loop {
            debug_assert!(seen >> 32 > 0, "one went twice");
            let (mut next, mut gone) = (seen - ONE, Gone::OthersRemain);
            if next >> 32 == 0 {
                if seen & OVER != 0 {
                    gone = Gone::Last;
                } else if seen & (WOKEN | POLLED) == 0 {
                    next |= WOKEN | UNWANTED;
                    gone = Gone::Unwanted;
                }
            }
            match self.word.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return gone,
                Err(now) => seen = now,
            }
        }
    }

    /// Whether it has been polled.
    pub(crate) fn is_begun(&self) -> bool {
        self.word.load(Acquire) & BEGUN != 0
    }

    /// Whether it has been polled, is not being polled, and is not over.
    pub(crate) fn is_suspended(&self) -> bool {
        self.word.load(Acquire) & (BEGUN | POLLED | OVER) == BEGUN
    }
}

impl fmt::Debug for Waking {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = self.word.load(Relaxed);
        let named = [
            (POLLED, "polled"),
            (WOKEN, "woken"),
            (OVER, "over"),
            (BEGUN, "begun"),
            (UNWANTED, "unwanted"),
        ];
        let mut list = f.debug_set();
        for (_, name) in named.iter().filter(|(bit, _)| word & bit != 0) {
            list.entry(name);
        }
        list.entry(&(word >> 32)).finish()
    }
}
