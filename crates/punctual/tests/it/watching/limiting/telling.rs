//! `slow_after`: a running task is told of, and left alone.

use super::noting;
use crate::support::{LONG, quiet_panic};
use crate::watching::{NANO, SECOND, builder, stick};
use punctual::task;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};

#[test]
fn slow_tasks_are_told_once_and_while_they_run() {
    let (builder, clock) = builder(1);
    let (builder, slow) = noting(builder.slow_after(3 * SECOND));
    let pool = builder.build().unwrap();
    let task = pool.task(|| task::sleep(60 * SECOND)).name("report").submit();
    let task = task.unwrap();
    clock.advance(3 * SECOND - NANO);
    assert!(slow.all().is_empty());
    clock.advance(NANO);
    assert_eq!(slow.all(), ["report 3s"]);
    assert!(!task.is_finished());
    clock.advance(60 * SECOND);
    assert_eq!(task.join().unwrap(), Ok(()), "its token did not fire");
    assert_eq!(slow.all().len(), 1);
}

#[test]
fn slow_is_nobody_who_ends_in_time() {
    let (builder, clock) = builder(2);
    let (builder, slow) = noting(builder.slow_after(3 * SECOND));
    let pool = builder.build().unwrap();
    let tasks: Vec<_> = (0..50)
        .map(|_| pool.submit(|| task::sleep(3 * SECOND - NANO)).unwrap())
        .collect();
    clock.advance(100 * SECOND);
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert!(slow.all().is_empty(), "{:?}", slow.all());
}

#[test]
fn slow_after_of_the_task_replaces_the_pools() {
    let (builder, clock) = builder(3);
    let (builder, slow) = noting(builder.slow_after(5 * SECOND));
    let pool = builder.build().unwrap();
    let sleeps = || task::sleep(20 * SECOND);
    let limits = [("pool's", None), ("shorter", Some(2)), ("longer", Some(9))];
    let tasks = limits.map(|(name, limit)| {
        let task = pool.task(sleeps).name(name);
        let task = match limit {
            Some(limit) => task.slow_after(limit * SECOND),
            None => task,
        };
        task.submit().unwrap()
    });
    clock.advance(20 * SECOND);
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert_eq!(slow.all(), ["shorter 2s", "pool's 5s", "longer 9s"]);
}

#[test]
fn slow_is_told_also_of_closures_without_a_handle_and_of_tasks_in_place() {
    let (builder, clock) = builder(1);
    let (builder, slow) = noting(builder.slow_after(SECOND));
    let pool = builder.build().unwrap();
    let inner = pool.clone();
    let parent = move || {
        let child = || task::sleep(2 * SECOND).is_ok();
        inner.task(child).name("child").submit().unwrap().join().unwrap()
    };
    pool.task(parent).name("parent").execute().unwrap();
    clock.advance(2 * SECOND);
    let mut told = slow.all();
    told.sort();
    assert_eq!(told, ["child 1s", "parent 1s"]);
    pool.execute(|| task::sleep(2 * SECOND).unwrap()).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(slow.all()[2..], ["- 1s"]);
}

#[test]
fn slow_hook_that_panics_is_counted_and_the_next_is_told() {
    let (builder, clock) = builder(2);
    let calls = Arc::new(AtomicUsize::new(0));
    let inside = calls.clone();
    let hook = move |_: &punctual::TaskInfo<'_>, _| {
        inside.fetch_add(1, SeqCst);
        quiet_panic("in the hook");
    };
    let pool = builder.slow_after(SECOND).on_slow(hook).build().unwrap();
    let tasks = [5, 6].map(|seconds| pool.submit(move || task::sleep(seconds * SECOND)).unwrap());
    clock.advance(6 * SECOND);
    for task in tasks {
        assert_eq!(task.join().unwrap(), Ok(()));
    }
    assert_eq!((calls.load(SeqCst), pool.stats().hook_panics), (2, 2));
    // Whoever kept the clock goes on doing so.
    let _stuck = [stick(&pool), stick(&pool)];
    let expiring = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
}

#[test]
fn slow_hook_can_use_the_pool() {
    let (builder, clock) = builder(1);
    let weak = Arc::new(Mutex::new(None::<punctual::WeakExecutor>));
    let (inside, ran) = (weak.clone(), Arc::new(AtomicBool::new(false)));
    let mark = ran.clone();
    let hook = move |_: &punctual::TaskInfo<'_>, _| {
        let executor = inside.lock().unwrap().as_ref().and_then(|weak| weak.upgrade());
        let mark = mark.clone();
        let executor = executor.expect("the pool is there");
        executor.execute(move || mark.store(true, SeqCst)).unwrap();
    };
    let pool = builder.slow_after(SECOND).on_slow(hook).build().unwrap();
    *weak.lock().unwrap() = Some(pool.downgrade());
    let slow = pool.submit(|| task::sleep(2 * SECOND)).unwrap();
    clock.advance(2 * SECOND);
    slow.join().unwrap().unwrap();
    assert!(pool.wait_idle(LONG));
    assert!(ran.load(SeqCst));
}
