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

use super::deputy::Stint;
use super::engine::{Attention, Engine};
use super::state::State;
use super::timers::{Book, Due, Timer};
use super::views::Unsettled;
use crate::sync::atomic::Ordering::{Acquire, Release, SeqCst};
use crate::sync::{Arc, Guard, atomic};
use crate::task::block::{Entry, Reference};
use crate::time::{Axis, Clock, DueTimer, Tick};
use crate::worker::idle::{Bed, Idle};

/// At most this many tasks are moved at a time, so that an insertion never waits long.
const PIECE: usize = 256;

/// While there is surely more, the next piece is moved when so few are left: not everybody waits for who moves it.
const FEW: u64 = 128;

/// Where others take so many while a piece is moved, whoever moves goes on with it until so much waits.
const MANY: u64 = 64;
const MUCH: u64 = 4096;

/// In place of the next look: more is due already, and no clock need be read to know it.
const AT_ONCE: Tick = 0;

/// Who sleeps until the next look.
pub(super) struct Leader {
    bed: Arc<Bed>,
    pub(super) until: Tick,
    /// A spare thread that is no worker: its bed is not among theirs.
    pub(super) is_keeper: bool,
    /// It stays only because something is to happen.
    is_timed: bool,
}

/// How somebody leads.
pub(super) struct Leads {
    pub(super) is_keeper: bool,
    pub(super) is_timed: bool,
}

/// What a worker that lies down does about the time.
pub(crate) enum Role {
    /// Sleeps until then: it is the leader.
    Leads(Tick),
    /// Sleeps until then: it is the leader's [`deputy`](super::deputy).
    StandsBy(Tick),
    /// Nothing.
    Sleeps,
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
        let is_covered = is_led || (self.may_have_deputies() && book.is_covered(look));
        if self.attention.has(Attention::CLOCK) == is_led {
            self.attention.set(Attention::CLOCK, !is_led);
        }
        drop(book);
        match call {
            Some(call) => call.wake(&self.idle),
            None if !is_covered => {
                // See `Worker::stop_searching`.
                atomic::fence(SeqCst);
                self.idle.notify();
            }
            None => {}
        }
    }

    /// Whether something is to happen and nobody watches the clock for it.
    pub(crate) fn needs_leader(&self) -> bool {
        self.needs_leader_after(None).0
    }

    /// As [`Engine::needs_leader`], for a worker that goes to work on such a stint. And whether it may leave all that is due
    /// and to come to itself and its deputy.
    pub(crate) fn needs_leader_after(&self, stint: Option<Stint>) -> (bool, bool) {
        if self.timers.next.load(Acquire) == Tick::MAX {
            return (false, false);
        }
        // The mirror may be old: the last timer may have been cancelled.
        let mut book = self.timers.book.lock();
        let is_needed = book.leader.is_none() && !book.is_empty();
        let began = stint.map_or(0, |stint| stint.began);
        let is_left = is_needed && self.leave_it_to_the_deputy(&mut book, stint, began);
        (is_needed, is_left)
    }

    /// As [`Engine::needs_leader`], and a thread would stay to lead: those of a closed pool stay for tasks only.
    pub(super) fn needs_successor(&self) -> bool {
        (self.state() < State::Shutdown || self.timers.pending() > 0) && self.needs_leader()
    }

    /// A worker that lies down asks to lead. It may come from a stint that began because of the time.
    pub(crate) fn lead(&self, bed: &Arc<Bed>, is_timed: bool, stint: Option<Stint>) -> Role {
        // The second is raised first, when something is inserted.
        if self.timers.next.load(Acquire) == Tick::MAX && self.timers.pending() == 0 {
            return Role::Sleeps;
        }
        let now = stint.map(|_| self.clock.tick());
        let mut book = self.timers.book.lock();
        if let (Some(stint), Some(now)) = (stint, now) {
            book.note_stint(stint, now);
        }
        if book.leader.is_some() {
            return match self.stand_by(&mut book, bed) {
                Some(until) => Role::StandsBy(until),
                None => Role::Sleeps,
            };
        }
        let leads = Leads {
            is_keeper: false,
            is_timed,
        };
        match self.lead_with(book, bed, leads) {
            Some(until) => Role::Leads(until),
            None => Role::Sleeps,
        }
    }

    pub(super) fn lead_with(&self, mut book: Guard<'_, Book>, bed: &Arc<Bed>, leads: Leads) -> Option<Tick> {
        let until = book.next_look(&self.clock);
        self.timers.next.store(until.unwrap_or(Tick::MAX), Release);
        let until = until?;
        book.leader = Some(Leader {
            bed: bed.clone(),
            until,
            is_keeper: leads.is_keeper,
            is_timed: leads.is_timed,
        });
        self.attention.set(Attention::CLOCK, false);
        Some(until)
    }

    /// A worker goes to work and leaves the clock: another is started if the size allows it, or the keeper is called.
    pub(crate) fn find_successor(self: &Arc<Self>) {
        let is_short = self.run_state.read().workers() < self.ceiling() + self.keepers();
        if is_short && self.idle.read().idle() == 0 && self.needs_successor() {
            self.staff_up(false);
        }
        self.keep_the_clock();
    }

    /// A timer was taken out. If it was the last, a leader whose own time is over need not stay for it; nor need the last
    /// worker beside another leader, if it was the last task.
    pub(super) fn nothing_to_wait_for(&self, book: Guard<'_, Book>) {
        let leader = book.leader.as_ref();
        let leader = leader.filter(|leader| leader.is_timed && book.is_empty());
        let call = leader.map(Leader::to_call);
        drop(book);
        match call {
            Some(call) => call.wake(&self.idle),
            None if self.timers.pending() == 0 => self.stays_for_nothing(),
            None => {}
        }
    }

    /// The leader is up.
    pub(crate) fn resign(&self) {
        let mut book = self.timers.book.lock();
        book.leader = None;
        // Until somebody leads again, those at work look at the clock.
        let is_awaited = self.timers.next.load(Acquire) != Tick::MAX;
        self.attention.set(Attention::CLOCK, is_awaited);
    }

    /// Fires if it is time; for those who look at the clock between two tasks. What is due already comes first anyway, so
    /// while there is any the clock, which costs as much as two small tasks, is not looked at.
    pub(crate) fn look_at_the_clock(&self, stint: Option<Stint>) {
        let is_wanted = match self.timers.next.load(Acquire) {
            AT_ONCE => self.timers.due.glance().1 < FEW,
            _ => self.timers.due.looks_empty() && self.is_time(),
        };
        if is_wanted {
            // If somebody else is at it there is something to take already, or soon.
            if let Some(book) = self.timers.book.try_lock() {
                self.fire_with(book, stint);
            }
        }
    }

    /// Whether something is due, as far as can be seen without a lock.
    pub(crate) fn is_time(&self) -> bool {
        let next = self.timers.next.load(Acquire);
        next == AT_ONCE || (next != Tick::MAX && self.clock.tick() >= next)
    }

    /// Enough is due already to keep everybody busy for a while. That is more where others took many of them since that glance:
    /// to take with them would hold them up, and they get on faster if somebody brings what they take. (If they block instead,
    /// they take nothing, and whoever moves is one more to take at once.)
    fn is_crowded(&self, (accepted, waiting): (u64, u64)) -> bool {
        let (accepted_now, waiting_now) = self.timers.due.glance();
        let taken = (waiting + accepted_now.saturating_sub(accepted)).saturating_sub(waiting_now);
        waiting_now >= if taken >= MANY { MUCH } else { PIECE as u64 }
    }

    /// Moves tasks whose time has come to the due room, and sees to what else was to happen. A piece at a time: a crowd's
    /// first task does not wait until the last was moved. Whoever runs dry moves the next.
    pub(crate) fn fire(&self) {
        self.fire_with(self.timers.book.lock(), None);
    }

    /// As [`Engine::fire`], all of it.
    pub(super) fn fire_all(&self) {
        while self.is_time() {
            self.fire();
        }
    }

    fn fire_with<'a>(&'a self, mut book: Guard<'a, Book>, stint: Option<Stint>) {
        let mut piece = Piece::default();
        loop {
            let before = self.timers.due.glance();
            let now = self.clock.tick();
            let more = self.move_piece(&mut book, now, &mut piece);
            let is_covered = self.leave_it_to_the_deputy(&mut book, stint, now);
            drop(book);
            piece.over.clear();
            for unsettled in piece.unsettled.drain(..) {
                self.settle(unsettled);
            }
            if !is_covered {
                self.idle.notify();
            }
            self.start_for_due();
            for other in piece.others.drain(..) {
                self.ring(other);
            }
            if !more || self.is_crowded(before) {
                return;
            }
            book = self.timers.book.lock();
        }
    }

    fn move_piece(&self, book: &mut Guard<'_, Book>, now: Tick, piece: &mut Piece) -> bool {
        let mut desk = std::mem::take(&mut book.desk);
        let more = book.take_due(now, &self.clock, &mut desk.due);
        // Before anything else is made of them: a late task may set the next look.
        book.watch.left(&desk.due);
        for (index, due) in desk.due.drain(..).enumerate() {
            let late = now.saturating_sub(due.when);
            match due.value.open() {
                Due::Task(entry) => {
                    // Of a crowd a sample: those of one piece are late alike.
                    if index.is_multiple_of(SAMPLE) {
                        desk.samples.push(late);
                    }
                    if entry.header().class.is_repeated() {
                        book.counts.accepted += 1;
                        book.counts.fired += 1;
                        book.runs -= 1;
                    }
                    entry.header().state.mark_due();
                    self.became_due(book, &entry, due.when, &mut piece.over);
                    if entry.header().class.is_viewed() {
                        desk.of_views.push(entry);
                    } else {
                        desk.tasks.push(entry);
                    }
                }
                other => {
                    if let Due::Expiry(task) = &other {
                        book.watch.expired(task.header());
                    }
                    if let Due::Alarm(alarm) = &other {
                        alarm.set_kept(false);
                    }
                    piece.others.push(other);
                }
            }
        }
        let moved = desk.tasks.len() + desk.of_views.len();
        if let Some(recording) = self.recording.as_ref().filter(|_| moved > 0) {
            recording.fired(now, moved, desk.samples.first().copied().unwrap_or_default());
        }
        self.timers.due.append_all(&mut desk.tasks, &self.clock);
        for entry in desk.of_views.drain(..) {
            piece.unsettled.extend(self.enter_when_due(entry));
        }
        // After they have been written: what is no longer pending can be taken.
        self.timers.left(moved);
        self.timers.mirror(book);
        self.record_lateness(&mut desk.samples, moved);
        book.desk = desk;
        let next = if more {
            AT_ONCE
        } else {
            book.next_look(&self.clock).unwrap_or(Tick::MAX)
        };
        self.timers.next.store(next, Release);
        if moved > 0 {
            self.attention.set(Attention::DUE, true);
        }
        let is_unled = book.leader.is_none() && next != Tick::MAX;
        self.attention.set(Attention::CLOCK, is_unled);
        more
    }

    fn record_lateness(&self, samples: &mut Vec<Tick>, moved: usize) {
        let count = samples.len();
        for (index, late) in samples.drain(..).enumerate() {
            // The weights add up to the number of tasks.
            let weight = (moved * (index + 1) / count - moved * index / count) as u64;
            self.observed.lateness.record(late, weight);
        }
    }
}

/// One in this many of a piece is timed.
const SAMPLE: usize = 16;

/// Where what is moved at once lies meanwhile: empty between two pieces, and kept, so that none is paid for twice.
#[derive(Default)]
pub(super) struct Desk {
    due: Vec<DueTimer<Timer>>,
    tasks: Vec<Entry>,
    /// Those that go through the gates of views.
    of_views: Vec<Entry>,
    samples: Vec<Tick>,
}

/// What is left to do for it without the lock.
#[derive(Default)]
struct Piece {
    unsettled: Vec<Unsettled>,
    others: Vec<Due>,
    /// References that are needed no more. The last of a task's drops its result, which is user code: not under the lock.
    over: Vec<Arc<Reference>>,
}

impl Book {
    fn is_empty(&self) -> bool {
        self.ticks.len() == 0 && self.calendar.len() == 0
    }

    /// Takes what is due by either clock, in order, the times given as ticks of the monotonic one.
    fn take_due(&mut self, now: Tick, clock: &Clock, out: &mut Vec<DueTimer<Timer>>) -> bool {
        // What is beyond the horizon never comes, also when the clock stands there.
        let mut more = self.ticks.take_due(now.min(Tick::MAX - 1), PIECE, out);
        if self.calendar.is_empty() {
            return more;
        }
        // Not past what is left of the first: their order would be lost.
        let last = out.last().map(|last| last.when).filter(|_| more);
        let behind = last.map_or(0, |last| now.saturating_sub(last));
        let wall = clock.on(Axis::Wall);
        let first = out.len();
        let until = wall.saturating_sub(behind).min(Tick::MAX - 1);
        more |= self.calendar.take_due(until, PIECE, out);
        for due in &mut out[first..] {
            due.when = now.saturating_sub(wall.saturating_sub(due.when));
        }
        if first > 0 && out.len() > first {
            out.sort_by_key(|due| (due.when, due.sequence));
        }
        more
    }
}
