//! Both ends of all levels at once, under both locks: swept, emptied, listed, searched.
//!
//! In: heads and tails. Out: what was dead in them, all that was in them, or what a look has seen. Not here: the way of
//! one task ([`tails`](super::tails), [`heads`](super::heads)).

use super::{Fresh, Heads, Line, Tails};
use crate::queue::chain::{Head, Swept, Tail, Waiting};
use crate::queue::rules::{Heads as Seen, LEVELS};
use crate::queue::segment::Owned;
use crate::sync::atomic::Ordering::Release;
use crate::task::block::Header;
use crate::time::Tick;

impl Heads {
    /// Sweeps the dead entries out of all levels.
    pub(in crate::queue) fn sweep(&mut self, tails: &mut Tails, fresh: &Fresh, swept: &mut Swept) {
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
    pub(in crate::queue) fn drain(
        &mut self,
        tails: &mut Tails,
        fresh: &Fresh,
        mut empty: Vec<Owned>,
    ) -> Vec<Head> {
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
    pub(in crate::queue) fn list(&self, tails: &Tails, most: usize, looks: u64) -> Vec<Waiting> {
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
    pub(in crate::queue) fn find(
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
    pub(in crate::queue) fn oldest(&self, level: usize, tails: &Tails) -> Option<Tick> {
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
