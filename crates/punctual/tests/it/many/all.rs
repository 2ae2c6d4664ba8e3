//! `all` and `all_timeout`: every outcome, in the order of the closures.

use super::{HOUR, LIMIT, MOMENT, assert_each, busy_with_one_place, counted, held_single, sleepy};
use crate::life::{calling, pool_on, settle};
use crate::support::{assert_all_settled, quiet_panic, single};
use punctual::{Clock, JoinError, Pool, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn inv_01_all_of_nothing_is_nothing() {
    let pool = single();
    let none: [fn() -> u32; 0] = [];
    assert!(pool.all(none).unwrap().is_empty());
    assert!(pool.all_timeout(Duration::ZERO, none).unwrap().is_empty());
    assert_eq!(pool.stats().submitted, 0);
}

#[test]
fn inv_02_all_gives_each_result_once_in_the_order_of_the_closures() {
    // The first can end only after the last: three workers.
    let pool = Pool::fixed(3).expect("valid settings");
    let (tell, told) = channel();
    let told = std::sync::Mutex::new(Some(told));
    let (told, runs) = (Arc::new(told), Arc::new(AtomicUsize::new(0)));
    let jobs = (0..3).map(|n| {
        let (tell, told, runs) = (tell.clone(), told.clone(), runs.clone());
        move || {
            match n {
                0 => {
                    let told = told.lock().unwrap().take().expect("only the first takes it");
                    assert_eq!(told.recv(), Ok(2));
                }
                2 => tell.send(n).expect("the first waits for this"),
                _ => {}
            }
            runs.fetch_add(1, SeqCst);
            n * 10
        }
    });
    let values: Vec<i32> = pool.all(jobs).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(values, [0, 10, 20]);
    assert_eq!(runs.load(SeqCst), 3);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.finished), (3, 3), "all done on return");
}

#[test]
fn inv_03_a_failure_is_the_outcome_of_its_own_task() {
    let pool = Pool::fixed(2).expect("valid settings");
    let jobs = (0..3).map(|n| {
        move || match n {
            0 => Err("no luck"),
            1 => quiet_panic("worse"),
            _ => Ok(n),
        }
    });
    let mut outcomes = pool.all(jobs).unwrap();
    assert_eq!(outcomes.pop().unwrap().unwrap(), Ok(2));
    let panic = outcomes.pop().unwrap().unwrap_err().into_panic().unwrap();
    assert_eq!(*panic.downcast::<&str>().unwrap(), "worse");
    assert_eq!(outcomes.pop().unwrap().unwrap(), Err("no luck"));
}

#[test]
fn inv_04_at_the_limit_what_has_not_ended_is_cancelled_and_told() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
    let told = Arc::new(AtomicUsize::new(0));
    let subject = pool.clone();
    let slow = [sleepy(&told), sleepy(&told)];
    let caller = watcher
        .submit(move || {
            let [first, last] = slow;
            // The slow ones round a quick one: its result is kept although the limit passed before it.
            let jobs: [Box<dyn FnOnce() -> Result<u32, &'static str> + Send>; 3] =
                [Box::new(first), Box::new(|| Ok(7)), Box::new(last)];
            subject.all_timeout(LIMIT, jobs).unwrap()
        })
        .unwrap();

    clock.advance(LIMIT - MOMENT);
    assert!(!caller.is_finished(), "not before the limit");
    assert_eq!(told.load(SeqCst), 0);
    clock.advance(MOMENT);
    assert!(caller.is_finished(), "at the limit");
    let outcomes = caller.join().unwrap();
    assert!(outcomes[0].as_ref().unwrap_err().is_cancelled());
    assert_eq!(*outcomes[1].as_ref().unwrap(), Ok(7));
    assert!(outcomes[2].as_ref().unwrap_err().is_cancelled());
    settle(&clock);
    assert_eq!(told.load(SeqCst), 2, "their tokens fired");
    assert_all_settled(&pool.stats());
}

#[test]
fn inv_04_at_the_limit_what_has_not_started_never_starts() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let runs = Arc::new(AtomicUsize::new(0));
    let (subject, count) = (pool.clone(), runs.clone());
    let caller = watcher
        .submit(move || {
            let jobs = (0..3).map(|_| {
                let runs = count.clone();
                move || {
                    runs.fetch_add(1, SeqCst);
                    let _ = task::sleep(HOUR);
                }
            });
            subject.all_timeout(LIMIT, jobs).unwrap()
        })
        .unwrap();
    clock.advance(LIMIT);
    let outcomes = caller.join().unwrap();
    assert_each(&outcomes, JoinError::is_cancelled);
    assert!(pool.close().terminated);
    assert_eq!(runs.load(SeqCst), 1, "one worker had begun one");
    assert_eq!(pool.stats().cancelled, 3);
}

#[test]
fn inv_04_the_limit_covers_the_wait_for_room() {
    let clock = Clock::manual();
    let (pool, watcher) = (busy_with_one_place(&clock), pool_on(&clock, 1));
    let subject = pool.clone();
    let caller = watcher
        .submit(move || subject.all_timeout(LIMIT, (0..4).map(|n| move || n)).unwrap())
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!caller.is_finished());
    assert_eq!(pool.stats().queued, 1, "the others wait for room");
    clock.advance(MOMENT);
    assert!(caller.is_finished());
    let outcomes = caller.join().unwrap();
    assert_eq!(outcomes.len(), 4, "an outcome for each closure");
    assert_each(&outcomes, JoinError::is_cancelled);
    assert_eq!(pool.stats().queued, 0);
    drop(pool.stop());
}

#[test]
fn inv_04_a_limit_that_does_not_pass_changes_nothing() {
    let pool = Pool::fixed(2).expect("valid settings");
    let outcomes = pool
        .all_timeout(Duration::MAX, (0..10).map(|n| move || n))
        .unwrap();
    let values: Vec<i32> = outcomes.into_iter().map(Result::unwrap).collect();
    assert!(values.into_iter().eq(0..10));
}

#[test]
fn inv_06_a_caller_that_is_told_to_stop_cancels_and_tells_all() {
    for limit in [None, Some(HOUR)] {
        let clock = Clock::manual();
        let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
        let told = Arc::new(AtomicUsize::new(0));
        let (subject, count) = (pool.clone(), told.clone());
        let (caller, outcomes) = calling(&watcher, move || {
            let jobs = (0..3).map(|_| sleepy(&count));
            let outcomes = match limit {
                None => subject.all(jobs),
                Some(limit) => subject.all_timeout(limit, jobs),
            };
            outcomes.unwrap()
        });
        settle(&clock);
        assert_eq!((pool.stats().active, pool.stats().queued), (2, 1));

        assert_eq!(caller.cancel(), punctual::Cancel::Signalled);
        let outcomes = outcomes.recv().expect("the call returns");
        assert_each(&outcomes, JoinError::is_interrupted);
        settle(&clock);
        assert!(told.load(SeqCst) >= 2, "those that ran were told");
        assert_eq!(pool.stats().cancelled, 3);
    }
}

#[test]
fn inv_06_a_caller_that_was_told_to_stop_before_waits_for_nothing() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
    let told = Arc::new(AtomicUsize::new(0));
    let (subject, count) = (pool.clone(), told.clone());
    let (caller, outcomes) = calling(&watcher, move || {
        task::sleep(HOUR).expect_err("told to stop");
        subject.all((0..3).map(|_| sleepy(&count))).unwrap()
    });
    settle(&clock);
    assert_eq!(caller.cancel(), punctual::Cancel::Signalled);
    let outcomes = outcomes
        .recv()
        .expect("the call returns, and the clock stands still");
    assert_each(&outcomes, JoinError::is_interrupted);
    settle(&clock);
    assert_all_settled(&pool.stats());
    assert_eq!(pool.stats().cancelled, 3);
}

#[test]
fn inv_07_all_after_shutdown_gives_every_closure_back() {
    let pool = single();
    pool.shutdown();
    let refused = pool.all((0..3).map(|n| move || n)).unwrap_err();
    assert!(refused.is_shutdown());
    let back: Vec<i32> = refused.into_task().into_iter().map(|job| job()).collect();
    assert_eq!(back, [0, 1, 2]);
    let refused = pool.all_timeout(LIMIT, (0..3).map(|n| move || n)).unwrap_err();
    assert_eq!(refused.into_task().len(), 3);
}

#[test]
fn inv_07_a_shutdown_in_the_middle_gives_the_rest_back_and_cancels_what_was_accepted() {
    let clock = Clock::manual();
    let (pool, watcher) = (busy_with_one_place(&clock), pool_on(&clock, 1));
    let runs = Arc::new(AtomicUsize::new(0));
    let (subject, count) = (pool.clone(), runs.clone());
    let caller = watcher
        .submit(move || {
            let jobs = (0..3).map(|n| counted(&count, n));
            subject.all(jobs).map(drop).map_err(|refused| {
                assert!(refused.is_shutdown());
                refused
                    .into_task()
                    .into_iter()
                    .map(|job| job())
                    .collect::<Vec<i32>>()
            })
        })
        .unwrap();
    settle(&clock);
    assert!(!caller.is_finished(), "the second waits for room");

    pool.shutdown();
    assert_eq!(caller.join().unwrap().unwrap_err(), [1, 2]);
    clock.advance(HOUR);
    assert!(pool.close().terminated);
    assert_eq!(runs.load(SeqCst), 2, "only those that came back, run here");
    assert_eq!(pool.stats().cancelled, 1);
}

#[test]
fn inv_07_a_stop_in_the_middle_is_an_outcome() {
    // They had been accepted, so the call succeeds and their outcomes say what happened to them.
    let (pool, held) = held_single();
    let subject = pool.clone();
    let caller = std::thread::spawn(move || subject.all((0..3).map(|n| move || n)).unwrap());
    crate::support::until("all three wait", || pool.stats().queued == 3);
    let unrun = pool.stop();
    assert_eq!(unrun.len(), 3);
    let outcomes = caller.join().unwrap();
    assert_each(&outcomes, JoinError::is_cancelled);
    drop(held);
}
