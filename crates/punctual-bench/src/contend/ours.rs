//! Punctual as a [`Contender`]. Not here: which scenario takes which queue, see the catalogue.

use punctual::{Pool, Queue, TaskHandle};

use super::{Contender, WORKERS};

/// A fixed pool with the queue under test.
pub(crate) struct Ours(Pool);

impl Ours {
    pub(crate) fn open(queue: Queue) -> Self {
        let pool = Pool::builder("bench")
            .core_threads(WORKERS)
            .max_threads(WORKERS)
            .queue(queue)
            .build();
        Ours(pool.expect("a fixed pool of two threads is a valid configuration"))
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
