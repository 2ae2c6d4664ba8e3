//! Threads of their own beside a pool's: `blocking()`, `reserve(n)`, and `task::blocking_section` (`KOT-..`, `PRI-10`).
//!
//! What blocks here is held at a gate or meets others at a barrier: a task that did not get its thread would hang.

/// `blocking()`: KOT-11, KOT-13 to KOT-16, KOT-32; trap 56.
mod blocking;
/// What a pool does, its annexes do: shutdown, stop, drain, pause, close, drop.
mod ending;
/// Statistics, names and clocks.
mod observing;
/// `reserve(n)`: KOT-31, PRI-10; trap 57.
mod reserving;
/// Places in the pool's queue, its policies, and the line: trap 60.
mod room;
/// `task::blocking_section`: trap 55.
mod sections;
/// Waits from one part to another.
mod waiting;

use crate::growing::Gate;
use crate::support::{Held, LONG, hold, in_time, until};
use punctual::{Executor, Pool, Queue, TaskHandle};
use std::sync::{Arc, Barrier};

/// A pool of this many threads, without a bound.
pub(crate) fn pool(threads: usize) -> Pool {
    Pool::builder("apart")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .build()
        .expect("valid settings")
}

/// Holds this many threads, each inside a task.
pub(crate) fn hold_many(on: &Executor, threads: usize) -> Vec<Held> {
    (0..threads).map(|_| hold(on)).collect()
}

/// So many tasks that block until the gate is dropped, running or not.
pub(crate) fn block_many(on: &Executor, gate: &Gate, tasks: usize) {
    for _ in 0..tasks {
        on.execute(gate.task()).expect("an executor with room");
    }
}

/// Tasks that all meet each other: each needs a thread of its own.
pub(crate) fn meeting(on: &Executor, tasks: usize) -> Vec<TaskHandle<()>> {
    let barrier = Arc::new(Barrier::new(tasks));
    let meet = |_| {
        let barrier = barrier.clone();
        on.submit(move || _ = barrier.wait())
            .expect("an executor with room")
    };
    (0..tasks).map(meet).collect()
}

/// Runs so many tasks at once, and fails, instead of hanging, if they are not.
pub(crate) fn meet(on: &Executor, tasks: usize) {
    let handles = meeting(on, tasks);
    in_time(move || {
        handles
            .into_iter()
            .for_each(|task| task.join().expect("it does not panic"));
    });
}

/// Waits until so many tasks of the pool and its annexes run.
pub(crate) fn once_active(pool: &Pool, active: usize) {
    until("so many tasks run", || pool.stats().active == active);
}

/// Waits for a result and fails, instead of hanging, if there is none.
pub(crate) fn value<T: Send + 'static>(mut task: TaskHandle<T>) -> T {
    task.join_timeout(LONG).expect("it runs, and in time")
}
