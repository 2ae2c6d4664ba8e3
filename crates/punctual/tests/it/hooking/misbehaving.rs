//! A decorator that does not run the task, runs it twice, or panics.

use super::{Steps, one_thread, small};
use crate::life::settle;
use crate::support::{Dropped, assert_all_settled, hold, quiet_panic};
use punctual::{Clock, ManualClock, Pool, Status, TaskHandle};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// A pool with one decorator, and what its hooks and its sink were told.
fn around(clock: &ManualClock, f: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> (Pool, Steps) {
    let steps = Steps::default();
    let (before, after, sink) = (steps.clone(), steps.clone(), steps.clone());
    let pool = one_thread(clock)
        .decorate(|| (), move |(), run| f(run))
        .before_task(move |_| before.add("before"))
        .after_task(move |_, outcome| after.add(format!("after {outcome:?}")))
        .on_failure(move |_, outcome| sink.add(format!("sink {outcome:?}")))
        .build()
        .unwrap();
    (pool, steps)
}

/// A task that has ended, and whose closure, which would note its run, is gone.
fn ended_without_its_closure(pool: &Pool, steps: &Steps) -> TaskHandle<()> {
    let drops = Arc::new(AtomicUsize::new(0));
    let (body, kept) = (steps.body(), Dropped(drops.clone()));
    let task = pool.submit(move || {
        body();
        drop(kept);
    });
    let task = task.unwrap();
    task.wait();
    assert_eq!(drops.load(SeqCst), 1, "the closure is gone");
    task
}

/// A context that panics when it is dropped.
struct Sharp;

impl Drop for Sharp {
    fn drop(&mut self) {
        quiet_panic("a context");
    }
}

#[test]
fn hook_07_a_task_that_is_not_run_is_cancelled() {
    let clock = Clock::manual();
    let (pool, steps) = around(&clock, |_| ());
    let task = ended_without_its_closure(&pool, &steps);
    assert_eq!(task.task_ref().status(), Status::Cancelled);
    assert!(task.join().unwrap_err().is_cancelled());
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Cancelled"]);
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Cancelled"]);
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.finished, stats.taken), (2, 0, 2));
    assert_eq!(stats.hook_panics, 0);
    assert_all_settled(&stats);
}

#[test]
fn hook_07_a_scoped_task_that_is_not_run_does_not_hold_the_brace() {
    let clock = Clock::manual();
    let (pool, steps) = around(&clock, |_| ());
    let mut sum = 0;
    let outcome = pool.scope(|scope| {
        scope.execute(|| sum += 1);
        scope.submit(|| 1).join()
    });
    assert!(outcome.unwrap_err().is_cancelled());
    assert_eq!(sum, 0);
    settle(&clock);
    assert_eq!(steps.take().len(), 4);
}

#[test]
fn hook_07_a_second_run_does_nothing() {
    let clock = Clock::manual();
    let (pool, steps) = around(&clock, |run| {
        run();
        run();
    });
    let body = steps.body();
    let task = pool
        .submit(move || {
            body();
            5
        })
        .unwrap();
    assert_eq!(task.join().unwrap(), 5);
    settle(&clock);
    assert_eq!(steps.take(), ["before", "body", "after Finished"]);
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.hook_panics), (1, 0));
    assert_all_settled(&stats);
}

#[test]
fn hook_07_a_panic_before_the_run_is_the_tasks_panic() {
    let clock = Clock::manual();
    let (pool, steps) = around(&clock, |_| quiet_panic("before the run"));
    let task = ended_without_its_closure(&pool, &steps);
    let error = task.join().unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: before the run");
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Panicked(before the run)"]);
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    assert_eq!(
        steps.take(),
        [
            "before",
            "after Panicked(before the run)",
            "sink Panicked(before the run)"
        ]
    );
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.finished, stats.threads_started), (2, 0, 1));
    assert_all_settled(&stats);
}

#[test]
fn hook_07_a_panic_after_the_run_is_counted_and_the_outcome_stays() {
    let clock = Clock::manual();
    let (pool, steps) = around(&clock, |run| {
        run();
        quiet_panic("after the run");
    });
    assert_eq!(pool.submit(|| 5).unwrap().join().unwrap(), 5);
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Finished"]);
    // The body's own panic is the one that counts.
    let fails: TaskHandle<()> = pool.submit(|| quiet_panic("its own")).unwrap();
    assert_eq!(
        fails.join().unwrap_err().to_string(),
        "the task panicked: its own"
    );
    settle(&clock);
    assert_eq!(steps.take(), ["before", "after Panicked(its own)"]);
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.panicked, stats.hook_panics), (1, 1, 2));
    assert_all_settled(&stats);
}

#[test]
fn hook_07_the_panic_of_a_body_does_not_pass_through_its_decorator() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let notes = steps.clone();
    let (pool, _) = around(&clock, move |run| {
        run();
        notes.add("left in order");
    });
    let fails: TaskHandle<()> = pool.submit(|| quiet_panic("contained")).unwrap();
    assert!(fails.join().unwrap_err().is_panic());
    settle(&clock);
    assert_eq!(steps.take(), ["left in order"]);
    assert_eq!(pool.stats().hook_panics, 0);
}

#[test]
fn hook_07_a_capture_that_panics_does_so_on_the_submitter_and_nothing_is_accepted() {
    let clock = Clock::manual();
    let pool = small(&clock)
        .decorate(|| -> () { quiet_panic("a capture") }, |(), run| run())
        .build()
        .unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    let job = || {
        let kept = Dropped(drops.clone());
        move || drop(kept)
    };
    let panics = |submit: &dyn Fn()| {
        let payload = catch_unwind(AssertUnwindSafe(submit)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"a capture"));
    };
    panics(&|| pool.execute(job()).unwrap());
    panics(&|| drop(pool.submit(job()).unwrap()));
    panics(&|| _ = pool.execute_all([job()]).unwrap());
    panics(&|| pool.scope(|scope| scope.execute(|| drop(job()))));
    assert_eq!(drops.load(SeqCst), 3, "no closure stays behind");
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.threads_started), (0, 0));
    assert!(pool.close().terminated);
}

#[test]
fn hook_07_a_context_whose_drop_panics_harms_nobody() {
    let clock = Clock::manual();
    let pool = small(&clock).decorate(|| Sharp, |_, run| run()).build().unwrap();
    assert_eq!(pool.submit(|| 5).unwrap().join().unwrap(), 5);
    let held = hold(&pool);
    let cancelled = pool.submit(|| ()).unwrap();
    let _ = cancelled.cancel();
    assert!(cancelled.join().unwrap_err().is_cancelled());
    drop(held);
    assert_eq!(pool.submit(|| 6).unwrap().join().unwrap(), 6);
    assert_eq!(pool.stats().threads_started, 1, "the worker lives");
}

#[test]
fn hook_07_a_decorator_and_its_context_may_panic_one_after_the_other() {
    let clock = Clock::manual();
    let pool = small(&clock)
        .decorate(|| Sharp, |_, _| quiet_panic("around"))
        .build()
        .unwrap();
    let fails: TaskHandle<()> = pool.submit(|| ()).unwrap();
    assert_eq!(fails.join().unwrap_err().to_string(), "the task panicked: around");
    settle(&clock);
    assert_eq!(pool.stats().threads_started, 1, "the worker lives");
}
