//! A flush at a fixed rate that survives its failures, and a poll that backs off while the other side is down.

use punctual::{Clock, OnFailure, Pool, RunOutcome, Schedule};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let clock = Clock::manual();
    let pool = Pool::builder("cache").core_threads(2).clock(&clock).build()?;

    // An `Err` counts like a panic: it is told and counted, and the next run comes all the same.
    let told = Arc::new(Mutex::new(Vec::new()));
    let every = {
        let told = told.clone();
        Schedule::every(5 * SECOND)
            .named("flush")
            .on_error(move |_run, error| told.lock().expect("nobody panics here").push(error.to_owned()))
    };
    let mut runs = 0;
    let flush = pool.schedule(every, move |_run| {
        runs += 1;
        if runs == 2 { Err("disk full") } else { Ok(()) }
    })?;
    println!("{}", flush.schedule());
    clock.advance(15 * SECOND); // at 0 s, 5 s, 10 s and 15 s
    let stats = flush.stats();
    assert_eq!((stats.runs, stats.failures), (4, 1));
    assert_eq!(stats.last_error.as_deref(), Some("disk full"));
    assert_eq!(stats.last_outcome, RunOutcome::Succeeded);
    assert_eq!(*told.lock().expect("nobody panicked"), ["disk full"]);

    // A slower plan from now on, one run beside it, and the end.
    flush.reschedule(Schedule::every(60 * SECOND).starting_in(60 * SECOND))?;
    flush.run_now()?;
    clock.advance(60 * SECOND);
    assert_eq!(flush.stats().runs, 6);
    flush.cancel();
    assert!(flush.is_finished());

    // Every second; after a failure 2 s, then 4 s, then never more than 5 s.
    let polite = OnFailure::Backoff {
        first: 2 * SECOND,
        max: 5 * SECOND,
    };
    let poll = pool.schedule(Schedule::every(SECOND).on_failure(polite), |_run| {
        Err("no answer")
    })?;
    clock.advance(16 * SECOND); // at 0 s, 2 s, 6 s, 11 s and 16 s
    let stats = poll.stats();
    println!("{} runs, {} ticks left out", stats.runs, stats.skipped);
    assert_eq!((stats.runs, stats.failures_in_a_row), (5, 5));

    let report = pool.close();
    assert_eq!(report.cancelled_repeating, 1);
    Ok(())
}
