//! The state of a task that has a handle: one word, and nothing else in this file.
//!
//! ```text
//!            claim (worker, cancel, drain: one wins)                  settle
//!  waiting ------------------------------------------------> claimed ---------> resolved(outcome)
//!     |                                                         ^                    |
//!     '--- the entry stays in the queue; whoever pops it -------'                    v
//!          finds it claimed and lets go of the task's share           the handle takes the value
//!
//!  memory: freed by whoever makes the last of these true: TASK_GONE, HANDLE_GONE, no REFERENCES
//! ```
//!
//! In: transitions, each a method. Out: for each, a `#[must_use]` answer that says what the caller now owes. No
//! compare-and-swap on a task's word exists outside this file.

use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::{WaitWord, wait_while};
use std::fmt;

/// The task has left the queue for good: exactly one claimer saw this bit clear. Set once, never cleared.
const CLAIMED: u32 = 1 << 0;
/// The outcome is fixed and may be read. Set by the claimer, or by a canceller while the task runs; never cleared.
const RESOLVED: u32 = 1 << 1;
/// Three bits that hold an [`End`]; they mean something once `RESOLVED` is set, with which they are written.
const OUTCOME: u32 = 0b111 << OUTCOME_SHIFT;
const OUTCOME_SHIFT: u32 = 2;
/// Some thread sleeps on the word. Set by waiters; the resolver reads it to know whether to wake.
const WAITING: u32 = 1 << 5;
/// The block's waker cell is filled. Set and cleared by the handle before `RESOLVED`, never after: from then on the
/// resolver may read the cell, and the cell is emptied only when the block is freed.
const WAKER: u32 = 1 << 6;
/// The task's side (queue entry, worker, `Unrun`) will not touch the block again.
const TASK_GONE: u32 = 1 << 7;
/// The handle will not touch the block again.
const HANDLE_GONE: u32 = 1 << 8;
const BOTH_GONE: u32 = TASK_GONE | HANDLE_GONE;
/// Its time has not come: it lies in the timer store. Cleared under the store's lock, once.
const DELAYED: u32 = 1 << 9;
/// The value, or the panic's payload, has been moved out. Set by the handle; by the runner, if that was gone when the outcome was
/// fixed.
const TAKEN: u32 = 1 << 10;
/// The side record holds a token. Set by whoever made it, after storing it; a canceller that sees the bit fires it.
const TOKEN: u32 = 1 << 11;
/// Cancelled while running: waiters have their answer, the body's own result will be dropped.
const SIGNALLED: u32 = 1 << 12;
/// Claimed by a party that will not run it: there is nothing to signal. Set together with `CLAIMED`; or later, by
/// [`State::take_back`].
const REMOVED: u32 = 1 << 14;
/// The body has ended by a panic and a hook is looking at the payload; `RESOLVED` follows when it has looked.
const ENDED: u32 = 1 << 13;
/// A task of a view that has not got a slot in each of its gates: it lies in one of their lines, or in the timer store.
/// Changes by its mover only, and not once `CLAIMED` is set: whoever claims a task without this bit has its slots to give
/// back, otherwise whoever takes it out of the line has.
const PARKED: u32 = 1 << 15;
/// How many references hold the block: eight bits. There is one, or two for a moment.
const REFERENCES: u32 = 0xff << REFERENCE_SHIFT;
const REFERENCE_SHIFT: u32 = 16;
const ONE_REFERENCE: u32 = 1 << REFERENCE_SHIFT;
/// The body of a task that borrows has begun: its closure cannot be taken back any more. Set by [`State::begin_body`], never
/// cleared.
const BEGUN: u32 = 1 << 24;
/// Somebody who holds a share, but no claim, is on his way to the task's home: the outcome waits for that, and with it
/// the home's end. Set and cleared by [`State::pin`].
const PINNED: u32 = 1 << 25;
/// The level in the next three bits counts, not the one it was submitted with. Set with those bits, before the claim.
const PLACED: u32 = 1 << 26;
const LEVEL: u32 = 0b111 << LEVEL_SHIFT;
const LEVEL_SHIFT: u32 = 27;
/// It has more than one record in the queue, and only the last one counts. Set before the claim, never cleared; the
/// highest bit below the nudge.
const MOVED: u32 = 1 << 30;

/// How a task with a handle ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum End {
    Finished = 1,
    Panicked = 2,
    Cancelled = 3,
    Returned = 4,
    /// Thrown out of the queue for another.
    Evicted = 5,
    /// Never accepted, by a policy that says nothing to the submitter.
    Rejected = 6,
    /// It waited longer than it was meant to.
    Expired = 7,
}

/// A reading of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Snapshot(u32);

impl Snapshot {
    pub(crate) fn is_claimed(self) -> bool {
        self.0 & CLAIMED != 0
    }
    /// Taken out without being run; its outcome follows if it is not there yet.
    pub(crate) fn is_removed(self) -> bool {
        self.0 & REMOVED != 0
    }
    #[inline]
    pub(crate) fn is_resolved(self) -> bool {
        self.0 & RESOLVED != 0
    }
    /// The body has ended by a panic, and the outcome may not be there yet.
    pub(crate) fn is_ended(self) -> bool {
        self.0 & ENDED != 0
    }
    pub(crate) fn is_taken(self) -> bool {
        self.0 & TAKEN != 0
    }
    /// The same reading, after the result has been moved out.
    #[inline]
    pub(crate) fn taken(self) -> Self {
        Snapshot(self.0 | TAKEN)
    }
    /// Whether an older record of it may lie in the queue.
    #[inline]
    pub(crate) fn is_moved(self) -> bool {
        self.0 & MOVED != 0
    }
    /// The level it was given after it was submitted.
    pub(crate) fn level(self) -> Option<usize> {
        (self.0 & PLACED != 0).then_some(((self.0 & LEVEL) >> LEVEL_SHIFT) as usize)
    }
    pub(crate) fn is_delayed(self) -> bool {
        self.0 & DELAYED != 0
    }
    /// It lies in the timer store, nobody has claimed it, and nobody is on his way to its home.
    #[inline]
    pub(crate) fn is_in_store(self) -> bool {
        self.0 & (DELAYED | CLAIMED | PINNED) == DELAYED
    }
    /// Of a view's task: it waits for a slot, or did when it was claimed.
    pub(crate) fn is_parked(self) -> bool {
        self.0 & PARKED != 0
    }
    pub(crate) fn has_waker(self) -> bool {
        self.0 & WAKER != 0
    }
    pub(crate) fn has_token(self) -> bool {
        self.0 & TOKEN != 0
    }
    pub(crate) fn is_signalled(self) -> bool {
        self.0 & SIGNALLED != 0
    }
    pub(crate) fn is_waited_for(self) -> bool {
        self.0 & WAITING != 0
    }
    /// Somebody sleeps on it, or left a waker.
    #[inline]
    pub(crate) fn is_awaited(self) -> bool {
        self.0 & (WAITING | WAKER) != 0
    }
    pub(crate) fn is_handle_gone(self) -> bool {
        self.0 & HANDLE_GONE != 0
    }
    pub(crate) fn is_everyone_gone(self) -> bool {
        self.0 & (BOTH_GONE | REFERENCES) == BOTH_GONE
    }
    /// Whether the task gave its share up in the step that gave this reading.
    pub(crate) fn is_task_gone(self) -> bool {
        self.0 & TASK_GONE != 0
    }
    /// Only the handle is left: it may take and free without another atomic step.
    #[inline]
    pub(crate) fn is_handle_alone(self) -> bool {
        self.0 & (BOTH_GONE | REFERENCES) == TASK_GONE
    }
    pub(crate) fn outcome(self) -> Option<End> {
        if !self.is_resolved() {
            return None;
        }
        match (self.0 & OUTCOME) >> OUTCOME_SHIFT {
            1 => Some(End::Finished),
            2 => Some(End::Panicked),
            3 => Some(End::Cancelled),
            4 => Some(End::Returned),
            5 => Some(End::Evicted),
            6 => Some(End::Rejected),
            7 => Some(End::Expired),
            _ => None,
        }
    }
    /// A failure lies in the block that nobody has looked at.
    pub(crate) fn holds_unread(self) -> bool {
        self.outcome() == Some(End::Panicked) && !self.is_taken()
    }
    /// Of the step that fixed the outcome: no handle is there to take what the body left, so the runner ends it.
    #[inline]
    pub(crate) fn leaves_result_to_runner(self) -> bool {
        self.is_handle_gone() && self.holds_result()
    }
    /// Neither a result nor a waker lies in the block.
    #[inline]
    pub(crate) fn is_bare(self) -> bool {
        self.0 & WAKER == 0 && !self.holds_result()
    }
    /// Something of the body's own (value or panic) lies in the block and belongs to whoever frees it.
    #[inline]
    pub(crate) fn holds_result(self) -> bool {
        !self.is_taken() && matches!(self.outcome(), Some(End::Finished | End::Panicked))
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = [
            (CLAIMED, "claimed"),
            (RESOLVED, "resolved"),
            (WAITING, "waiting"),
            (WAKER, "waker"),
            (TASK_GONE, "task-gone"),
            (HANDLE_GONE, "handle-gone"),
            (DELAYED, "delayed"),
            (TAKEN, "taken"),
            (TOKEN, "token"),
            (SIGNALLED, "signalled"),
            (ENDED, "ended"),
            (REMOVED, "removed"),
            (BEGUN, "begun"),
            (PINNED, "pinned"),
            (MOVED, "moved"),
            (PARKED, "parked"),
        ];
        let mut list = f.debug_set();
        for (bit, name) in named {
            if self.0 & bit != 0 {
                list.entry(&name);
            }
        }
        list.entry(&self.outcome());
        list.entry(&((self.0 & REFERENCES) >> REFERENCE_SHIFT)).finish()
    }
}

/// Answer of [`State::claim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "a won claim must be run, dropped or given back; a lost one must let go of its share"]
pub(crate) enum Claim {
    Won,
    Lost,
}

/// Answer of [`State::resolve`]: what is left to do for the one who fixed the outcome.
#[derive(Debug, Clone, Copy)]
#[must_use = "the resolver owes the waiters a wake-up, or owns the result that nobody can take any more"]
pub(crate) enum Resolved {
    /// Fixed now; the reading includes the new bits, and `TASK_GONE` if it was asked for and no waker stood by.
    Fixed(Snapshot),
    /// A canceller fixed it while the body ran; the caller's result goes nowhere.
    BeforeUs,
}

/// Answer of [`State::signal`].
#[derive(Debug, Clone, Copy)]
#[must_use = "a signaller owes the waiters a wake-up and the task its token"]
pub(crate) enum Signal {
    /// Still waiting: nothing was changed, claim it instead.
    NotRunning,
    /// It runs, and its waiters may now be told; the reading from before.
    Signalled(Snapshot),
    TooLate,
}

/// What is left of a block after one party has let go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "the last one out frees the block"]
pub(crate) enum Share {
    OthersRemain,
    Last(Snapshot),
}

impl Share {
    fn of(after: u32) -> Self {
        let after = Snapshot(after);
        if after.is_everyone_gone() {
            Share::Last(after)
        } else {
            Share::OthersRemain
        }
    }
}

/// Answer of [`State::drop_handle`].
#[derive(Debug, Clone, Copy)]
#[must_use = "the last one out frees the block; a result must be read or dropped first"]
pub(crate) enum HandleDrop {
    Share(Share),
    /// What the body left lies there: end it, and call again.
    Holds(End),
}

/// The word.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct State {
    word: WaitWord,
}

impl State {
    /// Waiting, with a handle (or, for a task that only wants a block's options, without), and perhaps with a token.
    pub(crate) fn new(with_handle: bool, with_token: bool) -> Self {
        let handle = if with_handle { 0 } else { HANDLE_GONE };
        let token = if with_token { TOKEN } else { 0 };
        State {
            word: WaitWord::new(handle | token),
        }
    }

    /// Acquire pairs with the release half of whatever resolved the task, so that a reader of `RESOLVED` sees the
    /// result (model `join_sees_the_value`).
    #[inline]
    pub(crate) fn load(&self) -> Snapshot {
        Snapshot(self.word.load())
    }

    /// Takes the task out of the waiting state to run it; one claimer ever wins.
    ///
    /// That one wins is the word's own order (model `one_claim_wins`). AcqRel is more than it needs: the closure the
    /// winner reads was published by the queue's lock, or by whatever handed the handle over; weakened, no model fails.
    #[inline]
    pub(crate) fn claim(&self) -> Claim {
        if self.word.0.fetch_or(CLAIMED, AcqRel) & CLAIMED == 0 {
            Claim::Won
        } else {
            Claim::Lost
        }
    }

    /// As [`State::claim`], for somebody who will not run it (cancel, drain).
    pub(crate) fn claim_to_remove(&self) -> Claim {
        let mut seen = self.word.0.load(Relaxed);
        while seen & CLAIMED == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen | CLAIMED | REMOVED, AcqRel, Relaxed)
            {
                Ok(_) => return Claim::Won,
                Err(now) => seen = now,
            }
        }
        Claim::Lost
    }

    /// As [`State::claim_to_remove`], for somebody who cancels a delayed task and holds the lock of the timer store, but does
    /// not own the home: not if its time has come, and not while it is pinned, since whoever pinned it relies on the home.
    /// Where nothing `has_to_be_dropped` before the outcome is known, that is fixed and the task's share given up in the same
    /// step, as by [`State::resolve`]. The reading includes the new bits; `None`: the claim was not won.
    #[inline]
    #[must_use = "a won claim must be dropped, and its waiters told"]
    pub(crate) fn cancel_delayed(&self, has_to_be_dropped: bool) -> Option<Snapshot> {
        let mut seen = self.word.0.load(Relaxed);
        while Snapshot(seen).is_in_store() {
            let mut next = seen | CLAIMED | REMOVED;
            if !has_to_be_dropped {
                next |= RESOLVED | (End::Cancelled as u32) << OUTCOME_SHIFT;
                if seen & WAKER == 0 {
                    next |= TASK_GONE;
                }
            }
            match self.word.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return Some(Snapshot(next)),
                Err(now) => seen = now,
            }
        }
        None
    }

    /// As [`State::claim`], for somebody who runs it in its view: not while it waits for a slot there.
    pub(crate) fn claim_with_slots(&self) -> Claim {
        let mut seen = self.word.0.load(Relaxed);
        while seen & (CLAIMED | PARKED) == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen | CLAIMED, AcqRel, Relaxed)
            {
                Ok(_) => return Claim::Won,
                Err(now) => seen = now,
            }
        }
        Claim::Lost
    }

    /// As [`State::claim`], for somebody who has the task's first record, and not under its queue's locks: not if it has
    /// a later one.
    #[inline]
    pub(crate) fn claim_unmoved(&self) -> Claim {
        let mut seen = self.word.0.load(Relaxed);
        while seen & (CLAIMED | MOVED) == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen | CLAIMED, AcqRel, Relaxed)
            {
                Ok(_) => return Claim::Won,
                Err(now) => seen = now,
            }
        }
        Claim::Lost
    }

    /// For a block that is not published yet, or that leaves no line: it waits for a slot.
    pub(crate) fn park(&self) {
        self.word.0.fetch_or(PARKED, Relaxed);
    }

    /// It has all its slots now, unless somebody has claimed it: then they are the caller's to give back.
    ///
    /// One total order on this word: a claim either sees the bit, and leaves the slots alone, or comes after this (model
    /// `a_cancel_meets_the_slot`).
    #[must_use = "false: the slots must be given back"]
    pub(crate) fn unpark(&self) -> bool {
        let mut seen = self.word.0.load(Relaxed);
        while seen & CLAIMED == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen & !PARKED, AcqRel, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// The same for a future that was polled before: claimed long ago, and nobody but its view moves it.
    pub(crate) fn unpark_begun(&self) {
        self.word.0.fetch_and(!PARKED, AcqRel);
    }

    /// Fixes the outcome, for the winner of the claim. With `leave` the task's share is given up in the same step, unless
    /// something is left to be done with the block: a waker stands by, which is read after; or the result is the caller's to drop
    /// ([`Snapshot::leaves_result_to_runner`]) and others keep the block.
    ///
    /// Release publishes the result (model `join_sees_the_value`); acquire lets the resolver read the waker.
    #[inline]
    pub(crate) fn resolve(&self, outcome: End, leave: bool) -> Resolved {
        let mut seen = self.word.0.load(Relaxed);
        loop {
            debug_assert!(
                seen & CLAIMED != 0,
                "resolved before it was claimed: {:?}",
                Snapshot(seen)
            );
            if seen & (RESOLVED | PINNED) != 0 {
                if seen & PINNED == 0 {
                    // Acquire, from whoever fixed it: pins that held him up are over for us too (model
                    // `a_pin_holds_up_a_signal_as_well`).
                    let _ = self.load();
                    return Resolved::BeforeUs;
                }
                seen = self.wait_for_pin();
                continue;
            }
            let mut next = seen | RESOLVED | (outcome as u32) << OUTCOME_SHIFT;
            let is_kept = seen & REFERENCES != 0 && Snapshot(next).leaves_result_to_runner();
            if leave && seen & WAKER == 0 && !is_kept {
                next |= TASK_GONE;
            }
            match self.word.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return Resolved::Fixed(Snapshot(next)),
                Err(now) => seen = now,
            }
        }
    }

    /// Keeps the outcome from being fixed while `f` runs, and with it the task's home from ending: whoever fixes it holds the
    /// home until then, or has claimed it when there was no pin (model `a_cancel_in_the_store_meets_a_pin`). `None`: fixed before, or about to be by somebody who does not wait. `f` is a few steps.
    pub(crate) fn pin<R>(&self, f: impl FnOnce() -> R) -> Option<R> {
        let mut seen = self.word.0.load(Acquire);
        loop {
            if seen & (RESOLVED | REMOVED) != 0 {
                return None;
            }
            if seen & PINNED != 0 {
                seen = self.wait_for_pin();
                continue;
            }
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen | PINNED, AcqRel, Acquire)
            {
                Ok(_) => break,
                Err(now) => seen = now,
            }
        }
        let answer = f();
        self.word.0.fetch_and(!PINNED, AcqRel);
        Some(answer)
    }

    #[cold]
    fn wait_for_pin(&self) -> u32 {
        wait_while(|| self.word.0.load(Acquire) & PINNED != 0);
        self.word.0.load(Acquire)
    }

    /// A waiting task gets another record, and perhaps another level: from here on only that record counts. False: it does
    /// not wait in a queue any more, or not yet. Under both locks of its room, so only a claim can come between.
    #[must_use = "false: the new record must not be written"]
    pub(crate) fn relocate(&self, level: Option<usize>) -> bool {
        let mut seen = self.word.0.load(Acquire);
        while seen & (CLAIMED | DELAYED | PARKED) == 0 {
            let next = match level {
                Some(level) => seen & !LEVEL | MOVED | PLACED | (level as u32) << LEVEL_SHIFT,
                None => seen | MOVED,
            };
            match self.word.0.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Cancels a running task: waiters get their answer now, the body is asked to stop.
    pub(crate) fn signal(&self) -> Signal {
        let mut seen = self.word.0.load(Relaxed);
        loop {
            if seen & CLAIMED == 0 {
                return Signal::NotRunning;
            }
            if seen & (RESOLVED | REMOVED | ENDED) != 0 {
                return Signal::TooLate;
            }
            if seen & PINNED != 0 {
                seen = self.wait_for_pin();
                continue;
            }
            let next = seen | RESOLVED | SIGNALLED | (End::Cancelled as u32) << OUTCOME_SHIFT;
            match self.word.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return Signal::Signalled(Snapshot(seen)),
                Err(now) => seen = now,
            }
        }
    }

    /// Before the body of a task that borrows, for the runner. False: the closure was taken back, and both closure and outcome
    /// are the canceller's.
    ///
    /// One total order on this word: of this and [`State::take_back`] one comes first, and the other sees it (model
    /// `a_borrower_is_over_when_its_closure_is_gone`).
    #[must_use = "false: the closure is the canceller's"]
    pub(crate) fn begin_body(&self) -> bool {
        self.word.0.fetch_or(BEGUN, AcqRel) & REMOVED == 0
    }

    /// Takes the closure of a task that borrows from the runner that has claimed it and has not begun its body: the caller drops
    /// it and fixes the outcome.
    #[must_use = "true: the closure must be dropped, and the outcome fixed"]
    pub(crate) fn take_back(&self) -> bool {
        let mut seen = self.word.0.load(Relaxed);
        while seen & CLAIMED != 0 && seen & (BEGUN | RESOLVED | REMOVED | ENDED) == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, seen | REMOVED, AcqRel, Relaxed)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// The handle's share, for the body of a task that was made without a handle and runs: what it ends with is to be read after
    /// all. A share is held, the task's own or its runner's reference, so no party has counted itself the last.
    pub(crate) fn regain_handle(&self) {
        let before = self.word.0.fetch_and(!HANDLE_GONE, AcqRel);
        debug_assert!(
            before & (HANDLE_GONE | RESOLVED) == HANDLE_GONE,
            "a handle that was there, or comes too late: {:?}",
            Snapshot(before)
        );
        // One that runs in place may have lost its record in the queue, and is kept by the reference that its runner holds.
        debug_assert!(
            before & TASK_GONE == 0 || before & REFERENCES != 0,
            "a handle of a block that no share keeps: {:?}",
            Snapshot(before)
        );
    }

    /// Gives up the task's share of the block.
    ///
    /// Release: what this party did with the block comes before the free. Acquire: the last one sees it all (model
    /// `last_one_frees`).
    pub(crate) fn drop_task(&self) -> Share {
        let before = self.word.0.fetch_or(TASK_GONE, AcqRel);
        debug_assert!(
            before & TASK_GONE == 0,
            "the task let go twice: {:?}",
            Snapshot(before)
        );
        Share::of(before | TASK_GONE)
    }

    /// One more reference; the caller holds a share of its own. All clones of a `TaskRef` are one reference, so there is
    /// one, or two for a moment while the last clone goes and another comes.
    pub(crate) fn add_reference(&self) {
        let before = self.word.0.fetch_add(ONE_REFERENCE, Relaxed);
        debug_assert!(
            before & REFERENCES != REFERENCES,
            "too many references: {:?}",
            Snapshot(before)
        );
    }

    /// Gives up a reference's share; orderings as in [`State::drop_task`].
    pub(crate) fn drop_reference(&self) -> Share {
        let before = self.word.0.fetch_sub(ONE_REFERENCE, AcqRel);
        debug_assert!(
            before & REFERENCES != 0,
            "a reference let go twice: {:?}",
            Snapshot(before)
        );
        Share::of(before - ONE_REFERENCE)
    }

    /// As [`State::drop_task`] for the handle, but never past a result: others may keep the block for long, and after the
    /// handle has let go the result is no longer its to end.
    pub(crate) fn drop_handle(&self) -> HandleDrop {
        let mut seen = self.word.0.load(Acquire);
        loop {
            let snapshot = Snapshot(seen);
            if let Some(end) = snapshot.outcome().filter(|_| snapshot.holds_result()) {
                return HandleDrop::Holds(end);
            }
            let next = seen | HANDLE_GONE;
            match self.word.0.compare_exchange_weak(seen, next, AcqRel, Acquire) {
                Ok(_) => return HandleDrop::Share(Share::of(next)),
                Err(now) => seen = now,
            }
        }
    }

    /// For a block that is not published yet: it goes to the timer store.
    pub(crate) fn mark_delayed(&self) {
        self.word.0.fetch_or(DELAYED, Relaxed);
    }

    /// It left the timer store; its lock orders this.
    pub(crate) fn mark_due(&self) {
        self.word.0.fetch_and(!DELAYED, Relaxed);
    }

    /// The result has been moved out, or is about to be ended. Release orders what was done with it before the free by another
    /// party.
    pub(crate) fn mark_taken(&self) {
        self.word.0.fetch_or(TAKEN, AcqRel);
    }

    /// The side record has a token now; the reading says whether a canceller was faster and it must fire at once.
    /// One total order on this word: either the canceller's [`State::signal`] sees the bit, or this sees the signal
    /// (the token itself lies behind the side record's lock, so weaker would do; no model fails).
    pub(crate) fn mark_token(&self) -> Snapshot {
        Snapshot(self.word.0.fetch_or(TOKEN, AcqRel))
    }

    /// The body has panicked, and hooks are told before the payload becomes the handle's. The reading says whether a
    /// canceller was faster; later ones come too late.
    pub(crate) fn mark_ended(&self) -> Snapshot {
        Snapshot(self.word.0.fetch_or(ENDED, AcqRel))
    }

    /// Announces a sleeper; the reading says whether it is needed.
    pub(crate) fn mark_waiting(&self) -> Snapshot {
        Snapshot(self.word.0.fetch_or(WAITING, AcqRel))
    }

    /// The waker cell is filled: publish it, unless the task has resolved meanwhile. Release: the resolver reads the
    /// cell (model `await_is_woken`).
    #[must_use = "false: the cell was not published, empty it again"]
    pub(crate) fn publish_waker(&self) -> bool {
        self.change_unresolved(|seen| seen | WAKER)
    }

    /// Takes the waker cell back to exchange its content; false once the task has resolved.
    #[must_use = "false: the cell belongs to the resolver"]
    pub(crate) fn retract_waker(&self) -> bool {
        self.change_unresolved(|seen| seen & !WAKER)
    }

    fn change_unresolved(&self, change: impl Fn(u32) -> u32) -> bool {
        let mut seen = self.word.0.load(Acquire);
        while seen & RESOLVED == 0 {
            match self
                .word
                .0
                .compare_exchange_weak(seen, change(seen), AcqRel, Acquire)
            {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }

    /// Bits of which one is set as soon as the outcome does not depend on the pool's workers any more.
    pub(crate) const OVER: u32 = RESOLVED | REMOVED | ENDED;

    /// Bits of the word of which one says that the task does not wait in its queue: it was claimed, is not due, or is in a
    /// view's line.
    pub(crate) const NOT_QUEUED: u32 = CLAIMED | DELAYED | PARKED;

    /// The word to sleep on, and the bit that ends the sleep.
    pub(crate) fn wait_word(&self) -> (&WaitWord, u32) {
        (&self.word, RESOLVED)
    }
}
