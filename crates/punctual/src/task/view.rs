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

#![allow(unsafe_code)]

mod crowd;
mod gate;
mod line;

use super::block::{Entry, Header, Reference};
use super::home::HomeRef;
use crate::observe::Recorder;
use crate::sync::unmodelled::{Acquire, AtomicBool, AtomicU16, AtomicU32, AtomicU64, Relaxed, Release};
use crate::sync::{Arc, Lock, Weak, prefetch_to_write};
use crate::time::{Clock, Tick};
pub(crate) use crowd::Crowd;
use crowd::NO_PLACE;
use gate::Gate;
use line::Line;
pub(crate) use line::Parked;
use std::fmt;
use std::marker::{PhantomData, PhantomPinned};
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

/// Dead entries in a line may be this many more than live ones before they are swept out.
const DEAD_SLACK: usize = 1024;

/// Of a line that nobody watches one arrival in this many is noted.
const NOTE_EVERY: usize = 16;

/// So much of a line is looked through for one task.
const LOOKED_THROUGH: usize = 1024;

/// No limit.
pub(crate) const ANY_NUMBER: u32 = u32::MAX;

/// It can be closed or be full.
const MAY_REFUSE: u8 = 1;
/// It is listed.
const MEASURED: u8 = 2;

/// Before a view in memory: the counts of its shares.
const COUNTS: usize = 2 * size_of::<usize>();
/// Of memory, what processors pass to each other.
const LINE: usize = 64;

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

/// Why a view lets no task in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barred {
    Closed,
    Full { waiting: usize, cap: usize },
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

/// A reading of a view.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reading {
    pub(crate) queued: usize,
    pub(crate) active: usize,
    pub(crate) taken: u64,
    /// When the first in line arrived, at the latest.
    pub(crate) oldest: Option<Tick>,
    /// Whether some of the queued have their slots.
    pub(crate) is_in_queue: bool,
    /// Of a listed view: none of those that wait came before.
    pub(crate) since: Option<Tick>,
}

/// Where a task stands in a view's line.
pub(crate) enum InLine {
    /// So many are before it, dead ones included.
    At(usize),
    Absent,
    /// Not among the first thousand, and there are more.
    Beyond,
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

    /// Whether one more task may come, here and further out. Exact where closing and acceptance are under one lock. Without
    /// the gate's, mostly: those that wait are among those that are here.
    #[inline]
    pub(crate) fn admits(self: &Arc<Self>) -> Result<(), Barred> {
        if self.nature & MAY_REFUSE == 0 {
            return Ok(());
        }
        self.admits_one_more()
    }

    fn admits_one_more(self: &Arc<Self>) -> Result<(), Barred> {
        let may_refuse = |view: &View| view.nature & MAY_REFUSE != 0;
        for view in self.chain().take_while(|view| may_refuse(view)) {
            if view.is_closed.load(Acquire) {
                return Err(Barred::Closed);
            }
            if view.present.load(Relaxed) < view.cap {
                continue;
            }
            let waiting = view.gate.lock().waiting(view);
            if view.cap != ANY_NUMBER && waiting >= view.cap as usize {
                let cap = view.cap as usize;
                // For good, if one further out is closed.
                let full = Barred::Full { waiting, cap };
                return Err(if self.is_closed() { Barred::Closed } else { full });
            }
        }
        Ok(())
    }

    /// Whether it refuses tasks for good, or one that it is inside of does.
    pub(crate) fn is_closed(self: &Arc<Self>) -> bool {
        self.chain().any(|view| view.is_closed.load(Acquire))
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

    /// A task that stands in a line, here or elsewhere in its chain, was claimed; it stays there. True: the dead are too
    /// many.
    pub(crate) fn lose(&self) -> bool {
        let mut gate = self.gate.lock();
        if gate.line.is_empty() {
            return false;
        }
        gate.dead += 1;
        let live = gate.line.len().saturating_sub(gate.dead as usize);
        gate.dead as usize > live + DEAD_SLACK
    }

    /// A task without its slots has left, after a run inside its parent or without one.
    pub(crate) fn leave_without_slot(&self, ran: bool) -> Left {
        let mut gate = self.gate.lock();
        self.goes(1);
        gate.ran += u64::from(ran);
        gate.tell(self)
    }

    /// Takes the dead out of the line.
    pub(crate) fn sweep(&self) -> Vec<Parked> {
        self.take_from_line(Entry::is_dead_in_line)
    }

    /// Takes everybody out of the line.
    pub(crate) fn clear_line(&self) -> Vec<Parked> {
        self.take_from_line(|_| true)
    }

    fn take_from_line(&self, is_wanted: impl Fn(&Entry) -> bool) -> Vec<Parked> {
        let mut gate = self.gate.lock();
        gate.dead = 0;
        gate.line.take_all(|parked| is_wanted(&parked.entry))
    }

    /// Whether somebody is in line. A view that has nobody leaves the crowd.
    pub(super) fn has_line(&self, crowd: &Crowd) -> bool {
        let gate = self.gate.lock();
        if gate.line.is_empty() {
            crowd.remove(self);
        }
        !gate.line.is_empty()
    }

    /// The least urgent task of the line, by what `level` says of those that may go, and when it arrived, at the latest: of
    /// equal ones the first. Among as many as are looked through.
    pub(crate) fn least_urgent(&self, level: impl Fn(&Header) -> Option<usize>) -> Option<(usize, Tick)> {
        let gate = self.gate.lock();
        let mut least = None;
        for parked in gate.line.iter().take(LOOKED_THROUGH) {
            let header = parked.entry.header();
            let level = level(header).filter(|_| !header.state.load().is_claimed());
            if let Some(level) = level
                && least.is_none_or(|(least, _)| level > least)
            {
                least = Some((level, parked.arrived));
            }
        }
        least
    }

    /// Takes the first in line out that can be claimed.
    pub(crate) fn take_first(&self, claim: impl Fn(&Header) -> bool) -> Option<Entry> {
        let mut gate = self.gate.lock();
        let parked = gate.line.take_first(|parked| claim(parked.entry.header()))?;
        if gate.line.is_empty() {
            gate.dead = 0;
        }
        Some(parked.entry)
    }

    /// A task begins to run.
    pub(crate) fn begin(&self) {
        if self.limit == 1 {
            // Whoever has the one slot writes alone, and the gate's lock comes between it and the next.
            self.taken.store(self.taken.load(Relaxed) + 1, Relaxed);
        } else {
            self.taken.fetch_add(1, Relaxed);
        }
    }

    /// A poll of a future is over, and the future is not.
    pub(crate) fn suspend(&self) {
        self.count_ended(true);
    }

    /// It is polled again.
    pub(crate) fn resume(&self) {
        if self.limit == 1 {
            self.ended.store(self.ended.load(Relaxed) - 1, Relaxed);
        } else {
            self.ended.fetch_sub(1, Relaxed);
        }
    }

    /// The body of a task has ended. One that has a lane's slot can no longer be reached through the lane.
    pub(crate) fn end_of_body(&self, has_slots: bool) {
        self.count_ended(has_slots);
    }

    fn count_ended(&self, has_slots: bool) {
        if has_slots && self.kind == Kind::Lane {
            self.gate.lock().mark = 0;
        }
        // Release: whoever sees it counted sees that it was taken.
        if self.limit == 1 {
            self.ended.store(self.ended.load(Relaxed) + 1, Release);
        } else {
            self.ended.fetch_add(1, Release);
        }
    }

    /// Refuses tasks from now on. Gives, while its lock is held, the task that has the slot to `reach`.
    pub(crate) fn close<R>(&self, reach: impl FnOnce(NonNull<Header>) -> R) -> Option<R> {
        let gate = self.gate.lock();
        self.is_closed.store(true, Release);
        let address = gate.mark as usize;
        let holder = NonNull::new(std::ptr::with_exposed_provenance_mut(address));
        holder.filter(|_| self.kind == Kind::Lane).map(reach)
    }

    /// Somebody wants to be told when something leaves; or no more.
    pub(crate) fn watch(&self, on: bool) {
        let _gate = self.gate.lock();
        let watchers = self.watchers.load(Relaxed);
        let watchers = if on { watchers + 1 } else { watchers - 1 };
        self.watchers.store(watchers, Relaxed);
    }

    /// Tasks that were accepted and have not left.
    pub(crate) fn present(&self) -> usize {
        self.present.load(Relaxed) as usize
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

    pub(crate) fn read(&self) -> Reading {
        let gate = self.gate.lock();
        let queued = gate.waiting(self);
        let ended = self.ended.load(Acquire);
        let taken = self.taken.load(Relaxed);
        Reading {
            queued,
            active: taken.saturating_sub(ended) as usize,
            taken,
            oldest: gate.line.first().map(|first| first.arrived),
            is_in_queue: queued > gate.line.len().saturating_sub(gate.dead as usize),
            since: self.shown.as_ref().map(|shown| shown.since.load(Relaxed)),
        }
    }

    /// When the first in line arrived, at the latest, and what `f` says of it.
    pub(crate) fn first_in_line<R>(&self, f: impl FnOnce(&Header) -> R) -> Option<(Tick, R)> {
        let gate = self.gate.lock();
        let first = gate.line.first()?;
        Some((first.arrived, f(first.entry.header())))
    }

    /// Where in the line a task stands.
    pub(crate) fn find_in_line(&self, task: &Header) -> InLine {
        let gate = self.gate.lock();
        let is_it = |parked: &Parked| std::ptr::eq(parked.entry.header(), task);
        match gate.line.iter().take(LOOKED_THROUGH).position(is_it) {
            Some(ahead) => InLine::At(ahead),
            None if gate.line.len() <= LOOKED_THROUGH => InLine::Absent,
            None => InLine::Beyond,
        }
    }

    /// Whether a task of it was ever delayed, or came from a view inside of it.
    pub(crate) fn is_mixed(&self) -> bool {
        self.had_delayed.load(Relaxed) || self.had_children.load(Relaxed)
    }

    /// The first tasks of the line that wait still.
    pub(crate) fn list_line(&self, most: usize) -> Vec<Arc<Reference>> {
        let gate = self.gate.lock();
        let looked = gate.line.iter().take(LOOKED_THROUGH);
        let waiting = looked.filter(|parked| !parked.entry.is_dead_in_line() && !parked.entry.is_begun());
        waiting
            .filter_map(|parked| parked.entry.refer())
            .take(most)
            .collect()
    }

    /// Whether the wait of the task that is being made is measured, and for how many it speaks.
    pub(crate) fn sample(&self) -> Option<u64> {
        let number = self.shown.as_ref()?.submissions.fetch_add(1, Relaxed);
        let is_sampled = number.is_power_of_two() || number == 0 || number.is_multiple_of(SAMPLE_EVERY);
        // Each speaks for those up to the next.
        is_sampled.then_some(number.clamp(1, SAMPLE_EVERY))
    }

    /// A share becomes a block's: see [`Header::view`].
    pub(crate) fn lend(view: Arc<View>) -> *const HomeRef {
        Arc::into_raw(view).cast()
    }

    /// What a block's share leads to. The share itself is to follow: [`View::share`].
    pub(crate) fn address(view: &Arc<View>) -> *const HomeRef {
        Arc::as_ptr(view).cast()
    }

    /// The share of a block that has the address.
    pub(crate) fn share(view: &Arc<View>) {
        let _: *const HomeRef = View::lend(view.clone());
    }

    /// Asks for the memory that a submission writes.
    #[inline]
    pub(crate) fn prefetch(view: &Arc<View>) {
        let counts = Arc::as_ptr(view).cast::<u8>().wrapping_sub(COUNTS);
        prefetch_to_write(counts);
        prefetch_to_write(counts.wrapping_add(LINE));
        prefetch_to_write(counts.wrapping_add(2 * LINE));
    }

    /// Another place for a member of the crowd. Under the crowd's lock.
    fn set_place(member: &Weak<View>, place: u32) {
        // SAFETY: a view that goes leaves the crowd first, under the lock that the caller holds, so it is there, if only to wait for
        // that lock; and the place is an atomic, which nothing drops.
        let seat = unsafe { &(*member.as_ptr()).place };
        seat.store(place, Relaxed);
    }

    /// # Safety
    /// `home` came from [`View::lend`], and this is its one return.
    pub(super) unsafe fn give_back(home: *const HomeRef) {
        // SAFETY: the caller's promise; the home is the view's first field.
        drop(unsafe { Arc::from_raw(home.cast::<View>()) });
    }
}

impl Drop for View {
    fn drop(&mut self) {
        if self.place.load(Relaxed) != NO_PLACE
            && let Some(home) = self.home.upgrade()
        {
            home.forget_view(self);
        }
    }
}

/// One wait in this many is measured, once a view has had a few tasks.
const SAMPLE_EVERY: u64 = 64;

/// The view of a task, for as long as the task's block is there.
pub(crate) struct Lent<'a>(ManuallyDrop<Arc<View>>, PhantomData<&'a Header>);

impl Lent<'_> {
    /// # Safety
    /// `home` came from [`View::lend`] and is not given back while this lives.
    pub(super) unsafe fn of(home: *const HomeRef) -> Self {
        // SAFETY: the caller's promise; the share stays the block's.
        let view = unsafe { Arc::from_raw(home.cast::<View>()) };
        Lent(ManuallyDrop::new(view), PhantomData)
    }
}

impl Deref for Lent<'_> {
    type Target = Arc<View>;
    fn deref(&self) -> &Arc<View> {
        &self.0
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
