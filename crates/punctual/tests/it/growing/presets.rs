//! The ready-made pools.

use super::{meet, once_active, size};
use crate::support::{LONG, hold};
use punctual::{Capacity, MAX_THREADS, Pool, Reason};
use std::sync::{Arc, Barrier};
use std::time::Duration;

type Preset = fn() -> Pool;

fn presets() -> [(&'static str, Preset); 3] {
    [
        ("fixed", || Pool::fixed(2).unwrap()),
        ("single", || Pool::single().unwrap()),
        ("cached", || Pool::cached(2).unwrap()),
    ]
}

#[test]
fn exe_01_a_preset_without_threads_is_refused() {
    assert_eq!(Pool::fixed(0).unwrap_err().field(), "max_threads");
    assert_eq!(Pool::cached(0).unwrap_err().field(), "max_threads");
    assert!(Pool::fixed(MAX_THREADS + 1).is_err());
}

#[test]
fn exe_02_every_preset_runs_tasks() {
    for (name, preset) in presets() {
        let pool = preset();
        assert_eq!(pool.name(), name);
        for round in 0..20 {
            assert_eq!(pool.submit(move || round * 2).unwrap().join().unwrap(), round * 2);
        }
        pool.execute(|| ()).unwrap();
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().finished, 21);
    }
}

#[test]
fn exe_02_a_wait_with_a_limit_ends_on_a_busy_preset() {
    for (_, preset) in presets() {
        let pool = preset();
        let (mut task, open) = crate::life::running(&pool, 9);
        let late = task.join_timeout(Duration::from_millis(1));
        assert!(late.unwrap_err().is_timeout());
        drop(open);
        assert_eq!(task.join().unwrap(), 9);
    }
    let pool = Pool::single().unwrap();
    let held = hold(&pool);
    let mut behind = pool.submit(|| 3).unwrap();
    let late = behind.join_timeout(Duration::from_millis(1));
    assert!(late.unwrap_err().is_timeout());
    drop(held);
    assert_eq!(behind.join().unwrap(), 3);
}

#[test]
fn exe_03_a_single_pool_cannot_be_resized_and_still_runs_tasks() {
    let pool = Pool::single().unwrap();
    for (core, max) in [(2, 2), (0, 1), (1, 1), (1, 2)] {
        let text = pool.resize(core, max).unwrap_err().to_string();
        assert!(
            text.contains("Pool::single") && text.contains("Pool::builder"),
            "{text}"
        );
    }
    assert_eq!(pool.size(), size(1, 1));
    assert_eq!(pool.clone().resize(2, 2).is_err(), pool.resize(2, 2).is_err());
    assert_eq!(pool.submit(|| 1).unwrap().join().unwrap(), 1);
}

#[test]
fn exe_03_a_single_pool_runs_one_task_at_a_time_in_order() {
    let pool = Pool::single().unwrap();
    let held = hold(&pool);
    let order: Arc<std::sync::Mutex<Vec<u32>>> = Arc::default();
    for number in 0..100 {
        let order = order.clone();
        pool.execute(move || order.lock().unwrap().push(number)).unwrap();
    }
    assert_eq!(once_active(&pool, 1), (1, 1, 100));
    drop(held);
    assert!(pool.close().terminated);
    assert_eq!(*order.lock().unwrap(), (0..100).collect::<Vec<_>>());
    assert_eq!((pool.stats().largest, pool.stats().threads_started), (1, 1));
}

#[test]
fn exe_04_fixed_has_as_many_threads_as_it_is_told_and_no_bound() {
    let pool = Pool::fixed(3).unwrap();
    assert_eq!(pool.size(), size(3, 3));
    assert_eq!(pool.stats().capacity, Capacity::Unbounded);
    assert!(!pool.core_timeout());
    assert_eq!(pool.keep_alive(), Duration::ZERO);
}

#[test]
fn exe_04_single_is_one_thread_and_no_bound() {
    let pool = Pool::single().unwrap();
    assert_eq!(pool.size(), size(1, 1));
    assert_eq!(pool.stats().capacity, Capacity::Unbounded);
    assert!(!pool.core_timeout());
}

#[test]
fn exe_04_cached_keeps_nothing_queues_nothing_and_has_a_bound() {
    let pool = Pool::cached(7).unwrap();
    assert_eq!(pool.size(), size(0, 7));
    assert_eq!(pool.stats().capacity, Capacity::Bounded(0));
    assert_eq!(pool.keep_alive(), Duration::from_secs(60));
    let _held = super::hold_many(&pool, 7);
    let refused = pool.execute(|| ()).unwrap_err();
    let Reason::Full {
        threads: 7,
        capacity: 0,
        ..
    } = refused.reason()
    else {
        panic!("{refused}")
    };
}

#[test]
fn exe_05_threads_are_named_after_their_pool_and_counted_from_one() {
    let name = || std::thread::current().name().map(str::to_owned);
    for (pool_name, preset) in presets() {
        let pool = preset();
        let first = pool.submit(name).unwrap().join().unwrap();
        assert_eq!(first, Some(format!("{pool_name}-1")));
    }
    for _ in 0..2 {
        // Each pool counts its own.
        let pool = Pool::builder("own").core_threads(2).build().unwrap();
        assert_eq!(
            pool.submit(name).unwrap().join().unwrap().as_deref(),
            Some("own-1")
        );
        let _held = hold(&pool);
        meet(&pool, 1);
        assert_eq!(pool.stats().threads, 2);
    }
}

#[test]
fn exe_06_a_hundred_blocked_tasks_have_a_hundred_threads() {
    let pool = Pool::cached(100).unwrap();
    let meeting = Arc::new(Barrier::new(100));
    let tasks: Vec<_> = (0..100)
        .map(|number| {
            let meeting = meeting.clone();
            pool.submit(move || {
                meeting.wait();
                number
            })
            .unwrap()
        })
        .collect();
    assert_eq!((pool.stats().largest, pool.stats().threads_started), (100, 100));
    assert!(pool.close().terminated);
    for (number, task) in tasks.into_iter().enumerate() {
        assert!(task.wait_timeout(LONG), "it is there after close");
        assert_eq!(task.join().unwrap(), number);
    }
}
