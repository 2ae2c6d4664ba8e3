//! `close` and its kin, and the drop of the last owner: they wait, and leave nothing behind.

use super::{pool_on, settle};
use crate::support::{LONG, hold, single};
use punctual::task::{self, Cancelled, Token};
use punctual::{Clock, CloseReport, Pool, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// What a close finds when nothing is left.
const ENDED: CloseReport = CloseReport {
    terminated: true,
    still_running: 0,
    cancelled_delayed: 0,
    cancelled_repeating: 0,
    dropped: 0,
};

/// An hour of work that cannot be talked out of it, then a value.
fn hour_of_work(value: u32) -> impl FnOnce() -> u32 + Send {
    move || {
        task::sleep(HOUR).expect("nobody asks this task to stop");
        value
    }
}

#[test]
fn life_11_close_waits_for_the_running_and_the_queued_tasks() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 2), pool_on(&clock, 1));
    let tasks: Vec<_> = (1..=3)
        .map(|n| pool.submit(hour_of_work(n)).expect("accepted"))
        .collect();
    let subject = pool.clone();
    let closer = watcher.submit(move || subject.close()).expect("accepted");

    clock.advance(HOUR);
    assert!(
        !closer.is_finished(),
        "two have ended; the third, which was queued, runs"
    );
    assert_eq!(pool.state(), State::Shutdown);
    clock.advance(HOUR);
    assert_eq!(closer.join().unwrap(), ENDED);
    assert_eq!(pool.state(), State::Terminated);
    assert!(
        tasks.iter().all(punctual::TaskHandle::is_finished),
        "the results are there"
    );
    let values: Vec<u32> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
    assert_eq!(values, [1, 2, 3]);
}

#[test]
fn life_11_close_after_shutdown_waits_too() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let task = pool.submit(hour_of_work(1)).expect("accepted");
    pool.shutdown();
    let subject = pool.clone();
    let closer = watcher.submit(move || subject.close()).expect("accepted");
    settle(&clock);
    assert!(!closer.is_finished());
    clock.advance(HOUR);
    assert_eq!(closer.join().unwrap(), ENDED);
    assert_eq!(task.join().unwrap(), 1);
}

#[test]
fn life_11_close_of_an_idle_or_ended_pool_returns_at_once() {
    let pool = single();
    assert_eq!(pool.close(), ENDED, "never used");
    assert_eq!(pool.close(), ENDED, "ended");

    let used = single();
    used.submit(|| ()).expect("accepted").join().expect("finished");
    assert_eq!(used.close(), ENDED, "idle");
    assert_eq!(used.stats().threads, 0);
}

#[test]
fn life_11_close_inside_a_task_shuts_down_and_returns() {
    let pool = single();
    let own = pool.clone();
    let report = pool
        .submit(move || own.close())
        .expect("accepted")
        .join()
        .unwrap();
    assert_eq!(
        (report.terminated, report.still_running),
        (false, 1),
        "it would have waited for itself"
    );
    assert!(pool.submit(|| ()).unwrap_err().is_shutdown());
    assert!(pool.await_termination(LONG));
}

#[test]
fn life_12_a_token_that_fires_during_close_stops_the_pool_and_the_wait_goes_on() {
    let clock = Clock::manual();
    let (pool, slow, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1), pool_on(&clock, 1));
    let _detached = slow.submit(|| task::sleep(HOUR)).expect("accepted");
    let busy = pool
        .submit(move || {
            let told = task::sleep(HOUR * 2);
            // A wait that the task's own token does not end: the pool cannot end before it.
            assert!(slow.close().terminated);
            told
        })
        .expect("accepted");
    let queued = pool.submit(|| ()).expect("accepted");
    let token = Token::new();
    let (subject, firing) = (pool.clone(), token.clone());
    let closer = watcher
        .submit(move || subject.close_with(&firing))
        .expect("accepted");
    settle(&clock);
    assert_eq!(pool.state(), State::Shutdown, "so far it is a close");

    token.cancel();
    settle(&clock);
    assert_eq!(pool.state(), State::Stop, "now it is a stop");
    assert!(queued.is_finished());
    assert!(!closer.is_finished(), "it goes on waiting for the running task");
    clock.advance(HOUR);
    assert_eq!(closer.join().unwrap(), CloseReport { dropped: 1, ..ENDED });
    assert_eq!(busy.join().unwrap(), Err(Cancelled), "it was told to stop");
    assert!(queued.join().unwrap_err().is_cancelled());
    assert!(token.is_cancelled(), "the closer's own token stays fired");
}

#[test]
fn life_12_a_token_that_fired_before_close_stops_the_pool_and_still_waits() {
    let pool = single();
    let ended = Arc::new(AtomicBool::new(false));
    let (begun, has_begun) = channel();
    let mark = ended.clone();
    let busy = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            let told = task::sleep(LONG);
            mark.store(true, Ordering::Release);
            told
        })
        .expect("accepted");
    has_begun.recv().expect("the task runs");
    let queued = pool.submit(|| ()).expect("accepted");
    let token = Token::new();
    token.cancel();

    assert_eq!(pool.close_with(&token), CloseReport { dropped: 1, ..ENDED });
    assert!(
        ended.load(Ordering::Acquire),
        "close returned after the task had ended"
    );
    assert_eq!(busy.join().unwrap(), Err(Cancelled));
    assert!(queued.join().unwrap_err().is_cancelled());
}

#[test]
fn life_12_a_token_that_does_not_fire_changes_nothing() {
    let pool = single();
    let held = hold(&pool);
    let queued = pool.submit(|| 7).expect("accepted");
    thread::scope(|scope| {
        let closer = scope.spawn(|| pool.close_with(&Token::new()));
        drop(held);
        assert_eq!(closer.join().unwrap(), ENDED);
    });
    assert_eq!(queued.join().unwrap(), 7);
}

#[test]
fn life_15_dropping_the_last_owner_runs_what_was_accepted() {
    for queued in 0..=2 {
        let clock = Clock::manual();
        let watcher = pool_on(&clock, 1);
        let ended = Arc::new(AtomicBool::new(false));
        let mark = ended.clone();
        let pool = Pool::builder("facade")
            .core_threads(1)
            .clock(&clock)
            .on_terminated(move || mark.store(true, Ordering::Release))
            .build()
            .expect("valid settings");
        let busy = pool.submit(hour_of_work(0)).expect("accepted");
        let behind: Vec<_> = (1..=queued)
            .map(|n| pool.submit(move || n).expect("accepted"))
            .collect();
        let dropper = watcher.submit(move || drop(pool)).expect("accepted");

        settle(&clock);
        assert!(
            !busy.is_finished() && !dropper.is_finished(),
            "the drop waits for the running task"
        );
        clock.advance(HOUR);
        dropper.join().expect("the drop returned");
        assert!(ended.load(Ordering::Acquire), "the pool has terminated");
        assert_eq!(busy.join().unwrap(), 0);
        let values: Vec<i32> = behind.into_iter().map(|task| task.join().unwrap()).collect();
        assert_eq!(values, (1..=queued).collect::<Vec<i32>>(), "with {queued} queued");
    }
}

#[test]
fn life_15_a_moved_clock_waits_for_the_end_it_caused() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let _detached = pool.submit(hour_of_work(0)).expect("accepted");
    let dropper = watcher.submit(move || drop(pool)).expect("accepted");
    clock.advance(HOUR);
    // The last worker's leaving wakes the dropping task: until that has run, the clock's work is not done.
    assert!(dropper.is_finished());
}

#[test]
fn life_15_a_clone_and_an_executor_keep_the_pool_open() {
    let pool = single();
    let (clone, executor) = (pool.clone(), pool.executor());
    drop(pool);
    assert_eq!(clone.submit(|| 1).expect("still open").join().unwrap(), 1);
    drop(clone);
    assert_eq!(executor.submit(|| 2).expect("still open").join().unwrap(), 2);
}

#[test]
fn life_15_making_and_dropping_pools_leaks_nothing() {
    // The hooks hold one each: whoever keeps an engine, or a thread of it, alive shows up in the counts.
    let engines = Arc::new(());
    let threads = Arc::new(AtomicUsize::new(0));
    let runs = Arc::new(AtomicUsize::new(0));
    for round in 0..100 {
        let (engine, starting, stopping) = (engines.clone(), threads.clone(), threads.clone());
        let pool = Pool::builder("short-lived")
            .core_threads(2)
            .on_thread_start(move || {
                let _keep = &engine;
                starting.fetch_add(1, Ordering::Relaxed);
            })
            .on_thread_stop(move || {
                stopping.fetch_sub(1, Ordering::Relaxed);
            })
            .build()
            .expect("valid settings");
        // None, one or two workers, and one more task than workers.
        for _ in 0..round % 4 {
            let run = runs.clone();
            pool.execute(move || {
                run.fetch_add(1, Ordering::Relaxed);
            })
            .expect("accepted");
        }
        drop(pool);
        assert_eq!(threads.load(Ordering::Relaxed), 0, "no thread outlives the drop");
        assert_eq!(Arc::strong_count(&engines), 1, "nothing keeps the pool");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 25 * (1 + 2 + 3));
    assert_eq!(Arc::strong_count(&runs), 1, "nothing keeps a closure");
}

#[test]
fn life_15_a_pool_dropped_by_its_own_task_ends_by_itself() {
    let (ended, has_ended) = channel();
    let pool = Pool::builder("self-dropping")
        .core_threads(1)
        .on_terminated(move || ended.send(()).expect("the test waits for this"))
        .build()
        .expect("valid settings");
    let held = hold(&pool);
    let executor = pool.executor();
    let last = executor.clone();
    drop(pool);
    let task = executor.submit(move || drop(last)).expect("accepted");
    drop(executor);
    // The task now holds the last owner, on the pool's own worker, which must not wait for itself.
    drop(held);
    task.join().expect("the drop returned");
    has_ended.recv_timeout(LONG).expect("the pool ended");
}
