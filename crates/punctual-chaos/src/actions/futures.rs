//! Actions with futures: spawned, driven here, woken from outside.

use super::Actor;
use crate::body::future_work;
use punctual::future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

pub(super) fn spawn(actor: &mut Actor) {
    if !actor.world.ledger.has_room() {
        return;
    }
    let Some(view) = actor.world.view(&mut actor.rng) else {
        return;
    };
    let (id, work) = future_work(&actor.world, &mut actor.rng);
    let spawned = match actor.rng.u8(0..4) {
        0 => view.executor.task(work).name("future").spawn(),
        _ => view.executor.spawn(work),
    };
    actor.keep(id, false, spawned);
}

pub(super) fn submit_async(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let Some(root) = actor.world.root.upgrade() else {
        return;
    };
    let id = work.id();
    let submission = view.executor.submit_async(move || work.run());
    let limit = crate::settings::micros(&mut actor.rng, 2_000);
    if let Ok(Ok(submitted)) = root.block_on(future::timeout(limit, submission)) {
        actor.keep(id, false, submitted);
    }
}

pub(super) fn block_on(actor: &mut Actor) {
    if !actor.world.ledger.has_room() {
        return;
    }
    let Some(root) = actor.world.root.upgrade() else {
        return;
    };
    let (id, work) = future_work(&actor.world, &mut actor.rng);
    actor.world.settle(id, root.block_on(work));
}

/// Something happens that a future waits for.
pub(super) fn fire(actor: &mut Actor) {
    let event = actor.world.externals.take(&mut actor.rng);
    event.into_iter().for_each(|event| event.fire());
}

/// A wake without a reason, possibly after the end of its future.
pub(super) fn wake(actor: &mut Actor) {
    match actor.rng.u8(0..3) {
        0 => drop(actor.world.wakers.take(&mut actor.rng)),
        1 => drop(actor.world.wakers.take(&mut actor.rng).map(Waker::wake)),
        _ => drop(
            actor
                .world
                .wakers
                .any(&mut actor.rng)
                .map(|waker| waker.wake_by_ref()),
        ),
    }
}

/// A handle is polled once or twice with a waker that does nothing, as a `select` does.
pub(super) fn poll_handle(actor: &mut Actor) {
    let Some(mut kept) = actor.world.kept.take(&mut actor.rng) else {
        return;
    };
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        if let Poll::Ready(outcome) = Pin::new(&mut kept.handle).poll(&mut context) {
            return actor.world.settle(kept.id, outcome);
        }
    }
    actor.world.kept.put(&mut actor.rng, kept);
}
