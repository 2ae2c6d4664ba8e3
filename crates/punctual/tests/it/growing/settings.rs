//! What a builder takes, what it refuses, and what it does when it is told nothing.

use super::{pool, size, sized};
use crate::support::{hold, quiet_panic};
use punctual::{Capacity, DEFAULT_QUEUE_CAPACITY, Growth, Pool, Queue, Reject};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

#[test]
fn tpe_01_a_pool_without_threads_is_refused() {
    for growth in [Growth::QueueFirst, Growth::ThreadsFirst] {
        for queue in [Queue::unbounded(), Queue::bounded(7), Queue::handoff()] {
            let builder = Pool::builder("none").growth(growth).queue(queue);
            let error = builder.core_threads(0).max_threads(0).build().unwrap_err();
            assert_eq!(error.field(), "max_threads", "{error}");
        }
    }
    assert_eq!(Pool::cached(0).unwrap_err().field(), "max_threads");
}

#[test]
fn tpe_01_more_core_than_max_threads_are_refused() {
    for growth in [Growth::QueueFirst, Growth::ThreadsFirst] {
        for queue in [Queue::unbounded(), Queue::bounded(7), Queue::handoff()] {
            let builder = Pool::builder("turned round").growth(growth).queue(queue);
            // In either order: the settings are checked together.
            let error = builder.max_threads(2).core_threads(3).build().unwrap_err();
            assert_eq!(error.field(), "core_threads", "{error}");
        }
    }
}

#[test]
fn tpe_02_a_new_pool_says_what_it_was_given() {
    let pool = sized(2, 5, 9)
        .keep_alive(Duration::from_millis(90_000))
        .core_timeout(true)
        .on_full(Reject::CallerRuns)
        .thread_name("given")
        .build()
        .unwrap();
    assert_eq!(pool.name(), "grown");
    assert_eq!(pool.size(), size(2, 5));
    assert_eq!(pool.stats().size, size(2, 5));
    assert_eq!(pool.stats().capacity, Capacity::Bounded(9));
    assert_eq!(pool.keep_alive(), Duration::from_secs(90));
    assert!(pool.core_timeout());
    assert!(matches!(pool.reject(), Reject::CallerRuns));
    let name = pool.submit(|| std::thread::current().name().map(str::to_owned));
    assert_eq!(name.unwrap().join().unwrap().as_deref(), Some("given-1"));
}

#[test]
fn tpe_03_unless_told_otherwise_a_full_pool_refuses_and_core_threads_stay() {
    let pool = pool(1, 1, 1);
    assert!(matches!(pool.reject(), Reject::Abort));
    assert!(!pool.core_timeout());
    assert!(!pool.stats().paused);
}

#[test]
fn tpe_03_unless_told_otherwise_the_queue_has_a_bound() {
    let pool = Pool::builder("unset").build().unwrap();
    assert_eq!(pool.stats().capacity, Capacity::Bounded(DEFAULT_QUEUE_CAPACITY));
    assert_eq!(pool.size().max, pool.size().core, "and the pool does not grow");
}

#[test]
fn tpe_04_a_new_policy_is_read_back_and_answers_from_then_on() {
    let pool = pool(1, 1, 0);
    let held = hold(&pool);
    let first = Arc::new(AtomicUsize::new(0));
    let counting = |count: &Arc<AtomicUsize>| {
        let count = count.clone();
        Reject::custom(move |_| {
            count.fetch_add(1, SeqCst);
            punctual::Answer::Discard
        })
    };
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    pool.set_reject(counting(&first));
    assert!(matches!(pool.reject(), Reject::Custom(_)));
    let discarded = pool.submit(|| ()).unwrap();
    assert!(discarded.join().unwrap_err().is_rejected());
    assert_eq!(first.load(SeqCst), 1, "the new policy was asked");
    pool.set_reject(Reject::Abort);
    assert!(matches!(pool.reject(), Reject::Abort));
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    assert_eq!(first.load(SeqCst), 1, "and no longer");
    drop(held);
}

#[test]
fn tpe_07_core_threads_that_leave_need_a_keep_alive_time() {
    let none = Duration::ZERO;
    let error = sized(1, 1, 1).keep_alive(none).core_timeout(true).build();
    assert_eq!(error.unwrap_err().field(), "keep_alive");
    let pool = sized(1, 1, 1).keep_alive(none).build().unwrap();
    assert_eq!(pool.set_core_timeout(true).unwrap_err().field(), "keep_alive");
    assert!(!pool.core_timeout(), "nothing has changed");
    pool.set_core_timeout(false).unwrap();
    pool.set_keep_alive(Duration::from_nanos(1)).unwrap();
    pool.set_core_timeout(true).unwrap();
    assert!(pool.core_timeout());
}

#[test]
fn tpe_07_a_keep_alive_time_of_zero_is_refused_while_core_threads_leave() {
    let time = Duration::from_secs(5);
    let pool = sized(1, 1, 1)
        .keep_alive(time)
        .core_timeout(true)
        .build()
        .unwrap();
    let error = pool.set_keep_alive(Duration::ZERO).unwrap_err();
    assert_eq!(error.field(), "keep_alive");
    assert_eq!((pool.keep_alive(), pool.core_timeout()), (time, true));
    pool.set_core_timeout(false).unwrap();
    pool.set_keep_alive(Duration::ZERO).unwrap();
    assert_eq!(pool.keep_alive(), Duration::ZERO);
}

#[test]
fn tpe_11_threads_that_could_never_start_are_refused_with_the_ways_out() {
    let unbounded = |core, max| sized(core, max, 0).queue(Queue::unbounded());
    let error = unbounded(1, 10).build().unwrap_err();
    assert_eq!(error.field(), "max_threads");
    let text = error.to_string();
    for fix in ["raise core_threads", "bound the queue", "Growth::ThreadsFirst"] {
        assert!(text.contains(fix), "{text}");
    }
    assert!(unbounded(0, 2).build().is_err(), "one thread, never two");
    // Each of the ways out, and a pool that starts one thread because it has none.
    assert!(unbounded(10, 10).build().is_ok());
    assert!(sized(1, 10, 1_000).build().is_ok());
    assert!(unbounded(1, 10).growth(Growth::ThreadsFirst).build().is_ok());
    assert!(unbounded(0, 1).build().is_ok());
}

#[test]
fn tpe_11_a_running_pool_is_not_led_there_either() {
    let unbounded = sized(2, 2, 0).queue(Queue::unbounded()).build().unwrap();
    assert_eq!(unbounded.resize(2, 3).unwrap_err().field(), "max_threads");
    assert_eq!(unbounded.size(), size(2, 2));
    assert_eq!(unbounded.resize(3, 3).unwrap(), size(2, 2));
    let growing = pool(2, 3, 4);
    let error = growing.set_capacity(Capacity::Unbounded).unwrap_err();
    assert_eq!(error.field(), "max_threads");
    assert_eq!(growing.stats().capacity, Capacity::Bounded(4));
    growing.resize(3, 3).unwrap();
    growing.set_capacity(Capacity::Unbounded).unwrap();
    assert_eq!(growing.stats().capacity, Capacity::Unbounded);
}

#[test]
fn a_panicking_task_costs_no_thread() {
    let pool = pool(1, 1, 1_000);
    let name = || std::thread::current().id();
    let worker = pool.submit(name).unwrap().join().unwrap();
    for _ in 0..100 {
        pool.execute(|| quiet_panic("on purpose")).unwrap();
        let failed = pool.submit(|| quiet_panic("on purpose")).unwrap();
        assert!(failed.join().unwrap_err().is_panic());
    }
    assert_eq!(pool.submit(name).unwrap().join().unwrap(), worker);
    let stats = pool.stats();
    assert_eq!((stats.threads_started, stats.threads_stopped), (1, 0));
    assert_eq!((stats.panicked, stats.finished), (200, 2));
}
