//! Futures on the pool: `spawn`, wakers, cancelling, views, time.

/// How a future ends that does not get to its own end.
mod ending;
/// Sleeps and futures that are polled elsewhere than they began.
mod moved;
/// What is always ready, and who is served meanwhile.
mod ready;
/// Fault 21.
mod storms;
/// What several modules need.
#[path = "../it/support.rs"]
#[allow(dead_code)]
mod support;
/// Sleeping, giving up, coming back: on the clock of the pool.
mod timed;
/// Futures in lanes, limits and levels.
mod viewed;
/// Polls, wakes, and what is counted of them.
mod waking;
/// Futures that their worker keeps.
mod yielding;

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// A future that is ready when somebody rings, and keeps the last waker it was polled with.
#[derive(Clone, Default)]
struct Bell(Arc<Mutex<Ring>>);

#[derive(Default)]
struct Ring {
    rung: bool,
    polls: usize,
    waker: Option<Waker>,
}

impl Bell {
    fn ring(&self) {
        let waker = {
            let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            ring.rung = true;
            ring.waker.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }

    /// The waker of the last poll, as long as it was not rung.
    fn waker(&self) -> Option<Waker> {
        let ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.waker.clone()
    }

    fn polls(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).polls
    }
}

impl Future for Bell {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut ring = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        ring.polls += 1;
        if ring.rung {
            return Poll::Ready(());
        }
        ring.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
