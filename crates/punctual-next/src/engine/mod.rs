//! The pool: parts that own their state and their locks. The engine itself has none.

pub(crate) mod idle;
pub(crate) mod lifecycle;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod reject;
pub(crate) mod threads;

use crate::base::errors::Reason;
use crate::base::settings::{KeepAlive, Size};
use crate::observe::counters::SharedCounters;
use crate::queue::fifo::Fifo;
use crate::queue::gate::{Entry, Gate, Verdict};
use crate::sync::{Arc, Weak};
use crate::task::cell::{PlaceTag, Scheduler, SchedulerRef, TaskHeader};
use crate::task::reference::PinnedCell;
use crate::task::runnable::Runnable;
use crate::task::state::End;
use idle::Idle;
use lifecycle::Lifecycle;
use reject::Reject;
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
    pub(crate) counters: SharedCounters,
}

impl Engine {
    pub(crate) fn new(
        name: Arc<str>,
        size: Size,
        keep_alive: KeepAlive,
        reject: Reject,
        spawn: SpawnWorker,
    ) -> Arc<Self> {
        let engine = Arc::new_cyclic(|me: &Weak<Engine>| Engine {
            name,
            anchor: me.clone(),
            queue: Fifo::new(Gate::new(size)),
            idle: Idle::new(),
            threads: Threads::new(spawn, keep_alive),
            lifecycle: Lifecycle::new(reject),
            counters: SharedCounters::default(),
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
        answer: Result<Verdict, (Runnable, Verdict)>,
    ) -> Result<(), (Runnable, Reason)> {
        match self.follow(answer, Entry::Started) {
            Err((task, reason @ Reason::Full { .. })) => self.follow_policy(task, reason),
            other => other,
        }
    }

    /// One more try of a task that was refused before.
    fn enter(self: &Arc<Self>, task: Runnable, entry: Entry) -> Result<(), (Runnable, Reason)> {
        let again = if entry == Entry::New {
            Entry::Started
        } else {
            entry
        };
        self.follow(self.queue.push(task, entry), again)
    }

    /// Follows the gate: starts threads, and comes again with `entry` if one had to be started first.
    fn follow(
        self: &Arc<Self>,
        mut answer: Result<Verdict, (Runnable, Verdict)>,
        entry: Entry,
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
                        let reason = self.refusal_without_thread(entry);
                        return Err((task, reason));
                    }
                    answer = self.queue.push(task, entry);
                }
                Err((task, Verdict::Full)) => {
                    let reason = full(&self.queue.tail().gate);
                    return Err((task, reason));
                }
                Err((task, _)) => return Err((task, Reason::ShutDown)),
            }
        }
    }

    /// The system refused a thread: without any the task has no runner, with some the queue is full as before.
    fn refusal_without_thread(&self, entry: Entry) -> Reason {
        let reason = {
            let mut tail = self.queue.tail();
            if entry == Entry::Granted {
                tail.gate.give_place_back();
            }
            match tail.gate.threads {
                0 => Reason::NoThread,
                _ => full(&tail.gate),
            }
        };
        self.queue.grant_room();
        reason
    }
}

fn full(gate: &Gate) -> Reason {
    Reason::Full {
        queued: gate.room,
        capacity: gate.room,
        threads: gate.threads,
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
        let count = match end {
            End::Returned => &self.counters.returned,
            End::Rejected => &self.counters.discarded,
            End::Evicted => &self.counters.evicted,
            _ => &self.counters.cancelled,
        };
        count.add_one();
    }
}
