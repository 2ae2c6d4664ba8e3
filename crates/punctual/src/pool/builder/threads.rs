//! Settings of a pool's threads: how many, for how long, how they are started, what they may not do.
//!
//! In: numbers and policies, as they are given. Out: the same, to be checked ([`build`](super::build)). Not here: what is called
//! on a thread as it starts and stops ([`hooks`](super::hooks)).

use super::PoolBuilder;
use crate::pool::crew::Growth;
use crate::pool::foreign::{Job, RefusedJob};
use crate::sync::Arc;
use std::time::Duration;

/// What happens when a task waits for another, on a worker of a pool that is not for that; see
/// [`PoolBuilder::on_blocking`].
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnBlocking {
    /// It waits; a spare thread may stand in. The default.
    #[default]
    Allow,
    /// It waits, is counted ([`Stats::blocking_waits`](crate::Stats::blocking_waits)), and the first one is said on
    /// standard error.
    Warn,
    /// It does not wait: the answer is [`JoinError::is_blocking`](crate::JoinError::is_blocking), or "not yet" where there is
    /// no error to give, and it is counted.
    Error,
}

impl PoolBuilder {
    /// Threads that stay once they are started; each of the first `n` submissions starts one. Default: the available
    /// parallelism, or `max_threads` if that is smaller.
    pub fn core_threads(mut self, n: usize) -> Self {
        self.core = Some(n);
        self
    }

    /// The most threads at a time. Default: `core_threads`. More than that with an unbounded queue is refused unless
    /// threads come first ([`PoolBuilder::growth`]): they would never start.
    pub fn max_threads(mut self, n: usize) -> Self {
        self.max = Some(n);
        self
    }

    /// Which fills first when all core threads are at work. Default: [`Growth::QueueFirst`].
    pub fn growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// How long an idle thread beyond `core_threads` stays. Default: one minute.
    pub fn keep_alive(mut self, d: Duration) -> Self {
        self.keep_alive = d;
        self
    }

    /// Whether idle core threads leave after [`PoolBuilder::keep_alive`] too. Default: no.
    pub fn core_timeout(mut self, on: bool) -> Self {
        self.core_timeout = on;
        self
    }

    /// Whether the core threads are started by [`PoolBuilder::build`], which fails if they cannot be. Default: no.
    pub fn prestart(mut self, on: bool) -> Self {
        self.prestart = on;
        self
    }

    /// How many threads may stand in for workers whose task waits for another (a join, a group, a scope), beyond
    /// `max_threads`. Default: the available parallelism. With 0 a pool whose workers all wait for each other answers
    /// [`is_would_deadlock`](crate::JoinError::is_would_deadlock).
    pub fn spare_threads(mut self, n: usize) -> Self {
        self.spare_threads = Some(n);
        self
    }

    /// The most threads that [`Executor::blocking`](crate::Executor::blocking) runs on, beside the pool's own; they start
    /// when they are needed and leave when they have been idle for the keep-alive time. Default: 64, or the available
    /// parallelism if that is more. With 0 there is no such executor, and asking for it is an error.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(2).blocking_threads(16).build()?;
    /// let files = pool.blocking()?;
    /// assert_eq!(files.submit(|| "read")?.join()?, "read");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn blocking_threads(mut self, n: usize) -> Self {
        self.blocking_threads = Some(n);
        self
    }

    /// Threads are named `{prefix}-1`, `{prefix}-2`, ...; default prefix: the pool's name.
    pub fn thread_name(mut self, prefix: impl Into<String>) -> Self {
        self.thread_name = Some(prefix.into());
        self
    }

    /// The stack of each worker, in bytes. Default: the system's.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.stack_size = Some(bytes);
        self
    }

    /// What happens when a task on one of its workers waits for a task that has not ended ([`TaskHandle::join`] and its
    /// like), for the next of a group, the end of a schedule or of a lane. For pools whose threads are few and must stay free;
    /// what still waits in the queue is run in place under every policy, which is no wait. The end of a scope and
    /// [`Executor::join`](crate::Executor::join) are waited for under every policy, since their tasks borrow, and counted. A
    /// wait for the end of another pool is not meant. Default: [`OnBlocking::Allow`].
    ///
    /// ```
    /// use punctual::{OnBlocking, Pool};
    ///
    /// let pool = Pool::builder("loop").core_threads(2).on_blocking(OnBlocking::Error).build()?;
    /// let (hold, held) = std::sync::mpsc::channel::<()>();
    /// let (tell, told) = std::sync::mpsc::channel();
    /// let slow = pool.submit(move || { tell.send(()).unwrap(); drop(held.recv()) })?;
    /// told.recv()?; // it runs
    /// let asks = pool.submit(move || slow.join())?;
    /// assert!(asks.join()?.unwrap_err().is_blocking());
    /// # drop(hold);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    ///
    /// [`TaskHandle::join`]: crate::TaskHandle::join
    pub fn on_blocking(mut self, policy: OnBlocking) -> Self {
        self.on_blocking = policy;
        self
    }

    /// Asks the system to give its threads more processor time than others (-20 is the most) or less (19 is the least).
    /// More needs a privilege. What was granted is in [`Stats::nice`](crate::Stats::nice), once a thread has been started; a
    /// system without priorities of threads grants nothing.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("reports").core_threads(1).nice(10).build()?;
    /// pool.submit(|| ())?.join()?;
    /// # #[cfg(target_os = "linux")]
    /// assert_eq!(pool.stats().nice, Some(10));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn nice(mut self, n: i32) -> Self {
        self.nice = Some(n);
        self
    }

    /// Why the pool's size may not change.
    pub(in crate::pool) fn sealed(mut self, reason: &'static str) -> Self {
        self.sealed = Some(reason);
        self
    }

    /// Its tasks are given to this, and it has no workers.
    pub(crate) fn foreign(
        mut self,
        f: impl Fn(Job) -> Result<(), RefusedJob> + Send + Sync + 'static,
    ) -> Self {
        self.foreign = Some(Arc::new(f));
        self
    }
}
