//! Scenario N5: how far the picks of a pool with shares are from their targets while no level is ever empty. In: a pool, how
//! many picks. Out: the largest error of any level in any 1000 picks on end, in percent of that level's target.
//!
//! A task notes its level as it starts and submits the next of the same level. Two workers may note their picks in another
//! order than they took them, which moves a window's edge by a pick: of the smallest level's fifty that is 2 %.

use std::{
    sync::atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use super::{super::WEIGHTS, Figures};
use crate::contend::{LEVELS, Levels};

const WINDOW: usize = 1000;

/// Waiting in each level: more than workers could ever hold in their hands.
const STANDING: u64 = 500;

const POLL: Duration = Duration::from_micros(50);

struct Log<P: 'static> {
    pool: &'static P,
    picks: Vec<AtomicU8>,
    next: AtomicUsize,
    ended: AtomicU64,
}

impl<P: Levels> Log<P> {
    fn push(&'static self, level: usize) {
        self.pool.execute_at(level, move || self.turn(level));
    }

    fn turn(&'static self, level: usize) {
        let place = self.picks.get(self.next.fetch_add(1, Ordering::Relaxed));
        let Some(place) = place else {
            // Release: each pick was noted before its follower was submitted, so all are seen with the last end.
            self.ended.fetch_add(1, Ordering::Release);
            return;
        };
        place.store(level as u8, Ordering::Relaxed);
        self.push(level);
    }
}

pub(crate) fn run<P: Levels>(pool: &'static P, picks: u64) -> Figures {
    let held = super::super::memory::Held::workers_of(pool);
    let log: &'static Log<P> = Box::leak(Box::new(Log {
        pool,
        picks: (0..picks.max(2 * WINDOW as u64))
            .map(|_| AtomicU8::new(0))
            .collect(),
        next: AtomicUsize::new(0),
        ended: AtomicU64::new(0),
    }));
    for _ in 0..STANDING {
        (0..LEVELS).for_each(|level| log.push(level));
    }
    held.release();
    while log.ended.load(Ordering::Acquire) < STANDING * LEVELS as u64 {
        thread::sleep(POLL);
    }
    let picks: Vec<usize> = log
        .picks
        .iter()
        .map(|level| usize::from(level.load(Ordering::Relaxed)))
        .collect();
    vec![("share_error", largest_error(&picks, WEIGHTS))]
}

/// Over all windows and levels, in percent of the target.
fn largest_error(picks: &[usize], weights: [u32; LEVELS]) -> f64 {
    let sum: u32 = weights.iter().sum();
    let targets = weights.map(|weight| f64::from(weight) / f64::from(sum) * WINDOW as f64);
    let mut counts = [0u32; LEVELS];
    let mut largest: f64 = 0.0;
    for (i, level) in picks.iter().enumerate() {
        counts[*level] += 1;
        if i >= WINDOW {
            counts[picks[i - WINDOW]] -= 1;
        }
        if i + 1 < WINDOW {
            continue;
        }
        for (count, target) in counts.iter().zip(targets) {
            largest = largest.max((f64::from(*count) - target).abs() / target * 100.0);
        }
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10, 6, 3 and 1 of twenty.
    fn even() -> Vec<usize> {
        let round = [0, 1, 0, 1, 0, 2, 0, 1, 0, 3, 0, 1, 0, 2, 0, 1, 0, 2, 0, 1];
        round.repeat(150)
    }

    #[test]
    fn an_even_run_has_no_error_and_one_pick_of_the_smallest_is_two_percent() {
        assert_eq!(largest_error(&even(), WEIGHTS), 0.0);
        let mut picks = even();
        picks[1509] = 0;
        assert_eq!(largest_error(&picks, WEIGHTS), 2.0);
    }

    #[test]
    fn a_window_in_the_middle_is_seen_although_the_whole_is_even() {
        let mut picks = even();
        picks[1000..2000].sort_unstable();
        assert!(largest_error(&picks, WEIGHTS) > 50.0);
        assert_eq!(largest_error(&picks[..1000], WEIGHTS), 0.0);
    }

    #[test]
    fn strict_order_is_a_large_error() {
        assert_eq!(largest_error(&[0; 1000], WEIGHTS), 100.0);
        assert_eq!(largest_error(&[3; 1000], WEIGHTS), 1900.0);
    }
}
