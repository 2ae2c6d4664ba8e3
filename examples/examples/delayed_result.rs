//! A result that comes later: in an hour, or when the wall clock shows noon. Cancelled before that, it is gone at once.

use punctual::{Cancel, Clock, Pool, Status};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const HOUR: Duration = Duration::from_secs(3_600);
const NOON: SystemTime = UNIX_EPOCH;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // A manual clock, so that the hours take no time. Without it the pool goes by the machine's.
    let clock = Clock::manual_at(NOON - 3 * HOUR);
    let pool = Pool::builder("kitchen").core_threads(1).clock(&clock).build()?;

    let bread = pool.after(HOUR, || "bread")?;
    let lunch = pool.at(NOON, || "lunch")?;
    let soup = pool.task(|| "soup").name("soup").after(2 * HOUR)?;
    assert_eq!(soup.task_ref().status(), Status::Delayed);
    assert_eq!(soup.task_ref().remaining(), Some(2 * HOUR));
    assert_eq!(pool.stats().pending_timers, 3);

    // Nobody wants soup: its closure is dropped now, not in two hours.
    assert_eq!(soup.cancel(), Cancel::Removed);
    assert_eq!(pool.stats().pending_timers, 2);

    clock.advance(HOUR - Duration::from_nanos(1));
    assert!(!bread.is_finished());
    clock.advance(Duration::from_nanos(1));
    println!("after an hour: {}", bread.join()?);

    // An instant that has passed means at once.
    let breakfast = pool.at(NOON - 10 * HOUR, || "breakfast")?;
    println!("long due: {}", breakfast.join()?);

    clock.advance(2 * HOUR);
    println!("at noon: {}", lunch.join()?);

    // What is still to come when the pool is closed is dropped and counted, unless the pool is told to run it.
    let midnight = pool.at(NOON + 12 * HOUR, || "snack")?;
    let report = pool.close();
    assert_eq!(report.cancelled_delayed, 1);
    assert!(midnight.join().unwrap_err().is_cancelled());
    Ok(())
}
