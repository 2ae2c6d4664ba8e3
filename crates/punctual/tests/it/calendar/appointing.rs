//! `at` and `once_at`: an instant that has passed, is to come, comes nearer or moves away.

use super::{HOUR, Log, NANO, NOTICED, SECOND, noting, pool, pool_from, start};
use crate::support::Random;
use punctual::{Cancel, Schedule, Status};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

#[test]
fn at_an_instant_that_has_passed_it_runs_at_once() {
    let (pool, clock) = pool(1);
    let epoch = SystemTime::UNIX_EPOCH;
    let passed = [
        start(),
        start() - NANO,
        start() - HOUR,
        epoch,
        epoch - HOUR,
        epoch - 500_000 * HOUR,
    ];
    for when in passed {
        let task = pool.at(when, || 1).unwrap();
        clock.advance(Duration::ZERO);
        assert!(task.is_finished(), "{when:?}");
        let once = pool.schedule(Schedule::once_at(when), |_| ()).unwrap();
        clock.advance(Duration::ZERO);
        assert_eq!((once.stats().runs, once.is_finished()), (1, true), "{when:?}");
    }
    assert_eq!(clock.now(), start());
}

#[test]
fn at_an_instant_to_come_it_runs_then_and_not_before() {
    let (pool, clock, log) = noting();
    let (task, once) = log.both(&pool, start() + HOUR);
    assert_eq!(task.task_ref().status(), Status::Delayed);
    assert_eq!(once.next_run(), Some(start() + HOUR));
    clock.advance(HOUR - NANO);
    assert_eq!(log.len(), 0);
    clock.advance(NANO);
    assert_eq!(log.all(), [start() + HOUR; 2]);
    clock.advance(100 * HOUR);
    assert_eq!((log.len(), once.is_finished(), once.next_run()), (2, true, None));
}

#[test]
fn at_an_instant_beyond_every_calendar_it_waits_and_can_be_cancelled() {
    let (pool, clock) = pool(1);
    let far = [
        SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::MAX),
        SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX as u64 / 2),
        SystemTime::UNIX_EPOCH + Duration::from_secs(i64::MAX as u64),
    ];
    for when in far {
        let task = pool.at(when, || ()).unwrap();
        let once = pool.schedule(Schedule::once_at(when), |_| ()).unwrap();
        clock.advance(24 * HOUR);
        let watcher = task.task_ref();
        assert_eq!(watcher.status(), Status::Delayed);
        assert!(watcher.remaining().is_some_and(|left| left > 10_000 * HOUR));
        assert_eq!(task.cancel(), Cancel::Removed);
        assert_eq!((once.stats().runs, once.cancel()), (0, Cancel::Removed));
    }
    assert_eq!(pool.stats().pending_timers, 0);
}

#[test]
fn at_equal_instants_they_run_in_the_order_of_submission() {
    let (pool, clock) = pool(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..500_u64 {
        let (seconds, order) = (number * 7_919 % 10, order.clone());
        let note = move || order.lock().unwrap().push((seconds, number));
        drop(pool.at(start() + Duration::from_secs(seconds), note).unwrap());
    }
    // All at once.
    clock.jump_wall(start() + HOUR);
    clock.advance(NOTICED);
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 500);
    assert!(order.is_sorted());
}

#[test]
fn at_the_end_of_a_jump_forward_it_runs_within_thirty_seconds() {
    let (pool, clock) = pool(2);
    let log = Log::of(&clock);
    drop(log.both(&pool, start() + 24 * HOUR));
    clock.advance(7 * SECOND);
    clock.jump_wall(start() + 24 * HOUR);
    clock.advance(NOTICED);
    assert_eq!(log.len(), 2);
    let least = start() + 24 * HOUR;
    assert!(log.all().iter().all(|at| *at >= least && *at <= least + NOTICED));
}

#[test]
fn at_the_end_of_a_jump_that_falls_short_it_still_waits_its_time() {
    let (pool, clock, log) = noting();
    drop(pool.at(start() + 24 * HOUR, log.task()).unwrap());
    clock.jump_wall(start() + 24 * HOUR - 40 * SECOND);
    clock.advance(40 * SECOND - NANO);
    assert_eq!(log.len(), 0);
    clock.advance(NANO);
    assert_eq!(log.all(), [start() + 24 * HOUR]);
}

#[test]
fn at_an_instant_that_moves_away_it_waits_until_the_wall_shows_it() {
    let (pool, clock, log) = noting();
    let when = start() + 10 * SECOND;
    let task = pool.at(when, log.task()).unwrap();
    clock.advance(9 * SECOND);
    clock.jump_wall(start() - HOUR);
    assert_eq!(task.task_ref().remaining(), Some(HOUR + 10 * SECOND));
    clock.advance(HOUR);
    assert_eq!((log.len(), task.task_ref().remaining()), (0, Some(10 * SECOND)));
    clock.advance(10 * SECOND - NANO);
    assert_eq!(log.len(), 0);
    clock.advance(NANO);
    assert_eq!(log.all(), [when]);
    assert_eq!(task.task_ref().remaining(), Some(Duration::ZERO));
}

#[test]
fn at_an_instant_that_only_seemed_to_come_nothing_runs() {
    let (pool, clock, log) = noting();
    drop(pool.at(start() + 2 * HOUR, log.task()).unwrap());
    // Put forward by mistake, and put right before anybody looked.
    clock.jump_wall(start() + 3 * HOUR);
    clock.jump_wall(start());
    clock.advance(HOUR);
    assert_eq!(log.len(), 0);
    clock.advance(HOUR);
    assert_eq!(log.all(), [start() + 2 * HOUR]);
}

#[test]
fn at_an_instant_that_comes_twice_it_runs_once() {
    let (pool, clock, log) = noting();
    let (task, once) = log.both(&pool, start() + HOUR);
    clock.advance(HOUR);
    for _ in 0..3 {
        clock.jump_wall(start());
        clock.advance(2 * HOUR);
    }
    assert!(task.is_finished());
    assert_eq!((log.len(), once.stats().runs), (2, 1));
}

#[test]
fn at_random_jumps_nothing_is_early_or_lost_or_later_than_thirty_seconds() {
    const TASKS: usize = 400;
    let mut random = Random::printed("jumps of the wall");
    let (pool, clock) = pool(2);
    let ran = Arc::new(Mutex::new(vec![0_u32; TASKS]));
    let early = Arc::new(Mutex::new(Vec::new()));
    let mut due = Vec::new();
    for number in 0..TASKS {
        let when = start() + Duration::from_millis(random.below(3 * 3_600_000));
        let (ran, early, now) = (ran.clone(), early.clone(), clock.clone());
        let body = move || {
            ran.lock().unwrap()[number] += 1;
            if now.now() < when {
                early.lock().unwrap().push((number, when, now.now()));
            }
        };
        drop(pool.at(when, body).unwrap());
        due.push(when);
    }
    let mut furthest = start();
    for _ in 0..60 {
        let to = start() + Duration::from_millis(random.below(3 * 3_600_000));
        clock.jump_wall(to);
        clock.advance(NOTICED);
        // The wall showed all of this for at least that long.
        furthest = furthest.max(to);
        let ran = ran.lock().unwrap();
        let lost = (0..TASKS).find(|number| due[*number] <= furthest && ran[*number] == 0);
        assert_eq!(lost, None, "not noticed within {NOTICED:?}");
    }
    clock.jump_wall(start() + 4 * HOUR);
    clock.advance(NOTICED);
    assert!(ran.lock().unwrap().iter().all(|runs| *runs == 1));
    assert_eq!(*early.lock().unwrap(), []);
    assert_eq!(pool.stats().pending_timers, 0);
}

#[test]
fn before_1970_the_wall_is_followed_too() {
    let begin = SystemTime::UNIX_EPOCH - 87_660 * HOUR;
    let (pool, clock) = pool_from(begin, 1);
    let task = pool.at(begin + HOUR, || ()).unwrap();
    clock.advance(HOUR - NANO);
    assert!(!task.is_finished(), "early");
    clock.advance(NANO);
    assert!(task.is_finished());
}
