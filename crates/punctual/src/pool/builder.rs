//! [`PoolBuilder`]: every setting of a pool, checked in one place.
//!
//! In: setters, in any order. Out: a pool, or an error that names the setting. Nothing is started before the first
//! task.

use super::engine::Engine;
use super::owner::OnDrop;
use super::{Pool, Size};
use crate::ConfigError;
use crate::queue::Queue;
use crate::sync::{Arc, parallelism};
use crate::task::hooks::Hooks;
use crate::task::{Outcome, TaskInfo};
use crate::time::Clock;
use crate::worker::idle::MAX_WORKERS;
use std::fmt;

/// What an engine is made from.
pub(crate) struct Config {
    pub(crate) name: Arc<str>,
    pub(crate) size: Size,
    pub(crate) queue: Queue,
    pub(crate) clock: Clock,
    pub(crate) on_drop: OnDrop,
    pub(crate) thread_name: String,
    pub(crate) stack_size: Option<usize>,
    pub(crate) on_thread_start: Option<ThreadHook>,
    pub(crate) on_thread_stop: Option<ThreadHook>,
}

pub(crate) type ThreadHook = Box<dyn Fn() + Send + Sync>;

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
    queue: Queue,
    clock: Clock,
    on_drop: OnDrop,
    thread_name: Option<String>,
    stack_size: Option<usize>,
    on_thread_start: Option<ThreadHook>,
    on_thread_stop: Option<ThreadHook>,
    on_terminated: Option<Box<dyn FnOnce() + Send>>,
    hooks: Hooks,
}

/// The queue of a pool whose builder was not given one: room for this many waiting tasks.
pub const DEFAULT_QUEUE_CAPACITY: usize = 65_536;

/// The most threads a pool may have.
pub const MAX_THREADS: usize = MAX_WORKERS;

impl PoolBuilder {
    pub(super) fn new(name: Arc<str>) -> Self {
        PoolBuilder {
            name,
            core: None,
            max: None,
            queue: Queue::bounded(DEFAULT_QUEUE_CAPACITY),
            clock: Clock::system(),
            on_drop: OnDrop::default(),
            thread_name: None,
            stack_size: None,
            on_thread_start: None,
            on_thread_stop: None,
            on_terminated: None,
            hooks: Hooks::default(),
        }
    }

    /// Threads that stay once they are started; each of the first `n` submissions starts one. Default: the available
    /// parallelism, or `max_threads` if that is smaller.
    pub fn core_threads(mut self, n: usize) -> Self {
        self.core = Some(n);
        self
    }

    /// The most threads at a time. Default: `core_threads`.
    pub fn max_threads(mut self, n: usize) -> Self {
        self.max = Some(n);
        self
    }

    /// Where tasks wait. Default: [`Queue::bounded`] with room for [`DEFAULT_QUEUE_CAPACITY`] tasks; a task that
    /// finds it full is refused and comes back in the error.
    pub fn queue(mut self, queue: impl Into<Queue>) -> Self {
        self.queue = queue.into();
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
        self.on_thread_start = Some(Box::new(f));
        self
    }

    /// Called on each worker after its last task.
    pub fn on_thread_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_stop = Some(Box::new(f));
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

    /// Checks every setting and makes the pool. Threads start with the first tasks.
    pub fn build(self) -> Result<Pool, ConfigError> {
        let size = self.size()?;
        self.queue.check()?;
        if self.stack_size == Some(0) {
            return Err(ConfigError::new(
                "stack_size",
                0,
                "a thread needs a stack",
                "leave it unset for the system's default, or give the bytes",
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
            queue: self.queue,
            clock: self.clock,
            on_drop: self.on_drop,
            thread_name,
            stack_size: self.stack_size,
            on_thread_start: self.on_thread_start,
            on_thread_stop: self.on_thread_stop,
        };
        Ok(Pool::of(Engine::start(config, self.hooks, self.on_terminated)))
    }

    fn size(&self) -> Result<Size, ConfigError> {
        let core = self
            .core
            .unwrap_or_else(|| self.max.map_or(parallelism(), |max| max.min(parallelism())));
        let max = self.max.unwrap_or(core);
        if max == 0 {
            let (field, fix) = match self.max {
                Some(_) => ("max_threads", "set max_threads to 1 or more"),
                None => (
                    "core_threads",
                    "set core_threads to 1 or more, or set max_threads too",
                ),
            };
            return Err(ConfigError::new(
                field,
                0,
                "a pool needs at least one thread",
                fix,
            ));
        }
        if max > MAX_THREADS {
            return Err(ConfigError::new(
                "max_threads",
                max,
                format!("a pool has at most {MAX_THREADS} threads"),
                "set a smaller number; more tasks than threads can wait in the queue",
            ));
        }
        if core > max {
            return Err(ConfigError::new(
                "core_threads",
                core,
                format!("core_threads is at most max_threads, which is {max}"),
                "raise max_threads or lower core_threads",
            ));
        }
        if core < max {
            return Err(ConfigError::new(
                "max_threads",
                max,
                format!("the pool is of a fixed size and core_threads is {core}"),
                "set both to the same number, or only core_threads",
            ));
        }
        Ok(Size { core, max })
    }
}

impl fmt::Debug for PoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolBuilder")
            .field("name", &self.name)
            .field("core_threads", &self.core)
            .field("max_threads", &self.max)
            .field("queue", &self.queue)
            .field("clock", &self.clock)
            .field("on_drop", &self.on_drop)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}
