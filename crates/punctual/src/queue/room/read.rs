//! Readings of a room, for statistics and explanations.
//!
//! In: nothing but the room. Out: counts of one moment that never contradict each other, or a glance without locks.

use super::Room;
use crate::queue::counts::Tally;
use crate::queue::lines::{Heads, Tails};
use crate::queue::locals::Locals;
use crate::queue::producers::Gate;
use crate::time::Tick;

impl<G: Gate> Room<G> {
    /// The counts at one moment, and what the gate says. While `settled` runs no task can be taken from the log, so what
    /// it reads of ended tasks fits the taken ones; what joiners take in place is read after it.
    pub(crate) fn tally<R, S>(&self, settled: impl FnOnce() -> R, at: impl FnOnce(&G) -> S) -> (Tally, R, S) {
        let consumers = self.consumers.lock();
        let settled = settled();
        let of_levels = consumers.levels.as_deref();
        let taken = of_levels.map(Heads::taken);
        let mut tally = self.removed.read(consumers.taken, taken.as_ref());
        if let Some(levels) = of_levels {
            tally.set_of_levels(&levels.promoted, &levels.drained);
        }
        // In this order: what has ended, what was taken, what was accepted.
        let local = self.locals().map(Locals::counts_at_once);
        let producers = self.producers.lock();
        let of_levels = producers.levels.as_deref();
        tally.set_pushed(producers.accepted(), of_levels.map(Tails::accepted));
        tally.woken = producers.woken - producers.put_back;
        tally.resumed = consumers.resumed - producers.put_back;
        if let (Some(locals), Some(local)) = (&self.locals, local) {
            tally.add_local(locals.level(), local);
        }
        tally.capacity = producers.capacity;
        tally.occupied = producers.occupied(self);
        tally.paused = producers.paused;
        let at = at(&producers.gate);
        (tally, settled, at)
    }

    /// As [`Room::tally`] without locks: each number is true of some moment, but not all of the same.
    pub(crate) fn glance(&self) -> (u64, u64) {
        // First: what has come back was accepted before.
        let back = self.permits_back();
        let accepted = self.accepted();
        (accepted, accepted.saturating_sub(back))
    }

    /// When the record at the head arrived, as far as it was noted.
    pub(crate) fn oldest(&self) -> Option<Tick> {
        let consumers = self.consumers.lock();
        if consumers.levels.is_some() {
            drop(consumers);
            return self.oldest_of_levels().into_iter().flatten().min();
        }
        let arrived = if consumers.head.is_dry() {
            let producers = self.producers.lock();
            (!producers.tail.is_empty()).then(|| producers.tail.opened())
        } else {
            Some(consumers.head.arrived())
        };
        let of_log = arrived.filter(|arrived| *arrived != 0);
        of_log.into_iter().chain(consumers.returns.arrived()).min()
    }
}
