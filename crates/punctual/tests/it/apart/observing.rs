//! What statistics, hooks and clocks see of annexes.

use super::{block_many, meet, once_active, pool, value};
use crate::growing::Gate;
use crate::support::{LONG, assert_books_balance, hold, until};
use punctual::{Clock, Pool, Priority, Queue, Schedule, Stats, task};
use std::cell::Cell;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn apart_stats_are_sums_over_the_pool_and_its_annexes() {
    let pool = Pool::builder("apart")
        .core_threads(2)
        .blocking_threads(1)
        .build()
        .unwrap();
    let (blocking, reserved) = (pool.blocking().unwrap(), pool.reserve(3).unwrap());
    let gate = Gate::default();
    for executor in [&pool, &blocking, &reserved] {
        block_many(executor, &gate, 5);
    }
    once_active(&pool, 2 + 1 + 3);
    assert_books_balance(&pool.stats());
    let _late = blocking.after(LONG, || ()).unwrap();
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.active, stats.queued), (6, 6, 9));
    assert_eq!((stats.submitted, stats.taken, stats.pending_timers), (16, 6, 1));
    assert_eq!((stats.size.core, stats.size.max), (2, 2), "the pool's own");
    assert!(stats.oldest_wait.is_some());
    drop(gate);
    drop(reserved);
    until("all have run", || pool.stats().finished == 15);
    assert!(
        pool.stats().run.count() >= 15,
        "those of the annex that has ended too"
    );
}

#[test]
fn apart_threads_never_exceed_what_was_given() {
    let pool = Pool::builder("apart")
        .core_threads(2)
        .blocking_threads(3)
        .spare_threads(1)
        .build()
        .unwrap();
    let (blocking, reserved) = (pool.blocking().unwrap(), pool.reserve(2).unwrap());
    let executors = [pool.executor(), blocking, reserved];
    // Everybody waits for somebody elsewhere, or says that it blocks.
    let mut tasks = Vec::new();
    for round in 0..300 {
        let (own, other) = (executors[round % 3].clone(), executors[(round + 1) % 3].clone());
        tasks.push(own.submit(move || {
            let child = other.submit(move || round).unwrap();
            if round % 5 == 0 {
                task::blocking_section(|| child.join().unwrap())
            } else {
                child.join().unwrap()
            }
        }));
        let threads = pool.stats().threads;
        assert!(threads <= 2 + 3 + 2 + 1, "{threads}");
    }
    for (round, task) in tasks.into_iter().enumerate() {
        assert_eq!(value(task.unwrap()), round);
    }
}

#[test]
fn apart_hooks_and_decorators_are_the_pools() {
    thread_local!(static USER: Cell<u32> = const { Cell::new(0) });
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (seen.clone(), seen.clone());
    let starts = Arc::new(AtomicUsize::new(0));
    let count = starts.clone();
    let pool = Pool::builder("apart")
        .before_task(move |task| {
            before
                .lock()
                .unwrap()
                .push(format!("{} begins", task.name.unwrap()))
        })
        .after_task(move |task, _| after.lock().unwrap().push(format!("{} ends", task.name.unwrap())))
        .on_thread_start(move || _ = count.fetch_add(1, SeqCst))
        .decorate(
            || USER.get(),
            |user, run| {
                USER.set(*user);
                run();
            },
        )
        .build()
        .unwrap();
    USER.set(7);
    let executors = [("b", pool.blocking().unwrap()), ("r", pool.reserve(1).unwrap())];
    for (told, (name, executor)) in executors.into_iter().enumerate() {
        let task = executor.task(|| USER.get()).name(name).submit().unwrap();
        assert_eq!(value(task), 7);
        until("the second hook has run", || {
            seen.lock().unwrap().len() == 2 * told + 2
        });
    }
    assert_eq!(
        *seen.lock().unwrap(),
        ["b begins", "b ends", "r begins", "r ends"]
    );
    assert_eq!(starts.load(SeqCst), 2);
}

#[test]
fn apart_time_passes_for_annexes_by_the_pools_clock() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let minute = Duration::from_secs(60);
    let naps: Vec<_> = (0..5)
        .map(|_| blocking.submit(move || task::sleep(minute).is_ok()).unwrap())
        .collect();
    let late = blocking.after(minute, || 1).unwrap();
    clock.advance(minute);
    assert!(naps.into_iter().all(value));
    assert_eq!(value(late), 1);
}

#[test]
fn apart_time_passes_while_a_closed_pool_waits_for_its_annexes() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart").clock(&clock).build().unwrap();
    let minute = Duration::from_secs(60);
    let nap = pool
        .blocking()
        .unwrap()
        .submit(move || task::sleep(minute).is_ok())
        .unwrap();
    pool.shutdown();
    clock.advance(minute);
    assert!(value(nap));
    assert!(pool.await_termination(LONG));
}

#[test]
fn apart_what_comes_due_at_once_gets_a_thread_each() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let reserved = pool.reserve(4).unwrap();
    let minute = Duration::from_secs(60);
    let barrier = Arc::new(std::sync::Barrier::new(4));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let barrier = barrier.clone();
            reserved.after(minute, move || _ = barrier.wait()).unwrap()
        })
        .collect();
    clock.advance(minute);
    tasks.into_iter().for_each(value);
}

#[test]
fn apart_what_is_due_does_not_wait_for_a_blocking_task_while_a_thread_may_start() {
    let pool = pool(1);
    let reserved = pool.reserve(2).unwrap();
    let tick = Duration::from_millis(1);
    let early = reserved.after(tick, || 1).unwrap();
    let _held = hold(&reserved);
    let late = reserved.after(tick * 5, || 2).unwrap();
    assert_eq!((value(early), value(late)), (1, 2));
}

#[test]
fn apart_schedules_run_there() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let names = Arc::new(Mutex::new(Vec::new()));
    let note = names.clone();
    let minute = Duration::from_secs(60);
    let every = pool
        .blocking()
        .unwrap()
        .schedule(Schedule::every(minute), move |_| {
            let thread = std::thread::current();
            note.lock().unwrap().push(thread.name().unwrap().to_owned());
        });
    clock.advance(minute * 2);
    every.unwrap().cancel();
    let names = names.lock().unwrap();
    assert_eq!(names.len(), 3);
    assert!(
        names.iter().all(|name| name.starts_with("apart-blocking-")),
        "{names:?}"
    );
}

#[test]
fn apart_expiries_and_limits_hold_there() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let one = pool.reserve(1).unwrap();
    let second = Duration::from_secs(1);
    let busy = one
        .task(move || task::sleep(second * 60).is_err())
        .time_limit(second * 5)
        .submit()
        .unwrap();
    let quote = one.task(|| ()).expires_in(second).submit().unwrap();
    clock.advance(second);
    assert!(quote.join().unwrap_err().is_expired());
    clock.advance(second * 4);
    assert!(value(busy), "its token fired");
    assert_eq!(pool.stats().expired, 1);
}

#[test]
fn apart_keep_alive_of_the_pool_is_that_of_its_annexes() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    meet(&blocking, 2);
    clock.advance(Duration::from_secs(59));
    assert_eq!(pool.stats().threads, 2);
    clock.advance(Duration::from_secs(1));
    assert_eq!(pool.stats().threads, 0);
    meet(&blocking, 2);
    pool.set_keep_alive(Duration::from_secs(5)).unwrap();
    clock.advance(Duration::from_secs(5));
    assert_eq!(pool.stats().threads, 0);
}

#[test]
fn apart_a_pool_whose_threads_never_leave_has_annexes_that_stay_a_minute() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .keep_alive(Duration::ZERO)
        .clock(&clock)
        .build()
        .unwrap();
    value(pool.blocking().unwrap().submit(|| ()).unwrap());
    clock.advance(Duration::from_secs(59));
    assert_eq!(pool.stats().threads, 1);
    clock.advance(Duration::from_secs(1));
    assert_eq!(pool.stats().threads, 0);
}

#[test]
fn apart_spare_threads_are_one_budget_for_all_parts() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .spare_threads(1)
        .build()
        .unwrap();
    let reserved = pool.reserve(1).unwrap();
    let elsewhere = Pool::fixed(1).unwrap();
    let gate = Gate::default();
    let awaited = Arc::new(elsewhere.submit(gate.task()).unwrap());
    // A worker of each part waits inside the library.
    for executor in [&pool, &reserved] {
        let awaited = awaited.clone();
        executor.execute(move || awaited.wait()).unwrap();
    }
    once_active(&pool, 2);
    let more = Gate::default();
    until("somebody stands in", || {
        let _ = (pool.execute(more.task()), reserved.execute(more.task()));
        pool.stats().active == 3
    });
    assert_eq!(pool.stats().threads, 3, "one stands in, not two");
}

#[test]
fn apart_executors_are_listed_as_views_while_they_are_there() {
    let pool = pool(1);
    let reserved = pool.reserve(2).unwrap();
    let lane = reserved.named("mail");
    value(lane.submit(|| ()).unwrap());
    value(reserved.submit(|| ()).unwrap());
    until("both are counted", || reserved.view_stats().taken == 2);
    let stats = reserved.view_stats();
    assert_eq!((&*stats.name, stats.queued), ("apart/reserve(2)", 0));
    let names = || -> Vec<String> {
        let views = pool.stats().views;
        views.iter().map(|view| view.name.to_string()).collect()
    };
    assert_eq!(names(), ["apart/reserve(2)", "apart/reserve(2)/mail"]);
    value(pool.blocking().unwrap().submit(|| ()).unwrap());
    drop((lane, reserved));
    until("the reserve is gone", || names() == ["apart/blocking"]);
}

#[test]
fn apart_levels_are_those_of_the_pools_queue_and_summed_up() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .queue(Queue::priority(100).strict())
        .build()
        .unwrap();
    let one = pool.reserve(1).unwrap();
    let held = hold(&one);
    let seen = Arc::new(Mutex::new(Vec::new()));
    for priority in [Priority::LOW, Priority::NORMAL, Priority::URGENT] {
        let seen = seen.clone();
        let note = move || seen.lock().unwrap().push(priority);
        one.at_priority(priority).execute(note).unwrap();
    }
    let queued = |stats: &Stats| -> Vec<usize> { stats.levels.iter().map(|level| level.queued).collect() };
    assert_eq!(queued(&pool.stats()), [1, 0, 1, 1]);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(
        *seen.lock().unwrap(),
        [Priority::URGENT, Priority::NORMAL, Priority::LOW]
    );
    let taken: u64 = pool.stats().levels.iter().map(|level| level.taken).sum();
    assert_eq!(taken, 4);
}
