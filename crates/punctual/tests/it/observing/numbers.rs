//! The fields of a snapshot, one by one.

use crate::support::{LONG, assert_books_balance, hold, single, until};
use punctual::{Capacity, Clock, Pool, Queue, State, Stats, task};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn threads_start_one_per_submission_until_the_core_is_there_and_stop_with_the_pool() {
    let pool = Pool::fixed(3).unwrap();
    let stats = pool.stats();
    assert_eq!(
        (stats.threads, stats.largest, stats.threads_started),
        (0, 0, 0),
        "nothing before the first task"
    );
    for started in [1, 2, 3, 3, 3] {
        pool.submit(|| ()).unwrap().join().unwrap();
        // A worker is counted when it begins, which may be after another one ran its task.
        until("the worker begins", || pool.stats().threads >= started);
        let stats = pool.stats();
        assert_eq!((stats.threads, stats.threads_started), (started, started as u64));
        assert_eq!((stats.largest, stats.size.core, stats.size.max), (started, 3, 3));
    }
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.largest), (0, 3));
    assert_eq!((stats.threads_started, stats.threads_stopped), (3, 3));
    assert_eq!((stats.state, stats.finished), (State::Terminated, 5));
}

#[test]
fn active_idle_and_queued_say_where_the_tasks_are() {
    let pool = Pool::fixed(2).unwrap();
    let first = hold(&pool);
    let second = hold(&pool);
    let waiting: Vec<_> = (0..3).map(|_| pool.submit(|| ()).unwrap()).collect();
    let stats = pool.stats();
    assert_eq!((stats.active, stats.idle, stats.queued), (2, 0, 3));
    assert_eq!((stats.submitted, stats.taken, stats.finished), (5, 2, 0));
    assert!(stats.levels.is_empty(), "a plain queue has none");
    assert_eq!(stats.capacity, Capacity::Unbounded);
    assert_books_balance(&stats);
    drop((first, second));
    for task in waiting {
        task.join().unwrap();
    }
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(
        (stats.active, stats.idle, stats.queued, stats.finished),
        (0, 2, 0, 5)
    );
    assert_eq!(stats.oldest_wait, None, "nothing waits");
}

#[test]
fn refusals_are_counted_by_their_reason_and_not_as_submitted() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .build()
        .unwrap();
    let held = hold(&pool);
    let results: Vec<bool> = (0..5).map(|_| pool.submit(|| ()).is_ok()).collect();
    assert_eq!(results, [true, true, false, false, false]);
    pool.shutdown();
    assert!((0..4).all(|_| pool.execute(|| ()).is_err()));
    let stats = pool.stats();
    assert_eq!(
        (
            stats.rejected.full,
            stats.rejected.shutdown,
            stats.rejected.no_thread
        ),
        (3, 4, 0)
    );
    assert_eq!(stats.submitted, 3);
    drop(held);
}

/// Runs many tasks behind a held one; the snapshot after them.
fn after_many(tasks: u64, submit: impl Fn(&Pool)) -> Stats {
    let pool = single();
    let held = hold(&pool);
    for _ in 1..tasks {
        submit(&pool);
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    // A run is recorded after its task has ended, when the worker is done with it.
    until("the worker sleeps", || pool.stats().parks > 0);
    pool.stats()
}

fn assert_near(events: u64, tasks: u64) {
    // One sample speaks for 64 events.
    assert!(
        events >= tasks - 200 && events <= tasks + 200,
        "{events} events of {tasks} tasks"
    );
}

#[test]
fn waits_and_runs_are_sampled_with_weights_that_add_up_to_the_events() {
    const TASKS: u64 = 6_400;
    let stats = after_many(TASKS, |pool| {
        let word = pool.size().max;
        pool.execute(move || assert_eq!(word, 1)).unwrap();
    });
    assert_near(stats.run.count(), TASKS);
    assert_near(stats.wait.count(), TASKS);
    assert!(stats.run.quantile(0.5) <= stats.run.quantile(1.0));
    assert!(stats.wait.mean().is_some() && stats.wait.buckets().count() > 0);
}

#[test]
fn waits_of_closures_without_captures_are_sampled_alike() {
    const TASKS: u64 = 6_400;
    let stats = after_many(TASKS, |pool| pool.execute(|| ()).unwrap());
    assert_near(stats.run.count(), TASKS);
    assert_near(stats.wait.count(), TASKS);
}

#[test]
fn a_worker_that_has_nothing_to_do_is_counted_as_parked() {
    let pool = single();
    pool.submit(|| ()).unwrap().join().unwrap();
    until("it sleeps", || pool.stats().parks > 0);
    let parks = pool.stats().parks;
    pool.submit(|| ()).unwrap().join().unwrap();
    until("it sleeps again", || pool.stats().parks == parks + 1);
}

/// A pool whose worker sleeps on the manual clock, `before` tasks having run already.
fn sleeping_worker(before: u64) -> (punctual::ManualClock, Pool) {
    let clock = Clock::manual();
    let pool = Pool::builder("oldest")
        .core_threads(1)
        .queue(Queue::unbounded())
        .clock(&clock)
        .build()
        .unwrap();
    // Away from the clock's birth, whose first tick stands for "unknown".
    clock.advance(Duration::from_secs(100));
    for _ in 0..before {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    let (begun, has_begun) = channel();
    pool.execute(move || {
        begun.send(()).unwrap();
        let _ = task::sleep(Duration::from_secs(1_000));
    })
    .unwrap();
    has_begun.recv().unwrap();
    (clock, pool)
}

#[test]
fn the_oldest_wait_is_exact_for_a_task_behind_a_sleeping_one() {
    let (clock, pool) = sleeping_worker(0);
    pool.execute(|| ()).unwrap();
    assert_eq!(pool.stats().oldest_wait, Some(Duration::ZERO));
    clock.advance(Duration::from_secs(7));
    assert_eq!(pool.stats().oldest_wait, Some(Duration::from_secs(7)));
    pool.execute(|| ()).unwrap();
    clock.advance(Duration::from_secs(3));
    assert_eq!(
        pool.stats().oldest_wait,
        Some(Duration::from_secs(10)),
        "the older of the two"
    );
    assert!(pool.stop().len() == 2);
}

#[test]
fn the_oldest_wait_is_known_whatever_the_number_of_the_task() {
    let unknown: Vec<u64> = (0..140)
        .filter(|before| {
            let (clock, pool) = sleeping_worker(*before);
            pool.execute(|| ()).unwrap();
            clock.advance(Duration::from_secs(7));
            let oldest = pool.stats().oldest_wait;
            drop(pool.stop());
            oldest != Some(Duration::from_secs(7))
        })
        .collect();
    assert_eq!(
        unknown, [0_u64; 0],
        "after so many earlier tasks the wait of the only waiting one is not shown"
    );
}

#[test]
fn the_oldest_wait_is_exact_from_the_first_instant_of_a_clock() {
    let clock = Clock::manual();
    let pool = Pool::builder("birth")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let (begun, has_begun) = channel();
    pool.execute(move || {
        begun.send(()).unwrap();
        let _ = task::sleep(Duration::from_secs(1_000));
    })
    .unwrap();
    has_begun.recv().unwrap();
    pool.execute(|| ()).unwrap();
    clock.advance(Duration::from_secs(7));
    assert!(
        pool.stats().oldest_wait >= Some(Duration::from_secs(7)),
        "{:?}",
        pool.stats().oldest_wait
    );
    drop(pool.stop());
}
