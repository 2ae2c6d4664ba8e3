//! A room whose workers have deques: what they mean to the rest of it.
//!
//! In: the deques ([`locals`](crate::queue::locals)). Out: their records, taken out where the whole room is drained or
//! swept; moved to the log where a worker leaves; and the flags that are mirrored for those who take from them. Lock order:
//! consumers, producers, the list of deques, thieves.

use super::Room;
use crate::queue::deque::Local;
use crate::queue::locals::{Heed, Locals};
use crate::queue::producers::{Gate, Producers};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::task::home::Removal;
use crate::task::record::{Dead, Slot};
use crate::time::Clock;

impl<G: Gate> Room<G> {
    /// Where each worker has a deque.
    #[inline]
    pub(crate) fn locals(&self) -> Option<&Locals> {
        self.locals.as_deref()
    }

    /// Tasks that were accepted into deques.
    pub(in crate::queue) fn pushed_to_deques(&self) -> u64 {
        self.locals.as_ref().map_or(0, |locals| locals.pushed())
    }

    /// Tasks that workers took from their deques and ran in place.
    pub(in crate::queue) fn joined_from_deques(&self) -> u64 {
        self.locals.as_ref().map_or(0, |locals| locals.joined())
    }

    /// Whether no record lies in a deque, or there are none. In one order with pushes.
    pub(crate) fn are_deques_empty(&self) -> bool {
        self.locals.as_ref().is_none_or(|locals| locals.are_empty())
    }

    /// Records in deques, dead ones included.
    pub(crate) fn depth_of_deques(&self) -> u64 {
        self.locals.as_ref().map_or(0, |locals| locals.depth())
    }

    /// After a change of the flags, under the consumers' lock.
    pub(super) fn mirror_for_deques(&self) {
        if let Some(locals) = &self.locals {
            let bit = |on: bool, bit: u32| if on { bit } else { 0 };
            locals.heed.set(
                bit(self.paused.load(Relaxed), Heed::PAUSED)
                    | bit(self.barred.load(Relaxed), Heed::BARRED)
                    | bit(self.waited_for.load(Relaxed), Heed::AWAITED)
                    | bit(self.has_front.load(Relaxed), Heed::FRONT),
            );
        }
    }

    /// Whether something waits at the front; under the consumers' lock.
    pub(super) fn set_front(&self, on: bool) {
        self.has_front.store(on, Relaxed);
        self.mirror_for_deques();
    }

    /// Waits until nobody is taking from a deque who did not see the flags: then what has been taken is counted.
    pub(crate) fn settle_deques(&self) {
        if let Some(locals) = &self.locals {
            locals.settle();
        }
    }

    /// As [`Room::look`], with the way into the deques shut before the look: who puts a record in after it asks under the lock.
    pub(crate) fn look_shut<R>(&self, at: impl FnOnce(&mut Producers<G>, bool) -> R) -> R {
        let mut producers = self.producers();
        if self.locals.is_some() {
            producers.shut();
        }
        let is_empty = self.is_all_empty(&producers);
        at(&mut producers, is_empty)
    }

    /// Whether no record lies anywhere.
    pub(super) fn is_all_empty(&self, producers: &Producers<G>) -> bool {
        let is_log_empty = producers.pushed == self.popped.records.load(Acquire);
        is_log_empty && self.waiting_handed() == 0 && self.are_deques_empty()
    }

    /// Takes everything out of the deques, unclaimed.
    pub(super) fn drain_deques(&self) -> Vec<Slot> {
        let mut drained = Vec::new();
        let Some(locals) = &self.locals else {
            return drained;
        };
        for deque in locals.all() {
            deque.drain(|slot| drained.push(slot));
        }
        self.count_from_deques(drained.len());
        drained
    }

    /// Records left deques without being taken.
    pub(crate) fn count_from_deques(&self, records: usize) {
        self.removed.from_deques.fetch_add(records as u64, AcqRel);
    }

    /// Puts what is left in a worker's deque into the log: nobody will take it from there. Says whether there was something.
    pub(crate) fn hand_over(&self, local: &Local, clock: &Clock) -> bool {
        // Under this lock: whoever looks for work under it sees each record in the deque or in the log.
        let mut producers = self.producers();
        let mut found = 0;
        local.deque().drain(|slot| {
            found += 1;
            self.move_to_log(&mut producers, slot, clock);
        });
        found > 0
    }

    fn move_to_log(&self, producers: &mut Producers<G>, mut slot: Slot, clock: &Clock) {
        let level = self.level_of(slot.class());
        slot.arrival = None;
        producers.push_slot(self, slot, clock);
        // The record in the deque gives its permit back, the new one has brought its own.
        self.removed.count(Removal::Moved, level);
        self.count_from_deques(1);
    }

    /// Sweeps the deques' dead records out; live ones go to the log. Says whether there were some.
    pub(crate) fn sweep_deques(&self, clock: &Clock) -> bool {
        let Some(locals) = &self.locals else { return false };
        let mut is_moved = false;
        let mut dead: Vec<Dead> = Vec::new();
        for deque in locals.all() {
            let mut producers = self.producers();
            deque.drain(|mut slot| {
                if slot.is_dead() {
                    self.count_from_deques(1);
                    dead.extend(slot.take_dead());
                } else {
                    is_moved = true;
                    self.move_to_log(&mut producers, slot, clock);
                }
            });
        }
        dead.into_iter().for_each(Dead::let_go);
        is_moved
    }

    /// As [`Room::evict_for_its_place`], where nothing is left in the log: the oldest of some deque.
    pub(super) fn evict_from_deques(
        &self,
        producers: &mut Producers<G>,
        below: Option<usize>,
        dead: &mut Vec<Dead>,
    ) -> Option<Slot> {
        let locals = self.locals.as_ref()?;
        if below.is_some_and(|below| locals.level() <= below) {
            return None;
        }
        let mut discard = |mut slot: Slot| {
            self.count_from_deques(1);
            dead.extend(slot.take_dead());
        };
        let slot = locals
            .all()
            .iter()
            .find_map(|deque| deque.take_one(Slot::claim_to_remove, &mut discard))?;
        self.count_from_deques(1);
        self.removed.count(Removal::Evicted, locals.level());
        producers.reserve();
        Some(slot)
    }
}
