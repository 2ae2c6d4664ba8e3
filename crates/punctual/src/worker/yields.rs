//! A worker and the futures that it keeps: those that were woken during their own poll.
//!
//! In: its line ([`queue::yielded`](crate::queue::yielded), where the rules stand) and those of others. Out: the next one to poll;
//! others called where it has no time for its own.

use super::{Worker, search};
use crate::pool::staff::Departure;
use crate::queue::kind;
use crate::task::record::Slot;

impl Worker<'_> {
    /// As [`Worker::next`], of a worker that keeps some, in a plain queue.
    #[inline(never)]
    pub(super) fn next_beside_yields(&mut self, slot: &mut Slot) -> Result<(), Departure> {
        if self.engine.room.take_yielded(self.yields, slot) {
            self.post.counters.take_yielded();
            self.lives_by_the_clock = false;
            return Ok(());
        }
        if search::search_as::<{ kind::PLAIN }>(self.engine, slot, &mut self.taker) {
            self.lives_by_the_clock = false;
            self.offer_yields();
            return Ok(());
        }
        self.next_when_dry(slot)
    }

    /// Nothing else is there: takes what it keeps itself, or some of what another keeps.
    pub(super) fn look_at_yields(&mut self, slot: &mut Slot) -> bool {
        let is_taken = self.engine.room.take_any_yielded(self.yields, slot);
        if is_taken {
            self.post.counters.take_yielded();
            self.lives_by_the_clock = false;
            if self.engine.room.offers_yields() {
                // Whoever lay down while this one looked saw nothing on offer.
                self.engine.idle.notify();
            }
        }
        is_taken
    }

    /// It has another task: somebody else may take what it keeps.
    #[inline(always)]
    pub(super) fn offer_yields(&self) {
        if self.yields.has_some() {
            self.offer_kept();
        }
    }

    #[cold]
    fn offer_kept(&self) {
        self.engine.room.offer_yields();
        self.engine.idle.notify();
    }

    pub(super) fn give_yields_away(&self) {
        self.engine.give_yields_away(self.yields, &self.post.counters);
    }

    /// It leaves, and gave away what it kept before it decided to.
    pub(super) fn leave_yields(&self) {
        debug_assert!(!self.yields.has_some(), "nobody is left to poll these");
        self.engine.room.forget_yields(self.yields);
    }
}
