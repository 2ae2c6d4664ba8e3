//! Actions that submit closures at once.

use super::Actor;
use crate::body::Work;
use crate::settings::micros;
use punctual::{Executor, Job, Priority, RefusedJob, task::Token};
use std::sync::{Arc, Mutex};

pub(super) fn execute(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let refused = view.executor.execute(move || drop(work.run())).err();
    // Run here it would not be in its view.
    drop(refused.map(punctual::Rejected::into_task));
}

pub(super) fn execute_all(actor: &mut Actor) {
    let Some((view, first)) = actor.work() else { return };
    let mut works = vec![first];
    for _ in 0..actor.rng.u8(0..12) {
        works.push(Work::new(&actor.world, &mut actor.rng, &view.gates, 1));
    }
    drop(
        view.executor
            .execute_all(works.into_iter().map(|work| move || drop(work.run()))),
    );
}

pub(super) fn submit(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let id = work.id();
    let submitted = view.executor.submit(move || work.run());
    actor.keep(id, false, submitted);
}

pub(super) fn submit_timeout(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let id = work.id();
    let limit = micros(&mut actor.rng, 1_000);
    let submitted = view.executor.submit_timeout(limit, move || work.run());
    actor.keep(id, false, submitted);
}

/// Every option of a task.
pub(super) fn build(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let id = work.id();
    let token = Token::new();
    let rng = &mut actor.rng;
    let mut task = view.executor.task(move || work.run());
    if rng.bool() {
        task = task.priority(Priority::level(rng.u8(0..6)));
    }
    if rng.u8(0..4) == 0 {
        task = task.name(["one", "two", "three"][rng.usize(0..3)]);
    }
    if rng.u8(0..3) == 0 {
        task = task.expires_in(micros(rng, 1_500));
    }
    if rng.u8(0..4) == 0 {
        task = task.time_limit(micros(rng, 1_500));
    }
    if rng.u8(0..4) == 0 {
        task = task.slow_after(micros(rng, 1_500));
    }
    let is_cancelled = rng.u8(0..4) == 0;
    if is_cancelled {
        task = task.token(&token);
    }
    if rng.u8(0..6) == 0 {
        task = task.shared();
    }
    let delay = micros(rng, 1_500);
    match rng.u8(0..6) {
        0 => {
            drop(task.execute().err().map(punctual::Rejected::into_task));
        }
        1 => {
            let submitted = task.after(delay);
            actor.keep(id, false, submitted);
        }
        _ => {
            let submitted = task.submit();
            actor.keep(id, false, submitted);
        }
    }
    if is_cancelled {
        token.cancel();
    }
}

/// Executors round other threads: here, refused, dropped, or run later.
pub(super) fn adapters(actor: &mut Actor) {
    if !actor.world.ledger.has_room() {
        return;
    }
    let later: Arc<Mutex<Vec<Job>>> = Arc::default();
    let executor = match actor.rng.u8(0..4) {
        0 => Executor::immediate(),
        1 => Executor::from_fn(|job| {
            let cause = "refused".to_owned();
            Err(RefusedJob { job, cause })
        }),
        2 => Executor::from_fn(|job| {
            drop(job);
            Ok(())
        }),
        _ => {
            let later = later.clone();
            Executor::from_fn(move |job| {
                crate::world::lock(&later).push(job);
                Ok(())
            })
        }
    };
    for _ in 0..actor.rng.u8(1..4) {
        let work = Work::leaf(&actor.world, &mut actor.rng, &[]);
        let id = work.id();
        if let Ok(mut handle) = executor.submit(move || work.run()) {
            let jobs = std::mem::take(&mut *crate::world::lock(&later));
            jobs.into_iter().for_each(Job::run);
            actor
                .world
                .settle(id, handle.join_timeout(std::time::Duration::from_secs(30)));
        }
    }
    crate::body::scope(&actor.world, &mut actor.rng, &Executor::immediate(), &[]);
}
