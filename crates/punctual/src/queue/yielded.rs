//! Futures that were woken during their own poll: each worker keeps those that it polled.
//!
//! In: a future that is to be polled again, from the worker that has just polled it. Out: the same, once everything that lay in the
//! log when it came here has been taken: as if it had gone to the end of the log, without the locks that all workers and
//! submitters share. Only in rooms without levels and without deques, and for futures outside of views: the others have an end
//! of their own to go to.
//!
//! **Whose they are.** A line is its worker's: it puts in, and takes out between two tasks. Nobody is called for what is put in,
//! since the worker looks there next. Before it does something else it gives the line away, or says that it is there:
//! - who takes another task while its line holds some *offers* them: sets the flag, then looks whether somebody sleeps. Who lies
//!   down looks at the flag after that. In one order, so one of the two sees the other (step 5 of the essay on sleep).
//! - whoever has run dry takes half of another's line ([`Yields::steal`]), offered or not: two futures that yield to each other on one
//!   worker would keep the others idle for ever. It takes the flag down, which stands for all lines, so it looks at all of them:
//!   what it leaves it offers again, and calls somebody for.
//! - who waits inside a task, or is about to lie down or to leave, puts its line into the log ([`OwnYields::take_all`]). Before it
//!   decides to leave: the others of a closed pool go home when nothing waits and nothing is suspended.
//!
//! So what lies here belongs to a worker that is awake, or somebody is on the way to it.
//!
//! **What is counted.** Nothing: such a future counts as taken and not ended, as while it is polled. Readings subtract how many lie
//! here ([`Yields::read`]), and hold all lines meanwhile: what has ended is read later than what lay in a line, or earlier,
//! and either way one worker would seem to be at two futures, or one that has ended to lie there.

#[cfg(all(test, loom))]
pub(crate) mod models;

use super::deque::in_one_order;
use super::producers::Gate;
use super::room::Room;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use crate::sync::atomic::{AtomicBool, AtomicUsize};
use crate::sync::{Arc, Lock, Padded};
use crate::task::block::Entry;
use crate::task::record::{Arrival, Slot, Woken};
use crate::time::{MEASURES, Tick};
use std::collections::VecDeque;
use std::fmt;

/// The time is noted of every so many; one stands for those up to the next.
const SAMPLE_EVERY: u64 = 64;

/// A line that was longer gives its memory back when it is empty.
const KEPT: usize = 1024;

/// All lines of a room.
pub(crate) struct Yields {
    /// Of workers that have ever put something in.
    lines: Lock<Vec<Arc<OwnYields>>>,
    /// How many these are.
    count: AtomicUsize,
    /// Somebody does something else beside a line that holds some.
    offered: AtomicBool,
}

/// One worker's line.
pub(crate) struct OwnYields {
    line: Padded<Lock<Line>>,
    /// Mirror of the line's length, for those who look without the lock.
    len: AtomicUsize,
    is_listed: AtomicBool,
}

#[derive(Default)]
struct Line {
    waiting: VecDeque<Yielded>,
    /// How many were ever put in.
    put: u64,
    /// Its turn had come, and a task that was handed on went first.
    has_let_pass: bool,
}

struct Yielded {
    entry: Entry,
    /// It is taken after so many records of the log.
    after: u64,
    /// When it came here, if that was noted.
    arrived: Option<Tick>,
}

impl OwnYields {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(OwnYields {
            line: Padded(Lock::new(Line::default())),
            len: AtomicUsize::new(0),
            is_listed: AtomicBool::new(false),
        })
    }

    /// Whether something is here; exact for the worker whose line it is, unless a thief has been there.
    #[inline(always)]
    pub(crate) fn has_some(&self) -> bool {
        self.len.load(Relaxed) != 0
    }

    /// Puts one in, after the first `after` records of the log. `now` is asked for every so many.
    #[inline]
    fn put(&self, entry: Entry, after: u64, now: impl FnOnce() -> Tick) {
        let mut line = self.line.lock();
        let arrived = (MEASURES && line.put.is_multiple_of(SAMPLE_EVERY)).then(now);
        line.put += 1;
        line.waiting.push_back(Yielded {
            entry,
            after,
            arrived,
        });
        self.len.store(line.waiting.len(), Release);
    }

    /// Takes the oldest, if `may_take` says so when it is told after how many records that is to be.
    #[inline]
    fn take(&self, slot: &mut Slot, may_take: impl FnOnce(&mut Line, u64) -> bool) -> bool {
        let mut line = self.line.lock();
        let Some(after) = line.waiting.front().map(|first| first.after) else {
            return false;
        };
        if !may_take(&mut line, after) {
            return false;
        }
        let Some(first) = line.waiting.pop_front() else {
            return false;
        };
        self.len.store(line.waiting.len(), Release);
        drop(line);
        first.fill(slot);
        true
    }

    /// Takes all, in order.
    fn take_all(&self) -> VecDeque<Yielded> {
        let mut line = self.line.lock();
        let all = std::mem::take(&mut line.waiting);
        self.len.store(0, Release);
        all
    }

    /// Takes the older half, rounded up.
    fn take_half(&self) -> VecDeque<Yielded> {
        let mut line = self.line.lock();
        let half = line.waiting.len().div_ceil(2);
        let newer = line.waiting.split_off(half);
        let older = std::mem::replace(&mut line.waiting, newer);
        self.len.store(line.waiting.len(), Release);
        older
    }

    /// Whether something is here, in one order with what is put in: who looked and found nothing is known to whoever comes then.
    fn surely_has_some(&self) -> bool {
        !self.line.lock().waiting.is_empty()
    }

    fn append(&self, more: &mut VecDeque<Yielded>) {
        let mut line = self.line.lock();
        line.waiting.append(more);
        self.len.store(line.waiting.len(), Release);
    }

    /// After a crowd its memory goes back. By its worker, when it has nothing to do.
    pub(crate) fn shrink(&self) {
        let mut line = self.line.lock();
        if line.waiting.capacity() > KEPT {
            line.waiting.shrink_to_fit();
        }
    }
}

impl Yielded {
    fn fill(self, slot: &mut Slot) {
        let class = self.entry.header().class;
        slot.hold(class, Woken(self.entry));
        let weight = SAMPLE_EVERY;
        slot.arrival = self.arrived.map(|tick| Arrival { tick, weight });
    }
}

impl Yields {
    pub(super) fn new() -> Self {
        Yields {
            lines: Lock::new(Vec::new()),
            count: AtomicUsize::new(0),
            offered: AtomicBool::new(false),
        }
    }

    /// The first time that a worker puts something in: others find its line from now on.
    #[inline]
    fn list(&self, own: &Arc<OwnYields>) {
        if !own.is_listed.load(Relaxed) {
            self.list_first(own);
        }
    }

    #[cold]
    fn list_first(&self, own: &Arc<OwnYields>) {
        self.add(&mut self.lines.lock(), own);
    }

    fn add(&self, lines: &mut Vec<Arc<OwnYields>>, own: &Arc<OwnYields>) {
        if !own.is_listed.load(Relaxed) {
            lines.push(own.clone());
            own.is_listed.store(true, Relaxed);
            self.count.store(lines.len(), Release);
        }
    }

    /// Its worker leaves, and has given away what was there.
    fn forget(&self, own: &Arc<OwnYields>) {
        let mut lines = self.lines.lock();
        lines.retain(|each| !Arc::ptr_eq(each, own));
        self.count.store(lines.len(), Release);
    }

    /// Whether somebody does something else beside a line that holds some. In one order with [`Yields::offer`].
    #[inline]
    fn are_offered(&self) -> bool {
        in_one_order();
        self.offered.load(SeqCst)
    }

    /// A worker does something else, and its line holds some: whoever is free may take them. The caller then looks for a sleeper.
    fn offer(&self) {
        // Of a thief that takes it down after this look: see there.
        if !self.offered.load(Relaxed) {
            self.offered.swap(true, SeqCst);
        }
        in_one_order();
    }

    /// Half of another's line comes to the worker whose line is `own`: the first of them into the slot. False: there is nothing.
    /// The caller then calls somebody for what is still offered.
    #[cold]
    fn steal(&self, own: &Arc<OwnYields>, slot: &mut Slot, may_take: impl FnOnce() -> bool) -> bool {
        // A flag that outlived its line is taken down as well, or nobody could sleep.
        if self.count.load(Acquire) == 0 && !self.are_offered() {
            return false;
        }
        let mut lines = self.lines.lock();
        if !may_take() {
            return false;
        }
        // Before the look: what is offered after this is offered anew. Whoever has seen the flag up and left it so had put
        // something in before; its line's lock orders that before the look, or this before its own.
        let was_offered = self.offered.swap(false, SeqCst);
        let mut found = VecDeque::new();
        let mut has_more = false;
        let others = lines.iter().filter(|each| !Arc::ptr_eq(each, own));
        for other in others.filter(|each| was_offered || each.has_some()) {
            if found.is_empty() {
                found = other.take_half();
            }
            has_more |= other.surely_has_some();
        }
        let Some(first) = found.pop_front() else {
            return false;
        };
        if has_more {
            self.offer();
        }
        if !found.is_empty() {
            own.append(&mut found);
            self.add(&mut lines, own);
        }
        first.fill(slot);
        true
    }

    /// Takes out all of a line; `count` is told how many before anybody sees that they are gone.
    fn empty(&self, own: &OwnYields, count: impl FnOnce(usize)) -> Vec<Entry> {
        let _lines = self.lines.lock();
        let all = own.take_all();
        count(all.len());
        all.into_iter().map(|each| each.entry).collect()
    }

    /// Runs `first`, and tells how many lie in all lines; none comes, goes or is moved meanwhile.
    fn read<R>(&self, first: impl FnOnce() -> R) -> (R, u64) {
        let lines = self.lines.lock();
        let held: Vec<_> = lines.iter().map(|each| each.line.lock()).collect();
        let answer = first();
        let waiting = held.iter().map(|line| line.waiting.len()).sum::<usize>();
        (answer, waiting as u64)
    }

    /// How many lie in all lines, at a glance.
    fn glance(&self) -> u64 {
        if self.count.load(Acquire) == 0 {
            return 0;
        }
        let lines = self.lines.lock();
        let waiting = lines.iter().map(|each| each.len.load(Acquire)).sum::<usize>();
        waiting as u64
    }

    /// Whoever was taking one when something was forbidden has taken it after this.
    pub(crate) fn settle(&self) {
        self.lines.lock().iter().for_each(|each| drop(each.line.lock()));
    }
}

impl<G: Gate> Room<G> {
    /// Whether workers keep futures that were woken during their poll.
    pub(crate) fn keeps_yields(&self) -> bool {
        self.yields.is_some()
    }

    /// A worker keeps this one.
    #[inline]
    pub(crate) fn keep_yielded(&self, own: &Arc<OwnYields>, entry: Entry, now: impl FnOnce() -> Tick) {
        debug_assert!(self.keeps_yields(), "this room has another end for it");
        if let Some(yields) = &self.yields {
            yields.list(own);
        }
        own.put(entry, self.pushed.load(Acquire), now);
    }

    /// Takes what a worker kept first, if all that lay in the log before has been taken. What is put to the front goes before it;
    /// of those that views hand on, which have no number in the log, every other one.
    #[inline]
    pub(crate) fn take_yielded(&self, own: &OwnYields, slot: &mut Slot) -> bool {
        own.take(slot, |line, after| {
            let popped = &self.popped;
            if popped.records.load(Acquire) < after || self.has_front.load(Relaxed) || self.is_barred() {
                return false;
            }
            let has_handed = popped.handed.load(Acquire) > popped.gone.load(Acquire);
            line.has_let_pass = has_handed && !line.has_let_pass;
            !line.has_let_pass
        })
    }

    /// The log is empty: takes what a worker kept first, or what another kept.
    pub(crate) fn take_any_yielded(&self, own: &Arc<OwnYields>, slot: &mut Slot) -> bool {
        let Some(yields) = &self.yields else { return false };
        own.take(slot, |_, _| !self.is_barred()) || yields.steal(own, slot, || !self.is_barred())
    }

    /// Whether a worker keeps some and does something else, as [`Yields::are_offered`] tells.
    #[inline]
    pub(crate) fn offers_yields(&self) -> bool {
        let are_offered = |yields: &Yields| yields.are_offered();
        self.yields.as_deref().is_some_and(are_offered) && !self.is_paused()
    }

    /// See [`Yields::offer`].
    pub(crate) fn offer_yields(&self) {
        if let Some(yields) = &self.yields {
            yields.offer();
        }
    }

    /// See [`Yields::empty`].
    pub(crate) fn empty_yielded(&self, own: &OwnYields, count: impl FnOnce(usize)) -> Vec<Entry> {
        let yields = self.yields.as_deref();
        yields.map_or_else(Vec::new, |yields| yields.empty(own, count))
    }

    pub(crate) fn forget_yields(&self, own: &Arc<OwnYields>) {
        if let Some(yields) = &self.yields {
            yields.forget(own);
        }
    }

    /// See [`Yields::glance`].
    pub(crate) fn glance_at_yields(&self) -> u64 {
        self.yields.as_deref().map_or(0, Yields::glance)
    }

    /// See [`Yields::read`].
    pub(crate) fn count_yielded<R>(&self, first: impl FnOnce() -> R) -> (R, u64) {
        match &self.yields {
            Some(yields) => yields.read(first),
            None => (first(), 0),
        }
    }
}

impl fmt::Debug for OwnYields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} yielded", self.len.load(Relaxed))
    }
}
