//! Actions that look: at snapshots, at tasks, at all that a dashboard shows.

use super::Actor;
use crate::ledger::ignore;
use punctual::Control;

/// References to what runs and waits; they are kept for longer than their tasks live.
pub(super) fn find(actor: &mut Actor) {
    let control = &actor.world.control;
    let found = match actor.rng.u8(0..3) {
        0 => control.running(),
        1 => control.queued(actor.rng.usize(0..Control::MOST_LISTED)),
        _ => {
            let id = actor.world.refs.any(&mut actor.rng).map_or(0, |task| task.id());
            control.task(id).into_iter().collect()
        }
    };
    for task in found.into_iter().take(8) {
        actor.world.refs.put(&mut actor.rng, task);
    }
}

pub(super) fn stats(actor: &mut Actor) {
    let stats = match actor.world.pool() {
        Some(pool) if actor.rng.bool() => Some(pool.stats()),
        _ => actor.world.control.stats(),
    };
    if let Some(stats) = stats {
        actor.world.check_stats(&stats);
    }
}

pub(super) fn observe(actor: &mut Actor) {
    let control = &actor.world.control;
    drop((control.name(), control.state(), control.advice(), control.lints()));
    drop((control.preview_resize(1, 2), control.workers(), control.stalled()));
    drop((control.task_times(), control.lanes(), control.cost()));
    let Some(pool) = actor.world.pool() else { return };
    ignore((
        pool.name().len(),
        pool.size(),
        pool.state(),
        pool.keep_alive(),
        pool.core_timeout(),
    ));
    drop((pool.reject(), pool.advice(), pool.control(), pool.executor()));
    drop(format!("{pool:?}"));
}

pub(super) fn dump(actor: &mut Actor) {
    let control = &actor.world.control;
    drop((control.records(), control.rejected(), control.recent(0)));
    let dump = match actor.world.pool() {
        Some(pool) if actor.rng.bool() => Some(pool.dump()),
        _ => control.dump(),
    };
    ignore(dump.map(|dump| dump.to_json().len()));
}
