//! How the tasks of views are let in: first by the view, then as all others are.
//!
//! In: blocks that somebody submits. Out: each accepted, in the queue or in a line, or given back with the reason. What the view says
//! counts under the producers' lock only, under which lanes are closed too.

use super::view_of;
use crate::Reason;
use crate::pool::admit::{Plan, Refused};
use crate::pool::crew::Crew;
use crate::pool::engine::Engine;
use crate::queue::producers::Producers;
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Header};
use crate::task::record::Payload;
use crate::task::view::{Barred, Coming, Step, View};

impl Engine {
    /// As [`Engine::admit`] for what does not go straight to the queue.
    #[inline(never)]
    pub(in crate::pool) fn admit_apart<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if class.is_delayed() {
            return self.admit_covered(class, payload);
        }
        match payload.into_entry() {
            Ok(entry) => {
                let view = view_of(entry.header());
                self.admit_to_view(&view, entry).map_err(|refused| Refused {
                    payload: P::of_entry(refused.payload),
                    reason: refused.reason,
                })
            }
            // A view's task is always a block; whoever brought this makes one.
            Err(payload) => Err(Refused {
                payload,
                reason: Reason::Forked,
            }),
        }
    }

    /// Lets a task of this view in.
    pub(crate) fn admit_to_view(
        self: &Arc<Self>,
        view: &Arc<View>,
        entry: Entry,
    ) -> Result<bool, Refused<Entry>> {
        // The first look is for the view's memory to be near when the lock is held, for which others wait; the second counts.
        let barred = view.admits().err();
        let mut producers = self.room.producers();
        if let Some(barred) = barred.or_else(|| view.admits().err()) {
            drop(producers);
            let reason = self.reason_of_barred(barred);
            return Err(Refused {
                payload: entry,
                reason,
            });
        }
        if !producers.is_open() {
            match self.plan(&mut producers, false) {
                Plan::Push => {}
                Plan::Refuse(refusal) => {
                    drop(producers);
                    let reason = self.reason_of(refusal);
                    return Err(Refused {
                        payload: entry,
                        reason,
                    });
                }
                Plan::Start | Plan::Wait => {
                    drop(producers);
                    return self.admit_slowly(entry.header().class, entry, true);
                }
            }
        }
        let is_in = self.enter(&mut producers, view, entry);
        drop(producers);
        Ok(is_in && self.idle.notify())
    }

    /// As [`Engine::admit_to_view`], of the view that the task has a share of.
    pub(crate) fn admit_to_own_view(self: &Arc<Self>, entry: Entry) -> Result<bool, Refused<Entry>> {
        let view = view_of(entry.header());
        self.admit_to_view(&view, entry)
    }

    /// Lets a task of this view in, if nobody has to be asked; else it comes back. `Ok`: whether it is in the queue, of which
    /// the caller tells the workers.
    pub(crate) fn admit_if_open(&self, view: &Arc<View>, entry: Entry) -> Result<bool, Entry> {
        let mut producers = self.room.producers();
        if !producers.is_open() || view.admits().is_err() {
            return Err(entry);
        }
        Ok(self.enter(&mut producers, view, entry))
    }

    /// As [`Engine::publish`] for what does not go straight to the queue: a permit is held.
    pub(in crate::pool) fn publish_apart<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
        minds_lanes: bool,
    ) -> Result<bool, Refused<P>> {
        if class.is_delayed() {
            return self.publish_covered(class, payload);
        }
        let entry = match payload.into_entry() {
            Ok(entry) => entry,
            Err(_) => unreachable!("a view's task is a block"),
        };
        self.publish_to_view(entry, minds_lanes)
            .map_err(|refused| Refused {
                payload: P::of_entry(refused.payload),
                reason: refused.reason,
            })
    }

    fn publish_to_view(self: &Arc<Self>, entry: Entry, minds_lanes: bool) -> Result<bool, Refused<Entry>> {
        let view = view_of(entry.header());
        let mut producers = self.room.producers();
        // Once more: others may have filled the lane since the look with which the permit was reserved.
        let barred = match view.admits() {
            _ if producers.is_closed() => Some(Barred::Closed),
            Err(Barred::Full { .. }) if !minds_lanes => None,
            admitted => admitted.err(),
        };
        if let Some(barred) = barred {
            drop(producers);
            self.give_back(|_| ());
            self.serve_line();
            let reason = self.reason_of_barred(barred);
            return Err(Refused {
                payload: entry,
                reason,
            });
        }
        let is_in = self.enter(&mut producers, &view, entry);
        producers.unreserve();
        let is_put_off = !producers.has_reservations() && producers.gate.take_put_off();
        drop(producers);
        if is_put_off {
            self.idle.wake_all();
            return Ok(true);
        }
        Ok(is_in && self.idle.notify())
    }

    pub(in crate::pool) fn reason_of_barred(&self, barred: Barred) -> Reason {
        match barred {
            Barred::Closed => Reason::ShutDown,
            Barred::Full { waiting, cap } => Reason::Full {
                queued: waiting,
                capacity: cap,
                threads: self.run_state.read().workers().saturating_sub(self.keepers()),
            },
        }
    }

    /// Whether a task of this view is refused by the view itself, whatever the pool says.
    pub(in crate::pool) fn is_barred(&self, task: &Header) -> bool {
        task.view().is_some_and(|view| view.admits().is_err())
    }

    /// Sets a task that has just been accepted on its way. True: it is in the queue.
    fn enter(&self, producers: &mut Producers<Crew>, view: &Arc<View>, entry: Entry) -> bool {
        let class = entry.header().class;
        let coming = Coming {
            number: producers.accepted_so_far(),
            is_new: true,
        };
        match self.go_on(Some(view), entry, coming) {
            Step::Passed(entry) => {
                producers.push_surely(&self.room, class, entry, true, &self.clock);
                true
            }
            Step::Parked => {
                producers.put_aside(&self.room, class);
                false
            }
        }
    }
}
