//! `any` and `any_timeout`: the first success, or the last failure.

use super::{HOUR, LIMIT, MOMENT, busy_with_one_place, counted, sleepy};
use crate::life::{calling, pool_on, settle};
use crate::support::{assert_all_settled, quiet_panic, single};
use punctual::{AnyError, Clock, Pool, Queue, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

type Job = Box<dyn FnOnce() -> Result<u32, &'static str> + Send>;

#[test]
fn inv_01_any_of_nothing_is_an_error() {
    let pool = single();
    let none: [fn() -> Result<u32, ()>; 0] = [];
    assert!(matches!(pool.any(none), Err(AnyError::Empty)));
    assert!(matches!(pool.any_timeout(LIMIT, none), Err(AnyError::Empty)));
}

#[test]
fn inv_06_a_caller_that_is_told_to_stop_cancels_and_tells_those_it_started() {
    for limit in [None, Some(HOUR)] {
        let clock = Clock::manual();
        let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
        let told = Arc::new(AtomicUsize::new(0));
        let (subject, count) = (pool.clone(), told.clone());
        let (caller, answer) = calling(&watcher, move || {
            let jobs = (0..3).map(|_| sleepy(&count));
            match limit {
                None => subject.any(jobs),
                Some(limit) => subject.any_timeout(limit, jobs),
            }
        });
        settle(&clock);
        assert_eq!(caller.cancel(), punctual::Cancel::Signalled);
        let answer = answer.recv().expect("the call returns");
        assert!(matches!(answer, Err(AnyError::Join(error)) if error.is_interrupted()));
        settle(&clock);
        assert!(told.load(SeqCst) >= 2, "those that ran were told");
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn inv_07_any_after_shutdown_is_refused() {
    let pool = single();
    pool.shutdown();
    assert!(matches!(pool.any([|| Ok::<_, ()>(1)]), Err(AnyError::ShutDown)));
    assert!(matches!(
        pool.any_timeout(LIMIT, [|| Ok::<_, ()>(1)]),
        Err(AnyError::ShutDown)
    ));
    assert_eq!(pool.stats().submitted, 0);
}

#[test]
fn inv_07_a_shutdown_in_the_middle_cancels_what_was_accepted() {
    let clock = Clock::manual();
    let (pool, watcher) = (busy_with_one_place(&clock), pool_on(&clock, 1));
    let runs = Arc::new(AtomicUsize::new(0));
    let (subject, count) = (pool.clone(), runs.clone());
    let caller = watcher
        .submit(move || subject.any((0..3).map(|n| counted(&count, Ok::<i32, ()>(n)))))
        .unwrap();
    settle(&clock);
    assert!(!caller.is_finished(), "the second waits for room");
    pool.shutdown();
    assert!(matches!(caller.join().unwrap(), Err(AnyError::ShutDown)));
    clock.advance(HOUR);
    assert!(pool.close().terminated);
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn inv_08_one_success_outweighs_every_failure() {
    let pool = Pool::fixed(2).expect("valid settings");
    let jobs: [Job; 4] = [
        Box::new(|| Err("no")),
        Box::new(|| quiet_panic("worse")),
        Box::new(|| Ok(7)),
        Box::new(|| Err("no")),
    ];
    assert_eq!(pool.any(jobs).unwrap(), 7);
}

#[test]
fn inv_08_a_success_may_come_last() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 3), pool_on(&clock, 1));
    let caller = watcher
        .submit(move || {
            let late = || task::sleep(LIMIT).map(|()| 7).map_err(|_| "told to stop");
            let jobs: [Job; 3] = [Box::new(late), Box::new(|| Err("no")), Box::new(|| Err("no"))];
            pool.any(jobs)
        })
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!caller.is_finished(), "failures are no answer");
    clock.advance(MOMENT);
    assert_eq!(caller.join().unwrap().unwrap(), 7);
}

#[test]
fn inv_09_when_all_fail_the_last_failure_seen_is_the_answer() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 3), pool_on(&clock, 1));
    let caller = watcher
        .submit(move || {
            let late = || task::sleep(LIMIT).map_or(Err("told to stop"), |()| Err("the late one"));
            let jobs: [Job; 3] = [
                Box::new(|| Err("first")),
                Box::new(late),
                Box::new(|| Err("third")),
            ];
            pool.any(jobs)
        })
        .unwrap();
    settle(&clock);
    assert!(!caller.is_finished(), "one may still succeed");
    clock.advance(LIMIT);
    assert!(matches!(
        caller.join().unwrap(),
        Err(AnyError::AllFailed("the late one"))
    ));
}

#[test]
fn inv_09_a_panic_seen_last_is_the_answer() {
    let pool = single();
    let jobs: [Job; 2] = [Box::new(|| Err("no")), Box::new(|| quiet_panic("worse"))];
    let Err(AnyError::Join(error)) = pool.any(jobs) else {
        panic!("the last one panicked")
    };
    assert_eq!(*error.into_panic().unwrap().downcast::<&str>().unwrap(), "worse");
}

#[test]
fn inv_11_no_more_are_started_than_there_are_and_at_least_one() {
    let pool = Pool::fixed(2).expect("valid settings");
    for _ in 0..50 {
        let runs = Arc::new(AtomicUsize::new(0));
        let jobs = (0..5).map(|n| counted(&runs, Ok::<i32, ()>(n)));
        assert!((0..5).contains(&pool.any(jobs).unwrap()));
        assert!(pool.wait_idle(crate::support::LONG));
        assert!((1..=5).contains(&runs.load(SeqCst)));
    }
}

#[test]
fn inv_11_where_the_caller_runs_them_a_success_ends_it_after_one() {
    // A pool without a queue whose one worker calls: the only hand is the caller's.
    let pool = Pool::builder("direct")
        .core_threads(1)
        .queue(Queue::handoff())
        .build()
        .expect("valid settings");
    let subject = pool.clone();
    let runs = pool
        .submit(move || {
            let mut made = 0;
            let runs = Arc::new(AtomicUsize::new(0));
            let jobs = std::iter::from_fn(|| {
                made += 1;
                Some(counted(&runs, Ok::<u32, ()>(7)))
            });
            assert_eq!(subject.any(jobs.take(5)).unwrap(), 7);
            (runs.load(SeqCst), made)
        })
        .unwrap();
    assert_eq!(runs.join().unwrap(), (1, 1), "not even a second closure was made");
}

#[test]
fn inv_12_at_the_limit_the_answer_is_timeout_and_all_are_told() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
    let told = Arc::new(AtomicUsize::new(0));
    let (subject, count) = (pool.clone(), told.clone());
    let caller = watcher
        .submit(move || subject.any_timeout(LIMIT, (0..3).map(|_| sleepy(&count))))
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!caller.is_finished(), "not before the limit");
    clock.advance(MOMENT);
    assert!(caller.is_finished(), "at the limit");
    assert!(matches!(caller.join().unwrap(), Err(AnyError::Timeout)));
    settle(&clock);
    assert!(told.load(SeqCst) >= 2, "those that ran were told");
    assert_eq!(pool.stats().cancelled, 3);
}

#[test]
fn inv_12_the_limit_covers_the_wait_for_room() {
    let clock = Clock::manual();
    let (pool, watcher) = (busy_with_one_place(&clock), pool_on(&clock, 1));
    let subject = pool.clone();
    let caller = watcher
        .submit(move || subject.any_timeout(LIMIT, (0..3).map(|n| move || Ok::<i32, ()>(n))))
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!caller.is_finished());
    clock.advance(MOMENT);
    assert!(matches!(caller.join().unwrap(), Err(AnyError::Timeout)));
    assert_eq!(pool.stats().queued, 0);
    drop(pool.stop());
}

#[test]
fn inv_12_no_time_at_all_is_a_timeout_unless_the_answer_is_there() {
    let clock = Clock::manual();
    let pool = busy_with_one_place(&clock);
    let answer = pool.any_timeout(Duration::ZERO, [|| Ok::<u32, ()>(1)]);
    assert!(matches!(answer, Err(AnyError::Timeout)));
    assert_eq!(pool.stats().queued, 0, "and it will not run");
    drop(pool.stop());
}
