//! Do two threads really get two cores? With both on one core the ranking of the peers changes, so a run says it
//! first. In: nothing. Out: how many cores two busy threads were worth. Not here: pinning, which users do not do.

use std::{hint::black_box, thread, time::Instant};

use crate::{measure::work::spin_steps, stats};

/// About 10 ms of arithmetic: far above a time slice's start, short enough to be unnoticed.
const STEPS: u64 = 5_000_000;
const TRIES: usize = 5;

/// Below this a run is marked as doubtful. Guess: a quiet 2-core machine shows 1.9 to 2.0.
const DOUBTFUL: f64 = 1.7;

/// 2.0 when two threads doing the same loop take as long as one thread alone, 1.0 when twice as long.
pub(crate) fn cores_for_two_threads() -> f64 {
    let tries: Vec<f64> = (0..TRIES).map(|_| 2.0 * timed(1) / timed(2)).collect();
    stats::median(&tries).unwrap_or(0.0)
}

fn timed(threads: usize) -> f64 {
    let start = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| black_box(spin_steps(black_box(1), STEPS)));
        }
    });
    start.elapsed().as_secs_f64()
}

/// The line a run prints.
pub(crate) fn verdict(cores: f64) -> String {
    let warning = if cores < DOUBTFUL {
        " - WARNING: two threads do not get two cores, the ratios below are doubtful"
    } else {
        ""
    };
    format!("two threads get {cores:.2} cores (same loop with 1 against 2 threads){warning}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_warns_only_when_it_is_bad() {
        assert!(!verdict(1.95).contains("WARNING"));
        assert!(verdict(1.1).contains("WARNING"));
    }

    #[test]
    fn the_check_gives_a_finite_positive_number() {
        let cores = cores_for_two_threads();
        assert!(cores.is_finite() && cores > 0.0, "{cores}");
    }
}
