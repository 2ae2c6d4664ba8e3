//! Which part of all tasks each level got in the last minute, as far as those who look can know.
//!
//! In: how many tasks were taken from each level so far. Out: the parts of those that were taken since a look between half a minute
//! and a minute ago; since the look before, if looks are rarer; since the beginning, if there was none. Two looks are kept, and
//! nothing is counted for it.

use super::LevelStats;
use crate::queue::LEVELS;
use crate::sync::Lock;
use crate::time::Tick;

/// How far the looks that are kept are apart, at least.
const APART: Tick = 30_000_000_000;

/// What a look saw, and when.
#[derive(Debug, Clone, Copy, Default)]
struct Mark {
    at: Tick,
    taken: [u64; LEVELS],
}

/// The last two looks that are so far apart: the older first.
#[derive(Debug)]
pub(crate) struct Lately(Lock<[Mark; 2]>);

impl Default for Lately {
    fn default() -> Self {
        Lately(Lock::new([Mark::default(); 2]))
    }
}

impl Lately {
    /// A look: fills in what each level with a share got lately.
    pub(crate) fn look(&self, levels: &mut [LevelStats], now: Tick) {
        let mut taken = [0; LEVELS];
        for (sum, level) in taken.iter_mut().zip(&*levels) {
            *sum = level.taken;
        }
        let news = self.since(taken, now);
        let all: u64 = news.iter().sum();
        for (level, news) in levels.iter_mut().zip(news) {
            let is_shared = level.share_target.is_some() && all > 0;
            level.share_lately = is_shared.then(|| news as f64 / all as f64);
        }
    }

    fn since(&self, taken: [u64; LEVELS], now: Tick) -> [u64; LEVELS] {
        let mut marks = self.0.lock();
        if now.saturating_sub(marks[1].at) >= APART {
            *marks = [marks[1], Mark { at: now, taken }];
        }
        let before = marks[0].taken;
        // Two who look at once may come here the other way round.
        std::array::from_fn(|level| taken[level].saturating_sub(before[level]))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn looks(looks: &[(Tick, u64)]) -> Vec<u64> {
        let lately = Lately::default();
        let look = |&(seconds, taken): &(Tick, u64)| {
            let mut all = [0; LEVELS];
            all[0] = taken;
            lately.since(all, (1_000 + seconds) * 1_000_000_000)[0]
        };
        looks.iter().map(look).collect()
    }

    #[test]
    fn at_first_it_is_everything() {
        assert_eq!(looks(&[(0, 7), (15, 9)]), [7, 9]);
    }

    #[test]
    fn later_it_is_half_a_minute_to_a_minute() {
        // One task a second.
        let every_second: Vec<(Tick, u64)> = (0..300).map(|second| (second, second)).collect();
        let seen = looks(&every_second);
        assert!(seen[60..].iter().all(|news| (30..=60).contains(news)), "{seen:?}");
    }

    #[test]
    fn who_looks_seldom_is_told_since_the_last_look() {
        assert_eq!(looks(&[(0, 0), (300, 50), (600, 51)]), [0, 50, 1]);
    }
}
