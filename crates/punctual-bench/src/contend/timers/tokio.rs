//! tokio's time, in its three forms: a bare `Sleep`, a task that sleeps (or ticks), and a `DelayQueue`. Its clock has
//! steps of one millisecond.

use std::{
    future::{Future, poll_fn},
    mem,
    pin::Pin,
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use tokio::{
    runtime::Runtime,
    task::JoinHandle,
    time::{Sleep, interval_at, sleep, sleep_until},
};
use tokio_util::time::{DelayQueue, delay_queue::Key};

use super::{Firing, Insertion, Repeating};
use crate::contend::WORKERS;

fn runtime() -> &'static Runtime {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .enable_time()
        .build();
    let runtime: &'static Runtime = Box::leak(Box::new(runtime.expect("tokio starts two workers")));
    // Timers belong to the runtime that is entered when they are made: this one, from here on.
    mem::forget(runtime.enter());
    runtime
}

/// A boxed `Sleep`, polled once with a waker that does nothing: a timer of the wheel and nothing to run.
pub(crate) struct TokioSleep;

impl TokioSleep {
    pub(crate) fn open() -> Self {
        runtime();
        TokioSleep
    }
}

impl Insertion for TokioSleep {
    type Handle = Pin<Box<Sleep>>;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, _: F) -> Self::Handle {
        let mut timer = Box::pin(sleep(delay));
        // The first poll is what puts it in.
        let _ = timer.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        timer
    }

    fn cancel(&mut self, handle: Self::Handle) -> bool {
        drop(handle);
        true
    }
}

/// Spawned tasks that sleep and then run: what people write who want a closure run later. `interval` for those that
/// come again.
pub(crate) struct TokioTasks(&'static Runtime);

impl TokioTasks {
    pub(crate) fn open() -> Self {
        TokioTasks(runtime())
    }
}

impl Insertion for TokioTasks {
    type Handle = JoinHandle<()>;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, task: F) -> Self::Handle {
        // Made here and not in the task: its time starts now, not when it is polled first.
        let timer = sleep(delay);
        self.0.spawn(async move {
            timer.await;
            task();
        })
    }

    fn cancel(&mut self, handle: Self::Handle) -> bool {
        handle.abort();
        true
    }

    /// Aborted tasks are dropped by the workers.
    fn settle(&mut self) {
        while self.0.metrics().num_alive_tasks() > 0 {
            thread::yield_now();
        }
    }
}

impl Firing for TokioTasks {
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, body: B) {
        drop(self.0.spawn(async move {
            sleep_until(at.into()).await;
            body(index);
        }));
    }
}

impl Repeating for TokioTasks {
    fn every<F: FnMut(u64) + Send + 'static>(&mut self, first: Instant, period: Duration, mut tick: F) {
        drop(self.0.spawn(async move {
            // Its default is to run late ticks one after the other and to leave none out.
            let mut ticks = interval_at(first.into(), period);
            loop {
                ticks.tick().await;
                tick(0);
            }
        }));
    }
}

/// `tokio_util::time::DelayQueue`: numbers, taken out by the one task that owns the queue.
pub(crate) struct TokioDelayQueue {
    runtime: &'static Runtime,
    queue: DelayQueue<u64>,
}

impl TokioDelayQueue {
    pub(crate) fn open() -> Self {
        TokioDelayQueue {
            runtime: runtime(),
            queue: DelayQueue::new(),
        }
    }
}

impl Insertion for TokioDelayQueue {
    type Handle = Key;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, _: F) -> Key {
        self.queue.insert(0, delay)
    }

    fn cancel(&mut self, key: Key) -> bool {
        // Nobody polls the queue here, so even what came due is still in it.
        self.queue.remove(&key);
        true
    }
}

impl Firing for TokioDelayQueue {
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, _: B) {
        self.queue.insert_at(index, at.into());
    }

    fn armed<B: Fn(u64) + Copy + Send + 'static>(&mut self, body: B) {
        let mut queue = mem::take(&mut self.queue);
        drop(self.runtime.spawn(async move {
            while let Some(due) = poll_fn(|context| queue.poll_expired(context)).await {
                body(due.into_inner());
            }
        }));
    }
}
