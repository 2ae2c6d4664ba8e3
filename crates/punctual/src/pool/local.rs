//! The way into a worker's own deque: what a task submits to its own pool.
//!
//! In: a payload, from inside a task of a pool whose workers have deques. Out: accepted into the deque, and somebody woken
//! or not; or by the shared queue; or the payload back with the reason.
//!
//! Without a bound, and with all workers there, a push takes no lock: the way in is *open* (a word that is written under the
//! producers' lock). Its race is with whoever shuts it: a close, a stop, a worker that leaves. The push comes before a second
//! look at the word, and the shutting before the look at the deques, in one order: either the submitter sees the way shut,
//! takes its task back and asks under the lock, or the other sees the task. With a bound each push is a section under the
//! producers' lock, where places are counted.

#![allow(unsafe_code)]

use super::admit::{Plan, Refused};
use super::engine::Engine;
use crate::Reason;
use crate::queue::deque::{Local, on_own_deque};
use crate::queue::locals::Locals;
use crate::sync::Arc;
use crate::task::Class;
use crate::task::record::Payload;

impl Engine {
    /// As [`Engine::admit`], on a worker that has a deque; `Err`: the caller is none of this pool's.
    #[inline]
    pub(super) fn admit_locally<P: Payload>(
        self: &Arc<Self>,
        class: Class,
        payload: P,
    ) -> Result<Result<bool, Refused<P>>, P> {
        on_own_deque(|local| match local.filter(|local| local.is_of(self.identity())) {
            Some(local) => Ok(self.admit_to_deque(local, class, payload)),
            None => Err(payload),
        })
    }

    #[inline]
    fn admit_to_deque<P: Payload>(
        self: &Arc<Self>,
        local: &Local,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        if !local.way_in().is_open() || class.is_levelled() {
            return self.admit_locally_with_a_look(local, class, payload);
        }
        local.push(class, payload, || self.clock.tick());
        if !local.way_in().is_still_open() {
            return self.pushed_through_a_shut_door(local);
        }
        Ok(self.idle.notify())
    }

    #[cold]
    #[inline(never)]
    fn admit_to_shared<P: Payload>(self: &Arc<Self>, class: Class, payload: P) -> Result<bool, Refused<P>> {
        if class.is_levelled() {
            self.admit_to_level(class, payload)
        } else {
            self.admit_to_log(class, payload)
        }
    }

    /// Whether what the caller submits would go to a deque.
    #[inline]
    pub(super) fn is_local_here(&self) -> bool {
        on_own_deque(|local| local.is_some_and(|local| local.is_of(self.identity())))
    }

    /// Something has changed while a task was put into the deque.
    #[cold]
    #[inline(never)]
    fn pushed_through_a_shut_door<P: Payload>(self: &Arc<Self>, local: &Local) -> Result<bool, Refused<P>> {
        let is_closed = self.room.producers().is_closed();
        if is_closed {
            // SAFETY: it was the last push, and of this type.
            if let Some(payload) = unsafe { local.take_back::<P>() } {
                let reason = Reason::ShutDown;
                return Err(Refused { payload, reason });
            }
            // Whoever has it took it as one that was there before the close.
            return Ok(false);
        }
        // Perhaps a worker has left that this one counted on.
        self.staff_up(false);
        Ok(self.idle.notify())
    }

    /// As [`Engine::admit_with_a_look`], into the deque where no worker must be started first.
    #[cold]
    #[inline(never)]
    fn admit_locally_with_a_look<P: Payload>(
        self: &Arc<Self>,
        local: &Local,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        // Only the usual level's tasks go to deques.
        let level = self.room.locals().map(Locals::level);
        if level != Some(self.room.level_of(class)) {
            return self.admit_to_shared(class, payload);
        }
        // Nothing is allocated under the lock.
        local.make_room();
        let mut producers = self.room.producers();
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
                    return self.admit_slowly(class, payload, true);
                }
            }
        }
        producers.take_place();
        local.push(class, payload, || self.clock.tick());
        drop(producers);
        Ok(self.idle.notify())
    }
}
