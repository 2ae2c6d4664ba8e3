//! Loom models of time: who watches the clock, and a moment that comes while somebody cancels, claims or closes.
//!
//! No time passes in a model. What is due at once is due from the start, what is an hour away never comes, and a sleep
//! until then ends by a call only: a call that is lost is a deadlock, which loom reports.

use super::AtShutdown;
use crate::models::model;
use crate::queue::Queue;
use crate::sync::Arc;
use crate::{Cancel, Pool, PoolBuilder, Schedule};
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::sync::{Condvar, Mutex};
use loom::thread;
use std::time::Duration;

const NOW: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);

/// So many workers, and no spare thread that could stand in for a leader.
fn builder(threads: usize) -> PoolBuilder {
    Pool::builder("model")
        .core_threads(threads)
        .spare_threads(0)
        .queue(Queue::unbounded())
}

/// What tasks wait for outside the library, so that nothing stands in for them.
#[derive(Default)]
struct Gate {
    is_open: Mutex<bool>,
    changed: Condvar,
}

impl Gate {
    fn open(&self) {
        *self.is_open.lock().unwrap() = true;
        self.changed.notify_all();
    }

    fn pass(&self) {
        let mut is_open = self.is_open.lock().unwrap();
        while !*is_open {
            is_open = self.changed.wait(is_open).unwrap();
        }
    }
}

/// How often a closure ran, and how often it was dropped.
#[derive(Clone, Default)]
struct Marks(Arc<(AtomicUsize, AtomicUsize)>);

struct OnDrop(Marks);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.0.1.fetch_add(1, SeqCst);
    }
}

impl Marks {
    fn closure(&self) -> impl FnMut() + Send + 'static {
        let guard = OnDrop(self.clone());
        move || _ = guard.0.0.0.fetch_add(1, SeqCst)
    }

    fn runs(&self) -> usize {
        self.0.0.load(SeqCst)
    }

    fn drops(&self) -> usize {
        self.0.1.load(SeqCst)
    }
}

/// The worker sleeps for a task that is far away, or is about to, when one comes that is due.
#[test]
fn an_earlier_timer_calls_the_leader() {
    model(2, || {
        let pool = builder(1).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        let near = pool.after(NOW, || 7).unwrap();
        assert_eq!(near.join().unwrap(), 7);
        drop(pool);
        assert!(far.join().unwrap_err().is_cancelled());
    });
}

/// The leader is called for a queued task that waits for a due one, which comes then: it resigns, and before it goes to work
/// it wakes the other worker to lead.
#[test]
fn leadership_is_passed_on() {
    // Three threads: with two preemptions this search takes many minutes.
    model(1, || {
        let pool = builder(2).prestart(true).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        // While this thread sleeps here the workers come to rest, one of them as the leader.
        pool.submit(|| ()).unwrap().join().unwrap();
        let gate = Arc::new(Gate::default());
        let inside = gate.clone();
        pool.execute(move || inside.pass()).unwrap();
        let near = pool.after(NOW, move || gate.open()).unwrap();
        near.join().unwrap();
        drop((pool, far));
    });
}

/// A cancel, and a worker that moves the task to the due room and takes it there: run, or removed, and dropped once.
#[test]
fn cancel_meets_the_moment() {
    model(2, || {
        let pool = builder(1).build().unwrap();
        let marks = Marks::default();
        let task = pool.after(NOW, marks.closure()).unwrap();
        let cancel = task.cancel();
        let joined = task.join();
        assert_eq!(joined.is_ok(), cancel == Cancel::TooLate);
        assert!(pool.close().terminated);
        assert_eq!(marks.runs(), usize::from(cancel != Cancel::Removed));
        assert_eq!(marks.drops(), 1);
        assert!(pool.engine().timers.looks_over());
    });
}

/// A pool that waits for a task that never comes due, and a canceller: the pool ends, and so does its sleeping leader.
#[test]
fn a_pool_that_closes_meets_its_timers() {
    for policy in [AtShutdown::Run, AtShutdown::Drop] {
        model(2, move || {
            let pool = builder(1).delayed_at_shutdown(policy).build().unwrap();
            let marks = Marks::default();
            let task = pool.after(HOUR, marks.closure()).unwrap();
            let watcher = task.task_ref();
            let canceller = thread::spawn(move || watcher.cancel());
            let report = pool.close();
            assert!(report.terminated);
            let cancel = canceller.join().unwrap();
            assert_eq!(report.cancelled_delayed, usize::from(cancel == Cancel::TooLate));
            assert!(policy == AtShutdown::Drop || cancel == Cancel::Removed);
            assert!(task.join().unwrap_err().is_cancelled());
            assert_eq!((marks.runs(), marks.drops()), (0, 1));
        });
    }
}

/// The end of a task's patience, seen to by whoever closes the pool, and a worker that takes the task.
#[test]
fn expiry_meets_the_claim() {
    model(2, || {
        let pool = builder(1).build().unwrap();
        let marks = Marks::default();
        let task = pool.task(marks.closure()).expires_in(NOW).submit().unwrap();
        assert!(pool.close().terminated);
        let joined = task.join();
        assert!(joined.as_ref().err().is_none_or(crate::JoinError::is_expired));
        assert_eq!((marks.runs(), marks.drops()), (usize::from(joined.is_ok()), 1));
        assert!(!pool.engine().timers.is_watched(), "no expiry is left behind");
    });
}

/// A task that is taken while the timer of its expiry is being made leaves no timer behind.
#[test]
fn a_claim_meets_an_expiry_that_is_set() {
    model(2, || {
        let pool = builder(1).build().unwrap();
        let task = pool.task(|| 7).expires_in(HOUR).submit().unwrap();
        assert_eq!(task.join().unwrap(), 7);
        assert!(pool.close().terminated);
        assert!(!pool.engine().timers.is_watched());
        assert_eq!(pool.engine().timers.book.lock().ticks.len(), 0);
    });
}

/// A schedule that ends by its plan or by a cancel: whoever waits for it hears of it, nothing runs after that, and its
/// body is dropped once.
#[test]
fn a_schedule_that_is_cancelled_meets_its_run() {
    model(2, || {
        let pool = builder(1).build().unwrap();
        let marks = Marks::default();
        let mut body = marks.closure();
        let schedule = pool.schedule(Schedule::with_delay(NOW).times(1), move |_| body());
        let schedule = schedule.unwrap();
        let cancel = schedule.cancel();
        schedule.wait();
        let runs = marks.runs();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (runs, 1), "it has ended");
        // Removed says that no run was in progress; the only one may have ended a moment before.
        assert!(runs == 1 || (runs == 0 && cancel == Cancel::Removed));
    });
}

/// The only worker goes to work for as long as a task behind it may wait: the keeper lets that one expire.
#[test]
fn a_limit_is_set_while_the_last_worker_goes_to_work() {
    model(2, || {
        let pool = builder(1).spare_threads(1).build().unwrap();
        let gate = Arc::new(Gate::default());
        let inside = gate.clone();
        pool.execute(move || inside.pass()).unwrap();
        let impatient = pool.task(|| ()).expires_in(NOW).submit().unwrap();
        assert!(impatient.join().unwrap_err().is_expired());
        gate.open();
        assert!(pool.close().terminated);
        assert_eq!(pool.engine().keepers(), 0);
    });
}

/// A leader has left the clock to its deputy and is at work for as long as another task has not run, whose time comes then:
/// whoever brings that wakes the deputy, or somebody sees it who is on the way to bed. (In the models a pool is brisk from the
/// start, and a deputy sleeps until its leader's time.)
#[test]
fn an_earlier_timer_calls_the_deputy() {
    model(1, || {
        let pool = builder(2).prestart(true).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        // While this thread sleeps here the workers come to rest, one of them as the leader and one as its deputy.
        pool.submit(|| ()).unwrap().join().unwrap();
        let gate = Arc::new(Gate::default());
        let inside = gate.clone();
        let waiting = pool.after(NOW, move || inside.pass()).unwrap();
        let opening = pool.after(NOW, move || gate.open()).unwrap();
        waiting.join().unwrap();
        opening.join().unwrap();
        drop((pool, far));
    });
}
