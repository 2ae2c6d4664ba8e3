//! The rules against naive ones that keep every task; what these tests share. Each loop prints nothing and has its seed.

mod aging;
mod bounds;
mod shares;

use super::{Aging, Heads, LEVELS, Pick, Rule, Shares, rank};
use crate::time::Tick;
use std::collections::VecDeque;
use std::time::Duration;

/// A small generator (xorshift with a multiplication): the same numbers for the same seed, everywhere.
struct Dice(u64);

impl Dice {
    /// Neighbouring numbers give unlike generators.
    fn seeded(number: u64) -> Self {
        let mut dice = Dice((number + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.roll();
        dice
    }

    fn roll(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn below(&mut self, limit: u64) -> u64 {
        (self.roll() >> 11) % limit
    }

    fn level(&mut self, levels: usize) -> usize {
        self.below(levels as u64) as usize
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Task {
    level: usize,
    stamp: Tick,
    order: u64,
    /// How many waited in its level when it came, and in all.
    ahead: usize,
    all_ahead: usize,
}

/// All that waits, a deque for each level.
#[derive(Default)]
struct Waiting {
    levels: [VecDeque<Task>; LEVELS],
    accepted: u64,
}

impl Waiting {
    fn add(&mut self, level: usize, stamp: Tick) -> Task {
        let task = Task {
            level,
            stamp,
            order: self.accepted,
            ahead: self.levels[level].len(),
            all_ahead: self.len(),
        };
        self.accepted += 1;
        self.levels[level].push_back(task);
        task
    }

    fn clear(&mut self) {
        self.levels.iter_mut().for_each(VecDeque::clear);
        self.accepted = 0;
    }

    fn len(&self) -> usize {
        self.levels.iter().map(VecDeque::len).sum()
    }

    fn occupied(&self) -> u8 {
        let bits = self.levels.iter().enumerate();
        bits.fold(0, |bits, (level, tasks)| {
            bits | u8::from(!tasks.is_empty()) << level
        })
    }

    /// Asks the rule, and takes what it says.
    fn take(&mut self, rule: &mut Rule, now: impl FnOnce() -> Tick) -> Option<(Task, Pick)> {
        let (mut stamps, mut ranks) = ([0; LEVELS], [u64::MAX; LEVELS]);
        for (level, tasks) in self.levels.iter().enumerate() {
            if let Some(head) = tasks.front() {
                (stamps[level], ranks[level]) = (head.stamp, rank(head.order, level));
            }
        }
        let heads = Heads {
            occupied: self.occupied(),
            stamps: &stamps,
            ranks: &ranks,
        };
        let pick = rule.pick(&heads, now)?;
        let task = self.levels[pick.level].pop_front();
        Some((task.expect("an empty level was picked"), pick))
    }
}

/// Heads that nobody takes: for rules that only look at which levels hold tasks.
fn pick_of(rule: &mut Rule, occupied: u8) -> Option<usize> {
    let zeros = [0; LEVELS];
    let heads = Heads {
        occupied,
        stamps: &zeros,
        ranks: &zeros,
    };
    let pick = rule.pick(&heads, || panic!("this rule needs no clock"))?;
    assert!(occupied >> pick.level & 1 == 1, "level {} is empty", pick.level);
    assert!(!pick.promoted);
    Some(pick.level)
}

fn aging(step: Tick) -> Rule {
    Rule::Aging(Aging::new(Duration::from_nanos(step)).expect("a good step"))
}

fn shares(weights: &[u32]) -> Rule {
    Rule::Shares(Shares::new(weights, weights.len()).expect("good weights"))
}

#[test]
fn pri_01_strict_takes_the_most_urgent_level_that_holds_a_task() {
    assert_eq!(pick_of(&mut Rule::Strict, 0), None);
    for occupied in 1..=u8::MAX {
        let expected = (0..LEVELS).find(|level| occupied >> level & 1 == 1);
        assert_eq!(pick_of(&mut Rule::Strict, occupied), expected);
    }
}

#[test]
fn an_empty_queue_gives_nothing_under_any_rule() {
    assert_eq!(pick_of(&mut aging(5), 0), None);
    assert_eq!(pick_of(&mut shares(&[50, 30, 15, 5]), 0), None);
    assert_eq!(pick_of(&mut shares(&[0, 1]), 0), None);
}

#[test]
fn only_aging_changes_the_level_a_task_counts_as() {
    assert_eq!(Rule::Strict.effective_level(3, 0, Tick::MAX), 3);
    assert_eq!(shares(&[1, 1, 1, 1]).effective_level(3, 0, Tick::MAX), 3);
    assert_eq!(aging(10).effective_level(3, 0, 10), 2);
}
