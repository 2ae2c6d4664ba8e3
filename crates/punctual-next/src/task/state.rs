//! The state word of a task: who may do what with its cell, decided by single steps on one atomic.
//!
//! ```text
//!   bit 0..9    flags                           bit 32..39  pins
//!   bit 10..12  how it ended                    bit 40..63  references
//!   bit 31      nudge (no meaning, see WaitWord)
//! ```
//!
//! The low half is the word that threads sleep on. No compare-and-swap on it exists outside this file; each transition is a
//! method whose answer says what the caller must do next.
//!
//! - **References** keep the memory of the cell: the [`Runnable`](super::runnable::Runnable) has one, the handle one, each
//!   [`CellRef`](super::reference::CellRef) one. The party that gives the last one up frees the cell.
//! - **Resolved**: the outcome that waiters get is fixed. **Ended**: the runner has let go of the cell, and whatever value it
//!   produced is in place. A cancel of a running task resolves it at once, as cancelled; the end follows when the body returns.
//! - **The output** belongs to the runner until the end. At the end it goes to the handle, or is dropped by the runner if there is
//!   no handle, or if waiters have got another outcome. After the end the handle takes it, or drops it when the handle is
//!   dropped. So the party that frees a cell never runs user code.
//! - **The waker** belongs to the handle while `AWAITED` is clear, and to the party that resolves the task from the step in which
//!   it sees the bit.
//! - **Pins** hold the end off: while a thread that is no owner of the task follows the pointer from the cell to the engine, the
//!   task cannot end, so the engine is there. Pins are held for a lock section, and the end waits for them.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::{atomic, futex, yield_now};
use std::fmt;
use std::time::Duration;

const RESOLVED: u64 = 1 << 0;
const ENDED: u64 = 1 << 1;
/// A cancel came while the task ran.
const SIGNALLED: u64 = 1 << 2;
/// A thread may sleep on the low half.
const BLOCKED: u64 = 1 << 3;
/// The waker is set, and the resolver's.
const AWAITED: u64 = 1 << 4;
/// The handle has taken the output, or there is none.
const TAKEN: u64 = 1 << 5;
/// A handle is there: the output is wanted.
const HANDLE: u64 = 1 << 6;

const END_SHIFT: u32 = 10;
const END_MASK: u64 = 0b111 << END_SHIFT;

const ONE_PIN: u64 = 1 << 32;
const PIN_MASK: u64 = 0xff << 32;
const ONE_REFERENCE: u64 = 1 << 40;
/// So many references are a leak, and more would be a use after free.
const MOST_REFERENCES: u64 = 1 << 23;

/// How a task ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum End {
    Finished = 1,
    Panicked,
    Cancelled,
    /// Taken out by `stop` or `drain`.
    Returned,
    /// Refused by a full pool, and dropped by its policy.
    Rejected,
    /// Taken out of a full queue to make room for another task.
    Evicted,
}

/// A reading of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u64);

impl Snapshot {
    #[inline]
    pub(crate) fn is_resolved(self) -> bool {
        self.0 & RESOLVED != 0
    }

    /// The outcome for waiters.
    #[inline]
    pub(crate) fn end(self) -> Option<End> {
        match (self.0 & END_MASK) >> END_SHIFT {
            1 => Some(End::Finished),
            2 => Some(End::Panicked),
            3 => Some(End::Cancelled),
            4 => Some(End::Returned),
            5 => Some(End::Rejected),
            6 => Some(End::Evicted),
            _ => None,
        }
    }

    pub(crate) fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }

    #[inline]
    fn references(self) -> u64 {
        self.0 >> 40
    }

    /// Of a handle: it is the last reference, and the value of a finished task lies in the cell.
    #[inline]
    pub(crate) fn is_last_with_value(self) -> bool {
        let fixed = RESOLVED | ENDED | TAKEN | END_MASK;
        self.references() == 1 && self.0 & fixed == RESOLVED | ENDED | bits(End::Finished)
    }

    /// Whether an output lies in the cell that the handle may take.
    fn has_output(self) -> bool {
        let is_there = matches!(self.end(), Some(End::Finished | End::Panicked));
        is_there && self.0 & (ENDED | TAKEN) == ENDED
    }
}

/// What follows from the step that resolved a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "waiters must be woken"]
pub(crate) struct Waiters {
    /// Threads sleep on the word.
    pub(crate) threads: bool,
    /// The waker is the caller's, to take and to call.
    pub(crate) waker: bool,
}

/// What a runner must do next to end a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "an end has consequences"]
pub(crate) enum Publish {
    /// No waiter wants the output: the runner drops it and asks again.
    DropOutputFirst,
    /// Done, and the caller's reference is given up.
    Done { wake_threads: bool },
    /// As `Done`, and it was the last reference.
    Free,
    /// The waker is the caller's to take and to call; its reference is still there, and is to be dropped after that.
    TakeWaker { wake_threads: bool },
}

/// What a cancel of a task that a runner has meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "waiters must be woken"]
pub(crate) enum Signal {
    Signalled(Waiters),
    TooLate,
}

/// What a handle that goes leaves behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the output or the cell would leak"]
pub(crate) enum Detach {
    /// The caller's reference is given up.
    Done,
    /// As `Done`, and it was the last one.
    Free,
    /// The output is the caller's to drop; its reference is still there, and is to be dropped after that.
    DropOutput,
}

/// See the module.
pub(crate) struct State(AtomicU64);

impl State {
    /// Of a cell that no other thread knows: one reference for the `Runnable`, one for the handle if there is to be one.
    pub(crate) fn new(with_handle: bool) -> Self {
        let handle = if with_handle { ONE_REFERENCE + HANDLE } else { 0 };
        State(AtomicU64::new(ONE_REFERENCE + handle))
    }

    /// Acquire: a reader that sees the end sees the output.
    #[inline]
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.0.load(Acquire))
    }

    /// Whether the caller's reference is the only one. Then no other thread can reach the cell, now or later.
    #[inline]
    pub(crate) fn is_sole(&self) -> bool {
        self.load().references() == 1
    }

    /// By a party that has a reference, or that holds the lock of the place that owns the task.
    pub(crate) fn add_reference(&self) {
        let before = Snapshot(self.0.fetch_add(ONE_REFERENCE, Relaxed));
        if before.references() >= MOST_REFERENCES {
            std::process::abort();
        }
    }

    /// True: it was the last, and the caller frees the cell. Release and acquire as for every count that frees (model
    /// `the_last_reference_frees`).
    #[must_use = "the last one frees"]
    #[inline]
    pub(crate) fn drop_reference(&self) -> bool {
        let is_last = Snapshot(self.0.fetch_sub(ONE_REFERENCE, Release)).references() == 1;
        if is_last {
            atomic::fence(Acquire);
        }
        is_last
    }

    /// Holds the end of the task off. False: it has ended.
    #[must_use]
    pub(crate) fn pin(&self) -> bool {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & ENDED != 0 {
                return false;
            }
            if seen & PIN_MASK == PIN_MASK {
                yield_now();
                seen = self.0.load(Relaxed);
                continue;
            }
            // Acquire: the pin comes before what it protects (model `a_pin_holds_the_end_off`).
            match self
                .0
                .compare_exchange_weak(seen, seen + ONE_PIN, Acquire, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Release pairs with the acquire of the end.
    pub(crate) fn unpin(&self) {
        let before = self.0.fetch_sub(ONE_PIN, Release);
        debug_assert!(before & PIN_MASK != 0, "unpinned twice");
    }

    /// A cancel of a task that a runner has: waiters get `Cancelled` now, and whatever the body returns is dropped.
    pub(crate) fn signal(&self) -> Signal {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & RESOLVED != 0 {
                return Signal::TooLate;
            }
            let next = seen | RESOLVED | SIGNALLED | bits(End::Cancelled);
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return Signal::Signalled(waiters(seen)),
                Err(now) => seen = now,
            }
        }
    }

    /// The end of a task that is handed out unrun: waiters get their answer, the closure stays, and so does the caller's reference.
    pub(crate) fn resolve_unrun(&self, end: End) -> Waiters {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & PIN_MASK != 0 {
                seen = self.unpinned();
            }
            debug_assert!(seen & RESOLVED == 0, "a task that waits has no outcome: {self:?}");
            let next = seen | RESOLVED | ENDED | TAKEN | bits(end);
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return waiters(seen),
                Err(now) => seen = now,
            }
        }
    }

    /// The end: fixes the outcome unless a cancel did, and gives the runner's reference up, in one step. `has_output`: an output
    /// lies in the cell. Release publishes it; acquire orders it after every pin (model `a_pin_holds_the_end_off`).
    #[inline]
    pub(crate) fn publish(&self, end: End, has_output: bool) -> Publish {
        let mut seen = self.0.load(Relaxed);
        loop {
            if seen & PIN_MASK != 0 {
                seen = self.unpinned();
            }
            let is_first = seen & RESOLVED == 0;
            if has_output && (!is_first || seen & HANDLE == 0) {
                return Publish::DropOutputFirst;
            }
            let outcome = if is_first { bits(end) } else { 0 };
            let taken = if has_output { 0 } else { TAKEN };
            let keeps = is_first && seen & AWAITED != 0;
            let reference = if keeps { 0 } else { ONE_REFERENCE };
            let next = (seen | RESOLVED | ENDED | taken | outcome) - reference;
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => {
                    let wake_threads = is_first && seen & BLOCKED != 0;
                    return match Snapshot(next).references() {
                        _ if keeps => Publish::TakeWaker { wake_threads },
                        0 => Publish::Free,
                        _ => Publish::Done { wake_threads },
                    };
                }
                Err(now) => seen = now,
            }
        }
    }

    /// Waits for the threads that pin the cell; each does so for one lock section.
    #[cold]
    fn unpinned(&self) -> u64 {
        loop {
            let seen = self.0.load(Relaxed);
            if seen & PIN_MASK == 0 {
                return seen;
            }
            yield_now();
        }
    }

    /// The handle has taken the output.
    pub(crate) fn mark_taken(&self) {
        self.0.fetch_or(TAKEN, Relaxed);
    }

    /// The handle is dropped: the task goes on without it.
    pub(crate) fn detach(&self) -> Detach {
        let mut seen = self.0.load(Acquire);
        loop {
            if Snapshot(seen).has_output() {
                return Detach::DropOutput;
            }
            let next = seen - ONE_REFERENCE - HANDLE;
            match self.0.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) if Snapshot(next).references() == 0 => return Detach::Free,
                Ok(_) => return Detach::Done,
                Err(now) => seen = now,
            }
        }
    }

    /// Announces a sleep on the low half; the answer is what to sleep on.
    pub(crate) fn announce_sleeper(&self) -> Snapshot {
        Snapshot(self.0.fetch_or(BLOCKED, AcqRel) | BLOCKED)
    }

    /// Sleeps until the low half differs from `seen`. May return early.
    pub(crate) fn sleep(&self, seen: Snapshot, limit: Option<Duration>) {
        futex::wait_low_half(&self.0, seen.0 as u32, limit);
    }

    /// Where the sleepers of this word are found; also after the cell is gone.
    pub(crate) fn address(&self) -> *const AtomicU64 {
        &raw const self.0
    }

    /// The handle takes the waker back, to replace it. False: the task is resolved, and the waker is the resolver's.
    #[must_use]
    pub(crate) fn reclaim_waker(&self) -> bool {
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & RESOLVED != 0 {
                return false;
            }
            if seen & AWAITED == 0 {
                return true;
            }
            match self
                .0
                .compare_exchange_weak(seen, seen & !AWAITED, AcqRel, Acquire)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// The handle leaves its waker to the resolver. False: the task is resolved, and the waker is still the handle's. Release
    /// publishes the waker (model `a_waker_is_called`).
    #[must_use]
    pub(crate) fn leave_waker(&self) -> bool {
        let mut seen = self.0.load(Acquire);
        loop {
            if seen & RESOLVED != 0 {
                return false;
            }
            match self
                .0
                .compare_exchange_weak(seen, seen | AWAITED, AcqRel, Acquire)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }
}

const fn bits(end: End) -> u64 {
    (end as u64) << END_SHIFT
}

fn waiters(seen: u64) -> Waiters {
    Waiters {
        threads: seen & BLOCKED != 0,
        waker: seen & AWAITED != 0,
    }
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = Snapshot(self.0.load(Relaxed));
        let flags = [
            (RESOLVED, "resolved"),
            (ENDED, "ended"),
            (SIGNALLED, "signalled"),
            (BLOCKED, "blocked"),
            (AWAITED, "awaited"),
            (TAKEN, "taken"),
            (HANDLE, "handle"),
        ];
        let mut set = f.debug_set();
        for (_, name) in flags.iter().filter(|(bit, _)| seen.0 & bit != 0) {
            set.entry(name);
        }
        set.entry(&seen.end())
            .entry(&format_args!("{} references", seen.references()))
            .finish()
    }
}
