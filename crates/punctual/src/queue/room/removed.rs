//! What leaves a room without being taken by a worker.
//!
//! In: tasks that were claimed elsewhere, whose records lie dead in the log until they are swept; and a drain, which takes
//! everything out. Out: permits back, each once. What is counted is told in [`counts`](crate::queue::counts).

use super::{DEAD_SLACK, Room};
use crate::queue::chain::{Head, Swept};
use crate::queue::producers::Gate;
use crate::queue::segment::Owned;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::task::home::Removal;
use crate::task::record::{Dead, Slot};

impl<G: Gate> Room<G> {
    /// A task left without being taken by a worker, and without ever having had a record.
    pub(crate) fn remove_aside(&self, how: Removal, level: usize) {
        // In this order: whoever sees it counted out as waiting aside sees its permit back.
        self.removed.count(how, level);
        self.removed.from_aside.fetch_add(1, AcqRel);
    }

    /// Tasks that wait where there are no records, as far as can be seen without a lock.
    pub(crate) fn waiting_aside(&self) -> u64 {
        let aside = self.aside.load(Acquire);
        let left = self.removed.from_aside.load(Acquire) + self.popped.handed.load(Acquire);
        aside.saturating_sub(left)
    }

    /// As [`Producers::accepted_so_far`](super::Producers::accepted_so_far), as far as can be seen without a lock.
    pub(crate) fn accepted_so_far(&self) -> u64 {
        self.aside.load(Acquire) + self.pushed.load(Acquire)
    }

    /// Tasks ever accepted, as far as can be seen without a lock; never too few, because what gets its record is counted
    /// there first.
    pub(super) fn accepted(&self) -> u64 {
        let aside = self.aside.load(Acquire);
        // A woken one is counted after its record.
        let woken = self.woken.load(Acquire);
        (aside + self.pushed.load(Acquire)).saturating_sub(woken) + self.pushed_to_deques()
    }

    /// A task left without being taken by a worker: its permit comes back. Says whether the dead entries need a sweep.
    #[must_use]
    pub(crate) fn remove(&self, how: Removal, level: usize) -> bool {
        self.removed.count(how, level);
        self.needs_sweep()
    }

    /// Whether the dead entries are too many.
    pub(super) fn needs_sweep(&self) -> bool {
        // Drained and evicted records count in both; the difference is what lies dead in the log. Both may be a moment old.
        let untaken = self
            .popped
            .records
            .load(Acquire)
            .saturating_add(self.popped.gone.load(Acquire))
            .saturating_sub(self.popped.taken.load(Acquire) + self.resumed());
        let without_record = self.removed.from_aside.load(Acquire);
        let from_deques = self.removed.from_deques.load(Acquire);
        let gone = untaken + without_record + from_deques;
        let dead = self.removed.sum().saturating_sub(gone);
        if dead <= DEAD_SLACK {
            return false;
        }
        let waiting = self.accepted().saturating_sub(self.permits_back());
        dead > waiting + DEAD_SLACK
    }

    /// Sweeps the dead entries out of the log.
    #[cold]
    pub(crate) fn sweep(&self) {
        let mut swept = Swept::default();
        {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
                heads.sweep(tails, &self.fresh, &mut swept);
            } else {
                consumers.head.sweep(0, &mut swept);
                producers.tail.sweep(0, &mut swept);
            }
            drop(producers);
            self.sweep_front(&mut consumers, &mut swept.dead);
            consumers.popped += swept.dead.len() as u64;
            self.popped.publish(consumers.popped, consumers.taken);
            self.sweep_handed(&mut consumers, &mut swept.dead);
        }
        for segment in swept.emptied {
            self.spare(Some(segment));
        }
        swept.dead.into_iter().for_each(Dead::let_go);
    }

    /// Claims what a drain took out, as removed. Under the lock that keeps it from being moved: a record that becomes outdated
    /// between the look and the claim would let go of a share that is another's by then.
    pub(crate) fn claim_drained(&self, slot: &Slot) -> Drawn {
        let _consumers = self.consumers.lock();
        if slot.is_woken() {
            Drawn::Gone
        } else if slot.claim_to_remove() {
            Drawn::Claimed
        } else if slot.is_elsewhere() {
            Drawn::Moved
        } else {
            Drawn::Gone
        }
    }

    /// Takes everything out, in order. The tasks are not claimed yet and still hold their permits.
    pub(crate) fn drain(&self) -> Drained {
        self.drain_with(|| ()).0
    }

    /// As [`Room::drain`]; in the same section `also` takes out what waits elsewhere.
    pub(crate) fn drain_with<R>(&self, also: impl FnOnce() -> R) -> (Drained, R) {
        let empty: Vec<Owned> = (0..2 * self.depth.max(1)).map(|_| Owned::new()).collect();
        let mut consumers = self.consumers.lock();
        let front = self.drain_front(&mut consumers);
        let mut producers = self.producers.lock();
        let mut before = 0;
        let chains = if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
            before = heads.before();
            heads.drain(tails, &self.fresh, empty)
        } else {
            // A second, dry head takes the tail's chain over.
            let mut ends = empty.into_iter().map(Head::new);
            let (Some(mut front), Some(mut back)) = (ends.next(), ends.next()) else {
                unreachable!("two for each level")
            };
            std::mem::swap(&mut consumers.head, &mut front);
            back.refill(&mut producers.tail);
            vec![front, back]
        };
        let local = self.drain_deques();
        let also = also();
        drop(producers);
        let handed = self.drain_handed(&mut consumers);
        consumers.popped += front.len() as u64 + chains.iter().map(Head::left).sum::<u64>();
        self.popped.publish(consumers.popped, consumers.taken);
        drop(consumers);
        let drained = Drained {
            front: front.into_iter(),
            chains,
            handed,
            before,
            local: local.into_iter(),
        };
        (drained, also)
    }
}

/// What became of a record that a drain took out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    Claimed,
    /// Its task has a later record, and waits.
    Moved,
    /// Its task was claimed elsewhere; or it is a future that was woken, which nobody takes out.
    Gone,
}

/// Records taken out by [`Room::drain`], in order. Dead ones are among them.
pub(crate) struct Drained {
    front: std::collections::vec_deque::IntoIter<Slot>,
    chains: Vec<Head>,
    /// What was to be taken after the first of them, and after the second; a room with levels has none.
    handed: [std::vec::IntoIter<Slot>; 2],
    /// Words before each record.
    before: usize,
    /// What lay in deques.
    local: std::vec::IntoIter<Slot>,
}

impl Iterator for Drained {
    type Item = Slot;
    fn next(&mut self) -> Option<Slot> {
        if let Some(slot) = self.front.next() {
            return Some(slot);
        }
        for (index, chain) in self.chains.iter_mut().enumerate() {
            if !chain.is_dry() {
                let mut slot = Slot::empty();
                // Arrivals do not matter any more: a number that is never a sample's.
                chain.take_after(self.before, &mut slot, 1);
                drop(chain.take_finished());
                return Some(slot);
            }
            if let Some(slot) = self.handed.get_mut(index).and_then(Iterator::next) {
                return Some(slot);
            }
        }
        self.local.next()
    }
}
