//! Faults 12 and 15: the wall clock is put forward and back while the process runs; its monotonic clock is not. To timers
//! that is also what a suspended machine looks like.

use crate::process::{put_the_wall, with_a_wall_clock_of_its_own};
use crate::support::until;
use punctual::{Pool, Run, Schedule};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
const HOUR: i64 = 3_600;

/// A wall clock that was put is noticed by then; the rest is for a machine that is busy.
const NOTICED: Duration = Duration::from_secs(30 + 15);

/// When something ran: by the wall, and since the beginning.
type Runs = Arc<Mutex<Vec<(SystemTime, Duration)>>>;

fn later(seconds: i64) -> SystemTime {
    SystemTime::now() + Duration::from_secs(seconds as u64)
}

fn noting(begin: Instant) -> (Runs, impl Fn() + Send + Sync + Clone + 'static) {
    let runs = Runs::default();
    let notes = runs.clone();
    let note = move || notes.lock().unwrap().push((SystemTime::now(), begin.elapsed()));
    (runs, note)
}

/// Each run of a fixed rate comes one period after the other, whatever the wall shows.
fn assert_regular(ticks: &Runs, period: Duration) {
    let ticks = ticks.lock().unwrap();
    for (number, (_, at)) in ticks.iter().enumerate() {
        assert!(*at >= number as u32 * period, "early: {number} at {at:?}");
    }
}

#[test]
fn fault_12_and_15_a_wall_clock_put_forward_is_noticed_in_time_and_delays_are_not_moved() {
    with_a_wall_clock_of_its_own(|| {
        let pool = Pool::fixed(2).unwrap();
        let begin = Instant::now();
        let (ticks, tick) = noting(begin);
        let every = pool
            .schedule(Schedule::every(SECOND / 10), move |_| tick())
            .unwrap();
        let (delays, note) = noting(begin);
        let delayed = pool.after(2 * SECOND, note).unwrap();
        let far = pool.after(Duration::from_secs(HOUR as u64), || ()).unwrap();
        let (appointments, note) = noting(begin);
        let due = later(HOUR - 100);
        // In a pool with nothing else to wake up for.
        let calm = Pool::fixed(1).unwrap();
        let appointment = calm.at(due, note).unwrap();
        let not_yet = calm.at(later(2 * HOUR), || ()).unwrap();
        until("it sleeps until it looks again", || {
            format!("{calm:?}").contains("1 asleep, 0 searching")
        });
        put_the_wall(HOUR);
        assert!(appointment.wait_timeout(NOTICED), "not noticed: {calm:?}");
        let (wall, _) = appointments.lock().unwrap()[0];
        assert!(wall >= due, "early: {wall:?} {due:?}");
        assert!(!far.is_finished() && !not_yet.is_finished());
        assert!(delayed.wait_timeout(NOTICED));
        assert!(delays.lock().unwrap()[0].1 >= 2 * SECOND);
        every.cancel();
        assert_regular(&ticks, SECOND / 10);
        // What is late for want of a processor counts as missed; no tick came from the hour that was left out.
        let counted = every.stats().runs + every.stats().missed + every.stats().skipped;
        assert!(
            counted <= begin.elapsed().as_millis() as u64 / 100 + 1,
            "{:?}",
            every.stats()
        );
        assert_eq!(appointments.lock().unwrap().len(), 1);
        drop(pool.stop());
    });
}

#[test]
fn fault_12_a_wall_clock_put_back_makes_nothing_early_and_nothing_twice() {
    with_a_wall_clock_of_its_own(|| {
        let pool = Pool::fixed(2).unwrap();
        let begin = Instant::now();
        let due = later(3);
        let (runs, note) = noting(begin);
        let waits = pool.at(due, note.clone()).unwrap();
        let once = pool.schedule(Schedule::once_at(due), move |_| note()).unwrap();
        let passed = pool.at(SystemTime::now(), || ()).unwrap();
        passed.join().unwrap();
        put_the_wall(-2 * HOUR);
        let delayed = pool.after(6 * SECOND, || ()).unwrap();
        assert!(delayed.wait_timeout(NOTICED));
        assert!(begin.elapsed() >= 6 * SECOND);
        assert_eq!(runs.lock().unwrap().len(), 0, "two hours early");
        assert!(
            waits
                .task_ref()
                .remaining()
                .is_some_and(|left| left > Duration::from_secs(7_000))
        );
        // What is made now goes by the new time.
        let soon = later(1);
        let new = pool.at(soon, SystemTime::now).unwrap();
        assert!(new.join().unwrap() >= soon);
        // Right again: due, once.
        put_the_wall(0);
        assert!(waits.wait_timeout(NOTICED) && once.wait_timeout(NOTICED));
        put_the_wall(-2 * HOUR);
        put_the_wall(0);
        // The pool looks at its clocks, and finds nothing.
        pool.after(SECOND, || ()).unwrap().join().unwrap();
        let runs = runs.lock().unwrap();
        assert_eq!(runs.len(), 2);
        assert!(runs.iter().all(|(wall, _)| *wall >= due), "{runs:?} {due:?}");
    });
}

#[cfg(feature = "cron")]
#[test]
fn fault_12_cron_over_a_wall_clock_put_forward_and_back_runs_no_instant_twice() {
    with_a_wall_clock_of_its_own(|| {
        let pool = Pool::fixed(1).unwrap();
        let runs = Arc::new(Mutex::new(Vec::new()));
        let notes = runs.clone();
        let note = move |run: &Run| {
            let actual = SystemTime::now();
            notes.lock().unwrap().push((run.scheduled, actual, run.missed));
        };
        let secondly = Schedule::cron("* * * * * *").unwrap();
        let handle = pool.schedule(secondly, note).unwrap();
        let len = || runs.lock().unwrap().len();
        until("it runs", || len() >= 2);
        put_the_wall(HOUR);
        // It is due every second: this is noticed at once.
        until("one run makes up for the hour", || handle.stats().missed > 3_000);
        let before = len();
        until("it goes on", || len() >= before + 2);
        put_the_wall(0);
        let before = len();
        pool.after(3 * SECOND, || ()).unwrap().join().unwrap();
        // One may have been on its way; the whole hour has been.
        assert!(len() <= before + 1, "{:?}", runs.lock().unwrap());
        put_the_wall(HOUR);
        until("it goes on where it was", || len() >= before + 3);
        handle.cancel();
        let runs = runs.lock().unwrap();
        assert!(
            runs.iter().all(|(due, actual, _)| actual >= due),
            "early: {runs:?}"
        );
        assert!(
            runs.windows(2).all(|pair| pair[0].0 < pair[1].0),
            "twice: {runs:?}"
        );
        assert!(handle.stats().missed < 3_700, "{:?}", handle.stats());
    });
}
