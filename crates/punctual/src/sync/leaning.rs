//! A lock that leans on one thread: whoever comes again and again takes it without a locked instruction.
//!
//! In: a thread that takes a lock again and again ([`Lean`]). Out: the lock leans on it, and it comes and goes by plain loads
//! and stores, until another one takes the lock, which ends it. Nobody has to know whether it leans: [`Lock::lock`] works as
//! ever, the first time in some microseconds. When a thread should lean says its [`Habit`].
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
//! levels on one worker, the consumers' lock took 6. (The producers' lock, leaning on a worker whose tasks submit, was tried too: 1 ns.)

#![allow(unsafe_code)]

use super::asymmetric;
use super::atomic::Ordering::{Acquire, Relaxed, Release};
use super::atomic::{AtomicBool, AtomicU32};
use super::lock::{FREE, HELD, Protocol, Raw};
use super::{spin_loop, stand_back, yield_now};

const OUTSIDE: u32 = 0;
const INSIDE: u32 = 1;

/// The third state of the word.
const LEANS: u32 = HELD + 1;

/// Looks at one who is inside, before and while its time slice may be over.
const SPINS: u32 = if cfg!(loom) { 0 } else { 64 };
const YIELDS: u32 = 16;

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
        let mut looks = 0;
        // Acquire: what it did inside.
        while self.inside.load(Acquire) == INSIDE {
            looks += 1;
            match looks {
                ..=SPINS => spin_loop(),
                _ if looks <= SPINS + YIELDS => yield_now(),
                _ => stand_back(),
            }
        }
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

/// When a thread lets a lock lean on it: soon, but the later the more often it was taken away of late.
#[derive(Debug)]
pub(crate) struct Habit {
    leans: bool,
    /// Looks that pass after it was taken away; and how many of them are left.
    wait: u32,
    left: u32,
}

impl Habit {
    /// With some sixty tasks between two looks, a few hundred thousand tasks.
    const LONGEST: u32 = 4096;

    pub(crate) const fn new() -> Self {
        Habit {
            leans: false,
            wait: 1,
            left: 0,
        }
    }

    /// A look, with what the thread knows: whether it leans. Says whether it should from now on.
    pub(crate) fn look(&mut self, leans: bool) -> bool {
        if leans {
            self.leans = true;
            self.wait = (self.wait / 2).max(1);
            return false;
        }
        if std::mem::take(&mut self.leans) {
            self.left = self.wait;
            self.wait = (self.wait * 4).min(Self::LONGEST);
        }
        let is_time = self.left == 0;
        self.left = self.left.saturating_sub(1);
        self.leans = is_time;
        is_time
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::sync::start_thread;
    use std::sync::Arc;

    #[test]
    fn its_owner_takes_it_again_and_again_until_another_does() {
        let lock = LeaningLock::leaning(0);
        let lean = Lean::on(&lock);
        assert!(lean.try_lock().is_none(), "it does not lean yet");
        lean.lean();
        for _ in 0..3 {
            *lean.try_lock().unwrap() += 1;
        }
        assert!(lock.try_lock().is_none(), "a glance does not take it away");
        assert_eq!(*lock.lock(), 3);
        assert!(lean.try_lock().is_none() && !lean.leans());
        assert_eq!(*lock.try_lock().unwrap(), 3);
        lean.lean();
        assert!(lean.try_lock().is_some());
    }

    #[test]
    fn there_is_one_owner_until_it_gives_it_back() {
        let lock = LeaningLock::leaning(());
        let (first, second) = (Lean::on(&lock), Lean::on(&lock));
        first.lean();
        second.lean();
        assert!(!second.leans(), "another owns it");
        assert!(
            first.try_lock().is_none(),
            "the second has taken it away, in vain"
        );
        first.lean();
        drop(first);
        second.lean();
        assert!(second.try_lock().is_some());
        drop(second);
        assert!(lock.try_lock().is_some(), "it was left as everybody leaves it");
    }

    /// One leans whenever it can, the others come as everybody does: each counts what it did, and none is lost.
    #[test]
    fn nobody_is_inside_with_another() {
        const ROUNDS: u64 = 20_000;
        let lock = Arc::new(LeaningLock::leaning((0_u64, 0_u64)));
        let add = |pair: &mut (u64, u64)| {
            assert_eq!(pair.0, pair.1);
            pair.0 += 1;
            spin_loop();
            pair.1 += 1;
        };
        let owner = {
            let lock = lock.clone();
            start_thread("owner".into(), None, move || {
                let lean = Lean::on(&lock);
                for round in 0..50 * ROUNDS {
                    match lean.try_lock() {
                        Some(mut guard) => add(&mut guard),
                        None => {
                            add(&mut lock.lock());
                            if round % 4 == 0 {
                                lean.lean();
                            }
                        }
                    }
                }
            })
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let lock = lock.clone();
                let body = move || (0..ROUNDS).for_each(|_| add(&mut lock.lock()));
                start_thread("other".into(), None, body).unwrap()
            })
            .collect();
        owner.unwrap().join().unwrap();
        others.into_iter().for_each(|other| other.join().unwrap());
        assert_eq!(*lock.lock(), (52 * ROUNDS, 52 * ROUNDS));
    }

    #[test]
    fn a_habit_waits_the_longer_the_more_often_it_was_in_vain() {
        let mut habit = Habit::new();
        let mut looks_until_it_leans = || {
            let looks = (0..).find(|_| habit.look(false)).unwrap();
            assert!(!habit.look(true), "it leans");
            looks
        };
        assert_eq!(looks_until_it_leans(), 0);
        let waits: Vec<u32> = (0..13).map(|_| looks_until_it_leans()).collect();
        assert!(waits.is_sorted(), "{waits:?}");
        assert_eq!(waits[0], 1);
        assert!(waits[12] > 1000 && waits[12] <= Habit::LONGEST, "{waits:?}");
        // It stays for long, and the next time is soon again.
        (0..100).for_each(|_| assert!(!habit.look(true)));
        assert!(!habit.look(false));
        assert!(habit.look(false));
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::Leaning;
    use crate::sync::{Arc, Cell};

    struct Shared {
        lock: Leaning,
        value: Cell<u32>,
    }

    impl Shared {
        fn new() -> Arc<Self> {
            Arc::new(Shared {
                lock: Leaning::new(),
                value: Cell::new(0),
            })
        }

        fn bump(&self) {
            // SAFETY: between coming and leaving this thread is alone; loom's cell fails the model otherwise.
            self.value.with_mut(|value| unsafe { *value += 1 });
        }

        fn as_everybody(&self) {
            self.lock.lock();
            self.bump();
            self.lock.raw.unlock();
        }

        /// By the owner, that leans afterwards.
        fn leaning(&self) {
            if self.lock.try_enter() {
                self.bump();
                self.lock.exit();
                return;
            }
            self.lock.lock();
            self.bump();
            self.lock.lean();
        }

        fn total(&self) -> u32 {
            self.lock.lock();
            // SAFETY: as above.
            self.value.with(|value| unsafe { *value })
        }
    }

    /// One comes with a token while another takes the lock away.
    #[test]
    fn leaning_excludes() {
        crate::models::model_with_fences(3, || {
            let shared = Shared::new();
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || shared.as_everybody())
            };
            (0..3).for_each(|_| shared.leaning());
            other.join().unwrap();
            assert_eq!(shared.total(), 4);
        });
    }

    /// Two wait, one perhaps asleep, while a third leaves the lock leaning and does not come back.
    #[test]
    fn who_sleeps_while_it_leans_is_woken() {
        crate::models::model_with_fences(2, || {
            let shared = Shared::new();
            let others: Vec<_> = (0..2)
                .map(|_| {
                    let shared = shared.clone();
                    loom::thread::spawn(move || shared.as_everybody())
                })
                .collect();
            shared.leaning();
            for other in others {
                other.join().unwrap();
            }
            assert_eq!(shared.total(), 3);
        });
    }

    /// It leans on one, which gives it back, and then on another: each alone inside, also when a third takes it away.
    #[test]
    fn it_leans_on_another_after_the_first() {
        crate::models::model_with_fences(2, || {
            let shared = Shared::new();
            let in_turn = |shared: &Shared| {
                shared.lock.lock();
                if shared.lock.claim() {
                    shared.lock.lean();
                    shared.leaning();
                    shared.lock.lock();
                    shared.lock.give_back();
                } else {
                    shared.bump();
                }
                shared.lock.raw.unlock();
            };
            let other = {
                let shared = shared.clone();
                loom::thread::spawn(move || in_turn(&shared))
            };
            in_turn(&shared);
            other.join().unwrap();
            assert_eq!(shared.total(), 2);
        });
    }
}
