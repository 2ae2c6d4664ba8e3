//! A worker without a task: looks on for a while, sleeps, leads.
//!
//! In: a worker whose search found nothing. Out: a task in its slot, or a reason to leave. The protocol of sleepers and
//! wakers is [`idle`]'s, with its essay; here it is followed.

use super::Worker;
use super::idle::{self, Bed};
use super::leave::Outlook;
use crate::pool::engine::Attention;
use crate::pool::staff::Departure;
use crate::pool::{Role, State, Stint};
use crate::sync::atomic::Ordering::SeqCst;
use crate::sync::{self, atomic};
use crate::task::record::Slot;
use crate::task::recycle;
use crate::time::{Place, Tick, Wait, Waked, deadline_after, spin};
use std::time::Duration;

/// How long a worker looks for the next task before it sleeps. Five microseconds miss a submitter that waits for
/// each result (its p99 goes from 0.8 to 83 us), fifty measured like twenty.
const SPIN: Duration = Duration::from_micros(20);

/// A pool that has been quiet for this long gives the memory of its last burst back.
const TRIM_AFTER: Duration = Duration::from_secs(5);

/// A leader that would sleep for less than this, [`DENSE`] times in a row, sleeps this long: waking up costs more than
/// it is worth to be a little more punctual then. Nothing is ever early.
const SHORTEST: Duration = Duration::from_micros(200);
const DENSE: u32 = 4;

/// The same where each look finds a crowd of at least [`CROWD`]: a tenth of a thread goes into waking up otherwise. (Ten thousand
/// schedules of 100 ms: with a millisecond each run takes about a tenth longer.)
const SHORTEST_OF_CROWDS: Duration = Duration::from_micros(1500);
const CROWD: u32 = 8;

impl Worker<'_> {
    #[inline(never)]
    pub(super) fn next_when_dry(&mut self, slot: &mut Slot) -> Result<(), Departure> {
        let engine = self.engine;
        let mut searching = None;
        let mut was_called = false;
        loop {
            let departs = self.may_take();
            if departs.is_ok() && self.look(slot) {
                // Others stay asleep while somebody searches; the last searcher to find something looks whether
                // there is more (step 3 of the essay).
                self.offer_yields();
                self.stop_searching(searching);
                self.idle_since = None;
                return Ok(());
            }
            if let Err(departure) = departs.and_then(|()| self.stay()) {
                self.stop_searching(searching);
                recycle::look_away();
                engine.tell_idle_watchers();
                if departure == Departure::Closed {
                    // Others may have lain down for delayed tasks that are over now.
                    engine.idle.wake_all();
                }
                return Err(departure);
            }
            if std::mem::take(&mut was_called) {
                self.post.counters.called_in_vain();
            }
            if searching.is_none() {
                searching = engine.idle.search();
            }
            // After due tasks the next ones come by the clock, which a sleeper watches better than a spinner.
            let spins = self.spins && !self.lives_by_the_clock;
            if searching.is_some() && spins && self.spin() {
                engine.look_at_the_clock(None);
                continue;
            }
            let (awake, is_called) = self.rest(searching);
            (searching, was_called) = (Some(awake), is_called);
        }
    }

    /// Waits a moment, awake. True: there is something to do.
    pub(super) fn spin(&mut self) -> bool {
        if let Some(tape) = self.tape {
            tape.rest();
        }
        let engine = self.engine;
        match &mut self.thief {
            None => spin(SPIN, || engine.has_work() || engine.is_time()),
            Some(thief) => spin(SPIN, || {
                engine.has_work() || engine.is_time() || thief.sees_prey(engine)
            }),
        }
    }

    /// Leaves the searchers. While this worker was one, others left tasks to it: the last one passes the word on.
    pub(super) fn stop_searching(&self, searching: Option<idle::Searching>) {
        if let Some(searching) = searching
            && self.engine.idle.found(searching)
        {
            // Whoever gives something a time looks for somebody idle after that, and this worker, the other way round, for
            // such a time after it has stopped being idle (model `a_limit_is_set_while_the_last_worker_goes_to_work`).
            atomic::fence(SeqCst);
            let (is_unled, is_covered) = self.engine.needs_leader_after(self.stint);
            let is_queue_empty = self.engine.room.is_empty() && !self.engine.room.offers_yields();
            if is_covered && is_queue_empty {
                return;
            }
            let has_more = !is_queue_empty || self.engine.timers.has_due();
            let is_called = (is_unled || has_more) && self.engine.idle.notify();
            if has_more && !is_called {
                self.shared.call_another();
            }
            if is_unled {
                self.shared.find_successor();
            }
        } else if self.engine.needs_leader() {
            // Nobody counted on this one; but there is one less now who could lie down and lead.
            self.shared.find_successor();
        }
    }

    /// Whether a worker without a task goes on looking for one.
    pub(super) fn stay(&self) -> Result<(), Departure> {
        let engine = self.engine;
        // Nothing may be taken, or it would have a task. First: nobody who leaves, or lies down, keeps something.
        self.give_yields_away();
        if engine.attention.has(Attention::RETRY) {
            self.shared.staff_up(false);
        }
        if engine.state() >= State::Shutdown {
            engine.leave_if_over(self.is_fresh)?;
        }
        match self.idle_since {
            Some(since) => engine.leave_if_idle(since, self.is_fresh),
            None => Ok(()),
        }
    }

    /// Sleeps until called, or until there is housekeeping to do. True: it was called.
    fn rest(&mut self, searching: Option<idle::Searching>) -> (idle::Searching, bool) {
        if let Some(tape) = self.tape {
            tape.rest();
        }
        let engine = self.engine;
        let bed = &self.post.bed;
        let asleep = engine.idle.lie_down(bed, searching);
        engine.tell_idle_watchers();
        let (keep_alive, is_timed) = match engine.outlook() {
            Outlook::GetUp => return (engine.idle.rise(bed, asleep), false),
            Outlook::Sleep(keep_alive, is_timed) => (keep_alive, is_timed),
        };
        self.post.counters.park();
        if let Some(thief) = &self.thief {
            thief.shrink();
        }
        self.yields.shrink();
        // On a manual clock nobody trims: its hours pass in no time, and the memory is wanted again at once.
        let excess = if engine.clock.is_manual() {
            None
        } else {
            recycle::excess()
        };
        let has_keys = !engine.clock.is_manual() && engine.keys.see_to();
        let has_lines = !engine.clock.is_manual() && engine.crowd.see_to();
        let trim = (excess.is_some() || has_keys || has_lines)
            .then(|| deadline_after(engine.clock.tick(), TRIM_AFTER))
            .flatten();
        // The leader stays: somebody must be there when the time comes.
        let (due, mut second) = match engine.lead(bed, is_timed, self.stint.take()) {
            Role::Leads(due) => (Some(self.not_too_soon(due)), None),
            Role::StandsBy(until) => (None, Some(until)),
            Role::Sleeps => (None, None),
        };
        let stands_by = second.is_some();
        let leave = keep_alive.filter(|_| due.is_none()).and_then(|keep_alive| {
            let since = *self.idle_since.get_or_insert_with(|| engine.clock.tick());
            deadline_after(since, keep_alive)
        });
        let waked = loop {
            let wait = Wait {
                word: &bed.word,
                mask: Bed::CALLED,
                expected: 0,
                interrupt: None,
                // What is beyond the clock's horizon never comes, also when the clock stands there.
                deadline: [trim, leave, due.filter(|due| *due != Tick::MAX), second]
                    .into_iter()
                    .flatten()
                    .min(),
            };
            let waked = engine.clock.wait(&wait, Place::Parked(engine.identity()));
            let is_second = waked == Waked::TimedOut && second.is_some() && wait.deadline == second;
            let again = if is_second {
                engine.stand_by_again(bed)
            } else {
                None
            };
            match again {
                Some(until) => second = until,
                None => break waked,
            }
        };
        let searching = if waked == Waked::Ready {
            recycle::look_away();
            engine.idle.called(bed, asleep)
        } else {
            engine.idle.rise(bed, asleep)
        };
        if stands_by {
            engine.stand_down(bed);
            engine.look_at_the_clock(None);
        }
        if let Some(due) = due {
            engine.resign();
            let now = engine.clock.tick();
            if due != Tick::MAX && due <= now {
                engine.fire();
                self.stint = Some(Stint { began: now, tasks: 0 });
            }
        }
        // Called before: not quiet yet, and the next rest begins a new term.
        let was_quiet = waked != Waked::Ready && trim.is_some_and(|trim| trim <= engine.clock.tick());
        match (has_lines, was_quiet) {
            (true, true) => engine.crowd.tidy(),
            (true, false) => engine.crowd.put_off(),
            (false, _) => {}
        }
        match (has_keys, was_quiet) {
            (true, true) => engine.keys.sweep(),
            (true, false) => engine.keys.put_off(),
            (false, _) => {}
        }
        // The same if others used the stock meanwhile.
        if was_quiet && excess.is_some() && recycle::excess() == excess {
            recycle::trim();
        }
        (searching, waked == Waked::Ready)
    }

    /// When a leader that should get up at `due` does so.
    pub(super) fn not_too_soon(&mut self, due: Tick) -> Tick {
        if self.engine.clock.is_manual() {
            return due;
        }
        if !self.sleeps_exactly {
            self.sleeps_exactly = true;
            sync::sleep_exactly();
        }
        let now = self.engine.clock.tick();
        if due <= now {
            return due;
        }
        let in_crowds = self.due_since_rest >= CROWD;
        self.due_since_rest = 0;
        let shortest = if in_crowds { SHORTEST_OF_CROWDS } else { SHORTEST };
        let shortest = deadline_after(now, shortest).unwrap_or(due);
        self.dense = if due < shortest { self.dense + 1 } else { 0 };
        if self.dense > DENSE {
            due.max(shortest)
        } else {
            due
        }
    }
}
