//! Where the producers of a room with levels write: each record at the end of its level.
//!
//! In: records, under the producers' lock. Out: tails that hold some, as the bitmap tells those who look without a lock; and how
//! many of each level were ever let in.

use super::{Fresh, Tails};
use crate::queue::chain::AGE;
use crate::queue::counts::PerLevel;
use crate::queue::rules::rank;
use crate::queue::segment::Owned;
use crate::sync::atomic::Ordering::Release;
use crate::task::Class;
use crate::task::record::{Payload, Slot};
use crate::time::Clock;

impl Tails {
    /// The level of a class.
    #[inline]
    fn level_of(&self, class: Class) -> usize {
        usize::from(class.priority().number()).min(self.last)
    }

    /// Whether each record has its age before it.
    pub(in crate::queue) fn is_aging(&self) -> bool {
        self.ages
    }

    /// Writes a record at the end of its level; `order` is how many were accepted before it. `Err`: bring a segment.
    #[inline(always)]
    pub(in crate::queue) fn push<const AGED: bool, P: Payload>(
        &mut self,
        fresh: &Fresh,
        order: u64,
        (class, payload): (Class, P),
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        let level = self.level_of(class);
        let line = &mut self.tails[level];
        debug_assert_eq!(AGED, self.ages);
        let pushed = if AGED {
            let arrived = clock.rough_tick();
            let age = [rank(order + 1, level), arrived];
            // What is shown only may be as rough as that.
            let now = |is_sample| if is_sample { clock.tick() } else { arrived };
            line.end.push_after(age, class, payload, line.number, stamp, now)
        } else {
            line.end.push(class, payload, line.number, stamp, clock)
        };
        if let Err(payload) = pushed {
            self.wanting = level;
            return Err(payload);
        }
        line.number += 1;
        if line.end.is_first() {
            self.fresh |= 1 << level;
            fresh.tails.store(self.fresh, Release);
        }
        Ok(())
    }

    /// As [`Tails::push`], of a record that lay elsewhere.
    pub(in crate::queue) fn push_slot(
        &mut self,
        fresh: &Fresh,
        order: u64,
        slot: Slot,
        clock: &Clock,
    ) -> Result<(), Slot> {
        let level = self.level_of(slot.class());
        let line = &mut self.tails[level];
        let pushed = if self.ages {
            let arrived = clock.rough_tick();
            line.end.push_slot([rank(order + 1, level), arrived], slot)
        } else {
            line.end.push_slot([], slot)
        };
        if let Err(slot) = pushed {
            self.wanting = level;
            return Err(slot);
        }
        line.number += 1;
        self.fresh |= 1 << level;
        fresh.tails.store(self.fresh, Release);
        Ok(())
    }

    /// Takes a segment for the level that needed one last; gives it back if it has one.
    pub(in crate::queue) fn bring(&mut self, segment: Owned) -> Option<Owned> {
        self.tails[self.wanting].end.bring(segment)
    }

    /// Whether [`Tails::push`] of such a record would find memory.
    pub(in crate::queue) fn has_room_for<P: Payload>(&mut self, class: Class) -> bool {
        let level = self.level_of(class);
        let words = if self.ages { AGE } else { 0 } + 1 + P::WORDS;
        self.wanting = level;
        self.tails[level].end.has_room_for(words)
    }

    /// A task of this level got a record at the front.
    pub(in crate::queue) fn count_front(&mut self, level: usize) {
        self.front.0[level] += 1;
    }

    pub(in crate::queue) fn count_woken(&mut self, class: Class) {
        let level = self.level_of(class);
        self.woken.0[level] += 1;
    }

    pub(in crate::queue) fn put_aside(&mut self, class: Class) {
        let level = self.level_of(class);
        self.aside.0[level] += 1;
    }

    pub(in crate::queue) fn no_longer_aside(&mut self, class: Class) {
        let level = self.level_of(class);
        self.aside.0[level] -= 1;
    }

    /// Records written for tasks of each level, also for those that were moved.
    fn pushed(&self) -> PerLevel {
        let mut pushed = self.front;
        for (pushed, line) in pushed.0.iter_mut().zip(&self.tails) {
            *pushed += line.number;
        }
        pushed
    }

    /// Tasks of each level that were let in, moved ones twice.
    pub(in crate::queue) fn accepted(&self) -> PerLevel {
        let mut accepted = self.pushed();
        for (level, (aside, woken)) in accepted.0.iter_mut().zip(self.aside.0.iter().zip(self.woken.0)) {
            *level = *level + aside - woken;
        }
        accepted
    }
}
