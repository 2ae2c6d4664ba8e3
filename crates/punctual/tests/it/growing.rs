//! A pool that grows, shrinks and is changed while it runs (`TPE-..`), and the presets (`EXE-..`).
//!
//! What a submission does to the number of threads and to the queue is exact in the moment it returns: such numbers are
//! asserted without waiting. Only when a worker takes a task is its own affair. Idle times pass on a manual clock.

/// Changing a running pool: TPE-05, TPE-06, TPE-14, TPE-15, TPE-17; `resize` and `set_capacity`.
mod changing;
/// What a snapshot says, and taking tasks out of the queue: TPE-26 to TPE-32.
mod counting;
/// No queue at all: TPE-12.
mod handoff;
/// Idle threads and when they leave: TPE-19 to TPE-22.
mod leaving;
/// `pause` and `resume`.
mod pausing;
/// The ready-made pools: EXE-01 to EXE-06.
mod presets;
/// What a builder takes and refuses: TPE-01 to TPE-04, TPE-07, TPE-11.
mod settings;
/// When a thread starts: TPE-08 to TPE-10, TPE-13, TPE-24, TPE-25.
mod starting;
/// Threads before the queue: `Growth::ThreadsFirst`.
mod threads_first;

use crate::support::{Held, hold, until};
use punctual::{Pool, PoolBuilder, Queue, Reason, Size, task};
use std::sync::{Arc, Barrier, Condvar, Mutex};
use std::time::Duration;

/// A builder with these sizes and this many places.
pub(crate) fn sized(core: usize, max: usize, places: usize) -> PoolBuilder {
    Pool::builder("grown")
        .core_threads(core)
        .max_threads(max)
        .queue(Queue::bounded(places))
}

/// A pool with these sizes and this many places.
pub(crate) fn pool(core: usize, max: usize, places: usize) -> Pool {
    sized(core, max, places).build().expect("valid settings")
}

pub(crate) fn size(core: usize, max: usize) -> Size {
    Size { core, max }
}

/// Holds this many workers, each inside a task.
pub(crate) fn hold_many(pool: &Pool, workers: usize) -> Vec<Held> {
    (0..workers).map(|_| hold(pool)).collect()
}

/// Blocks tasks until it is dropped; unlike [`hold`] it does not wait for them to begin.
#[derive(Default)]
pub(crate) struct Gate {
    open: Arc<(Mutex<bool>, Condvar)>,
}

impl Gate {
    /// A task that ends when the gate is dropped.
    pub(crate) fn task(&self) -> impl FnOnce() + Send + use<> {
        let open = self.open.clone();
        move || {
            let (is_open, changed) = &*open;
            let mut is_open = is_open.lock().expect("nobody panics here");
            while !*is_open {
                is_open = changed.wait(is_open).expect("nobody panics here");
            }
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let (is_open, changed) = &*self.open;
        *is_open.lock().expect("nobody panics here") = true;
        changed.notify_all();
    }
}

/// Live threads, running and waiting tasks, once that many run.
pub(crate) fn once_active(pool: &Pool, active: usize) -> (usize, usize, usize) {
    until("so many tasks run", || pool.stats().active == active);
    let stats = pool.stats();
    (stats.threads, stats.active, stats.queued)
}

/// Submits blocking tasks until one is refused for want of room; how many were accepted.
pub(crate) fn fill(pool: &Pool, gate: &Gate) -> usize {
    for accepted in 0.. {
        match pool.execute(gate.task()) {
            Ok(()) => assert!(accepted < 10_000, "there is no bound"),
            Err(refused) => {
                assert!(matches!(refused.reason(), Reason::Full { .. }), "{refused}");
                return accepted;
            }
        }
    }
    unreachable!("the numbers do not end")
}

/// Four threads offer this many blocking tasks each, all at once; how many were accepted.
pub(crate) fn let_in_when_racing(pool: &Pool, gate: &Gate, each: usize) -> usize {
    let start = Barrier::new(4);
    std::thread::scope(|scope| {
        let producer = || {
            start.wait();
            (0..each).filter(|_| pool.execute(gate.task()).is_ok()).count()
        };
        let producers = [(); 4].map(|()| scope.spawn(producer));
        producers.into_iter().map(|each| each.join().unwrap()).sum()
    })
}

/// How many threads there are after each of so many blocking tasks.
pub(crate) fn threads_after_each(pool: &Pool, gate: &Gate, tasks: usize) -> Vec<usize> {
    let submit = |_| {
        pool.execute(gate.task()).expect("a pool with room");
        pool.stats().threads
    };
    (0..tasks).map(submit).collect()
}

/// Runs this many tasks at the same time, and returns when they have ended: each had a thread of its own.
pub(crate) fn meet(pool: &Pool, tasks: usize) {
    let meeting = Arc::new(Barrier::new(tasks));
    let handles: Vec<_> = (0..tasks)
        .map(|_| {
            let meeting = meeting.clone();
            pool.submit(move || {
                meeting.wait();
            })
            .expect("a pool with room")
        })
        .collect();
    handles
        .into_iter()
        .for_each(|task| task.join().expect("it does not panic"));
}

/// A task that sleeps inside the library, so that a manual clock can be moved meanwhile.
pub(crate) fn nap(time: Duration) -> impl FnOnce() + Send {
    move || task::sleep(time).expect("nobody wakes it early")
}
