//! `Executor::join`: two closures, one of which may be stolen.

use super::{inside, pool, with, within};
use crate::support::{hold, in_time, quiet_panic, until};
use punctual::{Capacity, Executor, Queue};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

fn fib(pool: &Executor, n: u64) -> u64 {
    if n < 2 {
        return n;
    }
    let (a, b) = pool.join(|| fib(pool, n - 1), || fib(pool, n - 2));
    a + b
}

#[test]
fn join_inside_a_stealing_pool_gives_both_values() {
    for threads in 1..=3 {
        let pool = pool(threads);
        assert_eq!(within(&pool, |pool| fib(pool, 18)), 2584);
        let stats = pool.stats();
        assert_eq!((stats.queued, stats.active), (0, 0));
        assert_eq!(stats.submitted, stats.finished);
    }
}

#[test]
fn join_works_on_every_queue_and_from_outside() {
    let queues = [
        Queue::unbounded(),
        Queue::bounded(1),
        Queue::handoff(),
        Queue::priority(10).into(),
        Queue::stealing(3),
    ];
    for queue in queues {
        let pool = with(2, queue.clone());
        assert_eq!(fib(&pool, 12), 144, "{queue:?}, outside");
        assert_eq!(within(&pool, |pool| fib(pool, 12)), 144, "{queue:?}, inside");
        let stats = pool.stats();
        assert_eq!(stats.submitted, stats.finished, "{queue:?}");
    }
}

#[test]
fn both_run_at_once_if_somebody_is_free() {
    let pool = pool(2);
    let (a, b) = within(&pool, |pool| {
        let barrier = Barrier::new(2);
        let meet = || {
            barrier.wait();
            std::thread::current().id()
        };
        pool.join(meet, meet)
    });
    assert_ne!(a, b);
}

#[test]
fn what_nobody_has_taken_runs_on_the_thread_that_joins() {
    let pool = pool(1);
    let (a, b) = within(&pool, |pool| {
        let thread = || std::thread::current().id();
        pool.join(thread, thread)
    });
    assert_eq!(a, b);
}

#[test]
fn from_outside_a_busy_pool_both_run_here() {
    let pool = pool(1);
    let held = hold(&pool);
    let own = Executor::clone(&pool);
    let (a, b) = in_time(move || own.join(|| 1, || 2));
    assert_eq!((a, b), (1, 2));
    drop(held);
    let stats = pool.stats();
    assert_eq!(stats.queued, 0);
}

#[test]
fn a_pool_that_is_shut_down_or_full_is_no_obstacle() {
    let pool = with(1, Queue::stealing(1));
    let held = hold(&pool);
    pool.execute(|| ()).unwrap();
    assert_eq!(pool.join(|| 1, || 2), (1, 2));
    drop(held);
    let _ = pool.close();
    assert_eq!(pool.join(|| 3, || 4), (3, 4));
}

#[test]
fn a_panic_goes_on_after_both_have_ended() {
    let pool = pool(2);
    for (first, second) in [(true, false), (false, true), (true, true)] {
        let ended = Arc::new(AtomicUsize::new(0));
        let count = ended.clone();
        let text = within(&pool, move |pool| {
            let branch = |panics: bool, text: &'static str| {
                count.fetch_add(1, SeqCst);
                if panics {
                    quiet_panic(text);
                }
            };
            let joined = catch_unwind(AssertUnwindSafe(|| {
                pool.join(|| branch(first, "a"), || branch(second, "b"));
            }));
            *joined.unwrap_err().downcast::<&str>().unwrap()
        });
        assert_eq!(text, if first { "a" } else { "b" });
        assert_eq!(ended.load(SeqCst), 2);
    }
    assert_eq!(within(&pool, |_| 7), 7);
}

#[test]
fn a_stop_meets_a_join_and_there_is_a_value_all_the_same() {
    for _ in 0..20 {
        let pool = pool(2);
        let own = pool.clone();
        let begun = Arc::new(AtomicUsize::new(0));
        let count = begun.clone();
        let task = pool
            .submit(move || {
                count.fetch_add(1, SeqCst);
                fib(&own, 14)
            })
            .unwrap();
        until("it runs", || begun.load(SeqCst) == 1);
        assert!(pool.stop().is_empty(), "a branch of a join is not given out");
        assert_eq!(in_time(move || task.join().unwrap()), 377);
    }
}

#[test]
fn a_paused_pool_ends_its_joins() {
    let pool = pool(2);
    let own = pool.clone();
    let sum = within(&pool, move |pool| {
        own.pause();
        let sum = fib(pool, 10);
        own.resume();
        sum
    });
    assert_eq!(sum, 55);
}

#[test]
fn a_join_inside_a_lane_runs_in_place() {
    let pool = pool(2);
    let lane = pool.lane();
    let task = lane.submit(|| fib(&inside(), 8)).unwrap();
    assert_eq!(in_time(|| task.join().unwrap()), 21);
}

#[test]
fn tasks_that_the_first_branch_submits_do_not_keep_the_second_from_being_found() {
    let pool = with(1, Queue::stealing(Capacity::Unbounded));
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let values = within(&pool, move |pool| {
        pool.join(
            || {
                let count = count.clone();
                pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
                1
            },
            || 2,
        )
    });
    assert_eq!(values, (1, 2));
    let _ = pool.close();
    assert_eq!(ran.load(SeqCst), 1);
    assert_eq!(pool.stats().submitted, 3);
}
