//! The ends of a room with levels: a log for each.
//!
//! In: records at the [`Tails`], under the producers' lock, each at the end of its level. Out: records at the [`Heads`],
//! under the consumers' lock, from the level that the rule chooses. Between them, as in a plain room, whole chains: all
//! levels whose head is dry are filled in one visit. A bitmap of tails that hold records is kept outside the locks
//! ([`Fresh`]), so that a visit is made only when there is something to fetch.
//!
//! Where the rule is aging each record has its age before it: how many were accepted before it, and when. Otherwise a
//! record is what it is in a plain room.

use super::chain::{AGE, Head, Swept, Tail, Waiting, tick_of};
use super::counts::PerLevel;
use super::levels::Discipline;
use super::levels::kind::{AGING, ANY, SHARES, STRICT};
use super::recent::Recent;
use super::rules::{Heads as Seen, LEVELS, Pick, Rule, rank};
use super::segment::Owned;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::task::Class;
use crate::task::block::Header;
use crate::task::record::{Payload, Slot};
use crate::time::{Clock, Tick};

/// Which levels hold records, a bit for each: in their tails, and at their heads. Written under the lock of each side.
pub(super) struct Fresh {
    tails: AtomicU32,
    heads: AtomicU32,
}

impl Fresh {
    pub(super) fn new() -> Self {
        Fresh {
            tails: AtomicU32::new(0),
            heads: AtomicU32::new(0),
        }
    }

    /// Acquire pairs with the release below; what is fetched is ordered by the producers' lock.
    #[inline]
    fn tails(&self) -> u32 {
        self.tails.load(Acquire)
    }

    /// The most urgent level that holds a record, dead ones included; a look without a lock.
    pub(super) fn first(&self) -> Option<usize> {
        // The tails first: what a refill moves meanwhile is at the heads before it has left the tails.
        let tails = self.tails();
        let any = tails | self.heads.load(Acquire);
        (any != 0).then(|| any.trailing_zeros() as usize)
    }
}

/// Where producers write.
pub(super) struct Tails {
    tails: Box<[Line<Tail>]>,
    /// Those that hold records.
    fresh: u32,
    /// The last level.
    last: usize,
    /// The level that needs a segment.
    wanting: usize,
    ages: bool,
    /// The latest time of arrival: none is earlier than the one before, and none later than it was.
    recent: Recent,
    /// Of each level, records that lie at the front.
    front: PerLevel,
    /// Tasks of each level that have no record.
    aside: PerLevel,
    /// Of each level, records of futures that were polled before.
    woken: PerLevel,
}

/// Where consumers read.
pub(super) struct Heads {
    heads: Box<[Line<Head>]>,
    /// Those that are not dry.
    occupied: u32,
    /// Of the record at each head, where records have an age; where there is none, the largest rank.
    stamps: [Tick; LEVELS],
    ranks: [u64; LEVELS],
    rule: Rule,
    clock: Clock,
    recent: Recent,
    /// Of each level, records that left it without a worker that took them.
    untaken: PerLevel,
    /// Of each level, tasks that workers took from the front.
    front: PerLevel,
    /// Of each level, tasks that their wait brought before a more urgent one.
    pub(super) promoted: PerLevel,
    /// How often each level was found empty at both ends, as its last record was taken.
    pub(super) drained: PerLevel,
}

/// One end of one level, and how many records ever passed it. A cache line of its own, which also makes it quick to find.
#[repr(align(64))]
struct Line<E> {
    end: E,
    number: u64,
}

/// How far off the times may be that a rule goes by.
fn recent_of(discipline: &Discipline, clock: &Clock) -> Recent {
    Recent::new(discipline.step().unwrap_or_default(), clock)
}

impl Tails {
    pub(super) fn new(discipline: &Discipline, clock: &Clock) -> Self {
        let line = |_| Line {
            end: Tail::new(Owned::new()),
            number: 0,
        };
        Tails {
            tails: (0..discipline.levels).map(line).collect(),
            fresh: 0,
            last: discipline.levels - 1,
            wanting: 0,
            ages: matches!(discipline.rule, Rule::Aging(_)),
            recent: recent_of(discipline, clock).or_rough(discipline.ages_slowly()),
            front: PerLevel::default(),
            aside: PerLevel::default(),
            woken: PerLevel::default(),
        }
    }

    pub(super) fn count_woken(&mut self, class: Class) {
        let level = self.level_of(class);
        self.woken.0[level] += 1;
    }

    pub(super) fn put_aside(&mut self, class: Class) {
        let level = self.level_of(class);
        self.aside.0[level] += 1;
    }

    pub(super) fn no_longer_aside(&mut self, class: Class) {
        let level = self.level_of(class);
        self.aside.0[level] -= 1;
    }

    /// Tasks of each level that were let in, moved ones twice.
    pub(super) fn accepted(&self) -> PerLevel {
        let mut accepted = self.pushed();
        for (level, (aside, woken)) in accepted.0.iter_mut().zip(self.aside.0.iter().zip(self.woken.0)) {
            *level = *level + aside - woken;
        }
        accepted
    }

    /// The level of a class.
    #[inline]
    fn level_of(&self, class: Class) -> usize {
        usize::from(class.priority().number()).min(self.last)
    }

    /// Writes a record at the end of its level; `order` is how many were accepted before it. `Err`: bring a segment.
    #[inline(always)]
    pub(super) fn push<P: Payload>(
        &mut self,
        fresh: &Fresh,
        order: u64,
        (class, payload): (Class, P),
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        let level = self.level_of(class);
        let line = &mut self.tails[level];
        let pushed = if self.ages {
            let arrived = self.recent.tick(clock);
            let age = [rank(order + 1, level), arrived];
            line.end
                .push_after(age, class, payload, line.number, stamp, |is_sample| {
                    tick_of(clock, is_sample)
                })
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
    pub(super) fn push_slot(
        &mut self,
        fresh: &Fresh,
        order: u64,
        slot: Slot,
        clock: &Clock,
    ) -> Result<(), Slot> {
        let level = self.level_of(slot.class());
        let line = &mut self.tails[level];
        let pushed = if self.ages {
            let arrived = self.recent.tick(clock);
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

    /// A task of this level got a record at the front.
    pub(super) fn count_front(&mut self, level: usize) {
        self.front.0[level] += 1;
    }

    /// Records written for tasks of each level, also for those that were moved.
    fn pushed(&self) -> PerLevel {
        let mut pushed = self.front;
        for (pushed, line) in pushed.0.iter_mut().zip(&self.tails) {
            *pushed += line.number;
        }
        pushed
    }

    /// Takes a segment for the level that needed one last; gives it back if it has one.
    pub(super) fn bring(&mut self, segment: Owned) -> Option<Owned> {
        self.tails[self.wanting].end.bring(segment)
    }

    /// Whether [`Tails::push`] of such a record would find memory.
    pub(super) fn has_room_for<P: Payload>(&mut self, class: Class) -> bool {
        let level = self.level_of(class);
        let words = if self.ages { AGE } else { 0 } + 1 + P::WORDS;
        self.wanting = level;
        self.tails[level].end.has_room_for(words)
    }
}

impl Heads {
    pub(super) fn new(discipline: Discipline, clock: Clock) -> Self {
        let line = |_| Line {
            end: Head::new(Owned::new()),
            number: 0,
        };
        Heads {
            heads: (0..discipline.levels).map(line).collect(),
            occupied: 0,
            stamps: [0; LEVELS],
            ranks: [u64::MAX; LEVELS],
            recent: recent_of(&discipline, &clock),
            rule: discipline.rule,
            clock,
            untaken: PerLevel::default(),
            front: PerLevel::default(),
            promoted: PerLevel::default(),
            drained: PerLevel::default(),
        }
    }

    pub(super) fn levels(&self) -> usize {
        self.heads.len()
    }

    /// Words before each record.
    #[inline]
    pub(super) fn before(&self) -> usize {
        if self.is_aging() { AGE } else { 0 }
    }

    /// Whether there is a level to be fetched whose head is dry.
    #[inline]
    pub(super) fn wants(&self, fresh: &Fresh) -> bool {
        fresh.tails() & !self.occupied != 0
    }

    /// Fetches what lies in the tails of all levels whose head is dry.
    pub(super) fn refill(&mut self, tails: &mut Tails, fresh: &Fresh) {
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

    fn look_at_head(&mut self, level: usize) {
        if self.is_aging() {
            (self.ranks[level], self.stamps[level]) = self.heads[level].end.age();
        }
    }

    /// Chooses the level that is served next, for a caller who knows the rule, so that none looks at what another needs.
    /// `None`: all heads are dry.
    #[inline(always)]
    pub(super) fn choose<const KIND: u8>(&mut self) -> Option<Pick> {
        let occupied = self.occupied;
        if occupied == 0 {
            return None;
        }
        let first = occupied.trailing_zeros() as usize & (LEVELS - 1);
        let seen = Seen {
            occupied: occupied as u8,
            stamps: &self.stamps,
            ranks: &self.ranks,
        };
        let (recent, clock) = (&mut self.recent, &self.clock);
        let now = || recent.tick_ahead(clock);
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
    pub(super) fn got<const KIND: u8>(&mut self, pick: Pick, slot: &mut Slot) {
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
    pub(super) fn next(&mut self, slot: &mut Slot, fresh: &Fresh) -> Option<bool> {
        let pick = self.choose::<ANY>()?;
        drop(self.take(pick.level, slot, fresh));
        Some(self.claim::<ANY>(pick, slot))
    }

    /// Claims what was taken from the chosen level; false: it was dead.
    #[inline(always)]
    pub(super) fn claim<const KIND: u8>(&mut self, pick: Pick, slot: &mut Slot) -> bool {
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
    pub(super) fn take(&mut self, level: usize, slot: &mut Slot, fresh: &Fresh) -> Option<Owned> {
        if self.is_aging() {
            self.take_as::<true>(level, slot, fresh)
        } else {
            self.take_as::<false>(level, slot, fresh)
        }
    }

    /// As [`Heads::take`], for a caller who knows whether records have an age.
    #[inline(always)]
    pub(super) fn take_as<const AGED: bool>(
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
    pub(super) fn took_none(&mut self, level: usize) {
        self.untaken.0[level] += 1;
    }

    /// A worker got a task of this level from the front.
    pub(super) fn took_front(&mut self, level: usize) {
        self.front.0[level] += 1;
    }

    /// Tasks of each level that workers took.
    pub(super) fn taken(&self) -> PerLevel {
        let mut taken = self.front;
        for (level, line) in self.heads.iter().enumerate() {
            taken.0[level] += line.number - self.untaken.0[level];
        }
        taken
    }

    /// The least urgent level that is not dry and, if one is given, less urgent than that.
    pub(super) fn last(&self, below: Option<usize>) -> Option<usize> {
        let last = (u32::BITS - self.occupied.leading_zeros()).checked_sub(1)? as usize;
        below.is_none_or(|below| last > below).then_some(last)
    }

    /// How urgent the most urgent of them counts by now.
    pub(super) fn effective(&self) -> Option<usize> {
        let now = self.clock.tick();
        let occupied = (0..self.levels()).filter(|level| self.occupied >> level & 1 == 1);
        occupied
            .map(|level| self.rule.effective_level(level, self.stamps[level], now))
            .min()
    }

    /// After how many picks of more urgent ones one of those that are not dry is due its share, where there are shares; see
    /// [`Room::yields_to`](super::room::Room::yields_to).
    pub(super) fn patience(&self) -> Option<u64> {
        let occupied = (0..self.levels()).filter(|level| self.occupied >> level & 1 == 1);
        occupied.filter_map(|level| self.rule.patience(level)).min()
    }

    #[inline]
    pub(super) fn is_aging(&self) -> bool {
        matches!(self.rule, Rule::Aging(_))
    }

    /// Sweeps the dead entries out of all levels.
    pub(super) fn sweep(&mut self, tails: &mut Tails, fresh: &Fresh, swept: &mut Swept) {
        let before = self.before();
        for (level, (head, tail)) in self.heads.iter_mut().zip(&mut tails.tails).enumerate() {
            let dead = swept.dead.len();
            head.end.sweep(before, swept);
            tail.end.sweep(before, swept);
            // The records that are left keep their numbers' distance.
            let dead = (swept.dead.len() - dead) as u64;
            head.number += dead;
            self.untaken.0[level] += dead;
            let bit = 1 << level;
            if head.end.is_dry() {
                self.occupied &= !bit;
                self.ranks[level] = u64::MAX;
            }
            if tail.end.is_empty() {
                tails.fresh &= !bit;
            }
        }
        fresh.heads.store(self.occupied, Release);
        fresh.tails.store(tails.fresh, Release);
        for level in 0..self.levels() {
            if self.occupied >> level & 1 == 1 {
                self.look_at_head(level);
            }
        }
    }

    /// Takes everything out: each level's two chains, the most urgent first. Two segments for each level come along.
    pub(super) fn drain(&mut self, tails: &mut Tails, fresh: &Fresh, mut empty: Vec<Owned>) -> Vec<Head> {
        let mut chains = Vec::with_capacity(empty.len());
        let mut segment = || empty.pop().expect("two for each level");
        for (level, (head, tail)) in self.heads.iter_mut().zip(&mut tails.tails).enumerate() {
            let mut back = Head::new(segment());
            back.refill(&mut tail.end);
            chains.push(head.end.detach(segment()));
            chains.push(back);
            self.untaken.0[level] += tail.number - head.number;
            head.number = tail.number;
        }
        (self.occupied, tails.fresh) = (0, 0);
        self.ranks = [u64::MAX; LEVELS];
        fresh.heads.store(0, Release);
        fresh.tails.store(0, Release);
        chains
    }

    /// Lists the first tasks with a handle in the order in which the rule would choose among them, if nothing else came and no
    /// time passed. Of each level at most `most` are listed, and so many records looked at.
    pub(super) fn list(&self, tails: &Tails, most: usize, looks: u64) -> Vec<Waiting> {
        let before = self.before();
        let of_level = |(head, tail): (&Line<Head>, &Line<Tail>)| {
            let mut list = Vec::new();
            let left = head.end.list(before, most, looks, &mut list);
            tail.end.list(before, most, left, &mut list);
            list.into_iter().peekable()
        };
        let mut levels: Vec<_> = self.heads.iter().zip(&tails.tails).map(of_level).collect();
        let mut rule = self.rule.clone();
        let now = self.clock.tick();
        let mut listed = Vec::new();
        while listed.len() < most {
            let mut occupied = 0;
            let mut stamps = [0; LEVELS];
            let mut ranks = [u64::MAX; LEVELS];
            for (level, line) in levels.iter_mut().enumerate() {
                if let Some(first) = line.peek() {
                    occupied |= 1 << level;
                    (ranks[level], stamps[level]) = first.age;
                }
            }
            let seen = Seen {
                occupied,
                stamps: &stamps,
                ranks: &ranks,
            };
            let Some(pick) = rule.choose(&seen, || now) else {
                break;
            };
            rule.took(pick.level);
            listed.extend(levels[pick.level].next());
        }
        listed
    }

    /// How many records of its level lie before a task, and when it came, where records have an age. `None`: it is not
    /// among the first so many at either end.
    pub(super) fn find(
        &self,
        level: usize,
        tails: &Tails,
        looks: u64,
        task: &Header,
    ) -> Option<(usize, Option<Tick>)> {
        let (before, head) = (self.before(), &self.heads[level].end);
        head.find(before, looks, task).or_else(|| {
            let (ahead, arrived) = tails.tails[level].end.find(before, looks, task)?;
            Some((ahead + head.left() as usize, arrived))
        })
    }

    /// When the first record of a level arrived, as far as it was noted.
    pub(super) fn oldest(&self, level: usize, tails: &Tails) -> Option<Tick> {
        let head = &self.heads[level].end;
        let arrived = if !head.is_dry() && self.is_aging() {
            self.stamps[level]
        } else if !head.is_dry() {
            head.arrived()
        } else if !tails.tails[level].end.is_empty() {
            tails.tails[level].end.opened()
        } else {
            0
        };
        (arrived != 0).then_some(arrived)
    }
}
