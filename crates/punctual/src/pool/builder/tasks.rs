//! Settings of what becomes of tasks: where they wait, what is too many, how long they may run, how they end with the pool.
//!
//! In: a queue, policies, limits, as they are given. Out: the same, to be checked ([`build`](super::build)). Not here: who is
//! told of a task ([`hooks`](super::hooks)).

use super::PoolBuilder;
use crate::pool::owner::OnDrop;
use crate::pool::reject::Reject;
use crate::pool::timers::AtShutdown;
use crate::queue::Queue;
use crate::time::Clock;
use std::time::Duration;

impl PoolBuilder {
    /// Where tasks wait. Default: [`Queue::bounded`] with room for [`DEFAULT_QUEUE_CAPACITY`](crate::DEFAULT_QUEUE_CAPACITY) tasks; what happens to a
    /// task that finds it full says [`PoolBuilder::on_full`].
    pub fn queue(mut self, queue: impl Into<Queue>) -> Self {
        self.queue = queue.into();
        self
    }

    /// What happens to a task that finds the queue full and all threads at work. Default: [`Reject::Abort`]: it comes
    /// back in the error.
    pub fn on_full(mut self, reject: Reject) -> Self {
        self.reject = reject;
        self
    }

    /// Whether delayed tasks that wait for their time count against the queue's capacity, so that they are refused when it
    /// is full, by the pool's policy (`CallerRuns` refuses: it would be too early). Default: no, then only the memory
    /// bounds them. Schedules do not count.
    ///
    /// ```
    /// use punctual::{Pool, Queue};
    /// use std::time::Duration;
    ///
    /// let pool = Pool::builder("p").queue(Queue::bounded(2)).capacity_covers_delayed(true).build()?;
    /// let hour = Duration::from_secs(3600);
    /// let one = pool.after(hour, || 1)?;
    /// let _two = pool.after(hour, || 2)?;
    /// assert!(pool.after(hour, || 3).unwrap_err().is_full());
    /// one.cancel();
    /// assert!(pool.after(hour, || 3).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn capacity_covers_delayed(mut self, on: bool) -> Self {
        self.covers_delayed = on;
        self
    }

    /// Whether a task that is submitted from inside a task of the same pool, and names no priority, starts with that one's.
    /// Default: no; it is [`Priority::NORMAL`](crate::Priority::NORMAL). It costs a submission the shortest way in.
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue, task};
    ///
    /// let pool = Pool::builder("p").core_threads(1).queue(Queue::priority(100)).inherit_priority(true).build()?;
    /// let parent = pool.task(|| {
    ///     let pool = task::current_executor().unwrap();
    ///     pool.submit(|| task::current().unwrap().priority()).unwrap()
    /// });
    /// let child = parent.priority(Priority::HIGH).submit()?.join()?;
    /// assert_eq!(child.join()?, Priority::HIGH);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn inherit_priority(mut self, on: bool) -> Self {
        self.inherits_priority = on;
        self
    }

    /// When a task has run for so long its token fires; its handle still gets what it returns. A task may have a limit of
    /// its own ([`TaskBuilder::time_limit`](crate::TaskBuilder::time_limit)). Default: none. Seen to in time also when
    /// every worker is stuck, by one of the pool's spare threads.
    ///
    /// ```
    /// use punctual::{Clock, Pool, task};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("p").time_limit(Duration::from_secs(5)).clock(&clock).build()?;
    /// let endless = pool.submit(|| match task::sleep(Duration::MAX) {
    ///     Err(_) => "told to stop",
    ///     Ok(()) => "slept for ever",
    /// })?;
    /// clock.advance(Duration::from_secs(5));
    /// assert_eq!(endless.join()?, "told to stop");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.hooks.limits.time_limit = Some(limit);
        self
    }

    /// When a task has run for so long [`PoolBuilder::on_slow`] is told, while it still runs. A task may have a limit of
    /// its own. Default: none.
    pub fn slow_after(mut self, limit: Duration) -> Self {
        self.hooks.limits.slow_after = Some(limit);
        self
    }

    /// What happens to delayed tasks when the pool is shut down. Default: [`AtShutdown::Drop`].
    pub fn delayed_at_shutdown(mut self, policy: AtShutdown) -> Self {
        self.delayed_at_shutdown = policy;
        self
    }

    /// What happens to schedules when the pool is shut down. Default: [`AtShutdown::Drop`].
    pub fn repeating_at_shutdown(mut self, policy: AtShutdown) -> Self {
        self.repeating_at_shutdown = policy;
        self
    }

    /// What happens when the last owner is dropped. Default: [`OnDrop::Close`].
    pub fn on_drop(mut self, on_drop: OnDrop) -> Self {
        self.on_drop = on_drop;
        self
    }

    /// Where time comes from. Default: [`Clock::system`].
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// Keeps the last so many events, about: each submission, run and refusal with its time, thefts, promotions, resizes,
    /// timers. For [`Pool::dump`](crate::Pool::dump), [`Control::recent`](crate::Control::recent), and pages that draw them. At most
    /// [`MAX_EVENTS`](crate::MAX_EVENTS). Default: off, which costs nothing; on, about a hundred nanoseconds for each task. Tasks of scopes, of
    /// [`Executor::join`](crate::Executor::join) and of timers are told of when they run; what a task runs in place while it
    /// waits is part of it.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(1).recorder(10_000).build()?;
    /// pool.task(|| ()).name("hello").submit()?.join()?;
    /// assert!(pool.wait_idle(std::time::Duration::from_secs(60)));
    /// let events = pool.dump().events;
    /// let kinds: Vec<_> = events.iter().map(|event| event.kind.name()).collect();
    /// assert_eq!(kinds, ["submitted", "taken", "ended"]);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn recorder(mut self, events: usize) -> Self {
        self.recorder = Some(events);
        self
    }
}
