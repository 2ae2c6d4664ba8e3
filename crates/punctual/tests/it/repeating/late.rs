//! Ticks that come due during a run are the overlap policy's, those that could not start the missed policy's.

use super::{Noted, Notes, SECOND, books, nap, noting, pool, prompt, slow_at_first, taking};
use crate::life::{begun, settle};
use punctual::{Missed, Overlap, Pool, Schedule, ScheduleHandle};

const MISSED: [Missed; 4] = [Missed::Once, Missed::Skip, Missed::Delay, Missed::Burst];

/// What keeps a run from starting.
#[derive(Debug, Clone, Copy)]
enum Hindrance {
    /// The only worker is busy.
    Busy,
    /// The pool is paused.
    Paused,
}

/// Runs, and the ticks that were missed and skipped.
type Told = (Vec<Noted>, u64, u64);

/// The runs within 60 seconds, with nobody to start them from the fifth second until then.
fn hindered(by: Hindrance, until: u64, schedule: &Schedule) -> Told {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(schedule.clone(), noting(&notes)).unwrap();
    clock.advance(5 * SECOND);
    match by {
        Hindrance::Busy => {
            let _busy = begun(&pool, move || nap(until - 5));
        }
        Hindrance::Paused => pool.pause(),
    }
    let length = u32::try_from(until - 5).unwrap();
    clock.advance(length * SECOND);
    pool.resume();
    settle(&clock);
    clock.advance((55 - length) * SECOND);
    told(&pool, &handle, &notes)
}

fn told(pool: &Pool, handle: &ScheduleHandle, notes: &Notes<Noted>) -> Told {
    let (stats, all) = (handle.stats(), books(pool));
    assert_eq!(
        (all.missed, all.skipped),
        (stats.missed, stats.skipped),
        "one schedule"
    );
    let notes = notes.take();
    assert_eq!(notes.len() as u64, stats.runs);
    (notes, stats.missed, stats.skipped)
}

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

/// The three ticks 10, 20 and 30 could not start before 35.
fn three_missed(by: Hindrance) {
    let after = |mut runs: Vec<Noted>, rest: &[u64]| {
        runs.extend(prompt(rest.iter().copied()));
        runs
    };
    let start = (0, 0, 0);
    let once = after(vec![start, (10, 35, 2)], &[40, 50, 60]);
    assert_eq!(
        hindered(by, 35, &every()),
        (once.clone(), 2, 0),
        "the default, {by:?}"
    );
    let policy = |missed| hindered(by, 35, &every().missed(missed));
    assert_eq!(policy(Missed::Once), (once, 2, 0), "{by:?}");
    let skip = after(vec![start], &[40, 50, 60]);
    assert_eq!(policy(Missed::Skip), (skip, 3, 0), "{by:?}");
    let delay = after(vec![start, (10, 35, 2)], &[45, 55]);
    assert_eq!(policy(Missed::Delay), (delay, 2, 0), "{by:?}");
}

fn burst() -> Vec<Noted> {
    let mut runs = vec![(0, 0, 0), (10, 35, 0), (20, 35, 0), (30, 35, 0)];
    runs.extend(prompt([40, 50, 60]));
    runs
}

#[test]
fn ticks_that_a_busy_pool_could_not_start_follow_the_missed_policy() {
    three_missed(Hindrance::Busy);
}

#[test]
fn ticks_that_a_paused_pool_could_not_start_follow_the_missed_policy() {
    three_missed(Hindrance::Paused);
}

#[test]
fn missed_ticks_all_run_in_a_burst() {
    let burst_policy = every().missed(Missed::Burst);
    assert_eq!(hindered(Hindrance::Busy, 35, &burst_policy), (burst(), 0, 0));
}

#[test]
fn missed_ticks_of_a_paused_pool_all_run_in_a_burst() {
    let burst_policy = every().missed(Missed::Burst);
    assert_eq!(hindered(Hindrance::Paused, 35, &burst_policy), (burst(), 0, 0));
}

#[test]
fn stpe_05_the_jdks_burst_is_queue_and_burst() {
    let jdk = every().overlap(Overlap::Queue).missed(Missed::Burst);
    assert_eq!(
        hindered(Hindrance::Busy, 35, &jdk),
        (burst(), 0, 0),
        "after a late start"
    );
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(jdk, slow_at_first(&notes, 35)).unwrap();
    clock.advance(60 * SECOND);
    assert_eq!(told(&pool, &handle, &notes), (burst(), 0, 0), "after a long run");
}

#[test]
fn a_tick_that_is_only_late_runs_under_every_policy_and_moves_nothing() {
    for missed in MISSED {
        let mut runs = vec![(0, 0, 0), (10, 15, 0)];
        runs.extend(prompt([20, 30, 40, 50, 60]));
        let told = hindered(Hindrance::Busy, 15, &every().missed(missed));
        assert_eq!(told, (runs, 0, 0), "{missed:?}");
    }
}

#[cfg(feature = "cron")]
#[test]
fn a_calendar_follows_the_missed_policy_and_cannot_be_moved() {
    let cron = Schedule::cron("*/10 * * * * *").unwrap();
    let mut once = vec![(10, 35, 2)];
    once.extend(prompt([40, 50, 60]));
    let policy = |missed| hindered(Hindrance::Busy, 35, &cron.clone().missed(missed));
    assert_eq!(policy(Missed::Once), (once.clone(), 2, 0));
    assert_eq!(policy(Missed::Delay), (once, 2, 0), "as once");
    assert_eq!(policy(Missed::Skip), (prompt([40, 50, 60]), 3, 0));
}

#[test]
fn a_fixed_delay_has_nothing_to_miss() {
    for missed in MISSED {
        let schedule = Schedule::with_delay(10 * SECOND).missed(missed);
        let mut runs = vec![(0, 0, 0), (10, 35, 0)];
        runs.extend(prompt([45, 55]));
        assert_eq!(
            hindered(Hindrance::Busy, 35, &schedule),
            (runs, 0, 0),
            "{missed:?}"
        );
    }
}

#[test]
fn ticks_during_a_run_are_skipped_and_counted() {
    for missed in MISSED {
        let (pool, clock) = pool(2);
        let notes = Notes::default();
        let schedule = every().missed(missed);
        let handle = pool.schedule(schedule, slow_at_first(&notes, 25)).unwrap();
        clock.advance(24 * SECOND);
        assert_eq!(handle.stats().skipped, 2, "seen while it runs");
        clock.advance(26 * SECOND);
        assert_eq!(
            told(&pool, &handle, &notes),
            (prompt([0, 30, 40, 50]), 0, 2),
            "{missed:?}"
        );
    }
}

#[test]
fn ticks_during_a_run_may_be_made_up_for() {
    for missed in MISSED {
        let (pool, clock) = pool(2);
        let notes = Notes::default();
        let schedule = every().overlap(Overlap::Queue).missed(missed);
        let handle = pool.schedule(schedule, slow_at_first(&notes, 25)).unwrap();
        clock.advance(50 * SECOND);
        let mut runs = vec![(0, 0, 0), (10, 25, 0), (20, 25, 0)];
        runs.extend(prompt([30, 40, 50]));
        assert_eq!(told(&pool, &handle, &notes), (runs, 0, 0), "{missed:?}");
    }
}

#[test]
fn a_schedule_that_cannot_keep_up_falls_behind_without_losing_a_tick() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let queue = every().overlap(Overlap::Queue);
    let handle = pool.schedule(queue, taking(&notes, 25)).unwrap();
    clock.advance(100 * SECOND);
    let runs = vec![(0, 0, 0), (10, 25, 0), (20, 50, 0), (30, 75, 0), (40, 100, 0)];
    assert_eq!(told(&pool, &handle, &notes), (runs, 0, 0));
    assert_eq!(handle.stats().running, 1);
}

#[test]
fn a_run_that_always_takes_longer_than_the_period_keeps_to_the_plan() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let handle = pool.schedule(every(), taking(&notes, 12)).unwrap();
    clock.advance(100 * SECOND);
    assert_eq!(
        told(&pool, &handle, &notes),
        (prompt([0, 20, 40, 60, 80, 100]), 0, 5)
    );
}

/// Both at once: 10, 20 and 30 came due during the first run, 40 and 50 while the only worker was busy with another task,
/// after it had made up for the first of them.
fn queued_and_missed(missed: Missed) -> Told {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let busy = pool.after(35 * SECOND, || nap(22)).unwrap();
    let schedule = every().overlap(Overlap::Queue).missed(missed);
    let handle = pool.schedule(schedule, slow_at_first(&notes, 35)).unwrap();
    clock.advance(70 * SECOND);
    busy.join().unwrap();
    told(&pool, &handle, &notes)
}

#[test]
fn what_is_owed_runs_and_what_was_missed_follows_its_own_policy() {
    let runs = |rest: &[Noted]| [&[(0, 0, 0), (10, 35, 0)], rest].concat();
    let once = runs(&[(20, 57, 2), (30, 57, 0), (60, 60, 0), (70, 70, 0)]);
    assert_eq!(queued_and_missed(Missed::Once), (once.clone(), 2, 0));
    assert_eq!(
        queued_and_missed(Missed::Skip),
        (once, 2, 0),
        "an owed tick is no missed one"
    );
    let delay = runs(&[(20, 57, 2), (30, 57, 0), (67, 67, 0)]);
    assert_eq!(queued_and_missed(Missed::Delay), (delay, 2, 0));
    let late: Vec<_> = [20, 30, 40, 50].map(|due| (due, 57, 0)).into();
    let all = runs(&[late, prompt([60, 70])].concat());
    assert_eq!(queued_and_missed(Missed::Burst), (all, 0, 0));
}
