//! Cancelling: one of three answers, told at once, and never a second outcome.

use crate::life::{listening, running};
use crate::support::{Dropped, LONG, counting_waker, hold, poll_once, quiet_panic, single};
use punctual::task::{self, Cancelled, Token};
use punctual::{Cancel, Pool, Status, TaskRef};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::Poll;

#[test]
fn fut_04_a_task_cancelled_before_it_starts_never_runs() {
    let pool = single();
    let held = hold(&pool);
    let ran = Arc::new(AtomicBool::new(false));
    let body = || {
        let ran = ran.clone();
        move || ran.store(true, Ordering::Relaxed)
    };
    let by_handle = pool.submit(body()).unwrap();
    let by_ref = pool.submit(body()).unwrap();
    let removed = pool.submit(body()).unwrap();

    assert_eq!(by_handle.cancel(), Cancel::Removed);
    assert_eq!(by_ref.task_ref().cancel(), Cancel::Removed);
    assert!(removed.task_ref().remove());
    assert_eq!(pool.stats().queued, 0, "their places are free at once");
    for task in [by_handle, by_ref, removed] {
        assert!(task.is_finished());
        assert_eq!(task.task_ref().status(), Status::Cancelled);
        assert!(task.join().unwrap_err().is_cancelled());
    }
    drop(held);
    assert!(pool.close().terminated);
    assert!(!ran.load(Ordering::Relaxed));
    assert_eq!((pool.stats().finished, pool.stats().cancelled), (1, 3));
}

#[test]
fn fut_05_cancel_after_the_end_is_too_late_and_changes_nothing() {
    let pool = single();
    let finished = pool.submit(|| 7).unwrap();
    finished.wait();
    assert_eq!(finished.cancel(), Cancel::TooLate);
    assert_eq!(finished.task_ref().cancel(), Cancel::TooLate);
    assert_eq!(finished.task_ref().status(), Status::Finished);
    assert_eq!(finished.join().unwrap(), 7);

    let failed = pool.submit(|| quiet_panic("no luck")).unwrap();
    let _: &punctual::TaskHandle<()> = &failed;
    failed.wait();
    assert_eq!(failed.cancel(), Cancel::TooLate);
    assert!(failed.join().unwrap_err().is_panic());
}

#[test]
fn fut_05_a_second_cancel_is_too_late() {
    let pool = single();
    let busy = listening(&pool);
    let queued = pool.submit(|| ()).unwrap();
    assert_eq!(
        (queued.cancel(), queued.cancel()),
        (Cancel::Removed, Cancel::TooLate)
    );
    assert_eq!(
        (busy.cancel(), busy.cancel()),
        (Cancel::Signalled, Cancel::TooLate)
    );
    assert!(queued.join().unwrap_err().is_cancelled());
    assert!(busy.join().unwrap_err().is_cancelled());
    assert!(pool.close().terminated);
    assert_eq!(pool.stats().cancelled, 2, "each once");
}

/// Cancels, when it is dropped, the task it lies in.
struct CancelsItsTask {
    task: Arc<OnceLock<TaskRef>>,
    answer: Sender<Cancel>,
}

impl Drop for CancelsItsTask {
    fn drop(&mut self) {
        let task = self.task.get().expect("set before anything can drop this");
        self.answer.send(task.cancel()).expect("the test waits for this");
    }
}

#[test]
fn fut_05_a_cancel_in_the_middle_of_a_cancel_is_too_late() {
    let pool = single();
    let held = hold(&pool);
    let own = Arc::new(OnceLock::new());
    let (answer, answers) = channel();
    let inside = CancelsItsTask {
        task: own.clone(),
        answer,
    };
    let task = pool.submit(move || drop(inside)).unwrap();
    own.set(task.task_ref()).expect("once");

    // The first cancel drops the closure before it tells anyone; that drop is the second cancel.
    assert_eq!(task.cancel(), Cancel::Removed);
    assert_eq!(answers.recv(), Ok(Cancel::TooLate));
    assert!(task.join().unwrap_err().is_cancelled());
    drop(held);
}

#[test]
fn fut_05_cancel_is_too_late_while_the_after_hook_looks_at_a_panic() {
    let (looking, is_looking) = channel();
    let (open, gate) = channel::<()>();
    let gate = std::sync::Mutex::new(gate);
    let pool = Pool::builder("hooked")
        .core_threads(1)
        .after_task(move |_, _| {
            looking.send(()).expect("the test waits for this");
            let _ = gate.lock().unwrap().recv();
        })
        .build()
        .unwrap();
    let task = pool.submit(|| quiet_panic("no luck")).unwrap();
    let _: &punctual::TaskHandle<()> = &task;
    is_looking.recv().unwrap();
    assert!(!task.is_finished(), "the payload is not the handle's yet");
    assert_eq!(task.task_ref().status(), Status::Panicked);

    let answer = task.cancel();
    drop(open);
    assert_eq!(answer, Cancel::TooLate, "it had ended");
    assert!(task.join().unwrap_err().is_panic(), "the outcome is kept");
}

#[test]
fn fut_06_cancel_of_a_running_task_resolves_it_at_once_and_signals_its_body() {
    let pool = single();
    let (begun, has_begun) = channel();
    let (told, was_told) = channel();
    let (open, gate) = channel::<()>();
    let drops = Arc::new(AtomicUsize::new(0));
    let value = Dropped(drops.clone());
    let task = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            told.send(task::sleep(LONG)).expect("the test waits for this");
            let _ = gate.recv();
            value
        })
        .unwrap();
    has_begun.recv().unwrap();

    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(task.is_finished());
    assert_eq!(task.task_ref().status(), Status::Cancelled);
    assert_eq!(was_told.recv(), Ok(Err(Cancelled)), "its sleep ended");
    assert_eq!(pool.stats().active, 1, "and it still runs");
    assert!(task.join().unwrap_err().is_cancelled());

    drop(open);
    assert!(pool.close().terminated);
    assert_eq!(drops.load(Ordering::SeqCst), 1, "its later value was dropped");
    assert_eq!((pool.stats().finished, pool.stats().cancelled), (0, 1));
}

#[test]
fn fut_06_the_later_failure_of_a_cancelled_task_is_discarded() {
    let failures = Arc::new(AtomicUsize::new(0));
    let counter = failures.clone();
    let pool = Pool::builder("sink")
        .core_threads(1)
        .on_failure(move |_, _| {
            counter.fetch_add(1, Ordering::Relaxed);
        })
        .build()
        .unwrap();
    let (begun, has_begun) = channel();
    let task = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            let told = task::sleep(LONG);
            std::panic::resume_unwind(Box::new(told));
        })
        .unwrap();
    let _: &punctual::TaskHandle<()> = &task;
    has_begun.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(pool.close().terminated);
    assert!(task.join().unwrap_err().is_cancelled());
    assert_eq!((pool.stats().panicked, pool.stats().cancelled), (0, 1));
    assert_eq!(failures.load(Ordering::Relaxed), 0, "nobody misses it");
}

#[test]
fn fut_07_every_cancel_of_a_running_task_fires_its_token() {
    let pool = single();
    for by_ref in [false, true] {
        for asks_before in [false, true] {
            let (begun, has_begun) = channel();
            let (tell, told) = channel();
            let (open, gate) = channel::<()>();
            let own = || task::current().expect("inside a task").token();
            let task = pool
                .submit(move || {
                    let early = asks_before.then(own);
                    begun.send(()).expect("the test waits for this");
                    let _ = gate.recv();
                    tell.send(early.unwrap_or_else(own).is_cancelled())
                        .expect("the test waits for this");
                })
                .unwrap();
            has_begun.recv().unwrap();
            let answer = if by_ref {
                task.task_ref().cancel()
            } else {
                task.cancel()
            };
            assert_eq!(answer, Cancel::Signalled);
            drop(open);
            assert_eq!(
                told.recv(),
                Ok(true),
                "by reference: {by_ref}, asked before: {asks_before}"
            );
        }
    }
}

#[test]
fn fut_07_a_token_given_to_a_task_is_not_fired_by_its_cancel() {
    let pool = single();
    let given = Token::new();
    let (begun, has_begun) = channel();
    let (tell, told) = channel();
    let body = move || {
        begun.send(()).expect("the test waits for this");
        tell.send(task::sleep(LONG)).expect("the test waits for this");
    };
    let task = pool.task(body).token(&given).submit().unwrap();
    has_begun.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert_eq!(told.recv(), Ok(Err(Cancelled)), "its own token fired");
    assert!(!given.is_cancelled(), "and not the one that others share");
}

#[test]
fn fut_07_a_task_that_cancels_itself_is_not_signalled() {
    let pool = single();
    let own = Arc::new(OnceLock::<TaskRef>::new());
    let held = hold(&pool);
    let me = own.clone();
    let task = pool
        .submit(move || {
            let answer = me.get().expect("set before the worker was free").cancel();
            (
                answer,
                task::current().expect("inside a task").token().is_cancelled(),
            )
        })
        .unwrap();
    own.set(task.task_ref()).expect("once");
    drop(held);
    assert_eq!(task.join().unwrap(), (Cancel::TooLate, false));
}

#[test]
fn fut_08_whoever_awaits_a_task_is_woken_by_its_cancel() {
    let pool = single();
    let mut busy = listening(&pool);
    let mut queued = pool.submit(|| ()).unwrap();
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut busy, &waker).is_pending());
    assert_eq!(busy.cancel(), Cancel::Signalled);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "before cancel returned");
    assert!(matches!(poll_once(&mut busy, &waker), Poll::Ready(Err(error)) if error.is_cancelled()));
    queued.wait();

    let held = hold(&pool);
    queued = pool.submit(|| ()).unwrap();
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut queued, &waker).is_pending());
    assert_eq!(queued.cancel(), Cancel::Removed);
    assert_eq!(calls.load(Ordering::SeqCst), 1, "before cancel returned");
    assert!(matches!(poll_once(&mut queued, &waker), Poll::Ready(Err(error)) if error.is_cancelled()));
    drop(held);
}

#[test]
fn fut_14_an_outcome_is_fixed_by_the_first_and_ignores_the_second() {
    let pool = single();
    // First the end, then a cancel.
    let (first, open) = running(&pool, 7);
    drop(open);
    first.wait();
    assert_eq!(first.cancel(), Cancel::TooLate);
    assert_eq!(first.join().unwrap(), 7);

    // First a cancel, then the end: by a value, and by a panic.
    let (second, open) = running(&pool, 8);
    assert_eq!(second.cancel(), Cancel::Signalled);
    drop(open);
    let (begun, has_begun) = channel();
    let third = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            let _ = task::sleep(LONG);
            quiet_panic("too late");
        })
        .unwrap();
    let _: &punctual::TaskHandle<()> = &third;
    has_begun.recv().unwrap();
    assert_eq!(third.cancel(), Cancel::Signalled);
    assert!(pool.close().terminated, "both bodies have ended");
    assert_eq!(second.task_ref().status(), Status::Cancelled);
    assert!(second.join().unwrap_err().is_cancelled());
    assert!(third.join().unwrap_err().is_cancelled());
}

#[test]
fn fut_14_the_body_never_runs_after_the_outcome_is_fixed() {
    let pool = single();
    let held = hold(&pool);
    let ran = Arc::new(AtomicBool::new(false));
    let mark = ran.clone();
    let task = pool.submit(move || mark.store(true, Ordering::Relaxed)).unwrap();
    assert_eq!(task.cancel(), Cancel::Removed);
    assert!(
        pool.drain().is_empty() && pool.stop().is_empty(),
        "nobody gets it to run"
    );
    drop(held);
    assert!(pool.close().terminated);
    assert!(!ran.load(Ordering::Relaxed));
}
