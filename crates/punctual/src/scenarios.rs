//! Shuttle scenarios: whole pools under random and adversarial schedules.
//!
//! In: a scenario, `PUNCTUAL_SCHEDULES` (how many schedules, default 1 000, half random and half PCT with depth 3).
//! Out: a failing schedule is printed by shuttle with its seed; `PUNCTUAL_REPLAY` takes that text and replays it
//! alone. Loom searches the protocols exhaustively but small; this searches the pool as it is, but not exhaustively.

/// Annexes that are made, crowded, given up and closed at once.
mod apart;
/// Futures that are woken, cancelled and dropped while their pool ends.
mod awaited;
/// Pools that grow, shrink, refuse, wait and stand in for each other.
mod crowded;
/// Tasks that are moved between levels, or thrown out for others.
mod levelled;
/// Deques: thieves, cancels, pauses, resizes, ends.
mod stealing;
/// Times that come while somebody cancels, pauses, closes or stops.
mod timed;
mod viewed;

use crate::{Cancel, Pool, Queue, Stats, Status};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::time::Duration;

fn explore(scenario: impl Fn() + Send + Sync + Copy + 'static) {
    // The panics of tasks are part of the scenarios; shuttle prints its own report through the result.
    let schedules: usize = match std::env::var("PUNCTUAL_SCHEDULES") {
        Ok(text) => text.parse().expect("PUNCTUAL_SCHEDULES is a number"),
        Err(_) => 1_000,
    };
    if let Ok(schedule) = std::env::var("PUNCTUAL_REPLAY") {
        return shuttle::replay(scenario, &schedule);
    }
    shuttle::check_random(scenario, schedules.div_ceil(2));
    shuttle::check_pct(scenario, schedules.div_ceil(2), 3);
    println!("{schedules} schedules");
}

fn pool(threads: usize) -> Pool {
    Pool::builder("scenario")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .build()
        .expect("valid settings")
}

/// Every accepted task has one end, and nothing is left.
fn assert_all_settled(stats: &Stats) {
    let ends = stats.finished + stats.panicked + stats.cancelled + stats.expired + stats.returned;
    assert_eq!(stats.submitted, ends + stats.evicted, "{stats:?}");
    let left = (stats.queued, stats.active, stats.suspended, stats.threads);
    assert_eq!(left, (0, 0, 0, 0), "{stats:?}");
}

/// Counts how often a task ran and how often its closure was dropped.
#[derive(Clone, Default)]
struct Marks(Arc<(AtomicUsize, AtomicUsize)>);

impl Marks {
    fn runs(&self) -> usize {
        self.0.0.load(SeqCst)
    }
    fn drops(&self) -> usize {
        self.0.1.load(SeqCst)
    }
    /// A closure that counts its run, and whose drop is counted, run or not.
    fn closure(&self) -> impl FnOnce() -> usize + Send + 'static + use<> {
        struct OnDrop(Marks);
        impl Drop for OnDrop {
            fn drop(&mut self) {
                self.0.0.1.fetch_add(1, SeqCst);
            }
        }
        let guard = OnDrop(self.clone());
        move || guard.0.0.0.fetch_add(1, SeqCst)
    }
}

/// Two submitters and a closer: whatever was accepted has run when the pool has ended.
#[test]
fn submit_shutdown() {
    explore(|| {
        let pool = pool(2);
        let marks = Marks::default();
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let closure = marks.closure();
                    let handled = pool.submit(marks.closure()).is_ok();
                    usize::from(pool.execute(move || drop_value(closure())).is_ok()) + usize::from(handled)
                })
            })
            .collect();
        pool.shutdown();
        let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (accepted, 4));
        let stats = pool.stats();
        assert_eq!(
            (stats.submitted, stats.finished),
            (accepted as u64, accepted as u64)
        );
    });
}

fn drop_value(_: usize) {}

/// Submit, cancel and stop at once: every handle resolves, the six ends add up, nothing runs twice.
#[test]
fn submit_cancel_stop() {
    explore(|| {
        let pool = pool(1);
        let marks = Marks::default();
        let (other, theirs) = (pool.clone(), marks.clone());
        let submitter = thread::spawn(move || {
            let tasks: Vec<_> = (0..3)
                .filter_map(|_| other.submit(theirs.closure()).ok())
                .collect();
            let removed = tasks.first().map(super::TaskHandle::cancel);
            for task in tasks {
                let _ = task.join();
            }
            removed
        });
        let unrun = pool.stop();
        let removed = submitter.join().unwrap();
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_eq!(stats.submitted, stats.finished + stats.cancelled + stats.returned);
        assert_eq!(stats.returned, unrun.len() as u64);
        assert!(marks.runs() <= stats.submitted as usize);
        if removed == Some(Cancel::Removed) {
            assert!(stats.cancelled >= 1);
        }
        drop(unrun);
        assert_eq!(
            marks.drops(),
            3,
            "closures are gone: run, cancelled, refused or dropped with their Unrun"
        );
    });
}

/// A pool with one worker, a task that panics on it, and how often the sink was told.
fn failing() -> (Pool, crate::TaskHandle<u8>, Arc<AtomicUsize>) {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let sink = move |_: &crate::TaskInfo<'_>, _: crate::Outcome<'_>| {
        count.fetch_add(1, SeqCst);
    };
    let pool = Pool::builder("scenario")
        .core_threads(1)
        .on_failure(sink)
        .build()
        .unwrap();
    let task = pool.submit(|| -> u8 { panic!("part of the scenario") }).unwrap();
    (pool, task, told)
}

/// A task that panics, cancelled and awaited at once.
#[test]
fn panic_cancel_join() {
    silence_panics();
    explore(|| {
        let (pool, task, told) = failing();
        let watcher = task.task_ref();
        let canceller = thread::spawn(move || watcher.cancel());
        let error = task.join().unwrap_err();
        let cancel = canceller.join().unwrap();
        assert_eq!(
            error.is_panic(),
            cancel == Cancel::TooLate,
            "{cancel:?} and {error}"
        );
        let _ = pool.close();
        let stats = pool.stats();
        assert_eq!(stats.panicked, u64::from(error.is_panic()));
        assert_eq!(stats.cancelled, u64::from(!error.is_panic()));
        assert_eq!(told.load(SeqCst), 0, "somebody read it");
    });
}

/// A handle dropped while its task fails: the sink is told exactly once.
#[test]
fn unread_failure() {
    silence_panics();
    explore(|| {
        let (pool, task, told) = failing();
        drop(task);
        pool.execute(|| panic!("another")).unwrap();
        let _ = pool.close();
        assert_eq!(told.load(SeqCst), 2);
    });
}

/// The last owner goes inside a task, while another thread waits for a handle.
#[test]
fn owner_dropped_inside() {
    explore(|| {
        let pool = pool(2);
        let inner = pool.clone();
        let outer = pool.submit(move || drop(inner)).unwrap();
        let last = pool.submit(|| 7).unwrap();
        drop(pool);
        outer.join().unwrap();
        assert_eq!(last.join().unwrap(), 7);
    });
}

/// Drain, cancel and run compete for the same tasks.
#[test]
fn drain_cancel_run() {
    explore(|| {
        let pool = pool(1);
        let marks = Marks::default();
        let tasks: Vec<_> = (0..3).map(|_| pool.submit(marks.closure()).unwrap()).collect();
        let watcher = tasks[1].task_ref();
        let canceller = thread::spawn(move || (watcher.cancel(), watcher.status()));
        let unrun = pool.drain();
        let (cancel, status) = canceller.join().unwrap();
        assert_ne!(status, Status::Queued, "after {cancel:?}");
        let drained = unrun.len();
        for task in unrun {
            task.run().unwrap();
        }
        let ok = tasks.into_iter().filter_map(|task| task.join().ok()).count();
        let _ = pool.close();
        let stats = pool.stats();
        assert_eq!(stats.finished + stats.cancelled + stats.returned, 3);
        assert_eq!(stats.returned as usize, drained);
        assert_eq!(ok as u64, stats.finished);
        assert_eq!(marks.drops(), 3);
    });
}

/// Waiting for quiet while tasks come, go and are cancelled.
#[test]
fn wait_idle_cancel() {
    explore(|| {
        let pool = pool(2);
        let first = pool.submit(|| 1).unwrap();
        let second = pool.submit(|| 2).unwrap();
        let canceller = thread::spawn(move || drop((first.cancel(), second)));
        assert!(pool.wait_idle(Duration::MAX));
        let stats = pool.stats();
        assert_eq!((stats.queued, stats.active), (0, 0));
        canceller.join().unwrap();
    });
}

/// A task joins its child and is cancelled meanwhile: interrupted, or joined; nobody hangs.
#[test]
fn join_inside_is_interrupted() {
    explore(|| {
        let pool = pool(2);
        let inner = pool.clone();
        let parent = pool.submit(move || {
            // A pool that was closed behind the back of a cancelled task takes no more children.
            let Ok(child) = inner.submit(|| 7) else {
                return Ok(7);
            };
            child.join()
        });
        let parent = parent.unwrap();
        let watcher = parent.task_ref();
        let canceller = thread::spawn(move || watcher.cancel());
        let joined = parent.join();
        if canceller.join().unwrap() == Cancel::TooLate {
            assert_eq!(joined.unwrap().unwrap(), 7);
        } else {
            assert!(joined.unwrap_err().is_cancelled());
        }
        let _ = pool.close();
    });
}

/// A bounded queue never holds more than its bound, and gives every permit back.
#[test]
fn capacity_cancel() {
    explore(|| {
        let pool = Pool::builder("scenario")
            .core_threads(1)
            .queue(Queue::bounded(1))
            .build()
            .unwrap();
        let other = pool.clone();
        let producer = thread::spawn(move || other.submit(|| 1).map(|task| task.cancel()).is_ok());
        let mine = pool.submit(|| 2).is_ok();
        // One waits, and one may lie there for a worker that has not looked yet.
        assert!(pool.stats().queued <= 2);
        let theirs = producer.join().unwrap();
        assert!(mine || theirs, "one of them found the room empty");
        assert!(pool.wait_idle(Duration::MAX));
        assert!(pool.submit(|| 3).is_ok(), "every permit came back");
    });
}

fn silence_panics() {
    std::panic::set_hook(Box::new(|info| {
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or_default();
        if !["part of the scenario", "another"].contains(&text) {
            eprintln!("{info}");
        }
    }));
}
