//! Who watches the clock.
//!
//! In: workers that lie down, tasks that get a time. Out: due tasks in the due room, in time. There is no timer thread:
//! one sleeping worker, the *leader*, sleeps until the stores want to be looked at, the others sleep without a limit; with
//! everybody at work each looks at the clock between two tasks ([`Attention::CLOCK`]).
//!
//! Which races this prevents. *An earlier task arrives while the leader sleeps*: the insertion sees the leader's time
//! under the book's lock and calls its bed (model `an_earlier_timer_calls_the_leader`). *It arrives while nobody leads*:
//! whoever lies down later finds it when it asks to lead, under the lock; if all are asleep the insertion wakes one; if the
//! last searcher goes to work it passes the word on as it does for the queue (model `leadership_is_passed_on`). *The
//! leader is called for a queued task*: it resigns before it takes anything, and the task it takes is not begun before
//! somebody else was woken to lead, if anybody sleeps.

use super::engine::{Attention, Engine};
use super::timers::{Book, Due, Timer};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use crate::sync::{Arc, Guard};
use crate::task::Class;
use crate::time::{Axis, Tick};
use crate::worker::idle::{Bed, Idle};

/// At most this many tasks are moved at a time, so that an insertion never waits long.
const PIECE: usize = 256;

/// Who sleeps until the next look.
pub(super) struct Leader {
    bed: Arc<Bed>,
    until: Tick,
    /// A spare thread that is no worker: its bed is not among theirs.
    is_keeper: bool,
}

/// How to reach a leader, outside the lock.
struct Call(Arc<Bed>, bool);

impl Leader {
    fn to_call(&self) -> Call {
        Call(self.bed.clone(), self.is_keeper)
    }
}

impl Call {
    fn wake(self, idle: &Idle) {
        if self.1 {
            self.0.call();
        } else {
            idle.call(&self.0);
        }
    }
}

impl Engine {
    /// Something is to happen at `look`: whoever watches the clock must not sleep longer. Takes the lock's guard, to
    /// let it go before anybody is woken.
    pub(super) fn look_no_later_than(&self, look: Tick, book: Guard<'_, Book>) {
        if look < self.timers.next.load(Acquire) {
            self.timers.next.store(look, Release);
        }
        let is_led = book.leader.is_some();
        let sooner = book.leader.as_ref().filter(|leader| look < leader.until);
        let call = sooner.map(Leader::to_call);
        self.attention.set(Attention::CLOCK, !is_led);
        drop(book);
        match call {
            Some(call) => call.wake(&self.idle),
            None if !is_led => _ = self.idle.notify(),
            None => {}
        }
    }

    /// Whether something is to happen and nobody watches the clock for it.
    pub(crate) fn needs_leader(&self) -> bool {
        self.timers.next.load(Acquire) != Tick::MAX && self.timers.book.lock().leader.is_none()
    }

    /// A worker that lies down asks to lead: until when, if it does.
    pub(crate) fn lead(&self, bed: &Arc<Bed>) -> Option<Tick> {
        if self.timers.next.load(Acquire) == Tick::MAX {
            return None;
        }
        let book = self.timers.book.lock();
        if book.leader.is_some() {
            return None;
        }
        self.lead_with(book, bed, false)
    }

    pub(super) fn lead_with(
        &self,
        mut book: Guard<'_, Book>,
        bed: &Arc<Bed>,
        is_keeper: bool,
    ) -> Option<Tick> {
        let until = book.next_look(&self.clock);
        self.timers.next.store(until.unwrap_or(Tick::MAX), Release);
        let until = until?;
        book.leader = Some(Leader {
            bed: bed.clone(),
            until,
            is_keeper,
        });
        self.attention.set(Attention::CLOCK, false);
        Some(until)
    }

    /// The leader is up.
    pub(crate) fn resign(&self) {
        let mut book = self.timers.book.lock();
        book.leader = None;
        // Until somebody leads again, those at work look at the clock.
        let is_awaited = self.timers.next.load(Acquire) != Tick::MAX;
        self.attention.set(Attention::CLOCK, is_awaited);
    }

    /// Fires if it is time; for those who look at the clock between two tasks.
    pub(crate) fn look_at_the_clock(&self) {
        if self.clock.tick() >= self.timers.next.load(Acquire) {
            self.fire();
        }
    }

    /// Moves the tasks whose time has come to the due room, and sees to what else was to happen.
    pub(crate) fn fire(&self) {
        let mut due = Vec::new();
        loop {
            let mut others = Vec::new();
            let more = self.fire_piece(&mut due, &mut others);
            self.idle.notify();
            for other in others {
                self.ring(other);
            }
            if !more {
                return;
            }
        }
    }

    fn fire_piece(&self, due: &mut Vec<(Tick, Timer)>, others: &mut Vec<Due>) -> bool {
        let mut book = self.timers.book.lock();
        let mut more = false;
        let mut moved = 0;
        for axis in [Axis::Ticks, Axis::Wall] {
            let store = book.store(axis);
            if store.len() == 0 {
                continue;
            }
            let now = self.clock.on(axis);
            more |= store.take_due(now, PIECE, due);
            for (when, timer) in due.drain(..) {
                match timer.open() {
                    Due::Task(entry) => {
                        let late = now.saturating_sub(when);
                        self.observed.lateness.record(late, 1);
                        if entry.header().class == Class::REPEATED {
                            book.counts.accepted += 1;
                            book.runs -= 1;
                        }
                        entry.header().state.mark_due();
                        self.became_due(&mut book, &entry, late);
                        self.timers.due.append(entry.header().class, entry, &self.clock);
                        moved += 1;
                    }
                    other => {
                        book.watch.left(&other);
                        others.push(other);
                    }
                }
            }
        }
        self.mirror(&book);
        self.timers.pending.fetch_sub(moved, AcqRel);
        let next = book.next_look(&self.clock).unwrap_or(Tick::MAX);
        self.timers.next.store(next, Release);
        if moved > 0 {
            self.attention.set(Attention::DUE, true);
        }
        let is_unled = book.leader.is_none() && next != Tick::MAX;
        self.attention.set(Attention::CLOCK, is_unled);
        more
    }
}
