//! A waiting room: a log, or one for each level, behind two locks.
//!
//! In: records, accepted or refused under the producers' lock. Out: records, one at a time, under the consumers'
//! lock, in the order in which they were accepted, or level by level as the room's rule says ([`levelled`]); before all
//! of them what was moved to the front ([`moves`]). Lock order: consumers before producers. Nothing
//! user-written happens under either lock, and nothing is allocated there but lists: of dead entries, and for a look at what
//! waits ([`listed`]). What is counted is
//! in [`counts`](super::counts), what producers decide in [`producers`](super::producers).
//!
//! **Layout.** What producers write and what consumers write lie on different cache lines; the test
//! `sides_do_not_share_lines` holds that. (With both on one line a push takes five times as long.)

mod evicted;
mod handed;
mod levelled;
mod listed;
mod local;
mod located;
mod moves;
mod read;
mod removed;

use super::chain::Head;
use super::counts::{Popped, Removed};
use super::lines::{Fresh, Heads, Tails};
use super::locals::Locals;
use super::producers::{Gate, Producers};
use super::segment::Owned;
use super::yielded::Yields;
use super::{Capacity, Discipline, kind};
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{Guard, Lock, Padded, Regular};
use crate::task::Priority;
use crate::task::record::{Dead, Slot};
use crate::time::Clock;
pub(crate) use handed::Handed;
use handed::Returns;
pub(crate) use located::Located;
use moves::Front;
pub(crate) use removed::Drawn;

/// Spare segments are kept up to this many, one megabyte; a longer burst's memory goes back to the allocator.
const MAX_SPARES: usize = 256;

/// Dead entries may be this many more than live ones before they are swept out.
const DEAD_SLACK: u64 = 1024;

/// A log, its locks, and its counts. `G` is what the pool keeps under the producers' lock beside them.
#[repr(C)]
pub(crate) struct Room<G> {
    producers: Padded<Lock<Producers<G>>>,
    /// Mirror of [`Producers::pushed`], for those who look without the lock.
    pub(super) pushed: Padded<AtomicU64>,
    /// Mirror of [`Producers::aside`].
    pub(super) aside: AtomicU64,
    /// Mirror of [`Producers::woken`].
    pub(super) woken: AtomicU64,
    consumers: Padded<Lock<Consumers>>,
    pub(super) popped: Padded<Popped>,
    pub(super) fresh: Padded<Fresh>,
    pub(super) removed: Removed,
    /// How many levels there are; none in a plain room.
    depth: usize,
    /// Whether who waits becomes more urgent.
    ages: bool,
    /// Whether something waits at the front; a hint without a lock.
    pub(super) has_front: AtomicBool,
    /// Mirrors of the flags that are set under both locks.
    paused: AtomicBool,
    /// Whether nothing may be taken: it is paused, or there are too many workers.
    barred: AtomicBool,
    waited_for: AtomicBool,
    spares: Lock<Vec<Owned>>,
    /// What workers submitted from inside their tasks, where each has a deque.
    locals: Option<Box<Locals>>,
    /// Futures that workers keep; in a plain room without deques.
    pub(super) yields: Option<Box<Yields>>,
}

/// A worker, as it comes for tasks.
pub(crate) type Taker<'a> = Regular<'a, Consumers>;

pub(crate) struct Consumers {
    head: Head,
    /// Records that left the log.
    popped: u64,
    /// Those among them that a worker took.
    taken: u64,
    /// Records of woken futures that left the log.
    resumed: u64,
    /// Whether there is more to do than to take the head, and what: bits.
    heed: u8,
    /// Instead of the head, where the room has levels.
    levels: Option<Box<Heads>>,
    /// What goes before everything else.
    front: Front,
    /// What was handed on by other tasks of its view.
    returns: Returns,
}

/// Nothing may be taken, or somebody waits for room.
const ATTEND: u8 = 1;
/// Something waits at the front.
const FRONT: u8 = 2;
/// There are levels.
const LEVELLED: u8 = 4;

/// What a look at the head gave.
enum Taken {
    Task,
    /// An entry whose task was claimed elsewhere.
    Dead,
    Nothing,
}

impl<G: Gate> Room<G> {
    /// A plain room.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn new(capacity: Capacity, gate: G) -> Self {
        Room::with(capacity, None, false, &Clock::system(), gate)
    }

    /// A room with levels, if it is to have any, and with deques if `steals` says so.
    pub(crate) fn with(
        capacity: Capacity,
        discipline: Option<&Discipline>,
        steals: bool,
        clock: &Clock,
        gate: G,
    ) -> Self {
        let local_level = discipline.map_or(0, |discipline| discipline.level_of(Priority::NORMAL));
        let locals = steals.then(|| Box::new(Locals::new(local_level)));
        let levels = discipline.map_or(0, |discipline| discipline.levels);
        let heads = discipline.map(|discipline| Box::new(Heads::new(discipline.clone(), clock.clone())));
        Room {
            producers: Padded(Lock::new(Producers::new(
                capacity,
                discipline.map(Tails::new),
                locals.as_ref().map(|locals| locals.way_in.clone()),
                gate,
            ))),
            pushed: Padded(AtomicU64::new(0)),
            aside: AtomicU64::new(0),
            woken: AtomicU64::new(0),
            consumers: Padded(Lock::new(Consumers {
                head: Head::new(Owned::new()),
                popped: 0,
                taken: 0,
                resumed: 0,
                heed: if heads.is_some() { LEVELLED } else { 0 },
                levels: heads,
                front: Front::default(),
                returns: Returns::default(),
            })),
            popped: Padded(Popped::new()),
            fresh: Padded(Fresh::new()),
            removed: Removed::new(levels),
            depth: levels,
            ages: discipline.is_some_and(Discipline::is_aging),
            has_front: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            barred: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
            spares: Lock::new(Vec::new()),
            locals,
            yields: (discipline.is_none() && !steals).then(|| Box::new(Yields::new())),
        }
    }

    /// The producers' side: acceptance is decided while this is held.
    #[inline]
    pub(crate) fn producers(&self) -> Guard<'_, Producers<G>> {
        self.producers.lock()
    }

    /// For one who comes again and again to take.
    pub(crate) fn taker(&self) -> Taker<'_> {
        Regular::at(&self.consumers)
    }

    /// Brings a segment to the producers, from the spares or fresh.
    #[cold]
    pub(crate) fn bring(&self) {
        let segment = self.segment();
        let extra = self.producers().bring(segment);
        self.spare(extra);
    }

    /// An empty segment, from the spares or fresh.
    pub(super) fn segment(&self) -> Owned {
        let spare = self.spares.lock().pop();
        spare.unwrap_or_else(Owned::new)
    }

    fn spare(&self, segment: Option<Owned>) {
        let Some(mut segment) = segment else { return };
        segment.reset();
        let mut spares = self.spares.lock();
        if spares.len() < MAX_SPARES {
            spares.push(segment);
        }
    }

    /// Permits that came back: counts that only grow, so the sum is never more than the truth.
    pub(super) fn permits_back(&self) -> u64 {
        let from_deques = |locals: &Locals| locals.taken() + locals.joined();
        let from_deques = self.locals().map_or(0, from_deques);
        self.popped.taken.load(Acquire) + from_deques + self.removed.sum()
    }

    /// Moves the oldest waiting record into the slot, claimed. False: nothing waits, or nothing may be taken. `heed` is
    /// called, without a lock, if somebody waits for room.
    pub(crate) fn pop(&self, slot: &mut Slot, taker: &mut Taker<'_>, heed: impl FnOnce()) -> bool {
        if self.is_levelled() {
            self.pop_as::<{ kind::ANY }>(slot, taker, heed)
        } else {
            self.pop_as::<{ kind::PLAIN }>(slot, taker, heed)
        }
    }

    /// As [`Room::pop`], with a taker of its own.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn take_one(&self, slot: &mut Slot) -> bool {
        self.pop(slot, &mut self.taker(), || ())
    }

    /// The same as a worker does, that knows what [`kind`] of queue it is.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn take_one_of(&self, kind: u8, slot: &mut Slot) -> bool {
        let mut taker = self.taker();
        match kind {
            kind::STRICT => self.pop_as::<{ kind::STRICT }>(slot, &mut taker, || ()),
            kind::AGING => self.pop_as::<{ kind::AGING }>(slot, &mut taker, || ()),
            kind::SHARES => self.pop_as::<{ kind::SHARES }>(slot, &mut taker, || ()),
            _ => self.pop(slot, &mut taker, || ()),
        }
    }

    /// As [`Room::pop`], for those who know what [`kind`] of queue it is. Inlined into a worker's loop.
    #[inline(always)]
    pub(crate) fn pop_as<const KIND: u8>(
        &self,
        slot: &mut Slot,
        taker: &mut Taker<'_>,
        heed: impl FnOnce(),
    ) -> bool {
        debug_assert!(taker.is_at(&self.consumers), "a taker of another room");
        let usual = if KIND == kind::PLAIN { 0 } else { LEVELLED };
        loop {
            let consumers = taker.try_lock().unwrap_or_else(|| self.consumers.lock());
            if consumers.heed != usual {
                drop(consumers);
                return self.pop_heeding(slot, taker, heed);
            }
            let taken = if KIND == kind::PLAIN {
                self.take(consumers, slot)
            } else {
                self.take_from_levels::<KIND>(consumers, slot)
            };
            match taken {
                Taken::Task => return true,
                Taken::Nothing => return false,
                Taken::Dead => {}
            }
        }
    }

    #[cold]
    fn pop_heeding(&self, slot: &mut Slot, taker: &mut Taker<'_>, heed: impl FnOnce()) -> bool {
        let found = loop {
            let consumers = taker.try_lock().unwrap_or_else(|| self.consumers.lock());
            // Exact: the flag changes under both locks.
            if self.barred.load(Relaxed) {
                break false;
            }
            let taken = match consumers.heed & !ATTEND {
                0 => self.take(consumers, slot),
                LEVELLED => self.take_from_levels::<{ kind::ANY }>(consumers, slot),
                _ => self.take_from_front(consumers, slot),
            };
            match taken {
                Taken::Task => break true,
                Taken::Nothing => break false,
                Taken::Dead => {}
            }
        };
        heed();
        if self.waited_for.load(Relaxed) {
            // The line may have ended.
            self.attend(|_| ());
        }
        found
    }

    /// The look of a worker for which a place is kept beyond the capacity: as [`Room::pop`], and in the same section `warm`
    /// tells the gate that the place is needed no more. While a submission is on its way, which may be the one the worker
    /// was started for, the place is kept: `None`.
    pub(crate) fn pop_first(&self, slot: &mut Slot, warm: impl FnOnce(&mut G)) -> Option<bool> {
        let mut dead = Vec::new();
        let found = {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            let found = loop {
                if producers.paused || producers.barred {
                    break false;
                }
                match self.take_any(&mut consumers, &mut producers, slot) {
                    None => break false,
                    Some(true) => break true,
                    Some(false) => dead.extend(slot.take_dead()),
                }
            };
            if found || producers.reserved == 0 {
                warm(&mut producers.gate);
                producers.shut();
                Some(found)
            } else {
                None
            }
        };
        dead.into_iter().for_each(Dead::let_go);
        found
    }

    /// Takes what comes next, with both locks held. `None`: nothing waits. False: it was dead.
    fn take_any(
        &self,
        consumers: &mut Consumers,
        producers: &mut Producers<G>,
        slot: &mut Slot,
    ) -> Option<bool> {
        if consumers.heed & FRONT != 0 {
            return Some(self.take_front(consumers, slot));
        }
        if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
            heads.refill(tails, &self.fresh);
            let won = heads.next(slot, &self.fresh)?;
            self.count_popped(consumers, slot, won);
            return Some(won);
        }
        if consumers.head.is_dry() {
            if !consumers.returns.has_now() {
                self.refill(consumers, producers);
            }
            if consumers.head.is_dry() {
                return self.take_first_handed(consumers, slot);
            }
        }
        Some(self.take_head(consumers, slot))
    }

    #[inline(always)]
    fn take(&self, mut consumers: Guard<'_, Consumers>, slot: &mut Slot) -> Taken {
        if consumers.head.is_dry() {
            if consumers.returns.has_now() {
                return self.take_handed(consumers, slot);
            }
            // Without the tail's lock first: a consumer that finds nothing must not slow the producers down.
            if self.pushed.load(Acquire) == consumers.popped && !consumers.returns.has_later() {
                return Taken::Nothing;
            }
            self.refill(&mut consumers, &mut self.producers.lock());
            if consumers.head.is_dry() {
                return self.take_handed(consumers, slot);
            }
        }
        let won = self.take_head(&mut consumers, slot);
        let finished = consumers.head.take_finished();
        drop(consumers);
        if finished.is_some() {
            self.spare(finished);
        }
        if won {
            return Taken::Task;
        }
        slot.let_go();
        Taken::Dead
    }

    /// Moves the head into the slot and claims it; false: claimed elsewhere before. The head is not dry.
    #[inline(always)]
    fn take_head(&self, consumers: &mut Consumers, slot: &mut Slot) -> bool {
        let number = consumers.popped;
        consumers.head.take(slot, number);
        self.claim(consumers, slot)
    }

    /// Claims what was just moved into the slot, and counts it; false: it was dead.
    #[inline(always)]
    fn claim(&self, consumers: &mut Consumers, slot: &Slot) -> bool {
        // Under the lock: the order of claims is the order of the log, and the permit comes back once.
        let won = slot.claim();
        self.count_popped(consumers, slot, won);
        won
    }

    #[inline(always)]
    fn count_popped(&self, consumers: &mut Consumers, slot: &Slot, won: bool) {
        if slot.is_woken() {
            self.count_resumed(consumers);
        } else if won {
            consumers.taken += 1;
        }
        consumers.popped += 1;
        self.popped.publish(consumers.popped, consumers.taken);
    }

    /// A future is polled again: it was taken when it was polled first.
    fn count_resumed(&self, consumers: &mut Consumers) {
        consumers.resumed += 1;
        self.popped.resumed.store(consumers.resumed, Release);
    }

    /// Records of woken futures that left the log.
    pub(super) fn resumed(&self) -> u64 {
        self.popped.resumed.load(Acquire)
    }

    /// Runs `f` under both locks: whoever takes a task after this sees what it changed in the gate.
    pub(crate) fn attend<R>(&self, f: impl FnOnce(&mut Producers<G>) -> R) -> R {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        let answer = f(&mut producers);
        self.mirror(&mut consumers, &producers);
        answer
    }

    /// For those who look without the locks, or at one of them.
    fn mirror(&self, consumers: &mut Consumers, producers: &Producers<G>) {
        let is_waited_for = producers.gate.is_waited_for();
        self.waited_for.store(is_waited_for, Relaxed);
        let is_barred = producers.paused || producers.barred;
        self.paused.store(producers.paused, Release);
        self.barred.store(is_barred, Release);
        consumers.heed &= !ATTEND;
        if is_barred || is_waited_for {
            consumers.heed |= ATTEND;
        }
        self.mirror_for_deques();
    }

    /// Whether submissions wait for room; a hint without a lock.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.waited_for.load(Relaxed)
    }

    /// From now on nothing is taken, or everything again; if that is new, `also` is called in the same section: the other
    /// room is closed first and opened last, so that nothing there seems to be alone. A closed room does not pause. Says whether it changed.
    pub(crate) fn set_paused(&self, paused: bool, also: impl FnOnce()) -> bool {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        if producers.paused == paused || (paused && producers.closed) {
            return false;
        }
        producers.paused = paused;
        if paused {
            also();
            self.mirror(&mut consumers, &producers);
            self.settle();
        } else {
            self.mirror(&mut consumers, &producers);
            also();
        }
        true
    }

    /// A worker that takes without the consumers' lock after this has seen that it is barred.
    pub(crate) fn settle(&self) {
        self.settle_deques();
        if let Some(yields) = &self.yields {
            yields.settle();
        }
    }

    /// Whether it is paused, at a glance.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    /// Whether nothing may be taken, at a glance.
    pub(crate) fn is_barred(&self) -> bool {
        self.barred.load(Relaxed)
    }

    /// A few loads; may be old, both ways.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        let is_log_empty = self.pushed.load(Acquire) == self.popped.records.load(Acquire);
        (is_log_empty && self.waiting_handed() == 0) || self.paused.load(Acquire)
    }

    /// Whether nothing is in the log, or nothing may be taken, seen under the producers' lock: whoever pushes after this has taken that lock
    /// after us, and sees what we wrote before it. The idle protocol stands on this.
    pub(crate) fn is_empty(&self) -> bool {
        self.look(|producers, is_empty| is_empty || producers.paused)
    }

    /// [`Room::is_empty`], without the exception, and what the gate says in the same moment.
    pub(crate) fn look<R>(&self, at: impl FnOnce(&mut Producers<G>, bool) -> R) -> R {
        let mut producers = self.producers.lock();
        let is_empty = self.is_all_empty(&producers);
        at(&mut producers, is_empty)
    }

    /// Where the fields lie that different sides write.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) const fn field_offsets() -> [usize; 4] {
        use std::mem::offset_of;
        [
            offset_of!(Self, producers),
            offset_of!(Self, pushed),
            offset_of!(Self, consumers),
            offset_of!(Self, popped),
        ]
    }
}
