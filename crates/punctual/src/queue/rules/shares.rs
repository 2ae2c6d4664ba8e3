//! Shares: levels are picked in proportion to their weights (start-time fair queueing, counted in picks).
//!
//! In: the heads. Out: the level with the smallest pass. What follows from that is argued in [`super`].

use super::{Bits, Heads, LEVELS};
use crate::ConfigError;

/// Strides are at most this. With the largest weight, one is still 2^16: rounding it changes little.
const LARGEST_STRIDE: u64 = 1 << 48;

/// When `now` has come this far, all passes are set back: what is added to them never overflows.
const FAR: u64 = 1 << 62;

#[derive(Debug, Clone)]
pub(crate) struct Shares {
    /// What a pick costs; 0 for a level without a weight.
    strides: [u64; LEVELS],
    passes: [u64; LEVELS],
    /// The largest pass that was taken. A smaller one counts as this.
    now: u64,
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
            passes: [0; LEVELS],
            now: 0,
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
    #[inline]
    pub(super) fn choose(&self, heads: &Heads<'_>, first: usize) -> usize {
        let (mut best, mut at) = (first, u64::MAX);
        for level in Bits(heads.occupied & self.weighted) {
            let pass = self.passes[level].max(self.now);
            if pass < at {
                (best, at) = (level, pass);
            }
        }
        best
    }

    #[inline]
    pub(super) fn took(&mut self, level: usize) {
        // A level without a weight has a stride of 0, and its pass is never looked at.
        self.now = self.now.max(self.passes[level]);
        self.passes[level] = self.now + self.strides[level];
        if self.now >= FAR {
            self.set_back();
        }
    }

    #[cold]
    fn set_back(&mut self) {
        for pass in &mut self.passes {
            // What is behind `now` counts as `now`, before and after.
            *pass = pass.saturating_sub(self.now);
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
