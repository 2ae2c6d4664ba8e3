//! A pool that is held back: by `pause`, and by a before hook that waits.

use crate::life::settle;
use crate::support::{LONG, assert_all_settled, in_time};
use punctual::{Clock, Pool, Queue, TaskHandle};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Condvar, Mutex};

#[test]
fn hook_08_nothing_is_taken_while_paused_and_a_resume_releases_all() {
    let clock = Clock::manual();
    let starts = Arc::new(AtomicUsize::new(0));
    let counter = starts.clone();
    let pool = Pool::builder("paused")
        .core_threads(2)
        .queue(Queue::bounded(10))
        .clock(&clock)
        .before_task(move |_| _ = counter.fetch_add(1, SeqCst))
        .build()
        .unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.pause();
    assert!(pool.stats().paused);
    let tasks: Vec<TaskHandle<usize>> = (0..10).map(|n| pool.submit(move || n).unwrap()).collect();
    settle(&clock);
    assert_eq!(starts.load(SeqCst), 1, "none of them has begun");
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.taken), (10, 0, 1));
    assert!(
        pool.execute(|| ()).unwrap_err().is_full(),
        "a paused pool fills like any other"
    );
    pool.resume();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), n);
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(starts.load(SeqCst), 11);
    assert!(!pool.stats().paused);
    assert_all_settled(&pool.stats());
}

#[test]
fn hook_08_a_shutdown_of_a_paused_pool_runs_what_was_accepted() {
    in_time(|| {
        let pool = Pool::fixed(2).unwrap();
        pool.pause();
        let tasks: Vec<TaskHandle<usize>> = (0..5).map(|n| pool.submit(move || n).unwrap()).collect();
        pool.shutdown();
        for (n, task) in tasks.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), n);
        }
        assert!(pool.await_termination(LONG));
        pool.pause();
        assert!(!pool.stats().paused, "nothing is left to hold back");
    });
}

#[test]
fn hook_08_a_stop_and_a_drop_of_a_paused_pool_do_not_hang() {
    in_time(|| {
        let pool = Pool::fixed(1).unwrap();
        pool.pause();
        let queued = pool.submit(|| ()).unwrap();
        assert_eq!(pool.stop().len(), 1);
        assert!(queued.join().unwrap_err().is_cancelled());
        assert!(pool.await_termination(LONG));

        let dropped = Pool::fixed(1).unwrap();
        dropped.pause();
        let queued = dropped.submit(|| 5).unwrap();
        drop(dropped);
        assert_eq!(queued.join().unwrap(), 5, "closed, and run");
    });
}

#[test]
fn hook_08_a_before_hook_may_hold_the_tasks_back_until_it_is_opened() {
    in_time(|| {
        let gate = Arc::new((Mutex::new((false, 0)), Condvar::new()));
        let hook = gate.clone();
        let pool = Pool::builder("gated")
            .core_threads(2)
            .before_task(move |_| {
                let (state, changed) = &*hook;
                let mut state = state.lock().unwrap();
                state.1 += 1;
                changed.notify_all();
                while !state.0 {
                    state = changed.wait(state).unwrap();
                }
            })
            .build()
            .unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        for _ in 0..4 {
            let runs = runs.clone();
            pool.execute(move || _ = runs.fetch_add(1, SeqCst)).unwrap();
        }
        let (state, changed) = &*gate;
        let mut seen = state.lock().unwrap();
        while seen.1 < 2 {
            seen = changed.wait(seen).unwrap();
        }
        assert_eq!(runs.load(SeqCst), 0, "both workers stand in the hook");
        // Closing does not open it, and does not lose what waits behind it.
        pool.shutdown();
        seen.0 = true;
        changed.notify_all();
        drop(seen);
        assert!(pool.await_termination(LONG));
        assert_eq!(runs.load(SeqCst), 4);
    });
}
