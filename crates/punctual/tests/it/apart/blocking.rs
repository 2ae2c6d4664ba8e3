//! `blocking()`: threads for tasks that block, beside the pool's own.

use super::{block_many, hold_many, meet, once_active, pool, value};
use crate::growing::Gate;
use crate::support::{LONG, Random, until};
use punctual::{Clock, Pool, Queue, Status, TaskHandle, task};
use std::collections::HashSet;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

#[test]
fn kot_11_a_hundred_blocked_tasks_leave_the_pool_its_threads_and_a_second_wave_starts_none() {
    let pool = pool(2);
    let views = [pool.blocking().unwrap(), pool.blocking().unwrap()];
    let mut started = Vec::new();
    for _ in 0..2 {
        let gate = Gate::default();
        for view in &views {
            block_many(view, &gate, 50);
        }
        // All of them block, as far as there are threads, and the pool's own are all free.
        once_active(&pool, 64);
        meet(&pool, 2);
        let stats = pool.stats();
        assert!(stats.threads <= 64 + 2, "{}", stats.threads);
        started.push(stats.threads_started);
        drop(gate);
        assert!(pool.wait_idle(LONG));
    }
    assert_eq!(started, [66, 66]);
}

#[test]
fn kot_13_blocking_threads_says_how_many_there_are_at_once() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(4)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let gate = Gate::default();
    block_many(&blocking, &gate, 10);
    once_active(&pool, 4);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.active, stats.queued), (4, 4, 6));
    drop(gate);
    meet(&blocking, 4);
    assert_eq!(pool.stats().threads_started, 4);
}

#[test]
fn kot_13_without_a_number_there_are_sixty_four() {
    let pool = pool(1);
    meet(&pool.blocking().unwrap(), 64);
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let gate = Gate::default();
    block_many(&pool.blocking().unwrap(), &gate, 100 + cores);
    once_active(&pool, 64.max(cores));
}

#[test]
fn kot_14_with_every_worker_blocked_a_blocking_task_still_starts() {
    let pool = pool(2);
    let _held = hold_many(&pool, 2);
    let blocking = pool.blocking().unwrap();
    assert_eq!(value(blocking.submit(|| 7).unwrap()), 7);
}

#[test]
fn kot_14_a_task_of_the_pool_that_blocking_code_submits_is_run_by_the_pool() {
    let pool = pool(1);
    let own = pool.clone();
    let name = || std::thread::current().name().map(str::to_owned);
    let names = pool.blocking().unwrap().submit(move || {
        let child = own.submit(name).unwrap();
        (name(), value(child))
    });
    let (mine, childs) = value(names.unwrap());
    assert_eq!(mine.as_deref(), Some("apart-blocking-1"));
    assert_eq!(childs.as_deref(), Some("apart-1"));
}

#[test]
fn kot_14_current_executor_inside_is_the_blocking_one() {
    let pool = pool(1);
    let name = || std::thread::current().name().map(str::to_owned);
    let child = pool
        .blocking()
        .unwrap()
        .submit(move || task::current_executor().unwrap().submit(name).unwrap());
    assert!(
        value(value(child.unwrap()))
            .unwrap()
            .starts_with("apart-blocking-")
    );
}

#[test]
fn kot_15_idle_blocking_threads_leave_and_the_pools_own_stay() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(2)
        .keep_alive(Duration::from_millis(10))
        .clock(&clock)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let mut random = Random::printed("kot_15");
    for _ in 0..30 {
        let burst = 1 + random.below(6) as usize;
        meet(&pool, 2);
        meet(&blocking, burst);
        clock.advance(Duration::from_millis(random.below(20)));
    }
    clock.advance(Duration::from_millis(10));
    let stats = pool.stats();
    assert_eq!(stats.threads, 2, "{stats:?}");
    assert!(stats.stops.idle > 0);
}

#[test]
fn kot_16_a_flood_of_tasks_does_not_keep_blocking_ones_from_starting() {
    let pool = Pool::builder("apart")
        .core_threads(2)
        .blocking_threads(8)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let tasks = 20_000;
    for number in 0..tasks {
        let count = ran.clone();
        pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        if number % 1_000 == 0 {
            meet(&blocking, 8);
        }
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(ran.load(SeqCst), tasks);
}

#[test]
fn kot_32_with_every_blocking_thread_blocked_the_pool_still_offers_all_of_its_own() {
    let pool = pool(4);
    let gate = Gate::default();
    block_many(&pool.blocking().unwrap(), &gate, 64);
    once_active(&pool, 64);
    meet(&pool, 4);
}

#[test]
fn trap_56_blocking_tasks_that_wait_for_each_other_at_the_cap_get_their_results() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(2)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    // Each of these waits for one that is behind all of them.
    let parents: Vec<_> = (0..8)
        .map(|number| {
            let own = blocking.clone();
            let parent = move || own.submit(move || number).unwrap().join().unwrap();
            blocking.submit(parent).unwrap()
        })
        .collect();
    let numbers: Vec<_> = parents.into_iter().map(value).collect();
    assert_eq!(numbers, (0..8).collect::<Vec<_>>());
}

#[test]
fn trap_56_a_wait_that_leads_through_the_pool_and_back_gets_a_spare_thread() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(1)
        .spare_threads(1)
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let (cpu, own) = (pool.executor(), blocking.clone());
    let outer = blocking.submit(move || {
        let inner = cpu.submit(move || own.submit(|| 5).unwrap().join().unwrap());
        inner.unwrap().join().unwrap()
    });
    assert_eq!(value(outer.unwrap()), 5);
    let stats = pool.stats();
    assert!(
        stats.threads <= 1 + 1 + 1,
        "max, blocking and spare: {}",
        stats.threads
    );
}

#[test]
fn blocking_is_one_set_of_threads_whoever_asks() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(2)
        .build()
        .unwrap();
    let one = pool.blocking().unwrap();
    let two = pool.executor().blocking().unwrap();
    let three = one.blocking().unwrap();
    let four = pool.reserve(1).unwrap().blocking().unwrap();
    let gate = Gate::default();
    for each in [&one, &two, &three, &four] {
        block_many(each, &gate, 1);
    }
    once_active(&pool, 2);
    assert_eq!(pool.stats().queued, 2);
}

#[test]
fn blocking_threads_are_named_after_the_pool() {
    let pool = Pool::builder("orders").thread_name("o").build().unwrap();
    let seen = Arc::new(Mutex::new(HashSet::new()));
    let note = seen.clone();
    let name = move || {
        _ = note
            .lock()
            .unwrap()
            .insert(std::thread::current().name().map(str::to_owned))
    };
    value(pool.blocking().unwrap().submit(name.clone()).unwrap());
    value(pool.reserve(3).unwrap().submit(name).unwrap());
    let names = [Some("o-blocking-1".to_owned()), Some("o-reserve(3)-1".to_owned())];
    assert_eq!(*seen.lock().unwrap(), HashSet::from(names));
}

#[test]
fn blocking_without_threads_is_an_error_that_says_so() {
    let pool = Pool::builder("apart").blocking_threads(0).build().unwrap();
    let error = pool.blocking().unwrap_err();
    assert_eq!(error.field(), "blocking_threads");
    assert!(error.to_string().contains("1 or more"), "{error}");
    assert!(pool.reserve(1).is_ok(), "which is another matter");
    let single = Pool::single().unwrap();
    assert!(single.blocking().is_err(), "one thread is one thread");
}

#[test]
fn blocking_threads_beyond_what_can_be_counted_are_refused() {
    let error = Pool::builder("apart")
        .blocking_threads(usize::MAX)
        .build()
        .unwrap_err();
    assert_eq!(error.field(), "blocking_threads");
}

#[test]
fn blocking_starts_no_thread_before_its_first_task() {
    let pool = pool(1);
    let blocking = pool.blocking().unwrap();
    assert_eq!(pool.stats().threads, 0);
    value(blocking.submit(|| ()).unwrap());
    until("it is idle", || pool.stats().idle == 1);
    assert_eq!(pool.stats().threads, 1);
}

#[test]
fn trap_56_a_task_that_still_waits_elsewhere_is_run_by_whoever_joins_it() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .spare_threads(0)
        .build()
        .unwrap();
    let name = || std::thread::current().name().map(str::to_owned);
    let reserved = pool.reserve(1).unwrap();
    let held = hold_many(&reserved, 1);
    let own = reserved.clone();
    let joined = pool.submit(move || own.submit(name).unwrap().join().unwrap());
    assert_eq!(value(joined.unwrap()).as_deref(), Some("apart-1"));
    // The other way round.
    drop(held);
    let own = pool.clone();
    let joined = reserved.submit(move || {
        let held = hold_many(&own, 1);
        let task = own.submit(name).unwrap();
        let name = task.join().unwrap();
        drop(held);
        name
    });
    assert_eq!(value(joined.unwrap()).as_deref(), Some("apart-reserve(1)-1"));
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.finished, stats.taken), (6, 6, 6));
}

#[test]
fn trap_56_a_closed_annex_waits_for_a_task_that_is_run_elsewhere() {
    let pool = pool(1);
    let reserved = pool.reserve(1).unwrap();
    let held = hold_many(&reserved, 1);
    let (own, gate) = (reserved.clone(), Gate::default());
    let block = gate.task();
    let joined = pool.submit(move || own.submit(block).unwrap().join()).unwrap();
    until("it runs there", || pool.stats().active == 3);
    pool.shutdown();
    drop(held);
    until("its own thread has left", || pool.stats().threads == 1);
    assert!(!pool.await_termination(std::time::Duration::ZERO));
    drop(gate);
    assert!(value(joined).is_ok());
    assert!(pool.await_termination(LONG));
    assert_eq!(pool.stats().finished, 3);
}

#[test]
fn trap_56_waits_in_a_circle_through_the_parts_of_a_pool_are_told() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .spare_threads(0)
        .build()
        .unwrap();
    let reserved = pool.reserve(1).unwrap();
    // Each runs, and waits for the other.
    let (give, given) = std::sync::mpsc::channel::<TaskHandle<bool>>();
    let (back, there) = std::sync::mpsc::channel::<TaskHandle<bool>>();
    let is_told = |other: TaskHandle<bool>| matches!(other.join(), Err(error) if error.is_would_deadlock());
    let one = pool.submit(move || is_told(given.recv().unwrap())).unwrap();
    let two = reserved.submit(move || is_told(there.recv().unwrap())).unwrap();
    let refs = [one.task_ref(), two.task_ref()];
    give.send(two).unwrap();
    back.send(one).unwrap();
    until("both have ended", || {
        refs.iter().all(|task| task.status() == Status::Finished)
    });
    assert!(pool.wait_idle(LONG));
}
