//! What becomes of delayed tasks at the end of a pool.

use super::{Notes, SECOND, at, books, builder, pool};
use crate::life::{begun, settle};
use crate::support::{Dropped, assert_all_settled, in_time};
use punctual::{AtShutdown, Cancel, Clock, Pool, Queue, Schedule, State, Status, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

#[test]
fn stpe_11_a_pool_without_core_threads_keeps_one_while_a_task_is_delayed() {
    let (builder, clock) = builder(0);
    let pool = builder.max_threads(1).keep_alive(SECOND).build().unwrap();
    let task = pool.after(600 * SECOND, || 1).unwrap();
    clock.advance(599 * SECOND);
    assert_eq!(pool.stats().threads, 1);
    clock.advance(SECOND);
    assert_eq!(task.join().unwrap(), 1);
    clock.advance(2 * SECOND);
    assert_eq!(pool.stats().threads, 0);
}

#[test]
fn stpe_11_a_pool_without_core_threads_runs_what_is_delayed_after_its_shutdown() {
    let (builder, clock) = builder(0);
    let builder = builder.max_threads(1).delayed_at_shutdown(AtShutdown::Run);
    let pool = builder.build().unwrap();
    let task = pool.after(Duration::from_millis(12), || 1).unwrap();
    pool.shutdown();
    clock.advance(Duration::from_millis(12));
    assert_eq!(task.join().unwrap(), 1);
    assert_eq!((pool.size().core, pool.state()), (0, State::Terminated));
}

#[test]
fn stpe_25_shutdown_may_wait_for_what_is_delayed() {
    let (builder, clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let tasks = [1, 2].map(|n| pool.after(n * SECOND, move || n).unwrap());
    pool.shutdown();
    assert!(pool.after(SECOND, || 2).unwrap_err().is_shutdown());
    assert!(!pool.await_termination(Duration::ZERO));
    assert_eq!(books(&pool).pending_timers, 2);
    clock.advance(SECOND);
    assert_eq!((books(&pool).finished, pool.state()), (1, State::Shutdown));
    clock.advance(SECOND);
    assert_eq!(pool.state(), State::Terminated);
    assert_eq!(tasks.map(|task| task.join().unwrap()), [1, 2]);
    assert_eq!(pool.close().cancelled_delayed, 0);
}

#[test]
fn stpe_26_shutdown_drops_what_is_delayed_and_says_how_much() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let tasks = [1, 2].map(|seconds| {
        let inside = Dropped(drops.clone());
        pool.after(seconds * SECOND, move || drop(inside)).unwrap()
    });
    let appointment = pool.at(at(5), || ()).unwrap();
    pool.shutdown();
    assert_eq!(drops.load(SeqCst), 2, "dropped before it returns");
    assert!(
        tasks
            .iter()
            .all(|task| task.task_ref().status() == Status::Cancelled)
    );
    assert!(appointment.join().unwrap_err().is_cancelled());
    let report = pool.close();
    assert_eq!((report.terminated, report.cancelled_delayed), (true, 3));
    clock.advance(3 * SECOND);
    for task in tasks {
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert_eq!(pool.stats().cancelled, 3);
    assert_all_settled(&pool.stats());
}

#[test]
fn stpe_27_what_is_due_when_the_pool_is_shut_down_runs_under_every_policy() {
    for policy in [AtShutdown::Drop, AtShutdown::Run] {
        let (builder, clock) = builder(1);
        let pool = builder.delayed_at_shutdown(policy).build().unwrap();
        let busy = begun(&pool, || task::sleep(10 * SECOND));
        let now = pool.after(Duration::ZERO, || 1).unwrap();
        let due = pool.after(SECOND, || 2).unwrap();
        let past = pool.at(at(0), || 3).unwrap();
        clock.advance(2 * SECOND);
        pool.shutdown();
        clock.advance(10 * SECOND);
        let ran = [now, due, past].map(|task| task.join().is_ok());
        assert_eq!(ran, [true; 3], "{policy:?}");
        busy.join().unwrap().unwrap();
        assert_eq!(pool.state(), State::Terminated);
    }
}

#[test]
fn stpe_30_a_policy_that_changes_after_the_shutdown_is_followed_at_once() {
    let (builder, _clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let task = pool.after(SECOND, || 1).unwrap();
    pool.shutdown();
    assert!(!task.is_finished());
    pool.set_delayed_at_shutdown(AtShutdown::Drop);
    assert!(task.is_finished());
    assert!(task.join().unwrap_err().is_cancelled());
    let report = pool.close();
    assert_eq!((report.terminated, report.cancelled_delayed), (true, 1));
}

#[test]
fn stpe_30_a_policy_that_changes_before_the_shutdown_counts_too() {
    let (pool, clock) = pool(1);
    pool.set_delayed_at_shutdown(AtShutdown::Run);
    let task = pool.after(SECOND, || 1).unwrap();
    pool.shutdown();
    clock.advance(SECOND);
    assert_eq!(task.join().unwrap(), 1);
}

#[test]
fn stpe_31_cancelled_tasks_do_not_hold_up_the_end() {
    let (builder, _clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let tasks: Vec<_> = (1..100)
        .map(|n| pool.after(n * 3_600 * SECOND, || ()).unwrap())
        .collect();
    for task in &tasks {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    let report = pool.close();
    assert_eq!((report.terminated, report.cancelled_delayed), (true, 0));
    assert_eq!(pool.stats().cancelled, 99);
}

#[test]
fn stpe_31_cancelling_the_last_delayed_task_ends_a_pool_that_waits_for_it() {
    let (builder, _clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let task = pool.after(SECOND, || ()).unwrap();
    pool.shutdown();
    assert_eq!(task.cancel(), Cancel::Removed);
    assert!(in_time(move || pool.close().terminated));
}

#[test]
fn life_06_stop_gives_delayed_tasks_back_under_every_policy_and_their_handles_say_cancelled() {
    for policy in [AtShutdown::Drop, AtShutdown::Run] {
        let (builder, clock) = builder(1);
        let builder = builder.delayed_at_shutdown(policy).repeating_at_shutdown(policy);
        let pool = builder.build().unwrap();
        let notes = Notes::default();
        let tasks: Vec<_> = (1..=3)
            .map(|n| pool.after(n * SECOND, notes.noting(n)).unwrap())
            .collect();
        let appointments: Vec<_> = (4..=6)
            .map(|n| pool.at(at(n.into()), notes.noting(n)).unwrap())
            .collect();
        let every = Schedule::every(SECOND).starting_in(SECOND);
        let schedules: Vec<_> = (7..=9)
            .map(|n| {
                let notes = notes.clone();
                pool.schedule(every.clone(), move |_| notes.add(n)).unwrap()
            })
            .collect();
        let unrun = pool.stop();
        assert_eq!(unrun.len(), 6, "one-shots come back, schedules are cancelled");
        assert!(schedules.iter().all(|schedule| schedule.is_finished()));
        for task in tasks.into_iter().chain(appointments) {
            assert_eq!(task.task_ref().status(), Status::Returned);
            assert!(task.join().unwrap_err().is_cancelled());
        }
        clock.advance(20 * SECOND);
        assert_eq!(notes.take(), [0_u32; 0]);
        for task in unrun {
            task.run().unwrap();
        }
        let mut ran = notes.take();
        ran.sort_unstable();
        assert_eq!(ran, [1, 2, 3, 4, 5, 6]);
        assert!(pool.close().terminated);
        let stats = books(&pool);
        assert_eq!((stats.returned, stats.cancelled, stats.schedules), (6, 0, 0));
    }
}

#[test]
fn rej_08_a_pool_refuses_delayed_work_after_its_shutdown_only() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::bounded(1)).build().unwrap();
    let _busy = begun(&pool, || task::sleep(SECOND));
    pool.execute(|| ()).unwrap();
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    for _ in 0..100 {
        drop(pool.after(SECOND, || ()).unwrap());
        drop(pool.at(at(1), || ()).unwrap());
        drop(pool.schedule(Schedule::every(SECOND), |_| ()).unwrap());
        drop(pool.schedule(Schedule::with_delay(SECOND), |_| ()).unwrap());
    }
    pool.shutdown();
    let refused = [
        pool.execute(|| ()).unwrap_err().is_shutdown(),
        pool.submit(|| ()).unwrap_err().is_shutdown(),
        pool.after(SECOND, || ()).unwrap_err().is_shutdown(),
        pool.at(at(1), || ()).unwrap_err().is_shutdown(),
        pool.schedule(Schedule::every(SECOND), |_| ())
            .unwrap_err()
            .is_shutdown(),
        pool.schedule(Schedule::with_delay(SECOND), |_| ())
            .unwrap_err()
            .is_shutdown(),
        pool.schedule_overlapping(Schedule::every(SECOND), 2, |_| ())
            .unwrap_err()
            .is_shutdown(),
    ];
    assert_eq!(refused, [true; 7]);
    let stats = books(&pool);
    assert_eq!((stats.rejected.shutdown, stats.rejected.full), (7, 1));
    clock.advance(2 * SECOND);
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn rej_08_capacity_covers_delayed_tasks_when_asked() {
    let (builder, clock) = builder(1);
    let builder = builder.queue(Queue::bounded(3)).capacity_covers_delayed(true);
    let pool = builder.build().unwrap();
    let busy = begun(&pool, || task::sleep(5 * SECOND));
    let delayed = [
        pool.after(10 * SECOND, || 1).unwrap(),
        pool.at(at(20), || 2).unwrap(),
    ];
    let queued = pool.submit(|| 3).unwrap();
    assert!(pool.after(SECOND, || ()).unwrap_err().is_full());
    assert!(pool.at(at(1), || ()).unwrap_err().is_full());
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    let schedule = pool.schedule(Schedule::every(SECOND).times(2), |_| ()).unwrap();
    clock.advance(8 * SECOND);
    assert!(
        busy.is_finished() && queued.is_finished() && schedule.is_finished(),
        "a schedule does not count"
    );
    assert_eq!(delayed[0].cancel(), Cancel::Removed);
    let again = [0, 1].map(|_| pool.after(SECOND, || ()).unwrap());
    assert!(
        pool.submit(|| ()).unwrap_err().is_full(),
        "two of now, one of before"
    );
    clock.advance(SECOND);
    assert!(again.iter().all(|task| task.is_finished()));
    assert!(pool.submit(|| ()).is_ok(), "what has run counts no more");
    settle(&clock);
    let stats = books(&pool);
    assert_eq!((stats.rejected.full, stats.pending_timers), (4, 1));
}

#[test]
fn rej_08_a_refused_closure_comes_back() {
    let (pool, _clock) = pool(1);
    pool.shutdown();
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let refused = pool.after(SECOND, move || drop(inside)).unwrap_err();
    assert_eq!(drops.load(SeqCst), 0);
    refused.into_task()();
    assert_eq!(drops.load(SeqCst), 1);
    let inside = Dropped(drops.clone());
    let refused = pool
        .schedule(Schedule::every(SECOND), move |_| _ = &inside)
        .unwrap_err();
    assert_eq!(drops.load(SeqCst), 1);
    drop(refused);
    assert_eq!(drops.load(SeqCst), 2);
}

#[test]
fn exe_02_every_preset_runs_delayed_and_repeating_work() {
    for pool in [
        Pool::fixed(2).unwrap(),
        Pool::single().unwrap(),
        Pool::cached(2).unwrap(),
    ] {
        let delayed = pool.after(Duration::from_millis(2), || 1).unwrap();
        let every = Schedule::every(Duration::from_millis(1)).times(3);
        let schedule = pool.schedule(every, |_| ()).unwrap();
        assert_eq!(delayed.join().unwrap(), 1);
        let waiting = schedule.clone();
        in_time(move || waiting.wait());
        assert_eq!((schedule.stats().runs, schedule.is_finished()), (3, true));
    }
}

#[test]
fn exe_02_a_limited_wait_on_a_busy_single_pool_ends() {
    let clock = Clock::manual_at(at(0));
    let pool = Pool::builder("busy")
        .core_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let waiters = crate::life::pool_on(&clock, 1);
    let _busy = begun(&pool, || task::sleep(100 * SECOND));
    let mut delayed = pool.after(SECOND, || 1).unwrap();
    let (_, answer) = crate::life::calling(&waiters, move || {
        delayed
            .join_timeout(50 * SECOND)
            .is_err_and(|error| error.is_timeout())
    });
    clock.advance(49 * SECOND);
    assert!(answer.try_recv().is_err());
    clock.advance(SECOND);
    assert!(answer.try_recv().unwrap());
    clock.advance(50 * SECOND);
    settle(&clock);
}

#[test]
fn exe_04_every_preset_has_timers_and_a_cached_one_keeps_a_thread_for_them() {
    let (builder, clock) = builder(0);
    let builder = builder.max_threads(4).queue(Queue::handoff());
    let pool = builder.keep_alive(60 * SECOND).build().unwrap();
    assert_eq!((pool.size().core, pool.size().max), (0, 4));
    let schedule = pool.schedule(Schedule::every(600 * SECOND), |_| ()).unwrap();
    clock.advance(3_600 * SECOND);
    assert_eq!(schedule.stats().runs, 7);
    assert_eq!(pool.stats().threads, 1, "while something is to come one stays");
    assert_eq!(schedule.cancel(), Cancel::Removed);
    clock.advance(120 * SECOND);
    assert_eq!(pool.stats().threads, 0);
}
