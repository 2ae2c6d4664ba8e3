//! Waiting rooms.
//!
//! In: records, under the producers' lock, where order, acceptance, capacity and closing are decided together. Out:
//! one record at a time, under the consumers' lock; or from the [`deque`] of a worker, or from what [`yielded`] to it. A queue knows no workers and wakes
//! nobody: it answers, and the pool acts. [`segment`] is the memory, [`chain`] the two ends of a log made of it, [`producers`] what is decided about
//! one more record, [`counts`] what is counted, [`room`] the locks.

mod chain;
mod counts;
pub(crate) mod deque;
mod levels;
mod lines;
pub(crate) mod locals;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod producers;
pub(crate) mod room;
mod rules;
mod segment;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
pub(crate) mod yielded;

pub(crate) use counts::{LevelTally, Tally};
pub use levels::PriorityQueue;
pub(crate) use levels::{Discipline, Settings, kind};
pub(crate) use producers::Refusal;
pub(crate) use room::{Handed, Located, Room};
pub(crate) use rules::LEVELS;

use crate::ConfigError;

/// How much may wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Capacity {
    /// At most this many tasks.
    Bounded(usize),
    /// Until memory ends.
    Unbounded,
}

impl From<usize> for Capacity {
    fn from(n: usize) -> Self {
        Capacity::Bounded(n)
    }
}

impl Capacity {
    /// As a number to compare a count with.
    pub(crate) fn limit(self) -> u64 {
        match self {
            Capacity::Bounded(n) => n as u64,
            Capacity::Unbounded => u64::MAX,
        }
    }
}

/// The waiting room of a pool and its discipline.
///
/// ```
/// use punctual::{Pool, Queue};
/// let pool = Pool::builder("mail").core_threads(2).queue(Queue::bounded(1_000)).build()?;
/// # Ok::<(), punctual::ConfigError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Queue {
    capacity: Capacity,
    levels: Option<Settings>,
    /// Whether each worker has a deque of its own.
    steals: bool,
}

impl Queue {
    /// First in, first out, at most `n` waiting tasks. `bounded(0)` is [`Queue::handoff`].
    #[must_use]
    pub fn bounded(n: usize) -> Self {
        Queue::plain(Capacity::Bounded(n))
    }

    /// First in, first out, without a bound: a producer that is faster than the workers fills the memory.
    #[must_use]
    pub fn unbounded() -> Self {
        Queue::plain(Capacity::Unbounded)
    }

    /// No waiting room: a task is accepted only if a worker is free for it, or may be started.
    #[must_use]
    pub fn handoff() -> Self {
        Queue::bounded(0)
    }

    /// For work that makes more work: what a task submits to its own pool goes to a deque of its worker, which takes the
    /// newest first; a worker that has nothing steals the oldest of another. Tasks from outside, and those submitted with
    /// [`shared`](crate::TaskBuilder::shared), wait in a shared queue, first in, first out; each worker looks there at every
    /// 64th turn at the latest. At most `capacity` wait in all of these together.
    ///
    /// Take it where tasks fork: the newest task is warm in the worker's cache, and no lock is taken for it. With a capacity
    /// its bound is exact, and costs a lock for each submission. Where order matters take another queue: of two tasks that
    /// one task submitted, the second usually starts first.
    ///
    /// ```
    /// use punctual::{Capacity, Executor, Pool, Queue};
    /// fn count_up(pool: &Executor, n: u64) -> u64 {
    ///     if n < 2 {
    ///         return n;
    ///     }
    ///     let (a, b) = pool.join(|| count_up(pool, n / 2), || count_up(pool, n - n / 2));
    ///     a + b
    /// }
    /// let pool = Pool::builder("p").core_threads(2).queue(Queue::stealing(Capacity::Unbounded)).build()?;
    /// let inside = pool.downgrade();
    /// let sum = pool.submit(move || count_up(&inside.upgrade().unwrap(), 1_000))?;
    /// assert_eq!(sum.join()?, 1_000);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn stealing(capacity: impl Into<Capacity>) -> Self {
        Queue {
            steals: true,
            ..Queue::plain(capacity.into())
        }
    }

    /// By urgency: four levels, first in, first out inside each; see [`PriorityQueue`] for more or fewer levels, and for
    /// what keeps the less urgent ones from starving.
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue};
    /// let pool = Pool::builder("orders").core_threads(2).queue(Queue::priority(1_000)).build()?;
    /// let report = pool.task(|| "report").priority(Priority::LOW).submit()?;
    /// let payment = pool.task(|| "payment").priority(Priority::URGENT).submit()?;
    /// # let _ = (report.join()?, payment.join()?);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn priority(capacity: impl Into<Capacity>) -> PriorityQueue {
        PriorityQueue::new(capacity.into())
    }

    fn plain(capacity: Capacity) -> Self {
        Queue {
            capacity,
            levels: None,
            steals: false,
        }
    }

    /// What an annex takes: the same levels, no bound and no deques of its own.
    pub(crate) fn unlimited(&self) -> Self {
        Queue {
            capacity: Capacity::Unbounded,
            steals: false,
            ..self.clone()
        }
    }

    /// Whether each worker has a deque of its own.
    pub(crate) fn steals(&self) -> bool {
        self.steals
    }

    pub(crate) fn capacity(&self) -> Capacity {
        self.capacity
    }

    pub(crate) fn has_levels(&self) -> bool {
        self.levels.is_some()
    }

    /// Whether less urgent levels may starve.
    pub(crate) fn is_strict(&self) -> bool {
        let discipline = self.discipline().ok().flatten();
        discipline.is_some_and(|discipline| discipline.is_strict())
    }

    /// How its levels are served; `None` for a queue without levels.
    pub(crate) fn discipline(&self) -> Result<Option<Discipline>, ConfigError> {
        self.levels.as_ref().map(Settings::check).transpose()
    }
}
