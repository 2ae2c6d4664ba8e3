//! Timers, expiries and limits give their memory back.

use super::{SLACK, alone, falls_back, live, number};
use crate::support::{LONG, full_size, gate_size, hold, until};
use punctual::{Cancel, Clock, Pool, Queue, Reject, Schedule, TaskHandle, task};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, SystemTime};

/// What a task leaves behind that has left the queue, or its timer, before its time came.
fn leaves_nothing(rounds: usize, what: &str, mut round: impl FnMut()) {
    // Once for what is set up once.
    round();
    let base = live();
    let mut most = 0;
    for _ in 0..rounds {
        round();
        most = most.max(live() - base);
    }
    assert!(
        most < SLACK,
        "{what}: {most} bytes more than at the beginning, after {rounds} rounds"
    );
}

/// Fault 16. Ten million live timers (in a build without optimisation fewer), half of them cancelled, the rest fired in
/// virtual time: none early, none lost, and the memory comes back.
#[test]
fn fault_16_millions_of_timers_are_neither_early_nor_lost_and_give_their_memory_back() {
    const INSTANTS: u64 = 2_000;
    let _alone = alone();
    let timers = number("PUNCTUAL_TIMERS", full_size(10_000_000, 200_000) as usize);
    let clock = Clock::manual_at(SystemTime::UNIX_EPOCH);
    let pool = Pool::builder("timers")
        .core_threads(2)
        .clock(&clock)
        .build()
        .unwrap();
    let (fired, early) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let state = Arc::new((clock.clone(), fired.clone(), early.clone()));
    let base = live();
    let mut random = 1_u64;
    let mut kept = Vec::with_capacity(timers / 2 + 1);
    let mut dropped = Vec::with_capacity(timers / 2 + 1);
    let lists = live() - base;
    for index in 0..timers {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        // Up to two hours, at a few thousand instants, so that many are due together.
        let due = Duration::from_millis((random >> 33) % INSTANTS * 3_600 + 1_000);
        let state = state.clone();
        let body = move || {
            let (clock, fired, early) = &*state;
            fired.fetch_add(1, Relaxed);
            let is_early = clock.now() < SystemTime::UNIX_EPOCH + due;
            early.fetch_add(u64::from(is_early), Relaxed);
        };
        let task = pool.after(due, body).unwrap();
        if index % 2 == 0 { &mut kept } else { &mut dropped }.push(task);
    }
    let peak = live() - base - lists;
    assert_eq!(pool.stats().pending_timers, timers);
    for task in dropped {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    assert_eq!(pool.stats().pending_timers, kept.len());
    let live_ones = kept.len();
    clock.advance(Duration::from_millis(999));
    assert_eq!(fired.load(Relaxed), 0);
    clock.advance(Duration::from_secs(2 * 3_600 + 2));
    assert_eq!((fired.load(Relaxed), early.load(Relaxed)), (live_ones as u64, 0));
    assert!(kept.iter().all(|task| task.is_finished()));
    drop(kept);
    let stats = pool.stats();
    assert_eq!((stats.pending_timers, stats.finished), (0, live_ones as u64));
    assert_eq!(stats.cancelled, (timers - live_ones) as u64);
    let bytes = peak / timers as i64;
    // A manual clock trims nothing while its pool lives.
    assert!(pool.close().terminated);
    drop((pool, state, clock));
    let took = falls_back(base, Duration::from_secs(15));
    println!("{timers} timers of {bytes} bytes each, back after {took:?}");
    assert!(bytes < 400, "{bytes} bytes for a timer with its task");
}

/// Fault 22. The expiry of a task that was taken, cancelled, drained, evicted or joined in place is gone with it.
#[test]
fn fault_22_expiries_that_are_not_needed_any_more_keep_no_memory() {
    const FAR: Duration = Duration::from_secs(3_600);
    const BATCH: usize = 100;
    let _alone = alone();
    let rounds = number("PUNCTUAL_CANCEL_TASKS", 200_000) / BATCH;
    let builder = |name: &str| {
        Pool::builder(name.to_owned())
            .core_threads(1)
            .queue(Queue::bounded(BATCH))
    };
    let pool = builder("expiries").build().unwrap();
    let submit = |pool: &Pool| -> Vec<TaskHandle<[u8; 100]>> {
        let submit = |_| {
            pool.task(|| [1; 100])
                .name("expires")
                .expires_in(FAR)
                .submit()
                .unwrap()
        };
        (0..BATCH).map(submit).collect()
    };
    leaves_nothing(rounds, "taken", || {
        for task in submit(&pool) {
            task.join().unwrap();
        }
    });
    let held = hold(&pool);
    leaves_nothing(rounds, "cancelled", || {
        for task in submit(&pool) {
            assert_eq!(task.cancel(), Cancel::Removed);
        }
    });
    leaves_nothing(rounds, "drained", || {
        let tasks = submit(&pool);
        assert_eq!(pool.drain().len(), BATCH);
        drop(tasks);
    });
    leaves_nothing(rounds, "detached and drained", || {
        for _ in 0..BATCH {
            pool.task(|| ()).expires_in(FAR).execute().unwrap();
        }
        assert_eq!(pool.drain().len(), BATCH);
    });
    let evicting = builder("evictions")
        .on_full(Reject::DiscardOldest)
        .build()
        .unwrap();
    let held_too = hold(&evicting);
    leaves_nothing(rounds, "evicted", || drop(submit(&evicting)));
    drop(held_too);
    drop(held);
    let inner = pool.clone();
    let in_place = pool.submit(move || {
        leaves_nothing(rounds, "joined in place", || {
            for task in submit(&inner) {
                task.join().unwrap();
            }
        });
    });
    in_place.unwrap().join().unwrap();
}

/// Fault 22. Delayed tasks, appointments and schedules that are cancelled, and limits of tasks that have ended.
#[test]
fn fault_22_cancelled_timers_and_limits_of_ended_tasks_keep_no_memory() {
    const FAR: Duration = Duration::from_secs(3_600);
    let _alone = alone();
    let rounds = number("PUNCTUAL_CANCEL_TASKS", 200_000) / 10;
    let pool = Pool::builder("timers")
        .core_threads(2)
        .on_slow(|_, _| ())
        .on_late(FAR, |_, _| ());
    let pool = pool.build().unwrap();
    leaves_nothing(rounds, "delayed", || {
        let sentinel = Arc::new([0_u8; 100]);
        let weak = Arc::downgrade(&sentinel);
        let task = pool
            .task(move || drop(sentinel))
            .name("far")
            .expires_in(FAR)
            .after(FAR)
            .unwrap();
        assert_eq!((task.cancel(), weak.strong_count()), (Cancel::Removed, 0));
    });
    leaves_nothing(rounds, "appointed", || {
        let task = pool.at(SystemTime::now() + FAR, || [0_u8; 100]).unwrap();
        assert!(task.task_ref().remove());
    });
    leaves_nothing(rounds, "repeating", || {
        let sentinel = Arc::new([0_u8; 100]);
        let weak = Arc::downgrade(&sentinel);
        let every = Schedule::every(FAR).starting_in(FAR).named("far");
        let every = pool.schedule(every, move |_| assert!(sentinel[0] == 0)).unwrap();
        assert_eq!((every.cancel(), weak.strong_count()), (Cancel::Removed, 0));
    });
    leaves_nothing(rounds, "limited", || {
        let task = pool.task(|| task::current().map(|task| task.token()));
        let task = task.time_limit(FAR).slow_after(FAR).submit().unwrap();
        assert!(task.join().unwrap().is_some());
    });
    leaves_nothing(rounds / 10, "due at once", || {
        let task = pool.task(|| ()).expires_in(FAR).after(Duration::ZERO).unwrap();
        task.join().unwrap();
    });
    assert_eq!(pool.stats().pending_timers, 0);
}

/// STPE-20, by the memory that is alive while they come and go. A million in the gate, elsewhere fewer: eleven bytes
/// that each leaves behind still show.
#[test]
fn stpe_20_a_million_delays_that_are_cancelled_keep_no_memory() {
    const FAR: Duration = Duration::from_secs(600);
    const AT_ONCE: usize = 100;
    let _alone = alone();
    let rounds = number("PUNCTUAL_CANCEL_TASKS", gate_size(1_000_000, 200_000) as usize) / AT_ONCE;
    let pool = Pool::builder("timers").core_threads(1).build().unwrap();
    leaves_nothing(rounds, "cancelled", || {
        let tasks: Vec<_> = (0..AT_ONCE).map(|_| pool.after(FAR, || ()).unwrap()).collect();
        for task in tasks {
            assert_eq!(task.cancel(), Cancel::Removed);
        }
    });
    let report = pool.close();
    assert_eq!((report.terminated, report.cancelled_delayed), (true, 0));
    assert_eq!((pool.stats().taken, pool.stats().finished), (0, 0));
}

/// KOT-35: an executor whose timers a sleep goes by keeps none of one that is given up.
#[test]
fn kot_35_a_sleep_that_is_cancelled_leaves_the_timers_of_its_pool() {
    const FAR: Duration = Duration::from_secs(3_600);
    const SLEEPERS: usize = 100_000;
    let _alone = alone();
    let pool = Pool::builder("sleepers")
        .core_threads(2)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let base = live();
    let sleepers: Vec<_> = (0..SLEEPERS)
        .map(|_| pool.spawn(punctual::future::sleep(FAR)).unwrap())
        .collect();
    until("all sleep", || pool.stats().suspended == SLEEPERS);
    for sleeper in &sleepers {
        assert_eq!(sleeper.cancel(), Cancel::Signalled);
    }
    assert!(pool.wait_idle(LONG));
    drop(sleepers);
    falls_back(base, LONG);
    assert_eq!(pool.stats().cancelled as usize, SLEEPERS);
}
