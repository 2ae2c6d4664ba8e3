//! Capacity that covers delayed tasks, on request.
//!
//! In: a delayed task, for a pool whose capacity counts those too. Out: accepted with a permit of the queue, which it holds
//! until a worker takes it or it ends otherwise; or what the pool's policy says to a full pool, but for running it on the
//! caller, which would be before its time. Runs of schedules hold no permit: a schedule is not a task, and what is
//! due is never refused.

#![allow(unsafe_code)]

use super::admit::{Plan, Refused};
use super::engine::Engine;
use super::line::Permit;
use super::reject::Patience;
use crate::Reason;
use crate::queue::Refusal;
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Header};
use crate::task::record::{Payload, Slot};

impl Engine {
    /// Accepts a delayed task, with a permit or by the policy. `Err`: given back, and counted.
    pub(super) fn admit_delayed_by_capacity(self: &Arc<Self>, entry: Entry) -> Result<(), (Entry, Reason)> {
        let class = entry.header().class;
        match self.admit_or_answer(class, entry, Patience::Policy) {
            Ok(_) => Ok(()),
            Err(refused) => Err((refused.payload, refused.reason)),
        }
    }

    pub(super) fn admit_covered<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        {
            // An annex has no places of its own.
            let pool = self.top();
            let mut producers = pool.room.producers();
            let capacity = producers.capacity();
            let occupied = producers.occupied(&pool.room);
            let refusal = if producers.is_closed() {
                Some(Refusal::Closed)
            } else if !producers.gate.line.is_empty() || occupied >= capacity.limit() {
                match self.full(occupied, capacity) {
                    Plan::Refuse(refusal) => Some(refusal),
                    _ => None,
                }
            } else {
                producers.reserve();
                None
            };
            drop(producers);
            if let Some(refusal) = refusal {
                let reason = self.reason_of(refusal);
                return Err(Refused { payload, reason });
            }
        }
        self.publish(class, payload, false, Permit::of_plan())
    }

    /// Puts a delayed task for which a permit is held into the timers. (False, for "woke nobody for it".)
    pub(super) fn publish_covered<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        let mut slot = Slot::holding(class, payload);
        let Some(entry) = slot.take_entry() else {
            unreachable!("only a block has a time")
        };
        // SAFETY: the entry is a share.
        let due = unsafe { Header::due(entry.pointer()) };
        let (axis, when) = due.expect("a delayed task is due some time");
        let pool = self.top();
        let is_put_off = {
            let mut producers = pool.room.producers();
            producers.cover();
            !producers.has_reservations() && producers.gate.take_put_off()
        };
        if is_put_off {
            // Idle workers stayed because of the reservation: their time runs again.
            pool.idle.wake_all();
        }
        match self.admit_delayed(axis, when, entry) {
            Ok(()) => Ok(false),
            Err((entry, reason)) => {
                self.uncover(1);
                // SAFETY: the payload was this entry.
                let payload = unsafe { Slot::holding(class, entry).into_payload() };
                Err(Refused { payload, reason })
            }
        }
    }

    /// A covered task was taken, or ended otherwise.
    pub(crate) fn uncover(&self, tasks: usize) {
        if tasks > 0 && self.config.covers_delayed {
            let pool = self.top();
            pool.room.producers().uncover(tasks as u64);
            pool.permit_came_back();
        }
    }
}
