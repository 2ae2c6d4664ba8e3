//! Testing a schedule of your own: a report that is written each night, tested over a week, over a clock that is put, and
//! over a night in which it takes too long.

use punctual::{Clock, Executor, Pool, Schedule, ScheduleHandle, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant, UNIX_EPOCH};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(86_400);

type Error = Box<dyn std::error::Error + Send + Sync>;

/// What is tested. It takes the executor as an argument, so a test can give it one that goes by another clock.
fn nightly_report(on: &Executor, takes: Duration, written: &Arc<AtomicU64>) -> Result<ScheduleHandle, Error> {
    let written = written.clone();
    let nightly = Schedule::cron("30 2 * * *")?.named("report");
    let report = on.schedule(nightly, move |_run| {
        task::sleep(takes).map_err(|_| "told to stop")?;
        written.fetch_add(1, Relaxed);
        Ok::<(), &str>(())
    })?;
    Ok(report)
}

fn main() -> Result<(), Error> {
    let begin = Instant::now();
    let clock = Clock::manual_at(UNIX_EPOCH);
    let pool = Pool::builder("tests").core_threads(2).clock(&clock).build()?;
    let written = Arc::new(AtomicU64::new(0));

    // A week. Whatever `advance` caused has happened when it returns.
    let report = nightly_report(&pool, HOUR, &written)?;
    clock.advance(7 * DAY);
    assert_eq!(written.load(Relaxed), 7);
    assert_eq!((report.stats().missed, report.stats().skipped), (0, 0));

    // Somebody puts the clock three days forward: one run makes up for three, within half a minute.
    clock.jump_wall(clock.now() + 3 * DAY);
    clock.advance(Duration::from_secs(30) + HOUR);
    assert_eq!(written.load(Relaxed), 8);
    assert_eq!(report.stats().missed, 2);
    report.cancel();

    // It takes two days and a half: the two nights that come due meanwhile are left out.
    let slow = nightly_report(&pool, 60 * HOUR, &written)?;
    clock.advance(4 * DAY);
    assert_eq!((slow.stats().runs, slow.stats().skipped), (2, 2));
    // The second one still sleeps, by a clock that nobody will move: closing the pool would wait for it.
    slow.cancel();

    println!("two weeks took {:?}", begin.elapsed());
    Ok(())
}
