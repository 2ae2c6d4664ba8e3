//! The one way a thread of this library sleeps: on a word, until it is ready, interrupted, or too late.
//!
//! In: a [`Wait`]. Out: a [`Waked`]. Joins, waits, token-aware sleeps, parked workers and those who wait for the end
//! of a pool all come through [`Clock::wait`], so that one place knows deadlines, tokens and the manual clock.

use super::clock::{Clock, Kind, system_tick};
use crate::sync::WaitWord;
use crate::task::Token;
use punctual_timer::Tick;
use std::time::Duration;

/// What is waited for: the word is ready once `word & mask != expected`.
#[derive(Debug)]
pub(crate) struct Wait<'a> {
    pub(crate) word: &'a WaitWord,
    pub(crate) mask: u32,
    pub(crate) expected: u32,
    /// Ends the wait when it fires: the token of the task that waits.
    pub(crate) interrupt: Option<&'a Token>,
    pub(crate) deadline: Option<Tick>,
}

/// Why a wait ended. Readiness wins over the other two when they come together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waked {
    Ready,
    Interrupted,
    TimedOut,
}

/// Who waits, as far as a manual clock cares: it must know when no task of a pool can still run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// A thread that is no worker: nobody holds time back for it.
    Outside,
    /// A worker whose task waits inside the library; the number is the pool's [`Attached::identity`].
    ///
    /// [`Attached::identity`]: super::Attached::identity
    Task(usize),
    /// A worker without a task, parked.
    Parked(usize),
}

impl Wait<'_> {
    #[inline]
    pub(super) fn is_ready(&self, seen: u32) -> bool {
        seen & self.mask != self.expected
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(Token::is_cancelled)
    }
}

impl Clock {
    /// Sleeps until the word is ready, the token fires, or the deadline has come on this clock.
    pub(crate) fn wait(&self, wait: &Wait<'_>, place: Place) -> Waked {
        if wait.is_ready(wait.word.load()) {
            return Waked::Ready;
        }
        // While listening, a firing token nudges the word, so the sleep below cannot miss it.
        let _listening = wait.interrupt.map(|token| token.listen(wait.word));
        match &self.kind {
            Kind::System => wait_on_system(wait),
            Kind::Manual(manual) => manual.wait(wait, place),
        }
    }
}

fn wait_on_system(wait: &Wait<'_>) -> Waked {
    loop {
        let seen = wait.word.load();
        if wait.is_ready(seen) {
            return Waked::Ready;
        }
        if wait.is_interrupted() {
            return Waked::Interrupted;
        }
        let limit = match wait.deadline {
            None => None,
            Some(deadline) => {
                let now = system_tick();
                if now >= deadline {
                    return Waked::TimedOut;
                }
                Some(Duration::from_nanos(deadline - now))
            }
        };
        wait.word.sleep(seen, limit);
    }
}

/// Busy-waits until the word is ready, at most `limit` of real time; says whether it became ready.
///
/// For the few microseconds in which an answer usually comes: a sleep and its wake-up cost ten times that.
pub(crate) fn spin(limit: Duration, mut is_ready: impl FnMut() -> bool) -> bool {
    if is_ready() {
        return true;
    }
    if cfg!(any(loom, shuttle)) {
        // No time passes in a model.
        return false;
    }
    let end = system_tick() + limit.as_nanos() as Tick;
    let mut pauses = 1;
    loop {
        for _ in 0..pauses {
            crate::sync::spin_loop();
        }
        if is_ready() {
            return true;
        }
        // Reading the clock costs as much as a pause; after the ramp-up it is one in sixteen.
        if pauses < 16 {
            pauses *= 2;
        }
        if system_tick() >= end {
            return false;
        }
    }
}
