//! The front door: building a pool, getting in, and closing it.
//!
//! In: settings, then tasks. Out: a [`Pool`] that owns its threads. [`builder`] checks, [`engine`] is what is shared,
//! [`admit`] lets tasks in by the rules of the [`crew`], [`reject`] answers when it is full, [`mod@line`] is where
//! submissions wait for room, [`resize`] changes a running pool, [`staff`] knows the workers, [`life`] ends it,
//! [`owner`] says who keeps it open.

pub(crate) mod admit;
mod alarms;
mod annex;
mod builder;
mod control;
mod cover;
pub(crate) mod crew;
mod deputy;
mod dump;
pub(crate) mod engine;
mod explain;
pub(crate) mod foreign;
pub(crate) mod fork;
mod futures;
mod keeper;
pub(crate) mod keys;
mod lanes;
mod leader;
mod lent;
mod life;
pub(crate) mod line;
mod lints;
mod local;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod owner;
mod refusals;
pub(crate) mod reject;
pub(crate) mod repeating;
mod resize;
pub(crate) mod staff;
mod state;
#[cfg(all(test, loom))]
mod timer_models;
pub(crate) mod timers;
#[cfg(all(test, loom))]
mod view_models;
mod view_stats;
pub(crate) mod views;
pub(crate) mod waits;
mod watch;

pub use builder::{DEFAULT_QUEUE_CAPACITY, MAX_EVENTS, MAX_THREADS, OnBlocking, PoolBuilder};
pub use control::{Control, ResizePreview, RunningTask, WorkerStats};
pub use crew::Growth;
pub(crate) use deputy::Stint;
pub use foreign::{Job, RefusedJob};
pub(crate) use leader::Role;
pub use owner::OnDrop;
pub use reject::{Answer, Refusal, Reject};
pub use repeating::{RunOutcome, ScheduleHandle, ScheduleStats};
pub use state::State;
pub use timers::AtShutdown;

use crate::observe::{Advice, Stats};
use crate::sync::Arc;
use crate::task::Token;
use crate::{Capacity, ConfigError, Executor, Queue, Unrun};
use life::Waited;
use owner::Owner;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// Owns worker threads. Every verb of an [`Executor`] works on a pool too.
///
/// Clones share the pool; when the last owner is dropped it closes ([`OnDrop`]): nothing accepted is lost.
///
/// ```
/// use punctual::Pool;
///
/// let pool = Pool::fixed(2)?;
/// let answer = pool.submit(|| 6 * 7)?;
/// assert_eq!(answer.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Pool {
    executor: Executor,
}

/// The threads of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Threads that stay.
    pub core: usize,
    /// The most threads at a time.
    pub max: usize,
}

/// What [`Pool::close`] and its kin found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[must_use = "a report may say that tasks still run"]
pub struct CloseReport {
    /// Every task has ended and every worker has left.
    pub terminated: bool,
    /// Tasks that still run.
    pub still_running: usize,
    /// Delayed tasks that will not run.
    pub cancelled_delayed: usize,
    /// Schedules that were ended.
    pub cancelled_repeating: usize,
    /// Waiting tasks that were dropped because the limit had passed; their handles say cancelled.
    pub dropped: usize,
}

impl Pool {
    /// What its figures so far say about its size, and what is often a mistake in its settings. Cheap enough for a page
    /// that is reloaded; says more the longer a pool has run.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// for n in 0..1_000_u64 {
    ///     pool.execute(move || drop((0..n).sum::<u64>()))?;
    /// }
    /// assert!(pool.wait_idle(std::time::Duration::from_secs(60)));
    /// let advice = pool.advice();
    /// assert_eq!(advice.threads(), Some(advice.for_computing())); // they compute
    /// println!("{advice}");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn advice(&self) -> Advice {
        self.engine().advice()
    }

    /// A pool with this name, to be configured.
    pub fn builder(name: impl Into<Arc<str>>) -> PoolBuilder {
        PoolBuilder::new(name.into())
    }

    /// `threads` threads and an unbounded queue: what is submitted faster than it is run fills the memory. For a
    /// bound, and a say in what happens at it, use the builder.
    pub fn fixed(threads: usize) -> Result<Pool, ConfigError> {
        Pool::builder("fixed")
            .keep_alive(Duration::ZERO)
            .core_threads(threads)
            .max_threads(threads)
            .queue(Queue::unbounded())
            .build()
    }

    /// One thread and an unbounded queue: tasks run one after the other, in order. Its size cannot be changed.
    pub fn single() -> Result<Pool, ConfigError> {
        Pool::builder("single")
            .core_threads(1)
            .max_threads(1)
            .spare_threads(0)
            .blocking_threads(0)
            .queue(Queue::unbounded())
            .sealed("a pool made by Pool::single runs its tasks one after the other, on one thread")
            .build()
    }

    /// Up to `max_threads` threads, started when none is free, that leave after a minute without work; no queue: a
    /// task that finds all of them at work is refused. For bursts of tasks that block.
    pub fn cached(max_threads: usize) -> Result<Pool, ConfigError> {
        Pool::builder("cached")
            .core_threads(0)
            .max_threads(max_threads)
            .queue(Queue::handoff())
            .build()
    }

    /// `n` pools of one thread each, named `{name}-1`, `{name}-2` and so on: for what must stay on its thread (a connection, a
    /// handle of a device, something that is not `Send`). Whose task goes where is the caller's choice; a task behind a busy
    /// one waits for it, although others are idle, which is why this is not how lanes work.
    ///
    /// ```
    /// let shards = punctual::Pool::pinned("shard", 4)?;
    /// let account = 17;
    /// let thread = || std::thread::current().id();
    /// let (one, two) = (shards[account % 4].submit(thread)?, shards[account % 4].submit(thread)?);
    /// assert_eq!(one.join()?, two.join()?);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn pinned(name: impl Into<Arc<str>>, n: usize) -> Result<Vec<Pool>, ConfigError> {
        let name = name.into();
        if n == 0 {
            return Err(ConfigError::new(
                "pinned",
                0,
                "no pool could run anything",
                "give 1 or more",
            ));
        }
        let one = |number| {
            Pool::builder(format!("{name}-{number}"))
                .core_threads(1)
                .max_threads(1)
                .spare_threads(0)
                .blocking_threads(0)
                .sealed("a pool made by Pool::pinned is one thread")
                .build()
        };
        (1..=n).map(one).collect()
    }

    pub(crate) fn of(owner: Arc<Owner>) -> Self {
        Pool {
            executor: Executor::of(owner),
        }
    }

    fn engine(&self) -> &Arc<engine::Engine> {
        self.executor.engine()
    }

    /// The name it was built with.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.engine().name
    }

    /// The configured threads.
    #[must_use]
    pub fn size(&self) -> Size {
        self.engine().size()
    }

    /// Changes both sizes at once and gives the old ones. Larger: waiting tasks get a core thread at once, and
    /// submissions start the rest. Smaller: no running task is disturbed; threads leave as they become free, and none
    /// that is one too many takes another task, so each task that a thread takes after this returned runs beside fewer than
    /// `max` others that are at work. On an error nothing has changed.
    ///
    /// ```
    /// use punctual::{Pool, Queue};
    /// let pool = Pool::builder("web").core_threads(2).queue(Queue::bounded(100)).build()?;
    /// pool.resize(4, 16)?; // no order to mind: both or none
    /// assert!(pool.resize(5, 3).is_err());
    /// assert_eq!((pool.size().core, pool.size().max), (4, 16));
    /// # Ok::<(), punctual::ConfigError>(())
    /// ```
    pub fn resize(&self, core: usize, max: usize) -> Result<Size, ConfigError> {
        self.engine().resize(core, max)
    }

    /// How long an idle thread beyond core stays, from now on; those that have been idle for longer leave.
    pub fn set_keep_alive(&self, d: Duration) -> Result<(), ConfigError> {
        self.engine().set_keep_alive(d)
    }

    /// Whether idle core threads leave too, from now on.
    pub fn set_core_timeout(&self, on: bool) -> Result<(), ConfigError> {
        self.engine().set_core_timeout(on)
    }

    /// How many tasks may wait, from now on. What waits already stays, also if it is more.
    pub fn set_capacity(&self, capacity: impl Into<Capacity>) -> Result<(), ConfigError> {
        self.engine().set_capacity(capacity.into())
    }

    /// What a full pool answers from now on.
    pub fn set_reject(&self, reject: Reject) {
        self.engine().set_reject(reject);
    }

    /// How long an idle thread beyond core stays.
    #[must_use]
    pub fn keep_alive(&self) -> Duration {
        self.engine().keep_alive()
    }

    /// Whether idle core threads leave too.
    #[must_use]
    pub fn core_timeout(&self) -> bool {
        self.engine().core_timeout()
    }

    /// What a full pool answers.
    #[must_use]
    pub fn reject(&self) -> Reject {
        self.engine().reject()
    }

    /// Starts the core threads that are missing, and says how many it started.
    pub fn prestart(&self) -> usize {
        std::iter::from_fn(|| self.prestart_one().then_some(())).count()
    }

    /// Starts one core thread if one is missing; says whether it did.
    pub fn prestart_one(&self) -> bool {
        self.engine().prestart_one()
    }

    /// From now on no worker takes a task out of the queue; what runs goes on. (A running task that waits for another of
    /// the pool still runs that one in place: it is part of its own work.) Closing the pool resumes it.
    pub fn pause(&self) {
        self.engine().pause();
    }

    /// Tasks are taken again.
    pub fn resume(&self) {
        self.engine().resume();
    }

    /// What happens to delayed tasks when the pool is shut down, from now on; if it has been, at once.
    pub fn set_delayed_at_shutdown(&self, policy: AtShutdown) {
        self.engine().set_all_delayed_at_shutdown(policy);
    }

    /// What happens to schedules when the pool is shut down, from now on; if it has been, at once.
    pub fn set_repeating_at_shutdown(&self, policy: AtShutdown) {
        self.engine().set_all_repeating_at_shutdown(policy);
    }

    /// Where it is in its life.
    #[must_use]
    pub fn state(&self) -> State {
        self.engine().state()
    }

    /// What it did and does: one snapshot.
    #[must_use]
    pub fn stats(&self) -> Stats {
        self.engine().stats()
    }

    /// What a dashboard may do with the pool: look, resize, pause, find tasks. It does not keep the pool open.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// let control = pool.control();
    /// assert_eq!(control.stats().unwrap().threads, 0);
    /// drop(pool); // nobody is left who could submit
    /// assert!(control.stats().is_none());
    /// # Ok::<(), punctual::ConfigError>(())
    /// ```
    #[must_use]
    pub fn control(&self) -> Control {
        Control::of(self.engine())
    }

    /// An owner without the pool's own verbs.
    #[must_use]
    pub fn executor(&self) -> Executor {
        self.executor.clone()
    }

    /// Accepts no more tasks and returns; what was accepted runs.
    pub fn shutdown(&self) {
        self.engine().shutdown();
    }

    /// Accepts no more tasks, takes the waiting ones out and gives them back, and asks the running ones to stop (their
    /// tokens fire; their handles still get what they return). The handles of the tasks that come back say cancelled.
    #[must_use = "the tasks inside have not run; dropping them drops their closures"]
    pub fn stop(&self) -> Vec<Unrun> {
        self.engine().stop()
    }

    /// Takes the waiting tasks out of a pool that goes on. Their handles say cancelled.
    #[must_use = "the tasks inside have not run; dropping them drops their closures"]
    pub fn drain(&self) -> Vec<Unrun> {
        self.engine().drain()
    }

    /// Waits until the pool has terminated; false if it has not within the limit. From one of its own tasks, which
    /// would have to end first, the answer is false at once.
    #[must_use = "false means that tasks still run"]
    pub fn await_termination(&self, limit: Duration) -> bool {
        let own = crate::task::here(|here| here.token());
        self.engine().await_termination(Some(limit), own.as_ref()) == Waited::Reached
    }

    /// Waits until nothing is queued and nothing runs; false if that was not so within the limit. The pool goes on, and all
    /// that wait leave at such a moment, also if one of them submits again at once. A task of this pool that calls it does not count itself. (A task has run when its closure has returned; a result that
    /// nobody wants may still be on its way to being dropped.)
    #[must_use = "false means that there is still work"]
    pub fn wait_idle(&self, limit: Duration) -> bool {
        self.engine().wait_idle(limit)
    }

    /// Shuts down and waits until everything accepted has run. From one of its own tasks it shuts down and returns, and so it does
    /// from a task of another pool for which one of its own tasks waits.
    #[allow(clippy::must_use_candidate, reason = "the report type says so itself")]
    pub fn close(&self) -> CloseReport {
        let engine = self.engine();
        engine.shutdown();
        // The calling task's own token does not end this wait: `close_with` is for that.
        let _ = engine.await_termination(None, None);
        self.closed(0)
    }

    /// Shuts down and waits; when the limit passes, stops: the running tasks are asked to stop, the waiting ones are
    /// dropped. Returns then, whatever still runs.
    pub fn close_timeout(&self, limit: Duration) -> CloseReport {
        let engine = self.engine();
        engine.shutdown();
        let mut dropped = 0;
        if engine.await_termination(Some(limit), None) != Waited::Reached && !engine.is_own_thread() {
            dropped = engine.stop().len();
        }
        self.closed(dropped)
    }

    /// As [`Pool::close`], but stops when the token fires, and then goes on waiting for the running tasks.
    pub fn close_with(&self, token: &Token) -> CloseReport {
        let engine = self.engine();
        engine.shutdown();
        let mut dropped = 0;
        if engine.await_termination(None, Some(token)) == Waited::Interrupted {
            dropped = engine.stop().len();
            let _ = engine.await_termination(None, None);
        }
        self.closed(dropped)
    }

    fn closed(&self, dropped: usize) -> CloseReport {
        let engine = self.engine();
        let terminated = engine.state() == State::Terminated;
        if terminated {
            engine.join_threads();
        }
        if engine.is_forked() {
            // None of its tasks are in this process, and its locks may be held by threads that are not here.
            return CloseReport {
                terminated,
                ..CloseReport::default()
            };
        }
        CloseReport {
            terminated,
            still_running: engine.stats().active,
            cancelled_delayed: engine.all_dropped_delayed(),
            cancelled_repeating: engine.all_dropped_repeating(),
            dropped,
        }
    }
}

impl Deref for Pool {
    type Target = Executor;
    fn deref(&self) -> &Executor {
        &self.executor
    }
}

/// The whole pool in one line, for a bug report; never waits for a lock.
impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.engine().fmt(f)
    }
}
