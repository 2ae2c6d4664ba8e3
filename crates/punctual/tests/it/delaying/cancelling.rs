//! A cancelled or removed task is gone at once: from the store, from the counts, and its closure from memory.

use super::{SECOND, at, books, pool};
use crate::life::{begun, settle};
use crate::support::{Dropped, LONG, assert_all_settled};
use punctual::{Cancel, Pool, Status, TaskHandle};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

#[test]
fn stpe_19_a_cancelled_task_is_gone_at_once() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = [0, 1].map(|_| Dropped(drops.clone()));
    let [by_delay, by_instant] = inside;
    let tasks = [
        pool.after(SECOND, move || drop(by_delay)).unwrap(),
        pool.at(at(1), move || drop(by_instant)).unwrap(),
    ];
    for task in &tasks {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    assert_eq!(drops.load(SeqCst), 2, "the closures have been dropped");
    let stats = books(&pool);
    assert_eq!(
        (stats.pending_timers, stats.cancelled, stats.submitted),
        (0, 2, 2)
    );
    clock.advance(2 * SECOND);
    for task in tasks {
        assert_eq!(task.cancel(), Cancel::TooLate);
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert_eq!(books(&pool).taken, 0);
}

#[test]
fn stpe_20_what_is_cancelled_leaves_nothing_behind() {
    let (pool, _clock) = pool(1);
    for round in 0..100_000_u32 {
        let task = pool.after(600 * SECOND, || ()).unwrap();
        assert_eq!(task.cancel(), Cancel::Removed);
        if round % 10_000 == 0 {
            assert_eq!(books(&pool).pending_timers, 0);
        }
    }
    let report = pool.close();
    assert_eq!((report.terminated, report.cancelled_delayed), (true, 0));
    let stats = pool.stats();
    assert_eq!((stats.taken, stats.finished, stats.cancelled), (0, 0, 100_000));
    assert_all_settled(&stats);
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
fn stpe_21_cancelling_two_of_five_leaves_three() {
    let (pool, clock) = pool(1);
    let tasks: Vec<_> = (1..=5)
        .map(|n| pool.after(n * SECOND, move || n).unwrap())
        .collect();
    assert_eq!(books(&pool).pending_timers, 5);
    for task in &tasks[1..3] {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    assert_eq!(books(&pool).pending_timers, 3, "without a purge");
    clock.advance(5 * SECOND);
    let stats = books(&pool);
    assert_eq!((stats.finished, stats.cancelled, stats.pending_timers), (3, 2, 0));
}

#[test]
fn stpe_23_a_waiting_task_can_be_removed_once_and_a_running_one_not() {
    let (pool, clock) = pool(1);
    let running = begun(&pool, || punctual::task::sleep(10 * SECOND));
    let waiting = pool.after(SECOND, || ()).unwrap();
    assert_eq!(books(&pool).pending_timers, 1, "the running one does not wait");
    assert!(waiting.task_ref().remove());
    assert!(!waiting.task_ref().remove());
    assert!(!running.task_ref().remove());
    assert_eq!(
        running.task_ref().status(),
        Status::Running,
        "and is not told to stop"
    );
    clock.advance(10 * SECOND);
    assert_eq!(running.join().unwrap(), Ok(()));
    assert!(waiting.join().unwrap_err().is_cancelled());
}

#[test]
fn dq_04_a_task_is_removed_whether_its_time_has_come_or_not() {
    let (pool, clock) = pool(1);
    let _busy = begun(&pool, || punctual::task::sleep(10 * SECOND));
    let overdue = pool.after(SECOND, || ()).unwrap();
    let delayed = pool.after(100 * SECOND, || ()).unwrap();
    clock.advance(5 * SECOND);
    for task in [&overdue, &delayed] {
        assert!(task.task_ref().remove());
        assert!(!task.task_ref().remove());
        assert_eq!(task.task_ref().status(), Status::Cancelled);
    }
    let stats = books(&pool);
    assert_eq!((stats.pending_timers, stats.queued, stats.cancelled), (0, 0, 2));
    clock.advance(100 * SECOND);
    assert_eq!(books(&pool).finished, 1, "the busy one");
}

#[test]
fn stpe_18_a_delayed_task_that_runs_is_signalled_and_may_finish() {
    let (pool, clock) = pool(1);
    let task = pool.after(SECOND, || punctual::task::sleep(10 * SECOND)).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(task.cancel(), Cancel::Signalled);
    settle(&clock);
    assert!(task.join().unwrap_err().is_cancelled());
    let stats = books(&pool);
    assert_eq!((stats.cancelled, stats.active, stats.finished), (1, 0, 0));
}

/// Whoever cancels does not hold the pool: it may end, and be freed, in the middle of it.
#[test]
fn cancels_from_many_threads_meet_the_drop_of_the_last_owner() {
    const THREADS: usize = 3;
    for round in 0..500_usize {
        let pool = Pool::builder("ends").core_threads(1).build().unwrap();
        let drops = Arc::new(AtomicUsize::new(0));
        let start = Arc::new(Barrier::new(THREADS + 1));
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                let held = Dropped(drops.clone());
                let mut tasks = vec![pool.after(600 * SECOND, move || drop(held)).unwrap()];
                tasks.extend((0..4).map(|_| pool.after(600 * SECOND, || ()).unwrap()));
                let start = start.clone();
                std::thread::spawn(move || {
                    start.wait();
                    let removed = tasks.iter().filter(|task| task.cancel() == Cancel::Removed);
                    let removed = removed.count();
                    for task in tasks {
                        assert!(task.join().unwrap_err().is_cancelled());
                    }
                    removed
                })
            })
            .collect();
        start.wait();
        // Before, between and after the cancels.
        (0..round % 7).for_each(|_| std::thread::yield_now());
        let report = pool.close();
        drop(pool);
        let removed: usize = threads.into_iter().map(|thread| thread.join().unwrap()).sum();
        assert!(report.terminated);
        assert_eq!(report.cancelled_delayed + removed, THREADS * 5, "each once");
        assert_eq!(drops.load(SeqCst), THREADS);
    }
}

/// Cancels what it holds when its thread ends.
struct CancelsAtTheEnd(TaskHandle<()>, Arc<AtomicUsize>);

impl Drop for CancelsAtTheEnd {
    fn drop(&mut self) {
        if self.0.cancel() == Cancel::Removed {
            self.1.fetch_add(1, SeqCst);
        }
    }
}

thread_local! {
    static EARLY: RefCell<Option<CancelsAtTheEnd>> = const { RefCell::new(None) };
    static LATE: RefCell<Option<CancelsAtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn a_delayed_task_can_be_cancelled_by_what_a_thread_leaves_behind() {
    let pool = Pool::fixed(1).unwrap();
    let removed = Arc::new(AtomicUsize::new(0));
    let [early, late, first] = [0; 3].map(|_| pool.after(600 * SECOND, || ()).unwrap());
    let counted = removed.clone();
    let thread = std::thread::spawn(move || {
        // One local is made before this thread cancels anything, one after: what the library keeps for the thread goes between.
        EARLY.set(Some(CancelsAtTheEnd(early, counted.clone())));
        assert_eq!(first.cancel(), Cancel::Removed);
        LATE.set(Some(CancelsAtTheEnd(late, counted)));
    });
    thread.join().unwrap();
    assert_eq!(removed.load(SeqCst), 2);
    let stats = books(&pool);
    assert_eq!((stats.pending_timers, stats.cancelled), (0, 3));
    assert!(pool.close().terminated);
}

/// A closure without anything to drop is over in one step, and its waiters are told in that: all of them, and once it is counted.
#[test]
fn whoever_waits_for_a_cancelled_delayed_task_is_told_and_finds_it_counted() {
    for with_drop in [false, true] {
        for _ in 0..200 {
            let pool = Pool::fixed(1).unwrap();
            let held = Dropped(Arc::new(AtomicUsize::new(0)));
            let mut task = if with_drop {
                pool.after(600 * SECOND, move || drop(held)).unwrap()
            } else {
                pool.after(600 * SECOND, || ()).unwrap()
            };
            let (waker, wakes) = counting_waker();
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut task).poll(&mut context).is_pending());
            let cancelling = task.task_ref();
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    task.wait();
                    pool.stats().cancelled_delayed
                });
                let canceller = scope.spawn(move || cancelling.cancel());
                assert_eq!(canceller.join().unwrap(), Cancel::Removed);
                assert_eq!(waiter.join().unwrap(), 1, "counted before it is told");
            });
            assert_eq!(wakes.load(SeqCst), 1);
            let Poll::Ready(Err(error)) = Pin::new(&mut task).poll(&mut context) else {
                panic!("it has ended")
            };
            assert!(error.is_cancelled());
        }
    }
}

struct Counting(Arc<AtomicUsize>);

impl Wake for Counting {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn counting_waker() -> (Waker, Arc<AtomicUsize>) {
    let wakes = Arc::new(AtomicUsize::new(0));
    (Arc::new(Counting(wakes.clone())).into(), wakes)
}

/// The last thread of such a pool stays for what it waits for, and for nothing else.
#[test]
fn stpe_19_a_thread_that_stayed_for_a_task_leaves_when_it_is_cancelled() {
    let clock = punctual::Clock::manual();
    let builder = Pool::builder("timed").core_threads(0).max_threads(1);
    let pool = builder.keep_alive(SECOND).clock(&clock).build().unwrap();
    let task = pool.after(3600 * SECOND, || ()).unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(pool.stats().threads, 1, "it waits for the hour");
    assert_eq!(task.cancel(), Cancel::Removed);
    // It gets up, and then has the usual time to leave; not an hour.
    let has_left = (0..100).any(|_| {
        clock.advance(SECOND);
        pool.stats().threads == 0
    });
    assert!(has_left);
}
