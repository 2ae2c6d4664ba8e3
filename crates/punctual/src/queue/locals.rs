//! The deques of a room: what workers submitted from inside their tasks.
//!
//! In: a worker that begins or leaves. Out: its [`Local`]; the list of all deques for thieves; sums over those that are
//! there and those that were. A room with deques counts their tasks with its own ([`counts`](super::counts)).

use super::deque::{Counts, Deque, Local, in_one_order};
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{Relaxed, SeqCst};
use crate::sync::{Arc, Lock};
use std::fmt;

/// How often sums are read again that have changed meanwhile.
const LOOKS: usize = 64;

/// The deques.
pub(crate) struct Locals {
    list: Lock<List>,
    /// Grows with each change of the list.
    version: AtomicUsize,
    pub(crate) heed: Heed,
    pub(crate) way_in: Arc<WayIn>,
    /// The level of all tasks in deques; 0 in a room without levels.
    level: usize,
}

#[derive(Default)]
struct List {
    deques: Vec<Arc<Deque>>,
    /// What the workers that left had counted.
    past: Counts,
}

impl List {
    /// What left is read before what came: of what left, nothing is missing among what came.
    fn counts(&self) -> Counts {
        let mut counts = self.past;
        self.deques.iter().for_each(|each| counts += each.left());
        self.deques.iter().for_each(|each| counts.pushed += each.pushed());
        counts
    }
}

/// What a worker looks at when it takes from a deque: bits, written under the consumers' lock.
#[derive(Debug)]
pub(crate) struct Heed(AtomicU32);

impl Heed {
    /// Nothing may be taken, also to be run in place.
    pub(super) const PAUSED: u32 = 1;
    /// Somebody waits for room.
    pub(super) const AWAITED: u32 = 2;
    /// Something in the shared queue goes before everything else.
    pub(super) const FRONT: u32 = 4;
    /// Nothing may be taken by a worker that comes for its next task.
    pub(super) const BARRED: u32 = 8;

    pub(super) fn set(&self, bits: u32) {
        if self.0.load(Relaxed) != bits {
            self.0.store(bits, SeqCst);
        }
    }

    /// To be asked after the step by which a record is taken.
    #[inline]
    pub(super) fn is_paused(&self) -> bool {
        self.0.load(SeqCst) & Heed::PAUSED != 0
    }

    /// As [`Heed::is_paused`], of a worker that comes for its next task.
    #[inline]
    pub(super) fn is_barred(&self) -> bool {
        self.0.load(SeqCst) & Heed::BARRED != 0
    }

    /// Whether somebody waits for the place that a taken task leaves. To be asked after that.
    #[inline]
    pub(crate) fn is_awaited(&self) -> bool {
        self.0.load(SeqCst) & Heed::AWAITED != 0
    }

    #[inline]
    pub(crate) fn has_front(&self) -> bool {
        self.0.load(Relaxed) & Heed::FRONT != 0
    }
}

/// Whether a worker may put a task into its deque without a look at anything else. Written under the producers' lock.
#[derive(Debug)]
pub(crate) struct WayIn(AtomicU32);

impl WayIn {
    pub(super) fn set(&self, open: bool) {
        // A shut way in stays so, in most cases: no store then.
        if (self.0.load(Relaxed) != 0) != open {
            self.0.store(u32::from(open), SeqCst);
        }
    }

    /// A hint: after the push it is to be asked again, by [`WayIn::is_still_open`].
    #[inline]
    pub(crate) fn is_open(&self) -> bool {
        self.0.load(Relaxed) != 0
    }

    /// In one order with the push before it: if this says yes, whoever shuts the way in later sees the record.
    #[inline]
    pub(crate) fn is_still_open(&self) -> bool {
        self.0.load(SeqCst) != 0
    }
}

/// A worker's own copy of the list, without its own deque.
#[derive(Debug, Default)]
pub(crate) struct Victims {
    deques: Vec<Arc<Deque>>,
    /// Of the list that was copied; 0 before the first.
    version: usize,
}

impl Victims {
    pub(crate) fn deques(&self) -> &[Arc<Deque>] {
        &self.deques
    }
}

impl Locals {
    pub(crate) fn new(level: usize) -> Self {
        Locals {
            list: Lock::new(List::default()),
            version: AtomicUsize::new(1),
            heed: Heed(AtomicU32::new(0)),
            way_in: Arc::new(WayIn(AtomicU32::new(0))),
            level,
        }
    }

    /// The level of all tasks in deques; 0 in a room without levels.
    pub(crate) fn level(&self) -> usize {
        self.level
    }

    /// A worker of the engine with this number begins.
    pub(crate) fn join(&self, engine: usize) -> Local {
        let local = Local::new(engine, self.way_in.clone());
        let mut list = self.list.lock();
        list.deques.push(local.deque().clone());
        self.version.fetch_add(1, SeqCst);
        local
    }

    /// A worker leaves; its deque is empty, and stays so.
    pub(crate) fn leave(&self, local: &Local) {
        let mut list = self.list.lock();
        list.deques.retain(|each| !Arc::ptr_eq(each, local.deque()));
        list.past += local.deque().counts();
        self.version.fetch_add(1, SeqCst);
    }

    /// Brings a worker's copy up to date.
    #[inline]
    pub(crate) fn look(&self, own: &Local, victims: &mut Victims) {
        if self.version.load(SeqCst) != victims.version {
            self.copy(own, victims);
        }
    }

    #[cold]
    fn copy(&self, own: &Local, victims: &mut Victims) {
        let list = self.list.lock();
        victims.version = self.version.load(SeqCst);
        victims.deques.clear();
        let others = list.deques.iter().filter(|each| !Arc::ptr_eq(each, own.deque()));
        victims.deques.extend(others.cloned());
    }

    /// Whether nothing lies in any of them. In one order with pushes: whoever pushes after this sees what the caller wrote
    /// before it.
    pub(crate) fn are_empty(&self) -> bool {
        in_one_order();
        self.list.lock().deques.iter().all(|each| each.is_empty())
    }

    /// Records in all of them, dead ones included.
    pub(super) fn depth(&self) -> u64 {
        self.list.lock().deques.iter().map(|each| each.len()).sum()
    }

    /// Tasks that workers took out of deques. To be read before [`Locals::pushed`].
    pub(super) fn taken(&self) -> u64 {
        let list = self.list.lock();
        list.past.taken + list.deques.iter().map(|each| each.taken()).sum::<u64>()
    }

    /// Tasks that workers took out of their deques and ran in place. To be read before [`Locals::pushed`].
    pub(super) fn joined(&self) -> u64 {
        let list = self.list.lock();
        list.past.joined + list.deques.iter().map(|each| each.joined()).sum::<u64>()
    }

    /// Tasks that were accepted into deques.
    pub(super) fn pushed(&self) -> u64 {
        let list = self.list.lock();
        list.past.pushed + list.deques.iter().map(|each| each.pushed()).sum::<u64>()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.list.lock().counts()
    }

    /// As [`Locals::counts`], of one moment: nothing left between what left and what came. A reader that lost its processor
    /// in between would else see far more waiting than there ever is room for. Only workers that take faster than anybody
    /// can look make it give up, and then what came since the last look counts as waiting.
    pub(super) fn counts_at_once(&self) -> Counts {
        let list = self.list.lock();
        let mut counts = list.counts();
        for _ in 0..LOOKS {
            let again = list.counts();
            if (again.taken, again.joined) == (counts.taken, counts.joined) {
                break;
            }
            counts = again;
        }
        counts
    }

    pub(super) fn all(&self) -> Vec<Arc<Deque>> {
        self.list.lock().deques.clone()
    }

    /// See [`Deque::settle`].
    pub(super) fn settle(&self) {
        self.all().iter().for_each(|each| each.settle());
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.pushed += other.pushed;
        self.taken += other.taken;
        self.joined += other.joined;
        self.stolen += other.stolen;
        self.in_vain += other.in_vain;
    }
}

impl fmt::Debug for Locals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}
