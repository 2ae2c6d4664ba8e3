//! Delayed tasks: where they wait for their time, and who watches the clock.
//!
//! In: a task and a time. Out: at that time, never before, the task in the *due* room, which workers look at before the
//! backlog. Due tasks need no permit and cannot be refused. There is no timer thread: one sleeping worker, the *leader*,
//! sleeps until the store wants to be looked at; with everybody at work each looks at the clock between two tasks.
//!
//! **Who may touch what.** The store, the key inside a delayed task's block and the bit that says "delayed" change under
//! the book's lock only. Whoever takes a task out of the store (the leader, a canceller, a pool that stops) clears the
//! bit there; the task's share of the block goes with it.
//!
//! Which races this prevents. *An earlier task arrives while the leader sleeps*: the insertion sees the leader's time
//! under the lock and calls its bed. *It arrives while nobody leads*: whoever lies down later finds it when it asks to
//! lead, under the lock; if all are asleep the insertion wakes one; if the last searcher goes to work it passes the word
//! on as it does for the queue. *A cancel meets the moment*: the claim decides, and the lock tells the canceller where the
//! record lies.

#![allow(unsafe_code)]

use super::engine::{Attention, Engine};
use crate::Reason;
use crate::handle::Unrun;
use crate::queue::{Capacity, Room, Tally};
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::sync::{Arc, Lock};
use crate::task::block::{Entry, Header};
use crate::task::home::{Home, Removal};
use crate::task::record::Slot;
use crate::task::state::{Claim, End};
use crate::task::{Class, TaskInfo};
use crate::time::{Key, Store, Tick};
use crate::worker::idle::Bed;
use std::ptr::NonNull;

/// What happens to delayed tasks when their pool is shut down.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AtShutdown {
    /// They are cancelled, and counted in the report. The default.
    #[default]
    Drop,
    /// The pool stays until they have run.
    Run,
}

/// At most this many are moved at a time, so that an insertion never waits long.
const PIECE: usize = 256;

/// See the module's header.
pub(crate) struct Timers {
    book: Lock<Book>,
    /// Tasks whose time has come.
    pub(crate) due: Room<()>,
    /// Mirror of the store's length: a task leaves it after it has been written to the due room.
    pending: AtomicUsize,
}

struct Book {
    store: Store<Timer>,
    counts: Counts,
    is_closed: bool,
    at_shutdown: AtShutdown,
    /// The worker that sleeps until then.
    leader: Option<(Arc<Bed>, Tick)>,
}

/// What became of delayed tasks; those that came due are the due room's.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) accepted: u64,
    pub(crate) cancelled: u64,
    pub(crate) returned: u64,
}

/// See [`Timers::tally`].
pub(super) struct Reading {
    pub(super) due: Tally,
    pub(super) counts: Counts,
    pub(super) pending: usize,
}

/// A delayed task: its share of the block.
#[derive(Clone, Copy)]
struct Timer(NonNull<Header>);

// SAFETY: a share of a block may be moved to another thread: see `Entry`.
unsafe impl Send for Timer {}

impl Timer {
    /// The share, taken out of the store once.
    fn entry(self) -> Entry {
        // SAFETY: put into the store by `into_raw`, and each value leaves the store once.
        unsafe { Entry::from_raw(self.0) }
    }
}

impl Timers {
    pub(super) fn new(now: Tick, at_shutdown: AtShutdown) -> Self {
        Timers {
            book: Lock::new(Book {
                store: Store::new(now),
                counts: Counts::default(),
                is_closed: false,
                at_shutdown,
                leader: None,
            }),
            due: Room::new(Capacity::Unbounded, ()),
            pending: AtomicUsize::new(0),
        }
    }

    /// Tasks whose time has not come.
    pub(crate) fn pending(&self) -> usize {
        self.pending.load(Acquire)
    }

    /// Neither delayed tasks nor due ones, as far as can be seen without a lock.
    pub(crate) fn looks_over(&self) -> bool {
        // In this order: what is no longer pending is in the due room already.
        self.pending() == 0 && self.due.looks_empty()
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
    pub(crate) fn take(&self, slot: &mut Slot, attention: &Attention) -> bool {
        if self.due.pop(slot, || ()) {
            return true;
        }
        self.due
            .look(|_, is_empty| attention.set(Attention::DUE, !is_empty));
        false
    }

    /// Whether the tasks there are have nobody who watches the clock for them.
    pub(crate) fn needs_leader(&self) -> bool {
        self.pending() > 0 && self.book.lock().leader.is_none()
    }

    /// A reading that fits what `settled` reads meanwhile: no due task is taken then.
    pub(super) fn tally<R>(&self, settled: impl FnOnce() -> R) -> (Reading, R) {
        let inside = || (settled(), self.read());
        let (due, (settled, (counts, pending)), ()) = self.due.tally(inside, |()| ());
        (Reading { due, counts, pending }, settled)
    }

    fn read(&self) -> (Counts, usize) {
        let book = self.book.lock();
        (book.counts, book.store.len())
    }

    pub(super) fn set_at_shutdown(&self, at_shutdown: AtShutdown) -> bool {
        let mut book = self.book.lock();
        book.at_shutdown = at_shutdown;
        book.is_closed
    }
}

impl Book {
    /// Takes a task out that will not come due.
    fn forget(&mut self, header: NonNull<Header>, key: Key, pending: &AtomicUsize) -> Entry {
        let timer = self.store.remove(key).expect("a delayed task is in the store");
        debug_assert_eq!(timer.0, header);
        // SAFETY: the share is the store's.
        unsafe { header.as_ref() }.state.mark_due();
        pending.fetch_sub(1, AcqRel);
        timer.entry()
    }
}

impl Engine {
    /// Accepts a delayed task. `Err`: given back.
    pub(crate) fn admit_delayed(self: &Arc<Self>, when: Tick, entry: Entry) -> Result<(), (Entry, Reason)> {
        let pointer = entry.pointer();
        {
            let mut book = self.timers.book.lock();
            if book.is_closed {
                return Err((entry, Reason::ShutDown));
            }
            let key = book.store.insert(when, Timer(entry.into_raw()));
            // SAFETY: nobody runs or drops the closure before it left the store, which needs the lock.
            unsafe { Header::set_timer(pointer, key) };
            book.counts.accepted += 1;
            self.timers.pending.fetch_add(1, AcqRel);
            let sooner = book.leader.as_ref().filter(|(_, until)| when < *until);
            let bed = sooner.map(|(bed, _)| bed.clone());
            let is_led = book.leader.is_some();
            self.attention.set(Attention::CLOCK, !is_led);
            drop(book);
            match bed {
                Some(bed) => self.idle.call(&bed),
                None if !is_led => _ = self.idle.notify(),
                None => {}
            }
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

    fn take_back(&self, pointer: NonNull<Header>) -> Option<Entry> {
        let mut book = self.timers.book.lock();
        // SAFETY: the caller holds the handle's share, or made the block a moment ago.
        let header = unsafe { pointer.as_ref() };
        if !header.state.load().is_delayed() {
            return None;
        }
        // SAFETY: delayed, and the lock is held.
        let key = unsafe { Header::timer(pointer) };
        let entry = book.forget(pointer, key, &self.timers.pending);
        book.counts.accepted -= 1;
        Some(entry)
    }

    /// A claimed task of the timed class will not be run: it leaves the store, or is counted out of the due room. The
    /// share that the store held comes back.
    pub(super) fn remove_timed(&self, pointer: NonNull<Header>, how: Removal) -> Option<Entry> {
        let mut book = self.timers.book.lock();
        // SAFETY: the caller holds a share and the claim.
        if !unsafe { pointer.as_ref() }.state.load().is_delayed() {
            drop(book);
            if self.timers.due.remove(how) {
                self.timers.due.sweep();
            }
            return None;
        }
        // SAFETY: delayed, and the lock is held.
        let key = unsafe { Header::timer(pointer) };
        let entry = book.forget(pointer, key, &self.timers.pending);
        match how {
            Removal::Returned => book.counts.returned += 1,
            _ => book.counts.cancelled += 1,
        }
        Some(entry)
    }

    /// Whether there is anything to take, at a glance.
    pub(crate) fn has_work(&self) -> bool {
        !self.room.looks_empty() || !self.timers.due.looks_empty()
    }

    /// A worker that lies down asks to lead: until when, if it does.
    pub(crate) fn lead(&self, bed: &Arc<Bed>) -> Option<Tick> {
        if self.timers.pending() == 0 {
            return None;
        }
        let mut book = self.timers.book.lock();
        if book.leader.is_some() {
            return None;
        }
        let until = book.store.next_look()?;
        book.leader = Some((bed.clone(), until));
        self.attention.set(Attention::CLOCK, false);
        Some(until)
    }

    /// The leader is up.
    pub(crate) fn resign(&self) {
        let mut book = self.timers.book.lock();
        book.leader = None;
        // Until somebody leads again, those at work look at the clock.
        let is_pending = self.timers.pending() > 0;
        self.attention.set(Attention::CLOCK, is_pending);
    }

    /// Moves the tasks whose time has come to the due room.
    pub(crate) fn fire(&self) {
        let mut due = Vec::new();
        loop {
            let more = {
                let mut book = self.timers.book.lock();
                let now = self.clock.tick();
                let more = book.store.take_due(now, PIECE, &mut due);
                for (when, timer) in due.drain(..) {
                    let entry = timer.entry();
                    self.observed.lateness.record(now.saturating_sub(when), 1);
                    entry.header().state.mark_due();
                    self.timers.due.append(Class::TIMED, entry, &self.clock);
                    self.timers.pending.fetch_sub(1, AcqRel);
                }
                self.attention.set(Attention::DUE, !self.timers.due.looks_empty());
                let is_unled = book.leader.is_none() && self.timers.pending() > 0;
                self.attention.set(Attention::CLOCK, is_unled);
                more
            };
            self.idle.notify();
            if !more {
                return;
            }
        }
    }

    /// Fires if it is time; for those who look at the clock between two tasks.
    pub(crate) fn look_at_the_clock(&self) {
        let next = {
            let book = self.timers.book.lock();
            if book.leader.is_some() {
                return;
            }
            book.store.next_look()
        };
        if next.is_some_and(|next| next <= self.clock.tick()) {
            self.fire();
        }
    }

    /// No delayed task is accepted any more, and those there are are dropped if that is the policy.
    pub(super) fn close_timers(&self) {
        let drops = {
            let mut book = self.timers.book.lock();
            book.is_closed = true;
            book.at_shutdown == AtShutdown::Drop
        };
        if drops {
            self.drop_delayed();
        }
    }

    pub(super) fn set_delayed_at_shutdown(&self, policy: AtShutdown) {
        if !self.is_forked() && self.timers.set_at_shutdown(policy) && policy == AtShutdown::Drop {
            self.drop_delayed();
        }
    }

    /// How many delayed tasks a shutdown has dropped.
    pub(super) fn dropped_delayed(&self) -> usize {
        self.dropped_delayed.load(Acquire)
    }

    /// Cancels every delayed task whose time has not come.
    pub(super) fn drop_delayed(&self) {
        for entry in self.take_delayed(|counts| &mut counts.cancelled) {
            self.dropped_delayed.fetch_add(1, AcqRel);
            let told: &dyn Fn(&TaskInfo<'_>) = &|task| self.tell_removed(task);
            let told = self.is_told_of_ends().then_some(told);
            Slot::holding(Class::TIMED, entry).end_unrun(End::Cancelled, told);
        }
        self.task_removed();
    }

    /// Takes every delayed task out that nobody else has claimed, and counts it.
    fn take_delayed(&self, count: impl Fn(&mut Counts) -> &mut u64) -> Vec<Entry> {
        let mut book = self.timers.book.lock();
        let all = book.store.drain();
        let mut taken = Vec::new();
        for (when, timer) in all {
            // SAFETY: the store's share.
            let header = unsafe { timer.0.as_ref() };
            if header.state.claim_to_remove() == Claim::Lost {
                // A canceller is on its way, and takes it out itself.
                let key = book.store.insert(when, timer);
                // SAFETY: delayed, and the lock is held.
                unsafe { Header::set_timer(timer.0, key) };
                continue;
            }
            header.state.mark_due();
            *count(&mut book.counts) += 1;
            self.timers.pending.fetch_sub(1, AcqRel);
            taken.push(timer.entry());
        }
        taken
    }

    /// Gives the delayed tasks back, for a pool that stops.
    pub(super) fn return_delayed(&self) -> Vec<Unrun> {
        self.timers.book.lock().is_closed = true;
        let entries = self.take_delayed(|counts| &mut counts.returned);
        entries
            .into_iter()
            .map(|entry| self.taken_out(Unrun::entry(entry)))
            .collect()
    }
}
