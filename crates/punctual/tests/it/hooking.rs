//! Hooks and decorators round every task (`HOOK-..`).

/// Context captured at submission and put round the run: HOOK-07.
mod decorating;
/// A decorator that does not do as it should: HOOK-07.
mod misbehaving;
/// Holding the tasks back, and letting them go: HOOK-08.
mod pausing;
/// Before and after each task, and at the end of the pool: HOOK-01, HOOK-02, HOOK-04, HOOK-05.
mod telling;

use crate::life::settle;
use crate::support::{LONG, block_on, hold};
use punctual::{ManualClock, Pool, PoolBuilder, Queue, Reject};
use std::cell::Cell;
use std::sync::{Arc, Mutex};

/// One thread, one place, and a caller that runs what does not fit. On a manual clock, for [`settle`]: when that returns,
/// every worker has gone to rest. (`wait_idle` does not wait for the after hook: the task has been counted before.)
fn small(clock: &ManualClock) -> PoolBuilder {
    one_thread(clock)
        .queue(Queue::bounded(1))
        .on_full(Reject::CallerRuns)
}

/// One thread on a manual clock, the default queue.
fn one_thread(clock: &ManualClock) -> PoolBuilder {
    Pool::builder("hooked").core_threads(1).clock(clock)
}

thread_local! {
    /// What [`carrying_context`] takes along.
    pub(crate) static CONTEXT: Cell<&'static str> = const { Cell::new("none") };
}

/// A decorator that carries [`CONTEXT`] from the submitter to the run, and restores afterwards what was there.
pub(crate) fn carrying_context(builder: PoolBuilder) -> PoolBuilder {
    builder.decorate(
        || CONTEXT.get(),
        |context, run| {
            let outer = CONTEXT.replace(context);
            run();
            CONTEXT.set(outer);
        },
    )
}

/// A shared list of what happened.
#[derive(Clone, Default)]
struct Steps(Arc<Mutex<Vec<String>>>);

impl Steps {
    fn add(&self, step: impl Into<String>) {
        self.0.lock().unwrap().push(step.into());
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    /// A task that notes its run.
    fn body(&self) -> impl FnOnce() + Send + use<> {
        let steps = self.clone();
        move || steps.add("body")
    }
}

/// Runs one body in every way there is, each of them to its end, and calls `check` after each.
fn in_every_way(clock: &ManualClock, pool: &Pool, steps: &Steps, check: impl Fn(&str)) {
    let body = || steps.body();
    let ended = |way: &str| {
        settle(clock);
        check(way);
    };
    pool.execute(body()).unwrap();
    ended("execute");
    let (small, ballast) = (body(), [3_u8; 500]);
    let large = move || {
        assert_eq!(ballast, [3; 500]);
        small();
    };
    pool.execute(large).unwrap();
    ended("execute, a large closure");
    pool.execute_all([body()]).unwrap();
    ended("execute_all");
    pool.submit(body()).unwrap().join().unwrap();
    ended("submit");
    pool.submit_timeout(LONG, body()).unwrap().join().unwrap();
    ended("submit_timeout");
    block_on(pool.submit_async(body())).unwrap().join().unwrap();
    ended("submit_async");
    drop(pool.task(body()).name("named").submit().unwrap());
    ended("task.submit");
    pool.task(body()).execute().unwrap();
    ended("task.execute");
    let mut group = pool.group();
    group.submit(body()).unwrap();
    group.next().expect("one task").1.unwrap();
    ended("group");
    assert!(pool.all([body()]).unwrap()[0].is_ok());
    ended("all");
    let any = body();
    let any = move || {
        any();
        Ok::<(), ()>(())
    };
    pool.any([any]).unwrap();
    ended("any");
    pool.scope(|scope| scope.execute(|| steps.add("body")));
    ended("scope.execute");
    pool.scope(|scope| scope.submit(|| steps.add("body")).join())
        .unwrap();
    ended("scope.submit");
}

/// The same for tasks that find the pool full, and that their caller runs.
fn by_the_caller(clock: &ManualClock, pool: &Pool, steps: &Steps, check: impl Fn(&str)) {
    let held = hold(pool);
    let queued = pool.submit(|| ()).expect("one place is free");
    steps.take();
    pool.execute(steps.body()).unwrap();
    check("execute by the caller");
    pool.execute_all([steps.body()]).unwrap();
    check("execute_all by the caller");
    pool.submit(steps.body()).unwrap().join().unwrap();
    check("submit by the caller");
    drop(held);
    queued.join().unwrap();
    settle(clock);
    steps.take();
}
