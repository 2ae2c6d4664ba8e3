//! Punctual as a [`Contender`]. Not here: which scenario takes which queue, see the catalogue.

use punctual::{Executor, Pool, Priority, PriorityQueue, Queue, Reject, TaskHandle};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use super::{CallerRuns, Contender, LEVELS, Levels, WORKERS};

/// A fixed pool with the queue and the policy under test.
pub(crate) struct Ours(pub(super) Pool);

impl Ours {
    pub(crate) fn open(queue: Queue) -> Self {
        Self::with(WORKERS, queue, Reject::Abort)
    }

    /// One that keeps the last events.
    pub(crate) fn recorded(events: usize) -> Self {
        let pool = Pool::builder("bench")
            .core_threads(WORKERS)
            .queue(Queue::unbounded())
            .recorder(events)
            .build();
        Ours(pool.expect("a fixed pool is a valid configuration"))
    }

    pub(crate) fn caller_runs(capacity: usize) -> Self {
        Self::with(WORKERS, Queue::bounded(capacity), Reject::CallerRuns)
    }

    fn with(workers: usize, queue: Queue, reject: Reject) -> Self {
        let pool = Pool::builder("bench")
            .core_threads(workers)
            .max_threads(workers)
            .queue(queue)
            .on_full(reject)
            .build();
        Ours(pool.expect("a fixed pool is a valid configuration"))
    }
}

impl Contender for Ours {
    type Handle = TaskHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0
            .execute(task)
            .expect("the queue has room and the pool is open");
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0
            .submit(task)
            .expect("the queue has room and the pool is open")
    }

    fn join(handle: Self::Handle) -> u64 {
        handle
            .join()
            .expect("no task of the bench panics or is cancelled")
    }
}

/// The second edition of the engine.
pub(crate) struct OursNext(punctual_next::Pool);

impl OursNext {
    pub(crate) fn open() -> Self {
        OursNext(punctual_next::Pool::fixed(WORKERS).expect("a fixed pool is a valid configuration"))
    }
}

impl Contender for OursNext {
    type Handle = punctual_next::TaskHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0
            .execute(task)
            .expect("the queue has room and the pool is open");
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0
            .submit(task)
            .expect("the queue has room and the pool is open")
    }

    fn join(handle: Self::Handle) -> u64 {
        handle
            .join()
            .expect("no task of the bench panics or is cancelled")
    }
}

/// A level after the other where none is named, each as often as the others.
const TURNS: [usize; LEVELS] = [3, 0, 2, 1];

/// A fixed pool whose queue has four levels; tasks that name none go to them in turn.
pub(crate) struct Levelled {
    levels: [Executor; LEVELS],
    /// The same in the order of their turns.
    turns: [Executor; LEVELS],
    next: AtomicUsize,
    _pool: Pool,
}

impl Levelled {
    pub(crate) fn open(queue: PriorityQueue) -> Self {
        Self::of(WORKERS, queue)
    }

    pub(crate) fn of(workers: usize, queue: PriorityQueue) -> Self {
        let Ours(pool) = Ours::with(workers, queue.into(), Reject::Abort);
        let levels = [Priority::URGENT, Priority::HIGH, Priority::NORMAL, Priority::LOW];
        let levels = levels.map(|priority| pool.at_priority(priority));
        Levelled {
            turns: TURNS.map(|level| levels[level].clone()),
            levels,
            next: AtomicUsize::new(0),
            _pool: pool,
        }
    }

    fn next(&self) -> &Executor {
        // Producers may step over each other; nothing depends on an exact turn.
        let next = self.next.load(Relaxed);
        self.next.store(next + 1, Relaxed);
        &self.turns[next % LEVELS]
    }
}

impl Contender for Levelled {
    type Handle = TaskHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.next()
            .execute(task)
            .expect("the queue has room and the pool is open");
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.next()
            .submit(task)
            .expect("the queue has room and the pool is open")
    }

    fn join(handle: Self::Handle) -> u64 {
        Ours::join(handle)
    }
}

impl Levels for Levelled {
    fn execute_at<F: FnOnce() + Send + 'static>(&self, level: usize, task: F) {
        self.levels[level]
            .execute(task)
            .expect("the queue has room and the pool is open");
    }
}

/// One FIFO.
impl Levels for Ours {
    fn execute_at<F: FnOnce() + Send + 'static>(&self, _level: usize, task: F) {
        self.execute(task);
    }
}

impl CallerRuns for Ours {
    fn execute_or_run<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0
            .execute(task)
            .expect("the pool is open, and its policy refuses nothing");
    }
}
