//! [`PoolBuilder`]: every setting of a pool, and its default.
//!
//! In: setters, in any order. Out: a pool, or an error that names the setting ([`build`]). The setters stand by what they are
//! about: [`threads`], [`tasks`], [`hooks`].

mod build;
mod hooks;
mod tasks;
mod threads;

use super::crew::Growth;
use super::foreign::Foreign;
use super::owner::OnDrop;
use super::reject::Reject;
use super::timers::AtShutdown;
use crate::queue::Queue;
use crate::sync::Arc;
use crate::task::hooks::Hooks;
use crate::time::Clock;
use crate::worker::idle::MAX_WORKERS;
pub(super) use build::Config;
use hooks::{EnterHook, ThreadHook, TimeHook};
use std::fmt;
use std::time::Duration;
pub use threads::OnBlocking;

/// Settings of a pool to be; made by [`Pool::builder`](crate::Pool::builder).
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

    /// The name it was made with.
    #[cfg(feature = "tracing")]
    pub(crate) fn pool_name(&self) -> Arc<str> {
        self.name.clone()
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
