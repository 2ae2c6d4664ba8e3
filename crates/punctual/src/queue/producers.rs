//! The producers' side of a room: what is decided under their lock.
//!
//! In: one more task. Out: whether it may be written without a further look, and the write. Order, acceptance, capacity
//! and closing are plain fields here; what the pool decides beside them is its [`Gate`].

use super::Capacity;
use super::chain::Tail;
use super::lines::Tails;
use super::locals::WayIn;
use super::room::Room;
use super::segment::Owned;
use crate::sync::Arc;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::task::Class;
use crate::task::block::Entry;
use crate::task::record::{Payload, Slot};
use crate::time::Clock;

/// What a room asks of what the pool keeps under the producers' lock.
pub(crate) trait Gate {
    /// Whether submissions wait for room.
    fn is_waited_for(&self) -> bool;
}

impl Gate for () {
    fn is_waited_for(&self) -> bool {
        false
    }
}

/// Everything that decides about acceptance.
pub(crate) struct Producers<G> {
    pub(super) tail: Tail,
    /// Instead of the tail, where the room has levels.
    pub(super) levels: Option<Box<Tails>>,
    pub(super) pushed: u64,
    /// Tasks that were accepted and have no record: see [`counts`](super::counts).
    pub(super) aside: u64,
    /// Records of futures that were polled before: they are no tasks that come in, and hold no permit.
    pub(super) woken: u64,
    /// Those among them that were taken out of the queue and put back.
    pub(super) put_back: u64,
    pub(super) capacity: Capacity,
    /// Records with a smaller number may be written without a look at anything else: the one comparison of the common
    /// case. 0 whenever something changed that a look would see ([`Producers::shut`]).
    open_until: u64,
    /// The same where the room has levels; the other one stays 0 then, so that the common case need not ask.
    levels_open_until: u64,
    /// Permits of submissions that are starting a worker before they publish.
    pub(super) reserved: u64,
    /// Permits of tasks that wait elsewhere: for their time, or in an annex.
    covered: u64,
    pub(super) closed: bool,
    pub(super) paused: bool,
    /// Nothing is taken either while there are more workers than there may be.
    pub(super) barred: bool,
    /// Nothing that waits is given another place.
    are_moves_refused: bool,
    /// Of the deques, where the room has some: open while any number of records may be written without a look.
    way_in: Option<Arc<WayIn>>,
    pub(crate) gate: G,
}

/// Why a task was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    Full { waiting: usize, capacity: usize },
}

impl<G: Gate> Producers<G> {
    pub(super) fn new(
        capacity: Capacity,
        levels: Option<Tails>,
        way_in: Option<Arc<WayIn>>,
        gate: G,
    ) -> Self {
        Producers {
            tail: Tail::new(Owned::new()),
            levels: levels.map(Box::new),
            pushed: 0,
            aside: 0,
            woken: 0,
            put_back: 0,
            capacity,
            open_until: 0,
            levels_open_until: 0,
            reserved: 0,
            covered: 0,
            closed: false,
            paused: false,
            barred: false,
            are_moves_refused: false,
            way_in,
            gate,
        }
    }

    pub(crate) fn is_paused(&self) -> bool {
        self.paused
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    /// For [`Room::attend`].
    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.shut();
    }

    /// For [`Room::attend`]: a closed room must be taken from, or it could not end.
    pub(crate) fn unpause(&mut self) {
        self.paused = false;
    }

    /// For [`Room::attend`], and [`Room::settle`] after it: from then on nothing is taken, or everything again.
    pub(crate) fn bar(&mut self, barred: bool) {
        self.barred = barred;
    }

    /// Whether a record may be written without a look at anything else, by [`Producers::push_plain`].
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.pushed < self.open_until
    }

    /// The same by [`Producers::push_to_level`].
    #[inline]
    pub(crate) fn are_levels_open(&self) -> bool {
        self.pushed < self.levels_open_until
    }

    /// Whether a record may be written without a look at anything else, by [`Producers::push`].
    #[inline]
    pub(crate) fn is_open_anyhow(&self) -> bool {
        self.pushed < self.open_until.max(self.levels_open_until)
    }

    /// Makes the next submission look: something changed, here or in the gate.
    pub(crate) fn shut(&mut self) {
        self.open_until = 0;
        self.levels_open_until = 0;
        if let Some(way_in) = &self.way_in {
            way_in.set(false);
        }
    }

    /// After a look that let one in: as many need not look.
    pub(crate) fn open_for(&mut self, records: u64) {
        let until = self.pushed.saturating_add(records);
        match self.levels {
            None => self.open_until = until,
            Some(_) => self.levels_open_until = until,
        }
        if let Some(way_in) = &self.way_in {
            way_in.set(until == u64::MAX);
        }
    }

    /// A record is put into a deque, in this section: it takes a place that the next ones counted on.
    pub(crate) fn take_place(&mut self) {
        for until in [&mut self.open_until, &mut self.levels_open_until] {
            if *until != u64::MAX {
                *until = until.saturating_sub(1);
            }
        }
    }

    pub(super) fn refuse_moves(&mut self) {
        self.are_moves_refused = true;
    }

    pub(super) fn refuses_moves(&self) -> bool {
        self.are_moves_refused
    }

    pub(crate) fn capacity(&self) -> Capacity {
        self.capacity
    }

    pub(crate) fn set_capacity(&mut self, capacity: Capacity) {
        self.capacity = capacity;
        self.shut();
    }

    /// Tasks that hold a permit of this room: the capacity is compared with this.
    pub(crate) fn occupied(&self, room: &Room<G>) -> u64 {
        self.held(room) + self.covered
    }

    /// Tasks that wait here, or are about to.
    pub(crate) fn held(&self, room: &Room<G>) -> u64 {
        // First: what comes back was accepted before, also where that is not counted under this lock.
        let back = room.permits_back();
        self.accepted() + room.pushed_to_deques() - back + self.reserved
    }

    /// Tasks that were let in, or are about to be, and are the workers' business: those that wait, run, or have ended,
    /// without those that left untaken or that somebody ran in place; and the wakes of futures that were polled before.
    pub(crate) fn kept(&self, room: &Room<G>) -> u64 {
        let removed = room.removed.sum() + room.joined_from_deques();
        self.accepted() + room.pushed_to_deques() + self.woken - self.put_back + self.reserved - removed
    }

    /// Tasks that were ever let in.
    pub(super) fn accepted(&self) -> u64 {
        self.pushed + self.aside - self.woken
    }

    /// Woken futures that wait for a worker.
    pub(crate) fn woken_waiting(&self, room: &Room<G>) -> u64 {
        self.woken.saturating_sub(room.resumed())
    }

    /// Woken futures that workers took.
    pub(crate) fn resumed(&self, room: &Room<G>) -> u64 {
        room.resumed().saturating_sub(self.put_back)
    }

    /// A woken future of this class waits again, with a record or aside. In the section that wrote or put it there.
    pub(crate) fn count_woken(&mut self, room: &Room<G>, class: Class) {
        self.woken += 1;
        room.woken.store(self.woken, Release);
        if let Some(levels) = &mut self.levels {
            levels.count_woken(class);
        }
    }

    /// A woken future that was taken out without a worker waits again.
    pub(crate) fn count_put_back(&mut self) {
        self.put_back += 1;
    }

    /// Whether a submission is between its reservation and its publication.
    pub(crate) fn has_reservations(&self) -> bool {
        self.reserved > 0
    }

    /// A waiting task of this level got a record that lies elsewhere in this room.
    pub(super) fn count_moved(&mut self, room: &Room<G>, level: usize) {
        if let Some(levels) = &mut self.levels {
            levels.count_front(level);
        }
        self.pushed += 1;
        room.pushed.store(self.pushed, Release);
    }

    /// Takes a segment for the end that needed one last; gives it back if it has one.
    pub(super) fn bring(&mut self, segment: Owned) -> Option<Owned> {
        match &mut self.levels {
            None => self.tail.bring(segment),
            Some(levels) => levels.bring(segment),
        }
    }

    /// Writes a record that a look has let in. `Err`: bring a segment ([`Room::bring`]) and begin anew.
    #[inline(always)]
    pub(crate) fn push_plain<P: Payload>(
        &mut self,
        room: &Room<G>,
        class: Class,
        payload: P,
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        self.tail.push(class, payload, self.pushed, stamp, clock)?;
        self.count_pushed(room);
        Ok(())
    }

    #[inline]
    fn count_pushed(&mut self, room: &Room<G>) {
        self.pushed += 1;
        // A hint for those who look without the lock; the records themselves are ordered by the lock that a refill
        // takes, so Release is more than it needs (weakened, no model fails).
        room.pushed.store(self.pushed, Release);
    }

    /// As [`Producers::push_plain`], also where there are levels.
    #[inline]
    pub(crate) fn push<P: Payload>(
        &mut self,
        room: &Room<G>,
        class: Class,
        payload: P,
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        match &self.levels {
            None => self.push_plain(room, class, payload, stamp, clock),
            Some(levels) if levels.is_aging() => {
                self.push_to_level::<true, P>(room, class, payload, stamp, clock)
            }
            Some(_) => self.push_to_level::<false, P>(room, class, payload, stamp, clock),
        }
    }

    /// As [`Producers::push`], where there are levels, and records have an age or not.
    #[inline(always)]
    pub(crate) fn push_to_level<const AGED: bool, P: Payload>(
        &mut self,
        room: &Room<G>,
        class: Class,
        payload: P,
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        let Some(levels) = &mut self.levels else {
            unreachable!("asked of a plain room")
        };
        levels.push::<AGED, P>(&room.fresh, self.pushed, (class, payload), stamp, clock)?;
        self.count_pushed(room);
        Ok(())
    }

    /// Writes a record for which there must be a place, at the price of an allocation under the lock.
    pub(crate) fn push_surely<P: Payload>(
        &mut self,
        room: &Room<G>,
        class: Class,
        payload: P,
        stamp: bool,
        clock: &Clock,
    ) {
        let mut next = Some(payload);
        while let Some(payload) = next.take() {
            if let Err(back) = self.push(room, class, payload, stamp, clock) {
                next = Some(back);
                let extra = self.bring(room.segment());
                debug_assert!(extra.is_none(), "a tail with a segment at hand was full");
            }
        }
    }

    /// As [`Producers::push_surely`], of a record that lay elsewhere in this room. Arrivals are forgotten.
    pub(super) fn push_slot(&mut self, room: &Room<G>, slot: Slot, clock: &Clock) {
        let mut next = Some(slot);
        while let Some(slot) = next.take() {
            let pushed = match &mut self.levels {
                Some(levels) => levels.push_slot(&room.fresh, self.pushed, slot, clock),
                None => self.tail.push_slot([], slot),
            };
            match pushed {
                Ok(()) => self.count_pushed(room),
                Err(back) => {
                    next = Some(back);
                    let extra = self.bring(room.segment());
                    debug_assert!(extra.is_none(), "a tail with a segment at hand was full");
                }
            }
        }
    }

    /// A task was accepted, and waits where there are no records.
    pub(crate) fn put_aside(&mut self, room: &Room<G>, class: Class) {
        self.aside += 1;
        if let Some(levels) = &mut self.levels {
            levels.put_aside(class);
        }
        // It took a place that the next ones counted on, whichever way they come.
        self.open_until = self.open_until.saturating_sub(1);
        self.levels_open_until = self.levels_open_until.saturating_sub(1);
        room.aside.store(self.aside, Release);
    }

    /// A task that waited elsewhere has its record now.
    pub(crate) fn no_longer_aside(&mut self, room: &Room<G>, class: Class) {
        self.aside -= 1;
        if let Some(levels) = &mut self.levels {
            levels.no_longer_aside(class);
        }
        // After the record was counted: see `Room::accepted`.
        room.aside.store(self.aside, Release);
    }

    /// Whether somebody waits where there are no records, or was handed on from there and not taken.
    pub(crate) fn has_some_aside(&self, room: &Room<G>) -> bool {
        // Read once: who comes there afterwards is one of those aside for this look.
        let handed = room.popped.handed.load(Acquire);
        let aside = self.aside.saturating_sub(room.removed.from_aside.load(Acquire));
        aside > handed || handed > room.popped.gone.load(Acquire)
    }

    /// Tasks that were let in through here, and records of woken futures: the number of the next one.
    pub(crate) fn accepted_so_far(&self) -> u64 {
        self.pushed + self.aside
    }

    /// Holds a permit for a submission that must leave the lock before it can publish.
    pub(crate) fn reserve(&mut self) {
        self.reserved += 1;
        self.shut();
    }

    /// The permit of a submission goes to a task that waits for its time.
    pub(crate) fn cover(&mut self) {
        self.unreserve();
        self.covered += 1;
    }

    /// A permit for a task that waits in an annex.
    pub(crate) fn lend(&mut self) {
        self.covered += 1;
        self.shut();
    }

    pub(crate) fn uncover(&mut self, tasks: u64) {
        self.covered -= tasks;
        self.shut();
    }

    pub(crate) fn unreserve(&mut self) {
        self.reserved -= 1;
        self.shut();
    }
}

impl<G: Gate> Room<G> {
    /// Writes records that need no permit: to a room without a bound, whatever its state.
    pub(crate) fn append_all(&self, entries: &mut Vec<Entry>, clock: &Clock) {
        let mut entries = entries.drain(..);
        let mut next = entries.next();
        while next.is_some() {
            {
                let mut producers = self.producers();
                while let Some(entry) = next.take() {
                    let class = entry.header().class;
                    match producers.push(self, class, entry, true, clock) {
                        Ok(()) => next = entries.next(),
                        Err(back) => {
                            next = Some(back);
                            break;
                        }
                    }
                }
            }
            if next.is_some() {
                self.bring();
            }
        }
    }

    /// What was ever written and not removed unrun.
    pub(crate) fn kept(&self) -> u64 {
        self.producers().kept(self)
    }

    /// What the pool's admission does, without a pool.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn push<P: Payload>(&self, mut payload: P) -> Result<(), Refusal> {
        loop {
            let mut producers = self.producers();
            if producers.closed {
                return Err(Refusal::Closed);
            }
            let waiting = producers.held(self) as usize;
            match producers.capacity {
                Capacity::Bounded(capacity) if waiting >= capacity => {
                    return Err(Refusal::Full { waiting, capacity });
                }
                _ => {}
            }
            match producers.push(self, Class::ROOT, payload, true, &Clock::system()) {
                Ok(()) => return Ok(()),
                Err(back) => payload = back,
            }
            drop(producers);
            self.bring();
        }
    }
}
