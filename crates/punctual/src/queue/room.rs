//! The plain waiting room: a log behind two locks.
//!
//! In: records, accepted or refused under the producers' lock. Out: records, one at a time, under the consumers'
//! lock, in the order in which they were accepted. Lock order: consumers before producers. Nothing
//! user-written happens under either lock, and nothing is allocated there but a list of dead entries. What is counted is
//! in [`counts`](super::counts), what producers decide in [`producers`](super::producers).
//!
//! **Layout.** What producers write and what consumers write lie on different cache lines; the test
//! `sides_do_not_share_lines` holds that. (With both on one line a push takes five times as long.)

use super::Capacity;
use super::chain::{Head, Swept};
use super::counts::{Popped, Removed, Tally};
use super::producers::{Gate, Producers};
use super::segment::Owned;
use crate::sync::atomic::Ordering::{Acquire, Relaxed};
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{Guard, Lock, Padded};
use crate::task::home::Removal;
use crate::task::record::Slot;
use crate::task::state::Claim;
use crate::time::Tick;

/// Spare segments are kept up to this many, one megabyte; a longer burst's memory goes back to the allocator.
const MAX_SPARES: usize = 256;

/// Dead entries may be this many more than live ones before they are swept out.
const DEAD_SLACK: u64 = 1024;

/// A log, its locks, and its counts. `G` is what the pool keeps under the producers' lock beside them.
#[repr(C)]
pub(crate) struct Room<G> {
    producers: Padded<Lock<Producers<G>>>,
    /// Mirror of [`Producers::pushed`], for those who look without the lock.
    pub(super) pushed: Padded<AtomicU64>,
    consumers: Padded<Lock<Consumers>>,
    popped: Padded<Popped>,
    pub(super) removed: Removed,
    /// Mirrors of the flags that are set under both locks.
    paused: AtomicBool,
    waited_for: AtomicBool,
    spares: Lock<Vec<Owned>>,
}

struct Consumers {
    head: Head,
    /// Records that left the log.
    popped: u64,
    /// Those among them that a worker took.
    taken: u64,
    /// Whether there is more to do than to take the head: nothing may be taken, or somebody waits for room.
    heed: bool,
}

/// What a look at the head gave.
enum Taken {
    Task,
    /// An entry whose task was claimed elsewhere.
    Dead,
    Nothing,
}

impl<G: Gate> Room<G> {
    pub(crate) fn new(capacity: Capacity, gate: G) -> Self {
        Room {
            producers: Padded(Lock::new(Producers::new(capacity, gate))),
            pushed: Padded(AtomicU64::new(0)),
            consumers: Padded(Lock::new(Consumers {
                head: Head::new(Owned::new()),
                popped: 0,
                taken: 0,
                heed: false,
            })),
            popped: Padded(Popped::new()),
            removed: Removed::new(),
            paused: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
            spares: Lock::new(Vec::new()),
        }
    }

    /// The producers' side: acceptance is decided while this is held.
    #[inline]
    pub(crate) fn producers(&self) -> Guard<'_, Producers<G>> {
        self.producers.lock()
    }

    /// Brings a segment to the producers, from the spares or fresh.
    #[cold]
    pub(crate) fn bring(&self) {
        let spare = self.spares.lock().pop();
        let segment = spare.unwrap_or_else(Owned::new);
        let extra = self.producers().tail.bring(segment);
        self.spare(extra);
    }

    fn spare(&self, segment: Option<Owned>) {
        let Some(mut segment) = segment else { return };
        segment.reset();
        let mut spares = self.spares.lock();
        if spares.len() < MAX_SPARES {
            spares.push(segment);
        }
    }

    /// Permits that came back: counts that only grow, so the sum is never more than the truth.
    pub(super) fn permits_back(&self) -> u64 {
        self.popped.taken.load(Acquire) + self.removed.sum()
    }

    /// Moves the oldest waiting record into the slot, claimed. False: nothing waits, or nothing may be taken. `heed` is
    /// called, without a lock, if somebody waits for room.
    #[inline]
    pub(crate) fn pop(&self, slot: &mut Slot, heed: impl FnOnce()) -> bool {
        loop {
            let consumers = self.consumers.lock();
            if consumers.heed {
                drop(consumers);
                return self.pop_heeding(slot, heed);
            }
            match self.take(consumers, slot) {
                Taken::Task => return true,
                Taken::Nothing => return false,
                Taken::Dead => {}
            }
        }
    }

    #[cold]
    fn pop_heeding(&self, slot: &mut Slot, heed: impl FnOnce()) -> bool {
        let found = loop {
            let consumers = self.consumers.lock();
            // Exact: the flag changes under both locks.
            if self.paused.load(Relaxed) {
                break false;
            }
            match self.take(consumers, slot) {
                Taken::Task => break true,
                Taken::Nothing => break false,
                Taken::Dead => {}
            }
        };
        heed();
        if self.waited_for.load(Relaxed) {
            // The line may have ended.
            self.attend(|_| ());
        }
        found
    }

    /// The look of a worker for which a place is kept beyond the capacity: as [`Room::pop`], and in the same section `warm`
    /// tells the gate that the place is needed no more. While a submission is on its way, which may be the one the worker
    /// was started for, the place is kept: `None`.
    pub(crate) fn pop_first(&self, slot: &mut Slot, warm: impl FnOnce(&mut G)) -> Option<bool> {
        let mut dead = Vec::new();
        let found = {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            let found = loop {
                if producers.paused {
                    break false;
                }
                if consumers.head.is_dry() {
                    if producers.tail.is_empty() {
                        break false;
                    }
                    consumers.head.refill(&mut producers.tail);
                }
                if self.take_head(&mut consumers, slot) {
                    break true;
                }
                dead.extend(slot.take_entry());
            };
            if found || producers.reserved == 0 {
                warm(&mut producers.gate);
                producers.shut();
                Some(found)
            } else {
                None
            }
        };
        for entry in dead {
            entry.let_go();
        }
        found
    }

    #[inline(always)]
    fn take(&self, mut consumers: Guard<'_, Consumers>, slot: &mut Slot) -> Taken {
        if consumers.head.is_dry() {
            // Without the tail's lock first: a consumer that finds nothing must not slow the producers down.
            if self.pushed.load(Acquire) == consumers.popped {
                return Taken::Nothing;
            }
            consumers.head.refill(&mut self.producers.lock().tail);
        }
        let won = self.take_head(&mut consumers, slot);
        let finished = consumers.head.take_finished();
        drop(consumers);
        if finished.is_some() {
            self.spare(finished);
        }
        if won {
            return Taken::Task;
        }
        if let Some(entry) = slot.take_entry() {
            entry.let_go();
        }
        Taken::Dead
    }

    /// Moves the head into the slot and claims it; false: claimed elsewhere before. The head is not dry.
    #[inline(always)]
    fn take_head(&self, consumers: &mut Consumers, slot: &mut Slot) -> bool {
        let number = consumers.popped;
        consumers.head.take(slot, number);
        // Under the lock: the order of claims is the order of the log, and the permit comes back once.
        let lost = slot
            .peek_entry()
            .is_some_and(|entry| entry.header().state.claim() == Claim::Lost);
        consumers.popped += 1;
        if !lost {
            consumers.taken += 1;
        }
        self.popped.publish(consumers.popped, consumers.taken);
        !lost
    }

    /// Takes the oldest waiting task out, claimed as removed and counted as evicted, and reserves its place for the
    /// caller in the same section: nobody else gets it.
    pub(crate) fn evict_for_its_place(&self) -> Option<Slot> {
        let mut dead = Vec::new();
        let evicted = {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            loop {
                if consumers.head.is_dry() {
                    if producers.tail.is_empty() {
                        break None;
                    }
                    consumers.head.refill(&mut producers.tail);
                }
                let mut slot = Slot::empty();
                let number = consumers.popped;
                consumers.head.take(&mut slot, number);
                let lost = slot
                    .peek_entry()
                    .is_some_and(|entry| entry.header().state.claim_to_remove() == Claim::Lost);
                consumers.popped += 1;
                self.popped.publish(consumers.popped, consumers.taken);
                if !lost {
                    self.removed.count(Removal::Evicted);
                    producers.reserve();
                    break Some(slot);
                }
                dead.extend(slot.take_entry());
            }
        };
        for entry in dead {
            entry.let_go();
        }
        evicted
    }

    /// Runs `f` under both locks: whoever takes a task after this sees what it changed in the gate.
    pub(crate) fn attend<R>(&self, f: impl FnOnce(&mut Producers<G>) -> R) -> R {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        let answer = f(&mut producers);
        let is_waited_for = producers.gate.is_waited_for();
        self.waited_for.store(is_waited_for, Relaxed);
        self.paused.store(producers.paused, Relaxed);
        consumers.heed = producers.paused || is_waited_for;
        answer
    }

    /// Whether submissions wait for room; a hint without a lock.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waited_for.load(Relaxed)
    }

    /// From now on nothing is taken, or everything again. A closed room does not pause. Says whether it changed.
    pub(crate) fn set_paused(&self, paused: bool) -> bool {
        self.attend(|producers| {
            let changes = producers.paused != paused && !(paused && producers.closed);
            if changes {
                producers.paused = paused;
            }
            changes
        })
    }

    /// Two loads; may be old, both ways.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.pushed.load(Acquire) == self.popped.records.load(Acquire) || self.paused.load(Relaxed)
    }

    /// Whether nothing is in the log, or nothing may be taken, seen under the producers' lock: whoever pushes after this has taken that lock
    /// after us, and sees what we wrote before it. The idle protocol stands on this.
    pub(crate) fn is_empty(&self) -> bool {
        self.look(|producers, is_empty| is_empty || producers.paused)
    }

    /// [`Room::is_empty`], without the exception, and what the gate says in the same moment.
    pub(crate) fn look<R>(&self, at: impl FnOnce(&mut Producers<G>, bool) -> R) -> R {
        let mut producers = self.producers.lock();
        let is_empty = producers.pushed == self.popped.records.load(Acquire);
        at(&mut producers, is_empty)
    }

    /// A task left without being taken by a worker: its permit comes back. Says whether the dead entries need a sweep.
    #[must_use]
    pub(crate) fn remove(&self, how: Removal) -> bool {
        self.removed.count(how);
        // Drained and evicted records count in both; the difference is what lies dead in the log. Both may be a moment old.
        let untaken = self
            .popped
            .records
            .load(Acquire)
            .saturating_sub(self.popped.taken.load(Acquire));
        let dead = self.removed.sum().saturating_sub(untaken);
        if dead <= DEAD_SLACK {
            return false;
        }
        let waiting = self.pushed.load(Acquire).saturating_sub(self.permits_back());
        dead > waiting + DEAD_SLACK
    }

    /// Sweeps the dead entries out.
    #[cold]
    pub(crate) fn sweep(&self) {
        let mut swept = Swept::default();
        {
            let mut consumers = self.consumers.lock();
            consumers.head.sweep(&mut swept);
            self.producers.lock().tail.sweep(&mut swept);
            consumers.popped += swept.dead.len() as u64;
            self.popped.publish(consumers.popped, consumers.taken);
        }
        for segment in swept.emptied {
            self.spare(Some(segment));
        }
        for entry in swept.dead {
            entry.let_go();
        }
    }

    /// Takes everything out, in order. The tasks are not claimed yet and still hold their permits.
    pub(crate) fn drain(&self) -> Drained {
        let (first, second) = (Owned::new(), Owned::new());
        let mut consumers = self.consumers.lock();
        let front = consumers.head.detach(first);
        // A second, dry head takes the tail's chain over.
        let mut back = Head::new(second);
        back.refill(&mut self.producers.lock().tail);
        consumers.popped += front.left() + back.left();
        self.popped.publish(consumers.popped, consumers.taken);
        drop(consumers);
        Drained {
            chains: [front, back],
        }
    }

    /// The counts at one moment, and what the gate says. While `settled` runs no task can be taken from the log, so what
    /// it reads of ended tasks fits the taken ones; what joiners take in place is read after it.
    pub(crate) fn tally<R, S>(&self, settled: impl FnOnce() -> R, at: impl FnOnce(&G) -> S) -> (Tally, R, S) {
        let consumers = self.consumers.lock();
        let settled = settled();
        let (taken, joined) = (consumers.taken, self.removed.joined.load(Acquire));
        let (cancelled, returned) = (
            self.removed.cancelled.load(Acquire),
            self.removed.returned.load(Acquire),
        );
        let evicted = self.removed.evicted.load(Acquire);
        let expired = self.removed.expired.load(Acquire);
        let producers = self.producers.lock();
        let tally = Tally {
            pushed: producers.pushed,
            taken,
            cancelled,
            returned,
            evicted,
            expired,
            joined,
            capacity: producers.capacity,
            paused: producers.paused,
        };
        let at = at(&producers.gate);
        (tally, settled, at)
    }

    /// As [`Room::tally`] without locks: each number is true of some moment, but not all of the same.
    pub(crate) fn glance(&self) -> (u64, u64) {
        let pushed = self.pushed.load(Acquire);
        (pushed, pushed.saturating_sub(self.permits_back()))
    }

    /// Where the fields lie that different sides write.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) const fn field_offsets() -> [usize; 4] {
        use std::mem::offset_of;
        [
            offset_of!(Self, producers),
            offset_of!(Self, pushed),
            offset_of!(Self, consumers),
            offset_of!(Self, popped),
        ]
    }

    /// When the record at the head arrived, as far as it was noted.
    pub(crate) fn oldest(&self) -> Option<Tick> {
        let consumers = self.consumers.lock();
        let arrived = if consumers.head.is_dry() {
            let producers = self.producers.lock();
            if producers.tail.is_empty() {
                return None;
            }
            producers.tail.opened()
        } else {
            consumers.head.arrived()
        };
        (arrived != 0).then_some(arrived)
    }
}

/// Records taken out by [`Room::drain`], in order.
pub(crate) struct Drained {
    chains: [Head; 2],
}

impl Iterator for Drained {
    type Item = Slot;
    fn next(&mut self) -> Option<Slot> {
        let chain = self.chains.iter_mut().find(|chain| !chain.is_dry())?;
        let mut slot = Slot::empty();
        // Arrivals do not matter any more: a number that is never a sample's.
        chain.take(&mut slot, 1);
        drop(chain.take_finished());
        Some(slot)
    }
}
