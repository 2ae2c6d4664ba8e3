//! Executors of futures as [`Contender`]s: tokio (tasks, and its blocking pool), async-executor, futures' ThreadPool.
//! A closure goes in as an `async` block that runs it in one poll. Their tasks are full futures with waker and abort,
//! which a plain closure lane does not carry: fair against our futures, a stiff comparison for them here.

use std::thread;

use futures_lite::future::{block_on, pending};

use super::{Contender, Levels, Reply, WORKERS, replying, wait_for};

/// `tokio::runtime::Runtime::spawn` on the multi-thread scheduler.
pub(crate) struct Tokio(pub(super) tokio::runtime::Runtime);

impl Tokio {
    pub(crate) fn open() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKERS)
            .build();
        Tokio(runtime.expect("tokio starts two workers"))
    }
}

impl Contender for Tokio {
    type Handle = tokio::task::JoinHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        drop(self.0.spawn(async move { task() }));
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.spawn(async move { task() })
    }

    fn join(handle: Self::Handle) -> u64 {
        block_on(handle).expect("no task of the bench panics")
    }
}

impl Levels for Tokio {
    fn execute_at<F: FnOnce() + Send + 'static>(&self, _level: usize, task: F) {
        self.execute(task);
    }
}

/// `spawn_blocking`, with as many blocking threads as the others have workers. The runtime is the single-threaded
/// one because nothing drives it: only its blocking pool is used.
pub(crate) struct TokioBlocking(tokio::runtime::Runtime);

impl TokioBlocking {
    pub(crate) fn open() -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(WORKERS)
            .build();
        TokioBlocking(runtime.expect("tokio builds a runtime"))
    }
}

impl Contender for TokioBlocking {
    type Handle = tokio::task::JoinHandle<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        drop(self.0.spawn_blocking(task));
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.spawn_blocking(task)
    }

    fn join(handle: Self::Handle) -> u64 {
        block_on(handle).expect("no task of the bench panics")
    }
}

/// `async_executor::Executor` with two threads running it.
pub(crate) struct AsyncExecutor(pub(super) &'static async_executor::Executor<'static>);

impl AsyncExecutor {
    pub(crate) fn open() -> Self {
        let executor: &'static async_executor::Executor<'static> = Box::leak(Box::default());
        for _ in 0..WORKERS {
            thread::spawn(|| block_on(executor.run(pending::<()>())));
        }
        AsyncExecutor(executor)
    }
}

impl Contender for AsyncExecutor {
    type Handle = async_executor::Task<u64>;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn(async move { task() }).detach();
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle {
        self.0.spawn(async move { task() })
    }

    fn join(handle: Self::Handle) -> u64 {
        block_on(handle)
    }
}

/// `futures_executor::ThreadPool`.
pub(crate) struct Futures(pub(super) futures_executor::ThreadPool);

impl Futures {
    pub(crate) fn open() -> Self {
        let pool = futures_executor::ThreadPool::builder()
            .pool_size(WORKERS)
            .create();
        Futures(pool.expect("futures starts two threads"))
    }
}

impl Contender for Futures {
    type Handle = Reply;

    fn execute<F: FnOnce() + Send + 'static>(&self, task: F) {
        self.0.spawn_ok(async move { task() });
    }

    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Reply {
        let (task, reply) = replying(task);
        self.0.spawn_ok(async move { task() });
        reply
    }

    fn join(handle: Reply) -> u64 {
        wait_for(handle)
    }
}
