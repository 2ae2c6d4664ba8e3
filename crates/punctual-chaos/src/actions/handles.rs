//! Actions with handles and references that another actor left.

use super::Actor;
use crate::ledger::{fail, ignore};
use crate::settings::micros;
use punctual::{Cancel, JoinError, Priority};
use std::time::Duration;

/// A task that has ended gives its outcome without a wait.
pub(super) fn join(actor: &mut Actor) {
    let Some(mut kept) = actor.world.kept.take_if(&mut actor.rng, |kept| !kept.is_far) else {
        return;
    };
    if kept.handle.is_finished() {
        let outcome = kept.handle.join_timeout(Duration::ZERO);
        if outcome.as_ref().is_err_and(JoinError::is_timeout) {
            fail(&format!("handle {} is finished and has no outcome", kept.id));
        }
        return actor.world.settle(kept.id, outcome);
    }
    let outcome = kept.handle.join();
    actor.world.settle(kept.id, outcome);
}

pub(super) fn wait(actor: &mut Actor) {
    let Some(mut kept) = actor.world.kept.take(&mut actor.rng) else {
        return;
    };
    let limit = micros(&mut actor.rng, 500);
    match actor.rng.u8(0..3) {
        0 => match kept.handle.join_timeout(limit) {
            Err(error) if error.is_timeout() => {}
            outcome => return actor.world.settle(kept.id, outcome),
        },
        1 if !kept.is_far => kept.handle.wait(),
        _ => drop(kept.handle.wait_timeout(limit)),
    }
    actor.world.kept.put(&mut actor.rng, kept);
}

/// A removed closure never runs, and is gone when the call returns; waiters have their answer then.
pub(super) fn cancel(actor: &mut Actor) {
    let Some(mut kept) = actor.world.kept.take(&mut actor.rng) else {
        return;
    };
    let answer = kept.handle.cancel();
    let ledger = &actor.world.ledger;
    if answer == Cancel::Removed && ledger.has_run(kept.id) {
        fail(&format!("task {} was removed and has run", kept.id));
    }
    if answer == Cancel::Removed && !ledger.is_dropped(kept.id) {
        fail(&format!(
            "task {} was removed and its closure is still there",
            kept.id
        ));
    }
    let outcome = kept.handle.join_timeout(Duration::ZERO);
    if outcome.as_ref().is_err_and(JoinError::is_timeout) {
        if answer != Cancel::TooLate {
            fail(&format!(
                "task {} was cancelled ({answer:?}) and has no outcome",
                kept.id
            ));
        }
        // Its body has ended, and its hooks look at the outcome.
        return actor.world.kept.put(&mut actor.rng, kept);
    }
    actor.world.settle(kept.id, outcome);
}

pub(super) fn steer(actor: &mut Actor) {
    let Some(task) = actor.world.refs.any(&mut actor.rng) else {
        return;
    };
    match actor.rng.u8(0..5) {
        0 => drop(task.cancel()),
        1 => drop(task.remove()),
        2 => drop(task.set_priority(Priority::level(actor.rng.u8(0..5)))),
        3 => drop(task.run_next()),
        _ => drop(actor.world.refs.take(&mut actor.rng)),
    }
}

pub(super) fn look(actor: &mut Actor) {
    let Some(task) = actor.world.refs.any(&mut actor.rng) else {
        return;
    };
    ignore((
        task.status(),
        task.remaining(),
        task.id(),
        task.type_name(),
        task.priority(),
    ));
    drop((task.name().map(str::len), task.site(), task.age(), task.view()));
    drop(task.explain().to_string());
}
