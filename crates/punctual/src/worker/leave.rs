//! Whether a worker stays.
//!
//! In: the pool's sizes, its state, and how long a worker has been idle. Out: what a worker that lies down sees, and whether
//! it leaves instead; each decision under the lock that counts workers, so that no two leave for one reason.

use crate::pool::crew::Crew;
use crate::pool::engine::{Attention, Engine};
use crate::pool::staff::Departure;
use crate::queue::producers::Producers;
use crate::time::{Tick, deadline_after};
use std::time::Duration;

/// What a worker that lies down sees in its last look.
pub(super) enum Outlook {
    /// Something to do: a task, the end of the pool, too many workers.
    GetUp,
    /// Sleep, at most this long if at all limited; and whether that is one that leaves when it has been idle for long.
    Sleep(Option<Duration>, bool),
}

impl Engine {
    /// The last look of a worker that has lain down: under the producers' lock, step 2 of the essay.
    pub(super) fn outlook(&self) -> Outlook {
        self.room.look(|producers, is_empty| {
            let has_due = self.timers.has_due();
            if has_due {
                // Whoever moved it there may not have come to say so.
                self.attention.set(Attention::DUE, true);
            }
            let has_yields = self.room.offers_yields();
            let may_take = (!is_empty && !producers.is_paused()) || has_due || has_yields;
            // Somebody who removes a task is about to give its slot to one that waits in a view.
            let is_awaited = producers.has_some_aside(&self.room);
            let is_over = producers.is_closed()
                && !is_awaited
                && self.timers.is_surely_over()
                && !self.has_suspended_seen_by(producers);
            let has_surplus = producers.gate.has_surplus();
            if has_surplus {
                // One that has just begun counts, and may not have come to say so.
                self.attention.set(Attention::SURPLUS, true);
            }
            if may_take || is_over || has_surplus {
                return Outlook::GetUp;
            }
            // Nobody's time runs while a task waits (in a paused pool) or a submission relies on a worker that is free.
            let is_relied_on = !is_empty || producers.has_reservations();
            let crew = &mut producers.gate;
            if crew.is_timed() && is_relied_on {
                crew.put_off();
                return Outlook::Sleep(None, true);
            }
            let is_timed = producers.gate.is_timed();
            if is_timed && self.is_last_and_awaited(producers) {
                // Called when that comes, or when it does not come any more (`Engine::stays_for_nothing`).
                producers.gate.put_off();
                return Outlook::Sleep(None, true);
            }
            let crew = &producers.gate;
            Outlook::Sleep(is_timed.then_some(crew.keep_alive()), is_timed)
        })
    }

    /// Whether there is one worker left whose task, if any, does not wait for another, and something that it stays for however
    /// long that takes: a task is delayed, waits in a view, or is suspended.
    fn is_last_and_awaited(&self, producers: &Producers<Crew>) -> bool {
        self.is_last_hand(&producers.gate)
            && (producers.has_some_aside(&self.room)
                || !self.timers.looks_over()
                || self.has_suspended_seen_by(producers))
    }

    pub(super) fn leave_if_over(&self, is_fresh: bool) -> Result<(), Departure> {
        self.leave_if(Departure::Closed, is_fresh, |producers, is_empty| {
            let is_over = is_empty && !producers.has_some_aside(&self.room);
            is_over
                && producers.is_closed()
                && self.timers.looks_over()
                && !self.has_suspended_seen_by(producers)
        })
    }

    pub(super) fn leave_if_surplus(&self, is_fresh: bool) -> Result<(), Departure> {
        self.bar_takers(|producers| match producers.gate.has_surplus() {
            true => Err(leave(producers, Departure::Surplus, is_fresh)),
            false => Ok(()),
        })
    }

    pub(super) fn leave_if_idle(&self, since: Tick, is_fresh: bool) -> Result<(), Departure> {
        let now = self.clock.tick();
        self.leave_if(Departure::Idle, is_fresh, |producers, is_empty| {
            let crew = &producers.gate;
            let is_over = deadline_after(since, crew.keep_alive()).is_some_and(|end| end <= now);
            is_over
                && crew.is_timed()
                && is_empty
                && !producers.has_reservations()
                && !self.is_last_and_awaited(producers)
        })
    }

    /// Decides under the producers' lock, and in the same section is no longer counted on.
    pub(super) fn leave_if(
        &self,
        departure: Departure,
        is_fresh: bool,
        leaves: impl FnOnce(&Producers<Crew>, bool) -> bool,
    ) -> Result<(), Departure> {
        self.room
            .look_shut(|producers, is_empty| match leaves(producers, is_empty) {
                true => Err(leave(producers, departure, is_fresh)),
                false => Ok(()),
            })
    }
}

fn leave(producers: &mut Producers<Crew>, departure: Departure, is_fresh: bool) -> Departure {
    if is_fresh {
        producers.gate.warm();
    }
    producers.gate.leave(departure);
    producers.shut();
    departure
}
