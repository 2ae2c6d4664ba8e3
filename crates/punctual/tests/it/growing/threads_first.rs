//! `Growth::ThreadsFirst`: a task waits only when every thread there may be is at work.

use super::{Gate, fill, hold_many, let_in_when_racing, meet, once_active, size, sized, threads_after_each};
use crate::support::{LONG, hold};
use punctual::{Growth, Pool, PoolBuilder, Queue};
use std::sync::{Arc, Mutex};

fn eager(core: usize, max: usize, places: usize) -> PoolBuilder {
    sized(core, max, places).growth(Growth::ThreadsFirst)
}

fn eager_pool(core: usize, max: usize, places: usize) -> Pool {
    eager(core, max, places).build().unwrap()
}

#[test]
fn threads_come_before_the_queue() {
    for (core, max) in [(0, 3), (1, 3), (3, 3)] {
        let pool = eager_pool(core, max, 2);
        let gate = Gate::default();
        assert_eq!(threads_after_each(&pool, &gate, 5), [1, 2, 3, 3, 3]);
        assert_eq!(fill(&pool, &gate), 0);
        assert_eq!(once_active(&pool, 3), (3, 3, 2));
    }
}

#[test]
fn queue_first_is_the_other_way_round_and_the_default() {
    assert_eq!(Growth::default(), Growth::QueueFirst);
    for builder in [sized(1, 3, 2), sized(1, 3, 2).growth(Growth::QueueFirst)] {
        let pool = builder.build().unwrap();
        let gate = Gate::default();
        assert_eq!(threads_after_each(&pool, &gate, 5), [1, 1, 1, 2, 3]);
    }
}

#[test]
fn with_threads_first_max_is_reached_in_front_of_an_unbounded_queue() {
    let pool = eager(1, 4, 0).queue(Queue::unbounded()).build().unwrap();
    let gate = Gate::default();
    for _ in 0..100 {
        pool.execute(gate.task()).unwrap();
    }
    assert_eq!(pool.stats().threads, 4);
    assert_eq!(once_active(&pool, 4), (4, 4, 96));
}

#[test]
fn an_idle_worker_is_used_before_a_new_thread_starts() {
    for core in [0, 1] {
        let pool = eager_pool(core, 8, 10);
        for _ in 0..1_000 {
            pool.submit(|| ()).unwrap().join().unwrap();
        }
        assert_eq!(pool.stats().threads_started, 1);
        meet(&pool, 3);
        meet(&pool, 3);
        assert_eq!(pool.stats().threads_started, 3);
    }
}

#[test]
fn an_idle_worker_beside_a_busy_one_is_used_too() {
    let pool = eager_pool(0, 8, 10);
    meet(&pool, 2);
    let _held = hold(&pool);
    for _ in 0..1_000 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    assert_eq!(pool.stats().threads_started, 2);
}

#[test]
fn with_threads_first_no_task_waits_while_a_thread_may_start() {
    // Each round needs all threads at once; were one task queued too early, its round would not end.
    let pool = eager_pool(0, 4, 100);
    for tasks in [1, 4, 2, 3, 4, 1, 4] {
        for _ in 0..50 {
            meet(&pool, tasks);
        }
    }
    assert_eq!(pool.stats().threads_started, 4);
}

#[test]
fn with_threads_first_producers_that_race_fill_to_the_exact_number() {
    for _ in 0..20 {
        let pool = eager_pool(1, 3, 2);
        let gate = Gate::default();
        assert_eq!(let_in_when_racing(&pool, &gate, 5), 5);
        assert_eq!(once_active(&pool, 3), (3, 3, 2));
    }
}

#[test]
fn with_threads_first_a_raised_max_is_used_although_tasks_wait_and_the_oldest_goes_first() {
    let pool = eager_pool(1, 1, 10);
    let held = hold(&pool);
    let order: Arc<Mutex<Vec<u32>>> = Arc::default();
    let submit = |number| {
        let order = order.clone();
        pool.submit(move || order.lock().unwrap().push(number)).unwrap()
    };
    let mut tasks: Vec<_> = (0..3).map(submit).collect();
    assert_eq!(pool.resize(1, 2).unwrap(), size(1, 1));
    tasks.push(submit(3));
    assert_eq!(pool.stats().threads, 2);
    tasks.into_iter().for_each(|task| task.join().unwrap());
    assert_eq!(*order.lock().unwrap(), [0, 1, 2, 3]);
    drop(held);
}

#[test]
fn with_threads_first_a_batch_starts_the_threads_it_needs() {
    let pool = eager_pool(0, 4, 3);
    let gate = Gate::default();
    let refused = pool.execute_all((0..9).map(|_| gate.task())).unwrap_err();
    assert_eq!(refused.into_task().len(), 2);
    assert_eq!(once_active(&pool, 4), (4, 4, 3));
    drop(gate);
    assert!(pool.wait_idle(LONG));
}

#[test]
fn with_threads_first_core_threads_start_although_others_are_idle() {
    let pool = eager_pool(2, 4, 10);
    for started in [1, 2, 2, 2] {
        pool.submit(|| ()).unwrap().join().unwrap();
        assert_eq!(pool.stats().threads_started, started);
    }
    let _held = hold_many(&pool, 3);
    assert_eq!(pool.stats().threads_started, 3);
}
