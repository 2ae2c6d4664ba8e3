//! Which level is served next: the rules of a priority queue, as plain arithmetic.
//!
//! In: which levels hold tasks, and of the oldest task of each (its *head*) when it came. Out: the level whose head is
//! to be taken. No lock, no clock of their own, no memory but a few numbers: the caller holds the lock under which
//! heads are taken, and lends a clock that is read only where the answer depends on it.
//!
//! # What the caller keeps
//! - A level is FIFO: its head is the oldest of it, by order and by stamp.
//! - `orders` grow with every accepted task, over all levels. `stamps` never fall in that order: they are read under the
//!   lock that gives the order, or raised to the one before. (Equal stamps are usual: a manual clock stands still.)
//! - Stamps and the present are readings of the system's coarse clock, exact to one of its ticks: a task may rise early or late by
//!   as much. A manual clock is exact.
//! - A task that changes its level, or becomes due, is a new one there: stamp, order and place are those of its arrival.
//! - A head may have been cancelled. Its level may be chosen for it, and then nothing is taken: the caller drops the
//!   head and asks again, and calls [`Rule::took`] only for a task that it really got.
//!
//! # Why heads are enough
//! Each rule compares tasks of *one* level by age alone, oldest first. So the first of all tasks is among the first of
//! each level, and these are the heads. (A head that was cancelled is older than the live ones behind it, so it stands
//! before whatever they stand before: it can make the caller ask again, it cannot make it take a wrong task.)
//!
//! # Strict
//! The most urgent level that holds anything. A less urgent one waits for as long as there is more urgent work, for
//! ever if need be: that is what strict means, and why it is not the default.
//!
//! # Aging
//! A task of level `l` that has waited `w` counts as one of level `l - w / step` (whole steps), and never less than 0.
//! Heads are compared by that effective level, then by age.
//!
//! *Once a task of level `l` has waited `l * step`, nothing submitted after it is taken before it*: its effective level
//! is 0, no other is smaller, and of those at 0 the older one is taken. With equal stamps the order decides; without it
//! no tie-break could keep the promise, because the older of two such tasks may be in either level. Two tasks of one
//! level never change places. The bonus for waiting grows with time and ends at level 0.
//!
//! A less urgent head that is younger than a more urgent one has waited no longer and cannot win. So there are cases
//! without a reading of the clock: one level holds tasks; the most urgent head is also the oldest; or the oldest was
//! aged at the time that was read last (an overload, in which aging is FIFO over all levels).
//!
//! # Shares
//! Each level has a pass, a number that a pick of it raises by its stride, a constant divided by its weight. The smallest
//! pass is taken, the more urgent of two equal ones. `now` is the largest pass that has been taken; a pass below it counts
//! as `now`, which is how a level that was empty comes back: without credit for that time. Write `s` for a level's
//! stride. While it holds tasks its pass lies between `now` and `now + s`: it is at least the smallest, and was
//! `now + s` when it was raised last. From this follow, for a stretch in which a level has been picked `n` times:
//!
//! - *The shares are right.* If it held tasks all the time, `n * s` differs from the advance of `now` by `s` at most,
//!   whatever the other levels did. So two such levels have `|n1 * s1 - n2 * s2| <= s1 + s2`; and where the same `k`
//!   levels hold tasks over `N` picks, each gets `N * f` picks, give or take `1 + (k - 2) * f`, where `f` is its weight
//!   divided by the weights of those `k`. With all of 50/30/15/5, over any 1000 picks: 500, 300, 150 and 50, each within 2.
//! - *What is not used goes to the others in proportion*: `f` counts only the levels that hold tasks.
//! - *Nobody starves.* A task with `a` others before it in a level of weight `w >= 1` sees at most
//!   `1 + (a + 1) * v / w` (whole ones) picks of each level of weight `v`: those began at a pass of `now` or more, and end
//!   at its own pass, which is `now + (a + 1) * s` or less.
//! - *Nobody saves up.* A level that comes back begins at `now`, where the smallest of the others may be too. It is picked
//!   at most `1 + w / v` times in a row while one of weight `v` waits, exactly as if it had never been away.
//!
//! A level of weight 0 is served when no level with a weight holds a task, by strict urgency, and may starve.
//! Strides are exact (the least common multiple of the weights divided by each) unless that multiple exceeds 2^48; then
//! they are rounded, by less than one part in 2^16. All weights at 0 would be `strict`, and are refused.
//!
//! # The longest wait
//! [`Rule::wait_bound`] is this arithmetic, for a pool whose `threads` workers do nothing but serve this queue:
//!
//! ```text
//! wait <= delay + mean_run * (before + threads) / threads
//!
//! strict, level 0    delay = 0           before = ahead
//! strict, others     no bound
//! aging, level l     delay = l * step    before = ahead, in all levels
//! shares, weight w   delay = 0           before = ahead + the sum of 1 + (ahead + 1) * v / w over the other weights v
//! shares, weight 0   no bound
//! ```
//!
//! `ahead` is the number of tasks that wait in its level when it is submitted. Under aging it is the number of *all* that
//! wait: they are older, whatever their level, and may come first. What is submitted later may overtake it for
//! `l * step`, however much it is, and then not any more: so no rate of arrival enters. A number that is too large gives
//! a bound that is too long, never one that is wrong: the length of the whole queue is always a safe `ahead`.
//!
//! Why: until the task is taken no worker is idle. So `threads` times its wait (under aging: from `delay` on) is at
//! most the rest of what is running then, one task each, and the `before` tasks. `mean_run` is the mean of these;
//! with the longest run instead of the mean the bound holds for certain, with a forecast it is a forecast. Not counted is
//! what passes beside the rules: due timers, `run_next`, in-place runs, a pause, workers that wait inside their tasks.

mod aging;
mod shares;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;

pub(crate) use self::aging::Aging;
pub(crate) use self::shares::Shares;
use crate::time::Tick;
use std::time::Duration;

/// Levels that a queue can have. 0 is the most urgent.
pub(crate) const LEVELS: usize = 8;

/// What a rule sees: of each level whether it holds a task, and when its oldest one came.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Heads<'a> {
    /// Bit `l` is set if level `l` holds a task.
    pub(crate) occupied: u8,
    /// The clock when the head was accepted.
    pub(crate) stamps: &'a [Tick; LEVELS],
    /// The [`rank`] of how many were accepted before it, or of any other number that tells older from younger. The largest
    /// number where a level holds none.
    pub(crate) ranks: &'a [u64; LEVELS],
}

/// A number and its level in one, so that the smallest of several tells whose it is; of equal numbers that of the more
/// urgent level. The number is below 2^61.
#[inline]
pub(crate) fn rank(number: u64, level: usize) -> u64 {
    debug_assert!(number < u64::MAX / LEVELS as u64 && level < LEVELS);
    number * LEVELS as u64 + level as u64
}

/// The level of a rank.
#[inline]
fn level_of(rank: u64) -> usize {
    rank as usize % LEVELS
}

/// The smallest of so many ranks, each with the bits of its mask set.
#[inline(always)]
fn smallest<const MANY: usize>(ranks: &[u64], masks: &[u64; MANY]) -> u64 {
    ranks
        .iter()
        .zip(masks)
        .fold(u64::MAX, |least, (rank, mask)| least.min(rank | mask))
}

impl Heads<'_> {
    /// The most urgent level that holds a task.
    #[inline]
    fn first(&self) -> Option<usize> {
        Bits(self.occupied).next()
    }
}

/// The levels of a bitmap, the most urgent first.
struct Bits(u8);

impl Iterator for Bits {
    type Item = usize;

    #[inline]
    fn next(&mut self) -> Option<usize> {
        if self.0 == 0 {
            return None;
        }
        // The mask changes nothing; it shows that the number is an index.
        let level = self.0.trailing_zeros() as usize & (LEVELS - 1);
        self.0 &= self.0 - 1;
        Some(level)
    }
}

/// An answer: take this level's head.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pick {
    pub(crate) level: usize,
    /// Its wait brought it before the head of a more urgent level, or what stood there. (A pick by share is no
    /// promotion.)
    pub(crate) promoted: bool,
}

/// How a queue chooses among its levels.
#[derive(Debug, Clone)]
pub(crate) enum Rule {
    Strict,
    Aging(Aging),
    Shares(Shares),
}

impl Rule {
    /// Chooses and counts at once, where a head that is chosen is also taken.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn pick(&mut self, heads: &Heads<'_>, now: impl FnOnce() -> Tick) -> Option<Pick> {
        let pick = self.choose(heads, now)?;
        self.took(pick.level);
        Some(pick)
    }

    /// The level whose head comes next. Asked again before [`Rule::took`], it answers the same, unless heads or time
    /// have changed. `now` is called at most once.
    #[inline(always)]
    pub(crate) fn choose(&mut self, heads: &Heads<'_>, now: impl FnOnce() -> Tick) -> Option<Pick> {
        let first = heads.first()?;
        let level = match self {
            Rule::Strict => first,
            Rule::Aging(aging) => aging.choose(heads, first, now),
            Rule::Shares(shares) => shares.choose(heads, first),
        };
        let promoted = level != first && matches!(self, Rule::Aging(_));
        Some(Pick { level, promoted })
    }

    /// As [`Rule::choose`], for a caller who knows that it is aging and which level is the most urgent.
    #[inline(always)]
    pub(crate) fn choose_by_age(
        &mut self,
        heads: &Heads<'_>,
        first: usize,
        now: impl FnOnce() -> Tick,
    ) -> usize {
        let Rule::Aging(aging) = self else {
            unreachable!("asked of another rule")
        };
        aging.choose(heads, first, now)
    }

    /// The same of shares.
    #[inline(always)]
    pub(crate) fn choose_by_share(&mut self, heads: &Heads<'_>, first: usize) -> usize {
        let Rule::Shares(shares) = self else {
            unreachable!("asked of another rule")
        };
        shares.choose(heads, first)
    }

    /// The head of this level has been taken.
    #[inline(always)]
    pub(crate) fn took(&mut self, level: usize) {
        if let Rule::Shares(shares) = self {
            shares.took(level);
        }
    }

    /// The level that a task counts as by now.
    pub(crate) fn effective_level(&self, level: usize, stamp: Tick, now: Tick) -> usize {
        match self {
            Rule::Aging(aging) => aging.effective_level(level, stamp, now),
            Rule::Strict | Rule::Shares(_) => level,
        }
    }

    /// How many picks of the other levels a task of this level, at its head, may see before its own, where they always hold
    /// tasks; `None`: any number, or a question of time.
    pub(crate) fn patience(&self, level: usize) -> Option<u64> {
        match self {
            Rule::Strict | Rule::Aging(_) => None,
            Rule::Shares(shares) => shares.patience(level),
        }
    }

    /// How many are picked before a task with so many others before it in its level, at most, counting those; `None`: the
    /// rule alone sets no bound, or it is a question of time.
    pub(crate) fn picks_before(&self, level: usize, ahead: usize) -> Option<u128> {
        match self {
            Rule::Strict | Rule::Aging(_) => None,
            Rule::Shares(shares) => shares.picks_before(level, ahead),
        }
    }

    /// The longest wait of a task that finds `ahead` others waiting (in its level; under aging, in all): see "The longest
    /// wait" above. `level` is one of the queue's. `None` = no bound. Beyond the reach of `Duration` it is `Duration::MAX`.
    pub(crate) fn wait_bound(
        &self,
        level: usize,
        ahead: usize,
        mean_run: Duration,
        threads: usize,
    ) -> Option<Duration> {
        let (delay, before) = match self {
            Rule::Strict if level == 0 => (Duration::ZERO, ahead as u128),
            Rule::Strict => return None,
            Rule::Aging(aging) => (aging.delay(level), ahead as u128),
            Rule::Shares(shares) => (Duration::ZERO, shares.picks_before(level, ahead)?),
        };
        if threads == 0 {
            return None;
        }
        let threads = threads as u128;
        let work = (before + threads).checked_mul(mean_run.as_nanos());
        let wait = work.map(|work| nanos(work.div_ceil(threads)));
        Some(wait.unwrap_or(Duration::MAX).saturating_add(delay))
    }
}

/// A duration of so many nanoseconds, or the longest there is.
fn nanos(nanos: u128) -> Duration {
    const SECOND: u128 = 1_000_000_000;
    match u64::try_from(nanos / SECOND) {
        Ok(seconds) => Duration::new(seconds, (nanos % SECOND) as u32),
        Err(_) => Duration::MAX,
    }
}
