//! Scenarios A, A2, B, C, D, F: nanoseconds per task, from the first call until the last task has run (C: until the
//! last result is taken). In: a pool, a number of tasks. Out: the time of the first pass (cold) and of the last (warm).

use std::{
    hint::black_box,
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

use super::{Figures, work};
use crate::{
    contend::{CallerRuns, Contender},
    count::{Tally, ran},
};

/// Most tasks in flight in A2.
const WINDOW: u64 = 8192;

/// How often A2's producer looks at the counters: rarely enough not to pull the workers' lines over all the time.
const LOOK_EVERY: u64 = 256;

const PRODUCERS: u64 = 4;

/// Runs all passes and reports the first and the last in ns per task.
pub(crate) fn passes(repeat: u64, tasks: u64, mut pass: impl FnMut() -> Duration) -> Figures {
    let times: Vec<f64> = (0..repeat.max(1))
        .map(|_| pass().as_nanos() as f64 / tasks as f64)
        .collect();
    vec![("cold", times[0]), ("warm", times[times.len() - 1])]
}

/// A: one producer outside the pool.
pub(crate) fn fire<P: Contender>(pool: &'static P, tasks: u64) -> Duration {
    let (tally, start) = (Tally::start(), Instant::now());
    for i in 0..tasks {
        pool.execute(move || ran(i));
    }
    tally.wait_for(tasks);
    start.elapsed()
}

/// A2: the same, but the producer waits while [`WINDOW`] tasks are unfinished, so memory does not grow.
pub(crate) fn fire_in_window<P: Contender>(pool: &'static P, tasks: u64) -> Duration {
    in_window(tasks, |i| pool.execute(move || ran(i)))
}

/// As A2, whatever is done to submit the i-th of the counted tasks.
pub(super) fn in_window(tasks: u64, submit: impl Fn(u64)) -> Duration {
    let (tally, start) = (Tally::start(), Instant::now());
    for i in 0..tasks {
        if i % LOOK_EVERY == 0 {
            while i - tally.done() > WINDOW - LOOK_EVERY {
                thread::yield_now();
            }
        }
        submit(i);
    }
    tally.wait_for(tasks);
    start.elapsed()
}

/// B: four producers, which exist before the clock starts.
pub(crate) fn fire_from_four<P: Contender>(pool: &'static P, tasks: u64) -> Duration {
    let tally = Tally::start();
    let gate = Barrier::new(PRODUCERS as usize + 1);
    let each = tasks / PRODUCERS;
    let start = thread::scope(|scope| {
        for _ in 0..PRODUCERS {
            scope.spawn(|| {
                gate.wait();
                gate.wait();
                for i in 0..each {
                    pool.execute(move || ran(i));
                }
            });
        }
        gate.wait();
        // All have started and none may go on: behind the second wait this thread could get its core back late.
        let start = Instant::now();
        gate.wait();
        start
    });
    tally.wait_for(each * PRODUCERS);
    start.elapsed()
}

/// C: submit all with a result, keep the handles, join all in order. The place for the handles is made and touched
/// before, because its page faults are the bench's and not the pool's.
pub(crate) fn submit_passes<P: Contender>(pool: &'static P, repeat: u64, tasks: u64) -> Figures {
    let mut handles = touched_places::<P::Handle>(tasks);
    passes(repeat, tasks, || {
        let start = Instant::now();
        for (i, place) in (0..tasks).zip(&mut handles) {
            *place = Some(pool.submit(move || black_box(i)));
        }
        let sum: u64 = handles.iter_mut().filter_map(Option::take).map(P::join).sum();
        let time = start.elapsed();
        assert_eq!(sum, tasks * (tasks - 1) / 2, "every result arrives once");
        time
    })
}

/// Writes each place once, so that the memory is resident.
pub(crate) fn touched_places<T>(count: u64) -> Vec<Option<T>> {
    let mut places = Vec::new();
    places.resize_with(count as usize, || None);
    black_box(places)
}

/// The depth of the binary tree that comes nearest to `tasks` from below.
pub(crate) fn depth_for(tasks: u64) -> u32 {
    (tasks + 1).max(2).ilog2() - 1
}

pub(crate) fn nodes(depth: u32) -> u64 {
    (2 << depth) - 1
}

/// D: every task but the leaves spawns two more from inside its worker; no task is joined.
pub(crate) fn fork_tree<P: Contender>(pool: &'static P, depth: u32) -> Duration {
    let (tally, start) = (Tally::start(), Instant::now());
    pool.execute(move || fork(pool, depth));
    tally.wait_for(nodes(depth));
    start.elapsed()
}

fn fork<P: Contender>(pool: &'static P, depth: u32) {
    if let Some(below) = depth.checked_sub(1) {
        pool.execute(move || fork(pool, below));
        pool.execute(move || fork(pool, below));
    }
    ran(u64::from(depth));
}

/// F: one producer that is faster than the pool, tasks of about 1 us, the overflow runs on the producer.
pub(crate) fn overload<P: CallerRuns>(pool: &'static P, tasks: u64) -> Duration {
    let (tally, start) = (Tally::start(), Instant::now());
    for i in 0..tasks {
        pool.execute_or_run(move || ran(work::spin_steps(i + 1, work::MICROSECOND_STEPS)));
    }
    tally.wait_for(tasks);
    start.elapsed()
}
