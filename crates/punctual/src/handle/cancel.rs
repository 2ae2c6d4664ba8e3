//! Cancelling a task, whoever asks and wherever it is.
//!
//! In: a block of which the caller holds a share. Out: exactly one of three answers. A waiting task is claimed: its
//! closure is dropped here and now, its permit is free, its waiters know. A running one is signalled: its waiters know
//! now, its token fires, and what it returns later is dropped. A task that cancels itself is not signalled: it can
//! just return.
//!
//! **Tasks that borrow** (of a scope, or a branch of `join`) end for their waiters when their closure is gone, and not before:
//! the waiter is what they borrow from. A canceller that meets one with a worker takes the closure back if the body has not
//! begun; otherwise its token fires, and its outcome stays its own. That is decided here, and nowhere else.

#![allow(unsafe_code)]

use crate::pool::fork;
use crate::task::block::Header;
use crate::task::home::{Forgotten, HomeRef, Removal};
use crate::task::state::{Claim, End, Signal};
use crate::task::visit::Visit;
use crate::task::{Outcome, here, recycle};
use std::ptr::NonNull;

/// What a cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// It had not started and never will.
    Removed,
    /// It runs: its token has fired, its waiters have been told, its result will be dropped.
    Signalled,
    /// It had ended, or it is the very task that asks, or it runs in the process this one was forked from.
    TooLate,
}

/// The caller holds a share of the block.
pub(crate) fn cancel(pointer: NonNull<Header>) -> Cancel {
    if remove(pointer) {
        return Cancel::Removed;
    }
    signal(pointer)
}

/// Cancels a task that has been claimed. The caller holds a share of the block.
#[inline(never)]
fn signal(pointer: NonNull<Header>) -> Cancel {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    if is_elsewhere(block) || here(|here| here.is_running(block)) {
        return Cancel::TooLate;
    }
    if block.is_scoped() {
        return signal_borrower(pointer);
    }
    match block.state.signal() {
        Signal::Signalled(before) => {
            // SAFETY: the caller holds a share.
            unsafe { Header::wake_waiters(pointer, before) };
            // Without a token nobody is listening; if one is being made, its maker sees the signal.
            if before.has_token() {
                let token = block.side().and_then(|side| side.more.lock().token.clone());
                if let Some(token) = token {
                    token.cancel();
                }
            }
            if block.class.is_future() {
                // It may rest: a worker drops it.
                // SAFETY: a future's block, and the caller holds a share.
                unsafe { Header::wake(pointer) };
            }
            Cancel::Signalled
        }
        Signal::TooLate => Cancel::TooLate,
        Signal::NotRunning => unreachable!("a claim was lost, so the task is claimed"),
    }
}

/// As [`signal`], of a task that borrows.
fn signal_borrower(pointer: NonNull<Header>) -> Cancel {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    let is_taken_back = block.take_back();
    if !is_taken_back && block.state.load().is_ended() {
        return Cancel::TooLate;
    }
    if is_taken_back {
        // SAFETY: the closure is this caller's now, and the caller holds a share.
        unsafe { Header::end_unrun(pointer, End::Cancelled, None) };
    }
    block.token().cancel();
    // The worker that has it counts it as one that was told to stop.
    Cancel::Signalled
}

/// A forked child has a copy of the block, but not of the pool's threads, and locks may be held for ever.
pub(super) fn is_elsewhere(block: &Header) -> bool {
    block.fork != fork::generation()
}

/// Takes a task out of the queue if it has not started; never signals. The caller holds a share of the block.
#[inline]
pub(crate) fn remove(pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    // Of a million timers each is far away: all that is touched below comes in one wait for the memory, not in three. And
    // whoever cancels many waits for several at once: a read waits for the atomic steps of the cancel before, this does not.
    // (Without, a cancel of one in a million took 200 ns, with it 120.)
    recycle::prefetch_whole(pointer.cast());
    if is_elsewhere(block) {
        return false;
    }
    if let Some(forgotten) = forget_delayed(block, pointer) {
        // SAFETY: the caller holds a share, and the claim was won.
        unsafe { Header::end_forgotten(pointer, forgotten) };
        return true;
    }
    // SAFETY: the caller holds a share.
    unsafe { end_waiting(pointer, Removal::Cancelled) }
}

/// Claims a task that lies in the timer store and takes it out, without owning its pool, if that is all there is to do there.
#[inline]
fn forget_delayed(block: &Header, pointer: NonNull<Header>) -> Option<Forgotten> {
    if !block.class.is_delayed() || block.class.is_viewed() {
        return None;
    }
    // SAFETY: it is no view's, so its home lies inside the engine. The engine's books are all that is touched during the visit:
    // the closure is dropped after it.
    let home = unsafe { Visit::begin(block) }?;
    home.forget(pointer)
}

/// Ends a task that has not started, cancelled or expired. False: it has.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn end_waiting(pointer: NonNull<Header>, how: Removal) -> bool {
    let (end, outcome) = match how {
        Removal::Expired => (End::Expired, Outcome::Expired),
        _ => (End::Cancelled, Outcome::Cancelled),
    };
    // SAFETY: the caller's promise.
    let block = unsafe { pointer.as_ref() };
    if is_elsewhere(block) || block.state.claim_to_remove() == Claim::Lost {
        return false;
    }
    // SAFETY: the claim is won and not settled, so the task is unsettled.
    let home = unsafe { HomeRef::own(block.home()) };
    // Counted first: if the closure holds the last owner of this very pool, its drop waits for the pool's end, which
    // waits for every task that still counts.
    let removed = home.remove(pointer, block.class, how);
    let was_delayed = removed.share.is_some();
    // SAFETY: the claim is won, this is the closure's end, and the caller holds a share. If the task's own comes from the
    // timer store, no record lies anywhere any more.
    unsafe { Header::end_unrun(pointer, end, removed.share) };
    if removed.is_awaited {
        if home.is_told_of_ends() {
            home.tell_removed(&block.info(), outcome);
        }
        home.removed(was_delayed);
    }
    true
}
