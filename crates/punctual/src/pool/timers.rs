//! Delayed tasks: where they wait for their time, and how they leave.
//!
//! In: a task and a time, by either clock. Out: at that time, never before, the task in the *due* room, which workers look
//! at before the backlog; or the task taken out, by a canceller or by a pool that ends. Due tasks need no permit and
//! cannot be refused. Two stores, one per clock: what waits for an instant on the wall is ordered by the wall, so a clock
//! that is put forward or back needs no rearrangement, only a look. [`timer`] is what lies in them, [`ending`] what a
//! closing pool does. Not here: who looks ([`leader`](super::leader)), and what else waits for a time
//! ([`watch`](super::watch)).
//!
//! **Who may touch what.** The stores, what they note inside a delayed task's block and the bit that says "delayed" change
//! under the book's lock only. Whoever takes a task out of a store that may still be run (the leader, a pool that stops) clears
//! the bit there; the task's share of the block goes with it. *A cancel meets the moment*: the claim decides, and the lock tells
//! the canceller where the record lies; mostly it claims under the lock, as a [`visitor`](crate::task::visit).

#![allow(unsafe_code)]

mod ending;
mod timer;

use super::builder::Config;
use super::deputy::{Deputy, Pace};
use super::engine::{Attention, Engine};
use super::leader::{Desk, Leader};
use super::state::State;
use super::watch::{Watch, patience_of};
use crate::Reason;
use crate::handle::TaskHandle;
use crate::queue::room::Taker;
use crate::queue::{Capacity, Room, Tally};
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::sync::atomic::{AtomicU64, AtomicUsize};
use crate::sync::{Arc, Lock};
use crate::task::Class;
use crate::task::block::{self, Appointment, Delay, Entry, Header, Options, Origin};
use crate::task::home::{Forgotten, Home, Removal, Removed};
use crate::task::record::Slot;
use crate::time::{self, Axis, Clock, Tick, TimerQueue};
use ending::Closing;
use std::future::Future;
use std::ptr::NonNull;
use std::time::Duration;

pub use ending::AtShutdown;
pub(super) use timer::{Due, Timer};

/// What goes by the wall clock is looked at this often, however far it is: that clock may have been put.
const LOOK_AT_THE_WALL: Duration = Duration::from_secs(30);

/// See the module's header.
pub(crate) struct Timers {
    pub(super) book: Lock<Book>,
    /// Tasks whose time has come.
    pub(crate) due: Room<()>,
    /// How many delayed tasks there are: a task leaves this after it has been written to the due room.
    pub(super) pending: AtomicUsize,
    /// Mirror of [`Book::next_look`], for those who look at the clock between two tasks.
    pub(super) next: AtomicU64,
    /// Mirror of the next look at running and late tasks.
    pub(super) look: AtomicU64,
    /// Mirror of the number of tasks that may expire.
    pub(super) expiries: AtomicUsize,
    /// Spare threads that watch the clock: one or none.
    pub(super) keepers: AtomicUsize,
}

/// What is under the lock.
pub(super) struct Book {
    pub(super) ticks: TimerQueue<Timer>,
    pub(super) calendar: TimerQueue<Timer>,
    pub(super) counts: Counts,
    /// Runs of schedules among what waits.
    pub(super) runs: usize,
    closing: Closing,
    /// Who sleeps until the next look.
    pub(super) leader: Option<Leader>,
    /// Who sleeps a little longer.
    pub(super) deputy: Option<Deputy>,
    pub(super) pace: Pace,
    pub(super) desk: Desk,
    pub(super) watch: Watch,
}

/// What became of delayed tasks; those that came due are the due room's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    /// Those among them that are runs of schedules.
    pub(crate) fired: u64,
    pub(crate) cancelled: u64,
    pub(crate) returned: u64,
}

/// See [`Timers::tally`].
pub(super) struct Reading {
    pub(super) due: Tally,
    pub(super) counts: Counts,
    pub(super) pending: usize,
}

impl Timers {
    pub(super) fn new(clock: &Clock, config: &Config) -> Self {
        Timers {
            book: Lock::new(Book {
                ticks: TimerQueue::new(clock.tick()),
                calendar: TimerQueue::new(clock.on(Axis::Wall)),
                counts: Counts::default(),
                runs: 0,
                closing: Closing::new(config.delayed_at_shutdown, config.repeating_at_shutdown),
                leader: None,
                deputy: None,
                pace: Pace::default(),
                desk: Desk::default(),
                watch: Watch::default(),
            }),
            due: Room::with(Capacity::Unbounded, config.discipline.as_ref(), false, clock, ()),
            pending: AtomicUsize::new(0),
            next: AtomicU64::new(Tick::MAX),
            look: AtomicU64::new(Tick::MAX),
            expiries: AtomicUsize::new(0),
            keepers: AtomicUsize::new(0),
        }
    }

    /// No more delayed tasks from here on, but for runs of schedules that go on.
    pub(super) fn refuse(&self) {
        self.book.lock().closing.is_closed = true;
    }

    /// Tasks whose time has not come.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Acquire)
    }

    /// So many tasks have left the stores. Under the lock, so plain steps will do.
    pub(super) fn left(&self, tasks: usize) {
        self.pending.store(self.pending() - tasks, Release);
    }

    /// For those who look without the lock.
    pub(super) fn mirror(&self, book: &Book) {
        self.expiries.store(book.watch.may_expire(), Release);
    }

    /// Whether a limit is waited for, as far as can be seen without a lock.
    pub(super) fn is_watched(&self) -> bool {
        self.look.load(Acquire) != Tick::MAX || self.expiries.load(Acquire) > 0
    }

    /// Neither delayed tasks nor due ones, as far as can be seen without a lock.
    pub(crate) fn looks_over(&self) -> bool {
        // In this order: what is no longer pending is in the due room already, or waits for a slot; and that before it has one.
        self.pending() == 0 && self.due.waiting_aside() == 0 && self.due.looks_empty()
    }

    /// As [`Timers::looks_over`], for the last look before a sleep in a closed pool. Under the lock: whoever takes the last
    /// delayed task out after this has seen that the pool is closed, and calls the sleepers.
    pub(crate) fn is_surely_over(&self) -> bool {
        let pending = {
            let _book = self.book.lock();
            self.pending()
        };
        pending == 0 && self.due.waiting_aside() == 0 && self.due.looks_empty()
    }

    /// Neither delayed tasks nor due ones that wait, once both can only become fewer.
    pub(super) fn is_over(&self) -> bool {
        self.pending() == 0 && self.due.glance().1 == 0
    }

    /// Whether a task whose time has come waits; under the due room's lock, as the last look before a sleep needs it.
    pub(crate) fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Takes the first task whose time has come.
    pub(crate) fn take(&self, slot: &mut Slot, taker: &mut Taker<'_>, attention: &Attention) -> bool {
        if self.due.pop(slot, taker, || ()) {
            return true;
        }
        self.note_whether_due(attention);
        false
    }

    /// Nothing was found: workers need not look again until something is.
    pub(crate) fn note_whether_due(&self, attention: &Attention) {
        self.due
            .look(|_, is_empty| attention.set(Attention::DUE, !is_empty));
    }

    /// A reading that fits what `settled` reads meanwhile: no due task is taken then.
    pub(super) fn tally<R>(&self, settled: impl FnOnce() -> R) -> (Reading, R) {
        // The book stays locked until the due room has been read: what moves from one to the other is in one of them.
        let inside = || (settled(), self.book.lock());
        let (due, (settled, book), ()) = self.due.tally(inside, |()| ());
        let reading = Reading {
            due,
            counts: book.counts,
            pending: self.pending() - book.runs,
        };
        (reading, settled)
    }
}

impl Book {
    pub(super) fn store(&mut self, axis: Axis) -> &mut TimerQueue<Timer> {
        match axis {
            Axis::Ticks => &mut self.ticks,
            Axis::Wall => &mut self.calendar,
        }
    }

    /// Puts a task into its store. Equal times are taken in the order of submission, whatever clock they go by: the two
    /// stores count together.
    fn insert(&mut self, axis: Axis, entry: Entry) {
        let timer = Timer::task(entry);
        match axis {
            Axis::Ticks => self.ticks.insert(timer),
            Axis::Wall => {
                self.calendar.count_from(self.ticks.last_sequence());
                self.calendar.insert(timer);
                self.ticks.count_from(self.calendar.last_sequence());
            }
        }
    }

    /// When the stores want to be looked at, on the monotonic clock.
    pub(super) fn next_look(&self, clock: &Clock) -> Option<Tick> {
        let ticks = self.ticks.next_check();
        let calendar = self.calendar.next_check().map(|at| tick_of(at, clock));
        ticks.into_iter().chain(calendar).min()
    }

    /// Takes a task out that will not come due.
    #[inline(always)]
    fn forget(&mut self, header: NonNull<Header>, timers: &Timers) -> Entry {
        let timer = Timer::of_task(header);
        // SAFETY: the share is the store's.
        let header = unsafe { header.as_ref() };
        let axis = header.axis().expect("a delayed task goes by a clock");
        self.store(axis).remove(timer);
        // The bit stays: whoever won the claim is here, and nobody else asks for it.
        if patience_of(header).is_some() {
            self.watch.expiring -= 1;
            timers.mirror(self);
        }
        timers.left(1);
        match timer.open() {
            Due::Task(entry) => entry,
            Due::Expiry(_) | Due::Alarm(_) | Due::Look => unreachable!("the timer of a task is that task"),
        }
    }
}

/// When to look again for something that is to happen at `at` by the wall.
fn tick_of(at: Tick, clock: &Clock) -> Tick {
    let most = LOOK_AT_THE_WALL.as_nanos() as Tick;
    clock
        .tick()
        .saturating_add(at.saturating_sub(clock.on(Axis::Wall)).min(most))
}

impl Engine {
    /// Accepts a delayed task, if the pool's capacity counts those by its policy. `Err`: given back, and counted.
    pub(crate) fn submit_delayed(
        self: &Arc<Self>,
        axis: Axis,
        when: Tick,
        entry: Entry,
    ) -> Result<(), (Entry, Reason)> {
        if self.config.covers_delayed {
            return self.admit_delayed_by_capacity(entry);
        }
        self.admit_delayed(axis, when, entry)
            .inspect_err(|(_, reason)| self.count_refused(reason, 1))
    }

    /// Accepts a delayed task. `Err`: given back.
    pub(super) fn admit_delayed(
        self: &Arc<Self>,
        axis: Axis,
        when: Tick,
        entry: Entry,
    ) -> Result<(), (Entry, Reason)> {
        let pointer = entry.pointer();
        if let Err(entry) = self.keep_until(axis, when, entry) {
            return Err((entry, Reason::ShutDown));
        }
        if self.has_one_to_stay() {
            return Ok(());
        }
        // After the insertion: a worker that would leave sees the task, or has left and is replaced here.
        match self.ensure_worker() {
            Ok(()) => Ok(()),
            Err(reason) => match self.take_back(pointer) {
                Some(entry) => Err((entry, reason)),
                // Its time came, or somebody stopped the pool, meanwhile: it was accepted.
                None => Ok(()),
            },
        }
    }

    /// Puts a task into its store and tells whoever watches the clock. `Err`: the pool is closed to it.
    pub(super) fn keep_until(&self, axis: Axis, when: Tick, entry: Entry) -> Result<(), Entry> {
        let (pointer, class) = (entry.pointer(), entry.header().class);
        let mut book = self.timers.book.lock();
        if !book.closing.is_open_for(class) || !self.is_kept_by_its_view(&entry) {
            return Err(entry);
        }
        book.insert(axis, entry);
        if class.is_delayed() {
            book.counts.accepted += 1;
        } else {
            book.runs += 1;
        }
        self.timers.pending.store(self.timers.pending() + 1, Release);
        // SAFETY: the lock is held, so the store's share is there.
        let may_expire = patience_of(unsafe { pointer.as_ref() }).is_some();
        if may_expire {
            book.watch.expiring += 1;
            self.timers.mirror(&book);
        }
        let when = book.store(axis).take_earlier_check().unwrap_or(when);
        let look = match axis {
            Axis::Ticks => when,
            Axis::Wall => tick_of(when, &self.clock),
        };
        self.look_no_later_than(look, book);
        if (may_expire || self.config.on_late.is_some())
            && let Some(me) = self.me.upgrade()
        {
            me.keep_the_clock();
        }
        Ok(())
    }

    /// Keeps a run of a schedule until its time. `Err`: given back, the pool is closed to it.
    pub(super) fn keep_run<F>(
        &self,
        due: time::Due,
        origin: Origin,
        options: Option<Options>,
        closure: F,
    ) -> Result<TaskHandle<()>, F>
    where
        F: FnOnce() + Send + 'static,
    {
        match due.axis {
            Axis::Ticks => self.keep_run_by(due, Delay::until(due.at), origin, options, closure),
            Axis::Wall => self.keep_run_by(due, Appointment::at(due.at), origin, options, closure),
        }
    }

    fn keep_run_by<K: block::Timer, F>(
        &self,
        due: time::Due,
        timer: K,
        origin: Origin,
        options: Option<Options>,
        closure: F,
    ) -> Result<TaskHandle<()>, F>
    where
        F: FnOnce() + Send + 'static,
    {
        let entry = Entry::delayed(origin, options, timer, closure);
        let pointer = entry.pointer();
        match self.keep_until(due.axis, due.at, entry) {
            // SAFETY: the block was made with a handle's share for an `FnOnce()`, and this is that handle.
            Ok(()) => Ok(unsafe { TaskHandle::new(pointer, false) }),
            // SAFETY: it was never published; the types are those it was made with.
            Err(entry) => Err(unsafe { entry.unmake::<K, F, ()>() }),
        }
    }

    /// As [`Engine::keep_run`], for a run that is a future.
    pub(super) fn keep_future_run<F>(
        &self,
        due: time::Due,
        origin: Origin,
        options: Option<Options>,
        future: F,
    ) -> Result<TaskHandle<()>, F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        match due.axis {
            Axis::Ticks => self.keep_future_run_by(due, Delay::until(due.at), origin, options, future),
            Axis::Wall => self.keep_future_run_by(due, Appointment::at(due.at), origin, options, future),
        }
    }

    fn keep_future_run_by<K: block::Timer, F>(
        &self,
        due: time::Due,
        timer: K,
        origin: Origin,
        options: Option<Options>,
        future: F,
    ) -> Result<TaskHandle<()>, F>
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let entry = Entry::future(origin, true, options, timer, future);
        let pointer = entry.pointer();
        match self.keep_until(due.axis, due.at, entry) {
            // SAFETY: the block was made with a handle's share for this output, and this is that handle.
            Ok(()) => Ok(unsafe { TaskHandle::new(pointer, false) }),
            // SAFETY: it was never published; the types are those it was made with.
            Err(entry) => Err(unsafe { entry.unmake_future::<K, F>() }),
        }
    }

    fn take_back(&self, pointer: NonNull<Header>) -> Option<Entry> {
        let mut book = self.timers.book.lock();
        // SAFETY: the caller holds the handle's share, or made the block a moment ago.
        let header = unsafe { pointer.as_ref() };
        if !header.state.load().is_delayed() {
            return None;
        }
        let entry = book.forget(pointer, &self.timers);
        book.counts.accepted -= 1;
        Some(entry)
    }

    /// A claimed task will not be run; the caller holds a share.
    pub(super) fn remove_task(&self, task: NonNull<Header>, class: Class, how: Removal) -> Removed {
        // SAFETY: the caller holds a share.
        let header = unsafe { task.as_ref() };
        if header.has_side() {
            self.no_longer_expires(header);
        }
        let removed = if class.is_timed() {
            self.uncover(usize::from(class.is_delayed()));
            self.remove_timed(task, how)
        } else {
            let level = self.room.level_of_task(header);
            self.remove_queued(how, level, header.state.load().is_parked());
            Removed::FROM_QUEUE
        };
        // One that is still delayed has not come to its view.
        if class.is_viewed() && removed.share.is_none() {
            self.leaves_view_unrun(header, how);
        }
        removed
    }

    /// A claimed task of a timed class will not be run: it leaves the store, or is counted out of the due room.
    fn remove_timed(&self, pointer: NonNull<Header>, how: Removal) -> Removed {
        let mut book = self.timers.book.lock();
        // SAFETY: the caller holds a share and the claim.
        let header = unsafe { pointer.as_ref() };
        if !header.state.load().is_delayed() {
            drop(book);
            let level = self.timers.due.level_of_task(header);
            if header.state.load().is_parked() {
                self.timers.due.remove_aside(how, level);
                if self.timers.due.waiting_aside() == 0 {
                    self.stays_for_nothing();
                }
            } else if self.timers.due.remove(how, level) {
                self.timers.due.sweep();
            }
            return Removed::FROM_QUEUE;
        }
        let entry = book.forget(pointer, &self.timers);
        // A run of a schedule is accepted when its time has come.
        match how {
            _ if header.class.is_repeated() => book.runs -= 1,
            Removal::Returned => book.counts.returned += 1,
            _ => book.counts.cancelled += 1,
        }
        self.nothing_to_wait_for(book);
        Removed {
            share: Some(entry),
            // Whoever closes the pool after this sees under the book's lock that the task is gone.
            is_awaited: self.is_told_of_ends() || self.state() >= State::Shutdown,
        }
    }

    /// A delayed task is cancelled by a visitor, who holds a share; see [`Home::forget`].
    pub(super) fn forget_delayed(&self, pointer: NonNull<Header>) -> Option<Forgotten> {
        if self.is_told_of_ends() || self.config.covers_delayed {
            return None;
        }
        let mut book = self.timers.book.lock();
        // Whoever closes the pool after this look sees under the book's lock that the task is gone.
        if self.state() >= State::Shutdown {
            return None;
        }
        // SAFETY: the caller holds a share.
        let header = unsafe { pointer.as_ref() };
        // Under the lock: whoever is told by this step, and looks at the books then, finds it counted.
        let after = header.state.cancel_delayed(header.holds_something())?;
        let share = book.forget(pointer, &self.timers);
        book.counts.cancelled += 1;
        if self.timers.pending() == 0 {
            self.nothing_to_wait_for(book);
        }
        Some(Forgotten { share, after })
    }

    /// Whether there is anything to take, at a glance.
    pub(crate) fn has_work(&self) -> bool {
        !self.room.looks_empty() || !self.timers.due.looks_empty() || self.room.offers_yields()
    }
}

impl Drop for Book {
    fn drop(&mut self) {
        // What is left are looks and expiries, whose shares would be lost with the plain words they are here.
        for axis in [Axis::Ticks, Axis::Wall] {
            for timer in self.store(axis).drain() {
                drop(timer.open());
            }
        }
    }
}
