//! `[pool.*]` and `[limit.*]`.

use super::plan::{LimitPlan, Order, PoolPlan};
use super::problem::nearest;
use super::section::{Section, Spanned};
use punctual::{DEFAULT_QUEUE_CAPACITY, Growth, MAX_THREADS};
use std::num::NonZero;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

/// What the library takes if nobody says otherwise.
const AGING: Duration = Duration::from_secs(1);

/// The name of the pool that is there if the file has none.
pub(crate) const DEFAULT_POOL: &str = "main";

pub(crate) fn cores() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

/// A pool with every default.
pub(crate) fn default_pool(name: &str) -> PoolPlan {
    PoolPlan {
        name: Arc::from(name),
        core: cores(),
        max: cores(),
        queue: Some(DEFAULT_QUEUE_CAPACITY),
        order: Order::Aging(AGING),
        growth: Growth::QueueFirst,
        keep_alive: None,
        nice: None,
    }
}

pub(super) fn pools(root: &Section<'_>) -> Vec<PoolPlan> {
    let named = root.named("pool");
    let mut pools: Vec<PoolPlan> = named.iter().map(|(name, section)| pool(name, section)).collect();
    if pools.is_empty() {
        pools.push(default_pool(DEFAULT_POOL));
    }
    pools
}

fn pool(name: &str, section: &Section<'_>) -> PoolPlan {
    let mut pool = default_pool(name);
    let most = MAX_THREADS as u64;
    if let Some(threads) = section.count("threads", 1..=most) {
        pool.core = threads as usize;
        pool.max = threads as usize;
    }
    if let Some(core) = section.count("core", 0..=most) {
        pool.core = core as usize;
        pool.max = pool.max.max(pool.core).max(1);
    }
    if let Some(max) = section.count("max", 1..=most) {
        pool.max = max as usize;
        if !section.has("core") && !section.has("threads") {
            pool.core = pool.core.min(pool.max);
        }
    }
    pool.queue = queue(section).unwrap_or(pool.queue);
    pool.order = order(section);
    let growth = [
        ("queue-first", Growth::QueueFirst),
        ("threads-first", Growth::ThreadsFirst),
    ];
    pool.growth = section.word("growth", &growth).unwrap_or(pool.growth);
    pool.keep_alive = section.positive("keep_alive");
    // Upwards needs rights that few have: what the system grants is in the report.
    pool.nice = section.count("nice", 0..=19).map(|nice| nice as i32);
    section.finish();
    if let Err(error) = super::super::batch::pools::builder(&pool).build() {
        section.problem(
            "E031",
            None,
            format!("pool {name:?}: {error}"),
            format!("change {} in [{}]", error.field(), section.name),
        );
    }
    pool
}

fn queue(section: &Section<'_>) -> Option<Option<usize>> {
    if section.is_text("queue") {
        return section.word("queue", &[("unbounded", None)]);
    }
    section
        .count("queue", 1..=1 << 32)
        .map(|capacity| Some(capacity as usize))
}

fn order(section: &Section<'_>) -> Order {
    #[derive(Clone, Copy)]
    enum Kind {
        Fifo,
        Strict,
        Aging,
        Shares,
    }
    let words = [
        ("fifo", Kind::Fifo),
        ("strict", Kind::Strict),
        ("aging", Kind::Aging),
        ("shares", Kind::Shares),
    ];
    let step = section.positive("aging");
    let shares = section.numbers("shares", "[50, 30, 15, 5]");
    let kind = section.word("order", &words);
    if step.is_some() && shares.is_some() {
        section.problem(
            "E013",
            section.key_bytes("shares"),
            format!("[{}] has both aging and shares", section.name),
            "they are two answers to the same question: leave one out",
        );
    }
    match (kind, step, shares) {
        (Some(Kind::Fifo), ..) => Order::Fifo,
        (Some(Kind::Strict), ..) => Order::Strict,
        (None, None, Some(shares)) | (Some(Kind::Shares), _, Some(shares)) => Order::Shares(shares),
        (Some(Kind::Shares), ..) => Order::Shares(vec![50, 30, 15, 5]),
        (_, step, _) => Order::Aging(step.unwrap_or(AGING)),
    }
}

pub(super) fn limits(root: &Section<'_>, pools: &[PoolPlan]) -> Vec<LimitPlan> {
    let mut limits = Vec::new();
    for (name, section) in root.named("limit") {
        let max = section.count("max", 1..=MAX_THREADS as u64);
        if max.is_none() && !section.has("max") {
            section.problem(
                "E013",
                None,
                format!("[{}] does not say how many", section.name),
                "add max = 2, or as many as may run at a time",
            );
        }
        limits.push(LimitPlan {
            name: Arc::from(name),
            max: max.unwrap_or(1) as usize,
            pool: pool_of(&section, pools).unwrap_or(0),
        });
        section.finish();
    }
    limits
}

/// The pool a section names; nothing if it names none, or none that is there.
pub(super) fn pool_of(section: &Section<'_>, pools: &[PoolPlan]) -> Option<usize> {
    let name = section.text("pool", "\"main\"")?;
    named(section, "pool", &name, pools.iter().map(|pool| &*pool.name))
}

/// The position of a name among those that are there.
pub(super) fn named<'a>(
    section: &Section<'_>,
    key: &str,
    name: &Spanned<String>,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<usize> {
    let found = names.clone().position(|known| known == name.value);
    if found.is_none() {
        let there: Vec<&str> = names.clone().take(10).collect();
        let help = match nearest(&name.value, names) {
            Some(meant) => format!("did you mean {meant:?}?"),
            None if there.is_empty() => format!("there is none: add [{key}.{}]", name.value),
            None => format!("there are: {}", there.join(", ")),
        };
        section.problem(
            "E020",
            name.bytes.clone(),
            format!(
                "[{}] names the {key} {:?}, which is not there",
                section.name, name.value
            ),
            help,
        );
    }
    found
}
