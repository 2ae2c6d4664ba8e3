//! A deque as its owner uses it: the newest record in and out, without a lock; the ring, grown and shrunk.
//!
//! In: records that were accepted, on the owner's thread. Out: the newest, claimed and counted, unless a thief was faster. The
//! owner's half of the [protocol](super): first `bottom`, then a look at `top`. Not here: taking the oldest, which is
//! everybody's ([`Deque::steal`](super::Deque::steal)).

#![allow(unsafe_code)]

use super::ring::{Place, SAMPLE_EVERY};
use super::{Deque, FIRST_RING, Local, TAKING, Taken, bump, in_one_order};
use crate::queue::locals::{Heed, WayIn};
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::{Arc, local};
use crate::task::Class;
use crate::task::block::{Entry, Header};
use crate::task::record::{Payload, Slot};
use crate::time::Tick;
use std::cell::Cell;
use std::fmt;
use std::ptr::{NonNull, null};

local! {
    static OWN: Cell<*const Local> = Cell::new(null());
}

/// Calls `f` with the deque of the worker that the calling thread is, if it is one and has a deque that is still taken from.
#[inline(always)]
pub(crate) fn on_own_deque<R>(f: impl FnOnce(Option<&Local>) -> R) -> R {
    let own = OWN.try_with(Cell::get).unwrap_or(null());
    // SAFETY: `Local::enter` set it on this thread, for the time in which it borrows the deque.
    f(unsafe { own.as_ref() })
}

impl Local {
    pub(in crate::queue) fn new(engine: usize, way_in: Arc<WayIn>) -> Self {
        let (deque, ring) = Deque::new();
        Local {
            engine,
            way_in,
            deque,
            ring: Cell::new(ring),
            bottom: Cell::new(0),
            moved: Cell::new(0),
        }
    }

    pub(crate) fn deque(&self) -> &Arc<Deque> {
        &self.deque
    }

    /// Makes this the calling thread's deque while `f` runs.
    pub(crate) fn enter<R>(&self, f: impl FnOnce() -> R) -> R {
        struct Leave;
        impl Drop for Leave {
            fn drop(&mut self) {
                OWN.with(|own| own.set(null()));
            }
        }
        OWN.with(|own| own.set(self));
        let _leave = Leave;
        f()
    }

    /// Whether it is one of the engine with this number.
    #[inline(always)]
    pub(crate) fn is_of(&self, engine: usize) -> bool {
        self.engine == engine
    }

    #[inline(always)]
    pub(crate) fn way_in(&self) -> &WayIn {
        &self.way_in
    }

    /// Makes sure that the next push need not grow the ring.
    #[inline]
    pub(crate) fn make_room(&self) {
        if self.bottom.get() - self.moved.get() >= self.ring.get().len() {
            self.look_for_room();
        }
    }

    #[cold]
    #[inline(never)]
    fn look_for_room(&self) {
        self.moved.set(self.deque.moved.load(Acquire));
        if self.bottom.get() - self.moved.get() >= self.ring.get().len() {
            self.replace_ring(2 * self.ring.get().len() as usize);
        }
    }

    /// Puts what is in it into a ring of another size.
    fn replace_ring(&self, places: usize) {
        let mut ring = self.deque.ring.lock();
        // With the lock no thief is in the middle of anything.
        let top = self.deque.top.load(Relaxed);
        let larger = ring.moved(top..self.bottom.get(), places);
        let old = std::mem::replace(&mut *ring, larger);
        self.ring.set(ring.alias());
        self.moved.set(top);
        drop(ring);
        drop(old);
    }

    /// Gives the memory of a burst back, if nothing is left of it.
    pub(crate) fn shrink(&self) {
        if self.ring.get().len() > FIRST_RING as u64 && self.deque.is_empty() {
            self.replace_ring(FIRST_RING);
        }
    }

    /// Puts a record in that was accepted. `now` is asked for one in so many.
    #[inline(always)]
    pub(crate) fn push<P: Payload>(&self, class: Class, payload: P, now: impl FnOnce() -> Tick) {
        self.make_room();
        let bottom = self.bottom.get();
        let pushed = self.deque.owner.pushed.load(Relaxed);
        let arrival = if bottom.is_multiple_of(SAMPLE_EVERY) {
            now()
        } else {
            0
        };
        // SAFETY: all records from `moved` to `bottom` are in other places of the ring, and thieves look at none beyond.
        unsafe { Place::put(self.ring.get().place(bottom), arrival, class, payload) };
        // Before it can be taken: what was taken was accepted.
        self.deque.owner.pushed.store(pushed + 1, Release);
        self.bottom.set(bottom + 1);
        // One order with the looks of those who fall asleep, and with the word that closes this way in. (A swap: on the
        // processors this was measured on a store with a fence takes longer.)
        self.deque.owner.bottom.swap(2 * (bottom + 1), SeqCst);
        in_one_order();
    }

    /// Takes the newest record back that was just put in, uncounted. `None`: somebody has taken it.
    ///
    /// # Safety
    /// The last call was [`Local::push`] with a payload of this type.
    pub(crate) unsafe fn take_back<P: Payload>(&self) -> Option<P> {
        let mut slot = Slot::empty();
        if !self.take_newest(|| false, &mut slot) {
            return None;
        }
        let owner = &self.deque.owner;
        // It was never accepted.
        owner.pushed.store(owner.pushed.load(Relaxed) - 1, Release);
        self.taken_newest();
        slot.arrival = None;
        // SAFETY: the caller's promise; the newest record is the one that was put in last.
        Some(unsafe { slot.into_payload() })
    }

    /// Moves the newest record out, and claims and counts it.
    #[inline(always)]
    pub(crate) fn pop(&self, heed: &Heed, slot: &mut Slot) -> Taken {
        if !self.take_newest(|| heed.is_barred(), slot) {
            return Taken::Nothing;
        }
        let won = slot.claim_unmoved();
        if won {
            self.count_taken();
        }
        self.taken_newest();
        if won { Taken::Task } else { Taken::Dead }
    }

    /// As [`Local::pop`], the oldest: as a thief would, and not counted as stolen.
    pub(crate) fn pop_oldest(&self, heed: &Heed, slot: &mut Slot) -> Taken {
        self.deque.take_for(self, heed, slot)
    }

    /// Takes this task, if it is the newest, to be run in place; claimed and counted as such.
    pub(crate) fn take_to_join(&self, task: NonNull<Header>, heed: &Heed) -> Option<Entry> {
        let bottom = self.bottom.get();
        if self.deque.top.load(SeqCst) >= bottom {
            return None;
        }
        // SAFETY: the owner wrote the record there, and nobody has written to the place since: thieves only read.
        let is_newest = unsafe { Place::holds(self.ring.get().place(bottom - 1), task) };
        let mut slot = Slot::empty();
        if !is_newest || !self.take_newest(|| heed.is_paused(), &mut slot) {
            return None;
        }
        let won = slot.claim_unmoved();
        if won {
            bump(&self.deque.owner.joined);
        } else {
            // Dead: it goes back, for whoever comes across it.
            let bottom = self.bottom.get();
            slot.arrival = None;
            // SAFETY: the place from which it was just taken.
            unsafe { Place::put_back(self.ring.get().place(bottom), slot) };
            self.bottom.set(bottom + 1);
            self.deque.owner.bottom.swap(2 * (bottom + 1), SeqCst);
            in_one_order();
            return None;
        }
        self.taken_newest();
        slot.take_entry()
    }

    /// Moves the newest record out; then [`Local::taken_newest`] is to follow. False: there is none, or `forbidden` says so
    /// after the step that counts.
    #[inline(always)]
    fn take_newest(&self, forbidden: impl Fn() -> bool, slot: &mut Slot) -> bool {
        let deque = &*self.deque;
        let bottom = self.bottom.get();
        if deque.top.load(SeqCst) >= bottom {
            return false;
        }
        let newest = bottom - 1;
        deque.owner.bottom.swap(2 * newest + TAKING, SeqCst);
        in_one_order();
        if deque.top.load(SeqCst) > newest && !self.outwait_thief(newest) {
            return false;
        }
        if forbidden() {
            deque.owner.bottom.swap(2 * bottom, SeqCst);
            in_one_order();
            return false;
        }
        self.bottom.set(newest);
        // SAFETY: a thief that wants this record sees the lowered `bottom` and steps back.
        unsafe { Place::take(self.ring.get().place(newest), slot) };
        true
    }

    /// The record that was moved out has been claimed and counted.
    #[inline(always)]
    fn taken_newest(&self) {
        // Release: whoever waited for this sees the counts.
        self.deque.owner.bottom.store(2 * self.bottom.get(), Release);
    }

    /// A thief wants the same record. Whether it is the owner's.
    #[cold]
    #[inline(never)]
    fn outwait_thief(&self, newest: u64) -> bool {
        let _lock = self.deque.ring.lock();
        let is_mine = self.deque.top.load(Relaxed) <= newest;
        if !is_mine {
            self.deque.owner.bottom.store(2 * (newest + 1), SeqCst);
        }
        is_mine
    }

    #[inline]
    pub(super) fn count_taken(&self) {
        bump(&self.deque.owner.taken);
    }

    /// A look at all other deques got nothing.
    pub(crate) fn count_in_vain(&self) {
        bump(&self.deque.owner.in_vain);
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({:?})", self.deque)
    }
}
