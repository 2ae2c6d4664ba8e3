//! The wheel: timers that are not near, in buckets that are found by the bits of their time.
//!
//! A *turn* is 2^20 ns, about a millisecond. Level 0 has a bucket for each of the next turns up to the end of the
//! present 256, level 1 one for each 256 turns, and so on: six levels reach to the end of time. The level of a timer
//! is the highest byte in which its turn differs from the wheel's position, so within a level all buckets lie ahead,
//! and everything on a lower level comes before anything on a higher one: the first timer is in the first occupied
//! bucket of the lowest occupied level. Nothing ticks; the position is moved straight to where something is.
//!
//! A bucket holds entries of eight bytes that point at nodes. A removed timer leaves its entry behind, so removal
//! touches no neighbour; an entry counts if its node has its sequence (32 bits of it) and says that it is in this
//! bucket. The sequence bits may come round again, but then the node is in this bucket too, through another entry: the
//! first of the two that is met moves the node out, and the second no longer counts.

use super::blocks::{BLOCK, Blocks};
use super::slab::Slab;
use crate::time::Tick;

/// Bits of a time below the wheel's resolution.
const FINE_BITS: u32 = 20;
const SLOT_BITS: u32 = 8;
const SLOTS: usize = 1 << SLOT_BITS;
const LEVELS: usize = (u64::BITS - FINE_BITS).div_ceil(SLOT_BITS) as usize;

/// In place of a bucket's number: not in the wheel, near.
pub(super) const NEAR: u16 = u16::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) index: u32,
    /// The low half of the sequence.
    pub(super) sequence: u32,
}

#[derive(Debug)]
struct Bucket {
    entries: Blocks<Entry>,
    /// No live entry is earlier. Exact as long as nothing was removed.
    earliest: Tick,
    live: u32,
    dead: u32,
}

const EMPTY: Bucket = Bucket {
    entries: Blocks::new(),
    earliest: Tick::MAX,
    live: 0,
    dead: 0,
};

#[derive(Debug)]
pub(super) struct Wheel {
    /// The turn it stands at: whatever is in a bucket lies behind it, except in a bucket that is being emptied.
    position: u64,
    occupied: [[u64; SLOTS / 64]; LEVELS],
    /// A level is made when it is first used.
    levels: [Option<Box<[Bucket]>>; LEVELS],
    /// Entries looked at so far, for the tests of what a call may cost.
    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) looked: usize,
}

impl Wheel {
    pub(super) fn new(now: Tick) -> Self {
        Wheel {
            position: now >> FINE_BITS,
            occupied: [[0; SLOTS / 64]; LEVELS],
            levels: [const { None }; LEVELS],
            #[cfg(all(test, not(any(loom, shuttle))))]
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

    pub(super) fn push(&mut self, bucket: u16, when: Tick, entry: Entry) {
        let (level, slot) = split(bucket);
        self.occupied[level][slot / 64] |= 1 << (slot % 64);
        let buckets = self.levels[level].get_or_insert_with(|| (0..SLOTS).map(|_| EMPTY).collect());
        let bucket = &mut buckets[slot];
        bucket.entries.push(entry);
        bucket.earliest = bucket.earliest.min(when);
        bucket.live += 1;
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

    /// Counts a removal from a bucket. Says whether the bucket is empty now; if so its memory is gone.
    pub(super) fn removed<V: Copy>(&mut self, number: u16, slab: &Slab<V>) -> bool {
        let bucket = self.bucket(number);
        bucket.live -= 1;
        bucket.dead += 1;
        if bucket.live == 0 {
            *bucket = EMPTY;
            self.vacate(number);
            return true;
        }
        // Sweeping one block per removal, from the front to the back, is enough: a whole round costs as many removals
        // as there are blocks, and begins only when two thirds are dead.
        if bucket.dead > 2 * bucket.live + 64 {
            self.sweep(number, slab);
        }
        false
    }

    /// Takes the first block out of a bucket, for the caller to put its live entries elsewhere and then to call
    /// [`Wheel::moved`].
    pub(super) fn take_block(&mut self, number: u16) -> Vec<Entry> {
        let block = self.bucket(number).entries.take_first().unwrap_or_default();
        #[cfg(all(test, not(any(loom, shuttle))))]
        {
            self.looked += block.len();
        }
        block
    }

    /// Of the block that was taken, `live` entries are elsewhere now and `dead` forgotten. Says whether the bucket is
    /// empty now.
    pub(super) fn moved(&mut self, number: u16, live: usize, dead: usize) -> bool {
        let bucket = self.bucket(number);
        bucket.live -= live as u32;
        bucket.dead -= dead as u32;
        let empty = bucket.live == 0;
        if empty {
            *bucket = EMPTY;
        }
        empty
    }

    fn sweep<V: Copy>(&mut self, number: u16, slab: &Slab<V>) {
        let block = self.take_block(number);
        let bucket = self.bucket(number);
        debug_assert!(block.len() <= BLOCK);
        for entry in block {
            if is_live(entry, number, slab) {
                bucket.entries.push(entry);
            } else {
                bucket.dead -= 1;
            }
        }
    }

    fn vacate(&mut self, bucket: u16) {
        let (level, slot) = split(bucket);
        self.occupied[level][slot / 64] &= !(1 << (slot % 64));
    }

    fn bucket(&mut self, number: u16) -> &mut Bucket {
        let (level, slot) = split(number);
        let buckets = self.levels[level].as_mut();
        &mut buckets.expect("a bucket in use has its level")[slot]
    }

    #[cfg(all(test, not(any(loom, shuttle))))]
    pub(super) fn footprint(&self) -> usize {
        let buckets = self.levels.iter().flatten().flat_map(|level| level.iter());
        buckets
            .map(|bucket| size_of::<Bucket>() + bucket.entries.footprint())
            .sum()
    }
}

/// Whether the node of an entry still waits in this bucket.
pub(super) fn is_live<V: Copy>(entry: Entry, bucket: u16, slab: &Slab<V>) -> bool {
    slab.at(entry.index)
        .is_some_and(|node| node.sequence() as u32 == entry.sequence && node.bucket == bucket)
}

fn split(bucket: u16) -> (usize, usize) {
    (bucket as usize / SLOTS, bucket as usize % SLOTS)
}
