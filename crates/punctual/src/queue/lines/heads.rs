//! Where the consumers of a room with levels read: from the level that the rule chooses.
//!
//! In: whole chains, out of the tails of levels whose head is dry. Out: one record at a time, under the consumers' lock, claimed and
//! counted. Whoever takes knows the rule when the code is made, and pays for no other.

use super::{Fresh, Heads, Tails};
use crate::queue::chain::AGE;
use crate::queue::counts::PerLevel;
use crate::queue::levels::kind::{AGING, ANY, SHARES, STRICT};
use crate::queue::rules::{Heads as Seen, LEVELS, Pick, Rule};
use crate::queue::segment::Owned;
use crate::sync::atomic::Ordering::Release;
use crate::task::record::Slot;

impl Heads {
    pub(in crate::queue) fn levels(&self) -> usize {
        self.heads.len()
    }

    /// Words before each record.
    #[inline]
    pub(in crate::queue) fn before(&self) -> usize {
        if self.is_aging() { AGE } else { 0 }
    }

    #[inline]
    pub(in crate::queue) fn is_aging(&self) -> bool {
        matches!(self.rule, Rule::Aging(_))
    }

    /// Whether there is a level to be fetched whose head is dry.
    #[inline]
    pub(in crate::queue) fn wants(&self, fresh: &Fresh) -> bool {
        fresh.tails() & !self.occupied != 0
    }

    /// The levels that hold records, at either end, as far as the tails tell those who look without their lock.
    #[inline]
    pub(in crate::queue) fn waiting(&self, fresh: &Fresh) -> u32 {
        self.occupied | fresh.tails()
    }

    /// The levels whose head is not dry.
    #[inline]
    pub(in crate::queue) fn occupied(&self) -> u32 {
        self.occupied
    }

    /// Whether the first record of a level, if there is one, lies at its tail.
    #[inline]
    pub(in crate::queue) fn is_dry(&self, level: usize) -> bool {
        self.occupied >> level & 1 == 0
    }

    /// As [`Heads::take`] of a level whose head is dry and whose tail is not, in a room whose records have no age. What is alone
    /// there, as where each task is followed by the next, does not go by the head.
    pub(in crate::queue) fn fetch(
        &mut self,
        level: usize,
        tails: &mut Tails,
        slot: &mut Slot,
        fresh: &Fresh,
    ) -> Option<Owned> {
        let is_alone = tails.fresh & !self.occupied == 1 << level;
        let (line, tail) = (&mut self.heads[level], &mut tails.tails[level].end);
        if !is_alone || !tail.is_first() {
            self.refill(tails, fresh);
            return self.take_as::<false>(level, slot, fresh);
        }
        tail.take_only(slot, line.number);
        line.number += 1;
        self.drained.0[level] += 1;
        tails.fresh &= !(1 << level);
        fresh.tails.store(tails.fresh, Release);
        None
    }

    /// Fetches what lies in the tails of all levels whose head is dry.
    pub(in crate::queue) fn refill(&mut self, tails: &mut Tails, fresh: &Fresh) {
        let mut wanted = tails.fresh & !self.occupied;
        self.occupied |= wanted;
        tails.fresh &= !wanted;
        // In this order: see `Fresh::first`.
        fresh.heads.store(self.occupied, Release);
        fresh.tails.store(tails.fresh, Release);
        while wanted != 0 {
            let level = wanted.trailing_zeros() as usize;
            wanted &= wanted - 1;
            self.heads[level].end.refill(&mut tails.tails[level].end);
            self.look_at_head(level);
        }
    }

    pub(super) fn look_at_head(&mut self, level: usize) {
        if self.is_aging() {
            (self.ranks[level], self.stamps[level]) = self.heads[level].end.age();
        }
    }

    /// Chooses the level that is served next, for a caller who knows the rule, so that none looks at what another needs.
    /// `None`: none holds a record. A rule that goes by age knows only those that lie at the heads.
    #[inline(always)]
    pub(in crate::queue) fn choose<const KIND: u8>(&mut self, occupied: u32) -> Option<Pick> {
        if occupied == 0 {
            return None;
        }
        let first = occupied.trailing_zeros() as usize & (LEVELS - 1);
        let seen = Seen {
            occupied: occupied as u8,
            stamps: &self.stamps,
            ranks: &self.ranks,
        };
        let now = || self.clock.rough_tick();
        let level = match KIND {
            STRICT => first,
            // The only one: no rule is asked, and no clock.
            AGING if occupied & (occupied - 1) == 0 => first,
            AGING => self.rule.choose_by_age(&seen, first, now),
            SHARES => self.rule.choose_by_share(&seen, first),
            _ => return self.rule.choose(&seen, now),
        };
        let promoted = KIND == AGING && level != first;
        Some(Pick { level, promoted })
    }

    /// A worker got the task that was taken from the chosen level.
    #[inline(always)]
    pub(in crate::queue) fn got<const KIND: u8>(&mut self, pick: Pick, slot: &mut Slot) {
        if (KIND == AGING || KIND == ANY) && pick.promoted {
            self.promoted.0[pick.level] += 1;
            slot.promoted = true;
        }
        if KIND == SHARES || KIND == ANY {
            self.rule.took(pick.level);
        }
    }

    /// As those two, with what lies between them: chooses, takes and claims. Says whether it is a task that the caller got.
    /// What is left of a segment goes.
    pub(in crate::queue) fn next(&mut self, slot: &mut Slot, fresh: &Fresh) -> Option<bool> {
        let pick = self.choose::<ANY>(self.occupied)?;
        drop(self.take(pick.level, slot, fresh));
        Some(self.claim::<ANY>(pick, slot))
    }

    /// Claims what was taken from the chosen level; false: it was dead.
    #[inline(always)]
    pub(in crate::queue) fn claim<const KIND: u8>(&mut self, pick: Pick, slot: &mut Slot) -> bool {
        let won = slot.claim();
        if !won || slot.is_woken() {
            self.took_none(pick.level);
        }
        if won {
            self.got::<KIND>(pick, slot);
        }
        won
    }

    /// Moves the head of a level that is not dry into the slot; gives a segment that nobody needs any more.
    #[inline(always)]
    pub(in crate::queue) fn take(&mut self, level: usize, slot: &mut Slot, fresh: &Fresh) -> Option<Owned> {
        if self.is_aging() {
            self.take_as::<true>(level, slot, fresh)
        } else {
            self.take_as::<false>(level, slot, fresh)
        }
    }

    /// As [`Heads::take`], for a caller who knows whether records have an age.
    #[inline(always)]
    pub(in crate::queue) fn take_as<const AGED: bool>(
        &mut self,
        level: usize,
        slot: &mut Slot,
        fresh: &Fresh,
    ) -> Option<Owned> {
        let line = &mut self.heads[level];
        if AGED {
            line.end.take_settled(AGE, slot, line.number);
        } else {
            line.end.take(slot, line.number);
        }
        line.number += 1;
        let finished = line.end.take_finished();
        if line.end.is_dry() {
            self.dried_up(level, fresh);
        } else if AGED {
            (self.ranks[level], self.stamps[level]) = line.end.age();
        }
        finished
    }

    #[inline(never)]
    fn dried_up(&mut self, level: usize, fresh: &Fresh) {
        self.occupied &= !(1 << level);
        self.ranks[level] = u64::MAX;
        self.drained.0[level] += u64::from(fresh.tails() >> level & 1 == 0);
        fresh.heads.store(self.occupied, Release);
    }

    /// What was taken is no task that a worker got.
    #[cold]
    pub(in crate::queue) fn took_none(&mut self, level: usize) {
        self.untaken.0[level] += 1;
    }

    /// A worker got a task of this level from the front.
    pub(in crate::queue) fn took_front(&mut self, level: usize) {
        self.front.0[level] += 1;
    }

    /// Tasks of each level that workers took.
    pub(in crate::queue) fn taken(&self) -> PerLevel {
        let mut taken = self.front;
        for (level, line) in self.heads.iter().enumerate() {
            taken.0[level] += line.number - self.untaken.0[level];
        }
        taken
    }

    /// The least urgent level that is not dry and, if one is given, less urgent than that.
    pub(in crate::queue) fn last(&self, below: Option<usize>) -> Option<usize> {
        let last = (u32::BITS - self.occupied.leading_zeros()).checked_sub(1)? as usize;
        below.is_none_or(|below| last > below).then_some(last)
    }

    /// How urgent the most urgent of them counts by now.
    pub(in crate::queue) fn effective(&self) -> Option<usize> {
        let now = self.clock.rough_tick();
        let occupied = (0..self.levels()).filter(|level| self.occupied >> level & 1 == 1);
        occupied
            .map(|level| self.rule.effective_level(level, self.stamps[level], now))
            .min()
    }

    /// After how many picks of more urgent ones one of those that are not dry is due its share, where there are shares; see
    /// [`Room::yields_to`](crate::queue::room::Room::yields_to).
    pub(in crate::queue) fn patience(&self) -> Option<u64> {
        let occupied = (0..self.levels()).filter(|level| self.occupied >> level & 1 == 1);
        occupied.filter_map(|level| self.rule.patience(level)).min()
    }
}
