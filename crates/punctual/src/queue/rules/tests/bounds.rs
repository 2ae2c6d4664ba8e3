//! The longest wait: the arithmetic, and simulated pools that never exceed it.

use super::{Dice, LEVELS, Rule, Waiting, aging, shares};
use crate::time::Tick;
use std::time::Duration;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

#[test]
fn the_bounds_are_the_documented_arithmetic() {
    // delay + mean * (before + threads) / threads
    assert_eq!(Rule::Strict.wait_bound(0, 10, ms(20), 2), Some(ms(120)));
    let aging = aging(1_000_000_000);
    assert_eq!(aging.wait_bound(0, 10, ms(20), 2), Some(ms(120)));
    assert_eq!(aging.wait_bound(3, 10, ms(20), 2), Some(ms(3_120)));
    let shares = shares(&[50, 30, 15, 5]);
    // 0 ahead: 1 + 50/5, 1 + 30/5, 1 + 15/5 of the others.
    assert_eq!(
        shares.wait_bound(3, 0, ms(20), 1),
        Some(ms(20 * (11 + 7 + 4 + 1)))
    );
    // 4 ahead: 4, and 1 + 5 * 30/50, 1 + 5 * 15/50, 1 + 5 * 5/50 in whole ones.
    assert_eq!(
        shares.wait_bound(0, 4, ms(20), 1),
        Some(ms(20 * (4 + 4 + 2 + 1 + 1)))
    );
    // A third of a nanosecond counts as one.
    assert_eq!(
        Rule::Strict.wait_bound(0, 1, Duration::from_nanos(1), 3),
        Some(Duration::from_nanos(2))
    );
}

#[test]
fn there_is_no_bound_where_there_is_none() {
    for level in 1..LEVELS {
        assert_eq!(Rule::Strict.wait_bound(level, 0, ms(1), 8), None);
    }
    assert_eq!(shares(&[1, 0]).wait_bound(1, 0, ms(1), 8), None);
    assert_eq!(shares(&[0, 1]).wait_bound(0, 0, ms(1), 8), None);
    assert_eq!(shares(&[0, 1]).wait_bound(1, 0, ms(1), 1), Some(ms(1)));
    assert_eq!(aging(1).wait_bound(0, 0, ms(1), 0), None, "nobody is at work");
}

#[test]
fn bounds_beyond_all_time_are_the_longest_duration() {
    let all = usize::MAX;
    let longest = Some(Duration::MAX);
    assert_eq!(Rule::Strict.wait_bound(0, all, Duration::MAX, 1), longest);
    assert_eq!(Rule::Strict.wait_bound(0, 1, Duration::MAX, 1), longest);
    assert_eq!(aging(Tick::MAX).wait_bound(7, 0, Duration::MAX, 1), longest);
    let shares = shares(&[u32::MAX, 1]);
    assert_eq!(shares.wait_bound(1, all, Duration::MAX, all), longest);
    assert_eq!(shares.wait_bound(1, 0, Duration::ZERO, 1), Some(Duration::ZERO));
}

/// Picks that a task of `level` sees before its own, at most over the tasks of a script.
fn most_before(weights: &[u32], dice: &mut Dice) {
    let (mut rule, mut waiting) = (shares(weights), Waiting::default());
    // A worker for which a run is the unit of time: before = bound - 1.
    let unit = Duration::from_nanos(1);
    let mut came = Vec::new();
    let (mut picks, mut greedy) = (0, 0);
    for _ in 0..400 {
        if dice.below(20) == 0 {
            greedy = dice.level(weights.len());
        }
        for _ in 0..dice.below(4) {
            let level = if dice.below(2) == 0 {
                greedy
            } else {
                dice.level(weights.len())
            };
            waiting.add(level, 0);
            came.push(picks);
        }
        let Some((task, _)) = waiting.take(&mut rule, || 0) else {
            continue;
        };
        let before = picks - came[task.order as usize];
        let bound = rule.wait_bound(task.level, task.ahead, unit, 1);
        let bound = bound.expect("it has a weight").as_nanos() - 1;
        assert!(
            before <= bound,
            "{task:?} of {weights:?}: {before} instead of {bound}"
        );
        picks += 1;
    }
}

#[test]
fn pri_06_nobody_with_a_weight_sees_more_picks_before_his_own_than_the_bound_says() {
    for seed in 0..1_000 {
        let mut dice = Dice::seeded(seed);
        let levels = 2 + dice.level(LEVELS - 1);
        let weights: Vec<u32> = (0..levels).map(|_| 1 + dice.below(30) as u32).collect();
        most_before(&weights, &mut dice);
    }
}

#[test]
fn the_bound_of_shares_is_reached() {
    // The last level has just been served, and everybody else comes at once.
    let mut rule = shares(&[4, 2, 1]);
    assert_eq!(super::pick_of(&mut rule, 0b100), Some(2));
    let before = (0..100)
        .take_while(|_| super::pick_of(&mut rule, 0b111) != Some(2))
        .count();
    let bound = rule.wait_bound(2, 0, Duration::from_nanos(1), 1);
    assert_eq!(Some(before as u128 + 1), bound.map(|bound| bound.as_nanos()));
}

/// A pool in virtual time: workers that are never idle while something waits, runs of at most `longest`.
fn simulate(rule: &mut Rule, levels: usize, dice: &mut Dice) {
    let threads = 1 + dice.level(4);
    let longest = 1 + dice.below(100);
    let mean_run = Duration::from_nanos(longest);
    let mut waiting = Waiting::default();
    let mut busy_until = vec![0; threads];
    let (mut now, mut left) = (0, 300);
    let mut next_arrival = 0;
    // From half of what the workers can do to several times as much.
    let gap = 1 + dice.below(2 * longest / threads as u64 + 1);
    while left > 0 || waiting.len() > 0 {
        while left > 0 && next_arrival <= now {
            left -= 1;
            let level = dice.level(levels).min(dice.level(levels));
            waiting.add(level, next_arrival);
            next_arrival += dice.below(2 * gap);
        }
        for worker in &mut busy_until {
            if *worker > now {
                continue;
            }
            let Some((task, _)) = waiting.take(rule, || now) else {
                break;
            };
            let run = if dice.below(2) == 0 {
                longest
            } else {
                1 + dice.below(longest)
            };
            *worker = now + run;
            let ahead = if matches!(rule, Rule::Aging(_)) {
                task.all_ahead
            } else {
                task.ahead
            };
            let waited = Duration::from_nanos(now - task.stamp);
            if let Some(bound) = rule.wait_bound(task.level, ahead, mean_run, threads) {
                assert!(
                    waited <= bound,
                    "{task:?} waited {waited:?}, not {bound:?}: {rule:?}"
                );
            }
        }
        let ends = busy_until.iter().copied().filter(|end| *end > now);
        let arrival = (left > 0).then_some(next_arrival);
        now = ends.chain(arrival).min().unwrap_or(now);
    }
}

#[test]
fn no_task_of_a_simulated_pool_waits_longer_than_its_bound() {
    for seed in 0..600 {
        let mut dice = Dice::seeded(seed);
        let levels = 2 + dice.level(LEVELS - 1);
        let weights: Vec<u32> = (0..levels).map(|_| dice.below(20) as u32).collect();
        let step = 1 + dice.below(2_000);
        simulate(&mut Rule::Strict, levels, &mut dice);
        simulate(&mut aging(step), levels, &mut dice);
        if weights.iter().any(|weight| *weight > 0) {
            simulate(&mut shares(&weights), levels, &mut dice);
        }
    }
}
