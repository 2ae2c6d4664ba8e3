//! Waiting for a task's outcome.
//!
//! In: a block of which the caller holds a share, and perhaps a limit. Out: the outcome is there, or why not. On a worker
//! of the task's own pool a task that still waits in the queue is run in place, unless the wait has a limit, which the run
//! could overstep. Otherwise a short spin (the answer is often under way), then a sleep on the block's word, with a
//! spare standing in for a worker.

#![allow(unsafe_code)]

use crate::pool::engine::Engine;
use crate::pool::fork;
use crate::sync::is_multi_core;
use crate::task::block::Header;
use crate::task::state::State;
use crate::task::{Here, Token, here};
use crate::time::{Wait, Waked, deadline_after, spin};
use crate::worker::spare::{self, Awaited, Awaits, Sleep};
use std::ptr::NonNull;
use std::time::Duration;

/// As long as a worker searches: two sides that both spin meet in a few hundred nanoseconds.
pub(super) const SPIN: Duration = Duration::from_micros(20);

/// Why a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    Resolved,
    TimedOut,
    Interrupted,
    /// Nobody could ever end the wait.
    WouldDeadlock,
    Forked,
    /// The calling task's worker must not block.
    Blocking,
}

/// Waits until the block is resolved. `spins` is false for a joiner whose own submit had to wake a worker: the kernel
/// then likes to start the worker on the joiner's core, and a spin would keep it from there.
///
/// The caller holds a share of the block.
pub(super) fn wait(pointer: NonNull<Header>, limit: Option<Duration>, spins: bool) -> Waited {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    if block.state.load().is_resolved() {
        return Waited::Resolved;
    }
    if block.fork != fork::generation() {
        return Waited::Forked;
    }
    here(|here| {
        if here.is_inside_of(block) {
            return Waited::WouldDeadlock;
        }
        // SAFETY: the caller holds a share.
        if limit.is_none() && unsafe { spare::run_in_place(here, pointer) } {
            return Waited::Resolved;
        }
        if limit == Some(Duration::ZERO) {
            return Waited::TimedOut;
        }
        if !spare::may_block(here) {
            return Waited::Blocking;
        }
        let short = limit.is_some_and(|limit| limit < SPIN);
        if spins && !short && is_multi_core() && spin(SPIN, || block.state.load().is_resolved()) {
            return Waited::Resolved;
        }
        loop {
            let slept = sleep(block, limit, here);
            let is_hopeless = matches!(slept, None | Some(Waited::WouldDeadlock));
            // SAFETY: the caller holds a share.
            if is_hopeless && unsafe { spare::run_strangers_in_place(here, pointer) } {
                return Waited::Resolved;
            }
            // Called off: whether that is still so is asked when the wait begins again.
            if let Some(waited) = slept {
                return waited;
            }
        }
    })
}

/// A sleep until the block is resolved, which nothing else ends.
fn for_outcome(block: &Header) -> Wait<'_> {
    let (word, resolved) = block.state.wait_word();
    Wait {
        word,
        mask: resolved,
        expected: 0,
        interrupt: None,
        deadline: None,
    }
}

/// Waits until the block is resolved, whatever the calling task is asked to do meanwhile.
pub(super) fn wait_uninterrupted(block: &Header) {
    if block.state.mark_waiting().is_resolved() {
        return;
    }
    let wait = for_outcome(block);
    here(|here| block.clock().wait(&wait, here.place()));
}

/// As [`wait_uninterrupted`]; on a worker a spare stands in meanwhile, and where it should not block it is counted.
pub(super) fn wait_with_a_spare(block: &Header, here: Here<'_>) {
    if block.state.mark_waiting().is_resolved() {
        return;
    }
    let wait = for_outcome(block);
    spare::note_blocking(here);
    // Where nobody could end the wait it must be waited all the same, and somebody else is told.
    let _lent = spare::lend(
        here,
        Sleep {
            part: Some(Engine::identity_of_home(block)),
            awaits: Awaits::OneOf(vec![Awaited::task(block)]),
            wait: &wait,
            over: State::OVER,
            taken: None,
            alarm: None,
        },
    );
    block.clock().wait(&wait, here.place());
}

/// `None`: it was called off, because it could not end as it was.
fn sleep(block: &Header, limit: Option<Duration>, here: Here<'_>) -> Option<Waited> {
    let clock = block.clock();
    let token = here.token();
    // On a worker the wait can be called off: by the task's own token, or because nobody could ever end it.
    let alarm = token
        .as_ref()
        .filter(|_| spare::is_worker(here))
        .map(Token::child);
    let wait = Wait {
        interrupt: alarm.as_ref().or(token.as_ref()),
        deadline: limit.and_then(|limit| deadline_after(clock.tick(), limit)),
        ..for_outcome(block)
    };
    // Before the first look: a resolver that does not see the announcement resolved before it, and the look sees that.
    if block.state.mark_waiting().is_resolved() {
        return Some(Waited::Resolved);
    }
    let lent = spare::lend(
        here,
        Sleep {
            part: Some(Engine::identity_of_home(block)),
            awaits: Awaits::OneOf(vec![Awaited::task(block)]),
            wait: &wait,
            over: State::OVER,
            taken: Some(State::NOT_QUEUED),
            alarm: alarm.clone(),
        },
    );
    let waked = match &lent {
        Ok(_) => clock.wait(&wait, here.place()),
        // It may have ended while this was found out.
        Err(_) if block.state.load().is_resolved() => Waked::Ready,
        Err(_) => return Some(Waited::WouldDeadlock),
    };
    match waked {
        Waked::Ready => Some(Waited::Resolved),
        Waked::TimedOut => Some(Waited::TimedOut),
        Waked::Interrupted if token.is_some_and(|token| token.is_cancelled()) => Some(Waited::Interrupted),
        Waked::Interrupted => None,
    }
}
