//! Futures that wait to be woken: how they come back to the queue, and how the pool finds them.
//!
//! In: futures that were polled and are not ready. Out: each in the queue again as soon as somebody wakes it, at its level, at
//! the end, through its view's gates if it has some; without a permit, so it cannot be refused, also when the pool is full or
//! closed. A pool that stops, and a lane that is disposed of, wake what rests, and a worker drops it.
//!
//! **The list.** A resting future is held by nobody: whoever wakes it gets it. So that it can be found all the same its address
//! stands in a list, from its first rest to its end; whoever ends it takes it out before it lets go of it. The list is in
//! pieces, each with a lock, under which nothing user-written runs. A future that never rests is never listed.
//!
//! **A stop meets a rest.** A poller lists a future and then looks whether the pool stops; a stop raises the pool's state and
//! then goes through the list. Whoever takes the piece's lock later sees what the other did.

#![allow(unsafe_code)]

use super::crew::Crew;
use super::engine::Engine;
use super::state::State;
use crate::handle::cancel;
use crate::observe::counters::Counters;
use crate::queue::producers::Producers;
use crate::queue::yielded::OwnYields;
use crate::sync::unmodelled::Relaxed;
use crate::sync::{Arc, Lock};
use crate::task::Class;
use crate::task::block::{Entry, Header, Reference};
use crate::task::record::Woken;
use crate::task::view::{Coming, Step, View};
use std::ptr::NonNull;

/// One in the models: an address decides which, and a model must go the same way whenever it is asked to.
const PIECES: usize = if cfg!(loom) { 1 } else { 16 };

/// Futures that have rested and are not over.
pub(super) struct Suspended {
    pieces: [Lock<Vec<Place>>; PIECES],
}

#[derive(Clone, Copy)]
struct Place(NonNull<Header>);

// SAFETY: an address that is followed under the piece's lock only, and a block is made for sharing.
unsafe impl Send for Place {}

impl Suspended {
    pub(super) fn new() -> Self {
        Suspended {
            pieces: std::array::from_fn(|_| Lock::new(Vec::new())),
        }
    }

    fn piece(&self, task: NonNull<Header>) -> &Lock<Vec<Place>> {
        // Blocks are lines of 64 bytes; the multiplication spreads those of one arena.
        let number = (task.addr().get() >> 6).wrapping_mul(0x9e37_79b9_7f4a_7c15_u64 as usize);
        &self.pieces[(number >> (usize::BITS / 2)) % PIECES]
    }

    /// # Safety
    /// A future's block, which is taken out again before it is let go of.
    unsafe fn add(&self, task: NonNull<Header>) {
        let mut piece = self.piece(task).lock();
        piece.push(Place(task));
        // SAFETY: the caller holds it.
        let place = &unsafe { Header::waking(task) }.place;
        place.store(piece.len() as u32, Relaxed);
    }

    /// # Safety
    /// The caller holds a share of the block, which is a future's.
    unsafe fn remove(&self, task: NonNull<Header>) {
        // SAFETY: the caller's promise.
        let place = &unsafe { Header::waking(task) }.place;
        let mut piece = self.piece(task).lock();
        let Some(index) = (place.load(Relaxed) as usize).checked_sub(1) else {
            return;
        };
        piece.swap_remove(index);
        place.store(0, Relaxed);
        if let Some(moved) = piece.get(index) {
            // SAFETY: it is listed, so it is there.
            let moved = unsafe { Header::waking(moved.0) };
            moved.place.store(index as u32 + 1, Relaxed);
        }
        // After a crowd its memory goes back, but not for every step.
        if piece.capacity() > 1024 && piece.len() < piece.capacity() / 4 {
            let half = piece.capacity() / 2;
            piece.shrink_to(half);
        }
    }

    /// Calls `f` with each, under its piece's lock: while that is held it is there.
    fn for_each(&self, mut f: impl FnMut(NonNull<Header>)) {
        for piece in &self.pieces {
            for place in piece.lock().iter() {
                f(place.0);
            }
        }
    }
}

impl Engine {
    /// A future may rest from now on. False: the pool stops, so it must not.
    pub(super) fn list_future(&self, task: NonNull<Header>) -> bool {
        // SAFETY: the poller holds the task's share, and whoever polls it to its end takes it out of the list.
        unsafe { self.suspended.add(task) };
        self.state() < State::Stop
    }

    pub(super) fn unlist_future(&self, task: NonNull<Header>) {
        // SAFETY: the poller holds the task's share.
        unsafe { self.suspended.remove(task) };
    }

    /// A woken future goes to the end of its level, or of its view's line.
    pub(super) fn queue_woken(&self, entry: Entry, by_its_worker: bool) {
        if self.is_forked() {
            // A copy of a future that nobody here would poll.
            let _ = entry.into_raw();
            return;
        }
        let class = class_of(&entry);
        if class.is_viewed() {
            return self.queue_woken_of_view(class, entry, true);
        }
        // The stamp tells how long it waits for a worker, for a sample.
        let mut woken = Woken(entry);
        let may_grow = loop {
            let mut producers = self.room.producers();
            match producers.push(&self.room, class, woken, true, &self.clock) {
                Ok(()) => {
                    producers.count_woken(&self.room, class);
                    break producers.gate.workers() < producers.gate.ceiling();
                }
                Err(back) => woken = back,
            }
            drop(producers);
            self.room.bring();
        };
        // A worker that has just ended its poll looks for the next task anyway.
        if !by_its_worker {
            self.call_for_woken(may_grow);
        }
    }

    /// A future that was woken during its poll stays with the worker that polled it.
    pub(crate) fn keep_yielded(&self, own: &Arc<OwnYields>, entry: Entry) {
        if self.is_forked() {
            let _ = entry.into_raw();
            return;
        }
        self.room.keep_yielded(own, entry, || self.clock.tick());
    }

    /// A worker has no time for the futures that it keeps: they go to the end of the queue. By the worker itself, whose counters
    /// these are.
    pub(crate) fn give_yields_away(&self, own: &OwnYields, counters: &Counters) {
        if !own.has_some() {
            return;
        }
        // As suspended, before anybody can take them.
        for entry in self
            .room
            .empty_yielded(own, |futures| counters.suspend_many(futures))
        {
            self.queue_woken(entry, false);
        }
    }

    /// The same for one of a view. One that is `new` in the queue is counted; another waited in a line that was cleared.
    fn queue_woken_of_view(&self, class: Class, entry: Entry, new: bool) {
        let view = entry.header().view().map(|view| Arc::clone(&view));
        let mut producers = self.room.producers();
        let coming = Coming {
            number: producers.accepted_so_far(),
            is_new: false,
        };
        let is_in = match self.go_on(view.as_ref(), entry, coming) {
            Step::Passed(entry) => {
                entry.header().state.unpark_begun();
                producers.push_surely(&self.room, class, Woken(entry), true, &self.clock);
                if !new {
                    producers.no_longer_aside(&self.room, class);
                }
                true
            }
            Step::Parked => {
                if new {
                    producers.put_aside(&self.room, class);
                }
                false
            }
        };
        if new {
            producers.count_woken(&self.room, class);
        }
        let may_grow = producers.gate.workers() < producers.gate.ceiling();
        drop(producers);
        if is_in {
            self.call_for_woken(may_grow);
        }
    }

    fn call_for_woken(&self, may_grow: bool) {
        if !self.idle.notify()
            && may_grow
            && let Some(me) = self.me.upgrade()
        {
            me.call_another();
        }
    }

    /// A woken future whose record a drain took out of the log: it stays in the queue.
    pub(super) fn keep_woken(&self, entry: Entry) {
        self.room.put_drained_back(class_of(&entry), entry, &self.clock);
        self.call_for_woken(false);
    }

    /// A woken future that a drain took out of a view's line.
    pub(super) fn keep_woken_in_line(&self, entry: Entry) {
        self.queue_woken_of_view(class_of(&entry), entry, false);
    }

    /// Whether a future was polled, is not being polled, and has not ended. Perhaps too early, and never too late for the worker
    /// that let it rest. Under the producers' lock.
    pub(crate) fn has_suspended_seen_by(&self, producers: &Producers<Crew>) -> bool {
        // In this order: what was resumed was suspended before.
        let resumed = producers.resumed(&self.room);
        self.staff.lock().read().totals().suspended > resumed
    }

    /// The pool stops: what rests is woken, and the workers drop it.
    pub(super) fn wake_suspended(&self) {
        let mut woken = Vec::new();
        self.suspended.for_each(|task| {
            // SAFETY: listed, so it is there; and if it rested it is ours now.
            unsafe {
                if Header::waking(task).wake() {
                    woken.push(Entry::from_raw(task));
                }
            }
        });
        for entry in woken {
            self.queue_woken(entry, false);
        }
    }

    /// Cancels what rests in a lane, or in a view inside it.
    pub(super) fn cancel_suspended_of(&self, lane: &Arc<View>) {
        let mut found = Vec::new();
        self.suspended.for_each(|task| {
            // SAFETY: listed, so it is there.
            unsafe {
                let view = task.as_ref().view();
                if view.is_some_and(|view| view.is_inside_of(lane)) {
                    found.push(Reference::of(task));
                }
            }
        });
        for task in found {
            cancel(task.pointer());
        }
    }
}

/// Where it waits: its level may have been changed before it began.
fn class_of(entry: &Entry) -> Class {
    let header = entry.header();
    header.class.inheriting(header.priority())
}
