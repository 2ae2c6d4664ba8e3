//! The place a task belongs to, as the task sees it.
//!
//! In: tasks that ended before a worker took them. Out: the counts put right, the permit free, the closing pool told.
//! The engine implements [`Home`]; a block points to the engine's [`HomeRef`]. Handles do not keep the engine alive:
//! a block's pointer is valid while the task is *unsettled* (waiting, running, or claimed by a canceller that has not
//! reported yet), because an engine keeps itself alive until it has terminated, and it terminates only when every
//! accepted task is settled. (A view's block points to the view's, which lives as long as the block.) Whoever wins a
//! claim may therefore follow the pointer once, and gets an owning reference to go on with. (Who has none may be a visitor,
//! see [`visit`](super::visit).)

#![allow(unsafe_code)]

use super::alarm::Alarm;
use super::block::{Entry, Header, Reference};
use super::state::Snapshot;
use super::view::View;
use super::{Class, Outcome, Priority, TaskInfo};
use crate::observe::Explanation;
use crate::sync::{Arc, Weak};
use crate::time::Tick;
use std::any::Any;
use std::ptr::NonNull;
use std::time::Duration;

/// How a task left without being taken by a worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Removal {
    Cancelled,
    /// `stop` or `drain` took it out.
    Returned,
    /// Thrown out for another.
    Evicted,
    /// It waited longer than it was meant to.
    Expired,
    /// Somebody who waits for it runs it in place.
    Joined,
    /// It has another record in the same queue: it waits on, there.
    Moved,
}

/// What is left to do about a removed task.
#[derive(Debug)]
pub(crate) struct Removed {
    /// The task's own share, if it was in the timer store; otherwise that stays with its record.
    pub(crate) share: Option<Entry>,
    /// Whether the home wants to hear when its waiters have been told: a hook, or a pool that may end.
    pub(crate) is_awaited: bool,
}

impl Removed {
    pub(crate) const FROM_QUEUE: Removed = Removed {
        share: None,
        is_awaited: true,
    };
}

/// A task that was cancelled by a visitor.
#[derive(Debug)]
pub(crate) struct Forgotten {
    /// The task's own.
    pub(crate) share: Entry,
    /// What [`State::cancel_delayed`](super::state::State::cancel_delayed) said.
    pub(crate) after: Snapshot,
}

/// Where a waiting task is moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Destination {
    Level(Priority),
    Front,
}

/// What a task asks of the engine behind it.
pub(crate) trait Home: Any + Send + Sync {
    /// A claimed task will never be taken by a worker: counts it and gives its permit back. Before the waiters are
    /// told, so that whoever was told finds it counted.
    fn remove(&self, task: NonNull<Header>, class: Class, how: Removal) -> Removed;
    /// Claims a delayed task that is no view's and takes it out, for a visitor: only where nothing is left to do for the home once
    /// it has been counted. `None`: something is, or it is not there any more; nothing was done.
    fn forget(&self, task: NonNull<Header>) -> Option<Forgotten>;
    /// Whether an after hook wants to hear of each task: describing one costs an allocation.
    fn is_told_of_ends(&self) -> bool;
    /// The waiters of a removed task have been told: the after hook is next.
    fn tell_removed(&self, task: &TaskInfo<'_>, outcome: Outcome<'_>);
    /// All that concerns a removed task is done: a closing pool may end. One that was still delayed was no part of what
    /// is waited for when somebody waits for quiet.
    fn removed(&self, was_delayed: bool);
    /// A task that could have expired is being run: it cannot any more.
    fn forget_expiry(&self, task: &Header);
    /// A waiting task goes to the end of this priority's level, or before everything else that waits. False: it does not
    /// wait in a queue, or the queue has no levels.
    fn relocate(&self, task: &Arc<Reference>, to: Destination) -> bool;
    /// A running task is to be looked at then.
    fn look_at(&self, when: Tick);
    /// Whether running tasks have been told to stop.
    fn is_stopping(&self) -> bool;
    /// All that concerns the run of a view's task is done: its slots, if it had them, go on.
    fn leave_view(&self, view: &Arc<View>, had_slots: bool);
    /// A poll of a view's future is over, and the future is not: its slots go on, it stays one of the view's.
    fn pause_in_view(&self, view: &Arc<View>);
    /// A future that rested was woken: its entry goes to the queue.
    fn woken(&self, entry: Entry);
    /// As [`Home::woken`], of the worker that has just polled it.
    fn still_woken(&self, entry: Entry);
    /// A future sleeps: the alarm is to be rung at its time.
    fn set_alarm(&self, alarm: &Arc<Alarm>);
    /// It need not be rung any more.
    fn clear_alarm(&self, alarm: &Arc<Alarm>);
    /// A future may rest from now on, and must be found. False: running tasks have been told to stop.
    fn list(&self, task: NonNull<Header>) -> bool;
    /// It is about to end.
    fn unlist(&self, task: NonNull<Header>);
    /// Why a task that has not ended waits; `remaining`: how long until its time.
    fn explain(&self, task: &Header, remaining: Option<Duration>, with_names: bool) -> Explanation;
    /// A view of this home goes.
    fn forget_view(&self, view: &View);
    /// What a view of this home is called.
    fn view_name(&self, view: &Arc<View>) -> Arc<str>;
}

/// A thin pointer's target: lives inside the engine, and can become an owning reference to it.
#[derive(Clone)]
pub(crate) struct HomeRef(Weak<dyn Home>);

impl std::fmt::Debug for HomeRef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HomeRef")
    }
}

impl HomeRef {
    pub(crate) fn new(home: Weak<dyn Home>) -> Self {
        HomeRef(home)
    }

    /// # Safety
    /// `home` points to the `HomeRef` of an engine of which the caller holds an unsettled task (see the module).
    pub(crate) unsafe fn own(home: *const HomeRef) -> Arc<dyn Home> {
        // SAFETY: an unsettled task keeps its engine's memory, by contract.
        let home = unsafe { &*home };
        home.upgrade()
            .expect("an engine with an unsettled task was freed")
    }

    /// The engine itself, whether it is still there or not.
    #[inline]
    #[cfg_attr(any(loom, shuttle), allow(dead_code))]
    pub(super) fn as_ptr(&self) -> *const dyn Home {
        self.0.as_ptr()
    }

    /// Whether both lead to the same engine.
    pub(crate) fn is_same(&self, other: &HomeRef) -> bool {
        self.identity() == other.identity()
    }

    /// The engine's number, whether it is still there or not: its address.
    pub(crate) fn identity(&self) -> usize {
        self.0.as_ptr().addr()
    }

    pub(crate) fn upgrade(&self) -> Option<Arc<dyn Home>> {
        self.0.upgrade()
    }
}
