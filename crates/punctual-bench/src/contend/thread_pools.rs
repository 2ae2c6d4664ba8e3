//! Pools of plain closures as [`Contender`]s: rayon, threadpool, rusty_pool, and a bare crossbeam channel with
//! threads behind it, which is what people write by hand.

use std::{thread, time::Duration};

use crossbeam_channel::{Receiver, Sender, TrySendError};

use super::{CallerRuns, Contender, Reply, WORKERS, replying, wait_for};

/// `rayon::ThreadPool::spawn`.
pub(crate) struct Rayon(rayon::ThreadPool);

impl Rayon {
    pub(crate) fn open() -> Self {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(WORKERS).build();
        Rayon(pool.expect("rayon starts two threads"))
    }
}

impl Contender for Rayon {
    type Handle = Reply;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(task);
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Reply {
        let (task, reply) = replying(task);
        self.0.spawn(task);
        reply
    }

    fn join(handle: Reply) -> u64 {
        wait_for(handle)
    }
}

/// `threadpool::ThreadPool`.
pub(crate) struct Threadpool(threadpool::ThreadPool);

impl Threadpool {
    pub(crate) fn open() -> Self {
        Threadpool(threadpool::ThreadPool::new(WORKERS))
    }
}

impl Contender for Threadpool {
    type Handle = Reply;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.execute(task);
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Reply {
        let (task, reply) = replying(task);
        self.0.execute(task);
        reply
    }

    fn join(handle: Reply) -> u64 {
        wait_for(handle)
    }
}

/// `rusty_pool::ThreadPool`, with its own handle.
pub(crate) struct RustyPool(rusty_pool::ThreadPool);

impl RustyPool {
    pub(crate) fn open() -> Self {
        // Core and maximum are equal, so the keep-alive never ends a thread.
        RustyPool(rusty_pool::ThreadPool::new(
            WORKERS,
            WORKERS,
            Duration::from_secs(60),
        ))
    }
}

impl Contender for RustyPool {
    type Handle = rusty_pool::JoinHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.execute(task);
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.evaluate(task)
    }

    fn join(handle: Self::Handle) -> u64 {
        handle.await_complete()
    }
}

type Job = Box<dyn FnOnce() + Send>;

/// A channel of boxed closures and two threads receiving from it.
pub(crate) struct Crossbeam(Sender<Job>);

impl Crossbeam {
    pub(crate) fn unbounded() -> Self {
        Self::over(crossbeam_channel::unbounded())
    }

    pub(crate) fn bounded(capacity: usize) -> Self {
        Self::over(crossbeam_channel::bounded(capacity))
    }

    fn over((sender, receiver): (Sender<Job>, Receiver<Job>)) -> Self {
        for _ in 0..WORKERS {
            let receiver = receiver.clone();
            thread::spawn(move || receiver.iter().for_each(|job| job()));
        }
        Crossbeam(sender)
    }
}

impl Contender for Crossbeam {
    type Handle = Reply;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0
            .send(Box::new(task))
            .expect("the workers hold the receiver");
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Reply {
        let (task, reply) = replying(task);
        self.execute(task);
        reply
    }

    fn join(handle: Reply) -> u64 {
        wait_for(handle)
    }
}

impl CallerRuns for Crossbeam {
    fn execute_or_run<F: FnOnce() + Send + 'static>(&self, task: F) {
        match self.0.try_send(Box::new(task)) {
            Ok(()) => {}
            Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) => job(),
        }
    }
}
