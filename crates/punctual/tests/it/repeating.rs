//! Schedules that run: `STPE-..`, `SPR-..`.

use punctual::*;
use std::sync::mpsc;
use std::time::Duration;

fn manual(threads: usize) -> (ManualClock, Pool) {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(threads)
        .clock(&clock)
        .build()
        .unwrap();
    (clock, pool)
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn smoke_every() {
    let (clock, pool) = manual(2);
    let (tx, rx) = mpsc::channel();
    let start = clock.now();
    let h = pool
        .schedule(Schedule::every(SECOND), move |run| {
            tx.send((run.scheduled, run.actual, run.missed)).unwrap();
        })
        .unwrap();
    clock.advance(3 * SECOND);
    let got: Vec<_> = rx.try_iter().collect();
    assert_eq!(
        got,
        (0..4)
            .map(|n| (start + n * SECOND, start + n * SECOND, 0))
            .collect::<Vec<_>>()
    );
    assert_eq!(h.next_run(), Some(start + 4 * SECOND));
    assert_eq!(h.cancel(), Cancel::Removed);
    clock.advance(10 * SECOND);
    assert_eq!(rx.try_iter().count(), 0);
    assert!(h.is_finished());
    h.wait();
    let stats = pool.stats();
    assert_eq!(
        (stats.submitted, stats.finished, stats.cancelled, stats.schedules),
        (4, 4, 0, 0)
    );
}

#[test]
fn smoke_cron_year() {
    let clock = Clock::manual_at(std::time::SystemTime::UNIX_EPOCH);
    let pool = Pool::builder("p").core_threads(2).clock(&clock).build().unwrap();
    let h = pool
        .schedule(Schedule::cron("* * * * *").unwrap(), |_| ())
        .unwrap();
    let begin = std::time::Instant::now();
    clock.advance(Duration::from_secs(86_400 * 30));
    println!("{:?} {:?}", begin.elapsed(), h.stats());
    assert_eq!(h.stats().runs, 30 * 1440);
}

#[test]
fn smoke_limit_while_all_are_stuck() {
    let (clock, pool) = manual(1);
    let t = pool
        .task(|| task::sleep(Duration::from_secs(100)).is_err())
        .time_limit(5 * SECOND)
        .submit()
        .unwrap();
    let q = pool.task(|| 1).expires_in(2 * SECOND).submit().unwrap();
    clock.advance(3 * SECOND);
    assert!(q.join().unwrap_err().is_expired());
    clock.advance(3 * SECOND);
    assert!(t.join().unwrap());
    assert_eq!(pool.stats().expired, 1);
}
