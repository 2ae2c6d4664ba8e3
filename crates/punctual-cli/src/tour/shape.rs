//! A pool that changes its shape with the work, and tasks that lean on each other.

use super::{Done, LONG, ensure, more, step};
use crate::show;
use punctual::{Executor, Growth, Pool, Queue, Reject, task};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

const CROWD: usize = 4;
const KEEP_ALIVE: Duration = Duration::from_millis(20);
const PLACES: usize = 64;
const ORDERS: u64 = 20_000;
/// About a microsecond.
const ORDER_STEPS: u64 = 500;
const NUMBERS: u64 = 1_000_000;
const PIECES: usize = 8;

pub(super) fn growth(out: &mut impl Write) -> Done {
    let pool = Pool::builder("elastic")
        .core_threads(1)
        .max_threads(CROWD)
        .growth(Growth::ThreadsFirst)
        .keep_alive(KEEP_ALIVE)
        .build()?;
    pool.submit(|| ())?.join()?;
    ensure(pool.stats().threads == 1, "one task, one thread")?;
    let begin = Instant::now();
    let meeting = Arc::new(Barrier::new(CROWD));
    let mut guests = Vec::new();
    for _ in 0..CROWD {
        let meeting = meeting.clone();
        guests.push(pool.submit(move || meeting.wait().is_leader())?);
    }
    for guest in guests {
        guest.join()?;
    }
    let met = begin.elapsed();
    ensure(
        pool.stats().largest == CROWD,
        "a pool grows as far as it may, and no further",
    )?;
    let begin = Instant::now();
    while pool.stats().threads > 1 && begin.elapsed() < LONG {
        thread::sleep(Duration::from_millis(1));
    }
    ensure(
        pool.stats().threads == 1,
        "threads beyond core leave when they are idle",
    )?;
    let line = format!(
        "{CROWD} tasks that end only when all of them run: from 1 thread to {CROWD}, all done in {}",
        show::time(met)
    );
    step(out, "growth", &line)?;
    let line = format!(
        "idle threads may stay for {}: 1 is left {} later",
        show::time(KEEP_ALIVE),
        show::time(begin.elapsed())
    );
    more(out, &line)
}

pub(super) fn caller_runs(out: &mut impl Write) -> Done {
    let pool = Pool::builder("orders")
        .core_threads(1)
        .queue(Queue::bounded(PLACES))
        .on_full(Reject::CallerRuns)
        .build()?;
    let begin = Instant::now();
    for order in 0..ORDERS {
        pool.execute(move || {
            black_box((0..ORDER_STEPS).fold(order, |sum, step| black_box(sum ^ step)));
        })?;
    }
    ensure(pool.close().terminated, "a closed pool has run everything")?;
    let all = begin.elapsed();
    let stats = pool.stats();
    let by_caller = stats.rejected.caller_ran;
    ensure(
        stats.finished + by_caller == ORDERS && stats.rejected.full == 0,
        "caller-runs loses nothing and refuses nothing",
    )?;
    let line = format!(
        "{} orders, {PLACES} places, 1 worker: it ran {}, the submitter ran {}; none was refused, {} each",
        show::count(ORDERS),
        show::count(stats.finished),
        show::count(by_caller),
        show::each(all, ORDERS)
    );
    step(out, "caller runs", &line)
}

pub(super) fn scope(out: &mut impl Write, pool: &Pool) -> Done {
    let numbers: Vec<u64> = (1..=NUMBERS).collect();
    let mut sums = [0; PIECES];
    let begin = Instant::now();
    pool.scope(|s| {
        for (sum, piece) in sums.iter_mut().zip(numbers.chunks(numbers.len() / PIECES)) {
            s.execute(move || *sum = piece.iter().sum());
        }
    });
    let all = begin.elapsed();
    ensure(
        sums.iter().sum::<u64>() == NUMBERS * (NUMBERS + 1) / 2,
        "what a scope's tasks wrote is there behind it",
    )?;
    let line = format!(
        "{PIECES} tasks borrow a vector of {} numbers and sum it in {}: no copy, no Arc",
        show::count(NUMBERS),
        show::time(all)
    );
    step(out, "scope", &line)
}

pub(super) fn join_inside(out: &mut impl Write) -> Done {
    let pool = Pool::single()?;
    let begin = Instant::now();
    let value = pool.submit(|| fibonacci(16))?.join()??;
    let all = begin.elapsed();
    let stats = pool.stats();
    ensure(
        value == 987 && stats.largest == 1,
        "a worker that joins a waiting task runs it",
    )?;
    let line = format!(
        "fibonacci(16) by {} tasks that join each other, on 1 thread: {value} in {}",
        show::count(stats.submitted),
        show::time(all)
    );
    step(out, "join inside", &line)
}

/// One half is a task of its own, and joined.
fn fibonacci(n: u64) -> Result<u64, Box<dyn Error + Send + Sync>> {
    if n < 2 {
        return Ok(n);
    }
    let here: Executor = task::current_executor().ok_or("a task knows its executor")?;
    let larger = here.submit(move || fibonacci(n - 1))?;
    let smaller = fibonacci(n - 2)?;
    Ok(larger.join()?? + smaller)
}
