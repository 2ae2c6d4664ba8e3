//! What waits for a time beside tasks: the end of a queued task's patience, running tasks that take too long, due tasks
//! that wait too long.
//!
//! In: limits. Out: at their time, whatever the workers do, the task expired, its token fired, or a hook told. An expiry
//! is a timer of its own, taken out when the task is taken. The rest is one timer for the whole pool, the *look*: at the
//! earliest moment that can matter all running tasks, and the due ones that wait, are looked at, and the look is set to
//! the next such moment. So a limit on every task of a pool costs each of them two notes and no timer.

#![allow(unsafe_code)]

use super::engine::Engine;
use super::timers::{Book, Due, Timer};
use crate::handle::end_waiting;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::task::block::{Entry, Header, Reference};
use crate::task::home::Removal;
use crate::task::side::Expiry;
use crate::task::watch::{Facts, Found};
use crate::time::{DueTimer, Tick, Timed, deadline_after};
use crate::worker::idle::Bed;
use std::collections::VecDeque;
use std::time::Duration;

/// How long a task may wait in the queue.
pub(super) fn patience_of(task: &Header) -> Option<Duration> {
    if !task.has_side() {
        return None;
    }
    task.side().and_then(|side| side.expires_in)
}

/// Under the timers' lock.
#[derive(Default)]
pub(super) struct Watch {
    expiries: usize,
    /// Delayed tasks that may expire once they are due.
    pub(super) expiring: usize,
    look: Option<Timer>,
    /// Due tasks by the time they were due, while anybody wants to hear of late ones.
    late: VecDeque<(Tick, Arc<Reference>)>,
    /// The bed of the spare thread that keeps the clock, while there is one.
    pub(super) keeper: Option<Arc<Bed>>,
}

impl Watch {
    /// Whether anything here must not wait until a worker is free.
    fn is_awaited(&self) -> bool {
        self.expiries > 0 || self.expiring > 0 || self.look.is_some()
    }

    /// Tasks that may expire, now or once they are due.
    pub(super) fn may_expire(&self) -> usize {
        self.expiries + self.expiring
    }

    /// These have left the store.
    pub(super) fn left(&mut self, taken: &[DueTimer<Timer>]) {
        if self
            .look
            .is_some_and(|look| taken.iter().any(|each| each.value == look))
        {
            self.look = None;
        }
    }

    /// The end of a task's patience has left the store.
    pub(super) fn expired(&mut self, task: &Header) {
        self.expiries -= 1;
        if let Some(side) = task.side() {
            side.more.lock().expiry = Expiry::Over;
        }
    }
}

impl Book {
    fn expire_at(&mut self, when: Tick, task: &Arc<Reference>) -> bool {
        let header = task.header();
        let Some(side) = header.side() else { return false };
        let mut more = side.more.lock();
        if more.expiry != Expiry::NotYet || header.state.load().is_claimed() {
            return false;
        }
        let timer = Timer::expiry(when, task.clone());
        self.ticks.insert(timer);
        more.expiry = timer.name().map_or(Expiry::Over, Expiry::Waiting);
        self.watch.expiries += 1;
        true
    }

    fn look_at(&mut self, when: Tick) -> bool {
        if let Some(look) = self.watch.look {
            if look.when() <= when {
                return false;
            }
            self.ticks.remove(look);
            drop(look.open());
        }
        let look = Timer::look(when);
        self.ticks.insert(look);
        self.watch.look = Some(look);
        true
    }

    /// Whether somebody must watch the clock whatever the workers do.
    pub(super) fn must_be_kept(&self, engine: &Engine) -> bool {
        self.watch.is_awaited() || (engine.config.on_late.is_some() && engine.timers.pending() > 0)
    }
}

impl Engine {
    /// A task that waits in the queue may do so for so long.
    pub(crate) fn expire_in(self: &Arc<Self>, task: &Arc<Reference>, patience: Duration) {
        let Some(when) = deadline_after(self.clock.tick(), patience) else {
            return;
        };
        let mut book = self.timers.book.lock();
        if book.expire_at(when, task) {
            self.timers.mirror(&book);
            self.look_no_later_than(when, book);
            self.keep_the_clock();
        }
    }

    /// A task that could have expired is taken, or out.
    pub(super) fn no_longer_expires(&self, task: &Header) {
        let Some(side) = task.side().filter(|_| patience_of(task).is_some()) else {
            return;
        };
        let timer = {
            let mut book = self.timers.book.lock();
            match std::mem::replace(&mut side.more.lock().expiry, Expiry::Over) {
                Expiry::Waiting(name) => {
                    let timer = Timer::of_expiry(name);
                    book.watch.expiries -= 1;
                    self.timers.mirror(&book);
                    book.ticks.remove(timer);
                    Some(timer)
                }
                Expiry::NotYet | Expiry::Over => None,
            }
        };
        drop(timer.map(Timer::open));
    }

    /// A running task is to be looked at then.
    pub(super) fn look_at_running(&self, when: Tick) {
        // Mostly there is a look before that already.
        if self.timers.look.load(Acquire) <= when {
            return;
        }
        let mut book = self.timers.book.lock();
        if book.look_at(when) {
            self.timers.look.store(when, Release);
            self.look_no_later_than(when, book);
        } else {
            drop(book);
        }
        if let Some(me) = self.me.upgrade() {
            me.keep_the_clock();
        }
    }

    /// A delayed task goes to the due room.
    pub(super) fn became_due(
        &self,
        book: &mut Book,
        entry: &Entry,
        was_due: Tick,
        over: &mut Vec<Arc<Reference>>,
    ) {
        if let Some(patience) = patience_of(entry.header()) {
            book.watch.expiring -= 1;
            // SAFETY: the entry is a share.
            let task = unsafe { Reference::of(entry.pointer()) };
            if let Some(when) = deadline_after(was_due, patience) {
                book.expire_at(when, &task);
            }
        }
        if let Some((limit, _)) = &self.config.on_late {
            let is_over = |(_, task): &(Tick, Arc<Reference>)| task.header().state.load().is_claimed();
            while book.watch.late.front().is_some_and(is_over) {
                over.extend(book.watch.late.pop_front().map(|(_, task)| task));
            }
            // SAFETY: the entry is a share.
            let task = unsafe { Reference::of(entry.pointer()) };
            book.watch.late.push_back((was_due, task));
            if let Some(when) = deadline_after(was_due, *limit)
                && book.look_at(when)
            {
                self.timers.look.store(when, Release);
            }
        }
    }

    /// Something that is no task has come due.
    pub(super) fn ring(&self, due: Due) {
        match due {
            Due::Expiry(task) => {
                // SAFETY: the reference is a share.
                unsafe { end_waiting(task.pointer(), Removal::Expired) };
            }
            Due::Alarm(alarm) => alarm.ring(),
            Due::Look => self.look_around(),
            Due::Task(_) => {}
        }
    }

    fn look_around(&self) {
        self.timers.look.store(Tick::MAX, Release);
        let now = self.clock.tick();
        let mut found = Found::default();
        for visible in self.staff.lock().visible() {
            visible.look(now, &mut found);
        }
        self.guests.look(now, &mut found);
        let late = self.look_at_the_late(now, &mut found);
        if let Some(next) = found.next {
            self.look_at_running(next);
        }
        for token in found.over {
            token.cancel();
        }
        if let Some(on_slow) = &self.config.on_slow {
            for (task, ran) in found.slow {
                self.hooks.call(|| on_slow(&task.info(), ran));
            }
        }
        if let Some((_, on_late)) = &self.config.on_late {
            for (task, late) in late {
                self.hooks.call(|| on_late(&task.info(), late));
            }
        }
    }

    /// Due tasks that have waited longer than anybody likes, each once.
    fn look_at_the_late(&self, now: Tick, found: &mut Found) -> Vec<(Facts, Duration)> {
        let Some((limit, _)) = &self.config.on_late else {
            return Vec::new();
        };
        let mut told = Vec::new();
        let mut over = Vec::new();
        let mut book = self.timers.book.lock();
        while let Some((was_due, task)) = book.watch.late.front() {
            let is_claimed = task.header().state.load().is_claimed();
            let end = deadline_after(*was_due, *limit).unwrap_or(Tick::MAX);
            if !is_claimed && end > now {
                found.or_at(end);
                break;
            }
            if !is_claimed {
                let late = Duration::from_nanos(now.saturating_sub(*was_due));
                told.push((Facts::of(&task.header().info()), late));
            }
            over.extend(book.watch.late.pop_front());
        }
        drop(book);
        drop(over);
        told
    }
}
