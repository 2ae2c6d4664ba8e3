//! The plain waiting room: a log behind two locks.
//!
//! In: records, accepted or refused under the producers' lock. Out: records, one at a time, under the consumers'
//! lock, in the order in which they were accepted. Lock order: consumers before producers. Nothing
//! user-written happens under either lock, and nothing is allocated there but a sweep's list of what it found.
//!
//! **Counting.** `pushed`: records ever written. `popped`: records that left the log; `taken`: those among them that a
//! worker took (the others' task was claimed elsewhere, or the log was drained). `cancelled`, `returned`: tasks that ended
//! without being taken, together *removed*. A permit is held from the push until the task is taken or removed, so
//! `waiting = pushed - taken - removed`, and each permit comes back exactly once. The producers keep a stale copy of what
//! came back and look again only when that is used up: in the common case they compare two numbers of their own and read
//! nothing that consumers write.
//!
//! **Layout.** What producers write and what consumers write lie on different cache lines; the test
//! `sides_do_not_share_lines` holds that. (With both on one line a push takes five times as long.)

use super::Capacity;
use super::chain::{Head, Swept, Tail};
use super::segment::Owned;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use crate::sync::{Guard, Lock, Padded};
use crate::task::Class;
use crate::task::record::{Payload, Slot};
use crate::task::state::{Claim, End};
use crate::time::{Clock, Tick};

/// Spare segments are kept up to this many, one megabyte; a longer burst's memory goes back to the allocator.
const MAX_SPARES: usize = 256;

/// Dead entries may be this many more than live ones before they are swept out.
const DEAD_SLACK: u64 = 1024;

/// A log, its locks, and its counts. `G` is what the pool keeps under the producers' lock beside them.
#[repr(C)]
pub(crate) struct Room<G> {
    producers: Padded<Lock<Producers<G>>>,
    /// Mirror of [`Producers::pushed`], for those who look without the lock.
    pushed: Padded<AtomicU64>,
    consumers: Padded<Lock<Consumers>>,
    popped: Padded<Popped>,
    cancelled: AtomicU64,
    returned: AtomicU64,
    spares: Lock<Vec<Owned>>,
}

/// Everything that decides about acceptance.
pub(crate) struct Producers<G> {
    tail: Tail,
    pushed: u64,
    /// Permits that came back, when last looked at; never more than the truth.
    returned: u64,
    capacity: Capacity,
    /// Records with a smaller number may be written without a look at anything else: the one comparison of the common
    /// case. 0 whenever something changed that a look would see ([`Producers::shut`]).
    open_until: u64,
    /// Permits of submissions that are starting a worker before they publish.
    reserved: u64,
    closed: bool,
    pub(crate) gate: G,
}

struct Consumers {
    head: Head,
    /// Records that left the log.
    popped: u64,
    /// Those among them that a worker took.
    taken: u64,
}

/// Mirror of the consumers' counts, for those who look without their lock.
struct Popped {
    records: AtomicU64,
    taken: AtomicU64,
}

impl Popped {
    fn publish(&self, consumers: &Consumers) {
        self.taken.store(consumers.taken, Release);
        self.records.store(consumers.popped, Release);
    }
}

/// Why a task was not let in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Closed,
    Full { waiting: usize, capacity: usize },
}

/// Counts read at one moment; see [`Room::tally`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    pub(crate) pushed: u64,
    pub(crate) taken: u64,
    /// Tasks that were cancelled before they were taken.
    pub(crate) cancelled: u64,
    /// Tasks that `stop` or `drain` took out.
    pub(crate) returned: u64,
    pub(crate) capacity: Capacity,
}

impl Tally {
    pub(crate) fn waiting(&self) -> u64 {
        self.pushed - self.taken - self.cancelled - self.returned
    }
}

impl<G> Producers<G> {
    pub(crate) fn is_closed(&self) -> bool {
        self.closed
    }

    pub(crate) fn close(&mut self) {
        self.closed = true;
        self.shut();
    }

    /// Whether a record may be written without a [`Producers::check`].
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.pushed < self.open_until
    }

    /// Makes the next submission look: something changed, here or in the gate.
    pub(crate) fn shut(&mut self) {
        self.open_until = 0;
    }

    /// After a check that let one in, and a gate that has nothing against it: as many more need not look.
    pub(crate) fn open(&mut self) {
        self.open_until = (self.returned.saturating_add(self.capacity.limit())).saturating_sub(self.reserved);
    }

    /// Decides whether one more task may come in.
    pub(crate) fn check(&mut self, room: &Room<G>) -> Result<(), Refusal> {
        if self.closed {
            return Err(Refusal::Closed);
        }
        self.returned = room.permits_back();
        let held = self.pushed - self.returned + self.reserved;
        match self.capacity {
            Capacity::Bounded(capacity) if held >= capacity as u64 => Err(Refusal::Full {
                waiting: held as usize,
                capacity,
            }),
            _ => Ok(()),
        }
    }

    /// Writes a record that [`Producers::check`] has let in. `Err`: bring a segment ([`Room::bring`]) and begin anew.
    #[inline]
    pub(crate) fn push<P: Payload>(
        &mut self,
        room: &Room<G>,
        class: Class,
        payload: P,
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        self.tail.push(class, payload, self.pushed, stamp, clock)?;
        self.pushed += 1;
        // A hint for those who look without the lock; the records themselves are ordered by the lock that a refill
        // takes, so Release is more than it needs (weakened, no model fails).
        room.pushed.store(self.pushed, Release);
        Ok(())
    }

    /// Holds a permit for a submission that must leave the lock before it can publish.
    pub(crate) fn reserve(&mut self) {
        self.reserved += 1;
        self.shut();
    }

    pub(crate) fn unreserve(&mut self) {
        self.reserved -= 1;
        self.shut();
    }
}

impl<G> Room<G> {
    pub(crate) fn new(capacity: Capacity, gate: G) -> Self {
        Room {
            producers: Padded(Lock::new(Producers {
                tail: Tail::new(Owned::new()),
                pushed: 0,
                returned: 0,
                capacity,
                open_until: 0,
                reserved: 0,
                closed: false,
                gate,
            })),
            pushed: Padded(AtomicU64::new(0)),
            consumers: Padded(Lock::new(Consumers {
                head: Head::new(Owned::new()),
                popped: 0,
                taken: 0,
            })),
            popped: Padded(Popped {
                records: AtomicU64::new(0),
                taken: AtomicU64::new(0),
            }),
            cancelled: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            spares: Lock::new(Vec::new()),
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
        let spare = self.spares.lock().pop();
        let segment = spare.unwrap_or_else(Owned::new);
        let extra = self.producers().tail.bring(segment);
        self.spare(extra);
    }

    fn spare(&self, segment: Option<Owned>) {
        let Some(mut segment) = segment else { return };
        segment.reset();
        let mut spares = self.spares.lock();
        if spares.len() < MAX_SPARES {
            spares.push(segment);
        }
    }

    /// Permits that came back: three counts that only grow, so the sum is never more than the truth.
    fn permits_back(&self) -> u64 {
        self.popped.taken.load(Acquire) + self.removed()
    }

    /// Tasks that ended without being taken.
    fn removed(&self) -> u64 {
        self.cancelled.load(Acquire) + self.returned.load(Acquire)
    }

    /// Moves the oldest waiting record into the slot, claimed. False: nothing waits.
    #[inline]
    pub(crate) fn pop(&self, slot: &mut Slot) -> bool {
        loop {
            let mut consumers = self.consumers.lock();
            if consumers.head.is_dry() {
                // Without the tail's lock first: a consumer that finds nothing must not slow the producers down.
                if self.pushed.load(Acquire) == consumers.popped {
                    return false;
                }
                consumers.head.refill(&mut self.producers.lock().tail);
            }
            let number = consumers.popped;
            consumers.head.take(slot, number);
            // Under the lock: the order of claims is the order of the log, and the permit comes back once.
            let lost = slot
                .peek_entry()
                .is_some_and(|entry| entry.header().state.claim() == Claim::Lost);
            consumers.popped += 1;
            if !lost {
                consumers.taken += 1;
            }
            self.popped.publish(&consumers);
            let finished = consumers.head.take_finished();
            drop(consumers);
            if finished.is_some() {
                self.spare(finished);
            }
            if !lost {
                return true;
            }
            if let Some(entry) = slot.take_entry() {
                entry.let_go();
            }
        }
    }

    /// Two loads; may be old, both ways.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.pushed.load(Acquire) == self.popped.records.load(Acquire)
    }

    /// Whether nothing is in the log, seen under the producers' lock: whoever pushes after this has taken that lock
    /// after us, and sees what we wrote before it. The idle protocol stands on this.
    pub(crate) fn is_empty(&self) -> bool {
        self.look(|_| true)
    }

    /// [`Room::is_empty`], and more may come.
    pub(crate) fn is_empty_and_open(&self) -> bool {
        self.look(|producers| !producers.closed)
    }

    /// [`Room::is_empty`], and nothing will come any more.
    pub(crate) fn is_closed_and_empty(&self) -> bool {
        self.look(|producers| producers.closed)
    }

    fn look(&self, holds: impl FnOnce(&Producers<G>) -> bool) -> bool {
        let producers = self.producers.lock();
        producers.pushed == self.popped.records.load(Acquire) && holds(&producers)
    }

    /// A task ended without being taken, as `Cancelled` or `Returned`: its permit comes back. Says whether the dead
    /// entries need a sweep.
    #[must_use]
    pub(crate) fn remove(&self, end: End) -> bool {
        let counter = if end == End::Returned {
            &self.returned
        } else {
            &self.cancelled
        };
        counter.fetch_add(1, AcqRel);
        // Drained records count in both; the difference is what lies dead in the log. Both may be a moment old.
        let untaken = self
            .popped
            .records
            .load(Acquire)
            .saturating_sub(self.popped.taken.load(Acquire));
        let dead = self.removed().saturating_sub(untaken);
        if dead <= DEAD_SLACK {
            return false;
        }
        let waiting = self.pushed.load(Acquire).saturating_sub(self.permits_back());
        dead > waiting + DEAD_SLACK
    }

    /// Sweeps the dead entries out.
    #[cold]
    pub(crate) fn sweep(&self) {
        let mut swept = Swept::default();
        {
            let mut consumers = self.consumers.lock();
            consumers.head.sweep(&mut swept);
            self.producers.lock().tail.sweep(&mut swept);
            consumers.popped += swept.dead.len() as u64;
            self.popped.publish(&consumers);
        }
        for segment in swept.emptied {
            self.spare(Some(segment));
        }
        for entry in swept.dead {
            entry.let_go();
        }
    }

    /// Takes everything out, in order. The tasks are not claimed yet and still hold their permits.
    pub(crate) fn drain(&self) -> Drained {
        let (first, second) = (Owned::new(), Owned::new());
        let mut consumers = self.consumers.lock();
        let front = consumers.head.detach(first);
        // A second, dry head takes the tail's chain over.
        let mut back = Head::new(second);
        back.refill(&mut self.producers.lock().tail);
        consumers.popped += front.left() + back.left();
        self.popped.publish(&consumers);
        drop(consumers);
        Drained {
            chains: [front, back],
        }
    }

    /// The counts at one moment. While `settled` runs no task can be taken, so what it reads of ended tasks fits the
    /// taken ones.
    pub(crate) fn tally<R>(&self, settled: impl FnOnce() -> R) -> (Tally, R) {
        let consumers = self.consumers.lock();
        let settled = settled();
        let (taken, cancelled) = (consumers.taken, self.cancelled.load(Acquire));
        let returned = self.returned.load(Acquire);
        let producers = self.producers.lock();
        let (pushed, capacity) = (producers.pushed, producers.capacity);
        let tally = Tally {
            pushed,
            taken,
            cancelled,
            returned,
            capacity,
        };
        (tally, settled)
    }

    /// As [`Room::tally`] without locks: each number is true of some moment, but not all of the same.
    pub(crate) fn glance(&self) -> (u64, u64) {
        let pushed = self.pushed.load(Acquire);
        (pushed, pushed.saturating_sub(self.permits_back()))
    }

    /// What the pool's admission does, without a pool.
    #[cfg(all(test, not(shuttle)))]
    pub(crate) fn push<P: Payload>(&self, mut payload: P) -> Result<(), Refusal> {
        loop {
            let mut producers = self.producers();
            if !producers.is_open() {
                producers.check(self)?;
                producers.open();
            }
            match producers.push(self, Class::ROOT, payload, true, &Clock::system()) {
                Ok(()) => return Ok(()),
                Err(back) => payload = back,
            }
            drop(producers);
            self.bring();
        }
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

/// Records taken out by [`Room::drain`], in order.
pub(crate) struct Drained {
    chains: [Head; 2],
}

impl Iterator for Drained {
    type Item = Slot;
    fn next(&mut self) -> Option<Slot> {
        let chain = self.chains.iter_mut().find(|chain| !chain.is_dry())?;
        let mut slot = Slot::empty();
        // Arrivals do not matter any more: a number that is never a sample's.
        chain.take(&mut slot, 1);
        drop(chain.take_finished());
        Some(slot)
    }
}
