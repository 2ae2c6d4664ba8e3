//! Scenario G, memory: what one pending timer takes, and what is left of it when it is cancelled and its handle gone.
//! In: timers, how many. Out: growth of the resident size per timer, and of the live heap when allocations are counted.
//!
//! A task of ours with a handle has a block for its result, timer or not. What a block takes is measured in the same
//! process: a queued task with handle less one without. Nothing is given back in between, so that all memory is fresh.

use std::hint::black_box;

use super::{
    super::{Figures, throughput::touched_places},
    insert::{SEED, empty, far, fill},
    memory::{Held, Reading},
};
use crate::{
    contend::{Contender, Ours, timers::Insertion},
    count::{Tally, ran},
    rng::Shuffler,
};

pub(crate) fn run<T: Insertion>(timers: &mut T, count: u64) -> Figures {
    let mut rng = Shuffler::new(SEED);
    let delays = far(&mut rng, count);
    let mut places = touched_places::<T::Handle>(count);
    let before = Reading::take();
    fill(timers, &delays, &mut places);
    let mut figures = before.growth("bytes", "bytes_heap", count);
    // Random, because memory that is emptied from one end goes back more easily than it does in life.
    rng.shuffle(&mut places);
    empty(timers, &mut places);
    figures.extend(before.growth("kept", "kept_heap", count));
    figures
}

pub(crate) fn of_ours(pool: &'static Ours, count: u64) -> Figures {
    let mut handles = touched_places(count);
    let held = Held::workers_of(pool);
    let tally = Tally::start();
    let before = Reading::take();
    for i in 0..count {
        pool.execute(move || ran(i));
    }
    let queued = before.resident_growth(count);
    let before = Reading::take();
    for (i, place) in (0..count).zip(&mut handles) {
        *place = Some(pool.submit(move || black_box(i)));
    }
    let block = before.resident_growth(count) - queued;

    let mut timers = pool;
    let mut figures = run(&mut timers, count);
    held.release();
    tally.wait_for(count);
    let with_block = figures.iter().find(|(name, _)| *name == "bytes");
    let rest = with_block.map(|(_, bytes)| (bytes - block.max(0.0)).max(0.0));
    figures.extend(rest.map(|rest| ("bytes_without_result", rest)));
    figures
}
