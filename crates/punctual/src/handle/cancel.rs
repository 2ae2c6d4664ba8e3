//! Cancelling a task, whoever asks and wherever it is.
//!
//! In: a block of which the caller holds a share. Out: exactly one of three answers. A waiting task is claimed: its
//! closure is dropped here and now, its permit is free, its waiters know. A running one is signalled: its waiters know
//! now, its token fires, and what it returns later is dropped. A task that cancels itself is not signalled: it can
//! just return.

#![allow(unsafe_code)]

use crate::pool::fork;
use crate::task::block::{Entry, Header};
use crate::task::home::{HomeRef, Removal};
use crate::task::state::{End, Signal, Snapshot};
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

/// A forked child has a copy of the block, but not of the pool's threads, and locks may be held for ever.
pub(super) fn is_elsewhere(block: &Header) -> bool {
    block.fork != fork::generation()
}

/// Takes a task out of the queue if it has not started; never signals. The caller holds a share of the block.
#[inline]
pub(crate) fn remove(pointer: NonNull<Header>) -> bool {
    // SAFETY: the caller holds a share.
    let Some(before) = (unsafe { claim(pointer) }) else {
        return false;
    };
    // SAFETY: the claim is won and not settled, and the caller holds a share.
    match unsafe { forget_delayed(pointer, before) } {
        // SAFETY: as above, and this is the closure's end. The task's own share came from the timer store, so no record lies
        // anywhere any more.
        Some(share) => unsafe { Header::end_unrun(pointer, End::Cancelled, Some(share)) },
        // SAFETY: as above; nothing was done.
        None => unsafe { remove_as_owner(pointer, Removal::Cancelled) },
    }
    true
}

/// Ends a task that has not started, cancelled or expired. False: it has.
///
/// # Safety
/// The caller holds a share of the block until this returns.
pub(crate) unsafe fn end_waiting(pointer: NonNull<Header>, how: Removal) -> bool {
    // SAFETY: the caller's promise; the claim is won in between.
    unsafe {
        let is_won = claim(pointer).is_some();
        if is_won {
            remove_as_owner(pointer, how);
        }
        is_won
    }
}

/// The reading from before the claim, if it was won.
///
/// # Safety
/// The caller holds a share.
#[inline]
unsafe fn claim(pointer: NonNull<Header>) -> Option<Snapshot> {
    // SAFETY: the caller's promise.
    let block = unsafe { pointer.as_ref() };
    // Of a million timers each is far away: all that is touched below comes in one wait for the memory, not in three.
    recycle::prefetch_rest(pointer.cast());
    if is_elsewhere(block) {
        return None;
    }
    block.state.remove()
}

/// Takes a task out of the timer store without owning its pool, if that is all there is to do there.
///
/// # Safety
/// The claim is won, `before` is the reading from before it, nothing has been settled, and the caller holds a share.
#[inline]
unsafe fn forget_delayed(pointer: NonNull<Header>, before: Snapshot) -> Option<Entry> {
    // SAFETY: the caller's promise.
    let block = unsafe { pointer.as_ref() };
    let is_plain = block.class.is_delayed() && !block.class.is_viewed();
    // Somebody who is on his way to the home relies on us to hold it. (After the claim nobody sets out.)
    if !is_plain || !before.is_delayed_and_unpinned() {
        return None;
    }
    // SAFETY: the task is unsettled, and no view's, so its home lies inside the engine. The engine's books are all that is
    // touched during the visit: the closure is dropped after it.
    let home = unsafe { Visit::begin(block.home()) }?;
    home.forget(pointer)
}

/// Ends a claimed task, with a share of its home to the end.
///
/// # Safety
/// The claim is won, nothing has been settled, and the caller holds a share.
#[inline(never)]
unsafe fn remove_as_owner(pointer: NonNull<Header>, how: Removal) {
    let (end, outcome) = match how {
        Removal::Expired => (End::Expired, Outcome::Expired),
        _ => (End::Cancelled, Outcome::Cancelled),
    };
    // SAFETY: the caller's promise.
    let block = unsafe { pointer.as_ref() };
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
}
