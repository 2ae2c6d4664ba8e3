//! `task::blocking_section`: a thread stands in for a task that blocks on something foreign.

use super::{block_many, hold_many, meet, once_active, pool, value};
use crate::growing::{Gate, nap};
use crate::support::{LONG, in_time, on_worker, quiet_panic, until};
use punctual::{Clock, Pool, Queue, task};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// One thread of its own, so many for what blocks, no spares.
fn small(blocking: usize) -> Pool {
    Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(blocking)
        .spare_threads(0)
        .queue(Queue::unbounded())
        .build()
        .unwrap()
}

#[test]
fn trap_55_a_task_that_blocks_in_a_section_does_not_starve_the_pool() {
    let pool = small(8);
    let (tell, told) = channel();
    let waits = pool
        .submit(move || task::blocking_section(|| told.recv().unwrap()))
        .unwrap();
    // The only worker blocks until a task that is behind it has run.
    pool.execute(move || tell.send(7).unwrap()).unwrap();
    assert_eq!(value(waits), 7);
}

#[test]
fn trap_55_every_worker_may_block_in_a_section_and_the_parallelism_stays() {
    let pool = Pool::builder("apart")
        .core_threads(2)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let gate = Gate::default();
    for _ in 0..10 {
        let block = gate.task();
        pool.execute(move || task::blocking_section(block)).unwrap();
    }
    once_active(&pool, 10);
    meet(&pool, 2);
    let stats = pool.stats();
    assert_eq!(stats.threads, 10 + 2, "no more than are needed: {stats:?}");
    drop(gate);
    assert!(pool.wait_idle(LONG));
    until("those that stood in have left", || pool.stats().threads <= 2);
}

#[test]
fn section_outside_a_task_and_on_other_threads_just_runs() {
    assert_eq!(task::blocking_section(|| 1), 1);
    let pool = small(2);
    for executor in [pool.blocking().unwrap(), pool.reserve(1).unwrap()] {
        assert_eq!(
            value(executor.submit(|| task::blocking_section(|| 2)).unwrap()),
            2
        );
    }
    assert_eq!(pool.stats().threads_started, 2);
    let reserved = pool.reserve(1).unwrap();
    let gate = Gate::default();
    let block = gate.task();
    reserved.execute(move || task::blocking_section(block)).unwrap();
    once_active(&pool, 1);
    block_many(&reserved, &gate, 1);
    assert_eq!(
        pool.stats().threads_started,
        3,
        "a reserve has the threads it has"
    );
}

#[test]
fn section_inside_a_section_counts_once() {
    let pool = small(3);
    let gate = Gate::default();
    let block = gate.task();
    pool.execute(move || task::blocking_section(|| task::blocking_section(block)))
        .unwrap();
    once_active(&pool, 1);
    let more = Gate::default();
    block_many(&pool, &more, 3);
    once_active(&pool, 2);
    assert_eq!(pool.stats().queued, 2);
}

#[test]
fn section_that_panics_is_over() {
    let pool = small(2);
    for _ in 0..10 {
        let broken = pool
            .submit(|| task::blocking_section(|| quiet_panic("on purpose")))
            .unwrap();
        let broken: Result<(), _> = in_time(move || broken.join());
        assert!(broken.unwrap_err().is_panic());
    }
    // Each of them would have kept a thread for good.
    let gate = Gate::default();
    block_many(&pool, &gate, 5);
    once_active(&pool, 1);
    until("those that stood in have left", || pool.stats().threads == 1);
}

#[test]
fn section_threads_are_taken_from_the_blocking_ones() {
    let pool = small(3);
    let gate = Gate::default();
    // Two sections at most: one thread is left for `blocking`.
    for _ in 0..4 {
        let block = gate.task();
        pool.execute(move || task::blocking_section(block)).unwrap();
    }
    once_active(&pool, 3);
    block_many(&pool.blocking().unwrap(), &gate, 3);
    once_active(&pool, 4);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.queued), (1 + 3, 1 + 2));
    drop(gate);
    assert!(pool.wait_idle(LONG));
    meet(&pool.blocking().unwrap(), 3);
}

#[test]
fn section_gets_its_thread_when_an_idle_blocking_one_has_left() {
    let pool = small(2);
    meet(&pool.blocking().unwrap(), 2);
    let (tell, told) = channel();
    let waits = pool
        .submit(move || task::blocking_section(|| told.recv().unwrap()))
        .unwrap();
    pool.execute(move || tell.send(7).unwrap()).unwrap();
    assert_eq!(value(waits), 7);
    let threads = pool.stats().threads;
    assert!(threads <= 1 + 2, "{threads}");
}

#[test]
fn section_gets_its_thread_when_a_blocking_task_has_ended() {
    let pool = small(2);
    let mut held = hold_many(&pool.blocking().unwrap(), 2);
    let (tell, told) = channel();
    let waits = pool
        .submit(move || task::blocking_section(|| told.recv().unwrap()))
        .unwrap();
    pool.execute(move || tell.send(7).unwrap()).unwrap();
    once_active(&pool, 3);
    assert!(!waits.is_finished());
    held.pop();
    assert_eq!(value(waits), 7);
}

#[test]
fn section_without_blocking_threads_just_runs() {
    let pool = small(0);
    assert_eq!(on_worker(&pool, |_| task::blocking_section(|| 3)), 3);
    assert_eq!(pool.stats().threads, 1);
}

#[test]
fn section_with_a_join_inside_counts_once() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(2)
        .spare_threads(4)
        .queue(Queue::unbounded())
        .clock(&clock)
        .build()
        .unwrap();
    let awaited = pool.blocking().unwrap().submit(nap(LONG)).unwrap();
    once_active(&pool, 1);
    pool.execute(move || task::blocking_section(|| awaited.join().unwrap()))
        .unwrap();
    for _ in 0..3 {
        pool.execute(nap(LONG)).unwrap();
    }
    // Everybody has begun, or cannot.
    clock.advance(Duration::from_millis(1));
    let stats = pool.stats();
    assert_eq!((stats.active, stats.queued), (3, 2), "one stands in, not two");
    clock.advance(LONG * 3);
    assert!(pool.wait_idle(LONG));
}

#[test]
fn sections_that_begin_and_end_all_the_time_lose_no_thread() {
    let pool = pool(2);
    let blocking = pool.blocking().unwrap();
    for _ in 0..200 {
        let barrier = Arc::new(Barrier::new(4));
        let meet = || {
            let barrier = barrier.clone();
            move || _ = barrier.wait()
        };
        let tasks: Vec<_> = (0..3)
            .map(|_| {
                let meet = meet();
                pool.submit(move || task::blocking_section(meet)).unwrap()
            })
            .collect();
        let other = blocking.submit(meet()).unwrap();
        tasks.into_iter().chain([other]).for_each(value);
    }
    assert!(pool.wait_idle(LONG));
    meet(&pool, 2);
    until("nobody stands in any more", || pool.stats().spare == 0);
}
