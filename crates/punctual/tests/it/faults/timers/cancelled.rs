//! Fault 22 with timers: what is cancelled is gone, and so is what an ending pool drops.

use super::{SECOND, pool};
use crate::support::LONG;
use punctual::{Cancel, Schedule, Status, task};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Something that is held by a closure, and whether it still is.
fn sentinel() -> (Arc<[u8; 64]>, Weak<[u8; 64]>) {
    let inside = Arc::new([0; 64]);
    let outside = Arc::downgrade(&inside);
    (inside, outside)
}

#[test]
fn fault_22_a_cancelled_timer_holds_nothing_of_any_kind() {
    const ROUNDS: u32 = 300;
    let (pool, clock) = pool(1);
    let stuck = pool.submit(|| task::sleep(Duration::MAX)).unwrap();
    clock.advance(Duration::ZERO);
    let mut kept = Vec::new();
    for round in 0..ROUNDS {
        let time = Duration::from_millis(1 + u64::from(round) * 977);
        let (inside, delayed) = sentinel();
        let task = pool.after(time, move || drop(inside)).unwrap();
        assert_eq!((task.cancel(), delayed.strong_count()), (Cancel::Removed, 0));
        kept.push(task.task_ref());
        let (inside, appointed) = sentinel();
        let task = pool.at(clock.now() + time, move || drop(inside)).unwrap();
        assert_eq!((task.task_ref().remove(), appointed.strong_count()), (true, 0));
        kept.push(task.task_ref());
        let (inside, expiring) = sentinel();
        let task = pool.task(move || drop(inside)).expires_in(time).submit().unwrap();
        assert_eq!((task.cancel(), expiring.strong_count()), (Cancel::Removed, 0));
        kept.push(task.task_ref());
        let (inside, both) = sentinel();
        let task = pool
            .task(move || drop(inside))
            .expires_in(time)
            .after(time)
            .unwrap();
        assert_eq!((task.cancel(), both.strong_count()), (Cancel::Removed, 0));
        kept.push(task.task_ref());
        for schedule in [
            Schedule::every(time),
            Schedule::once_at(clock.now() + time),
            Schedule::with_delay(time),
        ] {
            let (inside, repeating) = sentinel();
            let schedule = schedule.starting_in(time);
            let handle = pool.schedule(schedule, move |_| assert!(inside[0] == 0)).unwrap();
            assert_eq!((handle.cancel(), repeating.strong_count()), (Cancel::Removed, 0));
            assert!(handle.is_finished());
        }
    }
    assert_eq!((pool.stats().pending_timers, pool.stats().schedules), (0, 0));
    assert!(kept.iter().all(|task| task.status() == Status::Cancelled));
    stuck.cancel();
    clock.advance(1_000 * SECOND);
    assert_eq!(pool.stats().cancelled, 4 * u64::from(ROUNDS) + 1);
}

#[test]
fn fault_22_a_cancelled_schedule_lets_go_of_what_it_holds_when_its_run_has_ended() {
    let (pool, clock) = pool(1);
    let (inside, outside) = sentinel();
    let body = move |_: &punctual::Run| {
        assert_eq!(inside[0], 0);
        let _ = task::sleep(10 * SECOND);
    };
    let handle = pool.schedule(Schedule::every(SECOND), body).unwrap();
    clock.advance(SECOND);
    assert_eq!(handle.cancel(), Cancel::Signalled);
    assert!(handle.wait_timeout(LONG));
    assert_eq!(outside.strong_count(), 0);
}

#[test]
fn fault_22_a_pool_that_ends_lets_go_of_all_that_waited() {
    for stops in [false, true] {
        let (pool, clock) = pool(1);
        let stuck = pool.submit(|| task::sleep(Duration::MAX)).unwrap();
        clock.advance(Duration::ZERO);
        let sentinels: Vec<_> = (0..300_u64)
            .map(|number| {
                let (inside, outside) = sentinel();
                let time = Duration::from_secs(1 + number * 31);
                match number % 3 {
                    0 => drop(pool.after(time, move || drop(inside)).unwrap()),
                    1 => drop(pool.at(clock.now() + time, move || drop(inside)).unwrap()),
                    _ => {
                        let every = Schedule::every(time).starting_in(time);
                        drop(pool.schedule(every, move |_| assert!(inside[0] == 0)).unwrap());
                    }
                }
                outside
            })
            .collect();
        if stops {
            assert_eq!(pool.stop().len(), 200);
        } else {
            stuck.cancel();
            let report = pool.close();
            assert_eq!((report.cancelled_delayed, report.cancelled_repeating), (200, 100));
        }
        let alive = sentinels.iter().filter(|each| each.strong_count() > 0).count();
        assert_eq!(alive, 0, "stops: {stops}");
        assert_eq!(pool.stats().pending_timers, 0);
    }
}
