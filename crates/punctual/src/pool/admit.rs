//! Admission: the one way into a pool, once per task.
//!
//! In: a payload. Out: accepted (and somebody woken, or not), or the payload back with the reason. The decision is
//! made under the producers' lock together with closing, so acceptance and shutdown meet at one point: a task is
//! accepted before the pool closed, and then it runs or comes back, or it is refused. With enough workers alive that
//! is one section: check, write, leave. When a worker must be started first, the permit is reserved in one section,
//! the thread started outside the lock, and the task published in a second; a pool that closed in between gives the
//! task back.

use super::engine::Engine;
use crate::Reason;
use crate::queue::Refusal;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::task::Class;
use crate::task::record::Payload;

/// A payload that was not let in.
pub(crate) struct Refused<P> {
    pub(crate) payload: P,
    pub(crate) reason: Reason,
}

impl Engine {
    /// Lets a task in. `Ok(true)`: a sleeping worker had to be woken for it.
    #[inline]
    pub(crate) fn admit<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
    ) -> Result<bool, Refused<P>> {
        if self.is_forked() {
            return Err(Refused {
                payload,
                reason: Reason::Forked,
            });
        }
        // A searcher takes the task before its arrival could interest anybody.
        let stamp = self.idle.read().searchers() == 0;
        loop {
            let mut producers = self.room.producers();
            if !producers.is_open() {
                if let Err(refusal) = producers.check(&self.room) {
                    drop(producers);
                    return Err(self.refuse(payload, refusal));
                }
                if producers.gate.is_short() {
                    drop(producers);
                    return self.admit_with_worker(class, payload, stamp);
                }
                producers.open();
            }
            match producers.push(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => break,
                Err(back) => payload = back,
            }
            drop(producers);
            self.room.bring();
        }
        Ok(self.idle.notify())
    }

    /// Lets in as many of `payloads` as fit, in order, and leaves the rest. One section for all that fit.
    pub(crate) fn admit_many<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payloads: &mut std::vec::IntoIter<P>,
    ) -> Result<(), Refused<P>> {
        while let Some(first) = payloads.next() {
            // The first goes the usual way: it finds out whether a worker must be started, and wakes one.
            self.admit(class, first)?;
            let mut producers = self.room.producers();
            // What needs a look goes the usual way, in the next round.
            while !payloads.as_slice().is_empty() && producers.is_open() {
                let Some(payload) = payloads.next() else { break };
                if let Err(payload) = producers.push(&self.room, class, payload, false, &self.clock) {
                    drop(producers);
                    self.room.bring();
                    self.admit(class, payload)?;
                    producers = self.room.producers();
                }
            }
            drop(producers);
            self.idle.notify();
        }
        Ok(())
    }

    /// Counts tasks that were not accepted.
    pub(crate) fn count_refused(&self, reason: &Reason, tasks: usize) {
        let counter = match reason {
            Reason::ShutDown => &self.observed.rejected_shutdown,
            Reason::Full { .. } => &self.observed.rejected_full,
            Reason::NoThread => &self.observed.rejected_no_thread,
            _ => return,
        };
        counter.fetch_add(tasks as u64, Relaxed);
    }

    #[cold]
    fn refuse<P>(&self, payload: P, refusal: Refusal) -> Refused<P> {
        let reason = match refusal {
            Refusal::Closed => {
                self.observed.rejected_shutdown.fetch_add(1, Relaxed);
                Reason::ShutDown
            }
            Refusal::Full { waiting, capacity } => {
                self.observed.rejected_full.fetch_add(1, Relaxed);
                Reason::Full {
                    queued: waiting,
                    capacity,
                    threads: self.run_state.read().workers(),
                }
            }
        };
        Refused { payload, reason }
    }

    /// The long way in: a worker is missing.
    #[cold]
    fn admit_with_worker<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
        stamp: bool,
    ) -> Result<bool, Refused<P>> {
        {
            let mut producers = self.room.producers();
            if let Err(refusal) = producers.check(&self.room) {
                drop(producers);
                return Err(self.refuse(payload, refusal));
            }
            if producers.gate.workers >= producers.gate.core {
                // Not ours to start. If all of them are still starting, nobody may count on one yet: look again.
                drop(producers);
                crate::sync::yield_now();
                return self.admit(class, payload);
            }
            producers.reserve();
            {
                producers.gate.workers += 1;
                producers.gate.starting += 1;
                let _ = self.run_state.hire();
                drop(producers);
                let started = self.start_worker();
                let mut producers = self.room.producers();
                producers.gate.starting -= 1;
                producers.shut();
                if !started {
                    producers.gate.workers -= 1;
                    let _ = self.run_state.leave();
                    if producers.gate.live() == 0 {
                        producers.unreserve();
                        drop(producers);
                        self.try_terminate();
                        self.observed.rejected_no_thread.fetch_add(1, Relaxed);
                        return Err(Refused {
                            payload,
                            reason: Reason::NoThread,
                        });
                    }
                    // Others are alive: the task waits for one of them, and the next submission tries again.
                }
            }
        }
        loop {
            let mut producers = self.room.producers();
            if producers.is_closed() {
                producers.unreserve();
                drop(producers);
                self.try_terminate();
                return Err(self.refuse(payload, Refusal::Closed));
            }
            match producers.push(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => {
                    producers.unreserve();
                    break;
                }
                Err(back) => payload = back,
            }
            drop(producers);
            self.room.bring();
        }
        Ok(self.idle.notify())
    }
}

impl super::engine::Crew {
    /// A submission must start a worker first, or wait until somebody's start has succeeded.
    #[inline]
    pub(crate) fn is_short(&self) -> bool {
        self.workers < self.core || self.workers == self.starting
    }

    /// Workers that are known to run.
    fn live(&self) -> usize {
        self.workers - self.starting
    }
}
