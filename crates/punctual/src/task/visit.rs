//! A short stay in an engine without a share of it.
//!
//! In: the home of a task that waits in the timer store, as far as one knows. Out: the engine behind it, for a few steps, if the
//! task is still there; whoever ends the engine waits until they are over before it lets go of it. To own the engine instead
//! ([`HomeRef::own`]) one has to claim the task first, and to own it and let it go are two atomic steps more, on a word that all
//! tasks of the pool share: together half of a cancel. Not here: who visits (`handle/cancel.rs`), and what for.
//!
//! **Why a plain borrow is not enough.** Before the task is claimed, nothing keeps the engine: somebody else may claim it, and
//! the pool end. And after: the visitor's steps are a section under a lock of the engine, in which the task leaves, and that lets
//! the engine end; but leaving a lock is two steps ([`lock`](crate::sync::lock)): the word is freed, and then
//! the visitor looks whether somebody sleeps. That look must be over before the memory goes.
//!
//! **How it is known.** Every thread has a [`Slot`], in a list that only grows. A visitor writes the engine's address there,
//! looks whether the task is still in the store and not claimed, and only then follows its pointer; in the end it clears the slot.
//! Whoever ends an engine, all of whose tasks have been claimed, reads all slots until none names it, and only then gives up the
//! engine's hold on itself.
//! - *One of them sees the other.* Each writes and then reads what the other wrote: the visitor its slot and then the
//!   task's state, the one who ends it, or somebody before him, that state and then the slots. The [`asymmetric`] fence
//!   between makes sure that the visitor sees the claim, and does not go, or that its slot is seen, and waited for. The
//!   visitor's half costs nothing.
//! - *The visitor's last step is over.* A later write to the slot than that one is the clearing, or belongs to a later visit. All of
//!   them are Release and the reading is Acquire, so everything the visitor did happened before the engine is freed.
//! - *It is not another visit that is waited for.* To stay in an engine one needs an unclaimed task of it, and one that has
//!   ended has none.
//!
//! The models below fail without either half of the fence, if the clearing is Relaxed, if the write of a later visit is, if the
//! reading is, and if nobody waits.
//!
//! **Rules.** Nothing user-written runs during a visit, and nothing that could end a pool: it would wait for itself. A
//! visit inside a visit, and one from a thread whose locals are gone, is refused; such a caller claims, and owns. A forked child has
//! slots of threads that it does not have: they are cleared there ([`imp::clear_after_fork`]). Under loom and shuttle the list
//! could not be a constant; there a visit owns.

#![allow(unsafe_code)]
#![cfg_attr(any(loom, shuttle), allow(dead_code))]

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

use super::block::Header;
use super::home::{Home, HomeRef};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use crate::sync::{Padded, asymmetric, wait_while, yield_now};
use std::ptr::null_mut;

#[cfg(not(any(loom, shuttle)))]
pub(crate) use imp::clear_after_fork;
pub(crate) use imp::{Visit, wait_until_left};

const NOWHERE: usize = 0;

/// The system is asked so often for its half of the fence.
const TRIES: u32 = 16;

/// Whom one thread visits.
struct Slot {
    /// The address of the engine's [`HomeRef`].
    visited: AtomicUsize,
    /// Some thread has it.
    is_taken: AtomicBool,
    /// Written before the slot is in the list.
    next: AtomicPtr<Padded<Slot>>,
}

/// All slots. One that was made stays, and goes from one thread to another.
struct Slots {
    first: AtomicPtr<Padded<Slot>>,
}

impl Slot {
    /// False: this thread is visiting somebody, or nothing keeps that home.
    #[inline]
    fn enter(&self, home: usize, is_kept: impl FnOnce() -> bool) -> bool {
        if self.visited.load(Relaxed) != NOWHERE {
            return false;
        }
        // Release for the visit before this one: who waits for its end may read this.
        self.visited.store(home, Release);
        asymmetric::light();
        if is_kept() {
            return true;
        }
        self.leave();
        false
    }

    #[inline]
    fn leave(&self) {
        self.visited.store(NOWHERE, Release);
    }

    /// Its thread ends.
    fn give_back(&self) {
        self.is_taken.store(false, Release);
    }
}

impl Slots {
    #[cfg(not(any(loom, shuttle)))]
    const fn new() -> Self {
        Slots {
            first: AtomicPtr::new(null_mut()),
        }
    }
    #[cfg(any(loom, shuttle))]
    fn new() -> Self {
        Slots {
            first: AtomicPtr::new(null_mut()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &'static Slot> {
        let mut next = self.first.load(Acquire);
        std::iter::from_fn(move || {
            // SAFETY: what is in the list was leaked by `take`.
            let slot: &'static Padded<Slot> = unsafe { next.as_ref()? };
            next = slot.next.load(Relaxed);
            Some(&slot.0)
        })
    }

    /// A slot for this thread: one that a thread left, or a new one.
    #[cold]
    fn take(&self) -> &'static Slot {
        let is_free = |slot: &&Slot| {
            // Acquire: what the thread before this one wrote there stays before what this one writes. (No model fails without.)
            let taken = slot.is_taken.compare_exchange(false, true, Acquire, Relaxed);
            taken.is_ok()
        };
        if let Some(slot) = self.iter().find(is_free) {
            return slot;
        }
        let mut first = self.first.load(Relaxed);
        let slot: &'static Padded<Slot> = Box::leak(Box::new(Padded(Slot {
            visited: AtomicUsize::new(NOWHERE),
            is_taken: AtomicBool::new(true),
            next: AtomicPtr::new(null_mut()),
        })));
        loop {
            slot.next.store(first, Relaxed);
            let here = std::ptr::from_ref(slot).cast_mut();
            // Release: whoever walks the list finds the slot complete, and those behind it, which others made.
            match self.first.compare_exchange_weak(first, here, AcqRel, Acquire) {
                Ok(_) => return &slot.0,
                Err(now) => first = now,
            }
        }
    }

    /// Waits until nobody is in the engine with this home. It has ended: whoever comes now finds that nothing keeps it. False:
    /// the system does not say, and it may be visited for ever.
    #[must_use = "what may be visited must not be freed"]
    fn wait_until_left(&self, home: usize) -> bool {
        // The kernel has no memory for it, for the moment; or somebody has forbidden the call since it was found to work.
        if !(0..TRIES).any(|_| {
            asymmetric::heavy() || {
                yield_now();
                false
            }
        }) {
            return false;
        }
        for slot in self.iter() {
            wait_while(|| slot.visited.load(Acquire) == home);
        }
        true
    }

    /// Nobody visits anybody: of all threads only the caller is left.
    fn clear(&self) {
        self.iter().for_each(Slot::leave);
    }
}

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use super::{Header, Home, HomeRef, Slot, Slots};
    use std::cell::Cell;
    use std::ops::Deref;

    static SLOTS: Slots = Slots::new();

    /// This thread's slot, once it has one.
    struct Mine(Cell<Option<&'static Slot>>);

    crate::sync::local! {
        static MINE: Mine = Mine(Cell::new(None));
    }

    impl Drop for Mine {
        fn drop(&mut self) {
            if let Some(slot) = self.0.take() {
                slot.give_back();
            }
        }
    }

    /// An engine that is not freed before this is dropped.
    pub(crate) struct Visit {
        slot: &'static Slot,
        home: *const dyn Home,
    }

    impl Visit {
        /// Of the engine of a delayed task. `None`: the task is not in the store any more, or is claimed or pinned, or this
        /// thread cannot visit; claim it and own the engine instead.
        ///
        /// # Safety
        /// The task's home lies inside the engine. Until this is dropped nothing user-written runs on this thread, and nothing that
        /// could end a pool.
        #[inline]
        pub(crate) unsafe fn begin(block: &Header) -> Option<Visit> {
            // Before the slot is written, too: whoever cancels what has ended need not hold up the end of its pool.
            if !block.state.load().is_in_store() {
                return None;
            }
            let slot = MINE
                .try_with(|mine| mine.0.get().unwrap_or_else(|| mine.slot()))
                .ok()?;
            let home = block.home();
            if !slot.enter(home.addr(), || block.state.load().is_in_store()) {
                return None;
            }
            // SAFETY: the task was unsettled after the slot was written, so the engine is there, and stays (see the module).
            let home = unsafe { (*home).as_ptr() };
            Some(Visit { slot, home })
        }
    }

    impl Mine {
        #[cold]
        fn slot(&self) -> &'static Slot {
            let slot = SLOTS.take();
            self.0.set(Some(slot));
            slot
        }
    }

    impl Deref for Visit {
        type Target = dyn Home;
        #[inline]
        fn deref(&self) -> &dyn Home {
            // SAFETY: whoever ends the engine waits for the slot (see the module).
            unsafe { &*self.home }
        }
    }

    impl Drop for Visit {
        #[inline]
        fn drop(&mut self) {
            self.slot.leave();
        }
    }

    /// For whoever ends the engine with this home, before it lets go of it. False: it must not be freed, ever.
    #[must_use = "what may be visited must not be freed"]
    pub(crate) fn wait_until_left(home: *const HomeRef) -> bool {
        SLOTS.wait_until_left(home.addr())
    }

    /// In a forked child, where only the calling thread exists, which is in no visit. Touches nothing but atomics.
    #[cfg_attr(not(unix), allow(dead_code))]
    pub(crate) fn clear_after_fork() {
        SLOTS.clear();
    }
}

#[cfg(any(loom, shuttle))]
mod imp {
    use super::{Header, Home, HomeRef};
    use crate::sync::Arc;
    use std::ops::Deref;

    pub(crate) struct Visit(Arc<dyn Home>);

    pub(crate) fn wait_until_left(_: *const HomeRef) -> bool {
        true
    }

    impl Visit {
        /// # Safety
        /// None is needed here; see the other.
        pub(crate) unsafe fn begin(block: &Header) -> Option<Visit> {
            if !block.state.load().is_in_store() {
                return None;
            }
            block.reach_home().map(Visit)
        }
    }

    impl Deref for Visit {
        type Target = dyn Home;
        fn deref(&self) -> &dyn Home {
            &*self.0
        }
    }
}
