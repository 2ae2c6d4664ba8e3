//! Scenario N2: how long an URGENT task waits while LOW ones keep every worker busy and a thousand of them wait. In: a pool,
//! how many urgent ones. Out: p50 and p99 of the time from submission to start, in microseconds.
//!
//! All come from one thread outside: each millisecond it fills the LOW ones up again and then submits one URGENT.

use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::{super::work, Figures, LOW};
use crate::{
    contend::{Levels, WORKERS},
    count::{Tally, ran},
    stats,
};

const URGENT: usize = 0;
const EVERY: Duration = Duration::from_millis(1);

/// LOW tasks that wait, and how long each takes: about 20 us.
const BACKLOG: u64 = 1000;
const LOW_STEPS: u64 = 18 * work::MICROSECOND_STEPS;

/// On a machine that gives this thread no time the backlog runs low. Such turns do not count, and so many times the
/// wanted number is the most that is tried.
const TRIES: u64 = 4;

/// Of one that has not started.
const NOT_YET: u64 = u64::MAX;

pub(crate) fn run<P: Levels>(pool: &'static P, urgent: u64) -> Figures {
    let waits: Vec<AtomicU64> = (0..urgent).map(|_| AtomicU64::new(NOT_YET)).collect();
    let waits: &'static [AtomicU64] = waits.leak();
    let low = Tally::start();
    let (mut submitted, mut noted) = (0, 0);
    for turn in 0..=urgent * TRIES {
        let waiting = submitted - low.done();
        for i in waiting..BACKLOG + WORKERS as u64 {
            pool.execute_at(LOW, move || ran(work::spin_steps(i + 1, LOW_STEPS)));
            submitted += 1;
        }
        // The first turn fills it.
        if turn > 0 && waiting >= BACKLOG / 2 {
            let Some(wait) = waits.get(noted) else { break };
            noted += 1;
            let start = Instant::now();
            pool.execute_at(URGENT, move || {
                wait.store(start.elapsed().as_nanos() as u64, Relaxed);
            });
        }
        thread::sleep(EVERY);
    }
    let started: Vec<f64> = waits[..noted].iter().map(microseconds).collect();
    low.wait_for(submitted);
    [("urgent_p50", 0.5), ("urgent_p99", 0.99)]
        .into_iter()
        .filter_map(|(name, q)| Some((name, stats::quantile(&started, q)?)))
        .collect()
}

/// Waits for its start; a lost one lets this hang, and the parent says so.
fn microseconds(wait: &AtomicU64) -> f64 {
    loop {
        match wait.load(Relaxed) {
            NOT_YET => thread::sleep(EVERY),
            nanos => return nanos as f64 / 1000.0,
        }
    }
}
