//! Threads for work that blocks: ours, and what others offer for it. In: closures that sleep. Out: them run, each on a thread
//! of its own as long as there are fewer than the cap.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use punctual::{Lanes, Pool};

use super::{Contender, Ours};

/// Kept for the rest of the process, as all pools are.
pub(crate) trait Elastic: Sync + Sized + 'static {
    fn execute_blocking<F: FnOnce() + Send + 'static>(&self, task: F);

    fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

/// [`Lanes`]: one queue before all threads.
pub(crate) struct OursLanes(pub(crate) Lanes);

impl OursLanes {
    pub(crate) fn open(threads: usize) -> Self {
        let lanes = Lanes::builder("bench").max_threads(threads).build();
        OursLanes(lanes.expect("a cap and defaults are a valid configuration"))
    }
}

/// For `ir`, which tells what a task without a lane costs more than in a plain pool.
impl Contender for OursLanes {
    type Handle = <Ours as Contender>::Handle;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.execute_blocking(task);
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0
            .submit(task)
            .expect("the queue has room and the pool is open")
    }

    fn join(handle: Self::Handle) -> u64 {
        Ours::join(handle)
    }
}

impl Elastic for OursLanes {
    fn execute_blocking<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0
            .execute(task)
            .expect("the queue has room and the pool is open");
    }
}

/// A pool of one thread for each place, tasks dealt out in turn: each waits for its thread, whatever the others do.
pub(crate) struct OursPinned {
    pools: Vec<Pool>,
    turn: AtomicUsize,
}

impl OursPinned {
    pub(crate) fn open(threads: usize) -> Self {
        OursPinned {
            pools: Pool::pinned("bench", threads).expect("a number of threads is a valid configuration"),
            turn: AtomicUsize::new(0),
        }
    }
}

impl Elastic for OursPinned {
    fn execute_blocking<F: FnOnce() + Send + 'static>(&self, task: F) {
        let turn = self.turn.fetch_add(1, Relaxed) % self.pools.len();
        self.pools[turn]
            .execute(task)
            .expect("the queue has room and the pool is open");
    }
}

/// `spawn_blocking` with a cap. Nothing drives the runtime: only its blocking threads are used.
pub(crate) struct TokioElastic(tokio::runtime::Runtime);

impl TokioElastic {
    pub(crate) fn open(threads: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(threads)
            .build();
        TokioElastic(runtime.expect("tokio builds a runtime"))
    }
}

impl Elastic for TokioElastic {
    fn execute_blocking<F: FnOnce() + Send + 'static>(&self, task: F) {
        drop(self.0.spawn_blocking(task));
    }
}

/// The `blocking` crate, whose one pool takes its cap from the environment: whoever starts the child sets [`CAP_VARIABLE`].
pub(crate) struct Blocking;

pub(crate) const CAP_VARIABLE: &str = "BLOCKING_MAX_THREADS";

impl Elastic for Blocking {
    fn execute_blocking<F: FnOnce() + Send + 'static>(&self, task: F) {
        blocking::unblock(task).detach();
    }
}
