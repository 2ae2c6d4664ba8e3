//! The life of a pool: open, closed, terminated.
//!
//! Closing is one step under the tail lock: what was accepted before it is run, nothing is accepted after it. A closed pool whose
//! last worker has left is terminated. Until then the engine holds a reference to itself, so a task that has not ended can rely
//! on it.

use super::Engine;
use super::reject::Reject;
use crate::sync::Arc;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{AcqRel, Release};
use crate::sync::mutex::{Mutex, Rank};
use crate::sync::wait_word::WaitWord;
use crate::task::runnable::HandedOut;
use crate::task::state::End;
use std::time::{Duration, Instant};

const TERMINATED: u32 = 1;

/// What changes while a pool lives, under the lock of this part.
struct Changeable {
    self_reference: Option<Arc<Engine>>,
    reject: Reject,
}

/// See the module.
pub(crate) struct Lifecycle {
    state: WaitWord,
    owners: AtomicUsize,
    settings: Mutex<Changeable>,
}

impl Lifecycle {
    pub(super) fn new(reject: Reject) -> Self {
        Lifecycle {
            state: WaitWord::new(0),
            owners: AtomicUsize::new(0),
            settings: Mutex::new(
                Rank::Lifecycle,
                Changeable {
                    self_reference: None,
                    reject,
                },
            ),
        }
    }

    pub(super) fn begin(&self, engine: &Arc<Engine>) {
        self.settings.lock().self_reference = Some(engine.clone());
    }

    pub(crate) fn reject(&self) -> Reject {
        self.settings.lock().reject.clone()
    }

    /// The policy for the next task that does not fit.
    pub(crate) fn set_reject(&self, reject: Reject) {
        // A rule's own drop must not run under the lock.
        let old = std::mem::replace(&mut self.settings.lock().reject, reject);
        drop(old);
    }

    pub(crate) fn is_terminated(&self) -> bool {
        self.state.load() & TERMINATED != 0
    }

    /// Waits for the end. False: the limit passed.
    pub(crate) fn await_termination(&self, limit: Option<Duration>) -> bool {
        let end = limit.and_then(|limit| Instant::now().checked_add(limit));
        loop {
            let seen = self.state.load();
            if seen & TERMINATED != 0 {
                return true;
            }
            let left = match end {
                Some(end) => match end.checked_duration_since(Instant::now()) {
                    Some(left) if !left.is_zero() => Some(left),
                    _ => return false,
                },
                None => None,
            };
            self.state.sleep(seen, left);
        }
    }
}

impl Engine {
    /// Refuses new tasks from now on; what waits is run.
    pub(crate) fn shutdown(&self) {
        self.queue.close();
        self.idle.wake_all();
        self.try_terminate();
    }

    /// Takes the tasks out that wait; the pool goes on.
    pub(crate) fn drain(&self) -> Vec<HandedOut> {
        let waiting = self.queue.take_all();
        waiting
            .into_iter()
            .map(|task| task.hand_out(End::Returned))
            .collect()
    }

    /// Refuses new tasks, and takes the tasks out that wait. Closed first: what is not among them is run, or was refused.
    pub(crate) fn stop(&self) -> Vec<HandedOut> {
        self.queue.close();
        let waiting = self.drain();
        self.shutdown();
        waiting
    }

    /// Ends a closed pool without workers. Once.
    pub(crate) fn try_terminate(&self) {
        {
            let tail = self.queue.tail();
            if !tail.gate.is_closed || tail.gate.threads > 0 {
                return;
            }
        }
        let reference = self.lifecycle.settings.lock().self_reference.take();
        self.lifecycle.state.0.fetch_or(TERMINATED, Release);
        self.lifecycle.state.wake_all();
        // The last touch: this may free the engine, unless the caller holds it.
        drop(reference);
    }
}

/// One owner of a pool. The last one to go shuts the pool down.
pub(crate) struct OwnerShare {
    engine: Arc<Engine>,
}

impl OwnerShare {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        engine.lifecycle.owners.fetch_add(1, AcqRel);
        OwnerShare { engine }
    }

    #[inline]
    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.engine
    }
}

impl Clone for OwnerShare {
    fn clone(&self) -> Self {
        OwnerShare::new(self.engine.clone())
    }
}

impl Drop for OwnerShare {
    fn drop(&mut self) {
        if self.engine.lifecycle.owners.fetch_sub(1, AcqRel) == 1 {
            self.engine.shutdown();
        }
    }
}
