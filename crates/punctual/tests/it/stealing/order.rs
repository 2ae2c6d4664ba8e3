//! Who takes what next.

use super::{Log, gated, inside, pool, within};
use crate::support::{LONG, hold};
use punctual::{Executor, Pool};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
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

/// A task that submits itself again and again until `is_over`; counts its turns.
fn go_on(pool: &Executor, is_over: Arc<AtomicBool>, turns: Arc<AtomicUsize>) {
    if is_over.load(SeqCst) {
        return;
    }
    turns.fetch_add(1, SeqCst);
    pool.execute(move || go_on(&inside(), is_over, turns)).unwrap();
}

/// How many turns of such a task, on a worker alone, lie between the starts of `count` tasks that `submit` puts in, and in which
/// order these come. It is called in a task, with the endless one still to be submitted.
pub(super) fn turns_between(
    pool: &Pool,
    count: usize,
    submit: impl Fn(&Executor, Box<dyn FnOnce() + Send>) + Send + 'static,
) -> Vec<(usize, usize)> {
    let (is_over, turns) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (tell, told) = channel();
    within(pool, move |pool| {
        for number in 0..count {
            let (turns, is_over, tell) = (turns.clone(), is_over.clone(), tell.clone());
            let task = move || {
                is_over.store(number + 1 == count, SeqCst);
                tell.send((number, turns.swap(0, SeqCst))).unwrap();
            };
            submit(pool, Box::new(task));
        }
        pool.execute(move || go_on(&inside(), is_over, turns)).unwrap();
    });
    let next = || told.recv_timeout(LONG).expect("each gets its turn");
    (0..count).map(|_| next()).collect()
}

/// Trap E63.
#[test]
fn kot_04_a_worker_with_tasks_of_its_own_looks_at_the_shared_queue_every_64th_turn() {
    let seen = turns_between(&pool(1), 10, |pool, task| {
        pool.task(task).shared().execute().unwrap();
    });
    assert!(seen[0].1 <= 63, "{seen:?}");
    let expected: Vec<_> = (1..10).map(|number| (number, 63)).collect();
    assert_eq!(seen[1..], expected);
}

/// Trap E63: nobody steals here.
#[test]
fn kot_04_a_worker_with_a_task_that_submits_itself_takes_its_oldest_every_64th_turn() {
    let seen = turns_between(&pool(1), 10, |pool, task| pool.execute(task).unwrap());
    assert!(seen[0].1 <= 63, "{seen:?}");
    let expected: Vec<_> = (1..10).map(|number| (number, 63)).collect();
    assert_eq!(seen[1..], expected);
}

/// Trap E63: what comes from outside and what has waited longest have turns of their own.
#[test]
fn kot_04_neither_the_shared_queue_nor_the_oldest_waits_for_the_other() {
    let is_shared = AtomicBool::new(false);
    let seen = turns_between(&pool(1), 20, move |pool, task| {
        if is_shared.fetch_not(SeqCst) {
            pool.task(task).shared().execute().unwrap();
        } else {
            pool.execute(task).unwrap();
        }
    });
    assert!(seen[0].1 <= 63, "{seen:?}");
    assert!(seen[1..].iter().all(|(_, turns)| *turns == 31), "{seen:?}");
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
