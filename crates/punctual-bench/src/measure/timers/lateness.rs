//! Scenario H: how late one-shots are. In: timers, how many. Out: quantiles of the lateness in microseconds, the CPU
//! time from the first to the last, and how many were early, which for ours must be none.

use std::{
    sync::atomic::{AtomicI64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::{super::Figures, insert::SEED, wait_out};
use crate::{
    contend::timers::{Bare, Firing},
    count::{Tally, ran},
    proc,
    rng::Shuffler,
    stats,
};

/// One timer in so long on average: 10k over 5 s.
const MEAN_GAP: Duration = Duration::from_micros(500);

/// Until the first: all are armed by then.
const LEAD: Duration = Duration::from_millis(100);

/// When each is due after the base, and how late it was.
struct Board {
    base: Instant,
    due: Vec<Duration>,
    late_ns: Vec<AtomicI64>,
}

impl Board {
    fn note(&self, index: u64) {
        let at = Instant::now();
        let (due, place) = (
            self.base + self.due[index as usize],
            &self.late_ns[index as usize],
        );
        place.store(signed_ns(due, at), Relaxed);
        ran(index);
    }
}

fn signed_ns(due: Instant, at: Instant) -> i64 {
    match at.checked_duration_since(due) {
        Some(late) => late.as_nanos() as i64,
        None => -((due - at).as_nanos() as i64),
    }
}

/// Random times, unsorted, as they come in life.
fn times(count: u64) -> Vec<Duration> {
    let mut rng = Shuffler::new(SEED);
    let span = MEAN_GAP.as_micros() as u64 * count;
    (0..count)
        .map(|_| LEAD + Duration::from_micros(rng.below(span)))
        .collect()
}

pub(crate) fn run<T: Firing>(timers: &mut T, count: u64, strict: bool) -> Figures {
    let mut late_ns = Vec::new();
    late_ns.resize_with(count as usize, || AtomicI64::new(i64::MIN));
    let board: &'static Board = Box::leak(Box::new(Board {
        base: Instant::now(),
        due: times(count),
        late_ns,
    }));
    let tally = Tally::start();
    let note = |index| board.note(index);
    for (index, due) in (0..).zip(&board.due) {
        timers.arm(board.base + *due, index, note);
    }
    timers.armed(note);
    let cpu = proc::cpu_time();
    let last = board.due.iter().max().copied().unwrap_or_default();
    wait_out(&tally, count, board.base + last);
    let cpu = proc::cpu_time() - cpu;

    let late: Vec<f64> = board
        .late_ns
        .iter()
        .map(|late| late.load(Relaxed) as f64)
        .collect();
    let early = late.iter().filter(|late| **late < 0.0).count();
    assert!(
        !strict || early == 0,
        "{early} of {count} timers were early, by up to {} ns",
        -late.iter().copied().fold(0.0, f64::min)
    );
    figures(&late, cpu, early)
}

/// The same times, slept through by one thread.
pub(crate) fn limit(bare: Bare, count: u64) -> Figures {
    let mut times = times(count);
    times.sort_unstable();
    let cpu = proc::cpu_time();
    let late = bare.sleep_through(&times);
    figures(&late, proc::cpu_time() - cpu, 0)
}

fn figures(late_ns: &[f64], cpu: Duration, early: usize) -> Figures {
    let quantile = |q| stats::quantile(late_ns, q).unwrap_or(0.0) / 1000.0;
    vec![
        ("p50", quantile(0.5)),
        ("p99", quantile(0.99)),
        ("p999", quantile(0.999)),
        ("max", quantile(1.0)),
        ("cpu", cpu.as_secs_f64() * 1000.0),
        ("early", early as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_in_microseconds_and_cpu_in_milliseconds() {
        let late: Vec<f64> = (1..=1000).map(|n| f64::from(n) * 1000.0).collect();
        let figures = figures(&late, Duration::from_millis(250), 3);
        assert_eq!(
            figures,
            [
                ("p50", 500.0),
                ("p99", 990.0),
                ("p999", 999.0),
                ("max", 1000.0),
                ("cpu", 250.0),
                ("early", 3.0)
            ]
        );
    }

    #[test]
    fn early_is_negative() {
        let due = Instant::now() + Duration::from_secs(1);
        assert_eq!(signed_ns(due, due + Duration::from_nanos(7)), 7);
        assert_eq!(signed_ns(due, due - Duration::from_nanos(7)), -7);
    }

    #[test]
    fn times_are_spread_over_the_span_and_the_same_for_all() {
        let some = times(1000);
        assert_eq!(some, times(1000));
        assert!(some.iter().all(|at| *at >= LEAD && *at < LEAD + 1000 * MEAN_GAP));
        assert!(some.iter().any(|at| *at > LEAD + 900 * MEAN_GAP));
    }
}
