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

mod levelled;
mod listed;
mod local;
mod moves;

use super::chain::{Head, Swept};
use super::counts::{Popped, Removed, Tally};
use super::lines::{Fresh, Heads, Tails};
use super::locals::Locals;
use super::producers::{Gate, Producers};
use super::segment::Owned;
use super::{Capacity, Discipline, kind};
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use crate::sync::atomic::{AtomicBool, AtomicU64};
use crate::sync::{Guard, Lock, Padded};
use crate::task::block::Entry;
use crate::task::home::Removal;
use crate::task::record::{Dead, Slot, Woken};
use crate::task::{Class, Priority};
use crate::time::{Clock, Tick};
use moves::Front;

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
    popped: Padded<Popped>,
    pub(super) fresh: Padded<Fresh>,
    pub(super) removed: Removed,
    /// How many levels there are; none in a plain room.
    depth: usize,
    /// Whether something waits at the front; a hint without a lock.
    has_front: AtomicBool,
    /// Mirrors of the flags that are set under both locks.
    paused: AtomicBool,
    waited_for: AtomicBool,
    spares: Lock<Vec<Owned>>,
    /// What workers submitted from inside their tasks, where each has a deque.
    locals: Option<Box<Locals>>,
}

struct Consumers {
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
            })),
            popped: Padded(Popped::new()),
            fresh: Padded(Fresh::new()),
            removed: Removed::new(levels),
            depth: levels,
            has_front: AtomicBool::new(false),
            paused: AtomicBool::new(false),
            waited_for: AtomicBool::new(false),
            spares: Lock::new(Vec::new()),
            locals,
        }
    }

    /// The producers' side: acceptance is decided while this is held.
    #[inline]
    pub(crate) fn producers(&self) -> Guard<'_, Producers<G>> {
        self.producers.lock()
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
    #[inline]
    pub(crate) fn pop(&self, slot: &mut Slot, heed: impl FnOnce()) -> bool {
        if self.is_levelled() {
            self.pop_as::<{ kind::ANY }>(slot, heed)
        } else {
            self.pop_as::<{ kind::PLAIN }>(slot, heed)
        }
    }

    /// As [`Room::pop`], for those who know what [`kind`] of queue it is. Inlined into a worker's loop.
    #[inline(always)]
    pub(crate) fn pop_as<const KIND: u8>(&self, slot: &mut Slot, heed: impl FnOnce()) -> bool {
        let usual = if KIND == kind::PLAIN { 0 } else { LEVELLED };
        loop {
            let consumers = self.consumers.lock();
            if consumers.heed != usual {
                drop(consumers);
                return self.pop_heeding(slot, heed);
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
    fn pop_heeding(&self, slot: &mut Slot, heed: impl FnOnce()) -> bool {
        let found = loop {
            let consumers = self.consumers.lock();
            // Exact: the flag changes under both locks.
            if self.paused.load(Relaxed) {
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
                if producers.paused {
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
            let (won, _) = heads.next(slot, &self.fresh)?;
            self.count_popped(consumers, slot, won);
            return Some(won);
        }
        if consumers.head.is_dry() {
            if producers.tail.is_empty() {
                return None;
            }
            consumers.head.refill(&mut producers.tail);
        }
        Some(self.take_head(consumers, slot))
    }

    #[inline(always)]
    fn take(&self, mut consumers: Guard<'_, Consumers>, slot: &mut Slot) -> Taken {
        if consumers.head.is_dry() {
            // Without the tail's lock first: a consumer that finds nothing must not slow the producers down.
            if self.pushed.load(Acquire) == consumers.popped {
                return Taken::Nothing;
            }
            consumers.head.refill(&mut self.producers.lock().tail);
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

    /// Takes a waiting task out, claimed as removed and counted as evicted, and reserves its place for the caller in the
    /// same section: nobody else gets it. The oldest, of the least urgent level; with `below`, of one that is less urgent
    /// than that.
    pub(crate) fn evict_for_its_place(&self, below: Option<usize>, clock: &Clock) -> Option<Slot> {
        let mut dead = Vec::new();
        // Nobody throws out a future that has begun: they go to the end, without places, once the search is over.
        let mut woken = Vec::new();
        let evicted = {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            let evicted = loop {
                let mut slot = Slot::empty();
                let Some(level) = self.take_last(&mut consumers, &mut producers, below, &mut slot) else {
                    break None;
                };
                if slot.is_woken() {
                    self.count_popped(&mut consumers, &slot, false);
                    let class = slot.class();
                    woken.extend(slot.take_entry().map(|entry| (class, entry)));
                    continue;
                }
                let won = slot.claim_to_remove();
                consumers.popped += 1;
                self.popped.publish(consumers.popped, consumers.taken);
                if won {
                    self.removed.count(Removal::Evicted, level);
                    producers.reserve();
                    break Some(slot);
                }
                dead.extend(slot.take_dead());
            };
            for (class, entry) in woken {
                self.put_back(&mut producers, class, entry, clock);
            }
            evicted.or_else(|| self.evict_from_deques(&mut producers, below, &mut dead))
        };
        dead.into_iter().for_each(Dead::let_go);
        evicted
    }

    /// Writes the record of a woken future again that was taken out, at the end of its level.
    fn put_back(&self, producers: &mut Producers<G>, class: Class, entry: Entry, clock: &Clock) {
        producers.push_surely(self, class, Woken(entry), false, clock);
        producers.count_woken(self, class);
        producers.count_put_back();
    }

    /// The same of one that a drain took out, and did not count.
    pub(crate) fn put_drained_back(&self, class: Class, entry: Entry, clock: &Clock) {
        let mut consumers = self.consumers.lock();
        let mut producers = self.producers.lock();
        self.count_resumed(&mut consumers);
        self.put_back(&mut producers, class, entry, clock);
    }

    /// Moves what is worth least into the slot; gives its level.
    fn take_last(
        &self,
        consumers: &mut Consumers,
        producers: &mut Producers<G>,
        below: Option<usize>,
        slot: &mut Slot,
    ) -> Option<usize> {
        if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
            heads.refill(tails, &self.fresh);
            if let Some(level) = heads.last(below) {
                drop(heads.take(level, slot, &self.fresh));
                heads.took_none(level);
                return Some(level);
            }
        } else if below.is_none() {
            if consumers.head.is_dry() && !producers.tail.is_empty() {
                consumers.head.refill(&mut producers.tail);
            }
            if !consumers.head.is_dry() {
                let number = consumers.popped;
                consumers.head.take(slot, number);
                return Some(0);
            }
        }
        // Only what was moved to the front is left.
        if below.is_some() || consumers.heed & FRONT == 0 {
            return None;
        }
        consumers.take_front(slot);
        self.set_front(consumers.heed & FRONT != 0);
        Some(self.level_in(slot))
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
        self.paused.store(producers.paused, Release);
        consumers.heed &= !ATTEND;
        if producers.paused || is_waited_for {
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
            if let Some(locals) = &self.locals {
                // Whoever takes from a deque now has seen it.
                locals.settle();
            }
        } else {
            self.mirror(&mut consumers, &producers);
            also();
        }
        true
    }

    /// Whether nothing may be taken, at a glance.
    pub(crate) fn is_paused(&self) -> bool {
        self.paused.load(Relaxed)
    }

    /// Two loads; may be old, both ways.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.pushed.load(Acquire) == self.popped.records.load(Acquire) || self.paused.load(Acquire)
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

    /// A task left without being taken by a worker, and without ever having had a record.
    pub(crate) fn remove_aside(&self, how: Removal, level: usize) {
        // In this order: whoever sees it counted out as waiting aside sees its permit back.
        self.removed.count(how, level);
        self.removed.from_aside.fetch_add(1, AcqRel);
    }

    /// Tasks that wait where there are no records, as far as can be seen without a lock.
    pub(crate) fn waiting_aside(&self) -> u64 {
        let aside = self.aside.load(Acquire);
        aside.saturating_sub(self.removed.from_aside.load(Acquire))
    }

    /// Tasks ever accepted, as far as can be seen without a lock; never too few, because what gets its record is counted
    /// there first.
    fn accepted(&self) -> u64 {
        let aside = self.aside.load(Acquire);
        // A woken one is counted after its record.
        let woken = self.woken.load(Acquire);
        (aside + self.pushed.load(Acquire)).saturating_sub(woken) + self.pushed_to_deques()
    }

    /// A task left without being taken by a worker: its permit comes back. Says whether the dead entries need a sweep.
    #[must_use]
    pub(crate) fn remove(&self, how: Removal, level: usize) -> bool {
        self.removed.count(how, level);
        self.needs_sweep()
    }

    /// Whether the dead entries are too many.
    fn needs_sweep(&self) -> bool {
        // Drained and evicted records count in both; the difference is what lies dead in the log. Both may be a moment old.
        let untaken = self
            .popped
            .records
            .load(Acquire)
            .saturating_sub(self.popped.taken.load(Acquire) + self.resumed());
        let without_record = self.removed.from_aside.load(Acquire);
        let from_deques = self.removed.from_deques.load(Acquire);
        let gone = untaken + without_record + from_deques;
        let dead = self.removed.sum().saturating_sub(gone);
        if dead <= DEAD_SLACK {
            return false;
        }
        let waiting = self.accepted().saturating_sub(self.permits_back());
        dead > waiting + DEAD_SLACK
    }

    /// Sweeps the dead entries out of the log.
    #[cold]
    pub(crate) fn sweep(&self) {
        let mut swept = Swept::default();
        {
            let mut consumers = self.consumers.lock();
            let mut producers = self.producers.lock();
            if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
                heads.sweep(tails, &self.fresh, &mut swept);
            } else {
                consumers.head.sweep(0, &mut swept);
                producers.tail.sweep(0, &mut swept);
            }
            drop(producers);
            self.sweep_front(&mut consumers, &mut swept.dead);
            consumers.popped += swept.dead.len() as u64;
            self.popped.publish(consumers.popped, consumers.taken);
        }
        for segment in swept.emptied {
            self.spare(Some(segment));
        }
        swept.dead.into_iter().for_each(Dead::let_go);
    }

    /// Claims what a drain took out, as removed. Under the lock that keeps it from being moved: a record that becomes outdated
    /// between the look and the claim would let go of a share that is another's by then.
    pub(crate) fn claim_drained(&self, slot: &Slot) -> Drawn {
        let _consumers = self.consumers.lock();
        if slot.is_woken() {
            Drawn::Gone
        } else if slot.claim_to_remove() {
            Drawn::Claimed
        } else if slot.is_elsewhere() {
            Drawn::Moved
        } else {
            Drawn::Gone
        }
    }

    /// Takes everything out, in order. The tasks are not claimed yet and still hold their permits.
    pub(crate) fn drain(&self) -> Drained {
        self.drain_with(|| ()).0
    }

    /// As [`Room::drain`]; in the same section `also` takes out what waits elsewhere.
    pub(crate) fn drain_with<R>(&self, also: impl FnOnce() -> R) -> (Drained, R) {
        let empty: Vec<Owned> = (0..2 * self.depth.max(1)).map(|_| Owned::new()).collect();
        let mut consumers = self.consumers.lock();
        let front = self.drain_front(&mut consumers);
        let mut producers = self.producers.lock();
        let mut before = 0;
        let chains = if let (Some(heads), Some(tails)) = (&mut consumers.levels, &mut producers.levels) {
            before = heads.before();
            heads.drain(tails, &self.fresh, empty)
        } else {
            // A second, dry head takes the tail's chain over.
            let mut ends = empty.into_iter().map(Head::new);
            let (Some(mut front), Some(mut back)) = (ends.next(), ends.next()) else {
                unreachable!("two for each level")
            };
            std::mem::swap(&mut consumers.head, &mut front);
            back.refill(&mut producers.tail);
            vec![front, back]
        };
        let local = self.drain_deques();
        let also = also();
        drop(producers);
        consumers.popped += front.len() as u64 + chains.iter().map(Head::left).sum::<u64>();
        self.popped.publish(consumers.popped, consumers.taken);
        drop(consumers);
        let drained = Drained {
            front: front.into_iter(),
            chains,
            before,
            local: local.into_iter(),
        };
        (drained, also)
    }

    /// The counts at one moment, and what the gate says. While `settled` runs no task can be taken from the log, so what
    /// it reads of ended tasks fits the taken ones; what joiners take in place is read after it.
    pub(crate) fn tally<R, S>(&self, settled: impl FnOnce() -> R, at: impl FnOnce(&G) -> S) -> (Tally, R, S) {
        let consumers = self.consumers.lock();
        let settled = settled();
        let of_levels = consumers.levels.as_deref();
        let taken = of_levels.map(Heads::taken);
        let mut tally = self.removed.read(consumers.taken, taken.as_ref());
        if let Some(levels) = of_levels {
            tally.set_promoted(&levels.promoted);
        }
        // In this order: what has ended, what was taken, what was accepted.
        let left = self
            .locals()
            .map_or((0, 0), |locals| (locals.taken(), locals.joined()));
        let producers = self.producers.lock();
        let of_levels = producers.levels.as_deref();
        tally.set_pushed(producers.accepted(), of_levels.map(Tails::accepted));
        tally.woken = producers.woken - producers.put_back;
        tally.resumed = consumers.resumed - producers.put_back;
        if let Some(locals) = &self.locals {
            tally.add_local(locals.level(), locals.pushed(), left);
        }
        tally.capacity = producers.capacity;
        tally.paused = producers.paused;
        let at = at(&producers.gate);
        (tally, settled, at)
    }

    /// As [`Room::tally`] without locks: each number is true of some moment, but not all of the same.
    pub(crate) fn glance(&self) -> (u64, u64) {
        // First: what has come back was accepted before.
        let back = self.permits_back();
        let accepted = self.accepted();
        (accepted, accepted.saturating_sub(back))
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

    /// When the record at the head arrived, as far as it was noted.
    pub(crate) fn oldest(&self) -> Option<Tick> {
        let consumers = self.consumers.lock();
        if consumers.levels.is_some() {
            drop(consumers);
            return self.oldest_of_levels().into_iter().flatten().min();
        }
        let arrived = if consumers.head.is_dry() {
            let producers = self.producers.lock();
            if producers.tail.is_empty() {
                return None;
            }
            producers.tail.opened()
        } else {
            consumers.head.arrived()
        };
        (arrived != 0).then_some(arrived)
    }
}

/// What became of a record that a drain took out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Drawn {
    Claimed,
    /// Its task has a later record, and waits.
    Moved,
    /// Its task was claimed elsewhere; or it is a future that was woken, which nobody takes out.
    Gone,
}

/// Records taken out by [`Room::drain`], in order. Dead ones are among them.
pub(crate) struct Drained {
    front: std::collections::vec_deque::IntoIter<Slot>,
    chains: Vec<Head>,
    /// Words before each record.
    before: usize,
    /// What lay in deques.
    local: std::vec::IntoIter<Slot>,
}

impl Iterator for Drained {
    type Item = Slot;
    fn next(&mut self) -> Option<Slot> {
        if let Some(slot) = self.front.next() {
            return Some(slot);
        }
        let Some(chain) = self.chains.iter_mut().find(|chain| !chain.is_dry()) else {
            return self.local.next();
        };
        let mut slot = Slot::empty();
        // Arrivals do not matter any more: a number that is never a sample's.
        chain.take_after(self.before, &mut slot, 1);
        drop(chain.take_finished());
        Some(slot)
    }
}
