//! Which workers sleep, which one searches, and which one a new task wakes.
//!
//! One word counts *sleepers* and *searchers*; the parkers of the sleepers lie in a stack. At most one worker searches (spins) at a
//! time, and while one does a push wakes no other: the searcher will find the task. So a burst wakes workers one after the other,
//! each by the one before, instead of all at once.
//!
//! **No task waits beside a sleeping worker.**
//!
//! 1. A producer pushes under the tail lock and then reads the word.
//! 2. A worker that finds nothing announces its sleep in the word, and then looks at the queue once more, under the tail lock. The
//!    second of the two to take the lock sees what the other did: the worker sees the task, or the producer sees the sleeper (model
//!    `a_push_wakes_a_sleeper`).
//! 3. A producer that sees a searcher wakes no worker; the searcher finds the task, or another one before it. So the last searcher
//!    that finds a task looks whether there is more, and wakes the next (model `the_last_searcher_passes_the_word_on`). A worker that
//!    gives up searching announces its sleep in the same step, and rule 2 holds.

use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, SeqCst};
use crate::sync::mutex::{Mutex, Rank};
use crate::sync::parker::Parker;
use crate::sync::{Arc, Padded};
use std::time::Duration;

const ONE_SLEEPER: u32 = 1;
/// Sleepers and searchers have sixteen bits each, twice what `MAX_THREADS` needs.
const ONE_SEARCHER: u32 = 1 << 16;

const fn sleepers(word: u32) -> u32 {
    word & (ONE_SEARCHER - 1)
}

const fn searchers(word: u32) -> u32 {
    word >> 16
}

/// See the module.
pub(crate) struct Idle {
    word: Padded<AtomicU32>,
    /// The last to fall asleep is the first to be woken: its cache is the warmest.
    asleep: Mutex<Vec<Arc<Parker>>>,
}

/// Proof that a worker is counted as searching: it must find something or sleep.
#[must_use = "a searcher that goes away uncounted leaves every later task to no worker"]
pub(crate) struct Searching(());

/// Proof that a worker is counted as asleep, and that its parker is in the stack.
#[must_use = "a sleeper must get up through `park` or `get_up`"]
pub(crate) struct Asleep(());

impl Idle {
    pub(crate) fn new() -> Self {
        Idle {
            word: Padded(AtomicU32::new(0)),
            asleep: Mutex::new(Rank::Idle, Vec::new()),
        }
    }

    /// After a push: wakes a sleeper, if there is one and no worker searches.
    #[inline]
    pub(crate) fn notify(&self) {
        let word = self.word.load(SeqCst);
        if sleepers(word) > 0 && searchers(word) == 0 {
            self.wake_one();
        }
    }

    #[cold]
    fn wake_one(&self) {
        let parker = {
            let mut asleep = self.asleep.lock();
            if searchers(self.word.load(Acquire)) > 0 {
                return;
            }
            let Some(parker) = asleep.pop() else { return };
            // On behalf of the sleeper: it searches from now on, so that no other is woken while it gets up.
            self.word.fetch_add(ONE_SEARCHER - ONE_SLEEPER, AcqRel);
            parker
        };
        parker.unpark();
    }

    /// The pool is closed: every worker looks.
    pub(crate) fn wake_all(&self) {
        let woken = {
            let mut asleep = self.asleep.lock();
            let woken = std::mem::take(&mut *asleep);
            let count = u32::try_from(woken.len()).expect("fewer workers than the word can count");
            self.word.fetch_add(count * (ONE_SEARCHER - ONE_SLEEPER), AcqRel);
            woken
        };
        woken.iter().for_each(|parker| parker.unpark());
    }

    /// A worker that found nothing may search, if no other does.
    #[inline]
    pub(crate) fn search(&self) -> Option<Searching> {
        let seen = self.word.load(Relaxed);
        if searchers(seen) > 0 {
            return None;
        }
        self.word
            .compare_exchange(seen, seen + ONE_SEARCHER, AcqRel, Relaxed)
            .ok()
            .map(|_| Searching(()))
    }

    /// The searcher has found something, or leaves. True: it was the last one, and must look whether there is more.
    #[must_use = "the last searcher looks whether there is more"]
    pub(crate) fn stop_searching(&self, searching: Searching) -> bool {
        let Searching(()) = searching;
        searchers(self.word.fetch_sub(ONE_SEARCHER, SeqCst)) == 1
    }

    /// Announces a sleep. The worker looks at the queue once more before it parks.
    pub(crate) fn lie_down(&self, parker: &Arc<Parker>, searching: Option<Searching>) -> Asleep {
        let mut asleep = self.asleep.lock();
        asleep.push(parker.clone());
        // One step for both counts: between two there would be a moment with neither a searcher nor a sleeper.
        match searching {
            Some(Searching(())) => self.word.fetch_sub(ONE_SEARCHER - ONE_SLEEPER, SeqCst),
            None => self.word.fetch_add(ONE_SLEEPER, SeqCst),
        };
        Asleep(())
    }

    /// Sleeps until it is woken, at most `limit`; a searcher then. True: the limit passed.
    pub(crate) fn park(
        &self,
        parker: &Arc<Parker>,
        asleep: Asleep,
        limit: Option<Duration>,
    ) -> (Searching, bool) {
        if parker.park(limit) {
            let Asleep(()) = asleep;
            return (Searching(()), false);
        }
        (self.get_up(parker, asleep), true)
    }

    /// The last look found something, or the sleep is over. A searcher from now on, woken or not: producers may have left tasks to
    /// this worker.
    pub(crate) fn get_up(&self, parker: &Arc<Parker>, asleep: Asleep) -> Searching {
        let Asleep(()) = asleep;
        let mut sleeping = self.asleep.lock();
        if let Some(index) = sleeping.iter().rposition(|each| Arc::ptr_eq(each, parker)) {
            sleeping.remove(index);
            self.word.fetch_add(ONE_SEARCHER - ONE_SLEEPER, AcqRel);
            return Searching(());
        }
        drop(sleeping);
        // A waker has taken the parker out, and unparks it.
        let is_woken = parker.park(None);
        debug_assert!(is_woken, "a sleep without a limit ends by an unpark");
        Searching(())
    }
}
