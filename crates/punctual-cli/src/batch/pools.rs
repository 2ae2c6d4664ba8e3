//! From a plan's pools to the library's.

use crate::file::plan::{LimitPlan, Order, Plan, PoolPlan, TaskPlan};
use punctual::{Capacity, ConfigError, Executor, Pool, PoolBuilder, Queue};

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
    limits: Vec<Executor>,
}

impl Places {
    pub(crate) fn new(plan: &Plan) -> Result<Self, ConfigError> {
        Places::with(plan, |_| None)
    }

    /// As [`Places::new`], where some of the pools are there already.
    pub(crate) fn with(plan: &Plan, there: impl Fn(usize) -> Option<Pool>) -> Result<Self, ConfigError> {
        let pools = plan.pools.iter().enumerate();
        let pools = pools.map(|(index, pool)| there(index).map_or_else(|| builder(pool).build(), Ok));
        let pools: Vec<Pool> = pools.collect::<Result<_, _>>()?;
        let view = |limit: &LimitPlan| pools[limit.pool].named(limit.name.clone()).limit(limit.max);
        let limits = plan.limits.iter().map(view).collect::<Result<_, _>>()?;
        Ok(Places { pools, limits })
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
