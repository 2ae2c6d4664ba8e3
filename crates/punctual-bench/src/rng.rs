//! Order of the children inside a round, delays of timers. A seed in, a shuffle or a number out; the seed of the order is
//! printed so that it can be had again. Not here: anything that needs good randomness.

use std::time::{SystemTime, UNIX_EPOCH};

/// xorshift64.
#[derive(Debug)]
pub(crate) struct Shuffler(u64);

impl Shuffler {
    pub(crate) fn new(seed: u64) -> Self {
        // Zero is the one state xorshift cannot leave.
        Shuffler(seed.max(1))
    }

    /// A seed nobody chose.
    pub(crate) fn fresh_seed() -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(1, |since| since.as_micros() as u64)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `limit`, which is not zero and far below 2^64.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Fisher-Yates; the modulo's bias is far below what an order of a dozen entries could show.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last as u64 + 1) as usize;
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_one_order_and_loses_nothing() {
        let order = |seed| {
            let mut items: Vec<u32> = (0..12).collect();
            Shuffler::new(seed).shuffle(&mut items);
            items
        };
        assert_eq!(order(7), order(7));
        assert_ne!(order(7), order(8));
        let mut back = order(0);
        back.sort_unstable();
        assert_eq!(back, (0..12).collect::<Vec<u32>>());
    }
}
