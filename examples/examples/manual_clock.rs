//! A unit test in virtual time: a nightly job is tested in microseconds, on real worker threads.

use punctual::{Clock, Pool, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3_600);

/// What is tested: asks every hour until the answer is there, and gives up when it is asked to stop.
fn poll_hourly(is_there: impl Fn() -> bool) -> Option<u32> {
    for hours in 0.. {
        if is_there() {
            return Some(hours);
        }
        task::sleep(HOUR).ok()?;
    }
    None
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let begin = Instant::now();
    let clock = Clock::manual();
    let pool = Pool::builder("tests").core_threads(2).clock(&clock).build()?;

    let looks = Arc::new(AtomicU32::new(0));
    let mut answer = {
        let looks = looks.clone();
        pool.submit(move || poll_hourly(|| looks.fetch_add(1, Relaxed) == 24))?
    };

    // After each step the clock has waited until nothing in the pool can run any more: no sleeps, no guesses.
    clock.advance(HOUR * 23);
    assert_eq!(looks.load(Relaxed), 24);
    assert!(!answer.is_finished());
    clock.advance(HOUR);
    assert_eq!(answer.join_timeout(Duration::ZERO)?, Some(24));

    // Limits go by the same clock: nobody waits ten real minutes here.
    let mut stuck = pool.submit(|| task::sleep(HOUR))?;
    let waiter = pool.submit(move || {
        stuck
            .join_timeout(Duration::from_secs(600))
            .unwrap_err()
            .is_timeout()
    })?;
    clock.advance(Duration::from_secs(600));
    assert!(waiter.join()?);

    clock.advance(HOUR);
    println!("a day and more on the pool's clock took {:?}", begin.elapsed());
    Ok(())
}
