//! For how long tasks of a level have waited without a break, as far as those who look can know.
//!
//! In: whether tasks wait, and a count that grows whenever none was left. Out: at least how long that has not happened. Nobody
//! reads a clock when a level becomes empty or stops being so: whoever looks twice and finds the same count knows that tasks have
//! waited all the time in between.

use crate::queue::LEVELS;
use crate::sync::Lock;
use crate::time::Tick;
use std::time::Duration;

/// Of each level: the count as it was at a look, and when that was.
#[derive(Debug)]
pub(crate) struct Unbroken(Lock<[Option<(u64, Tick)>; LEVELS]>);

impl Default for Unbroken {
    fn default() -> Self {
        Unbroken(Lock::new([None; LEVELS]))
    }
}

impl Unbroken {
    /// A look at a level that has been empty `breaks` times; `oldest` is how long the oldest task has waited, if that is known.
    pub(crate) fn look(
        &self,
        level: usize,
        breaks: u64,
        oldest: Option<Duration>,
        is_waiting: bool,
        now: Tick,
    ) -> Option<Duration> {
        let mut seen = self.0.lock();
        if !is_waiting {
            seen[level] = None;
            return None;
        }
        let since = match seen[level] {
            Some((count, since)) if count == breaks => since,
            _ => now,
        };
        seen[level] = Some((breaks, since));
        // The oldest was there all its time, too.
        let at_least = Duration::from_nanos(now.saturating_sub(since));
        Some(at_least.max(oldest.unwrap_or_default()))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const SECOND: Tick = 1_000_000_000;

    #[test]
    fn it_counts_from_the_first_look_that_found_no_break_since() {
        let unbroken = Unbroken::default();
        let look = |breaks, seconds| unbroken.look(0, breaks, None, true, seconds * SECOND);
        assert_eq!(look(7, 10), Some(Duration::ZERO));
        assert_eq!(look(7, 15), Some(Duration::from_secs(5)));
        assert_eq!(look(8, 20), Some(Duration::ZERO));
        assert_eq!(look(8, 21), Some(Duration::from_secs(1)));
        assert_eq!(unbroken.look(0, 8, None, false, 22 * SECOND), None);
        assert_eq!(look(8, 23), Some(Duration::ZERO));
    }

    #[test]
    fn it_is_no_less_than_the_wait_of_the_oldest() {
        let unbroken = Unbroken::default();
        let oldest = Some(Duration::from_secs(3));
        assert_eq!(unbroken.look(7, 0, oldest, true, 10 * SECOND), oldest);
    }
}
