//! The engine's lock: short critical sections, no poisoning, nothing user-written inside.
//!
//! In: a value. Out: a [`Guard`] to it. Fairness is not promised. A thread that finds the lock taken spins a few
//! times, gives its time slice away a few times, and only then sleeps: with more threads than cores the holder is
//! usually waiting for this very core, so yielding is what lets it finish. (Measured against `std::sync::Mutex`
//! in scenarios A and B of the bench: the same uncontended, half the time with four producers on two cores.)
//!
//! Under loom and shuttle [`Lock`] is their mutex, which keeps their search small; [`Raw`], the protocol itself, has
//! a loom model of its own below.

#![allow(unsafe_code)]

use super::atomic::AtomicU32;
use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::{futex, spin_loop, yield_now};

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and somebody may sleep: the holder must wake one when it leaves.
const CONTENDED: u32 = 2;

/// Spins before the first yield: 2, 4 and 8 pauses, about the length of one critical section.
const SPINS: u32 = 3;
/// Yields before the sleep; a guess from the prototypes, 3 to 15 measured alike.
const YIELDS: u32 = 7;

/// The three-state futex lock without its value.
#[derive(Debug)]
#[cfg_attr(shuttle, allow(dead_code))]
pub(crate) struct Raw(AtomicU32);

#[cfg_attr(any(shuttle, all(loom, not(test))), allow(dead_code))]
impl Raw {
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn new() -> Self {
        Raw(AtomicU32::new(FREE))
    }
    #[cfg(any(loom, shuttle))]
    pub(crate) fn new() -> Self {
        Raw(AtomicU32::new(FREE))
    }

    #[inline]
    pub(crate) fn lock(&self) {
        if !self.try_lock() {
            self.lock_contended();
        }
    }

    /// Acquire pairs with the Release in [`Raw::unlock`]; the model `lock_excludes` fails when either is weakened.
    #[inline]
    pub(crate) fn try_lock(&self) -> bool {
        self.0.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
    }

    #[cold]
    fn lock_contended(&self) {
        for round in 1..=(SPINS + YIELDS) {
            if round <= SPINS {
                for _ in 0..1 << round {
                    spin_loop();
                }
            } else {
                yield_now();
            }
            // A look before the attempt: the read does not take the line away from the holder.
            if self.0.load(Relaxed) == FREE && self.try_lock() {
                return;
            }
        }
        // From here on this thread marks the lock as contended even when it gets it: it cannot know whether it was
        // the only sleeper, and one wake too many is cheaper than one too few.
        while self.0.swap(CONTENDED, Acquire) != FREE {
            futex::wait(&self.0, CONTENDED, None);
        }
    }

    #[inline]
    pub(crate) fn unlock(&self) {
        if self.0.swap(FREE, Release) == CONTENDED {
            futex::wake_one(&raw const self.0);
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use super::Raw;
    use std::cell::UnsafeCell;
    use std::ops::{Deref, DerefMut};

    /// A value behind the [`Raw`] lock.
    pub(crate) struct Lock<T> {
        raw: Raw,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is reached only through a `Guard`, and `Raw` gives out one at a time.
    unsafe impl<T: Send> Sync for Lock<T> {}

    #[cfg_attr(any(punctual_system_alloc, not(unix)), allow(dead_code))]
    impl<T> Lock<T> {
        pub(crate) const fn new(value: T) -> Self {
            Lock {
                raw: Raw::new(),
                value: UnsafeCell::new(value),
            }
        }
        #[inline]
        pub(crate) fn lock(&self) -> Guard<'_, T> {
            self.raw.lock();
            Guard { lock: self }
        }
        /// Locks without giving access; [`Lock::let_go`] unlocks. For the time around a fork.
        pub(crate) fn hold(&self) {
            self.raw.lock();
        }
        /// Only after [`Lock::hold`].
        pub(crate) fn let_go(&self) {
            self.raw.unlock();
        }
        #[inline]
        pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
            // Not `then_some`: a guard that is made and dropped unlocks, whoever holds the lock.
            if self.raw.try_lock() {
                Some(Guard { lock: self })
            } else {
                None
            }
        }
    }

    /// Evidence that the lock is held; dropping it lets the next one in.
    pub(crate) struct Guard<'a, T> {
        lock: &'a Lock<T>,
    }

    // SAFETY: a shared guard gives out only `&T`; what it adds over `&T` is the unlock in drop, which needs ownership.
    unsafe impl<T: Sync> Sync for Guard<'_, T> {}

    impl<T> Deref for Guard<'_, T> {
        type Target = T;
        #[inline]
        fn deref(&self) -> &T {
            // SAFETY: the guard exists, so the lock is held by it.
            unsafe { &*self.lock.value.get() }
        }
    }
    impl<T> DerefMut for Guard<'_, T> {
        #[inline]
        fn deref_mut(&mut self) -> &mut T {
            // SAFETY: as above, and `&mut self` makes this the only reference made from the guard.
            unsafe { &mut *self.lock.value.get() }
        }
    }
    impl<T> Drop for Guard<'_, T> {
        #[inline]
        fn drop(&mut self) {
            self.lock.raw.unlock();
        }
    }
}

#[cfg(any(loom, shuttle))]
mod imp {
    #[cfg(loom)]
    use loom::sync::{Mutex, MutexGuard};
    #[cfg(shuttle)]
    use shuttle::sync::{Mutex, MutexGuard};

    pub(crate) struct Lock<T>(Mutex<T>);
    pub(crate) type Guard<'a, T> = MutexGuard<'a, T>;

    impl<T> Lock<T> {
        pub(crate) fn new(value: T) -> Self {
            Lock(Mutex::new(value))
        }
        pub(crate) fn lock(&self) -> Guard<'_, T> {
            self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
        }
        pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
            self.0.try_lock().ok()
        }
    }
}

pub(crate) use imp::{Guard, Lock};

impl<T> std::fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lock")
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::Raw;
    use crate::sync::{Arc, Cell};

    /// Two threads in turn increment a cell that loom watches: no overlap, no lost wake-up, nobody left asleep.
    #[test]
    fn lock_excludes() {
        crate::models::model(3, || {
            let shared = Arc::new((Raw::new(), Cell::new(0_u32)));
            let other = shared.clone();
            let bump = |shared: &(Raw, Cell<u32>)| {
                shared.0.lock();
                // SAFETY: between lock and unlock this thread is alone; loom's cell fails the model otherwise.
                shared.1.with_mut(|value| unsafe { *value += 1 });
                shared.0.unlock();
            };
            let thread = loom::thread::spawn(move || bump(&other));
            bump(&shared);
            thread.join().unwrap();
            shared.0.lock();
            // SAFETY: as above.
            assert_eq!(shared.1.with(|value| unsafe { *value }), 2);
        });
    }
}
