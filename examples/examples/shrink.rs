//! Threads beyond core leave when they have been idle for the keep-alive time; core threads too if that is wanted.

use punctual::{Clock, Growth, Pool};
use punctual_examples::keep_busy;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A manual clock, so that ten seconds take no time.
    let clock = Clock::manual();
    let pool = Pool::builder("burst")
        .core_threads(1)
        .max_threads(4)
        .growth(Growth::ThreadsFirst)
        .keep_alive(Duration::from_secs(10))
        .clock(&clock)
        .build()?;
    assert_eq!(pool.stats().threads, 0, "none before the first task");

    drop(keep_busy(&pool, 4)?);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().threads, 4);

    clock.advance(Duration::from_secs(9));
    assert_eq!(pool.stats().threads, 4);
    clock.advance(Duration::from_secs(1));
    assert_eq!(
        pool.stats().threads,
        1,
        "three were idle for ten seconds; the core thread stays"
    );

    // From now on core threads leave too. The next task starts one again: nothing is lost with them.
    pool.set_core_timeout(true)?;
    clock.advance(Duration::from_secs(10));
    assert_eq!(pool.stats().threads, 0);
    assert_eq!(pool.submit(|| 6 * 7)?.join()?, 42);

    let stats = pool.stats();
    assert_eq!(
        (stats.largest, stats.threads_started, stats.stops.idle),
        (4, 5, 4)
    );
    println!(
        "at most {} threads; {} were started and {} went home idle",
        stats.largest, stats.threads_started, stats.stops.idle
    );
    Ok(())
}
