//! The lock of every part of the engine, and the order in which a thread may take several.
//!
//! Three states: free, held, held with sleepers. A contended thread looks three times, yields seven times and sleeps; the yields
//! are what a short section on a machine with few cores needs (the standard library's mutex, a spinning one and parking_lot's
//! measured 2 to 4 times as much per task in scenario A). The unlock is one exchange. There is no poisoning: no user code runs
//! under a lock of the engine.
//!
//! **Ranks.** Each lock has a [`Rank`]. A thread takes locks in rising rank only; a debug build asserts it on every
//! `lock`. Two threads that follow one order cannot wait for each other.

#![allow(unsafe_code)]

use super::atomic::AtomicU32;
use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::{Cell, futex, spin_loop, yield_now};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// All lock ranks, in the order in which a thread may take them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(crate) enum Rank {
    /// Thread limits, worker list, deadlock graph.
    Threads = 1,
    /// Consumer end of the ready queue.
    Head,
    /// Producer end of the ready queue: the gate and the line of submitters that wait for room.
    Tail,
    /// Parkers of the workers that sleep. Nothing is taken under it.
    Idle,
    /// Self reference and changeable settings. Nothing is taken under it.
    Lifecycle,
    /// Shared stock of the slab. Nothing is taken under it.
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    Stock,
}

const FREE: u32 = 0;
const HELD: u32 = 1;
/// Held, and a thread may sleep on the word.
const CONTENDED: u32 = 2;

const SPINS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 3 };
const YIELDS: u32 = if cfg!(any(loom, shuttle)) { 0 } else { 7 };

/// See the module.
#[derive(Debug)]
pub(crate) struct Mutex<T> {
    word: AtomicU32,
    rank: Rank,
    value: Cell<T>,
}

// SAFETY: the lock gives one thread at a time access to the value.
unsafe impl<T: Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Mutex<T> {}

/// Unlocks when it is dropped, on the thread that locked.
#[derive(Debug)]
pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    stays_on_its_thread: PhantomData<*const ()>,
}

// SAFETY: a shared guard gives out `&T` only.
unsafe impl<T: Sync> Sync for MutexGuard<'_, T> {}

impl<T> Mutex<T> {
    #[cfg(not(loom))]
    pub(crate) const fn new(rank: Rank, value: T) -> Self {
        Mutex {
            word: AtomicU32::new(FREE),
            rank,
            value: Cell::new(value),
        }
    }

    #[cfg(loom)]
    pub(crate) fn new(rank: Rank, value: T) -> Self {
        Mutex {
            word: AtomicU32::new(FREE),
            rank,
            value: Cell::new(value),
        }
    }

    /// Acquire pairs with the Release of the unlock (model `one_thread_at_a_time`).
    #[inline]
    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        order::taken(self.rank);
        if self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_err() {
            self.lock_contended();
        }
        MutexGuard {
            mutex: self,
            stays_on_its_thread: PhantomData,
        }
    }

    #[cold]
    fn lock_contended(&self) {
        for look in 0..SPINS + YIELDS {
            if self.word.load(Relaxed) == FREE
                && self.word.compare_exchange(FREE, HELD, Acquire, Relaxed).is_ok()
            {
                return;
            }
            if look < SPINS {
                spin_loop();
            } else {
                yield_now();
            }
        }
        // The thread that gets the lock here cannot know whether others sleep: it leaves the word contended.
        while self.word.swap(CONTENDED, Acquire) != FREE {
            futex::wait(&self.word, CONTENDED, None);
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the guard is the proof that this thread holds the lock.
        self.mutex.value.with(|value| unsafe { &*value })
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and the guard is borrowed mutably.
        self.mutex.value.with_mut(|value| unsafe { &mut *value })
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        order::released(self.mutex.rank);
        if self.mutex.word.swap(FREE, Release) == CONTENDED {
            futex::wake_one(&raw const self.mutex.word);
        }
    }
}

/// The check of debug builds: which ranks the thread holds.
#[cfg(all(debug_assertions, not(any(loom, shuttle))))]
mod order {
    use super::Rank;
    use std::cell::Cell;

    thread_local! {
        /// One bit a rank.
        static HELD: Cell<u32> = const { Cell::new(0) };
    }

    pub(super) fn taken(rank: Rank) {
        HELD.with(|held| {
            let above = held.get() >> (rank as u32);
            assert!(
                above == 0,
                "a lock of rank {rank:?} is taken under one of the same or a higher rank ({:#b})",
                held.get()
            );
            held.set(held.get() | 1 << (rank as u32));
        });
    }

    pub(super) fn released(rank: Rank) {
        HELD.with(|held| held.set(held.get() & !(1 << (rank as u32))));
    }
}

#[cfg(not(all(debug_assertions, not(any(loom, shuttle)))))]
mod order {
    use super::Rank;

    #[inline(always)]
    pub(super) fn taken(_: Rank) {}

    #[inline(always)]
    pub(super) fn released(_: Rank) {}
}

#[cfg(all(test, loom))]
mod models {
    use super::{Mutex, Rank};
    use crate::sync::Arc;

    /// Also that no sleeper is left behind: a lost wake-up is a deadlock, which loom reports.
    #[test]
    fn one_thread_at_a_time() {
        loom::model(|| {
            let mutex = Arc::new(Mutex::new(Rank::Tail, 0));
            let threads: Vec<_> = (0..2)
                .map(|_| {
                    let mutex = mutex.clone();
                    loom::thread::spawn(move || *mutex.lock() += 1)
                })
                .collect();
            *mutex.lock() += 1;
            threads.into_iter().for_each(|thread| thread.join().unwrap());
            assert_eq!(*mutex.lock(), 3);
        });
    }
}

#[cfg(all(test, debug_assertions, not(any(loom, shuttle))))]
mod tests {
    use super::{Mutex, Rank};
    use std::panic::catch_unwind;

    #[test]
    fn ranks_are_taken_in_rising_order() {
        let (head, tail) = (Mutex::new(Rank::Head, ()), Mutex::new(Rank::Tail, ()));
        let held = head.lock();
        drop(tail.lock());
        drop(held);
        let against = catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _held = tail.lock();
            drop(head.lock());
        }));
        assert!(against.is_err());
    }
}
