//! A lock that leans on one thread: whoever comes again and again takes it without a locked instruction.
//!
//! In: a thread that takes a lock again and again ([`Lean`]). Out: the lock leans on it, and it comes and goes by plain loads
//! and stores, until another one takes the lock, which ends it. Nobody has to know whether it leans: `Lock::lock` works as
//! ever, the first time in some microseconds. When a thread should lean says its [`Habit`](super::patience).
//!
//! **Protocol.** The word of [`Raw`] has a third state, *leaning*, neither free nor held. The thread says that it is *inside* and
//! then looks whether the lock still leans; whoever takes it away writes *held* and then looks whether the thread is inside,
//! for as long as it is. At least one of them must see the other, as in [`lock`](super::lock), and again the [`asymmetric`]
//! fence lets the one who comes rarely pay for both. *The thread comes late*: it finds the lock not leaning, says that it is
//! not inside, and takes the lock as everybody does. *It was inside and has left*: the other saw it inside or saw it leave,
//! and with that all it wrote. *Somebody sleeps while the lock is left leaning*: leaving wakes one, as ever, and that one takes
//! it away. *Two threads say that they are inside*: only the owner says so, and another owner there can be only when the
//! first has given it back. The models `leaning_excludes`, `who_sleeps_while_it_leans_is_woken` and
//! `it_leans_on_another_after_the_first` fail without the light half, without the wait, and without the second look.
//!
//! Why: a locked instruction waits until all writes before it have reached the cache. Of 42 ns for a small task over four
//! levels on one worker, the consumers' lock took 6. (The producers' lock, leaning on a worker whose tasks submit, was tried too: 1 to 4 ns
//! under the strict rule, less than 1 under the others.)

use super::asymmetric;
use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::atomic::{AtomicBool, AtomicU32};
use super::lock::{FREE, HELD, Protocol, Raw};
use super::{stand_back, wait_while};

const OUTSIDE: u32 = 0;
const INSIDE: u32 = 1;

/// The third state of the word.
const LEANS: u32 = HELD + 1;

/// If the system refuses the fence, which it did not when it was asked first, a write is waited for: so many times 50 us. No
/// processor keeps one back for as long.
const PATIENCE: u32 = 20;

/// The protocol without a value.
#[derive(Debug)]
#[cfg_attr(any(shuttle, all(loom, not(test))), allow(dead_code))]
pub(crate) struct Leaning {
    raw: Raw,
    /// Written by the owner.
    inside: AtomicU32,
    /// Whether there is one; written by whoever has the lock.
    is_owned: AtomicBool,
}

#[cfg_attr(any(shuttle, all(loom, not(test))), allow(dead_code))]
impl Leaning {
    pub(super) fn new() -> Self {
        Leaning {
            raw: Raw::new(),
            inside: AtomicU32::new(OUTSIDE),
            is_owned: AtomicBool::new(false),
        }
    }

    #[inline]
    fn lock(&self) {
        if !self.raw.try_lock() && !self.try_take_away() {
            self.raw.lock_contended(|| self.try_take_away());
        }
    }

    /// As [`Raw::try_lock`], also if it leans on somebody.
    #[cold]
    fn try_take_away(&self) -> bool {
        let word = self.raw.word.load(Relaxed);
        let is_won = word != HELD
            && self
                .raw
                .word
                .compare_exchange(word, HELD, Acquire, Relaxed)
                .is_ok();
        if is_won && word != FREE {
            self.wait_until_outside();
        }
        is_won
    }

    fn wait_until_outside(&self) {
        if !asymmetric::heavy() {
            (0..PATIENCE).for_each(|_| stand_back());
        }
        // Acquire: what it did inside.
        wait_while(|| self.inside.load(Acquire) == INSIDE);
    }

    /// By the owner. False: it leans no more.
    #[inline(always)]
    fn try_enter(&self) -> bool {
        // As with every lock, who comes in twice waits for himself, and does not find himself alone.
        if self.inside.load(Relaxed) == INSIDE {
            return false;
        }
        self.inside.store(INSIDE, Relaxed);
        asymmetric::light();
        // Nobody else was here since the owner left the lock leaning: there is nothing to acquire.
        let leans = self.raw.word.load(Relaxed) == LEANS;
        if !leans {
            self.exit();
        }
        leans
    }

    /// After [`Leaning::try_enter`].
    #[inline(always)]
    fn exit(&self) {
        self.inside.store(OUTSIDE, Release);
    }

    /// With the lock: makes the caller the owner, if there is none.
    fn claim(&self) -> bool {
        let is_free = !self.is_owned.load(Relaxed);
        self.is_owned.store(true, Relaxed);
        is_free
    }

    /// By the owner, with the lock: there is none any more.
    fn give_back(&self) {
        self.is_owned.store(false, Relaxed);
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    fn does_lean(&self) -> bool {
        self.raw.word.load(Relaxed) == LEANS
    }

    /// By the owner, that took the lock as everybody does: leaves it leaning.
    fn lean(&self) {
        self.raw.leave_as(LEANS);
    }
}

/// The way: whether it leaned on the one who took it.
impl Protocol for Leaning {
    type Way = bool;
    #[inline]
    fn lock(&self) -> bool {
        Leaning::lock(self);
        false
    }
    #[inline]
    fn try_lock(&self) -> Option<bool> {
        self.raw.try_lock().then_some(false)
    }
    #[inline]
    fn unlock(&self, leaning: bool) {
        if leaning {
            self.exit();
        } else {
            self.raw.unlock();
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use super::Leaning;
    use crate::sync::lock::{Guard, Lock};
    use std::cell::Cell;
    use std::mem::ManuallyDrop;

    pub(crate) type LeaningLock<T> = Lock<T, Leaning>;
    pub(crate) type LeaningGuard<'a, T> = Guard<'a, T, Leaning>;

    impl<T> Lock<T, Leaning> {
        pub(crate) fn leaning(value: T) -> Self {
            Lock::by(Leaning::new(), value)
        }

        /// Whether it leans on somebody, at a glance.
        #[cfg(test)]
        pub(crate) fn does_lean(&self) -> bool {
            self.raw.does_lean()
        }
    }

    /// A thread that takes this lock again and again.
    #[derive(Debug)]
    pub(crate) struct Lean<'a, T> {
        lock: &'a LeaningLock<T>,
        is_owner: Cell<bool>,
        /// As far as the owner knows.
        leans: Cell<bool>,
    }

    impl<'a, T> Lean<'a, T> {
        pub(crate) fn on(lock: &'a LeaningLock<T>) -> Self {
            Lean {
                lock,
                is_owner: Cell::new(false),
                leans: Cell::new(false),
            }
        }

        pub(crate) fn lock(&self) -> &'a LeaningLock<T> {
            self.lock
        }

        /// Takes the lock if it leans on this thread.
        #[inline(always)]
        pub(crate) fn try_lock(&self) -> Option<LeaningGuard<'a, T>> {
            // Only who owns it, and this is no one else's: it cannot be shared.
            if !self.leans.get() {
                return None;
            }
            if self.lock.raw.try_enter() {
                return Some(self.lock.guard(true));
            }
            self.leans.set(false);
            None
        }

        pub(crate) fn leans(&self) -> bool {
            self.leans.get()
        }

        /// It does not give the lock back, and does not touch it any more.
        pub(crate) fn abandon(&self) {
            self.leans.set(false);
            self.is_owner.set(false);
        }

        /// From now on the lock leans on this thread, until another takes it; not if there is another owner.
        pub(crate) fn lean(&self) {
            if self.leans.get() {
                return;
            }
            let guard = self.lock.lock();
            if !self.is_owner.get() && !self.lock.raw.claim() {
                return;
            }
            self.is_owner.set(true);
            self.leans.set(true);
            let _left_leaning = ManuallyDrop::new(guard);
            self.lock.raw.lean();
        }
    }

    impl<T> Drop for Lean<'_, T> {
        fn drop(&mut self) {
            if self.is_owner.get() {
                let _guard = self.lock.lock();
                self.lock.raw.give_back();
            }
        }
    }
}

/// In the models of what uses it, it never leans: the protocol has its own below.
#[cfg(any(loom, shuttle))]
mod imp {
    use crate::sync::lock::{Guard, Lock};

    pub(crate) type LeaningLock<T> = Lock<T>;
    pub(crate) type LeaningGuard<'a, T> = Guard<'a, T>;

    impl<T> Lock<T> {
        pub(crate) fn leaning(value: T) -> Self {
            Lock::new(value)
        }
    }

    #[derive(Debug)]
    pub(crate) struct Lean<'a, T>(&'a LeaningLock<T>);

    impl<'a, T> Lean<'a, T> {
        pub(crate) fn on(lock: &'a LeaningLock<T>) -> Self {
            Lean(lock)
        }
        pub(crate) fn lock(&self) -> &'a LeaningLock<T> {
            self.0
        }
        pub(crate) fn try_lock(&self) -> Option<LeaningGuard<'a, T>> {
            None
        }
        pub(crate) fn leans(&self) -> bool {
            false
        }
        pub(crate) fn lean(&self) {}
        pub(crate) fn abandon(&self) {}
    }
}

pub(crate) use imp::{Lean, LeaningGuard, LeaningLock};

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
