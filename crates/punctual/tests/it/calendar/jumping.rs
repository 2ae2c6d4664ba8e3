//! Cron while the wall clock is put: forward as the policy says, back and no instant twice.

use super::{HOUR, NANO, NOTICED, SECOND, pool, start};
use crate::support::Random;
use punctual::{ManualClock, Missed, Overlap, Pool, Run, Schedule, ScheduleHandle};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const MINUTE: Duration = Duration::from_secs(60);

/// When each run was due, when it began, and how many it stands for.
type Runs = Arc<Mutex<Vec<(SystemTime, SystemTime, u64)>>>;

fn minutely(pool: &Pool, change: impl FnOnce(Schedule) -> Schedule) -> (ScheduleHandle, Runs) {
    let runs = Runs::default();
    let notes = runs.clone();
    let note = move |run: &Run| {
        notes
            .lock()
            .unwrap()
            .push((run.scheduled, run.actual, run.missed))
    };
    let schedule = change(Schedule::cron("* * * * *").expect("a cron text"));
    (pool.schedule(schedule, note).expect("a pool that runs"), runs)
}

/// What every run keeps, whatever the clock did.
fn assert_never_early_or_twice(runs: &Runs) {
    let runs = runs.lock().unwrap();
    for (scheduled, actual, _) in &*runs {
        assert!(actual >= scheduled, "early: {scheduled:?} {actual:?}");
    }
    for pair in runs.windows(2) {
        assert!(pair[0].0 < pair[1].0, "twice, or out of order: {pair:?}");
    }
}

/// Runs for ten minutes, puts the clock forward by an hour, and says what came of it within 30 seconds.
fn forward(missed: Missed) -> (ManualClock, ScheduleHandle, Runs, Pool) {
    let (pool, clock) = pool(1);
    let (handle, runs) = minutely(&pool, |minutely| minutely.missed(missed).overlap(Overlap::Skip));
    clock.advance(10 * MINUTE + SECOND);
    assert_eq!(runs.lock().unwrap().len(), 10);
    clock.jump_wall(start() + 10 * MINUTE + HOUR + SECOND);
    clock.advance(NOTICED);
    assert_never_early_or_twice(&runs);
    (clock, handle, runs, pool)
}

#[test]
fn cron_over_a_jump_forward_makes_up_for_all_with_one_run() {
    let (clock, handle, runs, _pool) = forward(Missed::Once);
    // The minutes 11 to 70: the last of them runs and stands for the others.
    assert_eq!(runs.lock().unwrap().len(), 11);
    let last = runs.lock().unwrap()[10];
    assert_eq!((last.2, handle.stats().missed), (59, 59));
    clock.advance(5 * MINUTE);
    assert_eq!(runs.lock().unwrap().len(), 16);
    assert_eq!(runs.lock().unwrap()[15].0, start() + 75 * MINUTE);
    assert_never_early_or_twice(&runs);
}

#[test]
fn cron_over_a_jump_forward_can_leave_the_missed_ones_out() {
    let (clock, handle, runs, _pool) = forward(Missed::Skip);
    assert_eq!((runs.lock().unwrap().len(), handle.stats().missed), (10, 60));
    clock.advance(MINUTE);
    assert_eq!(runs.lock().unwrap()[10].0, start() + 71 * MINUTE);
    assert_never_early_or_twice(&runs);
}

#[test]
fn cron_over_a_jump_forward_can_run_each_of_the_missed_ones() {
    let (clock, handle, runs, _pool) = forward(Missed::Burst);
    let minutes: Vec<_> = (1..=70).map(|minute| start() + minute * MINUTE).collect();
    let due = |runs: &Runs| -> Vec<_> { runs.lock().unwrap().iter().map(|run| run.0).collect() };
    assert_eq!(due(&runs), minutes);
    assert_eq!(handle.stats().missed, 0);
    clock.advance(MINUTE);
    assert_eq!(runs.lock().unwrap().len(), 71);
}

#[test]
fn cron_over_a_jump_back_runs_no_instant_twice() {
    let (pool, clock) = pool(1);
    let (handle, runs) = minutely(&pool, |minutely| minutely);
    clock.advance(10 * MINUTE);
    clock.jump_wall(start() - 2 * HOUR);
    clock.advance(2 * HOUR + 11 * MINUTE - NANO);
    assert_eq!(runs.lock().unwrap().len(), 10, "all of these have been");
    assert_eq!(handle.next_run(), Some(start() + 11 * MINUTE));
    clock.advance(NANO);
    assert_eq!(runs.lock().unwrap().last().unwrap().0, start() + 11 * MINUTE);
    clock.advance(5 * MINUTE);
    assert_eq!((runs.lock().unwrap().len(), handle.stats().missed), (16, 0));
    assert_never_early_or_twice(&runs);
}

#[test]
fn cron_over_a_small_step_back_is_not_run_again() {
    let (pool, clock) = pool(1);
    let (_handle, runs) = minutely(&pool, |minutely| minutely);
    // As a clock that runs fast is put right, every minute just after the tick.
    for minute in 1..=20 {
        clock.advance(MINUTE + SECOND);
        clock.jump_wall(clock.now() - SECOND);
        assert_eq!(runs.lock().unwrap().len(), minute);
    }
    assert_never_early_or_twice(&runs);
}

#[test]
fn cron_over_random_jumps_keeps_its_promises() {
    let mut random = Random::printed("cron over jumps");
    for missed in [Missed::Once, Missed::Skip, Missed::Burst, Missed::Delay] {
        let (pool, clock) = pool(2);
        let (handle, runs) = minutely(&pool, |minutely| minutely.missed(missed));
        let mut furthest = start();
        for _ in 0..100 {
            let to = start() + Duration::from_millis(random.below(6 * 3_600_000));
            clock.jump_wall(to);
            clock.advance(Duration::from_millis(random.below(90_000)));
            furthest = furthest.max(clock.now());
            assert_never_early_or_twice(&runs);
        }
        clock.jump_wall(furthest);
        clock.advance(2 * MINUTE);
        assert_never_early_or_twice(&runs);
        let last = runs.lock().unwrap().last().expect("hours have passed").0;
        assert!(last > furthest, "{missed:?}: it goes on");
        let minutes = last.duration_since(start()).unwrap().as_secs() / 60;
        let stats = handle.stats();
        // Every minute ran, or is counted.
        assert_eq!(stats.runs + stats.missed + stats.skipped, minutes, "{missed:?}");
    }
}

#[test]
fn cron_starting_at_an_instant_runs_nothing_before_it() {
    let (pool, clock) = pool(1);
    let (handle, runs) = minutely(&pool, |minutely| minutely.starting_at(start() + HOUR + SECOND));
    assert_eq!(handle.next_run(), Some(start() + HOUR + MINUTE));
    clock.advance(HOUR + MINUTE - NANO);
    assert_eq!(runs.lock().unwrap().len(), 0);
    clock.advance(NANO);
    assert_eq!(runs.lock().unwrap().len(), 1);
    let (_handle, from_now_on) = minutely(&pool, |minutely| minutely.starting_at(start() - HOUR));
    clock.advance(MINUTE);
    assert_eq!(from_now_on.lock().unwrap().len(), 1, "nothing is made up for");
}

#[test]
fn cron_of_a_held_pool_that_is_put_forward_runs_once_it_is_free() {
    let (pool, clock) = pool(1);
    let (handle, runs) = minutely(&pool, |minutely| minutely);
    let sleeper = pool.submit(|| punctual::task::sleep(10 * MINUTE)).unwrap();
    clock.advance(SECOND);
    clock.jump_wall(start() + HOUR);
    clock.advance(10 * MINUTE - SECOND);
    sleeper.join().unwrap().unwrap();
    assert_eq!((runs.lock().unwrap().len(), handle.stats().runs), (1, 1));
    assert_never_early_or_twice(&runs);
}
