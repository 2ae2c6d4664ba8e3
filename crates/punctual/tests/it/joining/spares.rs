//! Spare threads: one more while a worker waits, and not for longer.

use super::{builder_of, pool_of};
use crate::life::{begun, running, settle};
use crate::support::{LONG, assert_all_settled, in_time, on_worker, until};
use punctual::{Clock, Pool, Queue, Status, task};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);
const LIMIT: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_nanos(1);

/// Submits a task that waits for `task`, and returns when it is asleep there: a spare may stand in.
fn waiter_for<T: Send + 'static>(
    pool: &Pool,
    task: &Arc<punctual::TaskHandle<T>>,
) -> punctual::TaskHandle<()> {
    let task = task.clone();
    begun(pool, move || task.wait())
}

#[test]
fn a_spare_stands_in_while_a_worker_waits_for_a_running_task() {
    let pool = pool_of(2, 1);
    let (busy, open) = running(&pool, 1);
    let busy = Arc::new(busy);
    let waiter = waiter_for(&pool, &busy);
    // Both workers are taken, and still: somebody runs it.
    let other = pool.submit(|| 7).unwrap();
    assert_eq!(in_time(|| other.join().unwrap()), 7);
    let stats = pool.stats();
    assert_eq!(
        (stats.threads, stats.spare, stats.size.max),
        (3, 1, 2),
        "{stats:?}"
    );
    assert_eq!(waiter.task_ref().status(), Status::Running);

    drop(open);
    in_time(|| waiter.join().unwrap());
    until("the spare goes home", || pool.stats().threads == 2);
    let stats = pool.stats();
    assert_eq!((stats.spare, stats.stops.surplus, stats.largest), (0, 1, 3));
}

#[test]
fn a_spare_comes_for_a_task_that_waited_already() {
    let pool = pool_of(2, 1);
    let (busy, open) = running(&pool, 1);
    let own = pool.clone();
    let waiter = pool
        .submit(move || {
            let other = own.submit(|| 7).unwrap().task_ref();
            // The other is queued behind both, and not what this one waits for.
            busy.wait();
            other.status()
        })
        .unwrap();
    until("the other has run", || pool.stats().finished == 1);
    drop(open);
    assert_eq!(in_time(|| waiter.join().unwrap()), Status::Finished);
}

#[test]
fn no_spare_comes_while_somebody_is_free() {
    let clock = Clock::manual();
    let pool = builder_of(3, 3).clock(&clock).build().unwrap();
    let busy = pool.submit(|| task::sleep(HOUR)).unwrap();
    let waiter = pool.submit(move || busy.join().unwrap()).unwrap();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap().join().unwrap();
        // Only then the third has lain down.
        settle(&clock);
    }
    assert_eq!(pool.stats().threads_started, 3);
    clock.advance(HOUR);
    waiter.join().unwrap().unwrap();
}

#[test]
fn there_are_never_more_threads_than_max_and_spare() {
    let clock = Clock::manual();
    let pool = builder_of(2, 2).clock(&clock).build().unwrap();
    let busy = Arc::new(pool.submit(|| task::sleep(HOUR)).unwrap());
    let waiters: Vec<_> = (0..10)
        .map(|_| {
            let busy = busy.clone();
            pool.submit(move || busy.wait()).unwrap()
        })
        .collect();
    settle(&clock);
    let stats = pool.stats();
    assert_eq!(
        (stats.threads, stats.spare, stats.active, stats.queued),
        (4, 2, 4, 7),
        "{stats:?}"
    );
    clock.advance(HOUR);
    for waiter in waiters {
        assert!(waiter.is_finished());
        waiter.join().unwrap();
    }
    until("both go home", || pool.stats().threads == 2);
    assert_eq!((pool.stats().largest, pool.stats().stops.surplus), (4, 2));
    assert_all_settled(&pool.stats());
}

#[test]
fn without_spares_what_is_queued_waits_for_a_worker() {
    let clock = Clock::manual();
    let pool = builder_of(2, 0).clock(&clock).build().unwrap();
    let busy = pool.submit(|| task::sleep(HOUR)).unwrap();
    let waiter = pool.submit(move || busy.join().unwrap().is_ok()).unwrap();
    let other = pool.submit(|| 7).unwrap();
    settle(&clock);
    assert_eq!((pool.stats().threads, pool.stats().queued), (2, 1));
    assert_eq!(other.task_ref().status(), Status::Queued);
    clock.advance(HOUR);
    assert!(waiter.join().unwrap());
    assert_eq!(other.join().unwrap(), 7);
}

#[test]
fn a_timed_join_does_not_run_in_place_and_keeps_its_limit() {
    let clock = Clock::manual();
    let pool = builder_of(1, 0).clock(&clock).build().unwrap();
    let own = pool.clone();
    let parent = pool
        .submit(move || {
            let mut child = own.submit(|| 7).unwrap();
            let timed = child.join_timeout(LIMIT).unwrap_err().is_timeout();
            let reference = child.task_ref();
            (timed, reference.status(), child)
        })
        .unwrap();
    clock.advance(LIMIT - MOMENT);
    assert!(!parent.is_finished(), "it waits");
    assert_eq!(pool.stats().queued, 1, "and runs nothing meanwhile");
    clock.advance(MOMENT);
    assert!(parent.is_finished());
    let (timed, status, child) = parent.join().unwrap();
    assert!(timed);
    assert_eq!(status, Status::Queued);
    assert_eq!(child.join().unwrap(), 7, "it runs when the worker is free");
}

#[test]
fn a_timed_join_of_a_queued_task_is_served_by_a_spare() {
    let pool = pool_of(1, 1);
    let other_thread = on_worker(&pool, |own| {
        let mut child = own.submit(|| thread::current().id()).unwrap();
        child.join_timeout(LONG).unwrap() != thread::current().id()
    });
    assert!(other_thread);
    until("the spare goes home", || pool.stats().threads == 1);
}

#[test]
fn a_timed_join_without_time_neither_waits_nor_runs() {
    let pool = pool_of(1, 1);
    let answer = on_worker(&pool, |own| {
        let mut child = own.submit(|| 7).unwrap();
        let error = child.join_timeout(Duration::ZERO).unwrap_err();
        (error.is_timeout(), child.task_ref().status())
    });
    assert_eq!(answer, (true, Status::Queued));
    assert_eq!(pool.stats().threads_started, 1, "no spare was needed");
}

#[test]
fn a_spare_stands_in_for_the_only_worker_of_a_pool_without_core_threads() {
    let clock = Clock::manual();
    let pool = builder_of(0, 1).max_threads(1).clock(&clock).build().unwrap();
    let own = pool.clone();
    let parent = pool
        .submit(move || {
            let mut child = own.submit(|| 7).unwrap();
            child.join_timeout(LIMIT).map_err(|error| error.to_string())
        })
        .unwrap();
    settle(&clock);
    assert!(parent.is_finished(), "a spare has run the child");
    assert_eq!(parent.join().unwrap(), Ok(7));
}

#[test]
fn a_pool_without_a_queue_takes_more_while_its_workers_wait() {
    let pool = Pool::builder("handoff")
        .core_threads(2)
        .spare_threads(1)
        .queue(Queue::handoff())
        .build()
        .unwrap();
    let (busy, open) = running(&pool, 1);
    let busy = Arc::new(busy);
    let waiter = waiter_for(&pool, &busy);
    let mut other = None;
    until("the waiter sleeps, and a spare is allowed", || {
        other = pool.submit(|| 7).ok();
        other.is_some()
    });
    assert_eq!(in_time(|| other.unwrap().join().unwrap()), 7);
    drop(open);
    in_time(|| waiter.join().unwrap());
    assert!(pool.stats().largest <= 3);
}

#[test]
fn a_manual_clock_waits_for_spares_and_not_for_those_who_wait() {
    // Four chained sleeps on two workers and two spares: each of the first three waits for the next.
    let clock = Clock::manual();
    let pool = builder_of(2, 2).clock(&clock).build().unwrap();
    let mut last = pool.submit(|| task::sleep(HOUR)).unwrap();
    settle(&clock);
    for _ in 0..3 {
        let before = last;
        last = pool
            .submit(move || {
                before.join().unwrap()?;
                task::sleep(HOUR)
            })
            .unwrap();
        settle(&clock);
    }
    assert_eq!((pool.stats().threads, pool.stats().active), (4, 4));
    clock.advance(4 * HOUR - MOMENT);
    assert!(!last.is_finished());
    clock.advance(MOMENT);
    assert!(last.is_finished(), "one hour each");
    last.join().unwrap().unwrap();
    settle(&clock);
    assert_eq!(pool.stats().threads, 2, "when it returns the spares have left");
}

#[test]
fn no_spare_comes_for_a_worker_that_blocks_outside_of_the_library() {
    let pool = pool_of(1, 3);
    let (busy, open) = running(&pool, 1);
    // The only worker is busy outside the library: no spare stands in for it.
    let other = pool.submit(|| 7).unwrap();
    assert_eq!(other.task_ref().status(), Status::Queued);
    drop(open);
    busy.join().unwrap();
    assert_eq!(other.join().unwrap(), 7);
    assert_eq!(pool.stats().threads_started, 1);
}
