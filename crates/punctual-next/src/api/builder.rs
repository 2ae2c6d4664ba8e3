//! [`PoolBuilder`]: the settings of a pool, checked when it is built.

use super::pool::Pool;
use crate::base::errors::ConfigError;
use crate::base::settings::{Capacity, Growth, KeepAlive, Size};
use crate::engine::Engine;
use crate::engine::reject::Reject;
use crate::worker;
use std::time::Duration;

/// The settings of a pool. What is not set: one thread that stays, and a queue without a bound.
#[derive(Debug, Clone)]
#[must_use = "nothing is started before `build`"]
pub struct PoolBuilder {
    name: String,
    core: Option<usize>,
    max: Option<usize>,
    capacity: Capacity,
    growth: Growth,
    keep_alive: KeepAlive,
    reject: Reject,
}

impl PoolBuilder {
    pub(super) fn new(name: String) -> Self {
        PoolBuilder {
            name,
            core: None,
            max: None,
            capacity: Capacity::Unbounded,
            growth: Growth::QueueFirst,
            keep_alive: KeepAlive {
                limit: Duration::from_secs(60),
                covers_core: false,
            },
            reject: Reject::Abort,
        }
    }

    /// Threads that stay. Default: 1, or `max_threads` where only that is set.
    pub fn core_threads(mut self, threads: usize) -> Self {
        self.core = Some(threads);
        self
    }

    /// Threads at most. Default: `core_threads`.
    pub fn max_threads(mut self, threads: usize) -> Self {
        self.max = Some(threads);
        self
    }

    /// How many tasks may wait.
    pub fn capacity(mut self, capacity: Capacity) -> Self {
        self.capacity = capacity;
        self
    }

    /// When threads beyond the core size are started.
    pub fn growth(mut self, growth: Growth) -> Self {
        self.growth = growth;
        self
    }

    /// How long a thread beyond the core size stays without a task. Default: a minute.
    pub fn keep_alive(mut self, limit: Duration) -> Self {
        self.keep_alive.limit = limit;
        self
    }

    /// Core threads leave after the same time. Default: they stay.
    pub fn core_timeout(mut self, on: bool) -> Self {
        self.keep_alive.covers_core = on;
        self
    }

    /// What a full pool does. Default: [`Reject::Abort`].
    pub fn on_full(mut self, reject: Reject) -> Self {
        self.reject = reject;
        self
    }

    /// Checks the settings and makes the pool. No thread is started.
    ///
    /// # Errors
    /// If a setting cannot be; the error names it, its value, the limit and the fix.
    pub fn build(self) -> Result<Pool, ConfigError> {
        let core = self.core.or(self.max).unwrap_or(1);
        let size = Size {
            core,
            max: self.max.unwrap_or(core.max(1)),
            capacity: self.capacity,
            growth: self.growth,
        };
        size.check()?;
        self.keep_alive.check()?;
        let engine = Engine::new(
            self.name.into(),
            size,
            self.keep_alive,
            self.reject,
            worker::spawn,
        );
        Ok(Pool::new(engine))
    }
}
