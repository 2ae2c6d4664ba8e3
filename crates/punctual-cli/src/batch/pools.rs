//! From a plan's pools to the library's.

use crate::file::plan::{LimitPlan, Order, Plan, PoolPlan, TaskPlan};
use punctual::{Capacity, ConfigError, Executor, Pool, PoolBuilder, Queue};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The last events of each pool, for its page and for dumps.
const RECORDED: usize = 10_000;

/// A pool's settings in the library's words. Building it may still refuse them.
pub(crate) fn builder(plan: &PoolPlan) -> PoolBuilder {
    let capacity = plan.queue.map_or(Capacity::Unbounded, Capacity::Bounded);
    let queue: Queue = match &plan.order {
        Order::Fifo => match capacity {
            Capacity::Bounded(places) => Queue::bounded(places),
            Capacity::Unbounded => Queue::unbounded(),
        },
        Order::Strict => levels(capacity).strict().into(),
        Order::Aging(step) => levels(capacity).aging(*step).into(),
        Order::Shares(shares) => Queue::priority(capacity)
            .levels(shares.len())
            .shares(shares.clone())
            .into(),
    };
    let mut builder = Pool::builder(plan.name.clone())
        .core_threads(plan.core)
        .max_threads(plan.max)
        .growth(plan.growth)
        .queue(queue);
    if let Some(keep_alive) = plan.keep_alive {
        builder = builder.keep_alive(keep_alive);
    }
    if let Some(nice) = plan.nice {
        builder = builder.nice(nice);
    }
    builder
}

/// As many levels as a task's `priority` can name.
fn levels(capacity: Capacity) -> punctual::PriorityQueue {
    Queue::priority(capacity).levels(8)
}

/// The pools of a plan, and the views that its limits are.
#[derive(Debug)]
pub(crate) struct Places {
    pub(crate) pools: Vec<Pool>,
    /// A number for each pool that was ever built here.
    pub(crate) numbers: Vec<u64>,
    limits: Vec<Executor>,
}

impl Places {
    pub(crate) fn new(plan: &Plan) -> Result<Self, ConfigError> {
        Places::with(plan, |_| None)
    }

    /// As [`Places::new`], where some of the pools are there already.
    pub(crate) fn with(
        plan: &Plan,
        there: impl Fn(usize) -> Option<(Pool, u64)>,
    ) -> Result<Self, ConfigError> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let (mut pools, mut numbers) = (Vec::new(), Vec::new());
        for (index, pool) in plan.pools.iter().enumerate() {
            let (pool, number) = match there(index) {
                Some(there) => there,
                None => (
                    builder(pool).recorder(RECORDED).build()?,
                    NUMBER.fetch_add(1, Relaxed),
                ),
            };
            pools.push(pool);
            numbers.push(number);
        }
        let view = |limit: &LimitPlan| pools[limit.pool].named(limit.name.clone()).limit(limit.max);
        let limits = plan.limits.iter().map(view).collect::<Result<_, _>>()?;
        Ok(Places {
            pools,
            numbers,
            limits,
        })
    }

    /// Where a task is submitted: its pool, under its limit, in the order of its key.
    pub(crate) fn of(&self, task: &TaskPlan) -> Executor {
        let place = match task.limit {
            Some(limit) => self.limits[limit].clone(),
            None => self.pools[task.pool].executor(),
        };
        match &task.key {
            Some(key) => place.keyed(key),
            None => place,
        }
    }
}
