//! A view: the same threads under a rule; and its gate, which says how many of its tasks may be in the queue or running.
//!
//! In: tasks on their way to the queue, and tasks that have left. Out: a slot for each that may go on; the others stand in
//! the gate's line, first come first served. A view inside another is a chain of gates, and a task goes through it from
//! the innermost outwards; it holds the slots it has while it stands in a line further out. Views know no pool and no
//! queue: whoever moves tasks (`pool/views.rs`) asks them one gate at a time.
//!
//! **Whose slots.** A task's `PARKED` bit says whether it has all its slots. Whoever claims a task that has gives them
//! back, once, when all that concerns the task is done: the runner after the run, a canceller at once. A task that is
//! claimed while it stands in a line stays there, dead, and whoever takes it out gives back what it holds. So each slot
//! has one owner at every moment.
//!
//! Not here: whether a task may come at all ([`open`]), those in line that are looked at or taken out ([`waiting`]), what is counted
//! ([`counts`]), how a block holds its view ([`lent`]).

mod counts;
mod crowd;
mod gate;
mod lent;
mod line;
mod open;
mod waiting;

use super::block::Entry;
use super::home::HomeRef;
use crate::observe::Recorder;
use crate::sync::unmodelled::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Relaxed};
use crate::sync::{Arc, Lock};
use crate::time::Clock;
pub(crate) use crowd::Crowd;
use crowd::NO_PLACE;
use gate::Gate;
pub(super) use lent::Lent;
use line::Line;
pub(crate) use line::Parked;
pub(crate) use open::Barred;
use std::fmt;
use std::marker::PhantomPinned;
pub(crate) use waiting::InLine;

/// Of a line that nobody watches one arrival in this many is noted.
const NOTE_EVERY: usize = 16;

/// No limit.
pub(crate) const ANY_NUMBER: u32 = u32::MAX;

/// It can be closed or be full.
const MAY_REFUSE: u8 = 1;
/// It is listed.
const MEASURED: u8 = 2;

/// What a view is for; mostly for its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Named,
    Limit,
    Sequential,
    Keyed,
    Lane,
}

/// See the module's header.
#[repr(C)]
pub(crate) struct View {
    /// First: the link of a view's block leads here.
    home: HomeRef,
    pub(crate) parent: Option<Arc<View>>,
    /// Of those that are listed in the pool's statistics.
    pub(crate) shown: Option<Box<Shown>>,
    /// Tasks that began to run, and those among them whose body has ended, or is a future that is not being polled.
    taken: AtomicU64,
    ended: AtomicU64,
    /// Where it stands in the crowd; under that lock. Whether it does: under the gate's lock, too.
    pub(super) place: AtomicU32,
    limit: u32,
    /// How many may wait; only lanes have one.
    cap: u32,
    pub(crate) kind: Kind,
    /// What holds of it or of one that it is inside of: bits.
    nature: u8,
    /// Refuses tasks. Written under the gate's lock.
    is_closed: AtomicBool,
    /// Whether a task of it was ever delayed, and whether there ever was a view inside of it.
    pub(crate) had_delayed: AtomicBool,
    pub(crate) had_children: AtomicBool,
    /// Threads to be told when a slot becomes free. Written under the gate's lock; here, where there is room for it.
    watchers: AtomicU16,
    /// Tasks that were accepted and have not left. Written under the gate's lock.
    present: AtomicU32,
    gate: Lock<Gate>,
    /// Its place is written while it is dropped, by others: nothing may be concluded from having it alone.
    _pinned: PhantomPinned,
}

/// What a listed view has beside.
pub(crate) struct Shown {
    pub(crate) name: Arc<str>,
    pub(crate) wait: Recorder,
    submissions: AtomicU64,
    /// When the first came of those that have been coming since without a moment at which none waited.
    since: AtomicU64,
}

/// A task that comes to a gate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Coming {
    /// How many the pool had accepted before it.
    pub(crate) number: u64,
    /// It was accepted just now, and is to be counted; not one from a gate further in, or a future that was woken.
    pub(crate) is_new: bool,
}

/// Where a task got to at one gate.
pub(crate) enum Step {
    /// It has the slot.
    Passed(Entry),
    /// It stands in line.
    Parked,
}

/// Why a task gives its slots back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaving {
    Ran,
    Unrun,
    /// It is a future, and stays one of the view's.
    Suspended,
}

/// What is left to do after a task has left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use = "somebody waits for the slot, or to be told"]
pub(crate) enum Left {
    Nothing,
    /// Somebody watches.
    Tell,
    /// The slot is the caller's, and somebody is in line for it.
    Slot,
}

/// How a view is made.
pub(crate) struct Plan {
    pub(crate) kind: Kind,
    pub(crate) limit: u32,
    pub(crate) cap: u32,
    pub(crate) name: Option<Arc<str>>,
}

impl View {
    pub(crate) fn new(home: HomeRef, parent: Option<Arc<View>>, plan: Plan) -> Arc<Self> {
        if let Some(parent) = &parent {
            parent.had_children.store(true, Relaxed);
        }
        let own = u8::from(plan.kind == Kind::Lane) * MAY_REFUSE + u8::from(plan.name.is_some()) * MEASURED;
        let nature = own | parent.as_ref().map_or(0, |parent| parent.nature);
        Arc::new(View {
            home,
            parent,
            shown: plan.name.map(|name| {
                Box::new(Shown {
                    name,
                    wait: Recorder::new(),
                    submissions: AtomicU64::new(0),
                    since: AtomicU64::new(0),
                })
            }),
            taken: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            place: AtomicU32::new(NO_PLACE),
            limit: plan.limit,
            cap: plan.cap,
            kind: plan.kind,
            nature,
            is_closed: AtomicBool::new(false),
            had_delayed: AtomicBool::new(false),
            had_children: AtomicBool::new(false),
            watchers: AtomicU16::new(0),
            present: AtomicU32::new(0),
            gate: Lock::new(Gate {
                line: Line::default(),
                ran: 0,
                noted: 0,
                mark: 0,
                slots: 0,
                dead: 0,
            }),
            _pinned: PhantomPinned,
        })
    }

    /// This one, and those it is inside of, outwards.
    pub(crate) fn chain(self: &Arc<Self>) -> impl Iterator<Item = &Arc<View>> {
        std::iter::successors(Some(self), |view| view.parent.as_ref())
    }

    pub(crate) fn is_inside_of(self: &Arc<Self>, other: &View) -> bool {
        self.chain().any(|each| std::ptr::eq(&raw const **each, other))
    }

    /// Tells one view from another.
    pub(crate) fn identity(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    pub(crate) fn limit(&self) -> u32 {
        self.limit
    }

    /// Whether the waits of its tasks are measured.
    #[inline]
    pub(crate) fn is_measured(&self) -> bool {
        self.nature & MEASURED != 0
    }

    /// The home of its tasks, wherever they run.
    pub(crate) fn home(&self) -> &HomeRef {
        &self.home
    }

    /// A task of it was accepted.
    pub(crate) fn arrive(&self) {
        let _gate = self.gate.lock();
        self.comes(1);
    }

    /// Under the gate's lock.
    fn comes(&self, tasks: u32) {
        self.present.store(self.present.load(Relaxed) + tasks, Relaxed);
    }

    /// Under the gate's lock.
    fn goes(&self, tasks: u32) {
        self.present.store(self.present.load(Relaxed) - tasks, Relaxed);
    }

    /// A slot for a task that was accepted, or a place in line. A new one is counted first.
    pub(crate) fn pass(self: &Arc<Self>, entry: Entry, coming: Coming, crowd: &Crowd, clock: &Clock) -> Step {
        let mut gate = self.gate.lock();
        if coming.is_new {
            if let Some(shown) = &self.shown
                && gate.waiting(self) == 0
            {
                shown.since.store(clock.rough_tick(), Relaxed);
            }
            self.comes(1);
        }
        if gate.slots < self.limit && gate.line.is_empty() {
            gate.slots += 1;
            gate.hold(self, &entry);
            return Step::Passed(entry);
        }
        if gate.line.is_empty() {
            crowd.add(self);
        }
        if self.shown.is_some() || gate.line.len().is_multiple_of(NOTE_EVERY) {
            gate.noted = clock.tick();
        }
        let arrived = gate.noted;
        entry.header().state.park();
        gate.line.push(Parked {
            entry,
            arrived,
            number: coming.number,
        });
        Step::Parked
    }

    /// The first in line, which has the caller's slot now. `Err`: there is nobody, and the slot is free; or the first one is
    /// not wanted, and the slot is still to be given ([`Left::Slot`]).
    pub(crate) fn next(&self, is_wanted: impl FnOnce(&Entry) -> bool) -> Result<Parked, Left> {
        let mut gate = self.gate.lock();
        if gate.line.first().is_some_and(|first| !is_wanted(&first.entry)) {
            // The caller may have taken one before, which was dead and is let go of.
            gate.clear(self);
            return Err(Left::Slot);
        }
        let Some(parked) = gate.line.next() else {
            gate.slots -= 1;
            gate.clear(self);
            return Err(gate.tell(self));
        };
        if gate.line.is_empty() {
            gate.dead = 0;
        }
        gate.hold(self, &parked.entry);
        Ok(parked)
    }

    /// A task with its slots has left, or gives them away until it is woken.
    pub(crate) fn leave(&self, how: Leaving) -> Left {
        let mut gate = self.gate.lock();
        self.goes(u32::from(how != Leaving::Suspended));
        gate.ran += u64::from(how == Leaving::Ran);
        gate.clear(self);
        if !gate.line.is_empty() {
            return Left::Slot;
        }
        gate.slots -= 1;
        gate.tell(self)
    }

    /// A task without its slots has left, after a run inside its parent or without one.
    pub(crate) fn leave_without_slot(&self, ran: bool) -> Left {
        let mut gate = self.gate.lock();
        self.goes(1);
        gate.ran += u64::from(ran);
        gate.tell(self)
    }

    /// Somebody wants to be told when something leaves; or no more.
    pub(crate) fn watch(&self, on: bool) {
        let _gate = self.gate.lock();
        let watchers = self.watchers.load(Relaxed);
        let watchers = if on { watchers + 1 } else { watchers - 1 };
        self.watchers.store(watchers, Relaxed);
    }

    /// A slot for somebody who brings no entry, if one is free and nobody is in line.
    pub(crate) fn take_slot(&self) -> bool {
        let mut gate = self.gate.lock();
        let is_free = gate.slots < self.limit && gate.line.is_empty();
        if is_free {
            gate.slots += 1;
            self.comes(1);
        }
        is_free
    }
}

impl fmt::Debug for View {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.shown.as_ref().map(|shown| &shown.name);
        f.debug_struct("View")
            .field("kind", &self.kind)
            .field("name", &name)
            .finish_non_exhaustive()
    }
}
