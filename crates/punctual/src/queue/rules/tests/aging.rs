//! Aging: its promise, on scripts that try to break it.

use super::{Aging, Dice, LEVELS, Pick, Rule, Task, Waiting, aging};
use crate::time::Tick;
use std::cell::Cell;
use std::time::Duration;

/// The level it counts as, step by step.
fn naive_level(task: &Task, step: Tick, now: Tick) -> u64 {
    let mut level = task.level as u64;
    let mut waited = now - task.stamp;
    while level > 0 && waited >= step {
        level -= 1;
        waited -= step;
    }
    level
}

/// Everything that happens to one rule, checked.
struct Script {
    rule: Rule,
    waiting: Waiting,
    /// The same tasks in one list, the oldest first: what the rule does not see.
    all: Vec<Task>,
    /// Cancelled tasks, by order: still in the queue, but not in the list.
    dead: Vec<u64>,
    step: Tick,
    now: Tick,
    promotions: u64,
    /// Picks at which the promise forbade a more urgent task that was there.
    tempted: u64,
    readings: u64,
}

impl Script {
    fn add(&mut self, level: usize) {
        self.all.push(self.waiting.add(level, self.now));
    }

    /// Any of them, but the queue does not notice.
    fn cancel(&mut self, dice: &mut Dice) {
        if !self.all.is_empty() {
            let place = dice.level(self.all.len());
            self.dead.push(self.all.remove(place).order);
        }
    }

    fn pick(&mut self) {
        let (step, now, readings) = (self.step, self.now, Cell::new(0));
        let (mut expected, mut least, mut first) = (usize::MAX, u64::MAX, LEVELS);
        for (place, task) in self.all.iter().enumerate() {
            // By effective level, then by age.
            let level = naive_level(task, step, now);
            if level < least {
                (expected, least) = (place, level);
            }
            first = first.min(task.level);
        }
        let reading = || {
            readings.set(readings.get() + 1);
            now
        };
        let mut taken = self.waiting.take(&mut self.rule, reading);
        let mut is_seen = true;
        while let Some(place) = self.dead_place(taken) {
            self.dead.swap_remove(place);
            taken = self.waiting.take(&mut self.rule, reading);
            is_seen = false;
        }
        assert_eq!(
            taken.map(|(task, _)| task),
            self.all.get(expected).copied(),
            "at {now}, step {step}"
        );
        let Some((taken, pick)) = taken else {
            return;
        };
        let (level, promoted) = (taken.level, first < taken.level);
        assert_eq!(pick.level, level);
        if self.dead.is_empty() && is_seen {
            assert_eq!(pick.promoted, promoted);
        }
        if self.all[0].level == first && self.dead.is_empty() && is_seen {
            assert_eq!(readings.get(), 0, "the clock was read for nothing");
        }
        // The promise itself, in its own words.
        let is_aged = |task: &Task| now - task.stamp >= task.level as Tick * step;
        for older in &self.all[..expected] {
            assert!(
                !is_aged(older),
                "{taken:?} before {older:?} at {now}, step {step}"
            );
        }
        let mut younger = self.all[expected..].iter();
        self.tempted += u64::from(is_aged(&taken) && younger.any(|other| other.level < level));
        self.readings += readings.get();
        self.promotions += u64::from(promoted);
        self.all.remove(expected);
    }

    fn dead_place(&self, taken: Option<(Task, Pick)>) -> Option<usize> {
        let (task, _) = taken?;
        self.dead.iter().position(|dead| *dead == task.order)
    }

    /// To the instant at which a waiting task changes its level, or the one before or after.
    fn go_to_an_edge(&mut self, dice: &mut Dice) {
        if self.all.is_empty() {
            return;
        }
        let task = self.all[dice.level(self.all.len())];
        let steps = dice.below(task.level as u64 + 2);
        let edge = task.stamp + steps * self.step + dice.below(3);
        self.now = self.now.max(edge.saturating_sub(1));
    }

    fn run(&mut self, dice: &mut Dice) {
        let levels = 2 + dice.level(LEVELS - 1);
        let (flavour, deaths) = (dice.below(4), dice.below(3) == 0);
        for _ in 0..8 + dice.below(24) {
            match (flavour, dice.below(8)) {
                // A flood of urgent tasks over a few others.
                (0, 0) => self.add(levels - 1 - dice.level(2)),
                (0, 1..4) => self.add(dice.level(2)),
                (0, 4) => self.now += dice.below(self.step + 1),
                // Time stands still, then moves on a lot: many stamps are equal.
                (1, 0) => self.now += self.step * dice.below(levels as u64 + 1),
                (1, 1..5) => self.add(dice.level(levels)),
                // From edge to edge.
                (2, 0..3) => self.go_to_an_edge(dice),
                (2 | 3, 3..6) => self.add(dice.level(levels)),
                (3, 0..3) => self.now += dice.below(2 * self.step),
                _ if deaths && dice.below(2) == 0 => self.cancel(dice),
                _ => self.pick(),
            }
        }
        while !self.all.is_empty() {
            if dice.below(2) == 0 {
                self.go_to_an_edge(dice);
            }
            self.pick();
        }
        // Now only dead ones can be left.
        self.pick();
        assert!(self.dead.is_empty());
    }
}

#[test]
fn pri_04_an_aged_task_is_not_overtaken_in_any_of_100_000_scripts() {
    let mut script = Script {
        rule: Rule::Strict,
        waiting: Waiting::default(),
        all: Vec::new(),
        dead: Vec::new(),
        step: 0,
        now: 0,
        promotions: 0,
        tempted: 0,
        readings: 0,
    };
    for seed in 0..100_000 {
        let mut dice = Dice::seeded(seed);
        script.step = [1, 2, 3, 10, 1_000, 1_000_000_000][dice.level(6)];
        script.now = dice.below(3 * script.step);
        script.rule = aging(script.step);
        script.waiting.clear();
        script.run(&mut dice);
    }
    // The scripts are what they are meant to be.
    assert!(script.promotions > 100_000, "{} promotions", script.promotions);
    assert!(script.tempted > 100_000, "tempted {} times", script.tempted);
    assert!(script.readings > 100_000, "{} readings", script.readings);
}

#[test]
fn pri_04_an_endless_stream_of_urgent_tasks_holds_up_a_low_one_for_three_steps() {
    let (mut rule, mut waiting, mut now) = (aging(1_000), Waiting::default(), 0);
    waiting.add(3, now);
    loop {
        // Two come for each that is taken: the backlog only grows.
        waiting.add(0, now);
        waiting.add(0, now + 1);
        let taken = waiting.take(&mut rule, || now + 1);
        let (task, pick) = taken.expect("there are more and more");
        assert_eq!(pick.promoted, task.level == 3);
        if task.level == 3 {
            break;
        }
        now += 7;
        assert!(now < 10_000, "it starves");
    }
    assert!((3_000..3_000 + 7).contains(&(now + 1)), "at {now}");
}

#[test]
fn pri_05_the_effective_level_falls_by_one_with_each_step_and_ends_at_zero() {
    let rule = aging(100);
    for level in 0..LEVELS {
        let mut before = level;
        for now in 50..1_200 {
            let effective = rule.effective_level(level, 50, now);
            assert_eq!(effective, level.saturating_sub((now as usize - 50) / 100));
            assert!(effective <= before);
            before = effective;
        }
        assert_eq!(before, 0);
    }
}

#[test]
fn pri_02_of_one_instant_the_one_submitted_first_is_taken_first_once_both_are_aged() {
    for (first, second) in [(0, 2), (2, 0)] {
        let (mut rule, mut waiting) = (aging(10), Waiting::default());
        waiting.add(first, 5);
        waiting.add(second, 5);
        let (task, _) = waiting.take(&mut rule, || 25).expect("two wait");
        assert_eq!(task.level, first);
    }
}

#[test]
fn a_clock_that_lags_behind_the_stamps_takes_nothing_back() {
    let (mut rule, mut waiting) = (aging(10), Waiting::default());
    waiting.add(1, 100);
    waiting.add(0, 120);
    // Read before the tasks came: nobody has waited.
    let (task, _) = waiting.take(&mut rule, || 90).expect("two wait");
    assert_eq!(task.level, 0);
    // What one reading has made more urgent stays so at an earlier one.
    let (mut rule, mut waiting) = (aging(10), Waiting::default());
    for level in [3, 1, 1, 0] {
        waiting.add(level, 100);
    }
    for reading in [110, 105] {
        let (task, pick) = waiting.take(&mut rule, || reading).expect("two wait");
        assert!(pick.promoted && task.level == 1);
    }
}

#[test]
fn steps_at_the_ends_of_time_are_harmless() {
    for step in [1, Tick::MAX / 7, Tick::MAX / 7 + 1, Tick::MAX - 1, Tick::MAX] {
        let rule = aging(step);
        assert_eq!(rule.effective_level(7, 0, step - 1), 7);
        assert_eq!(rule.effective_level(7, 0, step), 6);
        assert_eq!(rule.effective_level(7, Tick::MAX, 0), 7);
        let (mut rule, mut waiting) = (rule, Waiting::default());
        waiting.add(7, 0);
        waiting.add(0, 1);
        let (task, _) = waiting.take(&mut rule, || Tick::MAX).expect("two wait");
        let is_aged = step.checked_mul(7).is_some_and(|all| all < Tick::MAX) || step == Tick::MAX / 7;
        assert_eq!(task.level == 7, is_aged, "a step of {step}");
    }
    // A step that no clock reaches.
    let rule = Aging::new(Duration::MAX).expect("it is long, not wrong");
    assert_eq!(Rule::Aging(rule).effective_level(1, 0, Tick::MAX - 1), 1);
}

#[test]
fn a_step_of_zero_is_refused_with_its_reason() {
    let error = Aging::new(Duration::ZERO).expect_err("it makes no sense");
    assert_eq!(error.field(), "aging");
    assert!(error.to_string().contains("longer than zero"), "{error}");
}
