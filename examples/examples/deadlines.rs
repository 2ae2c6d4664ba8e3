//! Deadlines: work that nobody wants any more expires, work that takes too long is told to stop, and a hook hears of what
//! is slow while it is slow. All of it in time although the only worker is stuck.

use punctual::{Clock, Pool, task};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let clock = Clock::manual();
    let log = Arc::new(Mutex::new(Vec::new()));
    let [slow, late] = [(); 2].map(|()| log.clone());
    let note = |log: &Mutex<Vec<String>>, line: String| log.lock().expect("nobody panics here").push(line);
    let pool = Pool::builder("quotes")
        .core_threads(1)
        .slow_after(2 * SECOND)
        .on_slow(move |task, ran| note(&slow, format!("{} has run for {ran:?}", task.label())))
        .on_late(SECOND, move |task, by| {
            note(&late, format!("{} is {by:?} late", task.label()))
        })
        .clock(&clock)
        .build()?;

    // At ten seconds its token fires. What it makes of that is its own affair, and the handle gets it.
    let fetch = pool
        .task(|| match task::sleep(60 * SECOND) {
            Ok(()) => "everything",
            Err(_) => "what there was",
        })
        .name("fetch")
        .time_limit(10 * SECOND)
        .submit()?;
    // Nobody waits longer than five seconds for a price.
    let price = pool.task(|| 42).name("price").expires_in(5 * SECOND).submit()?;
    let remind = pool.task(|| "tea").name("remind").after(3 * SECOND)?;

    clock.advance(5 * SECOND);
    assert!(price.join().unwrap_err().is_expired());
    assert_eq!(pool.stats().expired, 1);

    clock.advance(5 * SECOND);
    assert_eq!(fetch.join()?, "what there was");
    assert_eq!(remind.join()?, "tea");

    let log = log.lock().expect("nobody panicked");
    for line in &*log {
        println!("{line}");
    }
    assert_eq!(*log, ["fetch has run for 2s", "remind is 1s late"]);
    Ok(())
}
