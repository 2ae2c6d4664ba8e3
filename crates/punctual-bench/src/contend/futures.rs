//! Executors that poll futures: ours, and those of `async_pools`. In: a future. Out: its output, by a handle that whoever is
//! outside can wait for.

use std::future::Future;

use futures_lite::future::block_on;

use super::{AsyncExecutor, Contender, Futures, Ours, Reply, Tokio, replying_future, wait_for};

/// Kept for the rest of the process, as all pools are.
pub(crate) trait Spawns: Contender {
    type Task: Send;

    fn spawn<F: Future<Output = u64> + Send + 'static>(&self, future: F) -> Self::Task;

    fn output(task: Self::Task) -> u64;
}

impl Spawns for Ours {
    type Task = punctual::TaskHandle<u64>;

    fn spawn<F: Future<Output = u64> + Send + 'static>(&self, future: F) -> Self::Task {
        let spawned = self.0.spawn(future).map_err(|refused| refused.reason().clone());
        spawned.expect("the queue has room and the pool is open")
    }

    fn output(task: Self::Task) -> u64 {
        task.join().expect("no future of the bench panics")
    }
}

impl Spawns for Tokio {
    type Task = tokio::task::JoinHandle<u64>;

    fn spawn<F: Future<Output = u64> + Send + 'static>(&self, future: F) -> Self::Task {
        self.0.spawn(future)
    }

    fn output(task: Self::Task) -> u64 {
        block_on(task).expect("no future of the bench panics")
    }
}

impl Spawns for AsyncExecutor {
    type Task = async_executor::Task<u64>;

    fn spawn<F: Future<Output = u64> + Send + 'static>(&self, future: F) -> Self::Task {
        self.0.spawn(future)
    }

    fn output(task: Self::Task) -> u64 {
        block_on(task)
    }
}

impl Spawns for Futures {
    type Task = Reply;

    fn spawn<F: Future<Output = u64> + Send + 'static>(&self, future: F) -> Self::Task {
        let (future, reply) = replying_future(future);
        self.0.spawn_ok(future);
        reply
    }

    fn output(task: Self::Task) -> u64 {
        wait_for(task)
    }
}
