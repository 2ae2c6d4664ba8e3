//! `all`, `any` and groups in front of a full pool, and from one of its own workers.

use super::LIMIT;
use crate::support::{assert_all_settled, hold, in_time, single, until};
use punctual::{Pool, Queue, TaskHandle};
use std::thread;

/// One worker, room for one.
fn narrow() -> Pool {
    Pool::builder("narrow")
        .core_threads(1)
        .spare_threads(0)
        .queue(Queue::bounded(1))
        .build()
        .expect("valid settings")
}

/// Runs `f` on the pool's only worker, with another task in the queue's only place.
fn on_its_own_full_worker<T: Send + 'static>(f: impl FnOnce(&Pool) -> T + Send + 'static) -> T {
    let pool = narrow();
    let own = pool.clone();
    let caller: TaskHandle<T> = pool
        .submit(move || {
            own.execute(|| ()).expect("one place");
            assert!(own.execute(|| ()).unwrap_err().is_full());
            f(&own)
        })
        .unwrap();
    let answer = in_time(move || caller.join().unwrap());
    assert_all_settled(&{
        assert!(pool.close().terminated);
        pool.stats()
    });
    answer
}

#[test]
fn inv_02_all_waits_for_room() {
    let pool = narrow();
    let held = hold(&pool);
    let subject = pool.clone();
    let caller = thread::spawn(move || subject.all((0..20).map(|n| move || n)).unwrap());
    until("the first waits", || pool.stats().queued == 1);
    drop(held);
    let values: Vec<i32> = caller.join().unwrap().into_iter().map(Result::unwrap).collect();
    assert!(values.into_iter().eq(0..20));
    assert_eq!(pool.stats().rejected.full, 0);
}

#[test]
fn inv_08_any_waits_for_room() {
    let pool = narrow();
    let held = hold(&pool);
    let subject = pool.clone();
    let caller =
        thread::spawn(move || subject.any((0..20).map(|n| move || if n == 19 { Ok(n) } else { Err(n) })));
    until("the first waits", || pool.stats().queued == 1);
    drop(held);
    assert_eq!(caller.join().unwrap().unwrap(), 19);
}

#[test]
fn inv_02_all_from_the_worker_of_a_full_pool_is_run_by_the_caller() {
    let (caller, others) = on_its_own_full_worker(|own| {
        let ids = own.all((0..3).map(|_| || thread::current().id())).unwrap();
        (
            thread::current().id(),
            ids.into_iter().map(Result::unwrap).collect::<Vec<_>>(),
        )
    });
    assert_eq!(others, [caller; 3]);
}

#[test]
fn inv_04_all_timeout_from_the_worker_of_a_full_pool_is_not_refused() {
    let values = on_its_own_full_worker(|own| {
        own.all_timeout(LIMIT, (0..3).map(|n| move || n))
            .map(|outcomes| outcomes.into_iter().map(Result::unwrap).collect::<Vec<i32>>())
            .map_err(|refused| refused.to_string())
    });
    assert_eq!(
        values,
        Ok(vec![0, 1, 2]),
        "only a pool that was shut down refuses"
    );
}

#[test]
fn inv_08_any_from_the_worker_of_a_full_pool_is_run_by_the_caller() {
    let value =
        on_its_own_full_worker(|own| own.any((0..3).map(|n| move || if n == 2 { Ok(n) } else { Err(n) })));
    assert_eq!(value.unwrap(), 2);
}

#[test]
fn inv_12_any_timeout_from_the_worker_of_a_full_pool_is_not_refused() {
    let value = on_its_own_full_worker(|own| {
        own.any_timeout(LIMIT, (0..3).map(|n| move || if n == 2 { Ok(n) } else { Err(n) }))
    });
    assert!(matches!(value, Ok(2)), "{value:?}");
}

#[test]
fn inv_02_all_from_the_only_worker_runs_them_in_place() {
    let pool = single();
    let own = pool.clone();
    let same = pool
        .submit(move || {
            let me = thread::current().id();
            let ids = own.all((0..10).map(|_| || thread::current().id())).unwrap();
            ids.into_iter().all(|id| id.unwrap() == me)
        })
        .unwrap();
    assert!(in_time(move || same.join().unwrap()));
    assert_eq!((pool.stats().submitted, pool.stats().threads_started), (11, 1));
}

#[test]
fn inv_08_any_from_the_only_worker_runs_them_in_place() {
    let pool = single();
    let own = pool.clone();
    let value = pool
        .submit(move || own.any((0..10).map(|n| move || if n == 5 { Ok(n) } else { Err(n) })))
        .unwrap();
    assert_eq!(in_time(move || value.join().unwrap()).unwrap(), 5);
}

#[test]
fn ecs_01_a_group_read_by_the_only_worker_runs_its_tasks_in_place_in_order() {
    let pool = single();
    let own = pool.clone();
    let order = pool
        .submit(move || {
            let mut group = own.group();
            for n in 0..10 {
                group.submit(move || (n, thread::current().id())).unwrap();
            }
            let me = thread::current().id();
            std::iter::from_fn(|| group.next())
                .map(|(_, outcome)| outcome.unwrap())
                .inspect(|(_, thread)| assert_eq!(*thread, me))
                .map(|(n, _)| n)
                .collect::<Vec<i32>>()
        })
        .unwrap();
    assert!(in_time(move || order.join().unwrap()).into_iter().eq(0..10));
}
