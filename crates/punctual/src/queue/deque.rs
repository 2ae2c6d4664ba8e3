//! A worker's own tasks: it puts them in and takes the newest, others take the oldest.
//!
//! In: records of the worker that owns it, accepted already. Out: the newest to its [`Local`] owner, the oldest to a thief,
//! each claimed and counted; or everything at once, to whoever drains the pool. Not here: whether a record may be put in,
//! who is woken, and which deques there are ([`locals`](super::locals)).
//!
//! **The protocol** is that of Cilk's THE, not that of Chase and Lev: thieves have a lock among themselves, the owner has
//! none. `bottom` is the number after the newest record, `top` that of the oldest. The owner lowers `bottom` and then looks
//! at `top`; a thief raises `top` and then looks at `bottom`. Both steps are sequentially consistent, so of two who want the
//! last record at least one sees the other: the thief steps back, the owner waits for the thieves' lock and looks again.
//! (Model `of_two_who_want_the_last_record_one_gets_it`.)
//!
//! What that buys over a compare-and-swap on `top`: whoever may read a place has it alone, so nothing is ever torn, and
//! the places are plain memory; a ring that was outgrown is freed at once, since nobody can be reading it; and the owner's
//! last record costs it no second atomic step. The price: of several thieves at one deque one gets something at a time, and
//! an owner that meets a thief at its last record waits for it.
//!
//! **Taking is visible.** While the owner takes a record, from the step on `bottom` until the record is claimed and counted,
//! `bottom` is odd. Whoever forbids taking (a pause) or needs counts that no taking is in the middle of (a submission that
//! gets into line) writes its word first and then waits until `bottom` is even and the thieves' lock was free
//! ([`Deque::settle`]); who takes looks at that word after its step. So either the taker sees the word, or it is waited for.

#![allow(unsafe_code)]

#[cfg(all(test, loom))]
mod models;
mod ring;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use super::locals::{Heed, WayIn};
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::{Arc, Guard, Lock, Padded, local, yield_now};
use crate::task::Class;
use crate::task::block::{Entry, Header};
use crate::task::record::{Payload, Slot};
use crate::time::Tick;
use ring::{Alias, Place, Ring, SAMPLE_EVERY};
use std::cell::Cell;
use std::fmt;
use std::ptr::{NonNull, null};

/// Places of a new ring; it grows by doubling. Few in the models, so that they see it grow.
const FIRST_RING: usize = if cfg!(any(loom, shuttle)) { 2 } else { 256 };

/// The owner is in the middle of taking a record.
const TAKING: u64 = 1;

/// A worker's deque, as others see it.
pub(crate) struct Deque {
    owner: Padded<OwnersSide>,
    /// The number of the oldest record. Only with the thieves' lock it changes.
    top: Padded<AtomicU64>,
    /// Records with a smaller number have been moved out: their places are free.
    moved: AtomicU64,
    /// The thieves' lock; the owner takes it to replace the ring, and when it meets a thief.
    ring: Lock<Ring>,
}

/// What only the owner writes.
struct OwnersSide {
    /// Twice the number after the newest record, and [`TAKING`].
    bottom: AtomicU64,
    /// Tasks that were accepted into this deque.
    pushed: AtomicU64,
    /// Tasks that the owner took, from this deque or another's.
    taken: AtomicU64,
    /// Tasks that the owner took from this deque and ran in place, inside another; not among the taken.
    joined: AtomicU64,
    /// Those among the taken that were another's.
    stolen: AtomicU64,
    /// Looks at all other deques that got nothing.
    in_vain: AtomicU64,
}

/// What an owner counted.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Counts {
    pub(crate) pushed: u64,
    pub(crate) taken: u64,
    pub(crate) joined: u64,
    pub(crate) stolen: u64,
    pub(crate) in_vain: u64,
}

/// What a try to take gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    Task,
    /// A record whose task was claimed elsewhere is in the slot, to be let go of.
    Dead,
    Nothing,
    /// Another thief is at it.
    Busy,
}

/// Loom takes a sequentially consistent access for an acquiring or releasing one; a fence it takes for what it is.
#[inline(always)]
pub(super) fn in_one_order() {
    #[cfg(loom)]
    crate::sync::atomic::fence(SeqCst);
}

impl Deque {
    fn new() -> (Arc<Self>, Alias) {
        let ring = Ring::new(FIRST_RING);
        let alias = ring.alias();
        let deque = Deque {
            owner: Padded(OwnersSide {
                bottom: AtomicU64::new(0),
                pushed: AtomicU64::new(0),
                taken: AtomicU64::new(0),
                joined: AtomicU64::new(0),
                stolen: AtomicU64::new(0),
                in_vain: AtomicU64::new(0),
            }),
            top: Padded(AtomicU64::new(0)),
            moved: AtomicU64::new(0),
            ring: Lock::new(ring),
        };
        (Arc::new(deque), alias)
    }

    #[inline]
    fn bottom(&self) -> u64 {
        self.owner.bottom.load(SeqCst) / 2
    }

    /// Records in it, dead ones included, at some moment since the call.
    pub(crate) fn len(&self) -> u64 {
        // In this order: `top` only grows, so a record that was there all the time is seen.
        let top = self.top.load(SeqCst);
        self.bottom().saturating_sub(top)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tasks ever accepted here. To be read after what was taken: a task is accepted before it is taken.
    pub(super) fn pushed(&self) -> u64 {
        self.owner.pushed.load(Acquire)
    }

    pub(super) fn taken(&self) -> u64 {
        self.owner.taken.load(Acquire)
    }

    pub(super) fn joined(&self) -> u64 {
        self.owner.joined.load(Acquire)
    }

    pub(super) fn counts(&self) -> Counts {
        let mut counts = self.left();
        counts.pushed = self.pushed();
        counts
    }

    /// The counts without what was accepted.
    pub(super) fn left(&self) -> Counts {
        Counts {
            taken: self.taken(),
            joined: self.joined(),
            pushed: 0,
            stolen: self.owner.stolen.load(Relaxed),
            in_vain: self.owner.in_vain.load(Relaxed),
        }
    }

    /// Waits until nobody is in the middle of taking a record who did not see what the caller wrote before.
    pub(super) fn settle(&self) {
        in_one_order();
        drop(self.ring.lock());
        while self.owner.bottom.load(SeqCst) & TAKING != 0 {
            yield_now();
        }
    }

    /// Moves the oldest record out, and claims and counts it for the thief.
    pub(crate) fn steal(&self, thief: &Local, heed: &Heed, slot: &mut Slot) -> Taken {
        let taken = self.take_for(thief, heed, slot);
        if taken == Taken::Task {
            bump(&thief.deque.owner.stolen);
        }
        taken
    }

    /// As [`Deque::steal`], whoever it is.
    fn take_for(&self, taker: &Local, heed: &Heed, slot: &mut Slot) -> Taken {
        if self.is_empty() {
            return Taken::Nothing;
        }
        let Some(ring) = self.ring.try_lock() else {
            return Taken::Busy;
        };
        if !self.take_oldest(&ring, || heed.is_paused(), slot) {
            return Taken::Nothing;
        }
        if !slot.claim_unmoved() {
            return Taken::Dead;
        }
        // Before the lock is left: see `settle`.
        taker.count_taken();
        Taken::Task
    }

    /// Moves the oldest record out, unclaimed. False: there is none, or `forbidden` says so after the step that counts.
    fn take_oldest(&self, ring: &Guard<'_, Ring>, forbidden: impl Fn() -> bool, slot: &mut Slot) -> bool {
        loop {
            let top = self.top.load(Relaxed);
            if top >= self.bottom() {
                return false;
            }
            self.top.store(top + 1, SeqCst);
            in_one_order();
            let is_mine = top < self.bottom();
            let is_forbidden = forbidden();
            if is_mine && !is_forbidden {
                // SAFETY: the owner sees the raised `top` and does not take this record; other thieves have no lock.
                unsafe { Place::take(ring.place(top), slot) };
                // The place is the owner's again. Release: it is written to after this.
                self.moved.store(top + 1, Release);
                return true;
            }
            self.top.store(top, SeqCst);
            in_one_order();
            if is_forbidden {
                return false;
            }
            // Once more: while `top` was too high the owner, or somebody about to sleep, may have found nothing here. Who
            // put a record in meanwhile either sees it lowered, or this look sees the record.
        }
    }

    /// Takes all records out that are there now, the oldest first, unclaimed.
    pub(super) fn drain(&self, mut each: impl FnMut(Slot)) {
        let ring = self.ring.lock();
        for _ in 0..self.len() {
            let mut slot = Slot::empty();
            if !self.take_oldest(&ring, || false, &mut slot) {
                break;
            }
            each(slot);
        }
    }

    /// Takes the oldest record out that is not dead, claimed by `claim`; dead ones go to `dead`.
    pub(super) fn take_one(&self, claim: impl Fn(&Slot) -> bool, mut dead: impl FnMut(Slot)) -> Option<Slot> {
        let ring = self.ring.lock();
        let mut slot = Slot::empty();
        while self.take_oldest(&ring, || false, &mut slot) {
            if claim(&slot) {
                slot.arrival = None;
                return Some(slot);
            }
            dead(std::mem::replace(&mut slot, Slot::empty()));
        }
        None
    }
}

/// A worker's deque, as its owner uses it: on one thread.
pub(crate) struct Local {
    deque: Arc<Deque>,
    ring: Cell<Alias>,
    /// As in the deque.
    bottom: Cell<u64>,
    /// What [`Deque::moved`] was when it was last looked at: a push reads nothing that thieves write.
    moved: Cell<u64>,
    /// Whose it is: see [`Local::is_of`].
    engine: usize,
    way_in: Arc<WayIn>,
}

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
    pub(super) fn new(engine: usize, way_in: Arc<WayIn>) -> Self {
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
        if !self.take_newest(|| heed.is_paused(), slot) {
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
    fn count_taken(&self) {
        bump(&self.deque.owner.taken);
    }

    /// A look at all other deques got nothing.
    pub(crate) fn count_in_vain(&self) {
        bump(&self.deque.owner.in_vain);
    }
}

impl Drop for Deque {
    fn drop(&mut self) {
        // Records that nobody took end here; a pool that has terminated has none.
        self.drain(|mut slot| slot.let_go());
    }
}

/// A single writer's increment.
#[inline]
fn bump(counter: &AtomicU64) {
    counter.store(counter.load(Relaxed) + 1, Release);
}

impl fmt::Debug for Deque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Deque({} records)", self.len())
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({:?})", self.deque)
    }
}
