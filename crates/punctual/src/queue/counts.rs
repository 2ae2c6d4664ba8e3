//! What a room counts, and what follows from it.
//!
//! `pushed`: records ever written. `popped`: records that left the log; `taken`: those among them that a worker took (the
//! others' task was claimed elsewhere, or the log was drained). `cancelled`, `returned`, `evicted`, `expired`: tasks that ended
//! without being taken; `joined`: tasks that a joiner ran in place; `moved`: tasks that got another record; together
//! *removed*. `aside`: tasks that were accepted and have no record, because they stand in a view's line, or left it
//! unrun, or were handed on by another task of their view (`handed`, of which `gone` have left again); so
//! `accepted = pushed + aside - woken`. `woken`: records (and places in line) of futures that were polled before;
//! `resumed`: those that a worker took; neither is a task that comes or is taken, and none of them holds a permit. A permit is held from the acceptance until the task is taken or removed, so
//! `waiting = accepted - taken - removed`, and each permit comes back exactly once. (A moved task's new record brings a
//! permit along, the old one's comes back.) The producers look at these only when the records they may write without a
//! look are used up (`open_until`): in the common case they read nothing that consumers write.
//!
//! A room with deques counts what was accepted there and taken from there by itself, in each deque; both are part of all
//! sums here. A record that goes from a deque to the log is a moved one.
//!
//! A room with levels counts everything once more for each level. A reading of such a room is made of those, so that
//! the levels and their sum never contradict each other.

use super::Capacity;
use super::deque::Counts;
use super::rules::LEVELS;
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use crate::task::home::Removal;

/// Mirror of the consumers' counts, for those who look without their lock.
pub(super) struct Popped {
    pub(super) records: AtomicU64,
    pub(super) taken: AtomicU64,
    /// Records of woken futures among them.
    pub(super) resumed: AtomicU64,
    /// Tasks that were handed on by others of their view, and those among them that have left again: see
    /// [`handed`](super::room).
    pub(super) handed: AtomicU64,
    pub(super) gone: AtomicU64,
}

impl Popped {
    pub(super) fn new() -> Self {
        Popped {
            records: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            resumed: AtomicU64::new(0),
            handed: AtomicU64::new(0),
            gone: AtomicU64::new(0),
        }
    }

    /// The taken first: whoever sees a record gone sees what became of it.
    pub(super) fn publish(&self, records: u64, taken: u64) {
        self.taken.store(taken, Release);
        self.records.store(records, Release);
    }
}

/// A number for each level.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PerLevel(pub(super) [u64; LEVELS]);

/// Tasks that left without being taken by a worker, of the whole room and of each level.
pub(super) struct Removed {
    all: Leavers,
    /// None where the room has no levels.
    levels: Box<[Leavers]>,
    /// Those among all that had no record.
    pub(super) from_aside: AtomicU64,
    /// Records that left a deque, and were not taken: dead ones, those that were drained, and those that got another
    /// record in the log.
    pub(super) from_deques: AtomicU64,
}

/// Each count only grows, once per task.
struct Leavers {
    cancelled: AtomicU64,
    returned: AtomicU64,
    evicted: AtomicU64,
    expired: AtomicU64,
    joined: AtomicU64,
    moved: AtomicU64,
}

impl Leavers {
    fn new() -> Self {
        Leavers {
            cancelled: AtomicU64::new(0),
            returned: AtomicU64::new(0),
            evicted: AtomicU64::new(0),
            expired: AtomicU64::new(0),
            joined: AtomicU64::new(0),
            moved: AtomicU64::new(0),
        }
    }

    fn count(&self, how: Removal) {
        let counter = match how {
            Removal::Cancelled => &self.cancelled,
            Removal::Returned => &self.returned,
            Removal::Evicted => &self.evicted,
            Removal::Expired => &self.expired,
            Removal::Joined => &self.joined,
            Removal::Moved => &self.moved,
        };
        counter.fetch_add(1, AcqRel);
    }

    fn sum(&self) -> u64 {
        let ended = self.cancelled.load(Acquire) + self.returned.load(Acquire) + self.evicted.load(Acquire);
        ended + self.expired.load(Acquire) + self.joined.load(Acquire) + self.moved.load(Acquire)
    }

    /// What it says now, as part of a tally. What was pushed is not known here.
    fn read(&self, taken: u64) -> LevelTally {
        LevelTally {
            taken,
            joined: self.joined.load(Acquire),
            cancelled: self.cancelled.load(Acquire),
            returned: self.returned.load(Acquire),
            evicted: self.evicted.load(Acquire),
            expired: self.expired.load(Acquire),
            moved: self.moved.load(Acquire),
            ..LevelTally::default()
        }
    }
}

impl Removed {
    /// For a room with so many levels, none for a plain one.
    pub(super) fn new(levels: usize) -> Self {
        Removed {
            all: Leavers::new(),
            levels: (0..levels).map(|_| Leavers::new()).collect(),
            from_aside: AtomicU64::new(0),
            from_deques: AtomicU64::new(0),
        }
    }

    /// A task of this level, which a plain room does not have.
    pub(super) fn count(&self, how: Removal, level: usize) {
        // The level first: what the sum has, the levels have.
        if let Some(leavers) = self.levels.get(level) {
            leavers.count(how);
        }
        self.all.count(how);
    }

    pub(super) fn sum(&self) -> u64 {
        self.all.sum()
    }

    /// Everything but what was pushed, of a moment in which no task is taken; `taken` of each level if there are any.
    pub(super) fn read(&self, taken: u64, of_levels: Option<&PerLevel>) -> Tally {
        let mut tally = Tally {
            all: LevelTally::default(),
            levels: [LevelTally::default(); LEVELS],
            depth: self.levels.len(),
            capacity: Capacity::Unbounded,
            occupied: 0,
            paused: false,
            woken: 0,
            resumed: 0,
        };
        let Some(of_levels) = of_levels else {
            tally.all = self.all.read(taken);
            return tally;
        };
        for (level, leavers) in self.levels.iter().enumerate() {
            tally.levels[level] = leavers.read(of_levels.0[level]);
            tally.all.add(&tally.levels[level]);
        }
        tally
    }
}

/// Counts of a room or one of its levels, read at one moment.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct LevelTally {
    /// Records written, also for tasks that were moved; and tasks that have none.
    pushed: u64,
    pub(crate) taken: u64,
    /// Tasks that were cancelled before they were taken.
    pub(crate) cancelled: u64,
    /// Tasks that `stop` or `drain` took out.
    pub(crate) returned: u64,
    /// Tasks that were thrown out for others.
    pub(crate) evicted: u64,
    /// Tasks that waited longer than they were meant to.
    pub(crate) expired: u64,
    /// Tasks that somebody who waited for them ran in place; not part of `taken`.
    pub(crate) joined: u64,
    moved: u64,
    /// Tasks that their wait brought before a more urgent one.
    pub(crate) promoted: u64,
    /// How often the last record was taken and none was there to follow it.
    pub(crate) drained: u64,
}

impl LevelTally {
    fn add(&mut self, other: &LevelTally) {
        self.pushed += other.pushed;
        self.taken += other.taken;
        self.cancelled += other.cancelled;
        self.returned += other.returned;
        self.evicted += other.evicted;
        self.expired += other.expired;
        self.joined += other.joined;
        self.moved += other.moved;
        self.promoted += other.promoted;
        self.drained += other.drained;
    }

    /// Tasks that were let in: a moved one once.
    pub(crate) fn accepted(&self) -> u64 {
        self.pushed - self.moved
    }

    pub(crate) fn waiting(&self) -> u64 {
        let ended = self.cancelled + self.returned + self.evicted + self.expired;
        self.pushed - self.taken - self.joined - self.moved - ended
    }
}

/// Counts read at one moment; see [`Room::tally`](super::room::Room::tally).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tally {
    all: LevelTally,
    levels: [LevelTally; LEVELS],
    /// How many levels there are; none in a plain room.
    depth: usize,
    pub(crate) capacity: Capacity,
    /// Permits that are held, with which the capacity is compared.
    pub(crate) occupied: u64,
    pub(crate) paused: bool,
    /// How often a future that had been polled was put into the queue again.
    pub(crate) woken: u64,
    /// How often a worker took such a future.
    pub(crate) resumed: u64,
}

impl std::ops::Deref for Tally {
    type Target = LevelTally;
    fn deref(&self) -> &LevelTally {
        &self.all
    }
}

impl Tally {
    /// Tasks of deques, all of one level.
    pub(super) fn add_local(&mut self, level: usize, local: Counts) {
        let of_level = self.levels[..self.depth].get_mut(level);
        for tally in of_level.into_iter().chain([&mut self.all]) {
            tally.pushed += local.pushed;
            tally.taken += local.taken;
            tally.joined += local.joined;
        }
    }

    /// What was pushed or put aside: of the room, and of each level if there are any.
    pub(super) fn set_pushed(&mut self, pushed: u64, of_levels: Option<PerLevel>) {
        self.all.pushed = pushed;
        if let Some(of_levels) = of_levels {
            self.all.pushed = 0;
            for (level, pushed) in of_levels.0.into_iter().enumerate() {
                self.levels[level].pushed = pushed;
                self.all.pushed += pushed;
            }
        }
    }

    pub(super) fn set_of_levels(&mut self, promoted: &PerLevel, drained: &PerLevel) {
        for (level, tally) in self.levels.iter_mut().enumerate() {
            (tally.promoted, tally.drained) = (promoted.0[level], drained.0[level]);
        }
    }

    /// Both together; what concerns places is this one's.
    pub(crate) fn with(&self, other: &Tally) -> Tally {
        let mut both = *self;
        both.all.add(&other.all);
        for (level, other) in both.levels.iter_mut().zip(&other.levels) {
            level.add(other);
        }
        both
    }

    /// Of each level; none in a plain room.
    pub(crate) fn levels(&self) -> &[LevelTally] {
        &self.levels[..self.depth]
    }
}
