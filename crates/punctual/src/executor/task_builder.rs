//! [`TaskBuilder`]: a task with options, before it is submitted.

use super::Executor;
use crate::Rejected;
use crate::handle::TaskHandle;
use crate::pool::reject::Patience;
use crate::task::block::Options;
use crate::task::{Priority, Token};
use std::borrow::Cow;
use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::time::{Duration, SystemTime};

/// A task before it is submitted: `executor.task(f).name("..").submit()`.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let task = pool.task(|| 2 + 2).name("sum").submit()?;
/// assert_eq!(task.task_ref().name(), Some("sum"));
/// assert_eq!(task.join()?, 4);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "a task does nothing until it is submitted"]
pub struct TaskBuilder<'a, F> {
    to: &'a Executor,
    f: F,
    options: Options,
}

impl<'a, F> TaskBuilder<'a, F> {
    #[track_caller]
    pub(super) fn new(to: &'a Executor, f: F) -> Self {
        let options = Options {
            site: Some(Location::caller()),
            ..Options::default()
        };
        TaskBuilder { to, f, options }
    }

    /// What hooks, statistics and errors call it.
    pub fn name(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.options.name = Some(name.into());
        // A few milliseconds more or less: nobody waits for a name.
        self.options.born = Some(self.to.engine().clock.rough_tick());
        self
    }

    /// How urgent it is, whatever the executor's own priority. Default: the executor's, and [`Priority::NORMAL`] where that has none.
    /// In a queue without levels it changes nothing but what hooks are told.
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue};
    /// let pool = Pool::builder("orders").core_threads(1).queue(Queue::priority(1_000)).build()?;
    /// let rebuild = pool.task(|| "rebuilt").priority(Priority::LOW).submit()?;
    /// assert_eq!(rebuild.join()?, "rebuilt");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn priority(mut self, priority: Priority) -> Self {
        self.options.priority = Some(priority);
        self
    }

    /// Asks the task to stop when this token fires: its own token is a child of it.
    pub fn token(mut self, token: &Token) -> Self {
        self.options.token = Some(token.child());
        self
    }

    /// It waits in the queue no longer than this: then it expires, at that time and not when a worker gets there. Its
    /// handle says [`is_expired`](crate::JoinError::is_expired). Of a delayed task the time counts from when it is due.
    ///
    /// ```
    /// use punctual::{Clock, Pool, task};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("p").core_threads(1).clock(&clock).build()?;
    /// let busy = pool.submit(|| task::sleep(Duration::from_secs(60)))?;
    /// let quote = pool.task(|| "price").expires_in(Duration::from_secs(5)).submit()?;
    /// clock.advance(Duration::from_secs(5));
    /// assert!(quote.join().unwrap_err().is_expired());
    /// # drop(busy);
    /// # drop(pool.stop());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn expires_in(mut self, patience: Duration) -> Self {
        self.options.expires_in = Some(patience);
        self
    }

    /// When it has run for so long its token fires. The handle still gets what it returns. Instead of the pool's
    /// [`time_limit`](crate::PoolBuilder::time_limit).
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.options.limits.time_limit = Some(limit);
        self
    }

    /// When it has run for so long the pool's [`on_slow`](crate::PoolBuilder::on_slow) is told, while it still runs.
    /// Instead of the pool's own limit.
    pub fn slow_after(mut self, limit: Duration) -> Self {
        self.options.limits.slow_after = Some(limit);
        self
    }
}

impl<F> TaskBuilder<'_, F> {
    /// Submitted from inside a task to its own pool, it goes to the shared queue and not to the deque of the worker: it is
    /// taken after what came there before it. Only where the pool's queue is [`Queue::stealing`](crate::Queue::stealing) does
    /// that make a difference.
    ///
    /// ```
    /// use punctual::{Capacity, Pool, Queue, task};
    /// let pool = Pool::builder("p").core_threads(1).queue(Queue::stealing(Capacity::Unbounded)).build()?;
    /// let (sender, order) = std::sync::mpsc::channel();
    /// pool.execute(move || {
    ///     let pool = task::current_executor().unwrap();
    ///     for name in ["first", "second"] {
    ///         let sender = sender.clone();
    ///         pool.task(move || sender.send(name)).shared().execute().unwrap();
    ///     }
    /// })?;
    /// assert_eq!(order.iter().collect::<Vec<_>>(), ["first", "second"]);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn shared(mut self) -> Self {
        self.options.is_shared = true;
        self
    }
}

impl<F, T> TaskBuilder<'_, F>
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    /// As [`Executor::submit`].
    pub fn submit(self) -> Result<TaskHandle<T>, Rejected<F>> {
        self.to.submit_with(self.options, Patience::Policy, self.f)
    }

    /// As [`Executor::after`].
    pub fn after(self, delay: Duration) -> Result<TaskHandle<T>, Rejected<F>> {
        self.to.after_with(Some(self.options), delay, self.f)
    }

    /// As [`Executor::at`].
    pub fn at(self, when: SystemTime) -> Result<TaskHandle<T>, Rejected<F>> {
        self.to.at_with(Some(self.options), when, self.f)
    }

    /// As [`Executor::execute`]; what it returns is dropped.
    pub fn execute(self) -> Result<(), Rejected<F>> {
        if self.options.expires_in.is_some() {
            // An expiry needs to find the task again.
            return self.submit().map(drop);
        }
        self.to.execute_with(self.options, self.f)
    }
}

impl<F> TaskBuilder<'_, F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    /// As [`Executor::spawn`]. Of a future, [`TaskBuilder::expires_in`] counts until its first poll;
    /// [`TaskBuilder::time_limit`] and [`TaskBuilder::slow_after`] measure each poll.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// let answer = pool.task(async { 6 * 7 }).name("answer").spawn()?;
    /// assert_eq!(answer.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn spawn(self) -> Result<TaskHandle<F::Output>, Rejected<F>> {
        self.to.spawn_with(self.options, self.f)
    }
}

impl<F> fmt::Debug for TaskBuilder<'_, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBuilder")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
