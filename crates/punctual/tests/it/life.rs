//! The life of a pool, seen from outside: what each way of ending it promises (`LIFE-..`).
//!
//! Where a test speaks of time, time is a manual clock. Whoever waits then sits in a task of a second pool on that
//! clock, because `advance` waits for tasks and not for foreign threads: when it returns, each of them has either
//! ended or is asleep inside the library, and "it still waits" is a fact and no guess.

/// `close` and its kin, and the drop of the last owner: LIFE-11, LIFE-12, LIFE-15.
mod closing;
/// The states, in order and once: LIFE-01, LIFE-02, LIFE-09.
mod states;
/// `shutdown`, `stop`, `await_termination`, and who is told to stop: LIFE-03 to LIFE-08, LIFE-14.
mod stopping;

use crate::support::LONG;
use punctual::task::{self, Cancelled};
use punctual::{ManualClock, Pool, Queue, TaskHandle};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A pool of `threads` workers that goes by `clock`.
pub(crate) fn pool_on(clock: &ManualClock, threads: usize) -> Pool {
    Pool::builder("on a manual clock")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .clock(clock)
        .build()
        .expect("valid settings")
}

/// Returns when every task on the clock has ended or waits inside the library; no time passes.
pub(crate) fn settle(clock: &ManualClock) {
    clock.advance(Duration::ZERO);
}

/// A task that has begun.
pub(crate) fn begun<T: Send + 'static>(
    pool: &Pool,
    body: impl FnOnce() -> T + Send + 'static,
) -> TaskHandle<T> {
    let (begun, has_begun) = channel();
    let handle = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            body()
        })
        .expect("a pool with room");
    has_begun.recv().expect("the task runs");
    handle
}

/// A task that has begun and gives `value` once the sender is dropped.
pub(crate) fn running<T: Send + 'static>(pool: &Pool, value: T) -> (TaskHandle<T>, Sender<()>) {
    let (open, gate) = channel::<()>();
    let handle = begun(pool, move || {
        // An error is the signal: the gate's owner is gone.
        let _ = gate.recv();
        value
    });
    (handle, open)
}

/// A task that has begun and sleeps until it is told to stop; it gives the sleep's own answer.
pub(crate) fn listening(pool: &Pool) -> TaskHandle<Result<(), Cancelled>> {
    begun(pool, || task::sleep(LONG))
}

/// A task that makes a call, and what the call answers: a task that was told to stop has a handle without a value.
pub(crate) fn calling<R: Send + 'static>(
    pool: &Pool,
    call: impl FnOnce() -> R + Send + 'static,
) -> (TaskHandle<()>, Receiver<R>) {
    let (tell, answer) = channel();
    let caller = pool.submit(move || tell.send(call()).expect("the test waits for this"));
    (caller.expect("a pool with room"), answer)
}
