//! Actions with a time: delayed tasks and schedules.

use super::Actor;
use crate::body::{Work, future_work};
use crate::ledger::{FAILURE, ignore};
use crate::settings::micros;
use fastrand::Rng;
use punctual::{Missed, OnFailure, Overlap, Schedule};
use std::time::Duration;

/// Beyond the end of any round.
const FAR: Duration = Duration::from_secs(100_000);

pub(super) fn after(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let id = work.id();
    let is_far = actor.rng.u8(0..3) == 0 && !actor.world.covers;
    let delay = if is_far {
        FAR
    } else {
        micros(&mut actor.rng, 2_000)
    };
    let submitted = view.executor.after(delay, move || work.run());
    actor.keep(id, is_far, submitted);
}

/// By the wall clock, which another action moves: the task may come at any time, or not in this round.
pub(super) fn at(actor: &mut Actor) {
    let Some((view, work)) = actor.work() else { return };
    let id = work.id();
    let now = actor.now();
    let some = micros(&mut actor.rng, 2_000);
    let when = if actor.rng.bool() { now + some } else { now - some };
    let submitted = view.executor.at(when, move || work.run());
    actor.keep(id, true, submitted);
}

fn plan(rng: &mut Rng, now: std::time::SystemTime) -> Schedule {
    let period = Duration::from_micros(rng.u64(200..3_000));
    let schedule = match rng.u8(0..6) {
        0 => Schedule::with_delay(period),
        1 => Schedule::once_at(now + period),
        2 => Schedule::trigger(move |last| Some(last.completed.unwrap_or(now) + period)),
        3 => Schedule::cron("* * * * * *").unwrap_or_else(|_| Schedule::every(period)),
        _ => Schedule::every(period),
    };
    // Not for ever: a strict queue below schedules that fill the pool would rightly wait for ever.
    let schedule = schedule.times(rng.u64(1..40));
    let schedule = match rng.u8(0..4) {
        1 => schedule.named("planned"),
        2 => schedule.jitter(micros(rng, 200)),
        _ => schedule,
    };
    let failing = match rng.u8(0..4) {
        0 => OnFailure::Stop,
        1 => OnFailure::StopAfter(2),
        2 => OnFailure::Backoff {
            first: period,
            max: period * 4,
        },
        _ => OnFailure::Continue,
    };
    let missed = [Missed::Once, Missed::Skip, Missed::Delay, Missed::Burst][rng.usize(0..4)];
    let overlap = [Overlap::Skip, Overlap::Queue][rng.usize(0..2)];
    schedule.on_failure(failing).missed(missed).overlap(overlap)
}

/// The body of a schedule: the probe in it is dropped with the schedule, each run is a body of its own.
pub(super) fn schedule(actor: &mut Actor) {
    let Some((view, kept)) = actor.work() else { return };
    let plan = actor.plan();
    let (world, mut rng) = (actor.world.clone(), Rng::with_seed(actor.rng.u64(..)));
    let made = view.executor.schedule(plan, move |_| {
        let _kept = &kept;
        if rng.u8(0..8) == 0 || !world.ledger.has_room() {
            return Err(FAILURE);
        }
        drop(Work::leaf(&world, &mut rng, &[]).run());
        Ok(())
    });
    if let Ok(schedule) = made {
        actor.world.schedules.put(&mut actor.rng, schedule);
    }
}

pub(super) fn schedule_overlapping(actor: &mut Actor) {
    let Some((view, kept)) = actor.work() else { return };
    let plan = actor.plan();
    let kept = std::sync::Mutex::new(kept);
    let made = view
        .executor
        .schedule_overlapping(plan, actor.rng.usize(1..4), move |_| {
            drop(crate::world::lock(&kept));
            ignore(punctual::task::sleep(Duration::from_micros(200)));
        });
    if let Ok(schedule) = made {
        actor.world.schedules.put(&mut actor.rng, schedule);
    }
}

pub(super) fn schedule_future(actor: &mut Actor) {
    let Some((view, kept)) = actor.work() else { return };
    let plan = actor.plan();
    let (world, mut rng) = (actor.world.clone(), Rng::with_seed(actor.rng.u64(..)));
    let made = view.executor.schedule_future(plan, move |_| {
        let _kept = &kept;
        let run = world.ledger.has_room().then(|| future_work(&world, &mut rng));
        async move {
            if let Some((_, run)) = run {
                drop(run.await);
            }
        }
    });
    if let Ok(schedule) = made {
        actor.world.schedules.put(&mut actor.rng, schedule);
    }
}

pub(super) fn steer(actor: &mut Actor) {
    let listed = actor.world.control.schedules();
    let found = match actor.rng.u8(0..4) {
        0 => listed.into_iter().next(),
        _ => actor.world.schedules.any(&mut actor.rng),
    };
    let Some(schedule) = found else { return };
    match actor.rng.u8(0..10) {
        0 => drop(schedule.cancel()),
        1 => {
            schedule.pause();
            schedule.resume();
        }
        2 => drop(schedule.run_now()),
        3 => {
            let plan = actor.plan();
            drop(schedule.reschedule(plan));
        }
        4 => drop(schedule.wait_timeout(micros(&mut actor.rng, 500))),
        5 => drop((
            schedule.stats(),
            schedule.name(),
            schedule.id(),
            schedule.is_paused(),
        )),
        6 => drop((schedule.next_run(), schedule.upcoming(3), schedule.schedule())),
        7 => schedule.pause(),
        8 => schedule.resume(),
        _ => drop(schedule.is_finished()),
    }
}

/// The wall clock is set, forward or back; a manual one only.
pub(super) fn jump_wall(actor: &mut Actor) {
    let Some(clock) = &actor.world.clock else { return };
    let by = micros(&mut actor.rng, 5_000);
    let now = clock.now();
    clock.jump_wall(if actor.rng.bool() { now + by } else { now - by });
}

impl Actor {
    fn plan(&mut self) -> Schedule {
        let now = self.now();
        plan(&mut self.rng, now)
    }

    fn now(&self) -> std::time::SystemTime {
        match &self.world.clock {
            Some(clock) => clock.now(),
            None => std::time::SystemTime::now(),
        }
    }
}
