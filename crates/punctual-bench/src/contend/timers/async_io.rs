//! `async_io::Timer`: alone where timers are only put in, as tasks of two threads of an async-executor where they run.

use std::{
    future::{Future, pending},
    pin::Pin,
    task::{Context, Waker},
    thread,
    time::{Duration, Instant},
};

use async_executor::Executor;
use async_io::Timer;
use futures_lite::StreamExt;

use super::{Firing, Insertion, Repeating};
use crate::contend::WORKERS;

pub(crate) struct AsyncIo(&'static Executor<'static>);

impl AsyncIo {
    pub(crate) fn open() -> Self {
        let executor: &'static Executor<'static> = Box::leak(Box::default());
        for _ in 0..WORKERS {
            // Its own `block_on`, which looks after the timers while it waits.
            thread::spawn(|| async_io::block_on(executor.run(pending::<()>())));
        }
        AsyncIo(executor)
    }
}

impl Insertion for AsyncIo {
    /// Boxed, because a timer has to be kept somewhere and that memory counts.
    type Handle = Box<Timer>;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, _: F) -> Self::Handle {
        let mut timer = Box::new(Timer::after(delay));
        // The first poll is what puts it in.
        let _ = Pin::new(&mut *timer).poll(&mut Context::from_waker(Waker::noop()));
        timer
    }

    fn cancel(&mut self, handle: Self::Handle) -> bool {
        drop(handle);
        true
    }
}

impl Firing for AsyncIo {
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, body: B) {
        let task = async move {
            Timer::at(at).await;
            body(index);
        };
        self.0.spawn(task).detach();
    }
}

impl Repeating for AsyncIo {
    fn every<F: FnMut(u64) + Send + 'static>(&mut self, first: Instant, period: Duration, mut tick: F) {
        let task = async move {
            // Late ticks come one after the other, none is left out.
            let mut ticks = Timer::interval_at(first, period);
            while ticks.next().await.is_some() {
                tick(0);
            }
        };
        self.0.spawn(task).detach();
    }
}
