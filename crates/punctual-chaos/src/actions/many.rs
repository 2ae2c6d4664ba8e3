//! Actions with several tasks: scopes, branches, groups, all, any.

use super::Actor;
use crate::body::{self, Work};
use crate::settings::micros;

pub(super) fn scope(actor: &mut Actor) {
    if !actor.world.ledger.has_room() {
        return;
    }
    let Some(view) = actor.world.view(&mut actor.rng) else {
        return;
    };
    body::scope(&actor.world, &mut actor.rng, &view.executor, &view.gates);
}

pub(super) fn join(actor: &mut Actor) {
    if !actor.world.ledger.has_room() {
        return;
    }
    let Some(view) = actor.world.view(&mut actor.rng) else {
        return;
    };
    body::join(&actor.world, &mut actor.rng, &view.executor);
}

pub(super) fn all(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    if actor.rng.bool() {
        drop(work);
        return body::all(&actor.world, &mut actor.rng, &view.executor);
    }
    let second = Work::leaf(&actor.world, &mut actor.rng, &view.gates);
    let ids = [work.id(), second.id()];
    let limit = micros(&mut actor.rng, 600);
    if let Ok(outcomes) = view
        .executor
        .all_timeout(limit, [work, second].map(|work| move || work.run()))
    {
        for (id, outcome) in ids.into_iter().zip(outcomes) {
            actor.world.settle(id, outcome);
        }
    }
}

pub(super) fn any(actor: &mut Actor) {
    let Some((view, first)) = actor.work() else { return };
    let second = Work::leaf(&actor.world, &mut actor.rng, &view.gates);
    let fails = actor.rng.bool();
    let jobs = [first, second].map(|work| move || if fails { Err(work.id()) } else { Ok(work.run()) });
    if actor.rng.bool() {
        drop(view.executor.any(jobs));
    } else {
        drop(view.executor.any_timeout(micros(&mut actor.rng, 600), jobs));
    }
}

pub(super) fn group(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let mut group = view.executor.group();
    let mut work = Some(work);
    for _ in 0..actor.rng.u8(1..6) {
        let next = work.take();
        let next = next.unwrap_or_else(|| Work::leaf(&actor.world, &mut actor.rng, &view.gates));
        drop(group.submit(move || next.run()));
    }
    match actor.rng.u8(0..4) {
        0 => drop(group),
        1 => {
            group.cancel();
            while group.next().is_some() {}
        }
        2 => {
            let limit = micros(&mut actor.rng, 400);
            while let Ok(Some(_)) = group.next_timeout(limit) {}
        }
        _ => while group.next().is_some() {},
    }
}
