//! The keeper: a spare thread that watches the clock while every worker is at work.
//!
//! In: something that must happen in time ([`watch`](super::watch)) and nobody free to see to it. Out: it happens. The
//! keeper leads like a sleeping worker does, moves due tasks to the due room, runs expiries, limits and their hooks, and
//! never a task. It is one of the pool's spare threads; with none left (or with `spare_threads(0)`) such things wait until
//! a worker looks at the clock between two tasks. It goes home when it was not needed for the keep-alive time.
//!
//! Which race this prevents: the last free worker takes a task just when a limit is set. Whoever sets a limit looks for
//! somebody free after it has written the timer, a worker that takes a task looks for limits after it has stopped being
//! free; both start, or call, the keeper, and its bed keeps a call that comes before it sleeps.

use super::engine::Engine;
use super::leader::Leads;
use super::state::State;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, SeqCst};
use crate::sync::{Arc, atomic};
use crate::task::as_watchdog_of;
use crate::time::{Place, Wait, Waked, deadline_after};
use crate::worker::idle::Bed;

impl Engine {
    /// Makes sure that somebody watches the clock, if something must not wait.
    #[inline]
    pub(crate) fn keep_the_clock(self: &Arc<Self>) {
        if self.timers.is_watched() || self.config.on_late.is_some() {
            self.find_keeper();
        }
    }

    #[cold]
    fn find_keeper(self: &Arc<Self>) {
        // See `Worker::stop_searching`.
        atomic::fence(SeqCst);
        loop {
            let bed = {
                let mut book = self.timers.book.lock();
                if book.leader.is_some() || !book.must_be_kept(self) || self.idle.read().idle() > 0 {
                    return;
                }
                if let Some(bed) = book.watch.keeper.clone() {
                    drop(book);
                    bed.call();
                    return;
                }
                let bed = Arc::new(Bed::new());
                book.watch.keeper = Some(bed.clone());
                bed
            };
            // A worker is better, if there may be another: it will lead, or come here itself.
            if !self.staff_up(false) && self.idle.read().idle() == 0 && self.start_keeper(&bed) {
                return;
            }
            self.timers.book.lock().watch.keeper = None;
            // Whoever called the bed meanwhile relies on it: look again on his behalf.
            if !bed.is_called() {
                return;
            }
        }
    }

    fn start_keeper(self: &Arc<Self>, bed: &Arc<Bed>) -> bool {
        {
            let mut producers = self.room.producers();
            // Once the last worker of a closed pool has left it is over.
            let is_over = producers.is_closed() && producers.gate.workers() == 0;
            if is_over || !producers.gate.take_keeper() {
                return false;
            }
            // As for a worker: while it is there the pool has not ended.
            let _ = self.run_state.hire();
        }
        self.timers.keepers.fetch_add(1, AcqRel);
        let number = self.next_worker_number();
        let (engine, bed) = (self.clone(), bed.clone());
        let body = move || {
            as_watchdog_of(engine.top().identity(), engine.identity(), || engine.keep(&bed));
            engine.keeper_leaves(number);
            // Also for this clock: since the keeper decided to leave, others were told that there is one.
            engine.offer_spare();
        };
        let name = format!("{}-clock", self.config.thread_name);
        match crate::sync::start_thread(name, self.config.stack_size, body) {
            Ok(thread) => {
                self.keep_thread(number, thread);
                true
            }
            Err(_) => {
                self.keeper_is_gone();
                // Not for a clock: the system would refuse a thread for it as well.
                self.offer_stand_in();
                false
            }
        }
    }

    fn keep(&self, bed: &Arc<Bed>) {
        let mut idle_since = None;
        let mut has_led = false;
        loop {
            bed.make();
            // After the bed was made: whoever leaves last calls.
            let is_alone = self.is_deserted();
            let (until, leads) = {
                let mut book = self.timers.book.lock();
                let is_needed = book.leader.is_none() && book.must_be_kept(self);
                let since = *idle_since.get_or_insert_with(|| self.clock.tick());
                let end = deadline_after(since, self.config.keep_alive);
                let is_over = end.is_some_and(|end| end <= self.clock.tick());
                if is_alone || (!is_needed && is_over) {
                    book.watch.keeper = None;
                    drop(book);
                    self.pass_the_clock_on(has_led);
                    return;
                }
                let led = if is_needed {
                    self.lead_with(
                        book,
                        bed,
                        Leads {
                            is_keeper: true,
                            is_timed: false,
                        },
                    )
                } else {
                    None
                };
                (led.or(end), led.is_some())
            };
            if !leads {
                self.pass_the_clock_on(has_led);
            }
            has_led = leads;
            let wait = Wait {
                word: &bed.word,
                mask: Bed::CALLED,
                expected: 0,
                interrupt: None,
                deadline: until,
            };
            let waked = self.clock.wait(&wait, Place::Parked(self.identity()));
            if leads {
                idle_since = None;
                self.resign();
                if waked == Waked::TimedOut {
                    self.fire();
                }
            }
        }
    }

    /// The keeper has led and does not any more: workers that lay down beside it are not watching the clock, so one gets up and does.
    fn pass_the_clock_on(&self, has_led: bool) {
        if has_led && self.needs_leader() {
            // See `Worker::stop_searching`.
            atomic::fence(SeqCst);
            self.idle.notify();
        }
    }

    fn keeper_leaves(&self, number: usize) {
        // Whoever closes the pool joins it if it was there to the end.
        if self.state() < State::Shutdown {
            self.dismiss_thread(number);
        }
        self.keeper_is_gone();
    }

    fn keeper_is_gone(&self) {
        self.room.producers().gate.give_keeper_back();
        self.timers.keepers.fetch_sub(1, AcqRel);
        let _ = self.run_state.leave();
        self.clock.hint();
        self.try_terminate();
    }

    /// A pool is closed, or a worker of a closed one has left: if there are none any more the keeper goes home too.
    pub(super) fn release_keeper(&self) {
        let bed = self.timers.book.lock().watch.keeper.clone();
        if let Some(bed) = bed {
            bed.call();
        }
    }

    /// Whether a keeper is alive.
    pub(super) fn keepers(&self) -> usize {
        self.timers.keepers.load(Acquire)
    }
}
