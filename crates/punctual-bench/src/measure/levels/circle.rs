//! Scenarios M and N1: nanoseconds per task over four levels while a number of others wait. In: a pool, how many tasks.
//! Out: the time per task of the last pass, for each backlog.
//!
//! Every task that runs submits another one, at another level: so as many wait all the time, whoever is faster, producer or
//! worker. For one worker that is a push and a pop on one thread. A pass ends when so many have run; from then on none is
//! followed by another, and all that wait run out.

use std::{
    cell::Cell,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::super::{Figures, memory::Held, throughput};
use crate::{
    catalog::Sizes,
    contend::Levels,
    count::{Tally, ran},
};

/// How many wait, and the metric of it; `java/Peers.java` has the same.
const BACKLOGS: [(u64, &str); 3] = [(0, "backlog_0"), (1_000, "backlog_1k"), (100_000, "backlog_100k")];

/// 2^64 divided by the golden ratio: steps of this visit all levels evenly and without a short period.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

const POLL: Duration = Duration::from_micros(50);

thread_local! {
    static WHERE: Cell<u64> = const { Cell::new(0) };
}

/// One of four, from the two highest bits.
fn level_at(position: u64) -> usize {
    (position >> 62) as usize
}

fn next_level() -> usize {
    let position = WHERE.get().wrapping_add(STEP);
    WHERE.set(position);
    level_at(position)
}

/// One producer outside the pool, at most 8192 in flight; the last pass.
pub(crate) fn from_outside<P: Levels>(pool: &'static P, sizes: Sizes) -> f64 {
    let pass = || {
        throughput::in_window(sizes.count, |i| {
            pool.execute_at(level_at(i.wrapping_mul(STEP)), move || ran(i));
        })
    };
    let figures = throughput::passes(sizes.repeat, sizes.count, pass);
    figures[1].1
}

pub(crate) fn beside_backlogs<P: Levels>(pool: &'static P, workers: usize, sizes: Sizes) -> Figures {
    let last_of = |backlog| {
        let passes = (0..sizes.repeat.max(1)).map(|_| pass(pool, workers, backlog, sizes.count));
        passes.last().unwrap_or_default()
    };
    BACKLOGS.map(|(backlog, name)| (name, last_of(backlog))).into()
}

struct Circle<P: 'static> {
    pool: &'static P,
    over: AtomicBool,
    ended: AtomicU64,
}

impl<P: Levels> Circle<P> {
    fn push(&'static self) {
        self.pool.execute_at(next_level(), move || self.turn());
    }

    fn turn(&'static self) {
        if self.over.load(Relaxed) {
            self.ended.fetch_add(1, Relaxed);
            return;
        }
        self.push();
        ran(1);
    }
}

fn pass<P: Levels>(pool: &'static P, workers: usize, backlog: u64, tasks: u64) -> f64 {
    let circle: &'static Circle<P> = Box::leak(Box::new(Circle {
        pool,
        over: AtomicBool::new(false),
        ended: AtomicU64::new(0),
    }));
    let held = Held::some_of(pool, workers);
    // One in the hands of each worker, the others wait.
    let all = backlog + workers as u64;
    (0..all).for_each(|_| circle.push());

    let (tally, start) = (Tally::start(), Instant::now());
    held.release();
    tally.wait_for(tasks);
    let (ran, time) = (tally.done(), start.elapsed());
    circle.over.store(true, Relaxed);
    // A lost task lets this hang, and the parent says so.
    while circle.ended.load(Relaxed) < all {
        thread::sleep(POLL);
    }
    time.as_nanos() as f64 / ran as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contend::LEVELS;

    #[test]
    fn levels_come_evenly_and_not_in_a_short_round() {
        let levels: Vec<usize> = (0..4000u64).map(|i| level_at(i.wrapping_mul(STEP))).collect();
        for level in 0..LEVELS {
            let count = levels.iter().filter(|one| **one == level).count();
            assert!((995..=1005).contains(&count), "level {level}: {count}");
        }
        for period in 1..50 {
            assert!(levels[..1000] != levels[period..1000 + period], "{period}");
        }
    }
}
