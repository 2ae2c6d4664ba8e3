//! Plain work, and how long it takes: closures, results, one task there and back.

use super::{Done, LONG, ensure, more, step};
use crate::show;
use punctual::{Pool, TaskHandle};
use std::error::Error;
use std::hint::black_box;
use std::io::Write;
use std::time::{Duration, Instant};

const CLOSURES: u64 = 1_000_000;
const RESULTS: u64 = 200_000;
const PINGS: usize = 20_000;

pub(super) fn fire_and_forget(out: &mut impl Write, pool: &Pool) -> Done {
    let begin = Instant::now();
    for number in 0..CLOSURES {
        pool.execute(move || {
            black_box(number);
        })?;
    }
    let accepted = begin.elapsed();
    ensure(pool.wait_idle(LONG), "a pool runs everything it accepts")?;
    let all = begin.elapsed();
    let stats = pool.stats();
    ensure(stats.finished == CLOSURES, "every accepted closure runs once")?;
    let line = format!(
        "{} closures accepted and run in {}: {} each, {} of it to hand one over",
        show::count(CLOSURES),
        show::time(all),
        show::each(all, CLOSURES),
        show::each(accepted, CLOSURES)
    );
    step(out, "fire and forget", &line)?;
    let [p50, p99] = [0.5, 0.99].map(|q| stats.wait.quantile(q).unwrap_or_default());
    let (p50, p99) = (show::time(p50), show::time(p99));
    more(out, &format!("in the queue: p50 {p50}, p99 {p99}"))
}

pub(super) fn results(out: &mut impl Write, pool: &Pool) -> Done {
    // The second round finds the memory of the first: a task with a handle lives in a recycled block.
    let [first, second] = [round(pool)?, round(pool)?];
    let line = format!(
        "{} tasks submitted, kept and joined: {} each, in a second round {}; a handle is {} bytes",
        show::count(RESULTS),
        show::each(first, RESULTS),
        show::each(second, RESULTS),
        size_of::<TaskHandle<u64>>()
    );
    step(out, "results", &line)
}

fn round(pool: &Pool) -> Result<Duration, Box<dyn Error + Send + Sync>> {
    let begin = Instant::now();
    let mut handles = Vec::with_capacity(RESULTS as usize);
    for number in 0..RESULTS {
        handles.push(pool.submit(move || number * 2)?);
    }
    let mut sum = 0;
    for handle in handles {
        sum += handle.join()?;
    }
    let all = begin.elapsed();
    ensure(
        sum == RESULTS * (RESULTS - 1),
        "each join gives its own task's value",
    )?;
    Ok(all)
}

pub(super) fn ping(out: &mut impl Write, pool: &Pool) -> Done {
    let mut times = Vec::with_capacity(PINGS);
    for _ in 0..PINGS {
        let begin = Instant::now();
        pool.submit(|| ())?.join()?;
        times.push(begin.elapsed());
    }
    times.sort_unstable();
    let [p50, p99] = [PINGS / 2, PINGS * 99 / 100].map(|rank| show::time(times[rank]));
    let line = format!("submit one, wait for it, again: p50 {p50}, p99 {p99}");
    step(out, "there and back", &line)
}
