//! What the actors of a round share: the pool, its views, and bags of handles, references, schedules and wakers.

use crate::gate::Gate;
use crate::ledger::{Ledger, Value, check_payload, fail};
use crate::settings::Settings;
use fastrand::Rng;
use punctual::{
    Control, Executor, JoinError, Lane, ManualClock, Pool, ScheduleHandle, Stats, TaskHandle, TaskRef, Unrun,
    WeakExecutor,
};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The most things in a bag; one more replaces one of them.
const MOST_KEPT: usize = 48;

/// Keys for `keyed`, each with its gate.
pub(crate) const KEYS: usize = 3;

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Things that one actor puts down and another picks up. What is replaced is dropped outside of the lock.
pub(crate) struct Bag<T>(Mutex<Vec<T>>);

impl<T> Bag<T> {
    fn new() -> Self {
        Bag(Mutex::new(Vec::new()))
    }

    pub(crate) fn put(&self, rng: &mut Rng, thing: T) {
        let mut things = lock(&self.0);
        let replaced = if things.len() < MOST_KEPT {
            things.push(thing);
            None
        } else {
            let at = rng.usize(0..things.len());
            Some(std::mem::replace(&mut things[at], thing))
        };
        drop(things);
        drop(replaced);
    }

    pub(crate) fn take(&self, rng: &mut Rng) -> Option<T> {
        self.take_if(rng, |_| true)
    }

    /// A random one, if it is of the right kind.
    pub(crate) fn take_if(&self, rng: &mut Rng, fits: impl Fn(&T) -> bool) -> Option<T> {
        let mut things = lock(&self.0);
        if things.is_empty() {
            return None;
        }
        let at = rng.usize(0..things.len());
        fits(&things[at]).then(|| things.swap_remove(at))
    }

    pub(crate) fn all(&self) -> Vec<T> {
        std::mem::take(&mut *lock(&self.0))
    }
}

impl Bag<Arc<External>> {
    /// Puts down an event that a future waits for: none of them may be replaced.
    pub(crate) fn put_event(&self, event: Arc<External>) {
        lock(&self.0).push(event);
    }
}

impl<T: Clone> Bag<T> {
    pub(crate) fn any(&self, rng: &mut Rng) -> Option<T> {
        let things = lock(&self.0);
        (!things.is_empty()).then(|| things[rng.usize(0..things.len())].clone())
    }
}

/// A handle, and the number of the closure whose value it must give.
pub(crate) struct Kept {
    pub(crate) handle: TaskHandle<Value>,
    pub(crate) id: usize,
    /// Its time does not come in this round: an untimed wait would not end.
    pub(crate) is_far: bool,
}

/// An executor of the pool, and the gates that a body passes there.
#[derive(Clone)]
pub(crate) struct View {
    pub(crate) executor: Executor,
    pub(crate) gates: Vec<Arc<Gate>>,
    pub(crate) lane: Option<Lane>,
}

/// An event outside of the pool that a future waits for.
pub(crate) struct External(Mutex<(bool, Option<Waker>)>);

impl External {
    pub(crate) fn new() -> Arc<External> {
        Arc::new(External(Mutex::new((false, None))))
    }

    pub(crate) fn poll(&self, waker: &Waker) -> Poll<()> {
        let mut state = lock(&self.0);
        if state.0 {
            return Poll::Ready(());
        }
        let before = state.1.replace(waker.clone());
        drop(state);
        drop(before);
        Poll::Pending
    }

    pub(crate) fn fire(&self) {
        let waker = {
            let mut state = lock(&self.0);
            state.0 = true;
            state.1.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

pub(crate) struct World {
    pool: Mutex<Option<Pool>>,
    /// For bodies: it does not keep the pool open.
    pub(crate) root: WeakExecutor,
    pub(crate) control: Control,
    pub(crate) clock: Option<ManualClock>,
    /// The pool may stay open for what is delayed after a shutdown.
    pub(crate) stays: bool,
    /// A delayed task has a place in the queue: while it waits, others wait for the place.
    pub(crate) covers: bool,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) views: Bag<View>,
    pub(crate) kept: Bag<Kept>,
    pub(crate) refs: Bag<TaskRef>,
    pub(crate) schedules: Bag<ScheduleHandle>,
    pub(crate) unrun: Bag<Unrun>,
    pub(crate) externals: Bag<Arc<External>>,
    pub(crate) wakers: Bag<Waker>,
    pub(crate) keys: [Arc<Gate>; KEYS],
    /// Executors by `reserve`: each has threads of its own.
    pub(crate) reserved: AtomicUsize,
}

impl World {
    pub(crate) fn new(pool: Pool, settings: &Settings) -> Arc<World> {
        Arc::new(World {
            root: pool.downgrade(),
            control: pool.control(),
            pool: Mutex::new(Some(pool)),
            clock: settings.clock.clone(),
            stays: settings.stays,
            covers: settings.covers,
            ledger: Ledger::new(),
            views: Bag::new(),
            kept: Bag::new(),
            refs: Bag::new(),
            schedules: Bag::new(),
            unrun: Bag::new(),
            externals: Bag::new(),
            wakers: Bag::new(),
            keys: std::array::from_fn(|_| Gate::new(1)),
            reserved: AtomicUsize::new(0),
        })
    }

    pub(crate) fn pool(&self) -> Option<Pool> {
        lock(&self.pool).clone()
    }

    /// The end of the round: the pool is no longer shared.
    pub(crate) fn take_pool(&self) -> Option<Pool> {
        lock(&self.pool).take()
    }

    /// The pool itself, half of the time, or one of its views.
    pub(crate) fn view(&self, rng: &mut Rng) -> Option<View> {
        if rng.bool()
            && let Some(view) = self.views.any(rng)
        {
            return Some(view);
        }
        let executor = self.root.upgrade()?;
        Some(View {
            executor,
            gates: Vec::new(),
            lane: None,
        })
    }

    /// Checks what a handle gave.
    pub(crate) fn settle(&self, id: usize, outcome: Result<Value, JoinError>) {
        match outcome {
            Ok(value) if value.id != id => fail(&format!("handle {id} gave the value of {}", value.id)),
            Ok(_) if !self.ledger.has_run(id) => fail(&format!("handle {id} gave a value and never ran")),
            Ok(value) => drop(value),
            Err(error) => {
                if let Ok(payload) = error.into_panic() {
                    check_payload(&*payload);
                }
            }
        }
    }

    pub(crate) fn check_stats_now(&self) {
        if let Some(stats) = self.control.stats() {
            self.check_stats(&stats);
        }
    }

    /// Checks that a snapshot does not contradict itself.
    pub(crate) fn check_stats(&self, stats: &Stats) {
        let open = stats.queued + stats.active + stats.suspended + stats.pending_timers;
        let ends = stats.finished
            + stats.panicked
            + stats.cancelled
            + stats.expired
            + stats.evicted
            + stats.returned;
        if stats.submitted != open as u64 + ends {
            fail(&format!("a snapshot does not balance: {stats:?}"));
        }
    }
}
