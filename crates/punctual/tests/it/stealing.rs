//! Pools whose workers have deques and steal: `FJP-..`, `KOT-01` to `KOT-09`, `KOT-20`, `KOT-21`, traps E61 to E64.
//!
//! A worker that must not take anything more is held at a gate; who stole what is seen by thread or by statistics.

/// Capacity, policies and the line, with tasks that wait in deques.
mod bounded;
/// Shutdown, stop, drain, close: what lies in a deque is not forgotten.
mod ending;
/// `Executor::join`.
mod forking;
/// Levels and deques in one pool.
mod levelled;
/// Handles, statistics, pause, resize: a task in a deque is a task like any other.
mod living;
/// Who takes what next: KOT-03, KOT-04, KOT-06, KOT-09, FJP-07.
mod order;
/// Many tasks, each once: KOT-02, KOT-05, KOT-08; tasks that meet.
mod storms;

use crate::support::{LONG, in_time};
use punctual::{Capacity, Executor, Pool, Queue, task};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// A pool of this many threads whose workers steal, without a bound.
pub(crate) fn pool(threads: usize) -> Pool {
    with(threads, Queue::stealing(Capacity::Unbounded))
}

/// All threads are there from the start, as they are in a pool that has been at work.
pub(crate) fn with(threads: usize, queue: impl Into<Queue>) -> Pool {
    let pool = Pool::builder("steal")
        .core_threads(threads)
        .queue(queue.into())
        .build()
        .expect("valid settings");
    pool.prestart();
    pool
}

/// The pool of the task that calls.
pub(crate) fn inside() -> Executor {
    task::current_executor().expect("inside a task of a pool that is open")
}

/// Runs `f` inside a task of the pool, and gives what it returns; fails, instead of hanging.
pub(crate) fn within<R: Send + 'static>(
    pool: &Executor,
    f: impl FnOnce(&Executor) -> R + Send + 'static,
) -> R {
    let task = pool.submit(move || f(&inside())).expect("a pool with room");
    in_time(|| task.join().expect("it does not panic"))
}

/// A list to which tasks add their names.
#[derive(Clone, Default)]
pub(crate) struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone + Send + 'static> Log<T> {
    pub(crate) fn new() -> Self {
        Log(Arc::new(Mutex::new(Vec::new())))
    }

    /// A task that adds this.
    pub(crate) fn task(&self, name: T) -> impl FnOnce() + Send + 'static + use<T> {
        let log = self.clone();
        move || log.0.lock().unwrap().push(name)
    }

    pub(crate) fn read(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// A task that waits inside until its gate is dropped, and has said that it runs.
pub(crate) fn gated() -> (impl FnOnce() + Send + 'static, Receiver<()>, Sender<()>) {
    let (open, gate) = channel::<()>();
    let (begun, has_begun) = channel();
    let task = move || {
        begun.send(()).expect("the test waits for this");
        // An error is the signal: the gate's owner is gone.
        let _ = gate.recv_timeout(LONG);
    };
    (task, has_begun, open)
}
