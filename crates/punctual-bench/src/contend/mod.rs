//! The one door through which every Rust pool is driven, so that each scenario is written once. In: closures. Out:
//! their results. Not here: the JVM peers, which have the same scenarios in `java/Peers.java`; and time, see `timers`.
//!
//! Pools are leaked on purpose: a child process lives as long as its pool, tasks may hold `&'static` to it without
//! a counted clone per task, and shutting down is in no scenario.

mod async_pools;
mod elastic;
mod futures;
mod heap_pool;
mod keyed;
mod ours;
mod thread_pools;
pub(crate) mod timers;

pub(crate) use async_pools::{AsyncExecutor, Futures, Tokio, TokioBlocking};
pub(crate) use elastic::{Blocking, CAP_VARIABLE, Elastic, OursLanes, OursPinned, TokioElastic};
pub(crate) use futures::Spawns;
pub(crate) use heap_pool::HeapPool;
pub(crate) use keyed::{Keyed, MapInFront, OursKeyed};
pub(crate) use ours::{Levelled, Ours, OursNext};
pub(crate) use thread_pools::{Crossbeam, Rayon, RustyPool, Threadpool};

/// Of every pool, ours and theirs.
pub(crate) const WORKERS: usize = 2;

/// A pool of [`WORKERS`] threads.
pub(crate) trait Contender: Sync + Sized + 'static {
    /// What `submit` gives back.
    type Handle;

    /// Fire and forget, with the cheapest verb the pool has.
    fn execute<F: FnOnce() + Send + 'static>(&self, task: F);

    /// With a result: the pool's own handle if it has one, else a `oneshot`.
    fn submit<F: FnOnce() -> u64 + Send + 'static>(&self, task: F) -> Self::Handle;

    /// Waits for the result on the calling thread.
    fn join(handle: Self::Handle) -> u64;

    /// Kept for the rest of the process, see the head of this file.
    fn leak(self) -> &'static Self {
        Box::leak(Box::new(self))
    }
}

/// A pool with a bounded queue whose overflow runs on the submitting thread (scenario F).
pub(crate) trait CallerRuns: Contender {
    fn execute_or_run<F: FnOnce() + Send + 'static>(&self, task: F);
}

/// The levels of every pool that has them.
pub(crate) const LEVELS: usize = 4;

/// A pool told how urgent a task is: 0 the most, 3 the least. One without levels takes no notice.
pub(crate) trait Levels: Contender {
    fn execute_at<F: FnOnce() + Send + 'static>(&self, level: usize, task: F);
}

/// The handle of pools that have none.
pub(crate) type Reply = oneshot::Receiver<u64>;

/// Wraps a task so that its result goes to a [`Reply`].
fn replying<F: FnOnce() -> u64 + Send + 'static>(task: F) -> (impl FnOnce() + Send + 'static, Reply) {
    let (sender, receiver) = oneshot::channel();
    // A receiver that is gone wants no answer.
    (move || drop(sender.send(task())), receiver)
}

/// The same for a future.
fn replying_future<F: Future<Output = u64> + Send + 'static>(
    future: F,
) -> (impl Future<Output = ()> + Send + 'static, Reply) {
    let (sender, receiver) = oneshot::channel();
    (async move { drop(sender.send(future.await)) }, receiver)
}

fn wait_for(reply: Reply) -> u64 {
    reply.recv().expect("the pool dropped a task unrun")
}
