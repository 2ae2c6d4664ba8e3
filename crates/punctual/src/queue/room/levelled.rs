//! A room with levels: which one is served, and how urgent what waits is.
//!
//! In: the ends of the levels, under their locks. Out: the task that the rule chooses. A visit of the producers' lock fills
//! the heads of all levels that need it, or takes what is alone there; where one level holds tasks, no rule is asked.

use super::{Consumers, Room, Taken};
use crate::queue::kind;
use crate::queue::lines::Heads;
use crate::queue::producers::Gate;
use crate::queue::segment::Owned;
use crate::sync::Guard;
use crate::sync::atomic::Ordering::Relaxed;
use crate::task::record::Slot;
use crate::task::{Class, block::Header};
use crate::time::Tick;

impl<G: Gate> Room<G> {
    /// As [`Room::take`], of a room with levels and nothing at the front.
    #[inline(always)]
    pub(super) fn take_from_levels<const KIND: u8>(
        &self,
        mut guard: Guard<'_, Consumers>,
        slot: &mut Slot,
    ) -> Taken {
        let consumers = &mut *guard;
        let Some(heads) = &mut consumers.levels else {
            unreachable!("asked of a plain room")
        };
        let is_by_age = KIND == kind::AGING || KIND == kind::ANY;
        if is_by_age && heads.wants(&self.fresh) {
            self.refill_levels(heads);
        }
        let waiting = if is_by_age {
            heads.occupied()
        } else {
            heads.waiting(&self.fresh)
        };
        let Some(pick) = heads.choose::<KIND>(waiting) else {
            return Taken::Nothing;
        };
        let finished = match KIND {
            kind::ANY => heads.take(pick.level, slot, &self.fresh),
            kind::AGING => heads.take_as::<true>(pick.level, slot, &self.fresh),
            _ if heads.is_dry(pick.level) => self.fetch(heads, pick.level, slot),
            _ => heads.take_as::<false>(pick.level, slot, &self.fresh),
        };
        // A closure is nobody else's. Apart from the rest, which asks whose it is again and again.
        let won = if slot.is_entry() {
            let won = heads.claim::<KIND>(pick, slot);
            self.count_popped(consumers, slot, won);
            won
        } else {
            heads.got::<KIND>(pick, slot);
            self.count_taken(consumers);
            true
        };
        drop(guard);
        if finished.is_some() {
            self.spare(finished);
        }
        if won {
            return Taken::Task;
        }
        slot.let_go();
        Taken::Dead
    }

    /// As `count_popped`, of a task that somebody got.
    #[inline(always)]
    fn count_taken(&self, consumers: &mut Consumers) {
        consumers.taken += 1;
        consumers.popped += 1;
        self.popped.publish(consumers.popped, consumers.taken);
    }

    #[inline(never)]
    fn fetch(&self, heads: &mut Heads, level: usize, slot: &mut Slot) -> Option<Owned> {
        match &mut self.producers.lock().levels {
            Some(tails) => heads.fetch(level, tails, slot, &self.fresh),
            None => unreachable!("asked of a plain room"),
        }
    }

    #[inline(never)]
    fn refill_levels(&self, heads: &mut Heads) {
        if let Some(tails) = &mut self.producers.lock().levels {
            heads.refill(tails, &self.fresh);
        }
    }

    /// Whether who waits becomes more urgent.
    #[inline(always)]
    pub(crate) fn is_aging(&self) -> bool {
        self.ages
    }

    /// The level of a task with this class; 0 in a plain room.
    pub(crate) fn level_of(&self, class: Class) -> usize {
        usize::from(class.priority().number()).min(self.depth.saturating_sub(1))
    }

    /// The level a task waits in, or waited in when it was claimed; 0 in a plain room.
    pub(crate) fn level_of_task(&self, task: &Header) -> usize {
        task.level(self.depth.saturating_sub(1))
    }

    /// As above, of a record that was just taken.
    pub(super) fn level_in(&self, slot: &Slot) -> usize {
        slot.peek_entry().map_or_else(
            || self.level_of(slot.class()),
            |entry| self.level_of_task(entry.header()),
        )
    }

    /// Whether it has levels.
    pub(crate) fn is_levelled(&self) -> bool {
        self.depth > 0
    }

    /// Whether a record waits, dead ones included, that is more urgent than this level. A look without a lock.
    #[inline]
    pub(crate) fn has_more_urgent(&self, level: usize) -> bool {
        self.fresh.first().is_some_and(|first| first < level)
    }

    /// How urgent the most urgent record is, dead ones included: 0 at the front, 1 in level 0, and so on. `None`: nothing may
    /// be taken. A look without a lock.
    pub(crate) fn urgency(&self) -> Option<usize> {
        if self.looks_empty() {
            return None;
        }
        if self.has_front.load(Relaxed) {
            return Some(0);
        }
        if !self.is_levelled() {
            return Some(1);
        }
        self.fresh.first().map(|level| level + 1)
    }

    /// Whether what waits here lets a task of this urgency pass first, which waits in another room and is more urgent
    /// than anything here. To what stands at the front, always; strictly, always. With aging, until something here has waited long enough to be as urgent.
    /// With shares, until as many have passed (`passed`) as its share allows.
    pub(crate) fn yields_to(&self, urgency: usize, passed: u64) -> bool {
        if urgency == 0 {
            return true;
        }
        let mut consumers = self.consumers.lock();
        let Some(heads) = &mut consumers.levels else {
            return true;
        };
        if heads.wants(&self.fresh) {
            self.refill_levels(heads);
        }
        if heads.is_aging() {
            return heads.effective().is_none_or(|level| level + 1 > urgency);
        }
        heads.patience().is_none_or(|patience| passed < patience)
    }

    /// When the first record of each level arrived, as far as it was noted.
    pub(crate) fn oldest_of_levels(&self) -> Vec<Option<Tick>> {
        let mut oldest = Vec::with_capacity(self.depth);
        let consumers = self.consumers.lock();
        let producers = self.producers.lock();
        if let (Some(heads), Some(tails)) = (&consumers.levels, &producers.levels) {
            oldest.extend((0..heads.levels()).map(|level| heads.oldest(level, tails)));
        }
        oldest
    }
}
