//! Delayed tasks: never early, in order, really gone when cancelled (`STPE-..`), and what becomes of them at the end of a
//! pool (`LIFE-06`).

use crate::support::{LONG, assert_all_settled, hold};
use punctual::{AtShutdown, Cancel, Clock, ManualClock, Pool, PoolBuilder, Queue, Status};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

fn builder(threads: usize) -> (PoolBuilder, ManualClock) {
    let clock = Clock::manual();
    let builder = Pool::builder("delayed").core_threads(threads).clock(&clock);
    (builder, clock)
}

fn pool(threads: usize) -> (Pool, ManualClock) {
    let (builder, clock) = builder(threads);
    (builder.build().expect("valid settings"), clock)
}

#[test]
fn stpe_02_a_delayed_task_runs_at_its_time_and_not_before() {
    let (pool, clock) = pool(2);
    let task = pool.task(|| 7).name("later").after(3 * SECOND).unwrap();
    let watcher = task.task_ref();
    assert_eq!(
        (watcher.status(), watcher.name()),
        (Status::Delayed, Some("later"))
    );
    clock.advance(3 * SECOND - Duration::from_nanos(1));
    assert_eq!(
        (watcher.status(), pool.stats().pending_timers),
        (Status::Delayed, 1)
    );
    clock.advance(Duration::from_nanos(1));
    assert_eq!(task.join().unwrap(), 7);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.finished, stats.pending_timers), (1, 1, 0));
    assert_eq!((stats.lateness.count(), stats.queued), (1, 0));
}

#[test]
fn stpe_02_no_delay_at_all_runs_at_once() {
    let (pool, clock) = pool(1);
    let task = pool.after(Duration::ZERO, || 1).unwrap();
    clock.advance(Duration::ZERO);
    assert_eq!(task.join().unwrap(), 1);
}

#[test]
fn stpe_02_on_the_systems_clock_nothing_is_early_either() {
    let pool = Pool::fixed(2).unwrap();
    let begin = Instant::now();
    let delays = (0..200).map(|n| Duration::from_millis(n % 20));
    let tasks: Vec<_> = delays
        .map(|delay| (delay, pool.after(delay, Instant::now).unwrap()))
        .collect();
    for (delay, task) in tasks {
        assert!(task.join().unwrap() - begin >= delay);
    }
    assert_eq!(pool.stats().pending_timers, 0);
}

#[test]
fn stpe_08_equal_times_are_taken_in_the_order_of_submission_and_the_rest_is_known() {
    let (pool, clock) = pool(1);
    let order = Arc::new(Mutex::new(Vec::new()));
    for number in 0..1_000_u64 {
        let (millis, order) = (number * 7_919 % 100, order.clone());
        let note = move || order.lock().unwrap().push((millis, number));
        drop(pool.after(Duration::from_millis(millis), note).unwrap());
    }
    let last = pool.after(2 * SECOND, || ()).unwrap();
    assert_eq!(last.task_ref().remaining(), Some(2 * SECOND));
    clock.advance(SECOND);
    assert_eq!(last.task_ref().remaining(), Some(SECOND));
    let order = order.lock().unwrap();
    assert_eq!(order.len(), 1_000);
    assert!(order.is_sorted());
    clock.advance(2 * SECOND);
    assert_eq!(last.task_ref().remaining(), Some(Duration::ZERO));
    assert_eq!(pool.submit(|| ()).unwrap().task_ref().remaining(), None);
}

#[test]
fn stpe_10_an_absurd_delay_saturates() {
    let (pool, clock) = pool(1);
    let never = pool.after(Duration::MAX, || ()).unwrap();
    let soon = pool.after(SECOND, || 1).unwrap();
    clock.advance(SECOND);
    assert_eq!(soon.join().unwrap(), 1);
    assert_eq!(never.task_ref().status(), Status::Delayed);
    assert_eq!(never.cancel(), Cancel::Removed);
}

#[test]
fn stpe_19_a_cancelled_task_is_gone_at_once() {
    let (pool, clock) = pool(1);
    let held = Arc::new(());
    let inside = held.clone();
    let task = pool.after(SECOND, move || drop(inside)).unwrap();
    assert_eq!(task.cancel(), Cancel::Removed);
    assert_eq!(Arc::strong_count(&held), 1, "the closure has been dropped");
    let stats = pool.stats();
    assert_eq!(
        (stats.pending_timers, stats.cancelled, stats.submitted),
        (0, 1, 1)
    );
    clock.advance(2 * SECOND);
    assert!(task.join().unwrap_err().is_cancelled());
}

#[test]
fn stpe_20_cancels_that_race_the_time_lose_nothing() {
    let pool = Pool::fixed(2).unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..20_000_u64)
        .map(|number| {
            let runs = runs.clone();
            let body = move || runs.fetch_add(1, SeqCst);
            pool.after(Duration::from_micros(number % 5_000), body).unwrap()
        })
        .collect();
    let removed = tasks
        .iter()
        .step_by(3)
        .filter(|task| task.cancel() == Cancel::Removed)
        .count();
    let finished = tasks.into_iter().filter_map(|task| task.join().ok()).count();
    assert!(pool.wait_idle(LONG));
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.finished as usize), (20_000, finished));
    assert!(stats.cancelled as usize >= removed && runs.load(SeqCst) <= 20_000 - removed);
    assert_all_settled(&stats);
}

#[test]
fn stpe_26_shutdown_drops_what_is_delayed_and_says_how_much() {
    let (pool, clock) = pool(1);
    let tasks = [1, 2].map(|seconds| pool.after(seconds * SECOND, || ()).unwrap());
    let report = pool.close();
    assert!(report.terminated);
    assert_eq!(report.cancelled_delayed, 2);
    clock.advance(3 * SECOND);
    for task in tasks {
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert_all_settled(&pool.stats());
}

#[test]
fn stpe_25_shutdown_may_wait_for_what_is_delayed() {
    let (builder, clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let task = pool.after(SECOND, || 1).unwrap();
    pool.shutdown();
    assert!(pool.after(SECOND, || 2).unwrap_err().is_shutdown());
    assert!(!pool.await_termination(Duration::ZERO));
    clock.advance(SECOND);
    assert_eq!(task.join().unwrap(), 1);
    assert!(pool.close().terminated);
}

#[test]
fn stpe_30_a_policy_that_changes_after_the_shutdown_is_followed_at_once() {
    let (builder, _clock) = builder(1);
    let pool = builder.delayed_at_shutdown(AtShutdown::Run).build().unwrap();
    let task = pool.after(SECOND, || 1).unwrap();
    pool.shutdown();
    pool.set_delayed_at_shutdown(AtShutdown::Drop);
    assert!(task.join().unwrap_err().is_cancelled());
    assert!(pool.close().terminated);
}

#[test]
fn life_06_stop_gives_delayed_tasks_back_and_their_handles_say_cancelled() {
    let (pool, _clock) = pool(1);
    let runs = Arc::new(AtomicUsize::new(0));
    let inside = runs.clone();
    let task = pool.after(SECOND, move || inside.fetch_add(1, SeqCst)).unwrap();
    let unrun = pool.stop();
    assert!(task.join().unwrap_err().is_cancelled());
    assert_eq!(unrun.len(), 1);
    for task in unrun {
        task.run().unwrap();
    }
    assert_eq!(runs.load(SeqCst), 1);
    assert!(pool.close().terminated);
    assert_eq!(pool.stats().returned, 1);
}

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
fn two_tasks_that_are_due_together_can_meet() {
    let (pool, clock) = pool(2);
    let barrier = Arc::new(Barrier::new(2));
    let tasks =
        [barrier.clone(), barrier].map(|barrier| pool.after(SECOND, move || _ = barrier.wait()).unwrap());
    clock.advance(SECOND);
    for task in tasks {
        task.join().unwrap();
    }
}

#[test]
fn a_due_task_goes_before_the_backlog() {
    let clock = Clock::manual();
    let pool = Pool::builder("busy")
        .core_threads(1)
        .queue(Queue::unbounded())
        .clock(&clock)
        .build()
        .unwrap();
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = |text| {
        let order = order.clone();
        move || order.lock().unwrap().push(text)
    };
    let sleeper = pool.submit(|| punctual::task::sleep(2 * SECOND)).unwrap();
    pool.execute(note("backlog")).unwrap();
    let due = pool.after(SECOND, note("due")).unwrap();
    clock.advance(2 * SECOND);
    sleeper.join().unwrap().unwrap();
    due.join().unwrap();
    assert!(pool.wait_idle(LONG));
    assert_eq!(*order.lock().unwrap(), ["due", "backlog"]);
}

#[test]
fn a_task_that_waits_for_a_delayed_one_lets_a_spare_watch_the_clock() {
    let clock = Clock::manual();
    let pool = Pool::builder("one")
        .core_threads(1)
        .spare_threads(1)
        .clock(&clock)
        .build()
        .unwrap();
    let inner = pool.clone();
    let parent = pool
        .submit(move || inner.after(SECOND, || 5).unwrap().join().unwrap())
        .unwrap();
    clock.advance(SECOND);
    assert_eq!(parent.join().unwrap(), 5);
}

#[test]
fn a_held_pool_is_late_and_says_so() {
    let (pool, clock) = pool(1);
    let held = hold(&pool);
    let task = pool.after(SECOND, || 1).unwrap();
    assert_eq!(task.task_ref().status(), Status::Delayed);
    drop(held);
    clock.advance(5 * SECOND);
    assert_eq!(task.join().unwrap(), 1);
}
