//! Scenario G, churn and growth: one timer out and another in while many others stay. In: timers, how many stay. Out:
//! nanoseconds per pair, what the memory grew by, and how much the cost depends on how many there are.

use std::{
    array,
    time::{Duration, Instant},
};

use super::{
    super::{Figures, memory::Reading, throughput::touched_places},
    insert::{SEED, far, fill, fired},
};
use crate::{contend::timers::Insertion, rng::Shuffler, stats};

/// How many stay at each step of the growth, and the metric of it.
const LEVELS: [(u64, &str); 4] = [
    (10_000, "at_10k"),
    (100_000, "at_100k"),
    (1_000_000, "at_1m"),
    (10_000_000, "at_10m"),
];

/// Put in and taken out at once in the growth, so that two looks at the clock are nothing.
const BATCH: usize = 1000;

/// Each pair takes a random one of the live timers out. Of several passes the last is reported.
pub(crate) fn run<T: Insertion>(timers: &mut T, live: u64, passes: u64) -> Figures {
    let mut rng = Shuffler::new(SEED);
    let mut places = touched_places::<T::Handle>(live);
    fill(timers, &far(&mut rng, live), &mut places);
    let full = Reading::take();
    let mut time = Duration::ZERO;
    for _ in 0..passes.max(1) {
        let delays = far(&mut rng, live);
        // Shuffled before and then taken in turn: to find a handle is the bench's work.
        rng.shuffle(&mut places);
        let start = Instant::now();
        for ((i, delay), place) in (0..).zip(&delays).zip(&mut places) {
            if let Some(handle) = place.take() {
                timers.cancel(handle);
            }
            *place = Some(timers.insert(*delay, move || fired(i)));
        }
        time = start.elapsed();
    }
    vec![
        ("churn", time.as_nanos() as f64 / live as f64),
        ("grown", full.resident_growth(live)),
    ]
}

/// The cost of a pair beside 10k others, 100k, ... up to `most`.
pub(crate) fn growth<T: Insertion>(timers: &mut T, most: u64, batches: u64) -> Figures {
    let mut rng = Shuffler::new(SEED);
    let mut live: Vec<Option<T::Handle>> = Vec::new();
    let mut figures = Figures::new();
    for (level, name) in levels(most) {
        let first_new = live.len();
        live.resize_with(level as usize, || None);
        let missing = far(&mut rng, level - first_new as u64);
        fill(timers, &missing, &mut live[first_new..]);
        if figures.is_empty() {
            // Not timed: the first level would pay for the first touch of everything.
            pairs(timers, &mut rng, &mut live, batches);
        }
        figures.push((name, pairs(timers, &mut rng, &mut live, batches)));
    }
    let costs: Vec<f64> = figures.iter().map(|(_, cost)| *cost).collect();
    figures.extend(flatness(&costs).map(|flatness| ("flatness", flatness)));
    figures
}

/// The levels up to `most`; below the first, only that many, under the first's name.
fn levels(most: u64) -> Vec<(u64, &'static str)> {
    let reached: Vec<_> = LEVELS.into_iter().filter(|(level, _)| *level <= most).collect();
    if reached.is_empty() {
        return vec![(most, LEVELS[0].1)];
    }
    reached
}

/// Most over least: 1 when the number of timers makes no difference. One level alone tells nothing.
fn flatness(costs: &[f64]) -> Option<f64> {
    let (least, most) = stats::min_max(costs).filter(|_| costs.len() > 1)?;
    (least > 0.0).then_some(most / least)
}

/// Nanoseconds per pair: a batch is put in, then as many are taken out of all.
fn pairs<T: Insertion>(
    timers: &mut T,
    rng: &mut Shuffler,
    live: &mut [Option<T::Handle>],
    batches: u64,
) -> f64 {
    let batch = BATCH.min(live.len());
    let mut time = Duration::ZERO;
    let mut new: [Option<T::Handle>; BATCH] = array::from_fn(|_| None);
    let mut old: Vec<T::Handle> = Vec::with_capacity(BATCH);
    for _ in 0..batches.max(1) {
        let delays = far(rng, batch as u64);
        time += fill(timers, &delays, &mut new[..batch]);
        // The new ones take the places of those that go.
        for place in &mut new[..batch] {
            let victim = &mut live[rng.below(live.len() as u64) as usize];
            old.extend(victim.take());
            *victim = place.take();
        }
        let start = Instant::now();
        for handle in old.drain(..) {
            timers.cancel(handle);
        }
        time += start.elapsed();
    }
    time.as_nanos() as f64 / (batches.max(1) * batch as u64) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_end_where_the_size_does() {
        let names = |most| levels(most).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
        assert_eq!(names(10_000_000), ["at_10k", "at_100k", "at_1m", "at_10m"]);
        assert_eq!(names(1_000_000), ["at_10k", "at_100k", "at_1m"]);
        assert_eq!(levels(200), [(200, "at_10k")]);
    }

    #[test]
    fn flat_is_one_and_one_level_alone_is_nothing() {
        assert_eq!(flatness(&[50.0, 50.0]), Some(1.0));
        assert_eq!(flatness(&[50.0, 125.0, 100.0]), Some(2.5));
        assert_eq!(flatness(&[50.0]), None);
        assert_eq!(flatness(&[]), None);
        assert_eq!(flatness(&[0.0, 5.0]), None);
    }
}
