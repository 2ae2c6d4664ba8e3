//! Queues with levels: which task is taken next, under each rule (`PRI-..`, traps F65 to F67, fault 20).
//!
//! A [`Stepper`] takes one task at a time: each of its tasks pauses the pool before it ends. Its time is a manual clock.

/// Waiting makes urgent: PRI-04, PRI-05, F67.
mod aging;
/// Panics, close, stop: PRI-08.
mod closing;
/// Many tasks on two workers, counted: PRI-04, PRI-06, fault 20.
mod crowds;
/// A full queue: `EvictLower`, `DiscardOldest`.
mod evicting;
/// set_priority and run_next.
mod moving;
/// What the statistics say.
mod numbers;
/// Which level first, and who first inside it: PRI-01, PRI-02, PRI-03, F65, F66.
mod ordering;
/// Settings, refused ones, bounds.
mod settings;
/// Delayed tasks and schedules at a level.
mod timed;

use crate::support::LONG;
use punctual::{Clock, ManualClock, OnDrop, Pool, Priority, PriorityQueue, Queue};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const STEP: Duration = Duration::from_secs(1);
pub(crate) const NAMED: [Priority; 4] = [Priority::URGENT, Priority::HIGH, Priority::NORMAL, Priority::LOW];

/// A queue of the usual four levels.
fn queue() -> PriorityQueue {
    Queue::priority(100_000)
}

/// The same under each rule.
fn rules() -> [(&'static str, PriorityQueue); 3] {
    rules_of(100_000)
}

/// With so many places.
fn rules_of(places: usize) -> [(&'static str, PriorityQueue); 3] {
    let queue = || Queue::priority(places);
    [
        ("strict", queue().strict()),
        ("aging", queue().aging(STEP)),
        ("shares", queue().shares([50, 30, 15, 5])),
    ]
}

/// One worker.
fn pool(queue: PriorityQueue) -> Pool {
    Pool::builder("levels")
        .core_threads(1)
        .queue(queue)
        .build()
        .expect("valid settings")
}

/// Words in the order in which they were written.
#[derive(Clone, Default)]
struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T: Clone + Send + 'static> Log<T> {
    fn new() -> Self {
        Log(Arc::default())
    }

    /// A task that writes this word.
    fn writing(&self, word: T) -> impl FnOnce() + Send + 'static {
        let log = self.0.clone();
        move || log.lock().unwrap().push(word)
    }

    fn words(&self) -> Vec<T> {
        self.0.lock().unwrap().clone()
    }
}

/// A paused pool of one worker that takes one task at a time.
struct Stepper {
    pool: Pool,
    clock: ManualClock,
    tell: Sender<&'static str>,
    told: Receiver<&'static str>,
}

impl Stepper {
    fn new(queue: PriorityQueue) -> Self {
        let clock = Clock::manual();
        let pool = Pool::builder("levels")
            .core_threads(1)
            .queue(queue)
            .clock(&clock)
            .on_drop(OnDrop::Stop)
            .build()
            .expect("valid settings");
        pool.pause();
        let (tell, told) = channel();
        Stepper {
            pool,
            clock,
            tell,
            told,
        }
    }

    /// A task that pauses the pool and tells its name.
    fn body(&self, name: &'static str) -> impl FnOnce() + Send + 'static {
        let (pool, tell) = (self.pool.clone(), self.tell.clone());
        move || {
            pool.pause();
            // An error means that the test is over.
            let _ = tell.send(name);
        }
    }

    fn submit(&self, priority: Priority, name: &'static str) {
        let task = self.pool.task(self.body(name)).priority(priority);
        task.execute().expect("a queue with room");
    }

    /// Lets the worker take one.
    fn next(&self) -> &'static str {
        self.pool.resume();
        let name = self.told.recv_timeout(LONG).expect("a task waits");
        // Until it has ended, so that the clock may move.
        crate::support::until("the task has ended", || self.pool.stats().active == 0);
        name
    }
}

impl Drop for Stepper {
    /// What was not taken holds the pool.
    fn drop(&mut self) {
        drop(self.pool.stop());
    }
}
