//! Scenario G: nanoseconds to put a timer in and to take it out. In: timers, how many. Out: the insertion of the first
//! pass (cold), the one after a random-order cancel (warm), and the cancels of both orders.
//!
//! Odd passes cancel in random order, even ones in the order of insertion. For the random order the handles are
//! shuffled beforehand: to find the handle is the bench's work and not the peer's. Nothing is allocated between the passes:
//! for one large piece glibc merges all the small ones that were freed, and who boxes its timers would find the memory of the
//! next pass in order, as no program leaves it that does anything else meanwhile.

use std::{
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use super::super::{Figures, throughput::touched_places};
use crate::{contend::timers::Insertion, rng::Shuffler};

/// The same delays in every process.
pub(super) const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

const SECOND: u64 = 1_000_000;

/// Of timers that came due before they were cancelled: a few, when a pass takes longer than a second.
static FIRED: AtomicU64 = AtomicU64::new(0);

/// The body of every timer that is there to be cancelled.
pub(super) fn fired(token: u64) {
    black_box(token);
    FIRED.fetch_add(1, Relaxed);
}

/// Delays from `least` to 600 s in steps of a microsecond.
pub(super) fn delays(rng: &mut Shuffler, least: u64, count: u64) -> Vec<Duration> {
    let range = 600 * SECOND - least;
    (0..count)
        .map(|_| Duration::from_micros(least + rng.below(range)))
        .collect()
}

/// From one second: 1 to 600 s, the delays of the scenario.
pub(super) fn far_and_near(rng: &mut Shuffler, count: u64) -> Vec<Duration> {
    delays(rng, SECOND, count)
}

/// From a minute: none comes due in any measurement, so that as many are live as are said to be.
pub(super) fn far(rng: &mut Shuffler, count: u64) -> Vec<Duration> {
    delays(rng, 60 * SECOND, count)
}

/// Puts one timer per delay in, in nanoseconds for all.
pub(super) fn fill<T: Insertion>(
    timers: &mut T,
    delays: &[Duration],
    places: &mut [Option<T::Handle>],
) -> Duration {
    let start = Instant::now();
    for ((i, delay), place) in (0..).zip(delays).zip(places) {
        *place = Some(timers.insert(*delay, move || fired(i)));
    }
    start.elapsed()
}

/// Takes all out in the order in which they lie; the time, and how many will not run.
pub(super) fn empty<T: Insertion>(timers: &mut T, places: &mut [Option<T::Handle>]) -> (Duration, u64) {
    let start = Instant::now();
    let mut removed = 0;
    for handle in places.iter_mut().filter_map(Option::take) {
        removed += u64::from(timers.cancel(handle));
    }
    timers.settle();
    (start.elapsed(), removed)
}

pub(crate) fn run<T: Insertion>(timers: &mut T, count: u64, passes: u64) -> Figures {
    let mut rng = Shuffler::new(SEED);
    let mut places = touched_places::<T::Handle>(count);
    let rounds = passes.max(1).div_ceil(2) as usize;
    let delays: Vec<_> = (0..2 * rounds).map(|_| far_and_near(&mut rng, count)).collect();
    let per_timer = |time: Duration| time.as_nanos() as f64 / count as f64;
    let (mut cold, mut warm, mut random, mut order) = (None, 0.0, 0.0, 0.0);
    for pair in delays.chunks_exact(2) {
        let insert = pass(timers, &pair[0], &mut places, |places, timers| {
            rng.shuffle(places);
            let (time, removed) = empty(timers, places);
            random = per_timer(time);
            removed
        });
        cold.get_or_insert(per_timer(insert));
        let insert = pass(timers, &pair[1], &mut places, |places, timers| {
            let (time, removed) = empty(timers, places);
            order = per_timer(time);
            removed
        });
        warm = per_timer(insert);
    }
    vec![
        ("insert_cold", cold.unwrap_or(0.0)),
        ("insert_warm", warm),
        ("cancel_random", random),
        ("cancel_order", order),
    ]
}

/// The time of the insertion. Whoever tells has to have cancelled or run each timer.
fn pass<T: Insertion>(
    timers: &mut T,
    delays: &[Duration],
    places: &mut [Option<T::Handle>],
    cancel: impl FnOnce(&mut [Option<T::Handle>], &mut T) -> u64,
) -> Duration {
    let count = places.len() as u64;
    let before = FIRED.load(Relaxed);
    let time = fill(timers, delays, places);
    let removed = cancel(places, timers);
    // A lost timer lets this hang, and the parent says so.
    while T::TELLS && removed + (FIRED.load(Relaxed) - before) < count {
        thread::yield_now();
    }
    time
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delays_keep_to_their_limits_and_differ() {
        let mut rng = Shuffler::new(3);
        let some = far_and_near(&mut rng, 1000);
        let (least, most) = (Duration::from_secs(1), Duration::from_secs(600));
        assert!(some.iter().all(|delay| (least..most).contains(delay)));
        assert!(
            some.windows(2)
                .any(|pair| pair[0].subsec_micros() != pair[1].subsec_micros())
        );
        assert!(far(&mut rng, 1000).iter().all(|delay| *delay >= 60 * least));
    }
}
