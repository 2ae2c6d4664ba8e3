//! The run state of a pool, and how many workers it has: one word.
//!
//! ```text
//!  Running --shutdown--> Shutdown --stop--> Stop --last worker out--> Tidying --hook has run--> Terminated
//!     '-----------------------stop----------^          Shutdown --------^
//! ```
//!
//! States only move up and may be skipped. In: transitions. Out: whether this call made it. Workers and state share
//! the word so that "the last worker of a closed pool" is one reading; the count's cap is
//! [`MAX_THREADS`](crate::MAX_THREADS).

use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::fmt;

/// Where a pool is in its life. `Ord`: later is greater.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// Accepts and runs tasks.
    Running,
    /// Accepts no more; runs what it has accepted.
    Shutdown,
    /// Accepts no more, has given its waiting tasks back, and has asked the running ones to stop.
    Stop,
    /// Every task has ended and every worker has left; the terminated hook runs.
    Tidying,
    /// Over.
    Terminated,
}

const STATES: [State; 5] = [
    State::Running,
    State::Shutdown,
    State::Stop,
    State::Tidying,
    State::Terminated,
];

const COUNT_BITS: u32 = 16;
const COUNT: u32 = (1 << COUNT_BITS) - 1;

/// A reading of the word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u32);

impl Reading {
    pub(crate) fn state(self) -> State {
        STATES[(self.0 >> COUNT_BITS) as usize]
    }
    pub(crate) fn workers(self) -> usize {
        (self.0 & COUNT) as usize
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} with {} workers", self.state(), self.workers())
    }
}

/// The word.
#[derive(Debug)]
pub(crate) struct RunState(AtomicU32);

impl RunState {
    pub(crate) fn new() -> Self {
        RunState(AtomicU32::new(0))
    }

    /// Acquire pairs with the release half of [`RunState::raise`]: who sees a state sees what led to it.
    pub(crate) fn read(&self) -> Reading {
        Reading(self.0.load(Acquire))
    }

    /// Moves up to `state`; false if the pool was there or beyond already.
    pub(crate) fn raise(&self, state: State) -> bool {
        let mut seen = self.0.load(Relaxed);
        loop {
            if Reading(seen).state() >= state {
                return false;
            }
            let next = (state as u32) << COUNT_BITS | (seen & COUNT);
            match self.0.compare_exchange_weak(seen, next, AcqRel, Relaxed) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// One worker more, alive or about to be. The reading is from after.
    pub(crate) fn hire(&self) -> Reading {
        Reading(self.0.fetch_add(1, AcqRel) + 1)
    }

    /// One worker fewer. The reading is from after.
    pub(crate) fn leave(&self) -> Reading {
        let before = Reading(self.0.fetch_sub(1, AcqRel));
        debug_assert!(before.workers() > 0, "a worker left a pool of {before:?}");
        Reading(before.0 - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_only_move_up_and_may_skip() {
        let word = RunState::new();
        let _ = word.hire();
        assert!(word.raise(State::Stop), "skips Shutdown");
        assert!(!word.raise(State::Shutdown), "never back");
        assert_eq!((word.read().state(), word.read().workers()), (State::Stop, 1));
        assert_eq!(word.leave().workers(), 0);
        assert!(word.raise(State::Terminated));
        assert!(!word.raise(State::Terminated), "once");
    }
}
