//! Shares: over every window, with levels that come and go, against exact arithmetic.

use super::{Dice, LEVELS, Rule, Shares, pick_of, shares};

/// Fair queueing as the books have it: exact passes that only grow, and a level that takes the current one up when it
/// stops being empty.
struct Naive {
    strides: Vec<u128>,
    passes: Vec<u128>,
    now: u128,
    before: u8,
}

impl Naive {
    /// `unit` is divisible by every weight, or as large as the rule's when it rounds.
    fn new(weights: &[u32], unit: u128) -> Self {
        let stride = |weight: &u32| unit.checked_div(u128::from(*weight)).unwrap_or(0);
        Naive {
            strides: weights.iter().map(stride).collect(),
            passes: vec![0; weights.len()],
            now: 0,
            before: 0,
        }
    }

    fn pick(&mut self, occupied: u8) -> Option<usize> {
        let levels = (0..self.passes.len()).filter(|level| occupied >> level & 1 == 1);
        for level in levels.clone().filter(|level| self.before >> level & 1 == 0) {
            self.passes[level] = self.passes[level].max(self.now);
        }
        self.before = occupied;
        let weighted = levels.clone().filter(|level| self.strides[*level] > 0);
        let Some(level) = weighted.min_by_key(|level| self.passes[*level]) else {
            return levels.min();
        };
        self.now = self.passes[level];
        self.passes[level] += self.strides[level];
        Some(level)
    }
}

fn product(weights: &[u32]) -> u128 {
    let weights = weights.iter().map(|weight| u128::from(*weight));
    weights.filter(|weight| *weight > 0).product()
}

/// As many weights as levels, of all sorts.
fn some_weights(dice: &mut Dice) -> Vec<u32> {
    let levels = 2 + dice.level(LEVELS - 1);
    let largest = [2, 10, 100, 1_000][dice.level(4)];
    (0..levels).map(|_| 1 + dice.below(largest) as u32).collect()
}

/// Levels that come and go, some often, some rarely, never all at once gone.
struct Crowd {
    occupied: u8,
    levels: usize,
    restless: u64,
}

impl Crowd {
    fn new(levels: usize, dice: &mut Dice) -> Self {
        let occupied = u8::MAX >> (LEVELS - levels);
        let restless = 1 + dice.below(400);
        Crowd {
            occupied,
            levels,
            restless,
        }
    }

    fn step(&mut self, dice: &mut Dice) -> u8 {
        if dice.below(self.restless) == 0 {
            let flipped = self.occupied ^ 1 << dice.level(self.levels);
            if flipped != 0 {
                self.occupied = flipped;
            }
        }
        self.occupied
    }
}

#[test]
fn pri_06_over_any_1000_picks_each_level_gets_its_share() {
    let mut dice = Dice(61);
    let mut sets = vec![
        vec![50, 30, 15, 5],
        vec![1; 8],
        vec![1, 1_000_000],
        vec![u32::MAX, 1],
        vec![u32::MAX, u32::MAX - 2, u32::MAX - 4, 3_999_999_979, 999_999_937],
    ];
    sets.extend((0..40).map(|_| some_weights(&mut dice)));
    for weights in sets {
        let (mut rule, all) = (shares(&weights), u8::MAX >> (LEVELS - weights.len()));
        // A past that is not always the same.
        let mut past = Crowd::new(weights.len(), &mut dice);
        for _ in 0..dice.below(3_000) {
            pick_of(&mut rule, past.step(&mut dice));
        }
        let picks: Vec<usize> = (0..6_000).filter_map(|_| pick_of(&mut rule, all)).collect();
        let sum: f64 = weights.iter().map(|weight| f64::from(*weight)).sum();
        for (level, weight) in weights.iter().enumerate() {
            let share = f64::from(*weight) / sum;
            let slack = 1.0 + (weights.len() as f64 - 2.0) * share + 0.05;
            assert!(slack < 50.0, "five in a hundred is what is promised");
            let is_own = |picked: usize| u32::from(picks[picked] == level);
            let mut count: u32 = (0..1_000).map(is_own).sum();
            for end in 1_000..picks.len() {
                let error = (f64::from(count) - 1_000.0 * share).abs();
                assert!(error <= slack, "level {level} of {weights:?}: {count} of 1000");
                count += is_own(end);
                count -= is_own(end - 1_000);
            }
        }
    }
}

#[test]
fn pri_06_fifty_thirty_fifteen_five_is_exact_over_every_round_of_twenty() {
    let mut rule = shares(&[50, 30, 15, 5]);
    for _ in 0..1_000 {
        let mut counts = [0; 4];
        for _ in 0..20 {
            counts[pick_of(&mut rule, 0b1111).expect("all hold tasks")] += 1;
        }
        assert_eq!(counts, [10, 6, 3, 1]);
    }
}

#[test]
fn pri_06_an_unused_share_goes_to_the_others_in_proportion() {
    let weights = [50, 30, 15, 5];
    let mut dice = Dice(62);
    for occupied in 1..16 {
        let mut rule = shares(&weights);
        let mut past = Crowd::new(4, &mut dice);
        for _ in 0..dice.below(5_000) {
            pick_of(&mut rule, past.step(&mut dice));
        }
        let mut counts = [0; 4];
        for _ in 0..1_000 {
            counts[pick_of(&mut rule, occupied).expect("one holds tasks")] += 1;
        }
        let is_in = |level: usize| occupied >> level & 1 == 1;
        let sum: u32 = (0..4)
            .filter(|level| is_in(*level))
            .map(|level| weights[level])
            .sum();
        for level in 0..4 {
            let target = if is_in(level) {
                1_000 * weights[level] / sum
            } else {
                0
            };
            assert!(target.abs_diff(counts[level]) <= 3, "{occupied:04b}: {counts:?}");
        }
    }
}

#[test]
fn pri_06_two_levels_keep_their_ratio_whatever_the_others_do() {
    for seed in 0..200 {
        let mut dice = Dice::seeded(seed);
        let weights = some_weights(&mut dice);
        let unit = product(&weights) as i128;
        let strides: Vec<i128> = weights.iter().map(|weight| unit / i128::from(*weight)).collect();
        let (mut rule, mut crowd) = (shares(&weights), Crowd::new(weights.len(), &mut dice));
        // For each pair, since both have held tasks: what one got more, now and at its ends.
        let mut ahead = [[[0_i128; 3]; LEVELS]; LEVELS];
        for _ in 0..2_000 {
            let occupied = crowd.step(&mut dice);
            let picked = pick_of(&mut rule, occupied).expect("one holds tasks");
            for one in 0..weights.len() {
                for other in 0..one {
                    let [now, least, most] = &mut ahead[one][other];
                    if occupied >> one & occupied >> other & 1 == 0 {
                        (*now, *least, *most) = (0, 0, 0);
                        continue;
                    }
                    *now += if picked == one { strides[one] } else { 0 };
                    *now -= if picked == other { strides[other] } else { 0 };
                    (*least, *most) = ((*least).min(*now), (*most).max(*now));
                    let widest = strides[one] + strides[other];
                    assert!(
                        *most - *least <= widest,
                        "{one} and {other} of {weights:?}, seed {seed}"
                    );
                }
            }
        }
    }
}

#[test]
fn every_pick_is_that_of_exact_arithmetic() {
    for seed in 0..1_000 {
        let mut dice = Dice::seeded(seed);
        let mut weights = some_weights(&mut dice);
        weights.truncate(5); // Their product is below 2^48, so strides are exact.
        for weight in weights.iter_mut().skip(1) {
            *weight *= u32::from(dice.below(10) > 0);
        }
        let (mut rule, mut naive) = (shares(&weights), Naive::new(&weights, product(&weights)));
        let mut crowd = Crowd::new(weights.len(), &mut dice);
        for _ in 0..500 {
            let occupied = crowd.step(&mut dice);
            let expected = naive.pick(occupied);
            assert_eq!(pick_of(&mut rule, occupied), expected, "{weights:?}, seed {seed}");
        }
    }
}

#[test]
fn passes_that_are_set_back_change_no_pick() {
    // Primes: no common multiple is small, and a pick of the last level costs 2^48. Sixteen thousand of them go far.
    let weights = [4_294_967_291, 4_294_967_279, 1, 1];
    let (mut rule, mut naive) = (shares(&weights), Naive::new(&weights, 1 << 48));
    let mut dice = Dice(63);
    for _ in 0..300_000 {
        let occupied = [0b1000, 0b1000, 0b1100, 0b1110, 0b1011, 0b0101][dice.level(6)];
        assert_eq!(pick_of(&mut rule, occupied), naive.pick(occupied));
    }
    assert!(naive.now > 1 << 64, "that was not far");
}

#[test]
fn a_level_that_comes_back_has_saved_nothing() {
    for weights in [[50, 30, 15, 5], [1, 1, 1, 1], [5, 15, 30, 50], [1_000, 1, 1, 7]] {
        for back in 0..4 {
            let mut rule = shares(&weights);
            let others = 0b1111 & !(1 << back);
            for _ in 0..10_000 {
                pick_of(&mut rule, others);
            }
            let largest = (0..4)
                .filter(|level| *level != back)
                .map(|level| weights[level])
                .max();
            let in_a_row = (0..10_000)
                .take_while(|_| pick_of(&mut rule, 0b1111) == Some(back))
                .count();
            let most = 1 + weights[back] / largest.expect("three others");
            assert!(
                in_a_row <= most as usize,
                "{in_a_row} of level {back} of {weights:?}"
            );
        }
    }
}

#[test]
fn a_level_that_comes_back_most_urgent_is_next() {
    let mut rule = shares(&[50, 30, 15, 5]);
    for rest in 1..100 {
        for _ in 0..rest {
            pick_of(&mut rule, 0b1110);
        }
        assert_eq!(pick_of(&mut rule, 0b1111), Some(0));
    }
}

#[test]
fn a_weight_of_zero_is_served_when_nothing_else_waits_and_costs_nothing() {
    let mut rule = shares(&[0, 2, 0, 1]);
    for round in 0..300 {
        assert_eq!(pick_of(&mut rule, 0b0101), Some(0), "strict among themselves");
        assert_eq!(pick_of(&mut rule, 0b0100), Some(2));
        let expected = if round % 3 == 1 { 3 } else { 1 };
        assert_eq!(pick_of(&mut rule, 0b1111), Some(expected));
    }
}

#[test]
fn a_choice_that_came_to_nothing_costs_nothing() {
    let zeros = [0; LEVELS];
    let heads = super::Heads {
        occupied: 0b11,
        stamps: &zeros,
        ranks: &zeros,
    };
    let (mut rule, mut other) = (shares(&[3, 2]), shares(&[3, 2]));
    for _ in 0..100 {
        let mut choice = None;
        for _ in 0..3 {
            // Its head was dead, and another stands behind it.
            choice = rule.choose(&heads, || 0);
        }
        let level = choice.expect("both hold tasks").level;
        rule.took(level);
        assert_eq!(pick_of(&mut other, 0b11), Some(level));
    }
}

#[test]
fn weights_that_make_no_sense_are_refused_with_their_reason() {
    let refused = |weights: &[u32], levels| {
        let error = Shares::new(weights, levels).expect_err("it makes no sense");
        assert_eq!(error.field(), "shares");
        error.to_string()
    };
    assert!(refused(&[0, 0], 2).contains("larger than 0"));
    assert!(refused(&[1, 2, 3], 4).contains("4 levels"));
    assert!(refused(&[1; 9], 9).contains("at most 8"));
    assert!(refused(&[], 0).contains("larger than 0"));
    let largest = shares(&[u32::MAX; 8]);
    assert!(matches!(largest, Rule::Shares(_)));
}
