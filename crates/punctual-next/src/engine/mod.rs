//! The pool: parts that own their state and their locks. The engine itself has none.

pub(crate) mod idle;
pub(crate) mod lifecycle;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod threads;

use crate::base::errors::Reason;
use crate::queue::fifo::Fifo;
use crate::queue::gate::{Entry, Gate, Verdict};
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use crate::sync::{Arc, Weak};
use crate::task::cell::{PlaceTag, Scheduler, SchedulerRef, TaskHeader};
use crate::task::reference::PinnedCell;
use crate::task::runnable::Runnable;
use crate::task::state::End;
use idle::Idle;
use lifecycle::Lifecycle;
use threads::{SpawnWorker, Threads};

/// Alive while an owner, a worker or a task that has not ended needs it.
pub(crate) struct Engine {
    pub(crate) name: Arc<str>,
    /// Itself, at an address that cells point to.
    anchor: Weak<dyn Scheduler>,
    pub(crate) queue: Fifo,
    pub(crate) idle: Idle,
    pub(crate) threads: Threads,
    pub(crate) lifecycle: Lifecycle,
    /// Tasks that were cancelled before they began.
    pub(crate) cancelled: AtomicU64,
    /// Tasks that `stop` and `drain` gave back.
    pub(crate) returned: AtomicU64,
}

impl Engine {
    pub(crate) fn new(name: Arc<str>, threads: usize, capacity: usize, spawn: SpawnWorker) -> Arc<Self> {
        let engine = Arc::new_cyclic(|me: &Weak<Engine>| Engine {
            name,
            anchor: me.clone(),
            queue: Fifo::new(Gate::new(threads, capacity)),
            idle: Idle::new(),
            threads: Threads::new(spawn),
            lifecycle: Lifecycle::new(),
            cancelled: AtomicU64::new(0),
            returned: AtomicU64::new(0),
        });
        engine.lifecycle.begin(&engine);
        engine
    }

    /// What cells made for this engine point to.
    #[inline]
    pub(crate) fn scheduler(&self) -> SchedulerRef {
        SchedulerRef::new(&self.anchor)
    }

    pub(crate) fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Takes a task, or gives it back with the reason: one section under the tail lock, and at most one wake-up.
    #[inline]
    pub(crate) fn submit(self: &Arc<Self>, task: Runnable) -> Result<(), (Runnable, Reason)> {
        match self.queue.push(task, Entry::New) {
            Ok(Verdict::Go) => {
                self.idle.notify();
                Ok(())
            }
            other => self.submit_slowly(other),
        }
    }

    #[cold]
    fn submit_slowly(
        self: &Arc<Self>,
        mut answer: Result<Verdict, (Runnable, Verdict)>,
    ) -> Result<(), (Runnable, Reason)> {
        loop {
            match answer {
                Ok(verdict) => {
                    self.idle.notify();
                    if verdict == Verdict::GoAndStart {
                        // Another worker is there if this one cannot be started.
                        let _ = threads::start_reserved(self);
                    }
                    return Ok(());
                }
                Err((task, Verdict::StartFirst)) => {
                    if threads::start_reserved(self).is_err() {
                        return Err((task, Reason::NoThread));
                    }
                    answer = self.queue.push(task, Entry::Started);
                }
                Err((task, Verdict::Full)) => {
                    let tail = self.queue.tail();
                    let (capacity, threads) = (tail.gate.capacity, tail.gate.threads);
                    let reason = Reason::Full {
                        queued: capacity,
                        capacity,
                        threads,
                    };
                    return Err((task, reason));
                }
                Err((task, _)) => return Err((task, Reason::ShutDown)),
            }
        }
    }
}

impl Scheduler for Engine {
    fn remove(&self, cell: &PinnedCell) -> Option<Runnable> {
        match cell.header().place() {
            PlaceTag::Ready => self.queue.remove(cell),
            PlaceTag::None => None,
        }
    }

    fn before_end(&self, _: &TaskHeader, end: End) {
        match end {
            End::Returned => self.returned.fetch_add(1, Relaxed),
            _ => self.cancelled.fetch_add(1, Relaxed),
        };
    }
}
