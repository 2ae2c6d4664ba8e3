//! A snapshot may be old, but it never contradicts itself: somebody looks all the time while tasks come to every end.
//!
//! `PUNCTUAL_SNAPSHOT_TASKS` sets the size.

use crate::support::{
    LONG, Random, assert_all_settled, assert_books_balance, env_number, hold, quiet_panic, until,
};
use punctual::{Cancel, Pool, Queue, Stats};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;

/// Counts that must never go down from one snapshot to the next.
fn never_falling(stats: &Stats) -> [u64; 5] {
    [
        stats.submitted,
        stats.taken,
        stats.returned,
        stats.threads_started,
        stats.parks,
    ]
}

#[test]
fn every_snapshot_balances_while_tasks_run_panic_and_are_cancelled() {
    let tasks = env_number("PUNCTUAL_SNAPSHOT_TASKS").unwrap_or(4_000);
    let mut random = Random::printed("snapshots");
    // The hook widens the moment between the end of a body and its being counted.
    let pool = Pool::builder("snapshots")
        .core_threads(2)
        .queue(Queue::unbounded())
        .after_task(|_, _| std::thread::yield_now())
        .build()
        .unwrap();
    let plain = Pool::fixed(2).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let samplers: Vec<_> = [pool.clone(), plain.clone()]
        .into_iter()
        .map(|pool| {
            let over = over.clone();
            std::thread::spawn(move || {
                let mut last = never_falling(&pool.stats());
                let mut samples = 0_u64;
                while !over.load(SeqCst) {
                    let stats = pool.stats();
                    assert_books_balance(&stats);
                    assert!(
                        stats.finished <= stats.taken && stats.panicked <= stats.taken,
                        "{stats:?}"
                    );
                    let now = never_falling(&stats);
                    assert!(
                        now.iter().zip(last).all(|(now, last)| *now >= last),
                        "{last:?} then {now:?}"
                    );
                    last = now;
                    samples += 1;
                }
                samples
            })
        })
        .collect();
    let mut running = Vec::new();
    for index in 0..tasks {
        let pool = if index % 2 == 0 { &pool } else { &plain };
        let panics = random.below(2) == 0;
        let body = move || {
            if panics {
                quiet_panic("while somebody looks");
            }
        };
        match random.below(4) {
            0 => pool.execute(body).unwrap(),
            1 => drop(pool.submit(body).unwrap()),
            _ => running.push(pool.submit(body).unwrap()),
        }
        if running.len() > 20 {
            for task in running.drain(..) {
                if random.below(2) == 0 {
                    task.cancel();
                }
            }
        }
        if random.below(500) == 0 {
            drop(pool.drain());
        }
    }
    drop(running);
    for pool in [&pool, &plain] {
        assert!(pool.wait_idle(LONG));
    }
    until("a few snapshots were taken", || {
        pool.stats().submitted + plain.stats().submitted == tasks
    });
    over.store(true, SeqCst);
    for sampler in samplers {
        assert!(sampler.join().expect("every snapshot balances") > 0);
    }
    assert_all_settled(&pool.stats());
    assert_all_settled(&plain.stats());
}

#[test]
fn a_snapshot_of_a_pool_in_which_everything_panics_counts_no_success() {
    let tasks = env_number("PUNCTUAL_SNAPSHOT_TASKS").unwrap_or(4_000) * 10;
    let pool = Pool::fixed(1).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let sampler = std::thread::spawn({
        let (pool, over) = (pool.clone(), over.clone());
        move || {
            while !over.load(SeqCst) {
                let stats = pool.stats();
                assert_books_balance(&stats);
                assert_eq!(stats.finished, 0, "{stats:?}");
            }
        }
    });
    for _ in 0..tasks {
        pool.execute(|| quiet_panic("always")).unwrap();
        if sampler.is_finished() {
            break;
        }
    }
    assert!(pool.wait_idle(LONG));
    over.store(true, SeqCst);
    sampler.join().expect("every snapshot says zero");
    assert_eq!(pool.stats().panicked, tasks);
}

#[test]
fn what_was_cancelled_and_what_came_back_never_falls_from_one_snapshot_to_the_next() {
    let rounds = env_number("PUNCTUAL_SNAPSHOT_TASKS").unwrap_or(4_000);
    let pool = Pool::fixed(1).unwrap();
    let _held = hold(&pool);
    let over = Arc::new(AtomicBool::new(false));
    let sampler = std::thread::spawn({
        let (pool, over) = (pool.clone(), over.clone());
        move || {
            let [mut cancelled, mut returned] = [0; 2];
            while !over.load(SeqCst) {
                let stats = pool.stats();
                assert_books_balance(&stats);
                assert!(
                    stats.cancelled >= cancelled,
                    "{cancelled} cancelled, then {}",
                    stats.cancelled
                );
                assert!(
                    stats.returned >= returned,
                    "{returned} returned, then {}",
                    stats.returned
                );
                [cancelled, returned] = [stats.cancelled, stats.returned];
            }
        }
    });
    for _ in 0..rounds {
        let tasks: Vec<_> = (0..20).map(|_| pool.submit(|| ()).unwrap()).collect();
        for task in &tasks[..5] {
            assert_eq!(task.cancel(), Cancel::Removed);
        }
        assert_eq!(pool.drain().len(), 15);
        if sampler.is_finished() {
            break;
        }
    }
    over.store(true, SeqCst);
    sampler.join().expect("no count is taken back");
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.returned), (5 * rounds, 15 * rounds));
}
