//! What closures and futures do: mostly little, sometimes everything that user code may do inside a task.
//!
//! A body waits without a limit only for what is sure to end or to be told: a child without waits of its own in the pool
//! itself, or a later task of its own lane. Everything else is waited for with a limit, so that a hang is the library's.

use crate::gate::{Gate, Inside};
use crate::ledger::{AtDrop, Borrowed, Own, Probe, Value, ignore};
use crate::settings::micros;
use crate::world::{External, Kept, World};
use fastrand::Rng;
use punctual::{Executor, future, task};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::sync::Arc;

/// From this depth on a body has no children.
const LEAF: u8 = 2;

/// What the drop of a closure or a value does.
fn at_drop(world: &Arc<World>, rng: &mut Rng) -> AtDrop {
    let world = world.clone();
    match rng.u8(0..64) {
        0 => Some(Box::new(|| panic_any(Own))),
        1 | 2 => {
            let seed = rng.u64(..);
            Some(Box::new(move || {
                let mut rng = Rng::with_seed(seed);
                let Some(root) = world.root.upgrade() else { return };
                if world.ledger.has_room() {
                    let work = Work::plain(&world, &mut rng);
                    drop(root.execute(move || drop(work.run())));
                }
            }))
        }
        3 => {
            let seed = rng.u64(..);
            Some(Box::new(move || {
                if let Some(task) = world.refs.any(&mut Rng::with_seed(seed)) {
                    task.cancel();
                }
            }))
        }
        _ => None,
    }
}

/// A closure to be: call [`Work::run`] in it.
pub(crate) struct Work {
    world: Arc<World>,
    probe: Probe,
    gates: Vec<Arc<Gate>>,
    seed: u64,
    depth: u8,
    value_at_drop: AtDrop,
}

impl Work {
    pub(crate) fn new(world: &Arc<World>, rng: &mut Rng, gates: &[Arc<Gate>], depth: u8) -> Work {
        Work {
            world: world.clone(),
            probe: Probe::new(&world.ledger, at_drop(world, rng)),
            gates: gates.to_vec(),
            seed: rng.u64(..),
            depth,
            value_at_drop: at_drop(world, rng),
        }
    }

    /// A leaf whose drop does nothing.
    fn plain(world: &Arc<World>, rng: &mut Rng) -> Work {
        Work {
            world: world.clone(),
            probe: Probe::new(&world.ledger, None),
            gates: Vec::new(),
            seed: rng.u64(..),
            depth: LEAF,
            value_at_drop: None,
        }
    }

    pub(crate) fn leaf(world: &Arc<World>, rng: &mut Rng, gates: &[Arc<Gate>]) -> Work {
        Work::new(world, rng, gates, LEAF)
    }

    pub(crate) fn id(&self) -> usize {
        self.probe.id
    }

    pub(crate) fn run(self) -> Value {
        self.probe.run();
        let _inside: Vec<Inside> = self.gates.iter().filter_map(Gate::enter).collect();
        self.act(&mut Rng::with_seed(self.seed));
        self.probe.into_value(self.value_at_drop)
    }

    fn act(&self, rng: &mut Rng) {
        let world = &self.world;
        let choice = rng.u8(0..100);
        world.ledger.note(self.probe.id, choice);
        match choice {
            0..40 => {}
            40..48 => (0..rng.u32(0..2_000)).for_each(|_| std::hint::spin_loop()),
            48..56 => panic_any(Own),
            56..60 => drop(task::sleep(micros(rng, 800))),
            60..63 => task::blocking_section(std::thread::yield_now),
            63..66 => drop(world.refs.any(rng).map(|task| task.cancel())),
            66..68 => world.check_stats_now(),
            68..70 => drop(task::current().map(|current| current.token().is_cancelled())),
            _ if self.depth >= LEAF || !world.ledger.has_room() => {}
            _ => self.act_with_children(choice, rng),
        }
    }

    fn act_with_children(&self, choice: u8, rng: &mut Rng) {
        let world = &self.world;
        let Some(root) = world.root.upgrade() else { return };
        match choice {
            70..75 => {
                let child = self.child(rng, &[]);
                drop(root.execute(move || drop(child.run())));
            }
            75..83 => {
                let child = Work::leaf(world, rng, &[]);
                self.submit_and_join(&root, child);
            }
            83..87 => {
                let is_lane = self.gates.len() == 1 && self.gates[0].is_single();
                if let Some(own) = task::current_executor()
                    && is_lane
                {
                    let child = Work::leaf(world, rng, &self.gates);
                    self.submit_and_join(&own, child);
                }
            }
            87..90 => self.wait_in_a_view(rng),
            90..93 => scope(world, rng, &root, &[]),
            93..96 => join(world, rng, &root),
            96 | 97 => all(world, rng, &root),
            98 => {
                let pause = micros(rng, 300);
                drop(root.block_on(async move {
                    future::yield_now().await;
                    future::sleep(pause).await;
                }));
            }
            _ => drop(world.kept.take(rng)),
        }
    }

    fn child(&self, rng: &mut Rng, gates: &[Arc<Gate>]) -> Work {
        Work::new(&self.world, rng, gates, self.depth + 1)
    }

    fn submit_and_join(&self, executor: &Executor, child: Work) {
        let id = child.id();
        if let Ok(task) = executor.submit(move || child.run()) {
            self.world.settle(id, task.join());
        }
    }

    fn wait_in_a_view(&self, rng: &mut Rng) {
        let Some(view) = self.world.view(rng) else { return };
        let child = self.child(rng, &view.gates);
        let id = child.id();
        if let Ok(mut handle) = view.executor.submit(move || child.run()) {
            match handle.join_timeout(micros(rng, 400)) {
                Err(error) if error.is_timeout() => {
                    let is_far = false;
                    self.world.kept.put(rng, Kept { handle, id, is_far });
                }
                outcome => self.world.settle(id, outcome),
            }
        }
    }
}

/// Children that borrow from this frame; a panic of theirs is re-raised here.
pub(crate) fn scope(world: &Arc<World>, rng: &mut Rng, executor: &Executor, gates: &[Arc<Gate>]) {
    let lent = Borrowed::new();
    let children = rng.usize(0..6);
    let joined = rng.usize(0..=children);
    let panics = rng.u8(0..24) == 0;
    executor.scope(|scope| {
        let mut handles = Vec::new();
        for n in 0..children {
            let child = Work::leaf(world, rng, gates);
            let (id, lent) = (child.id(), &lent);
            let body = move || {
                lent.touch();
                let value = child.run();
                lent.touch();
                value
            };
            if n < joined {
                handles.push((id, scope.submit(body)));
            } else {
                scope.execute(move || drop(body()));
            }
        }
        if panics {
            panic_any(Own);
        }
        // Joined, or dropped at the brace.
        let some = handles.len() / 2;
        for (id, handle) in handles.into_iter().take(some) {
            world.settle(id, handle.join());
        }
    });
}

/// Two branches that borrow from this frame.
pub(crate) fn join(world: &Arc<World>, rng: &mut Rng, executor: &Executor) {
    let lent = Borrowed::new();
    let (a, b) = (Work::leaf(world, rng, &[]), Work::leaf(world, rng, &[]));
    let ids = (a.id(), b.id());
    let (a, b) = executor.join(
        || {
            lent.touch();
            a.run()
        },
        || {
            lent.touch();
            let value = b.run();
            lent.touch();
            value
        },
    );
    world.settle(ids.0, Ok(a));
    world.settle(ids.1, Ok(b));
}

pub(crate) fn all(world: &Arc<World>, rng: &mut Rng, executor: &Executor) {
    let works: Vec<Work> = (0..rng.usize(0..5))
        .map(|_| Work::leaf(world, rng, &[]))
        .collect();
    let ids: Vec<usize> = works.iter().map(Work::id).collect();
    if let Ok(outcomes) = executor.all(works.into_iter().map(|work| move || work.run())) {
        for (id, outcome) in ids.into_iter().zip(outcomes) {
            world.settle(id, outcome);
        }
    }
}

/// A future that suspends in every way there is.
pub(crate) fn future_work(
    world: &Arc<World>,
    rng: &mut Rng,
) -> (usize, impl Future<Output = Value> + Send + use<>) {
    let probe = Probe::new(&world.ledger, at_drop(world, rng));
    let value_at_drop = at_drop(world, rng);
    let (world, mut rng) = (world.clone(), Rng::with_seed(rng.u64(..)));
    let id = probe.id;
    let work = async move {
        probe.run();
        for _ in 0..rng.u8(0..4) {
            suspend(&world, &mut rng, id).await;
        }
        probe.into_value(value_at_drop)
    };
    (id, work)
}

async fn suspend(world: &Arc<World>, rng: &mut Rng, id: usize) {
    let choice = rng.u8(0..40);
    world.ledger.note(id, choice);
    match choice {
        0..10 => {}
        10..16 => {
            for _ in 0..rng.u8(0..20) {
                future::yield_now().await;
            }
        }
        16..20 => future::sleep(micros(rng, 800)).await,
        20..23 => {
            let (limit, pause) = (micros(rng, 400), micros(rng, 800));
            ignore(future::timeout(limit, future::sleep(pause)).await);
        }
        23..30 => {
            let event = External::new();
            world.externals.put_event(event.clone());
            let keeps = rng.bool();
            let mut seed = Rng::with_seed(rng.u64(..));
            poll_fn(|context| {
                if keeps {
                    world.wakers.put(&mut seed, context.waker().clone());
                }
                event.poll(context.waker())
            })
            .await;
        }
        30..33 => {
            let Some(root) = world.root.upgrade() else { return };
            let child = Work::leaf(world, rng, &[]);
            let id = child.id();
            let handle = root.submit(move || child.run()).ok();
            drop(root);
            if let Some(handle) = handle {
                world.settle(id, handle.await);
            }
        }
        33..35 => {
            if let Some(current) = task::current() {
                let token = current.token();
                drop(current);
                ignore(future::timeout(micros(rng, 500), token.cancelled()).await);
            }
        }
        35 => {
            let mut ticks = future::interval(micros(rng, 200));
            for _ in 0..2 {
                ticks.tick().await;
            }
        }
        36 => drop(world.refs.any(rng).map(|task| task.cancel())),
        _ => panic_any(Own),
    }
}

/// Calls user code whose panics are the round's own.
pub(crate) fn contained(act: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(act)) {
        crate::ledger::check_payload(&*payload);
    }
}
