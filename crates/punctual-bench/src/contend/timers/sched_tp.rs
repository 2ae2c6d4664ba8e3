//! `scheduled_thread_pool`: threads behind one heap. A cancelled job is marked and stays in the heap until its time.

use std::time::{Duration, Instant};

use scheduled_thread_pool::{JobHandle, ScheduledThreadPool};

use super::{Firing, Insertion, Repeating, until};
use crate::contend::WORKERS;

pub(crate) struct SchedTp(ScheduledThreadPool);

impl SchedTp {
    pub(crate) fn open() -> Self {
        SchedTp(ScheduledThreadPool::builder().num_threads(WORKERS).build())
    }
}

impl Insertion for SchedTp {
    type Handle = JobHandle;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, task: F) -> JobHandle {
        self.0.execute_after(delay, task)
    }

    fn cancel(&mut self, handle: JobHandle) -> bool {
        handle.cancel();
        true
    }
}

impl Firing for SchedTp {
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, body: B) {
        drop(self.0.execute_after(until(at), move || body(index)));
    }
}

impl Repeating for SchedTp {
    fn every<F: FnMut(u64) + Send + 'static>(&mut self, first: Instant, period: Duration, mut tick: F) {
        // It runs late ticks one after the other and leaves none out.
        drop(
            self.0
                .execute_at_fixed_rate(until(first), period, move || tick(0)),
        );
    }
}
