//! Scenario E: submit one task, wait for its result. In: a pool, how many rounds. Out: p50 and p99 in microseconds,
//! back to back (busy) and after a pause in which the workers go to sleep (parked).

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use super::Figures;
use crate::{contend::Contender, stats};

/// Long enough for every worker to be asleep.
const PAUSE: Duration = Duration::from_millis(1);

const WARM_PASSES: u64 = 3;

pub(crate) fn run<P: Contender>(pool: &'static P, busy: u64, parked: u64) -> Figures {
    for _ in 0..WARM_PASSES {
        rounds(pool, busy / 4, || {});
    }
    let busy = rounds(pool, busy, || {});
    let parked = rounds(pool, parked, || thread::sleep(PAUSE));
    [
        ("busy_p50", &busy, 0.5),
        ("busy_p99", &busy, 0.99),
        ("parked_p50", &parked, 0.5),
        ("parked_p99", &parked, 0.99),
    ]
    .into_iter()
    .filter_map(|(name, times, q)| Some((name, stats::quantile(times, q)?)))
    .collect()
}

fn rounds<P: Contender>(pool: &'static P, rounds: u64, before: impl Fn()) -> Vec<f64> {
    let mut times = Vec::with_capacity(rounds as usize);
    for i in 0..rounds {
        before();
        let start = Instant::now();
        let answer = P::join(pool.submit(move || black_box(i)));
        times.push(start.elapsed().as_nanos() as f64 / 1000.0);
        assert_eq!(answer, i, "the answer belongs to the question");
    }
    times
}
