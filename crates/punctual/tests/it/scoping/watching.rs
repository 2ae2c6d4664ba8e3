//! Scopes and what surrounds a task: tokens, clocks, hooks, decorators, `Debug`.

use super::builder;
use crate::hooking::{CONTEXT, carrying_context};
use crate::life::{calling, pool_on, settle};
use crate::support::{Dropped, LONG, hold, in_time, single};
use punctual::{Clock, Outcome, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn scope_tasks_that_run_are_told_by_stop() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let subject = pool.clone();
    let caller = watcher
        .submit(move || subject.scope(|s| s.submit(|| task::sleep(HOUR).is_err()).join().unwrap()))
        .unwrap();
    settle(&clock);
    assert!(pool.stop().is_empty());
    assert!(
        in_time(|| caller.join().unwrap()),
        "it was told, and the value is there"
    );
}

#[test]
fn scope_brace_is_not_ended_by_the_token_of_its_task() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let (caller, told) = calling(&watcher, move || {
        let mut done = false;
        pool.scope(|s| s.execute(|| done = task::sleep(HOUR).is_ok()));
        done
    });
    settle(&clock);
    assert_eq!(caller.cancel(), punctual::Cancel::Signalled);
    settle(&clock);
    let early = told.try_recv();
    clock.advance(HOUR);
    assert!(early.is_err(), "the brace waits");
    assert!(told.recv_timeout(LONG).unwrap(), "and the child was not told");
}

#[test]
fn scope_join_is_ended_by_the_token_of_its_task_and_the_brace_waits_all_the_same() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let (caller, told) = calling(&watcher, move || {
        let mut done = false;
        let interrupted = pool.scope(|s| {
            let task = s.submit(|| done = task::sleep(HOUR).is_ok());
            task.join().unwrap_err().is_interrupted()
        });
        (interrupted, done)
    });
    settle(&clock);
    assert_eq!(caller.cancel(), punctual::Cancel::Signalled);
    clock.advance(HOUR);
    assert_eq!(told.recv_timeout(LONG).unwrap(), (true, true));
}

#[test]
fn scope_waits_by_a_manual_clock_on_spares_too() {
    let clock = Clock::manual();
    let pool = builder(1).spare_threads(1).clock(&clock).build().unwrap();
    let own = pool.clone();
    let caller = pool
        .submit(move || {
            let mut slept = false;
            own.scope(|s| {
                // Taken by the spare: this worker waits with a limit, and so runs nothing.
                let mut other = own.submit(|| ()).unwrap();
                let task = s.submit(|| slept = task::sleep(HOUR).is_ok());
                other.join_timeout(HOUR).unwrap();
                drop(task);
            });
            slept
        })
        .unwrap();
    clock.advance(HOUR - Duration::from_nanos(1));
    assert!(!caller.is_finished());
    clock.advance(HOUR);
    assert!(caller.join().unwrap());
}

#[test]
fn scope_tasks_have_hooks_decorators_and_tokens_like_any_other() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (log.clone(), log.clone());
    let pool = carrying_context(builder(1))
        .before_task(move |_| before.lock().unwrap().push("before"))
        .after_task(move |_, outcome| {
            after.lock().unwrap().push(match outcome {
                Outcome::Finished => "finished",
                _ => "other",
            });
        })
        .build()
        .unwrap();
    let (own, inner) = (pool.clone(), log.clone());
    let seen = |log: &Mutex<Vec<&'static str>>| {
        log.lock().unwrap().push(CONTEXT.get());
        assert!(task::current().is_some());
    };
    // From outside, then from its own worker (in place), then after shutdown (by the caller).
    CONTEXT.set("outside");
    pool.scope(|s| s.execute(|| seen(&inner)));
    pool.submit(move || {
        CONTEXT.set("inside");
        own.scope(|s| s.execute(|| seen(&inner)));
    })
    .unwrap()
    .join()
    .unwrap();
    assert!(pool.close().terminated);
    pool.scope(|s| s.execute(|| seen(&log)));
    assert_eq!(
        *log.lock().unwrap(),
        [
            "before", "outside", "finished", // a worker
            "before", "before", "inside", "finished", "finished", // in place
            "before", "outside", "finished", // the caller
        ]
    );
}

#[test]
fn scope_decorator_that_does_not_run_the_task_cancels_it() {
    let pool = builder(1).decorate(|| (), |(), _run| ()).build().unwrap();
    let drops = Arc::new(AtomicUsize::new(0));
    pool.scope(|s| {
        let captured = Dropped(drops.clone());
        let task = s.submit(move || drop(captured));
        assert!(task.join().unwrap_err().is_cancelled());
    });
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn scope_shows_what_is_pending() {
    let pool = single();
    let held = hold(&pool);
    let (scope, task, is_finished) = pool.scope(|s| {
        let task = s.submit(|| ());
        let seen = (format!("{s:?}"), format!("{task:?}"), task.is_finished());
        drop(held);
        task.join().unwrap();
        seen
    });
    assert_eq!(scope, "Scope(1 pending)");
    assert!(task.contains("Queued"), "{task}");
    assert!(!is_finished);
}
