//! Scenario J: many tasks every 100 ms, their phases staggered. In: timers, how many tasks, how many ticks of each. Out:
//! CPU microseconds per tick, the share of late ticks, the latest, and how many are missing of the exact number.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::super::Figures;
use crate::{
    contend::timers::Repeating,
    count::{Tally, ran},
    proc,
};

const PERIOD: Duration = Duration::from_millis(100);

/// Time to start one task, generously, and what there is at least in all: nothing is due while some are still missing.
const STARTING: Duration = Duration::from_micros(20);
const LEAST_LEAD: Duration = Duration::from_millis(200);

/// For the last ticks to come in; what is not there by then is lost.
const GRACE: Duration = Duration::from_secs(2);

const LATE: Duration = Duration::from_millis(2);
const VERY_LATE: Duration = Duration::from_millis(10);

/// Only what is rare is counted in shared places; the ticks themselves have a place per thread.
#[derive(Default)]
struct Board {
    late: AtomicU64,
    very_late: AtomicU64,
    early: AtomicU64,
    most_ns: AtomicI64,
}

impl Board {
    fn note(&self, due: Instant, at: Instant) {
        let Some(late) = at.checked_duration_since(due) else {
            self.early.fetch_add(1, Relaxed);
            return;
        };
        if late > LATE {
            self.late.fetch_add(1, Relaxed);
        }
        if late > VERY_LATE {
            self.very_late.fetch_add(1, Relaxed);
        }
        let ns = late.as_nanos() as i64;
        if ns > self.most_ns.load(Relaxed) {
            self.most_ns.fetch_max(ns, Relaxed);
        }
    }
}

pub(crate) fn run<T: Repeating>(timers: &mut T, tasks: u64, ticks: u64, strict: bool) -> Figures {
    let board: &'static Board = Box::leak(Box::default());
    let tally = Tally::start();
    let base = Instant::now() + LEAST_LEAD.max(STARTING * tasks as u32);
    for task in 0..tasks {
        let first = base + phase(task, tasks);
        let mut number = 0;
        timers.every(first, PERIOD, move |left_out| {
            let at = Instant::now();
            number += left_out;
            // Later ones are of no interest: each task counts the same number of ticks, so the sum is exact.
            if number < ticks {
                board.note(first + PERIOD * number as u32, at);
                ran(task);
            }
            number += 1;
        });
    }
    let in_time = Instant::now() < base;
    thread::sleep(base.saturating_duration_since(Instant::now()));
    let cpu = proc::cpu_time();
    let end = base + PERIOD * ticks as u32;
    thread::sleep(end.saturating_duration_since(Instant::now()));
    let cpu = proc::cpu_time() - cpu;
    let expected = tasks * ticks;
    while tally.done() < expected && Instant::now() < end + GRACE {
        thread::sleep(Duration::from_millis(1));
    }
    let early = board.early.load(Relaxed);
    assert!(!strict || early == 0, "{early} ticks were early");
    assert!(in_time, "starting {tasks} tasks took longer than it was given");
    figures(board, tally.done(), expected, cpu)
}

/// Evenly over one period.
fn phase(task: u64, tasks: u64) -> Duration {
    Duration::from_nanos(PERIOD.as_nanos() as u64 * task / tasks)
}

fn figures(board: &Board, ran: u64, expected: u64, cpu: Duration) -> Figures {
    let counted = ran.max(1) as f64;
    let percent = |count: &AtomicU64| 100.0 * count.load(Relaxed) as f64 / counted;
    vec![
        ("cpu_tick", cpu.as_nanos() as f64 / 1000.0 / counted),
        ("late_2ms", percent(&board.late)),
        ("late_10ms", percent(&board.very_late)),
        ("max_late", board.most_ns.load(Relaxed) as f64 / 1e6),
        ("lost", expected.saturating_sub(ran) as f64),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_fill_one_period_evenly() {
        assert_eq!(phase(0, 10_000), Duration::ZERO);
        assert_eq!(phase(1, 10_000), Duration::from_micros(10));
        assert_eq!(phase(9_999, 10_000), PERIOD - Duration::from_micros(10));
    }

    #[test]
    fn late_very_late_and_early_are_told_apart() {
        let (board, due) = (Board::default(), Instant::now() + Duration::from_secs(1));
        for late_us in [0, 2_000, 2_001, 10_001] {
            board.note(due, due + Duration::from_micros(late_us));
        }
        board.note(due, due - Duration::from_nanos(1));
        assert_eq!(board.early.load(Relaxed), 1);
        assert_eq!(
            figures(&board, 4, 10, Duration::from_micros(20)),
            [
                ("cpu_tick", 5.0),
                ("late_2ms", 50.0),
                ("late_10ms", 25.0),
                ("max_late", 10.001),
                ("lost", 6.0)
            ]
        );
    }
}
