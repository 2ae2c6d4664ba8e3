//! Actions on a pool's life: pauses, sizes, settings, ends; pools that live for a moment; forks.

use super::Actor;
use crate::body::Work;
use crate::gate::outside;
use crate::ledger::{await_the_end, ignore};
use crate::settings::{self, capacity, micros};
use crate::world::View;
use punctual::{AtShutdown, Lanes, Pool, State, task::Token};
use std::time::Duration;

/// The caretaker resumes too, in case a refused closure that runs here waits for a worker.
pub(super) fn pause(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    let control = actor.world.control.clone();
    if actor.rng.bool() {
        pool.pause()
    } else {
        control.pause()
    }
    for _ in 0..actor.rng.u8(0..4) {
        super::submits::submit(actor);
    }
    if actor.rng.bool() {
        pool.resume()
    } else {
        control.resume()
    }
}

pub(super) fn resize(actor: &mut Actor) {
    let core = actor.rng.usize(0..=3);
    let max = (core + actor.rng.usize(0..=2)).max(1);
    match actor.world.pool() {
        Some(pool) if actor.rng.bool() => drop(pool.resize(core, max)),
        _ => drop(actor.world.control.resize(core, max)),
    }
}

pub(super) fn set(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    let rng = &mut actor.rng;
    // A pool that stays open for what is delayed would never end by itself.
    let policy = if actor.world.stays && rng.bool() {
        AtShutdown::Run
    } else {
        AtShutdown::Drop
    };
    match rng.u8(0..6) {
        0 => drop(pool.set_keep_alive(Duration::from_micros(rng.u64(1..10_000)))),
        1 => drop(pool.set_core_timeout(rng.bool())),
        2 => drop(pool.set_capacity(capacity(rng))),
        3 => pool.set_reject(settings::reject(rng)),
        4 => pool.set_delayed_at_shutdown(policy),
        _ => pool.set_repeating_at_shutdown(policy),
    }
}

pub(super) fn prestart(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    if actor.rng.bool() {
        pool.prestart();
    } else {
        pool.prestart_one();
    }
}

pub(super) fn drain(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    for unrun in pool.drain() {
        actor.world.unrun.put(&mut actor.rng, unrun);
    }
}

pub(super) fn unrun(actor: &mut Actor) {
    let Some(unrun) = actor.world.unrun.take(&mut actor.rng) else {
        return;
    };
    ignore((unrun.name().map(str::len), unrun.id()));
    if actor.rng.bool()
        && let Err(payload) = outside(|| unrun.run())
    {
        crate::ledger::check_payload(&*payload);
    }
}

pub(super) fn wait_idle(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    ignore(pool.wait_idle(micros(&mut actor.rng, 1_000)));
}

pub(super) fn await_termination(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    ignore(pool.await_termination(micros(&mut actor.rng, 1_000)));
}

pub(super) fn shutdown(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    pool.shutdown();
}

pub(super) fn stop(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    for unrun in pool.stop() {
        actor.world.unrun.put(&mut actor.rng, unrun);
    }
}

pub(super) fn close(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    if !actor.world.stays {
        let report = pool.close();
        if !report.terminated {
            crate::ledger::fail(&format!("close returned before the end: {report:?}"));
        }
    }
}

pub(super) fn close_timeout(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    ignore(pool.close_timeout(micros(&mut actor.rng, 2_000)));
}

pub(super) fn close_with(actor: &mut Actor) {
    let Some(pool) = actor.world.pool() else { return };
    let token = Token::new();
    let limit = micros(&mut actor.rng, 2_000);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            std::thread::sleep(limit);
            token.cancel();
        });
        ignore(pool.close_with(&token));
    });
}

/// Waits, when it is dropped, until a pool that nothing owns any more has ended.
struct AwaitsEnd(punctual::Control);

impl Drop for AwaitsEnd {
    fn drop(&mut self) {
        while self.0.state().is_some_and(|state| state != State::Terminated) {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
}

/// A pool that is made, used and ended at once, in one of the ways there are.
pub(super) fn short_pool(actor: &mut Actor) {
    let rng = &mut actor.rng;
    let made = match rng.u8(0..8) {
        0 => Pool::fixed(rng.usize(1..3)).ok(),
        1 => Pool::single().ok(),
        2 => Pool::cached(rng.usize(1..3)).ok(),
        3 => Pool::pinned("pinned", 2)
            .ok()
            .and_then(|pools| pools.into_iter().next()),
        4 => {
            let lanes = Lanes::builder("lanes").max_threads(2).queue_capacity(8).build();
            lanes.ok().map(|lanes| (*lanes).clone())
        }
        _ => settings::small(rng),
    };
    let Some(made) = made else { return };
    // Dropped after the pool, also when a submission panics: its last tasks end on its own threads, and the round looks for them.
    let _end = AwaitsEnd(made.control());
    let pool = made;
    let mut handles = Vec::new();
    for n in 0..actor.rng.u8(1..12) {
        if !actor.world.ledger.has_room() {
            break;
        }
        let work = Work::new(&actor.world, &mut actor.rng, &[], 1);
        let id = work.id();
        let delay = micros(&mut actor.rng, 300);
        let task = pool.task(move || work.run());
        let submitted = if n % 3 == 0 {
            task.after(delay)
        } else {
            task.submit()
        };
        handles.extend(submitted.ok().map(|handle| (id, handle)));
    }
    match actor.rng.u8(0..5) {
        0 => drop(pool.close()),
        1 => {
            ignore(pool.close_timeout(micros(&mut actor.rng, 500)));
            await_the_end(&pool);
        }
        2 => {
            drop(pool.stop());
            await_the_end(&pool);
        }
        3 => {
            pool.shutdown();
            await_the_end(&pool);
        }
        _ => {}
    }
    // If it is open it is detached, or stopped.
    drop(pool);
    for (id, handle) in handles {
        actor.world.settle(id, handle.join());
    }
}

/// One verb in a forked child: whether its answer was right.
#[cfg(unix)]
type Step = fn(&Pool, &View) -> bool;

/// What a forked child does, in this order.
#[cfg(unix)]
const FORKED: [(&str, Step); 6] = [
    ("execute", |_, view| view.executor.execute(|| ()).is_err()),
    ("submit", |_, view| view.executor.submit(|| ()).is_err()),
    ("scope", |_, view| {
        let mut ran = false;
        view.executor.scope(|scope| scope.execute(|| ran = true));
        ran
    }),
    ("join", |pool, _| pool.join(|| 1, || 2) == (1, 2)),
    ("wait_idle", |pool, _| {
        let _ = pool.wait_idle(Duration::from_millis(1));
        true
    }),
    ("close_timeout", |pool, _| {
        let _ = pool.close_timeout(Duration::from_millis(1));
        true
    }),
];

/// Where the child is.
#[cfg(unix)]
static STEP: std::sync::atomic::AtomicI32 = std::sync::atomic::AtomicI32::new(0);

/// The exit code of a child that hangs is this and the number of the step.
#[cfg(unix)]
const HUNG: i32 = 100;

#[cfg(unix)]
#[allow(unsafe_code)]
extern "C" fn hung(_: i32) {
    // SAFETY: ends the process without its destructors.
    unsafe { libc::_exit(HUNG + STEP.load(std::sync::atomic::Ordering::Relaxed)) }
}

/// A forked child gets answers: submitting, waiting, scopes and closing do not hang.
#[cfg(unix)]
#[allow(unsafe_code)]
pub(super) fn fork(actor: &mut Actor) {
    if actor.rng.u8(0..3) != 0 {
        return;
    }
    let Some(pool) = actor.world.pool() else { return };
    let Some(view) = actor.world.view(&mut actor.rng) else {
        return;
    };
    // SAFETY: the child calls the library, which is what is tested, and leaves by `_exit`; it takes no lock of this program.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let handler: extern "C" fn(i32) = hung;
        // SAFETY: the handler only loads an atomic and exits; nothing else in the child has one.
        unsafe {
            libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
            libc::alarm(20);
        }
        let mut code = 0;
        for (step, (_, act)) in (1..).zip(FORKED) {
            STEP.store(step, std::sync::atomic::Ordering::Relaxed);
            if code == 0 && !act(&pool, &view) {
                code = step;
            }
        }
        // SAFETY: ends the process without its destructors.
        unsafe { libc::_exit(code) };
    }
    let mut status = 0;
    // SAFETY: the child was made above; the status is a place for an int.
    let waited = unsafe { libc::waitpid(child, &raw mut status, 0) };
    if child > 0 && waited == child && status != 0 {
        let code = libc::WEXITSTATUS(status);
        let step = usize::try_from(if code > HUNG { code - HUNG } else { code }).unwrap_or(0);
        let verb = FORKED.get(step.wrapping_sub(1)).map_or("?", |(verb, _)| *verb);
        let how = if code > HUNG { "hung" } else { "had a wrong answer" };
        crate::ledger::fail(&format!("a forked child {how} in {verb} (status {status:#x})"));
    }
}

#[cfg(not(unix))]
pub(super) fn fork(_: &mut Actor) {}
