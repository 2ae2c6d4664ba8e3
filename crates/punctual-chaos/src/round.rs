//! One round: a pool with random settings, actors that do random things to it, its end, and the checks after it.
//!
//! The seed decides the settings and every actor's choices; how the threads meet is the machine's. A caretaker thread moves a
//! manual clock, resumes the pool and fires the events that futures wait for, so that every wait of an actor can end.

use crate::actions::{ACTIONS, Action, Actor, ENDS, OFF, draw};
use crate::body::contained;
use crate::gate::outside;
use crate::ledger::{DOING, POOL, SEED, await_the_end, fail, ignore};
use crate::settings::{self, Settings, micros};
use crate::world::World;
use fastrand::Rng;
use punctual::{Pool, State};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Real time after which a round is taken for locked up.
const LIMIT: Duration = Duration::from_secs(60);

const ACTORS: usize = 8;

/// Where a round is, for the report of a lock-up.
struct Progress {
    settings: Mutex<String>,
    world: Mutex<Option<Arc<World>>>,
    doing: [AtomicUsize; ACTORS],
}

/// What the end of a round is about to do, in [`Progress::doing`] of its first actor.
const ENDING: usize = ACTIONS.len() + ENDS.len();
const IDLE: usize = ENDING + 1;

fn name_of(at: usize) -> &'static str {
    let all: Vec<&Action> = ACTIONS.iter().chain(ENDS).collect();
    match at {
        ENDING => "the end of the round",
        at => all.get(at).map_or("-", |action| action.name),
    }
}

/// Runs one round, watched; how many closures it made.
pub(crate) fn run(seed: u64) -> usize {
    SEED.store(seed, Relaxed);
    let progress = Arc::new(Progress {
        settings: Mutex::default(),
        world: Mutex::default(),
        doing: std::array::from_fn(|_| AtomicUsize::new(IDLE)),
    });
    let (tell, told) = channel();
    let round = {
        let progress = progress.clone();
        std::thread::spawn(move || ignore(tell.send(play(seed, &progress))))
    };
    match told.recv_timeout(LIMIT) {
        Ok(made) => {
            drop(round.join());
            made
        }
        Err(RecvTimeoutError::Disconnected) => fail("the round's own thread panicked"),
        Err(RecvTimeoutError::Timeout) => report_lock_up(&progress),
    }
}

fn report_lock_up(progress: &Progress) -> ! {
    eprintln!("chaos: seed {}: locked up for {LIMIT:?}", SEED.load(Relaxed));
    eprintln!("settings: {}", crate::world::lock(&progress.settings));
    for (n, doing) in progress.doing.iter().enumerate() {
        eprintln!("actor {n}: {}", name_of(doing.load(Relaxed)));
    }
    let world = crate::world::lock(&progress.world).clone();
    if let Some(world) = &world {
        eprintln!("begun and not ended: {:?}", world.ledger.begun());
    }
    // The dump may hang on what hangs the round.
    let (tell, told) = channel();
    std::thread::spawn(move || {
        let dump = world.as_ref().and_then(|world| world.control.dump());
        drop(tell.send(dump.map(|dump| dump.to_json())));
    });
    match told.recv_timeout(Duration::from_secs(5)) {
        Ok(Some(dump)) => {
            let path = std::env::temp_dir().join(format!("punctual-chaos-{}.json", SEED.load(Relaxed)));
            eprintln!("dump: {} ({:?})", path.display(), std::fs::write(&path, dump));
        }
        Ok(None) => eprintln!("dump: the pool is gone"),
        Err(_) => eprintln!("dump: it hangs too"),
    }
    fail("no end in time");
}

fn play(seed: u64, progress: &Progress) -> usize {
    let mut rng = Rng::with_seed(seed);
    let (pool, settings) = settings::pool(&mut rng);
    *crate::world::lock(&progress.settings) = settings.text.clone();
    let world = World::new(pool, &settings);
    *crate::world::lock(&progress.world) = Some(world.clone());
    *crate::world::lock(&POOL) = Some(world.control.clone());
    let steps = 20 + rng.usize(0..300);
    let actors = rng.usize(4..=ACTORS);
    let ends_early = rng.u8(0..3) == 0;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| care(&world, &is_over));
        if world.clock.is_some() {
            threads.spawn(|| advance(&world, &is_over));
        }
        let acting: Vec<_> = (0..actors)
            .map(|n| {
                let mut actor = Actor {
                    world: world.clone(),
                    rng: rng.fork(),
                };
                let doing = &progress.doing[n];
                threads.spawn(move || act(&mut actor, steps, ends_early, doing))
            })
            .collect();
        acting.into_iter().for_each(|thread| drop(thread.join()));
        progress.doing[0].store(ENDING, Relaxed);
        end(&world, &settings, &mut rng);
        is_over.store(true, Relaxed);
    });
    *crate::world::lock(&progress.world) = None;
    world.ledger.made()
}

fn act(actor: &mut Actor, steps: usize, ends_early: bool, doing: &AtomicUsize) {
    for step in 0..steps {
        let is_late = step * 10 > steps * 7;
        let (table, first) = match ends_early && is_late && actor.rng.usize(0..steps) == 0 {
            true => (ENDS, ACTIONS.len()),
            false => (ACTIONS, 0),
        };
        let action = draw(&mut actor.rng, table);
        if OFF.iter().any(|(name, ..)| *name == action.name) {
            continue;
        }
        let at = table.iter().position(|each| std::ptr::eq(each, action));
        doing.store(first + at.unwrap_or(IDLE), Relaxed);
        DOING.set(action.name);
        contained(|| (action.run)(actor));
    }
    doing.store(IDLE, Relaxed);
}

/// Fires events and resumes the pool.
fn care(world: &World, is_over: &AtomicBool) {
    let mut rng = Rng::with_seed(1);
    while !is_over.load(Relaxed) {
        std::thread::sleep(Duration::from_micros(300));
        for _ in 0..4 {
            let event = world.externals.take(&mut rng);
            contained(|| event.into_iter().for_each(|event| event.fire()));
        }
        world.control.resume();
    }
}

/// Moves a manual clock. A thread of its own: it must not wait for the time that it moves.
fn advance(world: &World, is_over: &AtomicBool) {
    let Some(clock) = &world.clock else { return };
    let mut rng = Rng::with_seed(2);
    while !is_over.load(Relaxed) {
        clock.advance(micros(&mut rng, 900));
        std::thread::sleep(Duration::from_micros(20));
    }
}

/// Ends the pool in one of the ways there are, and checks what is left.
fn end(world: &World, settings: &Settings, rng: &mut Rng) {
    let Some(pool) = world.take_pool() else { return };
    let schedules = world.schedules.all();
    for schedule in &schedules {
        schedule.cancel();
    }
    if end_pool(world, &pool, settings, rng) {
        check_end(world, &pool);
    }
    for unrun in world.unrun.all() {
        contained(|| drop(unrun));
    }
    contained(|| drop(world.views.all()));
    drop(pool);
    wait_for_the_end(world);
    // Every handle has its answer, and nothing is kept but by handles: references and wakers go last.
    for kept in world.kept.all() {
        contained(|| world.settle(kept.id, kept.handle.join()));
    }
    contained(|| drop(schedules));
    world.ledger.check();
    contained(|| drop(world.refs.all()));
    contained(|| drop(world.wakers.all()));
    contained(|| drop(world.externals.all()));
}

/// Whether the pool is terminated; if not, the drop of its last owner ends it.
fn end_pool(world: &World, pool: &Pool, settings: &Settings, rng: &mut Rng) -> bool {
    let way = if settings.stays { 2 } else { rng.u8(0..6) };
    match way {
        0 => drop(pool.close()),
        1 => {
            pool.shutdown();
            await_the_end(pool);
        }
        2 => {
            let unrun = pool.stop();
            for (n, unrun) in unrun.into_iter().enumerate() {
                contained(|| {
                    if n % 2 == 0 {
                        drop(outside(|| unrun.run()))
                    } else {
                        drop(unrun)
                    }
                });
            }
            await_the_end(pool);
        }
        3 => {
            ignore(pool.close_timeout(micros(rng, 1_000)));
            await_the_end(pool);
        }
        4 => {
            // From inside: it shuts down and returns.
            let inside = pool.clone();
            drop(pool.execute(move || ignore(inside.close())));
            ignore(pool.close());
        }
        // By the drop of the last owner, whatever the policy says.
        _ => {
            world.check_stats(&pool.stats());
            return false;
        }
    }
    true
}

/// A terminated pool has nothing left, and its counts add up.
fn check_end(world: &World, pool: &Pool) {
    if pool.state() != State::Terminated {
        fail(&format!("the pool has ended and is {:?}: {pool:?}", pool.state()));
    }
    let stats = pool.stats();
    world.check_stats(&stats);
    let left = stats.queued + stats.active + stats.suspended + stats.pending_timers + stats.threads;
    if left != 0 {
        fail(&format!("the pool has terminated with something left: {stats:?}"));
    }
}

/// A pool that was stopped or detached by its last owner ends on its own threads.
fn wait_for_the_end(world: &World) {
    while world
        .control
        .state()
        .is_some_and(|state| state != State::Terminated)
    {
        std::thread::sleep(Duration::from_micros(200));
    }
}
