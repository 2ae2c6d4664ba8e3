//! The timer store of a pool: what is to happen when, for any number of timers.
//!
//! In: a time and a plain value. Out: a key to remove it by, and the values that are due, in order of time, and of
//! insertion where times are equal. A plain structure: the caller holds a lock, and nothing foreign runs in here.
//!
//! Three parts. The `slab` keeps the nodes; a key is an index and the node's sequence, so an old key finds nothing.
//! The `wheel` keeps what is far, unsorted, in buckets by the bits of its time. `near` keeps in exact order what lies
//! at or before the wheel's position. A timer is inserted into one bucket, and moves to a finer one or to `near` when
//! its bucket is opened, at most once per level; most are removed before that and never move.
//!
//! - Never early, never out of order: nothing is taken while a bucket is half emptied, and the position never passes
//!   an occupied bucket, so whatever is near comes before whatever is in the wheel.
//! - No ticking: a bucket knows its earliest time, and the store asks to be looked at then (a little before, if it is
//!   crowded). Only where the earliest
//!   one was removed that look may find nothing due; it empties that bucket into finer ones.
//! - No stalls: a bucket is emptied in pieces, a few blocks per call, and one that holds mostly removed timers is
//!   swept a block per removal. What can cost more, and rarely, is a removal from a large crowd within a millisecond.

mod blocks;
mod crowd;
mod near;
mod slab;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
mod wheel;

use self::near::{Exact, Near};
use self::slab::Slab;
use self::wheel::{Entry, NEAR, Wheel, is_live};
use super::Tick;

/// Blocks of a bucket that one call moves at most. Whoever waits for the lock waits for no more than this.
const PIECES: usize = 4;

/// More than these in a bucket are moved before their time, so that the first of them is not late: about as long before
/// as it takes, and at most so much.
const CROWD: u64 = 1024;
const MOVING: Tick = 200;
const AHEAD: Tick = 250_000_000;

/// A timer that is due. The order of the fields is the order of the timers, also of two stores that count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Taken<V> {
    pub(crate) when: Tick,
    pub(crate) sequence: u64,
    pub(crate) value: V,
}

/// Names one timer. A key whose timer is gone is harmless, however old it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    index: u32,
    sequence: u64,
}

#[derive(Debug)]
pub(crate) struct Store<V> {
    slab: Slab<V>,
    wheel: Wheel,
    near: Near,
    /// The sequence of the timer inserted last.
    sequence: u64,
    /// When a bucket that has just become crowded wants to be opened; see [`Store::take_opening`].
    crowded: Option<Tick>,
    /// The bucket that is being emptied. Until it is, a timer in it may be earlier than any near one.
    open: Option<u16>,
}

impl<V: Copy> Store<V> {
    pub(crate) fn new(now: Tick) -> Self {
        Store {
            slab: Slab::new(),
            wheel: Wheel::new(now),
            near: Near::new(),
            sequence: 0,
            crowded: None,
            open: None,
        }
    }

    /// Any `when`, also one that has passed; equal ones stay in the order of insertion.
    pub(crate) fn insert(&mut self, when: Tick, value: V) -> Key {
        self.sequence += 1;
        let sequence = self.sequence;
        let bucket = self.wheel.bucket_of(when);
        let index = self.slab.insert(when, sequence, bucket, value);
        self.place(bucket, when, sequence, index);
        if bucket != NEAR {
            let crowd = self.wheel.live(bucket);
            if crowd > CROWD && crowd.is_power_of_two() {
                self.crowded = Some(self.opening(bucket));
            }
        }
        Key { index, sequence }
    }

    /// Really removes it: its memory is used again at once, or given back.
    pub(crate) fn remove(&mut self, key: Key) -> Option<V> {
        let node = self.slab.get(key.index, key.sequence)?;
        let (value, bucket) = (node.value, node.bucket);
        self.slab.remove(key.index);
        let slab = &self.slab;
        if bucket == NEAR {
            self.near
                .removed(|item| slab.get(item.index, item.sequence).is_some());
        } else if self.wheel.removed(bucket, slab) && self.open == Some(bucket) {
            self.emptied();
        }
        Some(value)
    }

    /// A look that has become necessary by the last insertion: before the time that was inserted.
    pub(crate) fn take_opening(&mut self) -> Option<Tick> {
        self.crowded.take()
    }

    /// When it is due, if it is still here.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(crate) fn when(&self, key: Key) -> Option<Tick> {
        let node = self.slab.get(key.index, key.sequence)?;
        Some(node.when)
    }

    /// The number of the timer inserted last, for [`Store::count_from`] of another.
    pub(crate) fn count(&self) -> u64 {
        self.sequence
    }

    /// Numbers the next timers after those of another store, so that what is taken from both can be put in order.
    pub(crate) fn count_from(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
    }

    pub(crate) fn len(&self) -> usize {
        self.slab.len()
    }

    /// When to call [`Store::take_due`] next: the time of the earliest timer, or before it if an earlier one of its
    /// bucket was removed.
    pub(crate) fn next_look(&self) -> Option<Tick> {
        let near = self.near.first().map(|item| item.when);
        if let Some(bucket) = self.open {
            let earliest = self.wheel.earliest(bucket);
            return Some(near.map_or(earliest, |near| near.min(earliest)));
        }
        near.or_else(|| self.wheel.first().map(|bucket| self.opening(bucket)))
    }

    /// When the first bucket is opened: at its first time, or before if it takes long to move what is in it.
    fn opening(&self, bucket: u16) -> Tick {
        let crowd = self.wheel.live(bucket);
        let ahead = if crowd > CROWD {
            (crowd * MOVING).min(AHEAD)
        } else {
            0
        };
        self.wheel.earliest(bucket).saturating_sub(ahead)
    }

    /// Moves at most `at_most` due timers to `out`, in order. Says whether to call again now: there may be more, or
    /// the work of this call was enough for one.
    pub(crate) fn take_due(&mut self, now: Tick, at_most: usize, out: &mut Vec<Taken<V>>) -> bool {
        let mut pieces = PIECES;
        let mut room = at_most;
        loop {
            while let Some(bucket) = self.open {
                if pieces == 0 {
                    return true;
                }
                pieces -= 1;
                self.move_block(bucket);
            }
            while let Some(first) = self.near.first() {
                if first.when > now {
                    // Whatever is in the wheel is later still.
                    return false;
                }
                if room == 0 {
                    return true;
                }
                room -= 1;
                self.take_first(first, out);
            }
            let first = self.wheel.first();
            match first {
                Some(bucket) if self.opening(bucket) <= now => {
                    self.wheel.open(bucket);
                    self.open = Some(bucket);
                }
                _ => {
                    self.wheel.turn_before(now, first);
                    return false;
                }
            }
        }
    }

    /// Everything, in order; the store is empty after.
    pub(crate) fn drain(&mut self) -> Vec<(Tick, V)> {
        let slab = std::mem::replace(&mut self.slab, Slab::new());
        self.wheel = self.wheel.emptied();
        self.near = Near::new();
        self.open = None;
        let mut nodes: Vec<_> = slab.live_nodes().copied().collect();
        nodes.sort_unstable_by_key(|node| (node.when, node.sequence()));
        nodes.iter().map(|node| (node.when, node.value)).collect()
    }

    fn place(&mut self, bucket: u16, when: Tick, sequence: u64, index: u32) {
        if bucket == NEAR {
            self.near.push(Exact {
                when,
                sequence,
                index,
            });
        } else {
            let sequence = sequence as u32;
            self.wheel.push(bucket, when, Entry { index, sequence });
        }
    }

    /// Moves one block of the open bucket to finer buckets and to `near`.
    fn move_block(&mut self, bucket: u16) {
        let (mut live, mut dead) = (0, 0);
        for entry in self.wheel.take_block(bucket) {
            if !is_live(entry, bucket, &self.slab) {
                dead += 1;
                continue;
            }
            live += 1;
            if let Some(node) = self.slab.at(entry.index) {
                let (when, sequence) = (node.when, node.sequence());
                let finer = self.wheel.bucket_of(when);
                debug_assert_ne!(finer, bucket, "an open bucket is where the wheel stands");
                self.slab.set_bucket(entry.index, finer);
                if finer == NEAR {
                    self.near.gather(Exact {
                        when,
                        sequence,
                        index: entry.index,
                    });
                } else {
                    self.place(finer, when, sequence, entry.index);
                }
            }
        }
        if self.wheel.moved(bucket, live, dead) {
            self.emptied();
        }
    }

    /// The open bucket has been emptied.
    fn emptied(&mut self) {
        self.open = None;
        let slab = &self.slab;
        self.near
            .gathered(|item| slab.get(item.index, item.sequence).is_some());
    }

    fn take_first(&mut self, first: Exact, out: &mut Vec<Taken<V>>) {
        if let Some(node) = self.slab.get(first.index, first.sequence) {
            out.push(Taken {
                when: node.when,
                sequence: node.sequence(),
                value: node.value,
            });
            self.slab.remove(first.index);
        }
        let slab = &self.slab;
        self.near
            .pop(|item| slab.get(item.index, item.sequence).is_some());
    }

    /// Bytes it holds on the heap.
    #[cfg(all(test, not(any(loom, shuttle))))]
    fn footprint(&self) -> usize {
        self.slab.footprint() + self.wheel.footprint() + self.near.footprint()
    }
}
