//! The wheel: timers that are not near, in buckets that are found by the bits of their time.
//!
//! A *turn* is 2^20 ns, about a millisecond. Level 0 has a bucket for each of the next turns up to the end of the
//! present 256, level 1 one for each 256 turns, and so on: six levels reach to the end of time. The level of a timer
//! is the highest byte in which its turn differs from the wheel's position, so within a level all buckets lie ahead,
//! and everything on a lower level comes before anything on a higher one: the first timer is in the first occupied
//! bucket of the lowest occupied level. Nothing ticks; the position is moved straight to where something is.
//!
//! A bucket holds the values and nothing else, a word each. A timer knows its place there, so removal touches no neighbour
//! and leaves a gap; gaps are closed when most of a bucket is gaps. (A million timers that are removed in random order
//! cost one miss of the cache each, at the timer's own note; see `entries`.)

use super::entries::{BLOCK, Chain, Entries, Piece, Spot};
use super::{Timed, TimerKey};
use crate::Tick;

/// Bits of a time below the wheel's resolution.
pub(super) const FINE_BITS: u32 = 20;
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = (u64::BITS - FINE_BITS).div_ceil(SLOT_BITS) as usize;

/// In place of a bucket's number: the near part, not the wheel.
pub(super) const NEAR: u16 = u16::MAX;

#[derive(Debug)]
struct Bucket {
    entries: Chain,
    /// No timer in it is earlier. Exact as long as nothing was removed.
    earliest: Tick,
    live: u32,
    gaps: u32,
}

impl Bucket {
    const EMPTY: Self = Bucket {
        entries: Chain::EMPTY,
        earliest: Tick::MAX,
        live: 0,
        gaps: 0,
    };
}

type Level = [Bucket; SLOTS];

#[derive(Debug)]
pub(super) struct Wheel<V> {
    /// The turn it stands at: whatever is in a bucket lies behind it, except in a bucket that is being emptied.
    position: u64,
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// A level is made when it is first used.
    levels: [Option<Box<Level>>; LEVELS],
    /// What is in the buckets.
    entries: Entries<V>,
    /// Entries looked at so far, for the tests of what a call may cost.
    #[cfg(test)]
    pub(super) looked: usize,
}

impl<V: Timed> Wheel<V> {
    pub(super) fn new(now: Tick) -> Self {
        Wheel {
            position: now >> FINE_BITS,
            occupied: [[0; SLOTS / 64]; LEVELS],
            levels: [const { None }; LEVELS],
            entries: Entries::new(),
            #[cfg(test)]
            looked: 0,
        }
    }

    /// An empty one at the same position.
    pub(super) fn emptied(&self) -> Self {
        Wheel::new(self.position << FINE_BITS)
    }

    /// The bucket of a time, seen from the present position.
    pub(super) fn bucket_of(&self, when: Tick) -> u16 {
        let turn = when >> FINE_BITS;
        if turn <= self.position {
            return NEAR;
        }
        let level = (turn ^ self.position).ilog2() / SLOT_BITS;
        let slot = (turn >> (level * SLOT_BITS)) as usize % SLOTS;
        (level as usize * SLOTS + slot) as u16
    }

    /// Puts a timer into a bucket, and tells it where it is. Says how many there are now.
    pub(super) fn push(&mut self, number: u16, when: Tick, value: V) -> u32 {
        let (level, slot) = split(number);
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
        let buckets = self.levels[level].get_or_insert_with(|| Box::new([const { Bucket::EMPTY }; SLOTS]));
        let bucket = &mut buckets[slot];
        value.set_key(TimerKey::of(
            number,
            self.entries.push(&mut bucket.entries, value),
        ));
        bucket.earliest = bucket.earliest.min(when);
        bucket.live += 1;
        bucket.live
    }

    /// The bucket with the first timer.
    pub(super) fn first(&self) -> Option<u16> {
        for (level, words) in self.occupied.iter().enumerate() {
            if let Some(word) = words.iter().position(|word| *word != 0) {
                let slot = word * 64 + words[word].trailing_zeros() as usize;
                return Some((level * SLOTS + slot) as u16);
            }
        }
        None
    }

    /// How many timers are in a bucket.
    pub(super) fn live(&self, bucket: u16) -> u64 {
        let (level, slot) = split(bucket);
        let buckets = self.levels[level].as_ref();
        buckets.map_or(0, |buckets| u64::from(buckets[slot].live))
    }

    pub(super) fn earliest(&self, bucket: u16) -> Tick {
        let (level, slot) = split(bucket);
        let buckets = self.levels[level].as_ref();
        buckets.map_or(Tick::MAX, |buckets| buckets[slot].earliest)
    }

    /// Moves the position towards `now`, but not into the first occupied bucket, of which nothing is due.
    pub(super) fn turn_before(&mut self, now: Tick, first: Option<u16>) {
        let mut turn = now >> FINE_BITS;
        if let Some(bucket) = first {
            let (level, slot) = split(bucket);
            let shift = level as u32 * SLOT_BITS;
            let above = self.position >> (shift + SLOT_BITS) << (shift + SLOT_BITS);
            turn = turn.min((above | (slot as u64) << shift) - 1);
        }
        self.position = self.position.max(turn);
    }

    /// Moves the position to the first timer of the first bucket, which must then be emptied before anything is taken.
    pub(super) fn open(&mut self, bucket: u16) {
        self.position = self.earliest(bucket) >> FINE_BITS;
        self.vacate(bucket);
    }

    /// Takes a timer out of a bucket. Says whether the bucket is empty now; if so its memory is gone.
    #[inline]
    pub(super) fn remove(&mut self, number: u16, spot: Spot) -> bool {
        let bucket = bucket_in(&mut self.levels, number);
        bucket.live -= 1;
        bucket.gaps += 1;
        let (live, gaps) = (bucket.live, bucket.gaps);
        if live == 0 {
            self.clear(number);
            return true;
        }
        self.entries.remove(spot);
        // Sweeping one block per removal, from the front to the back, is enough: a whole round costs as many removals
        // as there are blocks, and begins only when four fifths are gaps. (What stays is told its new place, and is far away;
        // a gap is eight bytes.)
        if gaps > 4 * live + 64 {
            self.sweep(number);
        }
        false
    }

    /// The last timer of a bucket was removed.
    #[cold]
    fn clear(&mut self, number: u16) {
        let bucket = bucket_in(&mut self.levels, number);
        self.entries.clear(&mut bucket.entries);
        *bucket = Bucket::EMPTY;
        self.vacate(number);
    }

    /// Takes the first block out of a bucket, for the caller to put its live entries elsewhere and then to call
    /// [`Wheel::moved`].
    pub(super) fn take_block(&mut self, number: u16) -> Option<Piece<V>> {
        let bucket = bucket_in(&mut self.levels, number);
        let block = self.entries.take_first(&mut bucket.entries)?;
        #[cfg(test)]
        {
            self.looked += block.len();
        }
        Some(block)
    }

    /// Of the block that was taken, `live` timers are elsewhere now, and the rest were gaps. Says whether the bucket is
    /// empty now.
    pub(super) fn moved(&mut self, number: u16, live: usize, gaps: usize) -> bool {
        let bucket = bucket_in(&mut self.levels, number);
        bucket.live -= live as u32;
        bucket.gaps -= gaps as u32;
        let empty = bucket.live == 0;
        if empty {
            self.entries.clear(&mut bucket.entries);
            *bucket = Bucket::EMPTY;
        }
        empty
    }

    #[inline(never)]
    fn sweep(&mut self, number: u16) {
        let Some(block) = self.take_block(number) else {
            return;
        };
        let bucket = bucket_in(&mut self.levels, number);
        debug_assert!(block.len() <= BLOCK);
        let mut gaps = block.len();
        for value in block.live() {
            gaps -= 1;
            let spot = self.entries.push(&mut bucket.entries, value);
            value.set_key(TimerKey::of(number, spot));
        }
        bucket.gaps -= gaps as u32;
    }

    /// Everything in it, in no order.
    pub(super) fn values(&self) -> impl Iterator<Item = V> {
        self.entries.iter()
    }

    fn vacate(&mut self, bucket: u16) {
        let (level, slot) = split(bucket);
        self.occupied[level][slot / 64] &= !(1 << (slot % 64));
    }

    #[cfg(test)]
    pub(super) fn footprint(&self) -> usize {
        let levels = self.levels.iter().flatten().count();
        levels * size_of::<Level>() + self.entries.footprint()
    }
}

#[inline]
fn bucket_in(levels: &mut [Option<Box<Level>>; LEVELS], number: u16) -> &mut Bucket {
    let (level, slot) = split(number);
    let buckets = levels[level].as_mut();
    &mut buckets.expect("a bucket in use has its level")[slot]
}

#[inline]
fn split(bucket: u16) -> (usize, usize) {
    (bucket as usize / SLOTS, bucket as usize % SLOTS)
}
