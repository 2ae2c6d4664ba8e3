//! The engine's lock: short critical sections, no poisoning, nothing user-written inside.
//!
//! In: a value. Out: a [`Guard`] to it. Fairness is not promised. A thread that finds the lock taken spins a few
//! times, gives its time slice away a few times, and only then sleeps: with more threads than cores the holder is
//! usually waiting for this very core, so yielding is what lets it finish. (Measured against `std::sync::Mutex`
//! in scenarios A and B of the bench: the same uncontended, half the time with four producers on two cores.) Before it sleeps it
//! looks for some microseconds more, since a sleep is dear for everybody.
//!
//! **Leaving costs a store and a load.** Whoever leaves frees the word and then looks whether somebody sleeps; whoever is about to
//! sleep says so and then looks at the word once more. At least one of them must see the other, which takes a fence between write
//! and look on both sides; the [`asymmetric`] one lets the sleeper pay for both. (An exchange instead of the
//! store took a tenth of the time of a small task, for each lock.) *Two sleep and one is woken*: it says again that somebody
//! sleeps before it tries, so the lock it gets, or does not get, is left by somebody who wakes the other. They sleep on that
//! word, not on the lock's: a wake between the last look and the sleep has changed it. The models `lock_excludes` and
//! `lock_excludes_three` fail without the light half, and if it is said once only.
//!
//! Under loom and shuttle [`Lock`] is their mutex, which keeps their search small; [`Raw`], the protocol itself, has
//! a loom model of its own below.

#![allow(unsafe_code)]

use super::atomic::AtomicU32;
use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::{asymmetric, futex, is_multi_core, spin_loop, yield_now};

const FREE: u32 = 0;
const HELD: u32 = 1;

/// Nobody sleeps, or whoever does will be woken by one who is on its way.
const QUIET: u32 = 0;
/// Somebody may sleep: whoever leaves the lock makes it quiet and wakes one.
const ASLEEP: u32 = 1;

/// Spins before the first yield: 2, 4 and 8 pauses, about the length of one critical section. In the models nobody can hope that
/// the lock will be free soon, so the sleep comes at once.
const SPINS: u32 = if cfg!(loom) { 0 } else { 3 };
/// Yields before the sleep; a guess from the prototypes, 3 to 15 measured alike.
const YIELDS: u32 = if cfg!(loom) { 0 } else { 7 };

/// Looks before the sleep, and pauses between them: a sleep costs the others, too, since its fence interrupts whoever runs. (Two
/// workers with tiny tasks over four levels: a quarter of their time went there; 90 ns a task became 80.)
const LAST_LOOKS: u32 = 32;
const PAUSES: u32 = 4;

/// The lock without its value.
#[derive(Debug)]
#[cfg_attr(shuttle, allow(dead_code))]
pub(crate) struct Raw {
    word: AtomicU32,
    sleepers: AtomicU32,
}

#[cfg_attr(any(shuttle, all(loom, not(test))), allow(dead_code))]
impl Raw {
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) const fn new() -> Self {
        Raw {
            word: AtomicU32::new(FREE),
            sleepers: AtomicU32::new(QUIET),
        }
    }
    #[cfg(any(loom, shuttle))]
    pub(crate) fn new() -> Self {
        Raw {
            word: AtomicU32::new(FREE),
            sleepers: AtomicU32::new(QUIET),
        }
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
        self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
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
            if self.word.load(Relaxed) == FREE && self.try_lock() {
                return;
            }
        }
        let looks = if is_multi_core() { LAST_LOOKS } else { 0 };
        for _ in 0..looks {
            (0..PAUSES).for_each(|_| spin_loop());
            if self.word.load(Relaxed) == FREE && self.try_lock() {
                return;
            }
        }
        loop {
            // Also by one who was woken and gets the lock now: it cannot know whether it was the only sleeper, and one wake
            // too many is cheaper than one too few.
            self.sleepers.store(ASLEEP, Relaxed);
            let will_be_woken = asymmetric::heavy();
            if self.try_lock() {
                return;
            }
            if will_be_woken {
                futex::wait(&self.sleepers, ASLEEP, None);
            } else {
                yield_now();
            }
        }
    }

    /// Frees the lock and wakes one sleeper, if there is one.
    #[inline]
    pub(crate) fn unlock(&self) {
        self.word.store(FREE, Release);
        asymmetric::light();
        if self.sleepers.load(Relaxed) == ASLEEP {
            self.wake_one();
        }
    }

    #[cold]
    fn wake_one(&self) {
        if self.sleepers.swap(QUIET, Relaxed) == ASLEEP {
            futex::wake_one(&raw const self.sleepers);
        }
    }
}

#[cfg(not(any(loom, shuttle)))]
mod imp {
    use super::Raw;
    use std::cell::UnsafeCell;
    use std::ops::{Deref, DerefMut};

    /// A value behind a lock.
    pub(crate) struct Lock<T> {
        raw: Raw,
        value: UnsafeCell<T>,
    }

    // SAFETY: the value is reached only through a `Guard`, and [`Raw`] gives out one at a time.
    unsafe impl<T: Send> Sync for Lock<T> {}

    #[cfg_attr(any(punctual_system_alloc, not(unix)), allow(dead_code))]
    impl<T> Lock<T> {
        pub(crate) const fn new(value: T) -> Self {
            Lock {
                raw: Raw::new(),
                value: UnsafeCell::new(value),
            }
        }
        /// Locks without giving access; [`Lock::let_go`] unlocks. For the time around a fork.
        pub(crate) fn hold(&self) {
            self.raw.lock();
        }
        /// Only after [`Lock::hold`].
        pub(crate) fn let_go(&self) {
            self.raw.unlock();
        }
    }

    impl<T> Lock<T> {
        #[inline]
        pub(crate) fn lock(&self) -> Guard<'_, T> {
            self.raw.lock();
            Guard { lock: self }
        }
        #[inline]
        pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
            // Not `then_some`: a guard that is made and dropped unlocks, whichever thread holds the lock.
            self.raw.try_lock().then(|| Guard { lock: self })
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

    fn bump(shared: &(Raw, Cell<u32>)) {
        shared.0.lock();
        // SAFETY: between lock and unlock this thread is alone; loom's cell fails the model otherwise.
        shared.1.with_mut(|value| unsafe { *value += 1 });
        shared.0.unlock();
    }

    /// So many threads in turn, each so often, increment a cell that loom watches: no overlap, no lost wake-up, nobody left
    /// asleep.
    fn bump_in_turn(preemptions: usize, turns: &'static [u32]) {
        crate::models::model_with_fences(preemptions, move || {
            let shared = Arc::new((Raw::new(), Cell::new(0_u32)));
            let bump_often = |shared: &(Raw, Cell<u32>), often| (0..often).for_each(|_| bump(shared));
            let threads: Vec<_> = turns[1..]
                .iter()
                .map(|often| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || bump_often(&shared, *often))
                })
                .collect();
            bump_often(&shared, turns[0]);
            for thread in threads {
                thread.join().unwrap();
            }
            shared.0.lock();
            // SAFETY: as above.
            assert_eq!(shared.1.with(|value| unsafe { *value }), turns.iter().sum());
        });
    }

    #[test]
    fn lock_excludes() {
        bump_in_turn(3, &[2, 2]);
    }

    /// Two may sleep: who wakes one must not leave the other.
    #[test]
    fn lock_excludes_three() {
        bump_in_turn(2, &[1, 1, 1]);
    }
}
