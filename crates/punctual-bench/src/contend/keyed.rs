//! Pools that keep tasks of one key in their order: ours, and what is put in front of a pool that does not. In: a key and
//! a closure. Out: the closure run, after those of its key that came before.

use std::{
    collections::{HashMap, VecDeque, hash_map::Entry},
    sync::{Mutex, MutexGuard},
};

use punctual::Queue;

use super::{Contender, Ours};

/// Kept for the rest of the process, as all pools are.
pub(crate) trait Keyed: Sync + 'static {
    /// Whether it keeps the order; one that does not is there for comparison.
    const ORDERED: bool = true;

    fn execute_keyed<F: FnOnce() + Send + 'static>(&'static self, key: u64, task: F);
}

/// `Executor::keyed`, asked for each task anew.
pub(crate) struct OursKeyed(Ours);

impl OursKeyed {
    pub(crate) fn open() -> Self {
        OursKeyed(Ours::open(Queue::unbounded()))
    }
}

impl Keyed for OursKeyed {
    fn execute_keyed<F: FnOnce() + Send + 'static>(&'static self, key: u64, task: F) {
        let executor = self.0.0.keyed(key);
        executor
            .execute(task)
            .expect("the queue has room and the pool is open");
    }
}

/// The same pool without an order.
impl Keyed for Ours {
    const ORDERED: bool = false;

    fn execute_keyed<F: FnOnce() + Send + 'static>(&'static self, _key: u64, task: F) {
        self.execute(task);
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A line for each key that has work, in a map behind a lock. Whoever opens a line sends a task that works it off.
pub(crate) struct MapInFront {
    lines: Mutex<HashMap<u64, VecDeque<Job>>>,
    pool: Ours,
}

impl MapInFront {
    pub(crate) fn open() -> Self {
        MapInFront {
            lines: Mutex::default(),
            pool: Ours::open(Queue::unbounded()),
        }
    }

    fn lines(&self) -> MutexGuard<'_, HashMap<u64, VecDeque<Job>>> {
        self.lines.lock().expect("nothing panics under the lock")
    }

    fn work_off(&self, key: u64) {
        while let Some(job) = self.next(key) {
            job();
        }
    }

    fn next(&self, key: u64) -> Option<Job> {
        let mut lines = self.lines();
        let job = lines.get_mut(&key)?.pop_front();
        if job.is_none() {
            lines.remove(&key);
        }
        job
    }
}

impl Keyed for MapInFront {
    fn execute_keyed<F: FnOnce() + Send + 'static>(&'static self, key: u64, task: F) {
        let job: Job = Box::new(task);
        let is_new = match self.lines().entry(key) {
            Entry::Occupied(line) => {
                line.into_mut().push_back(job);
                false
            }
            Entry::Vacant(place) => {
                place.insert(VecDeque::from([job]));
                true
            }
        };
        if is_new {
            self.pool.execute(move || self.work_off(key));
        }
    }
}
