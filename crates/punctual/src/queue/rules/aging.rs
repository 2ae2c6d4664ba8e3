//! Aging: who waits becomes more urgent, a level for each step.
//!
//! In: the heads, and the time if it matters. Out: the level that comes first. Its promise is argued in [`super`].

use super::{Bits, Heads, LEVELS, level_of, smallest};
use crate::ConfigError;
use crate::time::Tick;
use std::time::Duration;

/// Most queues have no more levels than these.
const FEW: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Aging {
    /// At least 1.
    step: Tick,
    /// The longest wait with which a task of each level does not yet count as one of level 0; of level 0, which always does,
    /// nobody asks.
    short: [Tick; LEVELS],
    /// The latest time that was read. What was aged then is aged now.
    seen: Tick,
}

impl Aging {
    /// A step of zero is refused: every task would count as most urgent, and the levels would mean nothing. One beyond
    /// the clock's horizon never passes.
    pub(crate) fn new(step: Duration) -> Result<Self, ConfigError> {
        if step.is_zero() {
            return Err(ConfigError::new(
                "aging",
                "0 ns",
                "the step must be longer than zero, or the levels would have no effect",
                "give a step of at least 1 ns, or use a queue without levels",
            ));
        }
        let step = Tick::try_from(step.as_nanos()).unwrap_or(Tick::MAX);
        Ok(Aging {
            step,
            short: std::array::from_fn(|level| match step.checked_mul(level as Tick) {
                Some(delay) => delay.saturating_sub(1),
                None => Tick::MAX,
            }),
            seen: 0,
        })
    }

    /// `first` is the most urgent level that holds a task.
    #[inline(always)]
    pub(super) fn choose(&mut self, heads: &Heads<'_>, first: usize, now: impl FnOnce() -> Tick) -> usize {
        // Without a look at which hold tasks, but for the usual number of levels: the others are not old.
        let (few, more) = heads.ranks.split_at(FEW);
        let mut least = smallest(few, &[0; FEW]);
        if heads.occupied >= 1 << FEW {
            least = least.min(smallest(more, &[0; LEVELS - FEW]));
        }
        let oldest = level_of(least);
        // No level is more urgent, and no head is older. Or the oldest is as urgent as can be, and was before.
        if oldest == first || self.is_aged(oldest, heads) {
            return oldest;
        }
        // The mask changes nothing; it shows that the number is an index.
        self.choose_by_the_clock(*heads, first, oldest, now) & (LEVELS - 1)
    }

    #[inline(never)]
    fn choose_by_the_clock(
        &mut self,
        heads: Heads<'_>,
        first: usize,
        oldest: usize,
        now: impl FnOnce() -> Tick,
    ) -> usize {
        self.seen = self.seen.max(now());
        if self.is_aged(oldest, &heads) {
            return oldest;
        }
        // Nobody has waited longer than the oldest.
        if self.waited(oldest, &heads) < self.step {
            return first;
        }
        self.compare(&heads, first)
    }

    /// Some count as more urgent by now, the oldest not yet as most urgent. Kept out of the way of the usual cases.
    #[inline(never)]
    fn compare(&self, heads: &Heads<'_>, first: usize) -> usize {
        let effective = |level: usize| self.effective_level(level, heads.stamps[level], self.seen);
        let (mut best, mut at) = (first, effective(first));
        for level in Bits(heads.occupied & (heads.occupied - 1)) {
            // A younger head of a less urgent level cannot win; an older one does if it is no less urgent by now.
            if heads.ranks[level] < heads.ranks[best] {
                let candidate = effective(level);
                if candidate <= at {
                    (best, at) = (level, candidate);
                }
            }
        }
        best
    }

    fn waited(&self, level: usize, heads: &Heads<'_>) -> Tick {
        self.seen.saturating_sub(heads.stamps[level])
    }

    /// Whether that head counts as one of level 0.
    #[inline]
    fn is_aged(&self, level: usize, heads: &Heads<'_>) -> bool {
        debug_assert_ne!(level, 0);
        self.waited(level, heads) > self.short[level]
    }

    pub(super) fn effective_level(&self, level: usize, stamp: Tick, now: Tick) -> usize {
        let waited = now.saturating_sub(stamp);
        // Mostly so, and a division costs more than all the rest.
        if waited < self.step {
            return level;
        }
        level.saturating_sub(usize::try_from(waited / self.step).unwrap_or(usize::MAX))
    }

    /// How long a task of that level can be overtaken by later ones.
    pub(in crate::queue) fn delay(&self, level: usize) -> Duration {
        super::nanos(u128::from(self.step) * level as u128)
    }
}
