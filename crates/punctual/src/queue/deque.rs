//! A worker's own tasks: it puts them in and takes the newest, others take the oldest.
//!
//! In: records of the worker that owns it, accepted already. Out: the newest to its [`Local`] owner, the oldest to a thief,
//! each claimed and counted; or everything at once, to whoever drains the pool. Not here: whether a record may be put in,
//! who is woken, and which deques there are ([`locals`](super::locals)); what the owner does at its
//! end ([`local`]).
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

mod local;
#[cfg(all(test, loom))]
mod models;
mod ring;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use super::locals::{Heed, WayIn};
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::{Arc, Guard, Lock, Padded, wait_while};
use crate::task::record::Slot;
pub(crate) use local::on_own_deque;
use ring::{Alias, Place, Ring};
use std::cell::Cell;
use std::fmt;

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
        wait_while(|| self.owner.bottom.load(SeqCst) & TAKING != 0);
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
        if !self.take_oldest(&ring, || heed.is_barred(), slot) {
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
