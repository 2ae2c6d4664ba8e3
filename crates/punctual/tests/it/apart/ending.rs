//! What ends, empties, pauses or waits for a pool does so with its annexes too.

use super::{block_many, hold_many, meet, once_active, pool, value};
use crate::growing::Gate;
use crate::support::{
    LONG, Random, assert_all_settled, assert_books_balance, hold, in_time, on_worker, until,
};
use punctual::{AtShutdown, Cancel, Clock, Executor, OnDrop, Pool, Schedule, State, task};
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Barrier};
use std::time::Duration;

/// The pool's own executor, its blocking one, and a reserve.
fn all_of(pool: &Pool) -> [Executor; 3] {
    [
        pool.executor(),
        pool.blocking().unwrap(),
        pool.reserve(1).unwrap(),
    ]
}

#[test]
fn apart_close_runs_everything_accepted_and_waits_for_it() {
    let ended = Arc::new(AtomicUsize::new(0));
    let told = Arc::new(AtomicUsize::new(0));
    let (count, seen) = (ended.clone(), told.clone());
    let pool = Pool::builder("apart")
        .core_threads(1)
        .on_terminated(move || _ = seen.fetch_add(count.load(SeqCst), SeqCst))
        .build()
        .unwrap();
    for executor in all_of(&pool) {
        for _ in 0..100 {
            let ended = ended.clone();
            executor.execute(move || _ = ended.fetch_add(1, SeqCst)).unwrap();
        }
    }
    assert!(pool.close().terminated);
    assert_eq!(ended.load(SeqCst), 300);
    assert_eq!(told.load(SeqCst), 300, "once, and after everything");
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.threads), (300, 0));
    assert_all_settled(&stats);
}

#[test]
fn apart_a_pool_terminates_after_its_annexes() {
    for which in 0..3 {
        let pool = pool(1);
        let held = hold(&all_of(&pool)[which]);
        pool.shutdown();
        assert_eq!(pool.state(), State::Shutdown);
        assert!(!pool.await_termination(Duration::ZERO));
        drop(held);
        assert!(pool.await_termination(LONG));
        assert_eq!(pool.state(), State::Terminated);
    }
}

#[test]
fn apart_close_joins_the_threads_of_annexes() {
    /// Dropped when its thread is nearly gone, some time after the pool knows of it.
    struct AtTheEnd(Arc<AtomicUsize>);
    impl Drop for AtTheEnd {
        fn drop(&mut self) {
            std::thread::yield_now();
            self.0.fetch_add(1, SeqCst);
        }
    }
    thread_local!(static END: Cell<Option<AtTheEnd>> = const { Cell::new(None) });
    for _ in 0..20 {
        let ended = Arc::new(AtomicUsize::new(0));
        let pool = pool(1);
        let executors = all_of(&pool);
        for executor in &executors {
            let end = AtTheEnd(ended.clone());
            value(executor.submit(|| END.set(Some(end))).unwrap());
        }
        assert!(pool.close().terminated);
        assert_eq!(ended.load(SeqCst), 3);
    }
}

#[test]
fn apart_stop_gives_back_what_waits_and_tells_what_runs() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(1)
        .build()
        .unwrap();
    let executors = all_of(&pool);
    let polite = |_: &Executor| task::sleep(Duration::MAX).is_err();
    let running: Vec<_> = executors
        .iter()
        .map(|executor| {
            let own = executor.clone();
            executor.submit(move || polite(&own)).unwrap()
        })
        .collect();
    once_active(&pool, 3);
    let waiting: Vec<_> = executors.iter().map(|each| each.submit(|| 1).unwrap()).collect();
    let delayed: Vec<_> = executors
        .iter()
        .map(|each| each.after(LONG, || 1).unwrap())
        .collect();
    let unrun = pool.stop();
    assert_eq!(unrun.len(), 6);
    assert!(running.into_iter().all(value), "their tokens fired");
    for task in waiting.into_iter().chain(delayed) {
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert!(pool.await_termination(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.returned), (3, 6));
    assert_all_settled(&stats);
}

#[test]
fn apart_drain_takes_out_what_waits_and_the_pool_goes_on() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(1)
        .build()
        .unwrap();
    let executors = all_of(&pool);
    let gate = Gate::default();
    for executor in &executors {
        block_many(executor, &gate, 3);
    }
    once_active(&pool, 3);
    assert_eq!(pool.drain().len(), 6);
    assert_eq!(pool.stats().queued, 0);
    drop(gate);
    for executor in &executors {
        assert_eq!(value(executor.submit(|| 1).unwrap()), 1);
    }
}

#[test]
fn apart_pause_holds_the_annexes_too_and_new_ones() {
    let clock = Clock::manual();
    let pool = Pool::builder("apart")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let mut executors = vec![pool.executor(), pool.reserve(1).unwrap()];
    value(executors[1].submit(|| ()).unwrap());
    pool.pause();
    executors.push(pool.blocking().unwrap());
    executors.push(pool.reserve(1).unwrap());
    let tasks: Vec<_> = executors.iter().map(|each| each.submit(|| 1).unwrap()).collect();
    // Everybody who could take one has looked.
    clock.advance(Duration::from_millis(1));
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.paused), (4, 0, true));
    assert!(tasks.iter().all(|task| !task.is_finished()));
    pool.resume();
    assert_eq!(tasks.into_iter().map(value).sum::<i32>(), 4);
}

#[test]
fn apart_pause_is_over_when_the_pool_closes() {
    let pool = pool(1);
    pool.pause();
    let tasks: Vec<_> = all_of(&pool)
        .iter()
        .map(|each| each.submit(|| 1).unwrap())
        .collect();
    assert!(pool.close().terminated);
    assert_eq!(tasks.into_iter().map(value).sum::<i32>(), 3);
}

#[test]
fn apart_wait_idle_waits_for_the_annexes() {
    for which in 0..3 {
        let pool = pool(1);
        let executors = all_of(&pool);
        let held = hold(&executors[which]);
        assert!(!pool.wait_idle(Duration::ZERO));
        let waits = {
            let pool = pool.clone();
            std::thread::spawn(move || pool.wait_idle(LONG))
        };
        drop(held);
        assert!(waits.join().unwrap());
    }
}

#[test]
fn apart_wait_idle_is_not_fooled_by_a_task_that_goes_from_one_to_the_other() {
    let pool = pool(1);
    let executors = all_of(&pool);
    let is_over = Arc::new(AtomicBool::new(false));
    fn hop(executors: [Executor; 3], left: usize, is_over: Arc<AtomicBool>) {
        let next = executors[left % 3].clone();
        if left == 0 {
            is_over.store(true, SeqCst);
        } else {
            next.execute(move || hop(executors, left - 1, is_over)).unwrap();
        }
    }
    for _ in 0..20 {
        is_over.store(false, SeqCst);
        let (all, over) = (executors.clone(), is_over.clone());
        executors[0].execute(move || hop(all, 200, over)).unwrap();
        assert!(pool.wait_idle(LONG));
        assert!(is_over.load(SeqCst), "it was still on its way");
    }
}

#[test]
fn apart_a_task_of_an_annex_that_waits_for_quiet_does_not_count_itself() {
    let pool = pool(1);
    let own = pool.clone();
    let quiet = pool.blocking().unwrap().submit(move || own.wait_idle(LONG));
    assert!(value(quiet.unwrap()));
}

#[test]
fn apart_close_from_a_task_of_an_annex_shuts_down_and_returns() {
    for which in 1..3 {
        let pool = pool(1);
        let own = pool.clone();
        let closed = all_of(&pool)[which].submit(move || own.close().terminated);
        assert!(!value(closed.unwrap()));
        assert!(pool.await_termination(LONG));
    }
}

#[test]
fn apart_the_last_owner_dropped_inside_a_task_of_an_annex_waits_for_nobody() {
    let told = Arc::new(Barrier::new(2));
    let end = told.clone();
    let pool = Pool::builder("apart")
        .on_terminated(move || _ = end.wait())
        .build()
        .unwrap();
    let blocking = pool.blocking().unwrap();
    let (go, gone) = std::sync::mpsc::channel();
    let own = pool.clone();
    blocking
        .execute(move || {
            gone.recv().unwrap();
            drop(own);
        })
        .unwrap();
    drop((pool, blocking));
    go.send(()).unwrap();
    in_time(move || _ = told.wait());
}

#[test]
fn apart_dropping_the_last_owner_runs_what_an_annex_has_accepted() {
    let ended = Arc::new(AtomicUsize::new(0));
    let pool = pool(1);
    for executor in all_of(&pool) {
        for _ in 0..50 {
            let ended = ended.clone();
            executor.execute(move || _ = ended.fetch_add(1, SeqCst)).unwrap();
        }
    }
    drop(pool);
    assert_eq!(ended.load(SeqCst), 150);
}

#[test]
fn apart_on_drop_stop_stops_the_annexes() {
    let pool = Pool::builder("apart").on_drop(OnDrop::Stop).build().unwrap();
    let task = pool
        .blocking()
        .unwrap()
        .submit(|| task::sleep(Duration::MAX).is_err());
    once_active(&pool, 1);
    drop(pool);
    assert!(value(task.unwrap()));
}

#[test]
fn apart_close_with_a_limit_stops_the_annexes() {
    let pool = pool(1);
    let task = pool
        .reserve(1)
        .unwrap()
        .submit(|| task::sleep(Duration::MAX).is_err())
        .unwrap();
    once_active(&pool, 1);
    let _ = pool.close_timeout(Duration::from_millis(1));
    assert!(value(task));
    assert!(pool.await_termination(LONG));
}

#[test]
fn apart_delayed_work_ends_by_the_pools_rules() {
    for (policy, runs) in [(AtShutdown::Drop, 0), (AtShutdown::Run, 3)] {
        let clock = Clock::manual();
        let pool = Pool::builder("apart").clock(&clock).build().unwrap();
        let executors = all_of(&pool);
        let ran = Arc::new(AtomicUsize::new(0));
        for executor in &executors {
            let ran = ran.clone();
            drop(executor.after(LONG, move || ran.fetch_add(1, SeqCst)).unwrap());
            drop(
                executor
                    .schedule(Schedule::every(LONG).starting_in(LONG), |_| ())
                    .unwrap(),
            );
        }
        pool.set_delayed_at_shutdown(policy);
        pool.shutdown();
        clock.advance(LONG);
        let report = pool.close();
        assert!(report.terminated);
        assert_eq!(ran.load(SeqCst), runs);
        assert_eq!(
            (report.cancelled_delayed, report.cancelled_repeating),
            (3 - runs, 3)
        );
    }
}

#[test]
fn apart_a_reserve_keeps_nobody_from_closing_while_its_tasks_block() {
    let pool = pool(2);
    let reserved = pool.reserve(2).unwrap();
    let held = hold_many(&reserved, 2);
    let closing = {
        let pool = pool.clone();
        std::thread::spawn(move || pool.close())
    };
    until("it is closed", || pool.state() >= State::Shutdown);
    assert!(reserved.execute(|| ()).is_err());
    drop(held);
    assert!(closing.join().unwrap().terminated);
}

#[test]
fn apart_annexes_made_while_the_pool_ends_lose_nothing() {
    let mut random = Random::printed("annexes_made_while_the_pool_ends");
    for _ in 0..100 {
        let pool = pool(1);
        let start = Barrier::new(3);
        let ran = Arc::new(AtomicUsize::new(0));
        let dawdles = [(); 3].map(|()| 1 + random.below(300));
        let (accepted, removed) = std::thread::scope(|scope| {
            let submit = |blocking: bool, dawdle: u64| {
                let (pool, start, ran) = (&pool, &start, &ran);
                scope.spawn(move || {
                    start.wait();
                    Random::from_seed(dawdle).dawdle(dawdle);
                    let mut accepted = Vec::new();
                    for _ in 0..10 {
                        let executor = if blocking {
                            pool.blocking()
                        } else {
                            pool.reserve(1)
                        };
                        let ran = ran.clone();
                        let task = executor.unwrap().submit(move || _ = ran.fetch_add(1, SeqCst));
                        accepted.extend(task);
                    }
                    accepted
                })
            };
            let producers = [submit(true, dawdles[0]), submit(false, dawdles[1])];
            start.wait();
            Random::from_seed(dawdles[2]).dawdle(dawdles[2]);
            pool.shutdown();
            let tasks: Vec<_> = producers
                .into_iter()
                .flat_map(|each| each.join().unwrap())
                .collect();
            let cancel = |(index, task): (usize, &punctual::TaskHandle<()>)| {
                index % 2 == 0 && task.cancel() == Cancel::Removed
            };
            let removed = tasks.iter().enumerate().filter(|each| cancel(*each)).count();
            (tasks.len(), removed)
        });
        assert!(pool.await_termination(LONG));
        assert_eq!(ran.load(SeqCst), accepted - removed);
        let stats = pool.stats();
        assert_eq!(stats.submitted, accepted as u64);
        assert_all_settled(&stats);
    }
}

#[test]
fn apart_books_balance_in_every_snapshot_while_annexes_come_and_go() {
    let pool = pool(2);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..150 {
                let reserved = pool.reserve(2).unwrap();
                for executor in [&reserved, &pool.blocking().unwrap(), &pool.executor()] {
                    for number in 0..10 {
                        let task = executor.submit(move || number * round).unwrap();
                        if number % 3 == 0 {
                            task.cancel();
                        }
                    }
                }
            }
            assert!(pool.wait_idle(LONG));
            is_over.store(true, SeqCst);
        });
        while !is_over.load(SeqCst) {
            assert_books_balance(&pool.stats());
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.submitted, 150 * 30);
    assert_all_settled(&stats);
}

#[test]
fn apart_meeting_in_an_annex_from_a_worker_needs_none_of_the_pools_threads() {
    let pool = pool(1);
    on_worker(&pool, |pool| {
        meet(&pool.blocking().unwrap(), 3);
    });
}
