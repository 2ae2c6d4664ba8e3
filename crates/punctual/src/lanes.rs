//! [`Lanes`]: threads that come and go, for work that blocks.
//!
//! In: how many threads at most, how much may wait, how long an idle thread stays. Out: a [`Pool`] with those settings, and
//! lanes on it that have a bound of their own. A preset of the public API and nothing else: whatever is not here is the
//! pool's.

use crate::sync::{Arc, parallelism};
use crate::{Capacity, Clock, ConfigError, Growth, Lane, MAX_THREADS, Pool, PoolBuilder, Queue};
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// Threads for each core, unless the builder says otherwise: blocked threads need none.
const THREADS_PER_CORE: usize = 10;

/// Tasks that may wait for each thread, and in each lane, unless the builder says otherwise.
const QUEUED_PER_THREAD: usize = 100_000;

/// How long an idle thread stays, unless the builder says otherwise.
const TIME_TO_LIVE: Duration = Duration::from_secs(60);

/// Threads for work that blocks: none at rest, up to a maximum under load, gone again after a while without work. All of
/// them serve one bounded queue, so a task waits only while every thread is at work, and never behind one task.
///
/// A task goes to an idle thread (today to the one that became idle last), else to a new one, else to the queue. [`Lanes::lane`] gives an ordered
/// line of tasks on these threads, which can be disposed of alone; there may be many more lanes than threads. Everything else
/// is the [`Pool`]'s, to which this derefs: [`Pool::close_timeout`] ends it gracefully, [`Pool::stop`] at once, and any
/// number of threads may wait for either.
///
/// ```
/// use punctual::Lanes;
/// use std::time::Duration;
///
/// let lanes = Lanes::builder("files").max_threads(8).queue_capacity(1_000).build()?;
/// let read = lanes.submit(|| std::fs::read_to_string("Cargo.toml"))?;
/// assert!(read.join()?.is_ok());
///
/// let account = lanes.lane(); // one after the other
/// account.execute(|| println!("first"))?;
/// account.execute(|| println!("then"))?;
/// assert!(account.close_timeout(Duration::from_secs(10)));
/// assert_eq!(lanes.remaining_capacity(), 1_000);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Lanes {
    pool: Pool,
    queue_per_lane: usize,
}

impl Deref for Lanes {
    type Target = Pool;
    fn deref(&self) -> &Pool {
        &self.pool
    }
}

impl Lanes {
    /// Lanes with this name, to be configured.
    pub fn builder(name: impl Into<Arc<str>>) -> LanesBuilder {
        LanesBuilder {
            pool: Pool::builder(name),
            max_threads: None,
            queue_capacity: None,
            queue_per_lane: QUEUED_PER_THREAD,
            time_to_live: TIME_TO_LIVE,
        }
    }

    /// A new lane, with room for as many waiting tasks as [`LanesBuilder::queue_per_lane`] says.
    #[must_use]
    pub fn lane(&self) -> Lane {
        let lane = self.pool.lane_bounded(self.queue_per_lane);
        lane.expect("the builder has checked the bound")
    }

    /// How many more tasks can wait now. Tasks that run take no room; those that were refused, cancelled or disposed of have
    /// given theirs back. Delayed ones take room only where
    /// [`capacity_covers_delayed`](PoolBuilder::capacity_covers_delayed) says so, runs of schedules never: it is the number by
    /// which the next task is accepted or refused.
    #[must_use]
    pub fn remaining_capacity(&self) -> usize {
        let stats = self.pool.stats();
        match stats.capacity {
            Capacity::Bounded(capacity) => capacity.saturating_sub(stats.occupied),
            Capacity::Unbounded => usize::MAX,
        }
    }
}

impl fmt::Debug for Lanes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lanes")
            .field("pool", &self.pool)
            .field("queue_per_lane", &self.queue_per_lane)
            .finish()
    }
}

/// Settings of [`Lanes`] to be; made by [`Lanes::builder`].
///
/// ```
/// use punctual::Lanes;
/// use std::time::Duration;
///
/// let lanes = Lanes::builder("db")
///     .max_threads(4)
///     .queue_capacity(100)
///     .queue_per_lane(10)
///     .time_to_live(Duration::from_secs(5))
///     .pool(|pool| pool.on_failure(|task, _| eprintln!("{} failed", task.label())))
///     .build()?;
/// assert_eq!(lanes.size().max, 4);
///
/// let wrong = Lanes::builder("db").time_to_live(Duration::ZERO).build().unwrap_err();
/// assert!(wrong.to_string().contains("time_to_live"));
/// # Ok::<(), punctual::ConfigError>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct LanesBuilder {
    pool: PoolBuilder,
    max_threads: Option<usize>,
    queue_capacity: Option<usize>,
    queue_per_lane: usize,
    time_to_live: Duration,
}

impl LanesBuilder {
    /// The most threads. Default: ten for each core.
    pub fn max_threads(mut self, n: usize) -> Self {
        self.max_threads = Some(n);
        self
    }

    /// How many tasks may wait in all. Default: a hundred thousand for each thread.
    pub fn queue_capacity(mut self, n: usize) -> Self {
        self.queue_capacity = Some(n);
        self
    }

    /// How many tasks may wait in one lane. A delayed one is counted from its time on, when it comes to the lane; it is not
    /// refused then. Default: a hundred thousand.
    pub fn queue_per_lane(mut self, n: usize) -> Self {
        self.queue_per_lane = n;
        self
    }

    /// How long a thread without work stays. Default: a minute.
    pub fn time_to_live(mut self, d: Duration) -> Self {
        self.time_to_live = d;
        self
    }

    /// The clock for time to live, delays and schedules. Default: the system's.
    pub fn clock(mut self, clock: impl Into<Clock>) -> Self {
        self.pool = self.pool.clock(clock);
        self
    }

    /// Whatever else a pool can be told: hooks, names, policies. Sizes and queue stay this builder's.
    pub fn pool(mut self, configure: impl FnOnce(PoolBuilder) -> PoolBuilder) -> Self {
        self.pool = configure(self.pool);
        self
    }

    /// Checks every setting and makes the lanes. Threads start with the first tasks.
    pub fn build(self) -> Result<Lanes, ConfigError> {
        let threads = self.max_threads.unwrap_or_else(|| {
            parallelism()
                .saturating_mul(THREADS_PER_CORE)
                .min(MAX_THREADS / 2)
        });
        let capacity = self
            .queue_capacity
            .unwrap_or_else(|| threads.saturating_mul(QUEUED_PER_THREAD));
        let most = (u32::MAX - 1) as usize;
        check("max_threads", threads, MAX_THREADS, "threads")?;
        check("queue_capacity", capacity, usize::MAX, "waiting tasks")?;
        check("queue_per_lane", self.queue_per_lane, most, "waiting tasks")?;
        if self.time_to_live.is_zero() {
            return Err(ConfigError::new(
                "time_to_live",
                "0 ns",
                "a thread that leaves at once is started anew for each task",
                "give the time an idle thread stays; a minute is usual",
            ));
        }
        let pool = self
            .pool
            .core_threads(0)
            .max_threads(threads)
            .growth(Growth::ThreadsFirst)
            .keep_alive(self.time_to_live)
            .queue(Queue::bounded(capacity))
            .build()?;
        Ok(Lanes {
            pool,
            queue_per_lane: self.queue_per_lane,
        })
    }
}

fn check(field: &'static str, value: usize, most: usize, what: &str) -> Result<(), ConfigError> {
    if (1..=most).contains(&value) {
        return Ok(());
    }
    Err(ConfigError::new(
        field,
        value,
        format!("lanes need 1 to {most} {what}"),
        "give a number in that range, or leave it unset for the default",
    ))
}
