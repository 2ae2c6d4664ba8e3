//! [`Pool`]: the owner of an engine.

use super::builder::PoolBuilder;
use super::handle::TaskHandle;
use super::unrun::Unrun;
use crate::base::errors::{ConfigError, Rejected};
use crate::base::settings::Capacity;
use crate::engine::lifecycle::OwnerShare;
use crate::engine::reject::Reject;
use crate::engine::{Engine, threads};
use crate::sync::Arc;
use crate::task::context::is_worker_of;
use crate::task::runnable::{make_detached, make_joinable};
use std::fmt;
use std::time::Duration;

/// A pool of threads with one queue. The last owner to go shuts it down; its tasks are run all the same.
#[derive(Clone)]
pub struct Pool {
    owner: OwnerShare,
}

impl Pool {
    /// So many threads and a queue without a bound. Threads are started as tasks come.
    ///
    /// # Errors
    /// If `threads` is 0, or larger than can be counted.
    pub fn fixed(threads: usize) -> Result<Pool, ConfigError> {
        Pool::builder("pool")
            .core_threads(threads)
            .max_threads(threads)
            .build()
    }

    /// As [`Pool::fixed`], with a queue that holds so many tasks.
    ///
    /// # Errors
    /// As there, and if `capacity` is 0.
    pub fn bounded(threads: usize, capacity: usize) -> Result<Pool, ConfigError> {
        Pool::builder("pool")
            .core_threads(threads)
            .max_threads(threads)
            .capacity(Capacity::Bounded(capacity))
            .build()
    }

    /// A pool with settings of its own.
    pub fn builder(name: impl Into<String>) -> PoolBuilder {
        PoolBuilder::new(name.into())
    }

    pub(super) fn new(engine: Arc<Engine>) -> Pool {
        Pool {
            owner: OwnerShare::new(engine),
        }
    }

    /// Runs a closure on a thread of the pool.
    ///
    /// # Errors
    /// The closure comes back if the pool is full or shut down.
    #[inline]
    pub fn execute<F>(&self, f: F) -> Result<(), Rejected<F>>
    where
        F: FnOnce() + Send + 'static,
    {
        let engine = self.owner.engine();
        let (task, receipt) = make_detached(engine.scheduler(), f);
        match engine.submit(task) {
            Ok(()) => {
                receipt.accepted();
                Ok(())
            }
            Err((task, reason)) => Err(Rejected::new(receipt.take_back(task), reason)),
        }
    }

    /// Runs a closure on a thread of the pool; its result comes through the handle.
    ///
    /// # Errors
    /// The closure comes back if the pool is full or shut down.
    #[inline]
    pub fn submit<F, T>(&self, f: F) -> Result<TaskHandle<T>, Rejected<F>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let engine = self.owner.engine();
        let (task, receipt) = make_joinable(engine.scheduler(), f);
        match engine.submit(task) {
            Ok(()) => Ok(TaskHandle::new(receipt.accepted())),
            Err((task, reason)) => Err(Rejected::new(receipt.take_back(task), reason)),
        }
    }

    #[cfg(all(test, loom))]
    pub(crate) fn engine(&self) -> &crate::sync::Arc<Engine> {
        self.owner.engine()
    }

    /// Changes the sizes. Threads beyond the new largest size leave: idle ones now, the others after their task. A raised core size
    /// starts threads for the tasks that wait.
    ///
    /// # Errors
    /// If the sizes do not go together; then nothing is changed.
    pub fn resize(&self, core: usize, max: usize) -> Result<(), ConfigError> {
        threads::resize(self.owner.engine(), core, max)
    }

    /// Starts the core threads that are missing. Answers how many were.
    pub fn prestart(&self) -> usize {
        threads::start_core(self.owner.engine(), usize::MAX)
    }

    /// The policy for the next task that does not fit.
    pub fn set_on_full(&self, reject: Reject) {
        self.owner.engine().lifecycle.set_reject(reject);
    }

    /// How many threads there are, with those that are being started.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.owner.engine().queue.tail().gate.threads
    }

    /// How many submitters wait for room.
    #[must_use]
    pub fn waiting_submitters(&self) -> usize {
        self.owner.engine().queue.tail().gate.line_len()
    }

    /// How many tasks wait.
    #[must_use]
    pub fn queued(&self) -> usize {
        self.owner.engine().queue.len()
    }

    /// Refuses new tasks from now on; those that wait are run.
    pub fn shutdown(&self) {
        self.owner.engine().shutdown();
    }

    /// Takes the tasks out that wait, in order; the pool goes on.
    pub fn drain(&self) -> Vec<Unrun> {
        let waiting = self.owner.engine().drain();
        waiting.into_iter().map(Unrun::new).collect()
    }

    /// Shuts the pool down and gives the tasks back that wait, in order; those that run go on.
    pub fn stop(&self) -> Vec<Unrun> {
        let waiting = self.owner.engine().stop();
        waiting.into_iter().map(Unrun::new).collect()
    }

    /// Waits until the pool has ended, at most so long. False: the limit passed.
    #[must_use]
    pub fn await_termination(&self, limit: Duration) -> bool {
        self.owner.engine().lifecycle.await_termination(Some(limit))
    }

    /// Shuts the pool down and waits until its tasks have ended and its threads are gone. True: they are. From one of the pool's own
    /// threads it shuts down and returns.
    pub fn close(&self) -> bool {
        let engine = self.owner.engine();
        engine.shutdown();
        if is_worker_of(engine.identity()) {
            return engine.lifecycle.is_terminated();
        }
        let is_over = engine.lifecycle.await_termination(None);
        for thread in engine.threads.take_handles() {
            // A worker contains the panics of its tasks.
            drop(thread.join());
        }
        is_over
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let engine = self.owner.engine();
        f.debug_struct("Pool")
            .field("queued", &self.queued())
            .field("threads", &self.threads())
            .field("counters", &engine.counters)
            .finish_non_exhaustive()
    }
}
