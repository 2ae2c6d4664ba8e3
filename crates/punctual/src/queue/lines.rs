//! The ends of a room with levels: a log for each.
//!
//! In: records at the [`Tails`], under the producers' lock, each at the end of its level. Out: records at the [`Heads`],
//! under the consumers' lock, from the level that the rule chooses. Between them, as in a plain room, whole chains: all
//! levels whose head is dry are filled in one visit; only a record that is alone goes past the heads. A bitmap of tails that hold records is kept outside the locks
//! ([`Fresh`]), so that a visit is made only when there is something to fetch.
//!
//! Where the rule is aging each record has its age before it: how many were accepted before it, and when. Otherwise a
//! record is what it is in a plain room. Here is what the ends are made of; what is done at them: [`tails`], [`heads`],
//! [`both`].

mod both;
mod heads;
mod tails;

use super::chain::{Head, Tail};
use super::counts::PerLevel;
use super::levels::Discipline;
use super::rules::{LEVELS, Rule};
use super::segment::Owned;
use crate::sync::atomic::AtomicU32;
use crate::sync::atomic::Ordering::Acquire;
use crate::time::{Clock, Tick};

/// Which levels hold records, a bit for each: in their tails, and at their heads. Written under the lock of each side.
pub(super) struct Fresh {
    tails: AtomicU32,
    heads: AtomicU32,
}

impl Fresh {
    pub(super) fn new() -> Self {
        Fresh {
            tails: AtomicU32::new(0),
            heads: AtomicU32::new(0),
        }
    }

    /// Acquire pairs with the release of whoever wrote it, as [`Tails::push`]; what is fetched is ordered by the producers' lock.
    #[inline]
    fn tails(&self) -> u32 {
        self.tails.load(Acquire)
    }

    /// The most urgent level that holds a record, dead ones included; a look without a lock.
    pub(super) fn first(&self) -> Option<usize> {
        // The tails first: what a refill moves meanwhile is at the heads before it has left the tails.
        let tails = self.tails();
        let any = tails | self.heads.load(Acquire);
        (any != 0).then(|| any.trailing_zeros() as usize)
    }
}

/// Where producers write.
pub(super) struct Tails {
    tails: Box<[Line<Tail>]>,
    /// Those that hold records.
    fresh: u32,
    /// The last level.
    last: usize,
    /// The level that needs a segment.
    wanting: usize,
    ages: bool,
    /// Of each level, records that lie at the front.
    front: PerLevel,
    /// Tasks of each level that have no record.
    aside: PerLevel,
    /// Of each level, records of futures that were polled before.
    woken: PerLevel,
}

/// Where consumers read.
pub(super) struct Heads {
    heads: Box<[Line<Head>]>,
    /// Those that are not dry.
    occupied: u32,
    /// Of the record at each head, where records have an age; where there is none, the largest rank.
    stamps: [Tick; LEVELS],
    ranks: [u64; LEVELS],
    rule: Rule,
    clock: Clock,
    /// Of each level, records that left it without a worker that took them.
    untaken: PerLevel,
    /// Of each level, tasks that workers took from the front.
    front: PerLevel,
    /// Of each level, tasks that their wait brought before a more urgent one.
    pub(super) promoted: PerLevel,
    /// How often each level was found empty at both ends, as its last record was taken.
    pub(super) drained: PerLevel,
}

/// One end of one level, and how many records ever passed it. A cache line of its own, which also makes it quick to find.
#[repr(align(64))]
struct Line<E> {
    end: E,
    number: u64,
}

impl Tails {
    pub(super) fn new(discipline: &Discipline) -> Self {
        let line = |_| Line {
            end: Tail::new(Owned::new()),
            number: 0,
        };
        Tails {
            tails: (0..discipline.levels).map(line).collect(),
            fresh: 0,
            last: discipline.levels - 1,
            wanting: 0,
            ages: discipline.is_aging(),
            front: PerLevel::default(),
            aside: PerLevel::default(),
            woken: PerLevel::default(),
        }
    }
}

impl Heads {
    pub(super) fn new(discipline: Discipline, clock: Clock) -> Self {
        let line = |_| Line {
            end: Head::new(Owned::new()),
            number: 0,
        };
        Heads {
            heads: (0..discipline.levels).map(line).collect(),
            occupied: 0,
            stamps: [0; LEVELS],
            ranks: [u64::MAX; LEVELS],
            rule: discipline.rule,
            clock,
            untaken: PerLevel::default(),
            front: PerLevel::default(),
            promoted: PerLevel::default(),
            drained: PerLevel::default(),
        }
    }
}
