//! Taking a task out for another.
//!
//! In: a full room. Out: the task that makes place: the oldest of the least urgent level, claimed and counted as evicted, its
//! place reserved for whoever asked. And what was taken out and must wait on, put back. Not here: tasks in the lines of
//! views, which `pool/views/evicted.rs` throws out.

use super::{Consumers, FRONT, Room};
use crate::queue::producers::{Gate, Producers};
use crate::task::Class;
use crate::task::block::Entry;
use crate::task::home::Removal;
use crate::task::record::{Dead, Slot, Woken};
use crate::time::Clock;

impl<G: Gate> Room<G> {
    /// Takes a waiting task out, claimed as removed and counted as evicted, and reserves its place for the caller in the
    /// same section: nobody else gets it. The oldest, of the least urgent level; with `below`, of one that is less urgent
    /// than that.
    pub(crate) fn evict_for_its_place(&self, below: Option<usize>, clock: &Clock) -> Option<Slot> {
        let mut dead = Vec::new();
        // Nobody throws out a future that has begun: they go to the end, without places, once the search is over.
        let mut woken = Vec::new();
        let evicted = {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            let evicted = loop {
                let mut slot = Slot::empty();
                let Some(last) = self.take_last(&mut consumers, &mut producers, below, &mut slot) else {
                    break None;
                };
                if slot.is_woken() {
                    self.count_popped(&mut consumers, &slot, false);
                    let class = slot.class();
                    woken.extend(slot.take_entry().map(|entry| (class, entry)));
                    continue;
                }
                let won = slot.claim_to_remove();
                consumers.popped += u64::from(last.is_record);
                self.popped.publish(consumers.popped, consumers.taken);
                if won {
                    self.removed.count(Removal::Evicted, last.level);
                    producers.reserve();
                    break Some(slot);
                }
                dead.extend(slot.take_dead());
            };
            for (class, entry) in woken {
                self.put_back(&mut producers, class, entry, clock);
            }
            evicted.or_else(|| self.evict_from_deques(&mut producers, below, &mut dead))
        };
        dead.into_iter().for_each(Dead::let_go);
        evicted
    }

    /// Writes the record of a woken future again that was taken out, at the end of its level.
    pub(super) fn put_back(&self, producers: &mut Producers<G>, class: Class, entry: Entry, clock: &Clock) {
        producers.push_surely(self, class, Woken(entry), false, clock);
        producers.count_woken(self, class);
        producers.count_put_back();
    }

    /// The same of one that a drain took out, and did not count.
    pub(crate) fn put_drained_back(&self, class: Class, entry: Entry, clock: &Clock) {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        self.count_resumed(&mut consumers);
        self.put_back(&mut producers, class, entry, clock);
    }

    /// Moves what is worth least into the slot.
    pub(super) fn take_last(
        &self,
        consumers: &mut Consumers,
        producers: &mut Producers<G>,
        below: Option<usize>,
        slot: &mut Slot,
    ) -> Option<Last> {
        let record = |level| Last {
            level,
            is_record: true,
        };
        if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
            heads.refill(tails, &self.fresh);
            if let Some(level) = heads.last(below) {
                drop(heads.take(level, slot, &self.fresh));
                heads.took_none(level);
                return Some(record(level));
            }
        } else if below.is_none() {
            if consumers.head.is_dry() && !consumers.returns.has_now() {
                self.refill(consumers, producers);
            }
            if !consumers.head.is_dry() {
                let number = consumers.popped;
                consumers.head.take(slot, number);
                return Some(record(0));
            }
            if self.take_handed_out(consumers, slot) {
                return Some(Last {
                    level: 0,
                    is_record: false,
                });
            }
        }
        // Only what was moved to the front is left.
        if below.is_some() || consumers.heed & FRONT == 0 {
            return None;
        }
        consumers.take_front(slot);
        self.set_front(consumers.heed & FRONT != 0);
        Some(record(self.level_in(slot)))
    }
}

/// What was taken out.
pub(super) struct Last {
    level: usize,
    /// It lay in the log, or at the front.
    is_record: bool,
}
