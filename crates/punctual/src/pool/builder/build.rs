//! The check of every setting, in one place, and the pool that is made of them.
//!
//! In: a builder. Out: a pool, or an error that names the setting; or what is often a mistake, which is no error. Nothing is
//! started before the first task, unless it is asked for.

use super::hooks::{EnterHook, ThreadHook, TimeHook};
use super::{MAX_EVENTS, MAX_THREADS, OnBlocking, PoolBuilder};
use crate::ConfigError;
use crate::observe::Lint;
use crate::pool::crew::Growth;
use crate::pool::engine::Engine;
use crate::pool::foreign::Foreign;
use crate::pool::owner::OnDrop;
use crate::pool::reject::Reject;
use crate::pool::resize::check_keep_alive;
use crate::pool::timers::AtShutdown;
use crate::pool::{Pool, Size, lints};
use crate::queue::{Capacity, Discipline, Queue};
use crate::sync::{Arc, parallelism};
use crate::time::Clock;
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

/// The threads of [`Executor::blocking`](crate::Executor::blocking), unless the builder says otherwise or there are more
/// cores.
const DEFAULT_BLOCKING_THREADS: usize = 64;

impl PoolBuilder {
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
