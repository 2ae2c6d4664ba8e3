//! Who takes what next.

use super::{Log, gated, inside, pool, within};
use crate::support::{hold, in_time, until};
use punctual::Executor;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;

#[test]
fn kot_03_of_two_tasks_of_one_worker_the_second_runs_first() {
    let pool = pool(1);
    let log = Log::new();
    let (first, second) = (log.task("A"), log.task("B"));
    within(&pool, move |pool| {
        pool.execute(first).unwrap();
        pool.execute(second).unwrap();
    });
    let _ = pool.close();
    assert_eq!(log.read(), ["B", "A"]);
}

#[test]
fn kot_03_a_shared_task_waits_for_those_that_its_worker_has() {
    let pool = pool(1);
    let log = Log::new();
    let (first, second) = (log.task("A"), log.task("B"));
    within(&pool, move |pool| {
        pool.execute(first).unwrap();
        pool.task(second).shared().execute().unwrap();
    });
    let _ = pool.close();
    assert_eq!(log.read(), ["A", "B"]);
}

#[test]
fn kot_04_the_owner_takes_its_newest_first() {
    let pool = pool(1);
    let log = Log::new();
    let tasks: Vec<_> = (1..=4).map(|number| log.task(number)).collect();
    within(&pool, move |pool| {
        for task in tasks {
            pool.execute(task).unwrap();
        }
    });
    let _ = pool.close();
    assert_eq!(log.read(), [4, 3, 2, 1]);
}

/// Trap E63.
#[test]
fn kot_04_a_worker_with_tasks_of_its_own_looks_at_the_shared_queue_every_64th_turn() {
    fn go_on(pool: &Executor, is_seen: Arc<AtomicUsize>, turns: Arc<AtomicUsize>) {
        if is_seen.load(SeqCst) > 0 {
            return;
        }
        turns.fetch_add(1, SeqCst);
        pool.execute(move || go_on(&inside(), is_seen, turns)).unwrap();
    }
    let pool = pool(1);
    let (is_seen, turns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let held = hold(&pool);
    let (seen, counted) = (is_seen.clone(), turns.clone());
    pool.execute(move || go_on(&inside(), seen, counted)).unwrap();
    let seen = is_seen.clone();
    pool.execute(move || _ = seen.fetch_add(1, SeqCst)).unwrap();
    drop(held);
    // Not closed before: a pool that is shut down refuses the next turn, and would end the row by itself.
    until("it is seen", || is_seen.load(SeqCst) > 0);
    let _ = in_time(move || pool.close());
    assert!(turns.load(SeqCst) <= 64, "{turns:?}");
}

#[test]
fn kot_06_a_thief_takes_the_oldest() {
    let pool = pool(2);
    let log = Log::new();
    let tasks: Vec<_> = (1..=3).map(|number| log.task(number)).collect();
    // The other worker waits at the gate while this one fills its deque, and this one until the other has taken all.
    let (gate, has_begun, open) = gated();
    within(&pool, move |pool| {
        pool.execute(gate).unwrap();
        has_begun.recv().unwrap();
        for task in tasks {
            pool.execute(task).unwrap();
        }
        let (last, is_last) = channel();
        pool.execute(move || last.send(()).unwrap()).unwrap();
        drop(open);
        is_last.recv().unwrap();
    });
    assert_eq!(log.read(), [1, 2, 3]);
    let stats = pool.stats();
    assert_eq!(stats.steals, 5, "the gate, three, the last");
}

#[test]
fn kot_09_a_task_that_its_submitter_waits_for_busily_is_run_by_another() {
    let pool = pool(2);
    let (mine, theirs) = within(&pool, |pool| {
        let (tell, told) = channel();
        pool.execute(move || tell.send(std::thread::current().id()).unwrap())
            .unwrap();
        let theirs = loop {
            if let Ok(id) = told.try_recv() {
                break id;
            }
            std::thread::yield_now();
        };
        (std::thread::current().id(), theirs)
    });
    assert_ne!(mine, theirs);
}

#[test]
fn fjp_07_a_shared_submission_from_inside_does_not_go_to_the_deque() {
    let pool = pool(1);
    let own = pool.clone();
    let counts = within(&pool, move |executor| {
        let counts = || (own.stats().queued, own.stats().queued_local);
        executor.task(|| ()).shared().execute().unwrap();
        let shared = counts();
        executor.execute(|| ()).unwrap();
        [shared, counts()]
    });
    assert_eq!(counts, [(1, 0), (2, 1)]);
}

#[test]
fn fjp_07_statistics_tell_local_tasks_from_shared_ones() {
    let pool = pool(1);
    let own = pool.clone();
    let counts = within(&pool, move |executor| {
        executor.execute(|| ()).unwrap();
        executor.execute(|| ()).unwrap();
        executor.task(|| ()).shared().submit().map(drop).unwrap();
        let stats = own.stats();
        (stats.queued, stats.queued_local)
    });
    assert_eq!(counts, (3, 2));
    let _ = pool.close();
}

#[test]
fn what_comes_from_outside_is_taken_in_the_order_of_its_submitter() {
    let pool = pool(1);
    let log = Log::new();
    let held = hold(&pool);
    for number in 0..1000 {
        pool.execute(log.task(number)).unwrap();
    }
    drop(held);
    let _ = pool.close();
    assert!(log.read().is_sorted());
}

#[test]
fn run_next_goes_before_what_lies_in_the_deque() {
    let pool = pool(1);
    let log = Log::new();
    let (first, second, third) = (log.task(1), log.task(2), log.task(3));
    within(&pool, move |pool| {
        let oldest = pool.submit(first).unwrap();
        pool.execute(second).unwrap();
        pool.execute(third).unwrap();
        assert!(oldest.task_ref().run_next());
    });
    let stats = pool.stats();
    let _ = pool.close();
    assert_eq!(log.read(), [1, 3, 2]);
    assert_eq!(stats.submitted, 4);
}
