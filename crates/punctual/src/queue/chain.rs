//! The two ends of a log: segments linked in the order they were filled.
//!
//! In: records at the [`Tail`]. Out: the same records at the [`Head`], in the same order. The two never share a
//! segment: when the head is dry it takes the tail's whole chain and leaves its own empty segment there. So a
//! consumer that chases a producer does not pull the producer's cache line away with every record, and no segment
//! ever needs reclaiming: it has one owner at a time. Each end is used under its own lock; [`Tail::swap`] under both. Not here:
//! what goes from record to record without taking any ([`walk`]).

#![allow(unsafe_code)]

mod walk;

use super::segment::{Owned, SAMPLE_EVERY, Segment, WORDS};
use crate::task::Class;
use crate::task::block::Header;
use crate::task::record::{self, Arrival, Payload, Slot};
use crate::time::{Clock, MEASURES, Tick};
use std::ptr::NonNull;
use walk::{Cursor, compact, find, list};
pub(super) use walk::{Swept, Waiting};

/// Words before a record in a log whose records have an age: the [`rank`](super::rules::rank) of the number of those
/// accepted before it, and one; then its time of arrival.
pub(super) const AGE: usize = 2;

/// Where producers write.
#[repr(C)]
pub(super) struct Tail {
    first: NonNull<Segment>,
    current: NonNull<Segment>,
    offset: usize,
    /// Chains opened so far whose first arrival was noted.
    chains: u64,
    /// Records in this chain.
    count: u64,
    /// A segment brought along for when the current one is full: nothing is allocated under the lock.
    ready: Option<Owned>,
}

/// Where consumers read.
///
/// What changes with each record is kept apart, here and in the [`Tail`]: side by side the two would be read in one step, which
/// waits until a [`swap`](Tail::swap) that has just written them in two has reached the cache.
#[repr(C)]
pub(super) struct Head {
    segment: NonNull<Segment>,
    offset: usize,
    /// The latest arrival known to be not later than that of the record at the head; 0 = not known.
    arrived: Tick,
    /// Records left in this chain.
    left: u64,
    /// A segment read to its end; whoever holds the lock takes it away.
    finished: Option<Owned>,
}

// SAFETY: both ends own their segments, and records are `Send`.
unsafe impl Send for Tail {}
// SAFETY: as above.
unsafe impl Send for Head {}

/// The time of an arrival: exact if it is measured, else of some milliseconds ago at most.
#[inline]
pub(super) fn tick_of(clock: &Clock, is_measured: bool) -> Tick {
    if is_measured {
        clock.tick()
    } else {
        clock.rough_tick()
    }
}

impl Tail {
    pub(super) fn new(segment: Owned) -> Self {
        let segment = segment.into_raw();
        Tail {
            first: segment,
            current: segment,
            offset: 0,
            count: 0,
            chains: 0,
            ready: None,
        }
    }

    /// Writes a record. `Err`: the segment is full, bring another ([`Tail::bring`]). `number` is the record's place
    /// among all ever written; `stamp` asks for the arrival to be noted if this record opens a chain.
    #[inline]
    pub(super) fn push<P: Payload>(
        &mut self,
        class: Class,
        payload: P,
        number: u64,
        stamp: bool,
        clock: &Clock,
    ) -> Result<(), P> {
        self.push_after([], class, payload, number, stamp, |is_sample| {
            tick_of(clock, is_sample)
        })
    }

    /// As [`Tail::push`], behind some words of which the first is not 0. All records of a log have equally many. `now` is
    /// asked whether it is a sample, which is measured, or just shown.
    #[inline(always)]
    pub(super) fn push_after<const BEFORE: usize, P: Payload>(
        &mut self,
        before: [u64; BEFORE],
        class: Class,
        payload: P,
        number: u64,
        stamp: bool,
        now: impl FnOnce(bool) -> Tick,
    ) -> Result<(), P> {
        let needed = BEFORE + 1 + P::WORDS;
        if WORDS - self.offset < needed && !self.turn_over() {
            return Err(payload);
        }
        // SAFETY: the tail owns `current`, and `needed` words are free at `offset`. The payload's type fits its words
        // (contract of `Payload`), and is moved, not copied: nothing drops it here.
        unsafe {
            let segment = self.current.as_mut();
            segment.witness.touch();
            let place = segment.words.as_mut_ptr().add(self.offset);
            for (index, word) in before.into_iter().enumerate() {
                place.add(index).cast::<u64>().write(word);
            }
            let place = place.add(BEFORE);
            place.cast::<u64>().write(record::header::<P>(class));
            place.add(1).cast::<P>().write(payload);
            let opens = MEASURES && self.count == 0 && stamp;
            let sampled = MEASURES && number.is_multiple_of(SAMPLE_EVERY);
            if opens || sampled {
                // Where each task opens a chain, a sample of each would cost as much as the task; one in so many is one by its
                // number.
                let is_sample = self.chains < SAMPLE_EVERY;
                let now = now(sampled || is_sample);
                if opens {
                    segment.open(now, is_sample);
                    self.chains += 1;
                }
                if sampled {
                    segment.note(number, now);
                }
            }
        }
        self.offset += needed;
        self.count += 1;
        Ok(())
    }

    /// As [`Tail::push_after`], of a record that lay elsewhere; its arrival is not noted.
    pub(super) fn push_slot<const BEFORE: usize>(
        &mut self,
        before: [u64; BEFORE],
        slot: Slot,
    ) -> Result<(), Slot> {
        let needed = BEFORE + slot.words();
        if WORDS - self.offset < needed && !self.turn_over() {
            return Err(slot);
        }
        // SAFETY: as in `push_after`.
        unsafe {
            let segment = self.current.as_mut();
            segment.witness.touch();
            let place = segment.words.as_mut_ptr().add(self.offset).cast::<u64>();
            for (index, word) in before.into_iter().enumerate() {
                place.add(index).write(word);
            }
            slot.spill(place.add(BEFORE));
        }
        self.offset += needed;
        self.count += 1;
        Ok(())
    }

    #[cold]
    fn turn_over(&mut self) -> bool {
        let Some(next) = self.ready.take() else {
            return false;
        };
        let next = next.into_raw();
        // SAFETY: the tail owns `current`; the zero word tells the reader to follow `next`.
        unsafe {
            let segment = self.current.as_mut();
            if self.offset < WORDS {
                segment.words[self.offset].write(0);
            }
            segment.next = next.as_ptr();
        }
        self.current = next;
        self.offset = 0;
        true
    }

    /// Takes a spare segment for later; gives it back if there is one already.
    pub(super) fn bring(&mut self, segment: Owned) -> Option<Owned> {
        if self.ready.is_some() {
            return Some(segment);
        }
        self.ready = Some(segment);
        None
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether one record lies in it: the one that was written last opened the chain.
    pub(super) fn is_first(&self) -> bool {
        self.count == 1
    }

    /// Whether a record of so many words can be written without another segment.
    pub(super) fn has_room_for(&self, words: usize) -> bool {
        WORDS - self.offset >= words || self.ready.is_some()
    }

    /// When the chain was opened, if noted.
    pub(super) fn opened(&self) -> Tick {
        // SAFETY: the tail owns its segments.
        unsafe { self.first.as_ref() }.opened()
    }

    /// Sweeps dead entries out of this chain; see [`compact`].
    pub(super) fn sweep(&mut self, before: usize, swept: &mut Swept) {
        let begin = Cursor {
            segment: self.first,
            offset: 0,
        };
        // SAFETY: the tail owns the chain, and `count` records lie in it.
        let (kept, end) = unsafe { compact(begin, self.count, before, swept) };
        self.count = kept;
        self.current = end.segment;
        self.offset = end.offset;
    }

    /// See [`list`].
    pub(super) fn list(&self, before: usize, most: usize, looks: u64, to: &mut Vec<Waiting>) -> u64 {
        let begin = Cursor {
            segment: self.first,
            offset: 0,
        };
        // SAFETY: the tail owns the chain, and `count` records lie in it.
        unsafe { list(begin, self.count, before, most, looks, to) }
    }

    /// See [`find`].
    pub(super) fn find(&self, before: usize, looks: u64, task: &Header) -> Option<(usize, Option<Tick>)> {
        let begin = Cursor {
            segment: self.first,
            offset: 0,
        };
        // SAFETY: as in `list`.
        unsafe { find(begin, self.count, before, looks, task) }
    }

    /// Moves the only record into the slot, as [`Head::take`] would after a [`swap`](Tail::swap): with nothing to swap. Only when
    /// there is [one](Tail::is_first).
    #[inline(always)]
    pub(super) fn take_only(&mut self, slot: &mut Slot, number: u64) {
        debug_assert!(self.count == 1);
        // SAFETY: the tail owns its segments, and the first record of a chain lies where its first segment begins. Its words
        // are forgotten by beginning anew.
        unsafe {
            let segment = self.first.as_mut();
            segment.witness.touch();
            slot.fill(segment.words.as_ptr().cast::<u64>());
            arrival(segment, number, true, slot);
            segment.forget_opening();
        }
        self.offset = 0;
        self.count = 0;
        debug_assert!(self.current == self.first, "one record in two segments");
    }

    /// Gives the whole chain to a dry head, for the head's empty segment.
    fn swap(&mut self, head: &mut Head) {
        debug_assert!(head.left == 0);
        let chain = self.first;
        // SAFETY: the head owns its segment and has read it to the end.
        let mut empty = unsafe { Owned::from_raw(head.segment) };
        empty.reset();
        let empty = empty.into_raw();
        head.segment = chain;
        head.offset = 0;
        head.left = self.count;
        head.arrived = self.opened();
        self.first = empty;
        self.current = empty;
        self.offset = 0;
        self.count = 0;
    }
}

/// Tells the slot when the record came that was just moved into it, if that is a sample; the caller, if it was noted for this very
/// record. `opens`: it was the first of its segment.
#[inline(always)]
fn arrival(segment: &mut Segment, number: u64, opens: bool, slot: &mut Slot) -> Option<Tick> {
    if !MEASURES {
        return None;
    }
    if number.is_multiple_of(SAMPLE_EVERY)
        && let Some(tick) = segment.noted(number)
    {
        let weight = SAMPLE_EVERY;
        slot.arrival = Some(Arrival { tick, weight });
        return Some(tick);
    }
    if opens && let Some(tick) = segment.opened_by_a_sample() {
        slot.arrival = Some(Arrival { tick, weight: 1 });
    }
    None
}

impl Head {
    pub(super) fn new(segment: Owned) -> Self {
        Head {
            segment: segment.into_raw(),
            offset: 0,
            left: 0,
            arrived: 0,
            finished: None,
        }
    }

    pub(super) fn is_dry(&self) -> bool {
        self.left == 0
    }

    pub(super) fn left(&self) -> u64 {
        self.left
    }

    pub(super) fn arrived(&self) -> Tick {
        self.arrived
    }

    pub(super) fn refill(&mut self, tail: &mut Tail) {
        tail.swap(self);
    }

    /// Moves the record at the head into the slot, with its arrival if that was noted. Only when not dry.
    #[inline(always)]
    pub(super) fn take(&mut self, slot: &mut Slot, number: u64) {
        self.take_after(0, slot, number);
    }

    /// As [`Head::take`], where so many words lie before each record.
    #[inline(always)]
    pub(super) fn take_after(&mut self, before: usize, slot: &mut Slot, number: u64) {
        self.settle();
        self.take_settled(before, slot, number);
    }

    /// Steps over the end of a segment. Only when not dry.
    #[inline(always)]
    fn settle(&mut self) {
        debug_assert!(self.left > 0);
        // SAFETY: `left` records lie ahead: `offset` is at one of them, or at the end of a segment that has a next.
        if self.offset == WORDS || unsafe { self.word() } == 0 {
            self.turn_over();
        }
    }

    /// As [`Head::take_after`], of a record that was looked at before: see [`Head::age`].
    #[inline(always)]
    pub(super) fn take_settled(&mut self, before: usize, slot: &mut Slot, number: u64) {
        debug_assert!(self.left > 0);
        // SAFETY: `left` records lie ahead, and `offset` is at one of them. Its words are forgotten by moving `offset` past
        // them.
        unsafe {
            debug_assert!(
                self.offset < WORDS && self.word() != 0,
                "nobody looked at the head"
            );
            let opens = self.offset == 0;
            let segment = self.segment.as_mut();
            segment.witness.touch();
            let place = segment.words.as_ptr().add(self.offset + before).cast::<u64>();
            self.offset += before + 1 + slot.fill(place);
            self.left -= 1;
            if let Some(tick) = arrival(segment, number, opens, slot) {
                self.arrived = tick;
            }
        }
    }

    /// Of the record at the head, in a log whose records have an age: its rank by age, and when it came.
    /// Only when not dry.
    #[inline]
    pub(super) fn age(&mut self) -> (u64, Tick) {
        self.settle();
        // SAFETY: a record lies at `offset`, behind `AGE` words.
        unsafe {
            let place = self
                .segment
                .as_ref()
                .words
                .as_ptr()
                .add(self.offset)
                .cast::<u64>();
            (place.read(), place.add(1).read())
        }
    }

    /// # Safety
    /// `offset` is inside the segment and at a word that was written.
    #[inline]
    unsafe fn word(&self) -> u64 {
        // SAFETY: the caller's promise; the head owns its segment.
        unsafe {
            self.segment
                .as_ref()
                .words
                .get_unchecked(self.offset)
                .assume_init()
        }
    }

    #[cold]
    fn turn_over(&mut self) {
        // SAFETY: the head owns the segment and has read it to the end; records lie ahead, so there is a next.
        unsafe {
            let next = NonNull::new(self.segment.as_ref().next).expect("records lie ahead");
            self.finished = Some(Owned::from_raw(self.segment));
            self.segment = next;
        }
        self.offset = 0;
    }

    /// A segment that nobody needs here any more.
    #[inline]
    pub(super) fn take_finished(&mut self) -> Option<Owned> {
        // A look before the exchange: mostly there is none, and then nothing is written.
        self.finished.as_ref()?;
        self.finished.take()
    }

    /// Moves the rest of this chain away and leaves the given segment.
    pub(super) fn detach(&mut self, empty: Owned) -> Head {
        std::mem::replace(self, Head::new(empty))
    }

    /// See [`list`].
    pub(super) fn list(&self, before: usize, most: usize, looks: u64, to: &mut Vec<Waiting>) -> u64 {
        let begin = Cursor {
            segment: self.segment,
            offset: self.offset,
        };
        // SAFETY: the head owns the chain, and `left` records lie ahead of its place.
        unsafe { list(begin, self.left, before, most, looks, to) }
    }

    /// See [`find`].
    pub(super) fn find(&self, before: usize, looks: u64, task: &Header) -> Option<(usize, Option<Tick>)> {
        let begin = Cursor {
            segment: self.segment,
            offset: self.offset,
        };
        // SAFETY: as in `list`.
        unsafe { find(begin, self.left, before, looks, task) }
    }

    /// Sweeps dead entries out of this chain; see [`compact`].
    pub(super) fn sweep(&mut self, before: usize, swept: &mut Swept) {
        let begin = Cursor {
            segment: self.segment,
            offset: self.offset,
        };
        // SAFETY: the head owns the chain, and `left` records lie ahead of its place.
        (self.left, _) = unsafe { compact(begin, self.left, before, swept) };
        self.arrived = 0;
    }
}

impl Drop for Head {
    fn drop(&mut self) {
        debug_assert!(
            self.left == 0,
            "a log was dropped with {} records in it",
            self.left
        );
        let mut next = Some(self.segment);
        while let Some(segment) = next {
            // SAFETY: the head owns its chain; nobody is left to read it.
            unsafe {
                next = NonNull::new(segment.as_ref().next);
                drop(Owned::from_raw(segment));
            }
        }
    }
}

impl Drop for Tail {
    fn drop(&mut self) {
        // A head knows how to walk a chain; records cannot be left, the room has taken them out.
        drop(Head {
            segment: self.first,
            offset: 0,
            left: self.count,
            arrived: 0,
            finished: None,
        });
    }
}
