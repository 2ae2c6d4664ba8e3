//! The two ends of a log: segments linked in the order they were filled.
//!
//! In: records at the [`Tail`]. Out: the same records at the [`Head`], in the same order. The two never share a
//! segment: when the head is dry it takes the tail's whole chain and leaves its own empty segment there. So a
//! consumer that chases a producer does not pull the producer's cache line away with every record, and no segment
//! ever needs reclaiming: it has one owner at a time. Each end is used under its own lock; [`Tail::swap`] under both.

#![allow(unsafe_code)]

use super::segment::{Owned, SAMPLE_EVERY, Segment, WORDS};
use crate::sync::Arc;
use crate::task::Class;
use crate::task::block::{Entry, Header, Reference};
use crate::task::record::{self, Arrival, Dead, MAX_WORDS, Payload, Slot, Table, turn_of};
use crate::time::{Clock, MEASURES, Tick};
use std::ops::ControlFlow;
use std::ptr::NonNull;

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

    /// Whether the record that was written last opened the chain.
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
            if MEASURES
                && number.is_multiple_of(SAMPLE_EVERY)
                && let Some(tick) = segment.noted(number)
            {
                self.arrived = tick;
                slot.arrival = Some(Arrival {
                    tick,
                    weight: SAMPLE_EVERY,
                });
            } else if MEASURES
                && opens
                && let Some(tick) = segment.opened_by_a_sample()
            {
                slot.arrival = Some(Arrival { tick, weight: 1 });
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

/// What a sweep took out, to be let go of outside the locks.
#[derive(Default)]
pub(super) struct Swept {
    pub(super) dead: Vec<Dead>,
    pub(super) emptied: Vec<Owned>,
}

/// Takes the entries out of a chain whose task somebody else has claimed, or that has a later record, and closes the gaps; gives the number of
/// records left and the place behind the last. Records move towards the beginning only: a record never fits later
/// than it did before, so the writing place never passes the reading place. What was noted of arrivals is forgotten,
/// because the numbers no longer match.
///
/// # Safety
/// The caller owns the chain, and `count` records lie ahead of `begin`, each behind `before` words, at most [`AGE`].
unsafe fn compact(begin: Cursor, count: u64, before: usize, swept: &mut Swept) -> (u64, Cursor) {
    let (mut read, mut write) = (begin, begin);
    let mut kept = 0;
    for _ in 0..count {
        // SAFETY: a record lies ahead of `read`, and it is copied to `words` before anything is written.
        unsafe {
            read.settle();
            let place = read.place();
            let (_, table) = record::read_header(place.add(before).read());
            let length = before + 1 + table.words;
            read.offset += length;
            if table.is_entry && !table.is_woken {
                let payload = place.add(before + 1);
                let entry = Entry::from_raw(payload.cast::<NonNull<_>>().read());
                let seen = entry.header().state.load();
                let is_outdated =
                    seen.is_moved() && entry.header().is_outdated(turn_of(table.words, payload));
                if seen.is_claimed() || is_outdated {
                    swept.dead.push(Dead { entry, is_outdated });
                    continue;
                }
                // Still waiting: the words below are the entry, this was a look.
                let _ = entry.into_raw();
            }
            let mut words = [0_u64; AGE + 1 + MAX_WORDS];
            std::ptr::copy_nonoverlapping(place, words.as_mut_ptr(), length);
            if WORDS - write.offset < length {
                write.turn_over();
            }
            std::ptr::copy_nonoverlapping(words.as_ptr(), write.place(), length);
            write.offset += length;
            kept += 1;
        }
    }
    // SAFETY: everything behind the writing place has been read, and its segments are this chain's own.
    unsafe {
        let mut rest = std::mem::replace(&mut write.segment.as_mut().next, std::ptr::null_mut());
        while let Some(segment) = NonNull::new(rest) {
            rest = segment.as_ref().next;
            swept.emptied.push(Owned::from_raw(segment));
        }
        let mut segment = Some(begin.segment);
        while let Some(mut each) = segment {
            each.as_mut().forget_times();
            segment = NonNull::new(each.as_ref().next);
        }
    }
    (kept, write)
}

/// A task in a log, as a walk through it found it.
pub(super) struct Waiting {
    pub(super) task: Arc<Reference>,
    /// Its rank by age, and when it came; 0 in a log whose records have no age.
    pub(super) age: (u64, Tick),
}

/// Lists the first tasks of a chain that have a handle, until the list is as long as `most`, or so many records have been
/// looked at; gives how many of those may still be. What is dead, or a future that has begun, or borrows, is left out.
///
/// # Safety
/// As [`walk`].
unsafe fn list(
    begin: Cursor,
    count: u64,
    before: usize,
    most: usize,
    looks: u64,
    to: &mut Vec<Waiting>,
) -> u64 {
    let mut left = looks;
    let visit = |record: Record| {
        if to.len() >= most {
            return ControlFlow::Break(());
        }
        left -= 1;
        let Some(block) = record.block else {
            return ControlFlow::Continue(());
        };
        // SAFETY: the record is the task's share, and nobody takes it out of the log under the locks.
        let header = unsafe { block.as_ref() };
        let seen = header.state.load();
        let is_outdated = seen.is_moved() && header.is_outdated(record.turn());
        if !seen.is_claimed() && !is_outdated && !header.is_scoped() {
            // SAFETY: as above.
            let task = unsafe { Reference::of(block) };
            let age = record.age;
            to.push(Waiting { task, age });
        }
        ControlFlow::Continue(())
    };
    // SAFETY: the caller's promise.
    unsafe { walk(begin, count.min(looks), before, visit) };
    left
}

/// How many lie before a task in a chain, dead ones included, and when it came, where that is known. `None`: it is not
/// among as many as may be looked at. Of the others nothing is read but their place.
///
/// # Safety
/// As [`walk`].
unsafe fn find(
    begin: Cursor,
    count: u64,
    before: usize,
    looks: u64,
    task: &Header,
) -> Option<(usize, Option<Tick>)> {
    let mut ahead = 0;
    let mut found = None;
    let visit = |record: Record| {
        let is_it = record
            .block
            .is_some_and(|block| std::ptr::eq(block.as_ptr(), task));
        if is_it && !(task.state.load().is_moved() && task.is_outdated(record.turn())) {
            found = Some((ahead, (before == AGE).then_some(record.age.1)));
            return ControlFlow::Break(());
        }
        // A future that has begun does not start any more.
        ahead += usize::from(!record.table.is_woken);
        ControlFlow::Continue(())
    };
    // SAFETY: the caller's promise.
    unsafe { walk(begin, count.min(looks), before, visit) };
    found
}

/// What a walk shows of a record.
struct Record {
    table: &'static Table,
    /// Of a task that has a block and has not begun.
    block: Option<NonNull<Header>>,
    payload: *const u64,
    /// Its rank by age, and when it came; 0 in a log whose records have no age.
    age: (u64, Tick),
}

impl Record {
    /// Of one with a block: see [`turn_of`].
    fn turn(&self) -> u64 {
        // SAFETY: the words of a record with a block are an entry's or a moved one's, and the walk that made this goes on
        // when its visitor has returned.
        unsafe { turn_of(self.table.words, self.payload) }
    }
}

/// Shows the records of a chain, in their order, until the visitor has seen enough.
///
/// # Safety
/// As [`compact`], and the records stay where they are while this runs.
unsafe fn walk(begin: Cursor, count: u64, before: usize, mut visit: impl FnMut(Record) -> ControlFlow<()>) {
    let mut read = begin;
    for _ in 0..count {
        // SAFETY: a record lies ahead of `read`; it is only looked at.
        let record = unsafe {
            read.settle();
            let place = read.place();
            let (_, table) = record::read_header(place.add(before).read());
            read.offset += before + 1 + table.words;
            let payload = place.add(before + 1).cast_const();
            let has_waiting_block = table.is_entry && !table.is_woken;
            let block = has_waiting_block.then(|| payload.cast::<NonNull<Header>>().read());
            let age = if before == AGE {
                (place.read(), place.add(1).read())
            } else {
                (0, 0)
            };
            Record {
                table,
                block,
                payload,
                age,
            }
        };
        if visit(record).is_break() {
            return;
        }
    }
}

/// A place in a chain, for walking it under the locks.
#[derive(Clone, Copy)]
struct Cursor {
    segment: NonNull<Segment>,
    offset: usize,
}

impl Cursor {
    /// # Safety
    /// The segment lives and `offset` is inside it.
    unsafe fn place(&mut self) -> *mut u64 {
        // SAFETY: the caller's promise.
        unsafe { self.segment.as_mut().words.as_mut_ptr().add(self.offset).cast() }
    }

    /// Steps over a segment's end.
    ///
    /// # Safety
    /// A record lies ahead.
    unsafe fn settle(&mut self) {
        // SAFETY: a record lies ahead, so the word was written, or the segment is full and has a next.
        unsafe {
            if self.offset == WORDS || self.place().read() == 0 {
                self.segment = NonNull::new(self.segment.as_ref().next).expect("records lie ahead");
                self.offset = 0;
            }
        }
    }

    /// Ends the segment being written and goes on in the next.
    ///
    /// # Safety
    /// The chain has a next segment, all of which has been read up to at least this one's beginning.
    unsafe fn turn_over(&mut self) {
        // SAFETY: the caller's promise.
        unsafe {
            if self.offset < WORDS {
                self.place().write(0);
            }
            self.segment =
                NonNull::new(self.segment.as_ref().next).expect("the reader is in a later segment");
        }
        self.offset = 0;
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
