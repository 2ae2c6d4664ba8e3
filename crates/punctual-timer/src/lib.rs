//! The timer store of a pool: what is to happen when, for any number of timers.
//!
//! In: values that know their time. Out: those that are due, in order of time, and of insertion where times are equal. A
//! plain structure: the caller holds a lock, and nothing foreign runs in here. What the store has to remember about a
//! timer (its number, its seat) is kept with the value ([`Timed`]), so that whoever removes one touches that and one
//! word here.
//!
//! Two parts. The `wheel` keeps what is far, unsorted, in buckets by the bits of its time. `near` keeps in exact order
//! what lies at or before the wheel's position; its items are moved about by sorting, so which of them are still there
//! stands beside them, in bits by `numbers`. A timer is inserted into one bucket, and moves to a finer one or to `near` when its
//! bucket is opened, at most once per level; most are removed before that and never move.
//!
//! - Never early, never out of order: nothing is taken while a bucket is half emptied, and the position never passes
//!   an occupied bucket, so whatever is near comes before whatever is in the wheel.
//! - No ticking: a bucket knows its earliest time, and the store asks to be looked at then (a little before, if it is
//!   crowded). Only where the earliest
//!   one was removed that look may find nothing due; it empties that bucket into finer ones.
//! - No stalls: a bucket is emptied in pieces, a few blocks per call, and one that holds mostly removed timers is
//!   swept a block per removal. What can cost more, and rarely, is a removal from a large crowd within a millisecond.

#![forbid(unsafe_code)]

mod blocks;
mod crowd;
mod entries;
mod near;
mod numbers;
#[cfg(test)]
mod tests;
mod wheel;

use self::entries::{Piece, Spot};
use self::near::Near;
use self::wheel::{NEAR, Wheel};

/// Nanoseconds since the birth of the clock.
pub type Tick = u64;

/// Blocks of a bucket that one call moves at most. Whoever waits for the lock waits for no more than this.
const PIECES: usize = 4;

/// More than these in a bucket are moved before their time, so that the first of them is not late: about as long before
/// as it takes, and at most so much.
const CROWD: u64 = 1024;
const MOVING: Tick = 200;
const AHEAD: Tick = 250_000_000;

/// A timer that is due. The order of the fields is the order of the timers, also of two stores that count together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Taken<V> {
    /// The time it was inserted for.
    pub when: Tick,
    /// Its number in the order of insertion.
    pub sequence: u64,
    /// The value.
    pub value: V,
}

/// A value that keeps what a store has to know about it. The store asks only while the value is in it.
pub trait Timed: Copy {
    /// Does not change while it is in a store.
    fn when(self) -> Tick;
    /// What was set last.
    fn sequence(self) -> u64;
    /// Keeps it.
    fn set_sequence(self, sequence: u64);
    /// What was set last.
    fn seat(self) -> Seat;
    /// Keeps it.
    fn set_seat(self, seat: Seat);
    /// It will be asked something soon: whoever keeps that far away may ask for it now.
    #[inline]
    fn prepare(self) {}
}

/// Where a timer lies: a bucket of the wheel and a spot in it, or near and by which number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    block: u32,
    offset: u16,
    bucket: u16,
}

impl Seat {
    /// For a value that is in no store yet.
    pub const NOWHERE: Seat = Seat::near(0);

    const fn of(bucket: u16, Spot { block, offset }: Spot) -> Self {
        Seat {
            block,
            offset,
            bucket,
        }
    }

    const fn near(index: u32) -> Self {
        Seat {
            block: index,
            offset: 0,
            bucket: NEAR,
        }
    }
}

/// See the crate's header.
#[derive(Debug)]
pub struct Store<V> {
    wheel: Wheel<V>,
    near: Near<V>,
    len: usize,
    /// The sequence of the timer inserted last.
    sequence: u64,
    /// When a bucket that has just become crowded wants to be opened; see [`Store::take_opening`].
    crowded: Option<Tick>,
    /// The bucket that is being emptied. Until it is, a timer in it may be earlier than any near one.
    open: Option<u16>,
}

impl<V: Timed> Store<V> {
    /// An empty store whose time begins at `now`.
    #[must_use]
    pub fn new(now: Tick) -> Self {
        Store {
            wheel: Wheel::new(now),
            near: Near::new(),
            len: 0,
            sequence: 0,
            crowded: None,
            open: None,
        }
    }

    /// Any time, also one that has passed; equal ones stay in the order of insertion.
    pub fn insert(&mut self, value: V) {
        self.sequence += 1;
        value.set_sequence(self.sequence);
        self.len += 1;
        let when = value.when();
        let bucket = self.wheel.bucket_of(when);
        if bucket == NEAR {
            let number = self.near.push(when, self.sequence, value);
            value.set_seat(Seat::near(number));
            return;
        }
        let crowd = u64::from(self.wheel.push(bucket, when, value));
        if crowd > CROWD && crowd.is_power_of_two() {
            self.crowded = Some(self.opening(bucket));
        }
    }

    /// Takes out a value that is in the store. Nothing of it stays but a gap, of which there are never many more than timers.
    #[inline(always)]
    pub fn remove(&mut self, value: V) {
        self.len -= 1;
        let Seat {
            block,
            offset,
            bucket,
        } = value.seat();
        if bucket == NEAR {
            self.near
                .remove(block, |value, number| value.set_seat(Seat::near(number)));
        } else if self.wheel.remove(bucket, Spot { block, offset }) && self.open == Some(bucket) {
            self.emptied();
        }
    }

    /// A look that has become necessary by the last insertion: before the time that was inserted.
    pub fn take_opening(&mut self) -> Option<Tick> {
        self.crowded.take()
    }

    /// The number of the timer inserted last, for [`Store::count_from`] of another.
    pub fn count(&self) -> u64 {
        self.sequence
    }

    /// Numbers the next timers after those of another store, so that what is taken from both can be put in order.
    pub fn count_from(&mut self, sequence: u64) {
        self.sequence = self.sequence.max(sequence);
    }

    /// Everything in it, in no order.
    pub fn values(&self) -> impl Iterator<Item = V> {
        self.wheel.values().chain(self.near.values())
    }

    /// How many timers are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// When to call [`Store::take_due`] next: the time of the earliest timer, or before it if an earlier one of its
    /// bucket was removed.
    pub fn next_look(&self) -> Option<Tick> {
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
    pub fn take_due(&mut self, now: Tick, at_most: usize, out: &mut Vec<Taken<V>>) -> bool {
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
            let taken = self.near.take_due(now, room, |item| {
                item.value.prepare();
                out.push(Taken {
                    when: item.when,
                    sequence: item.sequence,
                    value: item.value,
                });
            });
            self.len -= taken;
            room -= taken;
            if let Some(first) = self.near.first() {
                // If it is later, whatever is in the wheel is later still.
                return first.when <= now;
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
    pub fn drain(&mut self) -> Vec<V> {
        let wheel = self.wheel.emptied();
        let wheel = std::mem::replace(&mut self.wheel, wheel);
        let near = std::mem::replace(&mut self.near, Near::new());
        self.open = None;
        self.len = 0;
        let mut values: Vec<_> = wheel.values().chain(near.values()).collect();
        values.sort_unstable_by_key(|value| (value.when(), value.sequence()));
        values
    }

    /// Moves one block of the open bucket to finer buckets and to `near`.
    fn move_block(&mut self, bucket: u16) {
        let block = self.wheel.take_block(bucket);
        let mut live = 0;
        block.iter().flat_map(Piece::live).for_each(V::prepare);
        for value in block.iter().flat_map(Piece::live) {
            live += 1;
            let when = value.when();
            let finer = self.wheel.bucket_of(when);
            debug_assert_ne!(finer, bucket, "an open bucket is where the wheel stands");
            if finer == NEAR {
                let number = self.near.gather(when, value.sequence(), value);
                value.set_seat(Seat::near(number));
            } else {
                self.wheel.push(finer, when, value);
            }
        }
        let all = block.map_or(0, |block| block.len());
        if self.wheel.moved(bucket, live, all - live) {
            self.emptied();
        }
    }

    /// The open bucket has been emptied.
    fn emptied(&mut self) {
        self.open = None;
        self.near.gathered();
    }

    /// Bytes it holds on the heap.
    #[cfg(test)]
    fn footprint(&self) -> usize {
        self.wheel.footprint() + self.near.footprint()
    }
}
