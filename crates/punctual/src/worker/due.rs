//! Between two tasks: what has come due, and what else wants a look.
//!
//! In: the pool's attention word and its due room. Out: a due task in the slot, where one goes before the queue; too few or
//! too many workers seen to. Not here: who sleeps until a time comes ([`rest`](super::rest)).

use super::Worker;
use crate::pool::engine::Attention;
use crate::pool::staff::Departure;
use crate::task::block::Entry;
use crate::task::record::Slot;

/// Due tasks go before the queue; after so many in a row one task of the queue passes.
const MAX_DUE_IN_A_ROW: u32 = 61;

/// What a look at the due room gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Due {
    Taken,
    /// Nothing that goes first.
    Nothing,
    /// The pool was paused, or had too many workers. The queue may have been opened since, and is not to be taken from on the strength of this look:
    /// what is due would be overtaken.
    Closed,
}

impl Worker<'_> {
    /// Something is to be done between two tasks: perhaps there are too many workers, perhaps too few, perhaps a time has
    /// come. True: a task is in the slot.
    #[cold]
    pub(super) fn attend(&mut self, slot: &mut Slot) -> Result<bool, Departure> {
        if self.engine.attention.has(Attention::RETRY) {
            self.shared.staff_up(false);
        }
        if self.engine.attention.has(Attention::CLOCK) {
            self.engine.look_at_the_clock(self.stint);
            self.shared.find_successor();
        }
        self.may_take()?;
        let due = self.take_due(slot);
        if due == Due::Closed {
            self.next_when_dry(slot)?;
        }
        Ok(due != Due::Nothing)
    }

    /// Before a worker takes anything: whether it is one too many. A hint is enough: while there are too many nothing is taken
    /// ([`Engine::bar_takers`](crate::pool::engine::Engine::bar_takers)), and a worker that finds nothing comes here again.
    pub(super) fn may_take(&self) -> Result<(), Departure> {
        if self.engine.attention.has(Attention::SURPLUS) {
            // First: once it is no longer counted on, the others may go home.
            self.give_yields_away();
            self.engine.leave_if_surplus(self.is_fresh)?;
        }
        Ok(())
    }

    /// Takes a task whose time has come; after so many in a row one of the queue passes.
    pub(super) fn take_due(&mut self, slot: &mut Slot) -> Due {
        if !self.engine.attention.has(Attention::DUE) {
            return Due::Nothing;
        }
        let has_other = || !self.engine.room.looks_empty() || self.has_own() || self.yields.has_some();
        // Beyond, if there was nobody to let pass before.
        if self.due_in_a_row >= MAX_DUE_IN_A_ROW && has_other() {
            self.due_in_a_row = 0;
            return Due::Nothing;
        }
        let was_barred = self.engine.timers.due.is_barred();
        // What is seen here is taken, or nothing: a due room that was closed a moment ago may not have been compared.
        let Some(due) = self.engine.timers.due.urgency() else {
            self.engine.timers.note_whether_due(&self.engine.attention);
            self.due_in_a_row = 0;
            return if was_barred { Due::Closed } else { Due::Nothing };
        };
        if self.lets_the_queue_pass(due) {
            return Due::Nothing;
        }
        let taker = &mut self.due_taker;
        if self.engine.timers.take(slot, taker, &self.engine.attention) {
            self.passed = 0;
            self.due_in_a_row = self.due_in_a_row.saturating_add(1);
            self.due_since_rest = self.due_since_rest.saturating_add(1);
            if let Some(stint) = &mut self.stint {
                stint.tasks += 1;
            }
            self.lives_by_the_clock = true;
            if self.engine.config.covers_delayed {
                let is_delayed = |entry: &Entry| entry.header().class.is_delayed();
                self.engine
                    .uncover(usize::from(slot.peek_entry().is_some_and(is_delayed)));
            }
            return Due::Taken;
        }
        self.due_in_a_row = 0;
        if was_barred { Due::Closed } else { Due::Nothing }
    }

    /// Due tasks go before those of their own level and of less urgent ones; a more urgent one of the queue goes first.
    pub(super) fn lets_the_queue_pass(&mut self, due: usize) -> bool {
        // After the look at the due room: while a pool is being resumed the queue is open before that is.
        let Some(queue) = self.engine.room.urgency() else {
            return false;
        };
        let passes = queue < due && self.engine.timers.due.yields_to(queue, self.passed);
        if passes {
            self.passed += 1;
        }
        passes
    }
}
