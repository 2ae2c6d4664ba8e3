//! Actions with views: limits, keys, lanes, threads of their own.

use super::Actor;
use crate::gate::Gate;
use crate::settings::micros;
use crate::world::{KEYS, View};
use punctual::Priority;
use std::sync::atomic::Ordering::Relaxed;

/// A view of a view, sometimes nested.
pub(super) fn make(actor: &mut Actor) {
    let rng = &mut actor.rng;
    let Some(base) = actor.world.view(rng) else { return };
    let with = |executor, most: Option<usize>| {
        let mut gates = base.gates.clone();
        gates.extend(most.map(Gate::new));
        View {
            executor,
            gates,
            lane: None,
        }
    };
    let made = match rng.u8(0..8) {
        0 => {
            let n = rng.usize(1..4);
            base.executor.limit(n).ok().map(|view| with(view, Some(n)))
        }
        1 => Some(with(base.executor.sequential(), Some(1))),
        2 => {
            let key = rng.usize(0..KEYS);
            let executor = actor.world.root.upgrade().map(|root| root.keyed(key));
            executor.map(|executor| View {
                executor,
                gates: vec![actor.world.keys[key].clone()],
                lane: None,
            })
        }
        3 | 4 => {
            let lane = base.executor.lane();
            let view = with((*lane).clone(), Some(1));
            let lane = Some(lane);
            Some(View { lane, ..view })
        }
        5 => base.executor.lane_bounded(rng.usize(1..4)).ok().map(|lane| {
            let view = with((*lane).clone(), Some(1));
            let lane = Some(lane);
            View { lane, ..view }
        }),
        6 => Some(with(base.executor.named("named"), None)),
        _ => Some(with(
            base.executor.at_priority(Priority::level(rng.u8(0..5))),
            None,
        )),
    };
    if let Some(view) = made {
        actor.world.views.put(rng, view);
    }
}

/// Executors with threads of their own.
pub(super) fn apart(actor: &mut Actor) {
    let Some(root) = actor.world.root.upgrade() else {
        return;
    };
    let made = if actor.rng.bool() || actor.world.reserved.fetch_add(1, Relaxed) >= 3 {
        root.blocking()
    } else {
        root.reserve(actor.rng.usize(1..3))
    };
    if let Ok(executor) = made {
        let gates = Vec::new();
        let lane = None;
        actor.world.views.put(
            &mut actor.rng,
            View {
                executor,
                gates,
                lane,
            },
        );
    }
}

pub(super) fn look(actor: &mut Actor) {
    let Some(view) = actor.world.view(&mut actor.rng) else {
        return;
    };
    drop(view.executor.view_stats());
    let weak = view.executor.downgrade();
    drop(view);
    drop(weak.upgrade());
}

pub(super) fn end_lane(actor: &mut Actor) {
    let Some(view) = actor.world.views.any(&mut actor.rng) else {
        return;
    };
    let Some(lane) = view.lane else { return };
    if actor.rng.bool() {
        lane.dispose();
    } else {
        lane.close_timeout(micros(&mut actor.rng, 500));
    }
}

pub(super) fn forget(actor: &mut Actor) {
    drop(actor.world.views.take(&mut actor.rng));
}
