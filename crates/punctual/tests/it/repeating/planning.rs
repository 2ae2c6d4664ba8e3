//! When the runs are to be: the kinds of schedules, their starts, their ends.

use super::{NANO, Noted, Notes, SECOND, at, books, noting, pool, prompt, seconds, taking};
use crate::life::settle;
use punctual::{LastRun, Schedule};
use std::time::{Duration, SystemTime};

/// The runs of a schedule within so many seconds, with bodies that take no time; and whether it has ended then.
fn runs(schedule: Schedule, within: u64) -> (Vec<Noted>, bool) {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let handle = pool.schedule(schedule, noting(&notes)).unwrap();
    clock.advance(Duration::from_secs(within));
    books(&pool);
    (notes.take(), handle.is_finished())
}

#[test]
fn stpe_06_a_start_in_the_past_is_now() {
    let past = SystemTime::UNIX_EPOCH;
    assert_eq!(runs(Schedule::every(SECOND).starting_at(past), 2).0, prompt(0..3));
    assert_eq!(
        runs(Schedule::with_delay(SECOND).starting_at(past), 2).0,
        prompt(0..3)
    );
    assert_eq!(
        runs(Schedule::every(SECOND).starting_in(Duration::ZERO), 2).0,
        prompt(0..3)
    );
}

#[test]
fn once_at_runs_once() {
    assert_eq!(runs(Schedule::once_at(at(5)), 100), (prompt([5]), true));
    let (past, ended) = runs(Schedule::once_at(SystemTime::UNIX_EPOCH + SECOND), 100);
    assert_eq!(
        (past.len(), ended),
        (1, true),
        "an instant that has passed means at once"
    );
    assert_eq!(past[0].1, 0);
}

#[test]
fn a_trigger_is_asked_before_the_first_run_and_after_each() {
    let (pool, clock) = pool(1);
    let (told, notes) = (Notes::default(), Notes::default());
    let asked = told.clone();
    let trigger = Schedule::trigger(move |last: &LastRun| {
        asked.add(*last);
        let next = match last.completed {
            None => 3,
            Some(end) => seconds(end) + 4,
        };
        (next <= 20).then(|| at(next))
    });
    let handle = pool.schedule(trigger, taking(&notes, 2)).unwrap();
    clock.advance(100 * SECOND);
    assert_eq!(notes.take(), prompt([3, 9, 15]));
    let run = |due: u64| LastRun {
        scheduled: Some(at(due)),
        actual: Some(at(due)),
        completed: Some(at(due + 2)),
    };
    assert_eq!(told.take(), [LastRun::default(), run(3), run(9), run(15)]);
    assert!(handle.is_finished(), "none is no next run");
}

#[test]
fn a_trigger_that_names_the_past_runs_at_once() {
    let (pool, clock) = pool(1);
    let (notes, past) = (Notes::<u64>::default(), SystemTime::UNIX_EPOCH);
    let trigger = Schedule::trigger(move |_| Some(past)).times(5);
    let (noted, wall) = (notes.clone(), clock.clone());
    let handle = pool
        .schedule(trigger, move |_| {
            noted.add(seconds(wall.now()));
        })
        .unwrap();
    settle(&clock);
    assert_eq!(notes.take(), [0; 5]);
    assert!(handle.is_finished());
}

#[test]
fn a_trigger_that_panics_ends_its_schedule_and_is_reported() {
    let (pool, clock) = pool(1);
    let trigger = Schedule::trigger(|last| match last.completed {
        None => Some(at(1)),
        Some(_) => crate::support::quiet_panic("no idea"),
    });
    let handle = pool.schedule(trigger, |_| ()).unwrap();
    clock.advance(10 * SECOND);
    assert!(handle.is_finished());
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.last_error.as_deref()), (1, Some("no idea")));
    assert_eq!(books(&pool).hook_panics, 1);
}

#[cfg(feature = "cron")]
#[test]
fn cron_runs_by_the_calendar() {
    let cron = |text| Schedule::cron(text).unwrap();
    assert_eq!(
        runs(cron("*/20 * * * * *"), 60).0,
        prompt([20, 40, 60]),
        "strictly after now"
    );
    assert_eq!(runs(cron("* * * * *"), 180).0, prompt([60, 120, 180]));
    let start = cron("*/20 * * * * *").starting_at(at(40));
    assert_eq!(
        runs(start, 60).0,
        prompt([40, 60]),
        "a start to come is part of it"
    );
    let start = cron("*/20 * * * * *").starting_in(41 * SECOND);
    assert_eq!(runs(start, 60).0, prompt([60]));
}

#[cfg(feature = "cron")]
#[test]
fn cron_follows_a_wall_clock_that_is_put_within_thirty_seconds() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let hourly = Schedule::cron("@hourly").unwrap();
    let handle = pool.schedule(hourly, noting(&notes)).unwrap();
    let first = handle.next_run().unwrap();
    clock.jump_wall(first - 10 * SECOND);
    clock.advance(30 * SECOND);
    assert_eq!(handle.stats().runs, 1);
    let (scheduled, actual, missed) = notes.take()[0];
    assert_eq!((at(scheduled), missed), (first, 0));
    assert!(at(actual) >= first && at(actual) <= first + 20 * SECOND);
    // Back by a day: the next one is a day away again, and nothing runs twice meanwhile.
    clock.jump_wall(first - 86_400 * SECOND);
    clock.advance(86_400 * SECOND);
    assert_eq!(handle.stats().runs, 1);
    clock.advance(3_600 * SECOND);
    assert_eq!(handle.stats().runs, 2);
}

#[test]
fn a_rate_does_not_notice_that_the_wall_clock_is_put() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(Schedule::every(10 * SECOND), |_| ()).unwrap();
    clock.advance(5 * SECOND);
    clock.jump_wall(at(100_000));
    clock.advance(4 * SECOND);
    assert_eq!(handle.stats().runs, 1);
    clock.advance(SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.missed, stats.skipped), (2, 0, 0));
    assert_eq!(handle.next_run(), Some(at(100_015)), "as the wall stands now");
}

#[test]
fn starting_in_and_starting_at_move_the_plan_and_the_last_one_counts() {
    let every = Schedule::every(10 * SECOND);
    assert_eq!(
        runs(every.clone().starting_in(3 * SECOND), 25).0,
        prompt([3, 13, 23])
    );
    assert_eq!(runs(every.clone().starting_at(at(4)), 25).0, prompt([4, 14, 24]));
    let both = every.starting_at(at(4)).starting_in(3 * SECOND);
    assert_eq!(runs(both, 25).0, prompt([3, 13, 23]));
    let delay = Schedule::with_delay(10 * SECOND).starting_at(at(4));
    assert_eq!(runs(delay, 25).0, prompt([4, 14, 24]));
}

#[test]
fn times_and_until_end_a_schedule() {
    let every = Schedule::every(10 * SECOND);
    assert_eq!(runs(every.clone().times(3), 100), (prompt([0, 10, 20]), true));
    assert_eq!(runs(every.clone().times(0), 100), (vec![], true));
    assert_eq!(
        runs(every.clone().until(at(20)), 100),
        (prompt([0, 10, 20]), true),
        "the end is part of it"
    );
    assert_eq!(
        runs(every.clone().until(at(20) - NANO), 100),
        (prompt([0, 10]), true)
    );
    assert_eq!(runs(every.until(at(0) - NANO), 100), (vec![], true));
    let delay = Schedule::with_delay(10 * SECOND).until(at(20));
    assert_eq!(runs(delay, 100), (prompt([0, 10, 20]), true));
}

#[test]
fn a_schedule_that_ends_is_told_so_before_its_time_would_have_come() {
    let (pool, clock) = pool(1);
    let handle = pool
        .schedule(Schedule::every(10 * SECOND).until(at(15)), |_| ())
        .unwrap();
    clock.advance(10 * SECOND);
    assert!(handle.is_finished(), "nothing is due any more");
    assert_eq!((books(&pool).schedules, handle.next_run()), (0, None));
}

#[test]
fn jitter_moves_each_run_a_little_and_never_the_plan() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let inside = notes.clone();
    let every = Schedule::every(10 * SECOND).jitter(5 * SECOND).times(200);
    let handle = pool
        .schedule(every, move |run| {
            let moved = run.actual.duration_since(run.scheduled).expect("never early");
            inside.add((seconds(run.scheduled), moved));
        })
        .unwrap();
    clock.advance(2_000 * SECOND);
    let runs = notes.take();
    let plan: Vec<_> = runs.iter().map(|(due, _)| *due).collect();
    assert_eq!(plan, (0..200).map(|n| 10 * n).collect::<Vec<_>>());
    assert!(runs.iter().all(|(_, moved)| *moved < 5 * SECOND));
    let halves = |late: bool| {
        runs.iter()
            .filter(|(_, moved)| (*moved >= 2_500 * SECOND / 1_000) == late)
            .count()
    };
    assert!(
        halves(true) > 50 && halves(false) > 50,
        "spread over the whole of it"
    );
    let stats = handle.stats();
    assert_eq!((stats.missed, stats.skipped), (0, 0));
}

#[test]
fn the_next_run_is_told_before_jitter() {
    let (pool, clock) = pool(1);
    let every = Schedule::every(10 * SECOND).jitter(5 * SECOND);
    let handle = pool.schedule(every, |_| ()).unwrap();
    assert_eq!(handle.next_run(), Some(at(0)));
    clock.advance(6 * SECOND);
    assert_eq!(handle.next_run(), Some(at(10)));
}
