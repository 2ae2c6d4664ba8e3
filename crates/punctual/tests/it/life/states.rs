//! The states of a pool: in order, never back, each told once.

use crate::support::{LONG, hold, single};
use punctual::{MAX_THREADS, Pool, State};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

fn is_shutdown(pool: &Pool) -> bool {
    pool.state() >= State::Shutdown
}

fn is_terminating(pool: &Pool) -> bool {
    (State::Shutdown..State::Terminated).contains(&pool.state())
}

/// A one-thread pool, and how often its terminated hook has run.
fn counted() -> (Pool, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let pool = Pool::builder("counted")
        .core_threads(1)
        .on_terminated(move || {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .expect("valid settings");
    (pool, calls)
}

#[test]
fn life_01_the_state_only_moves_up() {
    let (tidying, is_tidying) = channel();
    let (finish, may_finish) = channel::<()>();
    let pool = Pool::builder("life")
        .core_threads(1)
        .on_terminated(move || {
            tidying.send(()).expect("the test waits for this");
            let _ = may_finish.recv();
        })
        .build()
        .expect("valid settings");
    assert_eq!(pool.state(), State::Running);
    let held = hold(&pool);

    pool.shutdown();
    assert_eq!(pool.state(), State::Shutdown);
    assert!(pool.stop().is_empty());
    assert_eq!(pool.state(), State::Stop);
    pool.shutdown();
    assert_eq!(
        pool.state(),
        State::Stop,
        "a shutdown after a stop does not go back"
    );

    drop(held);
    is_tidying.recv().expect("the hook runs");
    assert_eq!(pool.state(), State::Tidying);
    assert!(pool.stop().is_empty());
    pool.shutdown();
    assert_eq!(pool.state(), State::Tidying, "the hook still runs");

    drop(finish);
    assert!(pool.await_termination(LONG));
    assert!(pool.stop().is_empty());
    pool.shutdown();
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn life_01_states_may_be_skipped() {
    let pool = single();
    assert!(pool.stop().is_empty());
    assert_eq!(pool.state(), State::Terminated, "nothing was left to wait for");
}

#[test]
fn life_01_the_worker_count_has_a_published_cap() {
    let largest = Pool::builder("largest").core_threads(MAX_THREADS).build();
    assert_eq!(
        largest.expect("the cap itself is allowed").size().max,
        MAX_THREADS
    );

    let beyond = Pool::builder("beyond")
        .max_threads(MAX_THREADS + 1)
        .build()
        .unwrap_err();
    assert_eq!(beyond.field(), "max_threads");
    assert!(
        beyond.to_string().contains(&MAX_THREADS.to_string()),
        "{beyond} names the cap"
    );
}

#[test]
fn life_02_a_pool_is_terminating_only_between_shutdown_and_its_end() {
    let pool = single();
    let held = hold(&pool);
    assert!(!is_shutdown(&pool) && !is_terminating(&pool), "it runs");

    pool.shutdown();
    assert!(is_shutdown(&pool) && is_terminating(&pool), "a task still runs");

    drop(held);
    assert!(pool.await_termination(LONG));
    assert!(is_shutdown(&pool) && !is_terminating(&pool), "it has ended");
}

#[test]
fn life_02_a_pool_is_terminating_while_its_terminated_hook_runs() {
    let (begun, has_begun) = channel();
    let (finish, may_finish) = channel::<()>();
    let pool = Pool::builder("hooked")
        .core_threads(1)
        .on_terminated(move || {
            begun.send(()).expect("the test waits for this");
            let _ = may_finish.recv();
        })
        .build()
        .expect("valid settings");
    thread::scope(|scope| {
        // With no worker to do it, the closer runs the hook.
        scope.spawn(|| pool.shutdown());
        has_begun.recv().expect("the hook runs");
        assert!(is_terminating(&pool));
        assert!(
            !pool.await_termination(Duration::ZERO),
            "not before the hook returns"
        );
        drop(finish);
        assert!(pool.await_termination(LONG));
    });
    assert!(!is_terminating(&pool));
}

#[test]
fn life_09_a_pool_that_was_never_used_has_ended_when_shutdown_returns() {
    let (pool, calls) = counted();
    pool.shutdown();
    assert_eq!(pool.state(), State::Terminated);
    assert_eq!(
        calls.load(Ordering::Relaxed),
        1,
        "the hook ran before shutdown returned"
    );
    assert!(pool.await_termination(Duration::ZERO));

    pool.shutdown();
    assert!(pool.stop().is_empty());
    assert!(pool.close().terminated);
    assert_eq!(pool.state(), State::Terminated);
    drop(pool);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "once in total");
}

#[test]
fn life_09_the_hook_runs_once_however_many_close_a_used_pool() {
    let (pool, calls) = counted();
    pool.submit(|| ()).expect("accepted").join().expect("finished");
    let together = Barrier::new(3);
    thread::scope(|scope| {
        scope.spawn(|| {
            together.wait();
            pool.shutdown();
        });
        scope.spawn(|| {
            together.wait();
            assert!(pool.stop().is_empty());
        });
        scope.spawn(|| {
            together.wait();
            assert!(pool.close().terminated);
        });
    });
    assert!(pool.await_termination(LONG));
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}
