//! Whoever takes a lock again and again: it leans on him, or he stays away for a while where others come as often.
//!
//! In: a lock that a worker takes for each task. Out: the lock, or a while has passed. Beside it what the worker knows of it from
//! the last time.

use super::leaning::{Lean, LeaningGuard, LeaningLock};
#[cfg(not(any(loom, shuttle)))]
use super::spin_loop;

/// One of those.
#[derive(Debug)]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) struct Regular<'a, T> {
    lean: Lean<'a, T>,
    habit: Habit,
    patience: Patience,
    /// The time was needed, the last time he had the lock: he reads it before.
    pub(crate) asks_for_the_time: bool,
}

impl<'a, T> Regular<'a, T> {
    pub(crate) fn at(lock: &'a LeaningLock<T>) -> Self {
        Regular {
            lean: Lean::on(lock),
            habit: Habit::new(),
            patience: Patience::default(),
            asks_for_the_time: false,
        }
    }

    /// Whether this is the lock.
    pub(crate) fn is_at(&self, lock: &LeaningLock<T>) -> bool {
        std::ptr::eq(self.lean.lock(), lock)
    }

    /// Tries to take the lock. One who finds it taken stays away for a while.
    #[inline(always)]
    pub(crate) fn try_lock(&mut self) -> Option<LeaningGuard<'a, T>> {
        if let Some(guard) = self.lean.try_lock() {
            return Some(guard);
        }
        let guard = self.lean.lock().try_lock();
        #[cfg(not(any(loom, shuttle)))]
        if guard.is_some() {
            self.patience.was_free();
        } else {
            self.patience.was_taken();
        }
        guard
    }

    /// See [`Lean::abandon`].
    pub(crate) fn abandon(&self) {
        self.lean.abandon();
    }

    /// Now and then, by one who is alone with it: lets it lean if that is his habit.
    pub(crate) fn lean(&mut self) {
        if self.habit.look(self.lean.leans()) {
            self.lean.lean();
        }
    }
}

/// When a thread lets a lock lean on it: soon, but the later the more often it was taken away of late.
#[derive(Debug)]
struct Habit {
    leans: bool,
    /// Looks that pass after it was taken away; and how many of them are left.
    wait: u32,
    left: u32,
}

impl Habit {
    /// With some sixty tasks between two looks, a few hundred thousand tasks.
    const LONGEST: u32 = 4096;

    fn new() -> Self {
        Habit {
            leans: false,
            wait: 1,
            left: 0,
        }
    }

    /// A look, with what the thread knows: whether it leans. Says whether it should from now on.
    fn look(&mut self, leans: bool) -> bool {
        if leans {
            self.leans = true;
            self.wait = (self.wait - self.wait.div_ceil(8)).max(1);
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

/// How long he stays away: the longer, the more often it was found taken of late.
///
/// Two workers with tiny tasks spend more time on getting the queue's lines from each other's caches than on the tasks. If one of
/// them stays away for a while, the other does the work of both in the time of one. Where tasks take longer than the lock is held,
/// it is found taken once in a while only, and nobody waits any longer than before.
#[derive(Debug, Default)]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
struct Patience(u32);

#[cfg_attr(any(loom, shuttle), allow(dead_code))]
impl Patience {
    /// Found taken once in three times it neither grows nor shrinks.
    const TAKEN: u32 = 2;
    /// Two more are twice the pauses; at most 1024, some 25 microseconds: half of what a sleep and a wake take. (Over four levels
    /// two workers with tiny tasks took 84 ns for each with a quarter of that, 64 with this, and 61 with four times as much.)
    const MOST: u32 = 20;

    #[cfg(not(any(loom, shuttle)))]
    #[inline(always)]
    fn was_free(&mut self) {
        self.0 = self.0.saturating_sub(1);
    }

    #[cfg(not(any(loom, shuttle)))]
    #[cold]
    fn was_taken(&mut self) {
        self.0 = (self.0 + Self::TAKEN).min(Self::MOST);
        for _ in 0..1_u32 << (self.0 / 2) {
            spin_loop();
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{Habit, Patience};

    #[test]
    fn who_finds_it_taken_now_and_then_stays_away_no_longer_and_who_always_does_for_the_longest() {
        let mut patience = Patience::default();
        for _ in 0..100 {
            patience.was_taken();
            (0..3).for_each(|_| patience.was_free());
        }
        assert_eq!(patience.0, 0);
        for _ in 0..100 {
            patience.was_taken();
            patience.was_free();
        }
        assert_eq!(patience.0, Patience::MOST - 1);
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
