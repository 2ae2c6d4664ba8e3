//! Shares: levels are picked in proportion to their weights (start-time fair queueing, counted in picks).
//!
//! In: the heads. Out: the level with the smallest pass. What follows from that is argued in [`super`].
//!
//! A pass and its level are kept as one number ([`rank`]): the smallest number is the smallest pass, and of equal ones the
//! more urgent level's. A level that was empty is brought up to `now` when it is seen again, not at each choice: while a
//! level holds tasks its pass is not below `now` anyway.

use super::{Bits, Heads, LEVELS, level_of, rank, smallest};
use crate::ConfigError;

/// Strides are at most this. With the largest weight, one is still 2^16: rounding it changes little.
const LARGEST_STRIDE: u64 = 1 << 48;

/// When `now` has come this far, all passes are set back: what is added to them never overflows, also with a level behind it.
const FAR: u64 = 1 << 58;

/// Of four levels and which of them may be chosen: what keeps the others from being the smallest.
const OTHERS: [[u64; 4]; 16] = {
    let mut others = [[0; 4]; 16];
    let mut bits = 0;
    while bits < 16 {
        let mut level = 0;
        while level < 4 {
            others[bits][level] = if bits >> level & 1 == 1 { 0 } else { u64::MAX };
            level += 1;
        }
        bits += 1;
    }
    others
};

#[derive(Debug, Clone)]
pub(crate) struct Shares {
    /// What a pick costs; 0 for a level without a weight.
    strides: [u64; LEVELS],
    /// The pass of each level, as a [`rank`].
    ranks: [u64; LEVELS],
    /// The largest pass that was taken. A smaller one counts as this.
    now: u64,
    /// The levels that held tasks at the last choice.
    seen: u8,
    /// The levels with a weight.
    weighted: u8,
}

impl Shares {
    /// One weight for each level, not all of them 0. Only their ratios count.
    pub(crate) fn new(weights: &[u32], levels: usize) -> Result<Self, ConfigError> {
        let value = || format!("{weights:?}");
        if weights.len() != levels || levels > LEVELS {
            return Err(ConfigError::new(
                "shares",
                value(),
                format!("the queue has {levels} levels (at most {LEVELS}) and needs a weight for each"),
                "give as many weights as levels, the most urgent level's first",
            ));
        }
        if weights.iter().all(|weight| *weight == 0) {
            return Err(ConfigError::new(
                "shares",
                value(),
                "one weight at least must be larger than 0",
                "give a weight to each level that must not starve, or use strict()",
            ));
        }
        let mut shares = Shares {
            strides: [0; LEVELS],
            ranks: std::array::from_fn(|level| rank(0, level)),
            now: 0,
            seen: 0,
            weighted: 0,
        };
        let unit = common_multiple(weights).unwrap_or(LARGEST_STRIDE);
        for (level, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
            shares.strides[level] = unit / u64::from(*weight);
            shares.weighted |= 1 << level;
        }
        Ok(shares)
    }

    /// `first` is the most urgent level that holds a task.
    #[inline(always)]
    pub(super) fn choose(&mut self, heads: &Heads<'_>, first: usize) -> usize {
        let occupied = heads.occupied;
        // Nobody who waits has a smaller pass than `now`, and of equal ones the most urgent goes first. Whoever came back beside it is
        // welcomed at the next choice: until then `now` stays what it is.
        if self.weighted >> first & 1 == 1 && self.ranks[first] <= rank(self.now, first) {
            self.seen &= occupied;
            return first;
        }
        if occupied & !self.seen != 0 {
            self.welcome(occupied & !self.seen);
        }
        self.seen = occupied;
        let weighted = usize::from(occupied & self.weighted);
        let (few, more) = self.ranks.split_at(4);
        let mut best = smallest::<4>(few, &OTHERS[weighted & 15]);
        if weighted > 15 {
            best = best.min(smallest::<4>(more, &OTHERS[weighted >> 4]));
        }
        if best == u64::MAX { first } else { level_of(best) }
    }

    /// These levels come back: without credit for the time in which they held nothing.
    #[cold]
    #[inline(never)]
    fn welcome(&mut self, levels: u8) {
        for level in Bits(levels) {
            self.ranks[level] = self.ranks[level].max(rank(self.now, level));
        }
    }

    #[inline(always)]
    pub(super) fn took(&mut self, level: usize) {
        // A level without a weight has a stride of 0, and its pass is never looked at.
        self.now = self.now.max(pass_of(self.ranks[level]));
        self.ranks[level] = rank(self.now + self.strides[level], level);
        if self.now >= FAR {
            self.set_back();
        }
    }

    #[cold]
    fn set_back(&mut self) {
        for (level, one) in self.ranks.iter_mut().enumerate() {
            // What is behind `now` counts as `now`, before and after.
            *one = rank(pass_of(*one).saturating_sub(self.now), level);
        }
        self.now = 0;
    }

    /// How many picks of the other levels make up for one of this level.
    pub(super) fn patience(&self, level: usize) -> Option<u64> {
        if self.weighted >> level & 1 == 0 {
            return None;
        }
        let own = self.strides[level];
        let others = Bits(self.weighted & !(1 << level));
        Some(others.map(|other| own.div_ceil(self.strides[other])).sum())
    }

    /// How many picks, of any level, can come before that of a task with `ahead` others before it in its own level.
    /// `None` = any number.
    pub(super) fn picks_before(&self, level: usize, ahead: usize) -> Option<u128> {
        if self.weighted >> level & 1 == 0 {
            return None;
        }
        let (ahead, own) = (ahead as u128, u128::from(self.strides[level]));
        let others = Bits(self.weighted & !(1 << level));
        let others = others.map(|other| 1 + (ahead + 1) * own / u128::from(self.strides[other]));
        Some(ahead + others.sum::<u128>())
    }
}

fn pass_of(rank: u64) -> u64 {
    rank / LEVELS as u64
}

/// The least common multiple of the weights that are not 0, if it can be a stride.
fn common_multiple(weights: &[u32]) -> Option<u64> {
    let weights = weights.iter().map(|weight| u64::from(*weight));
    weights
        .filter(|weight| *weight > 0)
        .try_fold(1, |multiple, weight| {
            // Below 2^48 times 2^32: no overflow of a u128, and none of the u64 where it passes.
            let next = u128::from(multiple / greatest_divisor(multiple, weight)) * u128::from(weight);
            u64::try_from(next).ok().filter(|next| *next <= LARGEST_STRIDE)
        })
}

fn greatest_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_divisor(b, a % b) }
}
