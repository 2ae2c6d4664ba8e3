//! Admission: the one way into a pool, once per task.
//!
//! In: a payload. Out: accepted (and somebody woken, or not), or the payload back with the reason. The decision is
//! made under the producers' lock together with closing, so acceptance and shutdown meet at one point: a task is
//! accepted before the pool closed, and then it runs or comes back, or it is refused. With enough workers alive that
//! is one section: look, write, leave. When a worker must be started first, the permit is reserved in one section,
//! the thread started outside the lock, and the task published in a second; a pool that closed in between gives the
//! task back. Not here: what a full pool answers ([`reject`](super::reject)), waiting for room ([`line`](super::line)).

use super::crew::{Crew, Growth};
use super::engine::Engine;
use super::line::Permit;
use crate::Reason;
use crate::queue::producers::Producers;
use crate::queue::{Capacity, Refusal};
use crate::sync::{Arc, Guard};
use crate::task::Class;
use crate::task::record::Payload;

/// A payload that was not let in.
pub(crate) struct Refused<P> {
    pub(crate) payload: P,
    pub(crate) reason: Reason,
}

/// What a look under the producers' lock says about one more task.
#[derive(Debug, Clone, Copy)]
pub(super) enum Plan {
    /// It may be written now.
    Push,
    /// It may be written after a worker has been started for it.
    Start,
    /// Not known: all workers are only being started by others.
    Wait,
    Refuse(Refusal),
}

impl Engine {
    /// As [`Engine::admit`], for a payload as it came from the user. What needs more than the common way (`is_special`)
    /// comes back as if refused: one cold way out for both.
    #[inline]
    pub(crate) fn admit_plain<P: Payload>(
        self: &Arc<Self>,
        is_special: bool,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if is_special {
            let reason = Reason::Forked;
            return Err(Refused { payload, reason });
        }
        self.admit(class, payload)
    }

    /// Lets a task in that waits for no time and is no view's. `Ok(true)`: a sleeping worker had to be woken for it. `Err` has not been counted.
    #[inline]
    pub(crate) fn admit<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
    ) -> Result<bool, Refused<P>> {
        debug_assert!(
            !class.is_apart(),
            "what does not go straight to the queue goes by `admit_any`"
        );
        if class.is_unusual() {
            if class.is_local() {
                match self.admit_locally(class, payload) {
                    Ok(admitted) => return admitted,
                    Err(back) => payload = back,
                }
            }
            if class.is_levelled() {
                return self.admit_to_level(class, payload);
            }
        }
        self.admit_to_log(class, payload)
    }

    /// As [`Engine::admit`], where there are no levels, and to the shared queue.
    #[inline(always)]
    pub(super) fn admit_to_log<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
    ) -> Result<bool, Refused<P>> {
        // A searcher takes the task before its arrival could interest anybody.
        let stamp = self.idle.read().searchers() == 0;
        let mut producers = self.room.producers();
        if producers.is_open() {
            match producers.push_plain(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => {
                    drop(producers);
                    return Ok(self.idle.notify());
                }
                Err(back) => payload = back,
            }
        }
        self.admit_with_a_look(producers, class, payload, stamp)
    }

    /// As [`Engine::admit`], where there are levels.
    #[inline]
    pub(super) fn admit_to_level<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if self.room.is_aging() {
            self.admit_to_level_as::<true, P>(class, payload)
        } else {
            self.admit_to_level_as::<false, P>(class, payload)
        }
    }

    #[inline(always)]
    fn admit_to_level_as<const AGED: bool, P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
    ) -> Result<bool, Refused<P>> {
        let stamp = self.idle.read().searchers() == 0;
        let mut producers = self.room.producers();
        if producers.are_levels_open() {
            match producers.push_to_level::<AGED, P>(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => {
                    drop(producers);
                    return Ok(self.idle.notify());
                }
                Err(back) => payload = back,
            }
        }
        self.admit_with_a_look(producers, class, payload, stamp)
    }

    /// The rest of [`Engine::admit`]: there are levels, something must be looked at, or a segment is full.
    #[inline(never)]
    fn admit_with_a_look<'a, P: Payload>(
        self: &'a Arc<Self>,
        mut producers: Guard<'a, Producers<Crew>>,
        class: Class,
        mut payload: P,
        stamp: bool,
    ) -> Result<bool, Refused<P>> {
        loop {
            if !producers.is_open_anyhow() {
                match self.plan(&mut producers, false) {
                    Plan::Push => {}
                    Plan::Refuse(refusal) => {
                        drop(producers);
                        let reason = self.reason_of(refusal);
                        return Err(Refused { payload, reason });
                    }
                    Plan::Start | Plan::Wait => {
                        drop(producers);
                        return self.admit_slowly(class, payload, stamp);
                    }
                }
            }
            match producers.push(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => break,
                Err(back) => payload = back,
            }
            drop(producers);
            self.room.bring();
            producers = self.room.producers();
        }
        drop(producers);
        Ok(self.idle.notify())
    }

    /// As [`Engine::admit`], also for a delayed task whose permit is one of the queue's, or a task of a view.
    pub(crate) fn admit_any<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if let Some(foreign) = &self.config.foreign {
            return self.hand_out(foreign, class, payload);
        }
        if class.is_apart() {
            self.admit_apart(class, payload)
        } else {
            self.admit(class, payload)
        }
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
            if class.is_local() && self.is_local_here() {
                continue;
            }
            let mut producers = self.room.producers();
            // What needs a look goes the usual way, in the next round.
            while !payloads.as_slice().is_empty() && producers.is_open_anyhow() {
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

    /// Looks at everything that decides about one more task. [`Plan::Push`] opens the room for as many as need no
    /// further look. `in_line`: this is the turn of whoever stands first in line.
    pub(super) fn plan(&self, producers: &mut Producers<Crew>, in_line: bool) -> Plan {
        producers.shut();
        if producers.is_closed() || self.is_adapter() {
            return Plan::Refuse(Refusal::Closed);
        }
        let held = producers.held(&self.room);
        let occupied = producers.occupied(&self.room);
        let capacity = producers.capacity();
        let is_paused = producers.is_paused();
        let crew = &producers.gate;
        if !in_line && !crew.line.is_empty() {
            return self.full(occupied, capacity);
        }
        let may_start = |size: usize| crew.workers() < size && !crew.backs_off(|| self.clock.tick());
        let waiting = held + producers.woken_waiting(&self.room);
        let is_short = crew.is_short(waiting, self.idle.read().idle());
        // Nobody takes anything from a paused queue: what counts is its places, and that somebody will be there.
        if is_paused && occupied >= capacity.limit() {
            return self.full(occupied, capacity);
        }
        if is_short && may_start(crew.wanted()) {
            return Plan::Start;
        }
        if crew.is_all_starting() {
            return Plan::Wait;
        }
        // While a worker is missing, or comes before the next place, the next task looks again.
        let is_settled = !in_line && crew.workers() >= crew.wanted();
        if !is_paused && (capacity == Capacity::Bounded(0) || crew.growth == Growth::ThreadsFirst) {
            let kept = producers.kept(&self.room) + self.timers.due.kept();
            let busy = kept.saturating_sub(self.ended_tasks());
            // One too many may leave without a look at what waits.
            let hands = crew.workers().min(crew.max()) as u64;
            if busy < hands {
                producers.open_for(if is_settled { hands - busy } else { 0 });
                return Plan::Push;
            }
            if may_start(crew.max()) {
                return Plan::Start;
            }
        }
        if let Some(root) = &self.root {
            return self.plan_with_place(root, producers);
        }
        let room = match capacity {
            Capacity::Unbounded => u64::MAX,
            // Without places only a hand that is free will do, and that was asked for above.
            Capacity::Bounded(0) => 0,
            Capacity::Bounded(places) if is_paused => (places as u64).saturating_sub(occupied),
            Capacity::Bounded(places) => (places as u64 + crew.fresh()).saturating_sub(occupied),
        };
        if room > 0 {
            let is_settled =
                is_settled && (crew.growth == Growth::QueueFirst || crew.workers() >= crew.max());
            producers.open_for(if is_settled { room } else { 0 });
            return Plan::Push;
        }
        if may_start(crew.max()) {
            return Plan::Start;
        }
        self.full(occupied, capacity)
    }

    pub(super) fn full(&self, occupied: u64, capacity: Capacity) -> Plan {
        Plan::Refuse(Refusal::Full {
            waiting: occupied as usize,
            capacity: capacity.limit() as usize,
        })
    }

    /// The long way in: a worker is missing.
    #[cold]
    pub(super) fn admit_slowly<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
        stamp: bool,
    ) -> Result<bool, Refused<P>> {
        loop {
            let plan = {
                let mut producers = self.room.producers();
                let plan = self.plan(&mut producers, false);
                self.reserve(&mut producers, plan);
                plan
            };
            match plan {
                Plan::Push => return self.publish(class, payload, stamp, Permit::of_plan()),
                Plan::Start => match self.start_for_permit() {
                    Ok(permit) => return self.publish(class, payload, stamp, permit),
                    Err(Some(reason)) => {
                        self.serve_line();
                        return Err(Refused { payload, reason });
                    }
                    Err(None) => {}
                },
                Plan::Wait => crate::sync::yield_now(),
                Plan::Refuse(refusal) => {
                    let reason = self.reason_of(refusal);
                    return Err(Refused { payload, reason });
                }
            }
        }
    }

    /// Holds what a plan promised: a permit, and perhaps a worker to be started at once.
    pub(super) fn reserve(&self, producers: &mut Producers<Crew>, plan: Plan) {
        if matches!(plan, Plan::Push | Plan::Start) {
            producers.reserve();
        }
        if matches!(plan, Plan::Start) {
            producers.gate.hire();
            let _ = self.run_state.hire();
        }
    }

    /// Starts the worker that was hired with a permit. `Err`: the permit is gone; with a reason if nobody is alive,
    /// otherwise look again.
    pub(super) fn start_for_permit(self: &Arc<Self>) -> Result<Permit, Option<Reason>> {
        if self.start_hired() {
            return Ok(Permit::of_plan());
        }
        // The permit may have stood for the place that the new worker would have made.
        let is_alone = self.give_back(|crew| crew.live() == 0);
        self.tell_waits();
        Err(is_alone.then_some(Reason::NoThread))
    }

    /// Gives a permit back unused.
    pub(super) fn give_back<R>(&self, then: impl FnOnce(&Crew) -> R) -> R {
        let (answer, is_put_off) = {
            let mut producers = self.room.producers();
            producers.unreserve();
            let is_put_off = !producers.has_reservations() && producers.gate.take_put_off();
            (then(&producers.gate), is_put_off)
        };
        if is_put_off {
            self.idle.wake_all();
        }
        self.try_terminate();
        answer
    }

    /// Writes a task for which a permit is held.
    pub(crate) fn publish<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        mut payload: P,
        stamp: bool,
        permit: Permit,
    ) -> Result<bool, Refused<P>> {
        let minds_lanes = permit.spend();
        if class.is_apart() {
            return self.publish_apart(class, payload, minds_lanes);
        }
        let is_put_off = loop {
            let mut producers = self.room.producers();
            if producers.is_closed() {
                drop(producers);
                self.give_back(|_| ());
                let reason = Reason::ShutDown;
                return Err(Refused { payload, reason });
            }
            match producers.push(&self.room, class, payload, stamp, &self.clock) {
                Ok(()) => {
                    producers.unreserve();
                    break !producers.has_reservations() && producers.gate.take_put_off();
                }
                Err(back) => payload = back,
            }
            drop(producers);
            self.room.bring();
        };
        if is_put_off {
            // Idle workers stayed because of this: their time runs again.
            self.idle.wake_all();
            return Ok(true);
        }
        Ok(self.idle.notify())
    }

    pub(super) fn reason_of(&self, refusal: Refusal) -> Reason {
        match refusal {
            Refusal::Closed if self.is_adapter() => self.no_threads(),
            Refusal::Closed => Reason::ShutDown,
            Refusal::Full { waiting, capacity } => Reason::Full {
                queued: waiting,
                capacity,
                threads: self.run_state.read().workers().saturating_sub(self.keepers()),
            },
        }
    }
}
