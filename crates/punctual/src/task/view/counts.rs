//! What a view counts of its tasks, and what is read of it.
//!
//! In: each task as it begins and as its body ends. Out: readings for statistics, and which waits are measured. Those that wait
//! are counted by the gate ([`Gate::waiting`](super::gate::Gate::waiting)); who gets a slot does not depend on anything here.

use super::{Kind, View};
use crate::sync::unmodelled::{Acquire, Relaxed, Release};
use crate::time::Tick;

/// One wait in this many is measured, once a view has had a few tasks.
const SAMPLE_EVERY: u64 = 64;

/// A reading of a view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) queued: usize,
    pub(crate) active: usize,
    pub(crate) taken: u64,
    /// When the first in line arrived, at the latest.
    pub(crate) oldest: Option<Tick>,
    /// Whether some of the queued have their slots.
    pub(crate) is_in_queue: bool,
    /// Of a listed view: none of those that wait came before.
    pub(crate) since: Option<Tick>,
}

impl View {
    /// A task begins to run.
    pub(crate) fn begin(&self) {
        if self.limit == 1 {
            // Whoever has the one slot writes alone, and the gate's lock comes between it and the next.
            self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
        } else {
            self.taken.fetch_add(1, Relaxed);
        }
    }

    /// A poll of a future is over, and the future is not.
    pub(crate) fn suspend(&self) {
        self.count_ended(true);
    }

    /// It is polled again.
    pub(crate) fn resume(&self) {
        if self.limit == 1 {
            self.ended.store(self.ended.load(Relaxed) - 1, Relaxed);
        } else {
            self.ended.fetch_sub(1, Relaxed);
        }
    }

    /// The body of a task has ended. One that has a lane's slot can no longer be reached through the lane.
    pub(crate) fn end_of_body(&self, has_slots: bool) {
        self.count_ended(has_slots);
    }

    fn count_ended(&self, has_slots: bool) {
        if has_slots && self.kind == Kind::Lane {
            self.gate.lock().mark = 0;
        }
        // Release: whoever sees it counted sees that it was taken.
        if self.limit == 1 {
            self.ended.store(self.ended.load(Relaxed) + 1, Release);
        } else {
            self.ended.fetch_add(1, Release);
        }
    }

    /// Tasks that were accepted and have not left.
    pub(crate) fn present(&self) -> usize {
        self.present.load(Relaxed) as usize
    }

    pub(crate) fn read(&self) -> Reading {
        let gate = self.gate.lock();
        let queued = gate.waiting(self);
        let ended = self.ended.load(Acquire);
        let taken = self.taken.load(Relaxed);
        Reading {
            queued,
            active: taken.saturating_sub(ended) as usize,
            taken,
            oldest: gate.line.first().map(|first| first.arrived),
            is_in_queue: queued > gate.line.len().saturating_sub(gate.dead as usize),
            since: self.shown.as_ref().map(|shown| shown.since.load(Relaxed)),
        }
    }

    /// Whether a task of it was ever delayed, or came from a view inside of it.
    pub(crate) fn is_mixed(&self) -> bool {
        self.had_delayed.load(Relaxed) || self.had_children.load(Relaxed)
    }

    /// Whether the wait of the task that is being made is measured, and for how many it speaks.
    pub(crate) fn sample(&self) -> Option<u64> {
        let number = self.shown.as_ref()?.submissions.fetch_add(1, Relaxed);
        let is_sampled = number.is_power_of_two() || number == 0 || number.is_multiple_of(SAMPLE_EVERY);
        // Each speaks for those up to the next.
        is_sampled.then_some(number.clamp(1, SAMPLE_EVERY))
    }
}
