//! `reserve(n)`: threads that nobody else uses.

use super::{block_many, hold_many, meet, meeting, once_active, pool, value};
use crate::growing::{Gate, fill};
use crate::support::{LONG, hold, quiet_panic, until};
use punctual::{Clock, OnDrop, Pool, Priority, Queue, Reason, Schedule, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn kot_31_sixty_four_blocked_threads_leave_a_reserve_of_sixty_four_its_own() {
    let pool = pool(1);
    let gate = Gate::default();
    block_many(&pool.blocking().unwrap(), &gate, 64);
    once_active(&pool, 64);
    meet(&pool.reserve(64).unwrap(), 64);
}

#[test]
fn pri_10_a_saturated_pool_leaves_a_reserve_of_four_its_four() {
    let pool = Pool::builder("apart")
        .core_threads(2)
        .queue(Queue::bounded(8))
        .build()
        .unwrap();
    let urgent = pool.reserve(4).unwrap();
    let gate = Gate::default();
    fill(&pool, &gate);
    assert!(pool.execute(|| ()).is_err(), "not one more");
    meet(&urgent, 4);
    meet(&urgent, 4);
}

#[test]
fn kot_22_a_task_that_panics_leaves_its_threads_at_work_and_is_told() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let note = told.clone();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .on_failure(move |task, _| note.lock().unwrap().push(task.name.map(str::to_owned)))
        .build()
        .unwrap();
    for executor in [
        pool.reserve(1).unwrap(),
        pool.blocking().unwrap(),
        pool.executor(),
    ] {
        executor
            .task(|| quiet_panic("on purpose"))
            .name("broken")
            .execute()
            .unwrap();
        assert_eq!(value(executor.submit(|| 1).unwrap()), 1);
    }
    // A task is counted before the sink is told of it: quiet is not enough, the end is.
    assert!(pool.close().terminated);
    assert_eq!(*told.lock().unwrap(), vec![Some("broken".to_owned()); 3]);
    assert_eq!(pool.stats().panicked, 3);
}

#[test]
fn trap_57_reserve_adds_threads_and_takes_none() {
    let pool = pool(2);
    let reserved = pool.reserve(3).unwrap();
    let other = reserved.reserve(2).unwrap();
    let gate = Gate::default();
    block_many(&pool, &gate, 10);
    block_many(&reserved, &gate, 10);
    block_many(&other, &gate, 10);
    once_active(&pool, 2 + 3 + 2);
    assert_eq!(pool.stats().queued, 30 - 7);
    assert_eq!(pool.size().max, 2, "its own size is what it was");
}

#[test]
fn reserve_of_nothing_is_an_error_that_says_so() {
    let pool = pool(1);
    let error = pool.reserve(0).unwrap_err();
    assert_eq!(error.field(), "reserve");
    assert!(error.to_string().contains("1 or more"), "{error}");
    assert_eq!(pool.reserve(usize::MAX).unwrap_err().field(), "reserve");
}

#[test]
fn reserve_keeps_the_order_of_its_tasks() {
    let pool = pool(2);
    let one = pool.reserve(1).unwrap();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for number in 0..1_000 {
        let seen = seen.clone();
        one.execute(move || seen.lock().unwrap().push(number)).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(*seen.lock().unwrap(), (0..1_000).collect::<Vec<_>>());
}

#[test]
fn reserve_whose_last_executor_is_gone_ends_with_its_last_task() {
    let pool = pool(1);
    let reserved = pool.reserve(2).unwrap();
    let gate = Gate::default();
    block_many(&reserved, &gate, 5);
    once_active(&pool, 2);
    drop(reserved);
    assert_eq!(pool.stats().queued, 3, "nothing is dropped");
    drop(gate);
    until("its threads have left", || pool.stats().threads == 0);
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.submitted, stats.stops.closed), (5, 5, 2));
    value(pool.submit(|| ()).unwrap());
}

#[test]
fn reserve_whose_last_executor_is_gone_keeps_what_is_delayed_and_what_repeats() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let reserved = pool.reserve(1).unwrap();
    let minute = Duration::from_secs(60);
    let late = reserved.after(minute, || "here").unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let every = reserved
        .schedule(Schedule::every(minute).times(3), move |_| {
            _ = count.fetch_add(1, SeqCst);
        })
        .unwrap();
    drop(reserved);
    clock.advance(minute * 5);
    assert_eq!(value(late), "here");
    assert_eq!(runs.load(SeqCst), 3);
    every.wait();
    clock.advance(minute);
    assert_eq!(pool.stats().threads, 0, "and then it is gone");
}

#[test]
fn reserve_whose_last_executor_is_gone_still_ends_with_its_pool() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart").clock(&clock).build().unwrap();
    let hour = Duration::from_secs(3600);
    let late = pool.reserve(1).unwrap().after(hour, || ()).unwrap();
    let report = pool.close();
    assert!(report.terminated);
    assert_eq!(report.cancelled_delayed, 1);
    assert!(late.join().unwrap_err().is_cancelled());
}

#[test]
fn reserve_keeps_its_pool_open() {
    let pool = Pool::builder("apart").on_drop(OnDrop::Stop).build().unwrap();
    let reserved = pool.reserve(1).unwrap();
    let weak = pool.downgrade();
    drop(pool);
    assert_eq!(value(reserved.submit(|| 1).unwrap()), 1);
    assert!(weak.upgrade().is_some());
    let weak = reserved.downgrade();
    assert_eq!(value(weak.upgrade().unwrap().submit(|| 2).unwrap()), 2);
    drop(reserved);
    assert!(weak.upgrade().is_none());
}

#[test]
fn reserve_made_and_dropped_again_and_again_leaves_nothing() {
    let pool = pool(1);
    for number in 0..200 {
        assert_eq!(
            value(pool.reserve(2).unwrap().submit(move || number).unwrap()),
            number
        );
    }
    until("all have left", || pool.stats().threads == 0);
    let stats = pool.stats();
    assert_eq!(
        (stats.finished, stats.threads_started),
        (200, stats.threads_stopped)
    );
}

#[test]
fn reserve_of_a_task_that_outlives_it_gives_the_pool_as_current() {
    let pool = pool(1);
    let (go, gone) = std::sync::mpsc::channel();
    let reserved = pool.reserve(1).unwrap();
    let child = reserved.submit(move || {
        gone.recv().unwrap();
        let name = || std::thread::current().name().map(str::to_owned);
        task::current_executor().unwrap().submit(name).unwrap()
    });
    drop(reserved);
    go.send(()).unwrap();
    assert_eq!(value(value(child.unwrap())).as_deref(), Some("apart-1"));
}

#[test]
fn reserve_of_a_closed_pool_refuses_everything() {
    let pool = pool(1);
    let before = pool.reserve(1).unwrap();
    pool.shutdown();
    let after = pool.reserve(1).unwrap();
    let blocking = pool.blocking().unwrap();
    for executor in [before, after, blocking] {
        let refused = executor.submit(|| 1).unwrap_err();
        assert!(matches!(refused.reason(), Reason::ShutDown), "{refused}");
        assert!(executor.after(Duration::from_secs(1), || 1).is_err());
    }
    assert!(pool.await_termination(LONG));
    assert_eq!(pool.stats().threads, 0);
}

#[test]
fn reserve_is_part_of_the_pool_for_what_is_inherited() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .queue(Queue::priority(100))
        .inherit_priority(true)
        .build()
        .unwrap();
    let reserved = pool.reserve(1).unwrap();
    let (there, back) = (reserved.clone(), pool.executor());
    let priority = || task::current().unwrap().priority();
    let child = move || {
        value(
            there
                .submit(move || value(back.submit(priority).unwrap()))
                .unwrap(),
        )
    };
    let urgent = pool.task(child).priority(Priority::URGENT).submit();
    assert_eq!(value(urgent.unwrap()), Priority::URGENT);
    assert_eq!(
        value(reserved.at_priority(Priority::LOW).submit(priority).unwrap()),
        Priority::LOW
    );
    let low = pool.at_priority(Priority::LOW).reserve(1).unwrap();
    assert_eq!(value(low.submit(priority).unwrap()), Priority::LOW);
}

#[test]
fn reserve_does_not_give_its_idle_threads_to_the_pool() {
    let pool = pool(1);
    let reserved = pool.reserve(2).unwrap();
    meet(&reserved, 2);
    let _held = hold_many(&pool, 1);
    let waits = pool.submit(|| 1).unwrap();
    let handles = meeting(&reserved, 2);
    handles.into_iter().for_each(value);
    assert!(!waits.is_finished());
    assert_eq!(pool.stats().queued, 1);
}

#[test]
fn threads_beside_the_pools_own_have_nothing_of_a_views_rule() {
    let pool = pool(1);
    // Two at once, where one at a time is the rule of the pool's own threads; and a rule that is made of them holds.
    meet(&pool.limit(1).unwrap().blocking().unwrap(), 2);
    meet(&pool.lane().reserve(2).unwrap(), 2);
    meet(&pool.keyed(7).blocking().unwrap(), 2);
    let one = pool.blocking().unwrap().limit(1).unwrap();
    let held = hold(&one);
    one.execute(|| ()).unwrap();
    assert_eq!((one.view_stats().active, one.view_stats().queued), (1, 1));
    drop(held);
}
