//! Who sleeps, who searches, whom to wake. The protocol and its argument are the essay below, `idle.md`.
//!
//! In: workers that ran dry, producers that pushed. Out: as few wake-ups as keep every pushed task from waiting
//! beside a sleeping worker. Not here: the queue, deadlines and the manual clock
//! (the park itself goes through [`Clock::wait`](crate::time::Clock)).
//!
#![doc = include_str!("idle.md")]

use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use crate::sync::{Arc, Lock, WaitWord};
use std::fmt;

const ONE_SLEEPER: u32 = 1;
const ONE_SEARCHER: u32 = 1 << 16;
/// Sleepers and searchers have sixteen bits each, so this many workers can be counted.
pub(crate) const MAX_WORKERS: usize = (1 << 15) - 1;

/// A reading of the idle word.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reading(u32);

impl Reading {
    #[inline]
    pub(crate) fn sleepers(self) -> usize {
        (self.0 & (ONE_SEARCHER - 1)) as usize
    }
    #[inline]
    pub(crate) fn searchers(self) -> usize {
        (self.0 >> 16) as usize
    }
    /// Workers without a task.
    pub(crate) fn idle(self) -> usize {
        self.sleepers() + self.searchers()
    }
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} asleep, {} searching", self.sleepers(), self.searchers())
    }
}

/// A worker's bed: the bit is set by whoever wakes it.
#[derive(Debug)]
pub(crate) struct Bed {
    pub(crate) word: WaitWord,
}

impl Bed {
    /// The bit of [`Bed::word`] that says "get up".
    pub(crate) const CALLED: u32 = 1;

    pub(crate) fn new() -> Self {
        Bed {
            word: WaitWord::new(0),
        }
    }

    /// Release pairs with the acquire of the sleeper's look. What the sleeper does next, a pop, is ordered by the
    /// queue's own locks, so no model needs it.
    pub(crate) fn call(&self) {
        self.word.0.fetch_or(Self::CALLED, Release);
        self.word.wake_all();
    }

    /// Whether somebody has called.
    pub(crate) fn is_called(&self) -> bool {
        self.word.load() & Self::CALLED != 0
    }

    /// Forgets a call that was answered.
    pub(crate) fn make(&self) {
        self.word.0.fetch_and(!Self::CALLED, Acquire);
    }
}

/// Evidence that this worker is counted as searching: it must end as found or as asleep.
#[derive(Debug)]
#[must_use = "a searcher that goes away uncounted leaves every later task asleep"]
pub(crate) struct Searching(());

/// Evidence that this worker is counted as asleep and lies in the stack of beds.
#[derive(Debug)]
#[must_use = "a sleeper must get up through `called` or `rise`"]
pub(crate) struct Asleep(());

/// The idle side of a pool.
#[derive(Debug)]
pub(crate) struct Idle {
    word: AtomicU32,
    /// The last to fall asleep is the first to be woken: its cache is the warmest, and the others' rest is longest.
    beds: Lock<Vec<Arc<Bed>>>,
}

impl Idle {
    pub(crate) fn new() -> Self {
        Idle {
            word: AtomicU32::new(0),
            beds: Lock::new(Vec::new()),
        }
    }

    #[inline]
    pub(crate) fn read(&self) -> Reading {
        Reading(self.word.load(Acquire))
    }

    /// Something was pushed, or a searcher found something and more is there. Wakes one sleeper, if there is one and
    /// nobody is searching already. Says whether it woke somebody.
    ///
    /// For a caller that has just left the producers' lock the load might be as weak as Acquire: step 1 of the essay. For one
    /// that has put a record into its deque it is in one order with that: step 5.
    #[inline]
    pub(crate) fn notify(&self) -> bool {
        let reading = Reading(self.word.load(SeqCst));
        if reading.sleepers() == 0 || reading.searchers() > 0 {
            return false;
        }
        self.wake_one()
    }

    #[cold]
    fn wake_one(&self) -> bool {
        let bed = {
            let mut beds = self.beds.lock();
            if self.read().searchers() > 0 {
                return false;
            }
            let Some(bed) = beds.pop() else { return false };
            // On behalf of the sleeper: from here on it counts as searching, so that nobody wakes a second one
            // while the first is still getting up.
            self.word.fetch_add(ONE_SEARCHER - ONE_SLEEPER, AcqRel);
            bed
        };
        bed.call();
        true
    }

    /// Wakes the worker in this bed, if it still lies there.
    pub(crate) fn call(&self, bed: &Arc<Bed>) {
        {
            let mut beds = self.beds.lock();
            let Some(index) = beds.iter().rposition(|each| Arc::ptr_eq(each, bed)) else {
                return;
            };
            beds.remove(index);
            self.word.fetch_add(ONE_SEARCHER - ONE_SLEEPER, AcqRel);
        }
        bed.call();
    }

    /// Wakes everybody: the pool is closing.
    pub(crate) fn wake_all(&self) {
        let called = {
            let mut beds = self.beds.lock();
            let called = std::mem::take(&mut *beds);
            let count = u32::try_from(called.len()).expect("fewer workers than the word can count");
            self.word.fetch_add(count * (ONE_SEARCHER - ONE_SLEEPER), AcqRel);
            called
        };
        for bed in called {
            bed.call();
        }
    }

    /// A worker ran dry: it may search (spin) if nobody does.
    #[inline]
    pub(crate) fn search(&self) -> Option<Searching> {
        let seen = self.word.load(Relaxed);
        if Reading(seen).searchers() > 0 {
            return None;
        }
        self.word
            .compare_exchange(seen, seen + ONE_SEARCHER, AcqRel, Relaxed)
            .ok()
            .map(|_| Searching(()))
    }

    /// The searcher has a task. True: it was the last searcher, and owes the queue a look and perhaps a notify.
    #[must_use = "the last searcher must look whether more is waiting"]
    pub(crate) fn found(&self, searching: Searching) -> bool {
        let Searching(()) = searching;
        Reading(self.word.fetch_sub(ONE_SEARCHER, AcqRel)).searchers() == 1
    }

    /// Lies down: counted as asleep, and no longer as searching. The worker must look at the queue once more, under
    /// the producers' lock, before it closes its eyes: step 2 of the essay.
    pub(crate) fn lie_down(&self, bed: &Arc<Bed>, searching: Option<Searching>) -> Asleep {
        let mut beds = self.beds.lock();
        beds.push(bed.clone());
        // One step for both counts: between two there would be a moment with neither a searcher nor a sleeper. For the
        // log the essay's argument needs no ordering here but that of the producers' lock; for the deques it needs this one.
        match searching {
            Some(Searching(())) => self.word.fetch_sub(ONE_SEARCHER - ONE_SLEEPER, SeqCst),
            None => self.word.fetch_add(ONE_SLEEPER, SeqCst),
        };
        Asleep(())
    }

    /// The bed's word says that somebody called.
    pub(crate) fn called(&self, bed: &Bed, asleep: Asleep) -> Searching {
        let Asleep(()) = asleep;
        bed.make();
        Searching(())
    }

    /// Gets up by itself: the last look found something, or a deadline has come. Counted as searching from then on,
    /// also if nobody called: while this worker was a searcher, producers left more than one task to it, and only a
    /// searcher passes the word on (model `the_last_searcher_passes_the_word_on`).
    pub(crate) fn rise(&self, bed: &Arc<Bed>, asleep: Asleep) -> Searching {
        let mut beds = self.beds.lock();
        if let Some(index) = beds.iter().rposition(|each| Arc::ptr_eq(each, bed)) {
            beds.remove(index);
            self.word.fetch_add(ONE_SEARCHER - ONE_SLEEPER, AcqRel);
            let Asleep(()) = asleep;
            return Searching(());
        }
        drop(beds);
        // A waker has taken the bed out and is about to set the bit, if it has not yet.
        loop {
            let seen = bed.word.load();
            if seen & Bed::CALLED != 0 {
                return self.called(bed, asleep);
            }
            bed.word.sleep(seen, None);
        }
    }
}
