//! What a pool was built with, checked once.

use super::errors::ConfigError;
use std::time::Duration;

/// More workers than this cannot be counted in one word of the idle part.
pub(crate) const MAX_THREADS: usize = (1 << 15) - 1;

/// When a pool starts threads beyond its core size.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Growth {
    /// When the queue is full. The default.
    #[default]
    QueueFirst,
    /// When no thread is free; the queue fills when all threads are at work.
    ThreadsFirst,
}

/// How many tasks may wait.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// Any number.
    Unbounded,
    /// So many.
    Bounded(usize),
    /// None: each task is handed to a free thread or to a new one.
    Handoff,
}

/// The sizes that decide over acceptance and growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) core: usize,
    pub(crate) max: usize,
    pub(crate) capacity: Capacity,
    pub(crate) growth: Growth,
}

/// When an idle worker leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeepAlive {
    pub(crate) limit: Duration,
    /// Core threads leave too.
    pub(crate) covers_core: bool,
}

impl Size {
    /// So many threads, which stay.
    #[cfg(test)]
    pub(crate) fn fixed(threads: usize, capacity: Capacity) -> Self {
        Size {
            core: threads,
            max: threads,
            capacity,
            growth: Growth::QueueFirst,
        }
    }

    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let Size {
            core, max, capacity, ..
        } = *self;
        let error =
            |field, value: usize, limit: String, fix: &str| Err(ConfigError::new(field, value, limit, fix));
        if max == 0 {
            let fix = "set max_threads to 1 or more";
            return error("max_threads", max, "a pool needs at least one thread".into(), fix);
        }
        if max > MAX_THREADS {
            let limit = format!("at most {MAX_THREADS} threads can be counted");
            return error("max_threads", max, limit, "lower it");
        }
        if core > max {
            let limit = format!("max_threads is {max}");
            return error(
                "core_threads",
                core,
                limit,
                "lower core_threads or raise max_threads",
            );
        }
        if capacity == Capacity::Bounded(0) {
            let fix = "set the capacity to 1 or more, or use Capacity::Handoff";
            return error("capacity", 0, "a queue needs a place".into(), fix);
        }
        let is_unreachable = capacity == Capacity::Unbounded && self.growth == Growth::QueueFirst;
        if is_unreachable && core < max && core > 0 {
            let limit = format!(
                "a queue without a bound is never full, so no thread beyond core_threads = {core} would start"
            );
            let fix = "bound the queue, set core_threads to max_threads, or use Growth::ThreadsFirst";
            return error("max_threads", max, limit, fix);
        }
        Ok(())
    }
}

impl KeepAlive {
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        if self.covers_core && self.limit.is_zero() {
            return Err(ConfigError::new(
                "keep_alive",
                "0 s",
                "with core_timeout each thread would leave before its next task",
                "set keep_alive above 0 or switch core_timeout off",
            ));
        }
        Ok(())
    }
}
