//! Running one task: the same way for every kind, once.
//!
//! In: a slot with a claimed record. Out: the body has ended, is counted, and its waiters know. Order, for a task
//! with a handle: before hook, body, count, outcome published, waiters woken, after hook, share given up. Two things
//! bend it. A panic's payload is shown to the after hook *before* it is published, because after that it is the
//! handle's. And without hooks, outcome and share go in one step. A panic goes no further than its task: the worker
//! lives, and if nobody reads the failure the pool's sink is told, once.

#![allow(unsafe_code)]

use super::block::{Entry, Header};
use super::current::Frame;
use super::hooks::Hooks;
use super::record::Slot;
use super::state::{End, Resolved};
use super::{Outcome, discard};
use crate::observe::counters::Counters;
use crate::sync::Arc;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What running needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub(crate) frame: &'a Frame<'a>,
    pub(crate) hooks: &'a Arc<Hooks>,
    pub(crate) counters: &'a Counters,
    /// Whether the hooks want to hear of each task.
    pub(crate) watched: bool,
}

impl Runner<'_> {
    /// Runs the claimed task in the slot and leaves the slot empty.
    #[inline]
    pub(crate) fn run(&self, slot: &mut Slot) {
        match slot.take_entry() {
            Some(entry) => self.run_entry(entry),
            None => self.run_closure(slot),
        }
    }

    #[inline]
    fn run_closure(&self, slot: &mut Slot) {
        self.frame.begin_closure(slot.type_name());
        if self.watched {
            self.hooks.before(&self.frame.info());
        }
        let ended = catch_unwind(AssertUnwindSafe(|| slot.run()));
        if let Err(payload) = ended {
            self.closure_panicked(payload);
        } else {
            self.counters.finish();
            if self.watched {
                self.hooks.after(&self.frame.info(), Outcome::Finished);
            }
        }
        self.frame.end();
    }

    #[cold]
    fn closure_panicked(&self, payload: Box<dyn std::any::Any + Send>) {
        self.counters.panic();
        let info = self.frame.info();
        if self.watched {
            self.hooks.after(&info, Outcome::Panicked(&*payload));
        }
        // Nobody holds a handle, so nobody will ever read it.
        self.hooks.failure(&info, Outcome::Panicked(&*payload));
        discard(payload);
    }

    #[inline]
    fn run_entry(&self, entry: Entry) {
        self.frame.begin_block(entry.pointer());
        if self.watched {
            self.hooks.before(&entry.header().info());
        }
        // SAFETY: the slot's task was claimed by the queue for this worker, and this is its one run.
        let end = unsafe { entry.run() };
        match end {
            End::Panicked => self.block_panicked(entry),
            _ => self.block_finished(entry),
        }
        self.frame.end();
    }

    #[inline]
    fn block_finished(&self, entry: Entry) {
        let block = entry.pointer();
        if entry.header().state.load().is_signalled() {
            self.counters.signal();
            return self.block_signalled(entry, End::Finished);
        }
        self.counters.finish();
        match entry.header().state.resolve(End::Finished, !self.watched) {
            Resolved::Fixed(after) => {
                // SAFETY: with a waker the share was kept, see `State::resolve`.
                unsafe { Header::wake_waiters(block, after) };
                if after.is_task_gone() {
                    // SAFETY: the reading is that of the step in which the task left.
                    unsafe { entry.left(after) };
                    return;
                }
                if self.watched {
                    self.hooks.after(&entry.header().info(), Outcome::Finished);
                }
                entry.let_go();
            }
            Resolved::BeforeUs => {
                // Signalled between the look and the step.
                self.counters.finish_was_signal();
                self.block_signalled(entry, End::Finished);
            }
        }
    }

    #[cold]
    fn block_panicked(&self, entry: Entry) {
        let header = entry.header();
        if header.state.mark_ended().is_signalled() {
            self.counters.signal();
            return self.block_signalled(entry, End::Panicked);
        }
        self.counters.panic();
        if self.watched {
            // SAFETY: not resolved yet, and a canceller comes too late from here on: the payload is ours (rule 3).
            let payload = unsafe { Header::peek_panic(entry.pointer()) };
            self.hooks.after(&header.info(), Outcome::Panicked(payload));
        }
        if self.hooks.failure.is_some() {
            header.side_or_make().more.lock().unread = Some(self.hooks.clone());
        }
        match header.state.resolve(End::Panicked, false) {
            Resolved::Fixed(after) => {
                // SAFETY: the share is still held.
                unsafe { Header::wake_waiters(entry.pointer(), after) };
                if after.is_handle_gone() {
                    // SAFETY: the handle let go before the outcome was fixed, so the payload stays with the task's
                    // side until that lets go too (rule 3).
                    let payload = unsafe { Header::peek_panic(entry.pointer()) };
                    self.hooks.failure(&header.info(), Outcome::Panicked(payload));
                }
            }
            Resolved::BeforeUs => unreachable!("cancellers come too late once the body has ended"),
        }
        entry.let_go();
    }

    /// Cancelled while it ran: the waiters have been told, the result goes nowhere.
    #[cold]
    fn block_signalled(&self, entry: Entry, end: End) {
        // SAFETY: a canceller resolved first (rule 3).
        unsafe { entry.drop_result(end) };
        if self.watched {
            self.hooks.after(&entry.header().info(), Outcome::Cancelled);
        }
        entry.let_go();
    }
}
