//! When a thread starts: one for each of the first submissions, then for those that find the queue full.

use super::{Gate, fill, hold_many, let_in_when_racing, meet, once_active, pool, sized, threads_after_each};
use crate::support::{LONG, hold};
use punctual::{Pool, Queue, Reason};
use std::sync::{Arc, Mutex};

#[test]
fn tpe_08_a_new_pool_has_no_threads_and_its_first_task_gets_one() {
    let pool = pool(3, 5, 10);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.largest, stats.submitted), (0, 0, 0));
    assert_eq!((stats.threads_started, stats.largest_since_resize), (0, 0));
    let ran_on = pool.submit(|| std::thread::current().id()).unwrap();
    assert_ne!(ran_on.join().unwrap(), std::thread::current().id());
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.largest, stats.submitted), (1, 1, 1));
}

#[test]
fn tpe_09_each_of_the_first_submissions_starts_a_thread_although_others_are_idle() {
    let pool = pool(10, 10, 100);
    for started in 1..=10 {
        pool.submit(|| ()).unwrap().join().unwrap();
        assert_eq!(pool.stats().threads, started);
    }
    for _ in 0..10 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.threads_started), (10, 10), "and then none");
}

#[test]
fn tpe_10_core_queue_and_max_fill_to_the_exact_number() {
    for n in 1..=4 {
        let pool = pool(n, 3 * n, 3 * n);
        let gate = Gate::default();
        assert_eq!(fill(&pool, &gate), 6 * n, "whatever the workers have done yet");
        assert_eq!(once_active(&pool, 3 * n), (3 * n, 3 * n, 3 * n));
        let stats = pool.stats();
        assert_eq!((stats.submitted, stats.finished), (6 * n as u64, 0));
        assert_eq!((stats.largest, stats.threads_started), (3 * n, 3 * n as u64));
        assert_eq!(fill(&pool, &gate), 0, "full is full");
        drop(gate);
        assert!(pool.wait_idle(LONG));
        assert_eq!(pool.stats().finished, 6 * n as u64);
    }
}

#[test]
fn tpe_10_threads_start_in_their_turn() {
    let pool = pool(2, 4, 3);
    let gate = Gate::default();
    assert_eq!(
        threads_after_each(&pool, &gate, 7),
        [1, 2, 2, 2, 2, 3, 4],
        "core, then the queue, then the rest"
    );
    let refused = pool.execute(gate.task()).unwrap_err();
    let Reason::Full {
        capacity: 3,
        threads: 4,
        ..
    } = refused.reason()
    else {
        panic!("{refused}")
    };
}

#[test]
fn tpe_10_producers_that_race_fill_to_the_same_number() {
    for _ in 0..20 {
        let pool = pool(1, 3, 3);
        let gate = Gate::default();
        // Each alone would be let in with all of these.
        assert_eq!(let_in_when_racing(&pool, &gate, 6), 6);
        assert_eq!(once_active(&pool, 3), (3, 3, 3));
    }
}

#[test]
fn tpe_10_a_new_thread_takes_the_head_of_the_queue() {
    let pool = pool(1, 2, 2);
    let _held = hold(&pool);
    let order: Arc<Mutex<Vec<u32>>> = Arc::default();
    let tasks: Vec<_> = (0..3)
        .map(|number| {
            let order = order.clone();
            pool.submit(move || order.lock().unwrap().push(number)).unwrap()
        })
        .collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    assert_eq!(*order.lock().unwrap(), [0, 1, 2], "the third started the thread");
    assert_eq!(pool.stats().threads, 2);
}

#[test]
fn tpe_13_without_core_threads_a_task_is_queued_and_one_worker_starts() {
    let pool = Pool::builder("none stay")
        .core_threads(0)
        .max_threads(1)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let gate = Gate::default();
    for _ in 0..10 {
        pool.execute(gate.task()).unwrap();
        assert_eq!(pool.stats().threads, 1);
    }
    assert_eq!(once_active(&pool, 1), (1, 1, 9));
    drop(gate);
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.threads_started), (10, 1));
}

#[test]
fn tpe_13_without_core_threads_a_bounded_queue_fills_before_the_second_worker() {
    let pool = pool(0, 3, 2);
    let gate = Gate::default();
    assert_eq!(threads_after_each(&pool, &gate, 5), [1, 1, 1, 2, 3]);
    assert_eq!(fill(&pool, &gate), 0);
    assert_eq!(once_active(&pool, 3), (3, 3, 2));
}

#[test]
fn tpe_24_prestart_one_starts_core_threads_one_by_one() {
    let pool = pool(2, 6, 10);
    let answers: Vec<_> = (0..3)
        .map(|_| (pool.prestart_one(), pool.stats().threads))
        .collect();
    assert_eq!(answers, [(true, 1), (true, 2), (false, 2)]);
    pool.resize(4, 6).unwrap();
    let answers: Vec<_> = (0..3)
        .map(|_| (pool.prestart_one(), pool.stats().threads))
        .collect();
    assert_eq!(answers, [(true, 3), (true, 4), (false, 4)]);
}

#[test]
fn tpe_24_prestart_starts_what_is_missing_and_says_how_many() {
    let pool = pool(2, 6, 10);
    assert_eq!((pool.prestart(), pool.stats().threads), (2, 2));
    assert_eq!((pool.prestart(), pool.stats().threads), (0, 2));
    pool.resize(4, 6).unwrap();
    assert_eq!((pool.prestart(), pool.stats().threads), (2, 4));
    assert_eq!(pool.stats().largest, 4);
    assert_eq!(pool.stats().submitted, 0, "no task was needed");
}

#[test]
fn tpe_24_a_pool_can_be_built_with_its_core_threads_started() {
    let pool = sized(3, 5, 10).prestart(true).build().unwrap();
    assert_eq!((pool.stats().threads, pool.prestart()), (3, 0));
}

#[test]
fn tpe_24_an_ended_pool_starts_nothing() {
    let pool = pool(2, 2, 10);
    pool.submit(|| ()).unwrap().join().unwrap();
    assert!(pool.close().terminated);
    assert_eq!((pool.prestart_one(), pool.prestart()), (false, 0));
    pool.resize(8, 8).unwrap();
    assert_eq!((pool.prestart(), pool.stats().threads), (0, 0));
}

#[test]
fn tpe_25_tasks_of_a_started_pool_are_taken_by_the_idle_threads() {
    let pool = pool(3, 6, 10);
    assert_eq!(pool.prestart(), 3);
    // All three at once, so each of the idle threads has to take one.
    meet(&pool, 3);
    let held = hold_many(&pool, 3);
    let waiting = pool.submit(|| ()).unwrap();
    assert_eq!(pool.stats().queued, 1, "the queue is not full: no thread starts");
    assert_eq!((pool.stats().threads, pool.stats().threads_started), (3, 3));
    drop(held);
    waiting.join().unwrap();
}
