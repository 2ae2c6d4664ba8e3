//! [`PoolBuilder`]: every setting of a pool, checked in one place.
//!
//! In: setters, in any order. Out: a pool, or an error that names the setting. Nothing is started before the first
//! task, unless it is asked for.

use super::crew::Growth;
use super::engine::Engine;
use super::foreign::{Foreign, Job, RefusedJob};
use super::owner::OnDrop;
use super::reject::Reject;
use super::resize::check_keep_alive;
use super::timers::AtShutdown;
use super::{Pool, Size, lints};
use crate::ConfigError;
use crate::observe::Lint;
use crate::queue::{Capacity, Discipline, Queue};
use crate::sync::{Arc, parallelism};
use crate::task::hooks::Hooks;
use crate::task::{Outcome, TaskInfo};
use crate::time::Clock;
use crate::worker::idle::MAX_WORKERS;
use std::any::Any;
use std::fmt;
use std::time::Duration;

/// What an engine is made from.
#[derive(Clone)]
pub(crate) struct Config {
    pub(crate) name: Arc<str>,
    pub(crate) size: Size,
    pub(crate) growth: Growth,
    pub(crate) keep_alive: Duration,
    pub(crate) core_timeout: bool,
    pub(crate) spare_threads: usize,
    pub(crate) blocking_threads: usize,
    pub(crate) reject: Reject,
    pub(crate) delayed_at_shutdown: AtShutdown,
    pub(crate) repeating_at_shutdown: AtShutdown,
    pub(crate) covers_delayed: bool,
    pub(crate) inherits_priority: bool,
    pub(crate) on_slow: Option<TimeHook>,
    pub(crate) on_late: Option<(Duration, TimeHook)>,
    /// Why the size may not be changed, if it may not.
    pub(crate) sealed: Option<&'static str>,
    pub(crate) queue: Queue,
    /// Of a queue with levels.
    pub(crate) discipline: Option<Discipline>,
    pub(crate) clock: Clock,
    pub(crate) on_drop: OnDrop,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_thread_start: Option<ThreadHook>,
    pub(crate) on_thread_stop: Option<ThreadHook>,
    pub(crate) on_blocking: OnBlocking,
    pub(crate) nice: Option<i32>,
    /// Events that are kept.
    pub(crate) recorder: Option<usize>,
    /// Who runs the tasks instead of workers.
    pub(crate) foreign: Option<Foreign>,
    /// What each worker holds for its life.
    pub(crate) enter: Option<EnterHook>,
}

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

pub(crate) type TimeHook = Arc<dyn Fn(&TaskInfo<'_>, Duration) + Send + Sync>;
pub(crate) type ThreadHook = Arc<dyn Fn() + Send + Sync>;
pub(crate) type EnterHook = Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>;

/// Settings of a pool to be; made by [`Pool::builder`].
///
/// ```
/// use punctual::{Pool, Queue};
///
/// let pool = Pool::builder("orders")
///     .core_threads(4)
///     .queue(Queue::bounded(1_000))
///     .on_failure(|task, outcome| eprintln!("{} failed: {outcome:?}", task.label()))
///     .build()?;
/// assert_eq!(pool.submit(|| 6 * 7)?.join()?, 42);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct PoolBuilder {
    name: Arc<str>,
    core: Option<usize>,
    max: Option<usize>,
    growth: Growth,
    keep_alive: Duration,
    core_timeout: bool,
    prestart: bool,
    spare_threads: Option<usize>,
    blocking_threads: Option<usize>,
    reject: Reject,
    delayed_at_shutdown: AtShutdown,
    repeating_at_shutdown: AtShutdown,
    covers_delayed: bool,
    inherits_priority: bool,
    on_slow: Option<TimeHook>,
    on_late: Option<(Duration, TimeHook)>,
    sealed: Option<&'static str>,
    queue: Queue,
    clock: Clock,
    on_drop: OnDrop,
    thread_name: Option<String>,
    stack_size: Option<usize>,
    on_thread_start: Option<ThreadHook>,
    enter: Option<EnterHook>,
    on_thread_stop: Option<ThreadHook>,
    on_terminated: Option<Box<dyn FnOnce() + Send>>,
    on_blocking: OnBlocking,
    nice: Option<i32>,
    recorder: Option<usize>,
    foreign: Option<Foreign>,
    hooks: Hooks,
}

/// The queue of a pool whose builder was not given one: room for this many waiting tasks.
pub const DEFAULT_QUEUE_CAPACITY: usize = 65_536;

/// How long an idle thread beyond `core_threads` stays, unless the builder says otherwise.
pub(super) const DEFAULT_KEEP_ALIVE: Duration = Duration::from_secs(60);

/// The threads of [`Executor::blocking`](crate::Executor::blocking), unless the builder says otherwise or there are more
/// cores.
const DEFAULT_BLOCKING_THREADS: usize = 64;

/// The most events that a [recorder](PoolBuilder::recorder) keeps: about a hundred megabytes of them.
pub const MAX_EVENTS: usize = 1_000_000;

/// The most threads a pool may have.
pub const MAX_THREADS: usize = MAX_WORKERS;

impl PoolBuilder {
    pub(super) fn new(name: Arc<str>) -> Self {
        PoolBuilder {
            name,
            core: None,
            max: None,
            growth: Growth::default(),
            keep_alive: DEFAULT_KEEP_ALIVE,
            core_timeout: false,
            prestart: false,
            spare_threads: None,
            blocking_threads: None,
            reject: Reject::default(),
            delayed_at_shutdown: AtShutdown::default(),
            repeating_at_shutdown: AtShutdown::default(),
            covers_delayed: false,
            inherits_priority: false,
            on_slow: None,
            on_late: None,
            sealed: None,
            queue: Queue::bounded(DEFAULT_QUEUE_CAPACITY),
            clock: Clock::system(),
            on_drop: OnDrop::default(),
            thread_name: None,
            stack_size: None,
            on_thread_start: None,
            enter: None,
            on_thread_stop: None,
            on_terminated: None,
            on_blocking: OnBlocking::default(),
            nice: None,
            recorder: None,
            foreign: None,
            hooks: Hooks::default(),
        }
    }

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

    /// What happens to a task that finds the queue full and all threads at work. Default: [`Reject::Abort`]: it comes
    /// back in the error.
    pub fn on_full(mut self, reject: Reject) -> Self {
        self.reject = reject;
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

    /// Told of each task that has run longer than its `slow_after`, and for how long, while it still runs: on a thread of
    /// the pool, not on the task's. A panic here is counted.
    pub fn on_slow(mut self, f: impl Fn(&TaskInfo<'_>, Duration) + Send + Sync + 'static) -> Self {
        self.on_slow = Some(Arc::new(f));
        self
    }

    /// Told of each delayed task, or run of a schedule, that has not begun `limit` after it was due, and how late it is:
    /// the workers are busy, or the machine was. On a thread of the pool; a panic here is counted.
    pub fn on_late(
        mut self,
        limit: Duration,
        f: impl Fn(&TaskInfo<'_>, Duration) + Send + Sync + 'static,
    ) -> Self {
        self.on_late = Some((limit, Arc::new(f)));
        self
    }

    /// Context propagation: `capture` runs at each submission, on the submitting thread; `around` runs the task inside
    /// what was captured. It covers every way to submit. `around` never holds the closure; a task that it does not run
    /// is cancelled; a second run does nothing. Of several, the first is the outermost.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// thread_local!(static USER: RefCell<String> = RefCell::default());
    ///
    /// let pool = punctual::Pool::builder("web")
    ///     .core_threads(1)
    ///     .decorate(
    ///         || USER.with_borrow(String::clone),
    ///         |user, run| {
    ///             USER.set(std::mem::take(user));
    ///             run();
    ///             USER.take();
    ///         },
    ///     )
    ///     .build()?;
    /// USER.set("ada".into());
    /// let seen = pool.submit(|| USER.with_borrow(String::clone))?;
    /// assert_eq!(seen.join()?, "ada");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn decorate<C: Send + 'static>(
        mut self,
        capture: impl Fn() -> C + Send + Sync + 'static,
        around: impl Fn(&mut C, &mut dyn FnMut()) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.decorators.add(None, capture, around);
        self
    }

    /// As [`PoolBuilder::decorate`], under a key: the same key replaces, in its old place.
    pub fn decorate_keyed<C: Send + 'static>(
        mut self,
        key: &'static str,
        capture: impl Fn() -> C + Send + Sync + 'static,
        around: impl Fn(&mut C, &mut dyn FnMut()) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.decorators.add(Some(key), capture, around);
        self
    }

    /// Takes the decorator with this key out again, if there is one.
    pub fn undecorate(mut self, key: &str) -> Self {
        self.hooks.decorators.remove(key);
        self
    }

    /// The name it was made with.
    #[cfg(feature = "tracing")]
    pub(crate) fn pool_name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// Why the pool's size may not change.
    pub(super) fn sealed(mut self, reason: &'static str) -> Self {
        self.sealed = Some(reason);
        self
    }

    /// Where tasks wait. Default: [`Queue::bounded`] with room for [`DEFAULT_QUEUE_CAPACITY`] tasks; what happens to a
    /// task that finds it full says [`PoolBuilder::on_full`].
    pub fn queue(mut self, queue: impl Into<Queue>) -> Self {
        self.queue = queue.into();
        self
    }

    /// Keeps the last so many events, about: each submission, run and refusal with its time, thefts, promotions, resizes,
    /// timers. For [`Pool::dump`], [`Control::recent`](crate::Control::recent), and pages that draw them. At most
    /// [`MAX_EVENTS`]. Default: off, which costs nothing; on, about a hundred nanoseconds for each task. Tasks of scopes, of
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

    /// Where time comes from. Default: [`Clock::system`].
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.clock = clock.into();
        self
    }

    /// What happens when the last owner is dropped. Default: [`OnDrop::Close`].
    pub fn on_drop(mut self, on_drop: OnDrop) -> Self {
        self.on_drop = on_drop;
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

    /// Called on each worker before its first task.
    pub fn on_thread_start(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_start = Some(Arc::new(f));
        self
    }

    /// Made on each worker before its first task, and held for its life: the guard of somebody else's runtime, so that what
    /// belongs to that works inside of tasks and futures here. Threads of [`Executor::blocking`](crate::Executor::blocking) and
    /// [`Executor::reserve`](crate::Executor::reserve) hold one too.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// # thread_local! { static INSIDE: Cell<bool> = const { Cell::new(false) }; }
    /// # struct Guard;
    /// # impl Drop for Guard { fn drop(&mut self) { INSIDE.set(false) } }
    /// # fn enter() -> Guard { INSIDE.set(true); Guard }
    /// // With tokio the guard borrows the runtime's handle, which must live as long as the threads: see the example `tokio_io`.
    /// let pool = punctual::Pool::builder("io").core_threads(1).enter(enter).build()?;
    /// assert!(pool.submit(|| INSIDE.get())?.join()?);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn enter<G: 'static>(mut self, f: impl Fn() -> G + Send + Sync + 'static) -> Self {
        self.enter = Some(Arc::new(move || Box::new(f())));
        self
    }

    /// Called on each worker after its last task.
    pub fn on_thread_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_stop = Some(Arc::new(f));
        self
    }

    /// Called once, when every task has ended and every worker has left; the pool is not terminated before it returns.
    pub fn on_terminated(mut self, f: impl FnOnce() + Send + 'static) -> Self {
        self.on_terminated = Some(Box::new(f));
        self
    }

    /// Told once of every task that panicked and whose failure nobody can read any more: it had no handle, or the
    /// handle was dropped unread.
    pub fn on_failure(mut self, f: impl Fn(&TaskInfo<'_>, Outcome<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.failure = Some(Box::new(f));
        self
    }

    /// Called on the worker before each task.
    pub fn before_task(mut self, f: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.before = Some(Box::new(f));
        self
    }

    /// Called once after each task, with its outcome and with the handle already resolved; for a task cancelled in
    /// the queue, on the thread that cancelled it. (A panic is shown here before the handle can take its payload; the
    /// handle says `is_finished`, and resolves when this returns. A task cancelled in the very moment in which the pool
    /// ends may be told of after [`PoolBuilder::on_terminated`].)
    pub fn after_task(mut self, f: impl Fn(&TaskInfo<'_>, Outcome<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.after = Some(Box::new(f));
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

    /// Its tasks are given to this, and it has no workers.
    pub(crate) fn foreign(
        mut self,
        f: impl Fn(Job) -> Result<(), RefusedJob> + Send + Sync + 'static,
    ) -> Self {
        self.foreign = Some(Arc::new(f));
        self
    }

    /// What is often a mistake in the settings so far. Nothing is refused for it; what is wrong is an error of
    /// [`PoolBuilder::build`].
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let size = self.size().ok();
        let settings = lints::Settings {
            core: size.map_or(0, |size| size.core),
            max: size.map_or(0, |size| size.max),
            growth: self.growth,
            queue: &self.queue,
            capacity: self.queue.capacity(),
            reject: &self.reject,
            on_drop: self.on_drop,
            keeps_idle: !self.keep_alive.is_zero(),
            must_not_block: self.on_blocking == OnBlocking::Error,
        };
        settings.lints()
    }

    /// Checks every setting and makes the pool. Threads start with the first tasks, or here with
    /// [`PoolBuilder::prestart`].
    pub fn build(self) -> Result<Pool, ConfigError> {
        let size = self.size()?;
        size.check_reachable(self.queue.capacity(), self.growth)?;
        check_keep_alive(self.keep_alive, self.core_timeout)?;
        let discipline = self.queue.discipline()?;
        if matches!(self.reject, Reject::EvictLower) && discipline.is_none() {
            return Err(ConfigError::new(
                "on_full",
                "EvictLower",
                "a queue without levels has nothing that is less urgent",
                "use Queue::priority, or DiscardOldest",
            ));
        }
        let most = MAX_THREADS - size.max;
        let spare_threads = self.spare_threads.unwrap_or_else(|| parallelism().min(most));
        if spare_threads > most {
            return Err(ConfigError::new(
                "spare_threads",
                spare_threads,
                format!(
                    "a pool has at most {MAX_THREADS} threads, spare ones included, and max_threads is {}",
                    size.max
                ),
                "set fewer spare threads, or fewer threads",
            ));
        }
        let blocking_threads = self
            .blocking_threads
            .unwrap_or_else(|| DEFAULT_BLOCKING_THREADS.max(parallelism()));
        let most = MAX_THREADS - spare_threads;
        if blocking_threads > most {
            return Err(ConfigError::new(
                "blocking_threads",
                blocking_threads,
                format!("at most {most} threads, beside the spare ones, can be told apart"),
                "set fewer blocking threads; more tasks than threads can wait in the queue",
            ));
        }
        if self.stack_size == Some(0) {
            return Err(ConfigError::new(
                "stack_size",
                0,
                "a thread needs a stack",
                "leave it unset for the system's default, or give the bytes",
            ));
        }
        if self.covers_delayed && self.queue.capacity() == Capacity::Bounded(0) {
            return Err(ConfigError::new(
                "capacity_covers_delayed",
                true,
                "a queue without places has none for delayed tasks: every one would be refused",
                "give the queue a capacity, or leave delayed tasks uncounted",
            ));
        }
        if let Some(nice) = self.nice.filter(|nice| !(-20..=19).contains(nice)) {
            return Err(ConfigError::new(
                "nice",
                nice,
                "a niceness is from -20 (the most processor time) to 19 (the least)",
                "give a number in that range, or leave it unset",
            ));
        }
        if let Some(events) = self.recorder.filter(|events| !(1..=MAX_EVENTS).contains(events)) {
            return Err(ConfigError::new(
                "recorder",
                events,
                format!("a recorder keeps from 1 to {MAX_EVENTS} events"),
                "give a number in that range, or leave it unset",
            ));
        }
        let thread_name = self.thread_name.unwrap_or_else(|| self.name.to_string());
        if let Some(position) = thread_name.find('\0') {
            return Err(ConfigError::new(
                "thread_name",
                format!("{thread_name:?}"),
                format!("the system's thread names end at a zero byte, and there is one at {position}"),
                "remove it from the thread name, or from the pool's name if that is used",
            ));
        }
        let config = Config {
            name: self.name,
            size,
            growth: self.growth,
            keep_alive: self.keep_alive,
            core_timeout: self.core_timeout,
            spare_threads,
            blocking_threads,
            reject: self.reject,
            delayed_at_shutdown: self.delayed_at_shutdown,
            repeating_at_shutdown: self.repeating_at_shutdown,
            covers_delayed: self.covers_delayed,
            inherits_priority: self.inherits_priority,
            on_slow: self.on_slow,
            on_late: self.on_late,
            sealed: self.sealed,
            queue: self.queue,
            discipline,
            clock: self.clock,
            on_drop: self.on_drop,
            thread_name,
            stack_size: self.stack_size,
            on_thread_start: self.on_thread_start,
            enter: self.enter,
            on_thread_stop: self.on_thread_stop,
            on_blocking: self.on_blocking,
            nice: self.nice,
            recorder: self.recorder,
            foreign: self.foreign,
        };
        let pool = Pool::of(Engine::start(config, self.hooks, self.on_terminated));
        if self.prestart && pool.prestart() < size.core {
            let started = pool.stats().threads;
            // Whatever a drop would do: nothing is left of a pool that was not built.
            let _ = pool.close();
            return Err(ConfigError::new(
                "prestart",
                true,
                format!(
                    "the system refused a thread after {started} of {} were started",
                    size.core
                ),
                "raise the process's thread limit, lower core_threads, or do without prestart",
            ));
        }
        Ok(pool)
    }

    fn size(&self) -> Result<Size, ConfigError> {
        let core = self
            .core
            .unwrap_or_else(|| self.max.map_or(parallelism(), |max| max.min(parallelism())));
        let max = self.max.unwrap_or(core);
        if max == 0 && self.max.is_none() {
            return Err(ConfigError::new(
                "core_threads",
                0,
                "a pool needs at least one thread",
                "set core_threads to 1 or more, or set max_threads too",
            ));
        }
        Size::checked(core, max)
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("name", &self.name)
            .field("core_threads", &self.core)
            .field("max_threads", &self.max)
            .field("growth", &self.growth)
            .field("keep_alive", &self.keep_alive)
            .field("core_timeout", &self.core_timeout)
            .field("prestart", &self.prestart)
            .field("spare_threads", &self.spare_threads)
            .field("blocking_threads", &self.blocking_threads)
            .field("on_full", &self.reject)
            .field("delayed_at_shutdown", &self.delayed_at_shutdown)
            .field("repeating_at_shutdown", &self.repeating_at_shutdown)
            .field("capacity_covers_delayed", &self.covers_delayed)
            .field("inherit_priority", &self.inherits_priority)
            .field("queue", &self.queue)
            .field("clock", &self.clock)
            .field("on_drop", &self.on_drop)
            .field("on_blocking", &self.on_blocking)
            .field("nice", &self.nice)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}
