//! Adaptive back-off of a worker on a contended lock.
//!
//! In: a lock that a worker takes for each task. Out: the lock, or a short spin has passed and the caller takes the lock as any
//! other thread does.

#[cfg(not(any(loom, shuttle)))]
use super::spin_loop;
use super::{Guard, Lock};

/// A worker's handle of the lock that it takes for each task, with its back-off.
#[derive(Debug)]
#[cfg_attr(any(loom, shuttle), allow(dead_code))]
pub(crate) struct Regular<'a, T> {
    lock: &'a Lock<T>,
    patience: Patience,
}

impl<'a, T> Regular<'a, T> {
    pub(crate) fn at(lock: &'a Lock<T>) -> Self {
        Regular {
            lock,
            patience: Patience::default(),
        }
    }

    /// Whether this is the lock.
    pub(crate) fn is_at(&self, lock: &Lock<T>) -> bool {
        std::ptr::eq(self.lock, lock)
    }

    /// Tries to take the lock; spins for a while if it is taken.
    #[inline(always)]
    pub(crate) fn try_lock(&mut self) -> Option<Guard<'a, T>> {
        let guard = self.lock.try_lock();
        #[cfg(not(any(loom, shuttle)))]
        if guard.is_some() {
            self.patience.was_free();
        } else {
            self.patience.was_taken();
        }
        guard
    }
}

/// The length of the back-off: the longer, the more often the lock was found taken of late.
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
    use super::Patience;

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
}
