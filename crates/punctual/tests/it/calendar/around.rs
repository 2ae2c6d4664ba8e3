//! Around appointments: what does not notice the wall, starts and triggers that go by it, how often a pool looks at it.

use super::{HOUR, Log, NANO, NOTICED, SECOND, noting, pool, start};
use punctual::{ManualClock, Schedule};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

#[test]
fn delays_and_rates_do_not_notice_the_wall() {
    let (pool, clock) = pool(2);
    let begin = Arc::new(Mutex::new(start()));
    let passed = |clock: &ManualClock| {
        let (clock, begin) = (clock.clone(), begin.clone());
        move || clock.now().duration_since(*begin.lock().unwrap()).unwrap()
    };
    let jumps = [start() + 5 * HOUR, start() - 5 * HOUR, start()];
    for jump in jumps {
        clock.jump_wall(jump);
        *begin.lock().unwrap() = jump;
        let delayed = pool.after(10 * SECOND, passed(&clock)).unwrap();
        let ticks = Arc::new(Mutex::new(Vec::new()));
        let (notes, now) = (ticks.clone(), passed(&clock));
        let every = Schedule::every(3 * SECOND).times(5);
        let every = pool
            .schedule(every, move |_| notes.lock().unwrap().push(now()))
            .unwrap();
        clock.advance(4 * SECOND);
        assert_eq!(delayed.task_ref().remaining(), Some(6 * SECOND));
        // Both clocks, one of them put in the middle.
        clock.jump_wall(jump + HOUR);
        *begin.lock().unwrap() = jump + HOUR - 4 * SECOND;
        assert_eq!(delayed.task_ref().remaining(), Some(6 * SECOND));
        clock.advance(20 * SECOND);
        assert_eq!(delayed.join().unwrap(), 10 * SECOND);
        let expected: Vec<_> = (0..5).map(|n| 3 * n * SECOND).collect();
        assert_eq!(*ticks.lock().unwrap(), expected);
        assert_eq!((every.stats().missed, every.stats().skipped), (0, 0));
    }
}

#[test]
fn limits_do_not_notice_the_wall() {
    let (pool, clock) = pool(1);
    let body = || punctual::task::sleep(100 * SECOND).is_err();
    let running = pool.task(body).time_limit(20 * SECOND).submit().unwrap();
    let waiting = pool.task(|| ()).expires_in(10 * SECOND).submit().unwrap();
    clock.jump_wall(start() + HOUR);
    clock.advance(10 * SECOND - NANO);
    assert!(!waiting.is_finished());
    clock.jump_wall(start() - HOUR);
    clock.advance(NANO);
    assert!(waiting.join().unwrap_err().is_expired());
    clock.advance(10 * SECOND - NANO);
    assert!(!running.is_finished());
    clock.advance(NANO);
    assert!(running.join().unwrap());
}

#[test]
fn starting_at_is_not_before_and_one_that_has_passed_changes_nothing() {
    let (pool, clock, later) = noting();
    let every = Schedule::every(10 * SECOND).starting_at(start() + HOUR).times(2);
    let every = later.scheduled(&pool, every);
    assert_eq!(every.next_run(), Some(start() + HOUR));
    let at_once = Log::of(&clock);
    for first in [start() - HOUR, SystemTime::UNIX_EPOCH - HOUR, start()] {
        let every = Schedule::every(10 * SECOND).starting_at(first).times(1);
        drop(at_once.scheduled(&pool, every));
    }
    clock.advance(Duration::ZERO);
    assert_eq!(at_once.all(), [start(); 3]);
    clock.advance(HOUR - NANO);
    assert_eq!(later.len(), 0);
    clock.advance(HOUR);
    assert_eq!(later.all(), [start() + HOUR, start() + HOUR + 10 * SECOND]);
}

#[test]
fn a_trigger_goes_by_the_wall() {
    let (pool, clock, log) = noting();
    let noon = start() + 12 * HOUR;
    let trigger = move |last: &punctual::LastRun| last.scheduled.is_none().then_some(noon);
    let handle = log.scheduled(&pool, Schedule::trigger(trigger));
    clock.advance(HOUR);
    clock.jump_wall(noon);
    clock.advance(NOTICED);
    assert_eq!((log.len(), handle.is_finished()), (1, true));
    assert!(log.all()[0] >= noon);
}

#[test]
fn a_pool_looks_at_the_wall_once_in_thirty_seconds_and_not_at_all_without_calendar_work() {
    let (pool, clock) = pool(1);
    let far = pool.after(10_000 * HOUR, || ()).unwrap();
    clock.advance(Duration::ZERO);
    let parks = pool.stats().parks;
    clock.advance(1_000 * HOUR);
    assert_eq!(pool.stats().parks, parks, "a delay alone wakes nobody");
    let appointment = pool.at(clock.now() + 10_000 * HOUR, || ()).unwrap();
    clock.advance(Duration::ZERO);
    let parks = pool.stats().parks;
    clock.advance(HOUR);
    let looks = pool.stats().parks - parks;
    assert!((100..=120).contains(&looks), "{looks} looks in an hour");
    appointment.cancel();
    clock.advance(NOTICED);
    let parks = pool.stats().parks;
    clock.advance(1_000 * HOUR);
    assert_eq!(pool.stats().parks, parks, "and nobody after it is gone");
    far.cancel();
}
