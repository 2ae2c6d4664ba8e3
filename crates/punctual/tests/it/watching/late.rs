//! `on_late`: due tasks that cannot start.

use super::{NANO, SECOND, Told, builder, stick, stick_for};
use crate::support::{LONG, hold, until};
use punctual::{Pool, PoolBuilder, Queue, Schedule};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn noting(builder: PoolBuilder, limit: Duration) -> (PoolBuilder, Told) {
    let told = Told::default();
    let hook = told.clone();
    let tell = move |task: &punctual::TaskInfo<'_>, late| {
        hook.tell(format!("{} {late:?}", task.name.unwrap_or("-")));
    };
    (builder.on_late(limit, tell), told)
}

#[test]
fn late_tasks_are_told_once_with_their_names_while_they_wait() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, 2 * SECOND);
    let pool = builder.build().unwrap();
    let first = pool.task(|| 1).name("first").after(10 * SECOND).unwrap();
    let second = pool.task(|| 2).name("second").at(clock.now() + 11 * SECOND);
    let stuck = stick_for(&pool, 30 * SECOND);
    clock.advance(12 * SECOND - NANO);
    assert!(late.all().is_empty());
    clock.advance(NANO);
    assert_eq!(late.all(), ["first 2s"]);
    clock.advance(SECOND);
    assert_eq!(late.all(), ["first 2s", "second 2s"]);
    assert!(!first.is_finished());
    clock.advance(60 * SECOND);
    assert_eq!((first.join().unwrap(), second.unwrap().join().unwrap()), (1, 2));
    assert_eq!(late.all().len(), 2);
    drop(stuck);
}

#[test]
fn late_is_nobody_who_starts_in_time() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, 2 * SECOND);
    let pool = builder.build().unwrap();
    let punctual: Vec<_> = (1..50).map(|n| pool.after(n * SECOND, || ()).unwrap()).collect();
    let schedule = pool.schedule(Schedule::every(7 * SECOND), |_| ()).unwrap();
    clock.advance(60 * SECOND);
    assert!(punctual.iter().all(|task| task.is_finished()));
    // One that is late, but not too late.
    let a_little = pool.after(5 * SECOND, || ()).unwrap();
    let stuck = stick_for(&pool, 7 * SECOND - NANO);
    schedule.cancel();
    clock.advance(60 * SECOND);
    assert!(a_little.is_finished() && stuck.0.is_finished());
    assert!(late.all().is_empty(), "{:?}", late.all());
}

#[test]
fn late_is_told_although_the_task_got_its_time_when_all_workers_were_stuck_already() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, SECOND);
    let pool = builder.build().unwrap();
    let _stuck = stick(&pool);
    let task = pool.task(|| ()).name("report").after(SECOND).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(late.all(), ["report 1s"]);
    drop(task);
}

#[test]
fn late_is_told_while_every_worker_is_blocked_on_something_foreign() {
    let (builder, late) = noting(Pool::builder("foreign"), Duration::from_millis(5));
    let pool = builder.core_threads(2).build().unwrap();
    let _held = [hold(&pool), hold(&pool)];
    let _task = pool
        .task(|| ())
        .name("due")
        .after(Duration::from_millis(5))
        .unwrap();
    until("the hook is told", || !late.all().is_empty());
    assert!(late.all()[0].starts_with("due "));
}

#[test]
fn late_runs_of_schedules_are_told_by_their_names() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, 2 * SECOND);
    let pool = builder.build().unwrap();
    let every = Schedule::every(10 * SECOND)
        .starting_in(10 * SECOND)
        .named("flush");
    let schedule = pool.schedule(every, |_| ()).unwrap();
    clock.advance(10 * SECOND);
    let stuck = stick_for(&pool, 25 * SECOND);
    clock.advance(60 * SECOND);
    assert_eq!(late.all(), ["flush 2s"], "the one run that was due at 20 s");
    // At 10 s, 35 s (for 20 s and 30 s), 40 s, 50 s, 60 s and 70 s.
    assert_eq!((schedule.stats().runs, schedule.stats().missed), (6, 1));
    drop(stuck);
}

#[test]
fn late_is_nobody_who_was_cancelled_before() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, 2 * SECOND);
    let pool = builder.build().unwrap();
    let task = pool.after(SECOND, || ()).unwrap();
    let before = pool.after(SECOND, || ()).unwrap();
    let inside = Arc::new(());
    let outside = Arc::downgrade(&inside);
    let expiring = pool
        .task(move || drop(inside))
        .expires_in(SECOND)
        .after(SECOND)
        .unwrap();
    let _stuck = stick(&pool);
    before.cancel();
    clock.advance(2 * SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
    assert_eq!(outside.strong_count(), 0);
    task.cancel();
    clock.advance(10 * SECOND);
    assert!(late.all().is_empty(), "{:?}", late.all());
}

#[test]
fn late_hook_that_panics_is_counted_and_everybody_is_told_once() {
    const TASKS: usize = 500;
    let (builder, clock) = builder(1);
    let names = Arc::new(Mutex::new(Vec::new()));
    let inside = names.clone();
    let hook = move |task: &punctual::TaskInfo<'_>, _: Duration| {
        inside
            .lock()
            .unwrap()
            .push(task.name.unwrap_or_default().to_owned());
        crate::support::quiet_panic("in the hook");
    };
    let pool = builder.on_late(SECOND, hook).build().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let ran = ran.clone();
            let task = pool.task(move || ran.fetch_add(1, SeqCst));
            let delay = Duration::from_millis(100 * (number as u64 % 10));
            task.name(format!("{number:03}")).after(SECOND + delay).unwrap()
        })
        .collect();
    let stuck = stick_for(&pool, 10 * SECOND);
    clock.advance(20 * SECOND);
    assert!(tasks.iter().all(|task| task.is_finished()));
    let mut names = names.lock().unwrap().clone();
    names.sort();
    assert_eq!(
        names,
        (0..TASKS)
            .map(|number| format!("{number:03}"))
            .collect::<Vec<_>>()
    );
    assert_eq!(
        (ran.load(SeqCst), pool.stats().hook_panics),
        (TASKS, TASKS as u64)
    );
    drop(stuck);
}

#[test]
fn late_without_any_limit_is_nobody_who_is_punctual() {
    let (builder, clock) = builder(1);
    let (builder, late) = noting(builder, Duration::MAX);
    let pool = builder.build().unwrap();
    let task = pool.after(SECOND, || ()).unwrap();
    let stuck = stick_for(&pool, 600 * SECOND);
    clock.advance(700 * SECOND);
    assert!(task.is_finished() && stuck.0.is_finished());
    assert!(late.all().is_empty(), "a limit without end is never passed");
}

#[test]
fn late_ones_do_not_keep_a_pool_from_ending() {
    let (builder, late) = noting(Pool::builder("ending"), Duration::from_millis(1));
    let pool = builder.core_threads(1).queue(Queue::unbounded()).build().unwrap();
    let held = hold(&pool);
    let task = pool.after(Duration::ZERO, || 1).unwrap();
    until("the hook is told", || !late.all().is_empty());
    pool.shutdown();
    drop(held);
    assert!(pool.await_termination(LONG));
    assert!(pool.close().terminated);
    // Its time had come before the end.
    assert_eq!(task.join().unwrap(), 1);
    assert_eq!(pool.stats().keepers, 0);
}
