//! Cancelling a task, whoever asks and wherever it is.
//!
//! In: a block of which the caller holds a share. Out: exactly one of three answers. A waiting task is claimed: its
//! closure is dropped here and now, its permit is free, its waiters know. A running one is signalled: its waiters know
//! now, its token fires, and what it returns later is dropped. A task that cancels itself is not signalled: it can
//! just return.

#![allow(unsafe_code)]

use crate::task::block::Header;
use crate::task::here;
use crate::task::home::HomeRef;
use crate::task::state::{Claim, End, Resolved, Signal};
use std::ptr::NonNull;

/// What a cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// It had not started and never will.
    Removed,
    /// It runs: its token has fired, its waiters have been told, its result will be dropped.
    Signalled,
    /// It had ended, or it is the very task that asks.
    TooLate,
}

pub(super) fn cancel(block: &Header) -> Cancel {
    if remove(block) {
        return Cancel::Removed;
    }
    if here(|here| here.is_running(block)) {
        return Cancel::TooLate;
    }
    match block.state.signal() {
        Signal::Signalled(before) => {
            // SAFETY: the caller holds a share.
            unsafe { Header::wake_waiters(NonNull::from(block), before) };
            // Without a token nobody is listening; if one is being made, its maker sees the signal.
            if before.has_token() {
                let token = block.side().and_then(|side| side.more.lock().token.clone());
                if let Some(token) = token {
                    token.cancel();
                }
            }
            Cancel::Signalled
        }
        Signal::TooLate => Cancel::TooLate,
        Signal::NotRunning => unreachable!("a claim was lost, so the task is claimed"),
    }
}

/// Takes a task out of the queue if it has not started; never signals.
pub(super) fn remove(block: &Header) -> bool {
    if block.state.claim_to_remove() == Claim::Lost {
        return false;
    }
    // SAFETY: the claim is won and not settled, so the task is unsettled.
    let home = unsafe { HomeRef::own(block.home()) };
    // SAFETY: the claim is won, and this is the closure's end. Before anyone is told: when `cancel` returns, what the
    // closure held is gone.
    unsafe { block.drop_closure() };
    home.remove(block.class, End::Cancelled);
    match block.state.resolve(End::Cancelled, false) {
        // SAFETY: the caller holds a share.
        Resolved::Fixed(after) => unsafe { Header::wake_waiters(NonNull::from(block), after) },
        Resolved::BeforeUs => unreachable!("only a running task is resolved by another"),
    }
    home.removed(&block.info());
    true
}
