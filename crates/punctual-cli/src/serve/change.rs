//! What differs between the file in force and another one, for people and for [`state`](super::state).

use crate::file::Plan;
use crate::file::plan::{PoolPlan, SchedulePlan};

/// What becomes of a pool or a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The one at this position goes on.
    Kept(usize),
    /// The one at this position goes on, and gets other sizes.
    Resized(usize),
    New,
}

/// What becomes of each pool of the new file.
pub(crate) fn pools(old: &Plan, new: &Plan) -> Vec<Fate> {
    let fate = |pool: &PoolPlan| {
        let Some(index) = old.pools.iter().position(|other| other.name == pool.name) else {
            return Fate::New;
        };
        let other = &old.pools[index];
        if other == pool {
            return Fate::Kept(index);
        }
        let sized = PoolPlan {
            core: pool.core,
            max: pool.max,
            ..other.clone()
        };
        if sized == *pool {
            Fate::Resized(index)
        } else {
            Fate::New
        }
    };
    new.pools.iter().map(fate).collect()
}

/// Everything that says how a schedule's runs are done: two that are equal here need no change.
pub(crate) fn print(plan: &Plan, schedule: &SchedulePlan) -> String {
    let task = &plan.tasks[schedule.task];
    let limit = task.limit.map(|limit| &plan.limits[limit]);
    format!(
        "{} | {:?} in {} under {limit:?} at {} key {:?}, timeout {:?} grace {:?}, {} retries {:?}, output {}",
        schedule.print,
        task.work,
        plan.pools[task.pool].name,
        task.level,
        task.key,
        task.timeout,
        task.grace,
        task.retries,
        task.backoff,
        task.output
    )
}

/// What becomes of each schedule of the new file, if its pool stays too.
pub(crate) fn schedules(old: &Plan, new: &Plan, pools: &[Fate]) -> Vec<Fate> {
    let fate = |schedule: &SchedulePlan| {
        let same = old
            .schedules
            .iter()
            .position(|other| other.name == schedule.name && print(old, other) == print(new, schedule));
        let stays = pools[new.tasks[schedule.task].pool] != Fate::New;
        match same {
            Some(index) if stays => Fate::Kept(index),
            _ => Fate::New,
        }
    };
    new.schedules.iter().map(fate).collect()
}

/// A line for each thing that changes: `+` new, `-` gone, `~` another.
pub(crate) fn lines(old: &Plan, new: &Plan) -> Vec<String> {
    let pool_fates = pools(old, new);
    let schedule_fates = schedules(old, new, &pool_fates);
    let mut lines = Vec::new();
    for (pool, fate) in new.pools.iter().zip(&pool_fates) {
        let before = old.pools.iter().find(|other| other.name == pool.name);
        match (fate, before) {
            (Fate::Kept(_), _) => {}
            (Fate::Resized(_), Some(before)) => lines.push(format!(
                "~ pool {}: core {} -> {}, max {} -> {}",
                pool.name, before.core, pool.core, before.max, pool.max
            )),
            (_, Some(_)) => lines.push(format!(
                "~ pool {}: built anew; the old one ends when it is empty",
                pool.name
            )),
            (_, None) => lines.push(format!("+ pool {}", pool.name)),
        }
    }
    let gone = old
        .pools
        .iter()
        .filter(|pool| new.pools.iter().all(|other| other.name != pool.name));
    lines.extend(gone.map(|pool| format!("- pool {}", pool.name)));
    for (schedule, fate) in new.schedules.iter().zip(&schedule_fates) {
        let before = old.schedules.iter().any(|other| other.name == schedule.name);
        match fate {
            Fate::New if before => lines.push(format!("~ schedule {}", schedule.name)),
            Fate::New => lines.push(format!("+ schedule {}", schedule.name)),
            _ => {}
        }
    }
    let gone = old.schedules.iter();
    let gone = gone.filter(|schedule| new.schedules.iter().all(|other| other.name != schedule.name));
    lines.extend(gone.map(|schedule| format!("- schedule {}", schedule.name)));
    if old.serve.history != new.serve.history {
        lines.push(format!(
            "~ history: {} -> {}",
            old.serve.history, new.serve.history
        ));
    }
    if old.serve.bind != new.serve.bind {
        lines.push(format!(
            "! bind {} -> {}: takes a restart",
            old.serve.bind, new.serve.bind
        ));
    }
    lines
}
