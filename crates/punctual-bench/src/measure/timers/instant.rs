//! Scenario I: many timers due at one instant, or at a million a second. In: timers, how many. Out: milliseconds from the
//! first time to the last run and to the first, how far behind its time the last one ran, and CPU milliseconds meanwhile.
//!
//! Bodies are trivial, so not each looks at the clock; the first to run and every 1024th do, and none of ours may be early.

use std::{
    sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed},
    time::{Duration, Instant},
};

use super::{super::Figures, insert::SEED, wait_out};
use crate::{
    contend::timers::Firing,
    count::{Tally, ran},
    proc,
    rng::Shuffler,
};

/// Time to arm one timer, generously, and what there is at least in all.
const ARMING: Duration = Duration::from_nanos(1500);
const LEAST_LEAD: Duration = Duration::from_millis(200);

/// Arming that took longer than it was given is done again with twice the time.
const TRIES: u32 = 5;

const LOOK_EVERY: u64 = 1024;

/// Of those that run first, whichever they are: if the whole crowd is early, then these are.
const FIRST_LOOKS: u32 = 64;

struct Board {
    base: Instant,
    after_base: Vec<Duration>,
    early: AtomicU64,
    /// Only read once it is used up, so the line stays with every thread.
    first_looks: AtomicU32,
    /// Nanoseconds from the base to the earliest run that was looked at.
    first_ns: AtomicU64,
}

impl Board {
    fn note(&self, index: u64) {
        self.look_at_some(index);
        ran(index);
    }

    fn look_at_some(&self, index: u64) {
        if index.is_multiple_of(LOOK_EVERY) || self.first_looks.load(Relaxed) > 0 {
            self.look(index);
        }
    }

    #[cold]
    fn look(&self, index: u64) {
        let now = Instant::now();
        if now < self.base + self.after_base[index as usize] {
            self.early.fetch_add(1, Relaxed);
        }
        let after_base = now.saturating_duration_since(self.base).as_nanos() as u64;
        self.first_ns.fetch_min(after_base, Relaxed);
        // Stays at zero; how many look exactly does not matter.
        let _ = self
            .first_looks
            .fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1));
    }
}

/// What one try showed.
struct Seen {
    wall: Duration,
    first: Duration,
    behind: Duration,
    cpu: Duration,
}

pub(crate) fn same<T: Firing>(timers: &mut T, count: u64, strict: bool) -> Figures {
    let seen = run(timers, vec![Duration::ZERO; count as usize], strict);
    vec![
        ("same_wall", ms(seen.wall)),
        ("same_first", ms(seen.first)),
        ("same_cpu", ms(seen.cpu)),
    ]
}

pub(crate) fn spread<T: Firing>(timers: &mut T, count: u64, strict: bool) -> Figures {
    let seen = run(timers, one_a_microsecond(count), strict);
    vec![
        ("spread_wall", ms(seen.wall)),
        ("spread_behind", ms(seen.behind)),
        ("spread_cpu", ms(seen.cpu)),
    ]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// A million a second whatever the count, in random order.
fn one_a_microsecond(count: u64) -> Vec<Duration> {
    let mut rng = Shuffler::new(SEED);
    (0..count)
        .map(|_| Duration::from_micros(rng.below(count)))
        .collect()
}

fn run<T: Firing>(timers: &mut T, times: Vec<Duration>, strict: bool) -> Seen {
    let count = times.len() as u32;
    let mut lead = LEAST_LEAD.max(ARMING * count);
    for _ in 0..TRIES {
        if let Some(seen) = attempt(timers, &times, lead, strict) {
            return seen;
        }
        lead *= 2;
    }
    panic!("arming {count} timers took longer than {lead:?}");
}

/// `None` when the first came due before the last was armed.
fn attempt<T: Firing>(timers: &mut T, times: &[Duration], lead: Duration, strict: bool) -> Option<Seen> {
    let count = times.len() as u64;
    let board: &'static Board = Box::leak(Box::new(Board {
        base: Instant::now() + lead,
        after_base: times.to_vec(),
        early: AtomicU64::new(0),
        first_looks: AtomicU32::new(FIRST_LOOKS),
        first_ns: AtomicU64::new(u64::MAX),
    }));
    let tally = Tally::start();
    let note = |index| board.note(index);
    for (index, after) in (0..).zip(&board.after_base) {
        timers.arm(board.base + *after, index, note);
    }
    timers.armed(note);
    let in_time = Instant::now() < board.base;
    let last = board.base + times.iter().max().copied().unwrap_or_default();
    std::thread::sleep(board.base.saturating_duration_since(Instant::now()));
    let cpu = proc::cpu_time();
    wait_out(&tally, count, last);
    let end = Instant::now();
    let seen = Seen {
        wall: end - board.base,
        first: Duration::from_nanos(board.first_ns.load(Relaxed)),
        behind: end.saturating_duration_since(last),
        cpu: proc::cpu_time() - cpu,
    };
    let early = board.early.load(Relaxed);
    assert!(
        !strict || (early == 0 && end >= last),
        "{early} of the timers looked at were early; the last ran {:?} before its time",
        last.saturating_duration_since(end)
    );
    in_time.then_some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_runs_first_is_looked_at_and_then_few() {
        let board = Board {
            base: Instant::now() + Duration::from_secs(600),
            after_base: vec![Duration::ZERO; 5000],
            early: AtomicU64::new(0),
            first_looks: AtomicU32::new(FIRST_LOOKS),
            first_ns: AtomicU64::new(u64::MAX),
        };
        for index in 1..=1000 {
            board.look_at_some(index);
        }
        assert_eq!(board.early.load(Relaxed), u64::from(FIRST_LOOKS));
        board.look_at_some(2 * LOOK_EVERY);
        assert_eq!(board.early.load(Relaxed), u64::from(FIRST_LOOKS) + 1);
        assert_eq!(board.first_looks.load(Relaxed), 0);
    }

    #[test]
    fn the_spread_is_a_million_a_second() {
        let some = one_a_microsecond(5000);
        assert!(some.iter().all(|at| *at < Duration::from_millis(5)));
        assert!(some.iter().any(|at| *at > Duration::from_micros(4900)));
    }
}
