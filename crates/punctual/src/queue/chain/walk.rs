//! From record to record through a chain, without taking any: to close the gaps of dead ones, to list what waits, to find one.
//!
//! In: a place in a chain and how many records lie ahead of it. Out: the chain without what was dead in it, or what a look has
//! seen. Whoever calls has the locks under which the chain stays as it is. Not here: writing and taking records
//! ([`chain`](super)).

#![allow(unsafe_code)]

use super::AGE;
use crate::queue::segment::{Owned, Segment, WORDS};
use crate::sync::Arc;
use crate::task::block::{Entry, Header, Reference};
use crate::task::record::{self, Dead, MAX_WORDS, Table, turn_of};
use crate::time::Tick;
use std::ops::ControlFlow;
use std::ptr::NonNull;

/// What a sweep took out, to be let go of outside the locks.
#[derive(Default)]
pub(in crate::queue) struct Swept {
    pub(in crate::queue) dead: Vec<Dead>,
    pub(in crate::queue) emptied: Vec<Owned>,
}

/// Takes the entries out of a chain whose task somebody else has claimed, or that has a later record, and closes the gaps; gives the number of
/// records left and the place behind the last. Records move towards the beginning only: a record never fits later
/// than it did before, so the writing place never passes the reading place. What was noted of arrivals is forgotten,
/// because the numbers no longer match.
///
/// # Safety
/// The caller owns the chain, and `count` records lie ahead of `begin`, each behind `before` words, at most [`AGE`].
pub(super) unsafe fn compact(begin: Cursor, count: u64, before: usize, swept: &mut Swept) -> (u64, Cursor) {
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
pub(in crate::queue) struct Waiting {
    pub(in crate::queue) task: Arc<Reference>,
    /// Its rank by age, and when it came; 0 in a log whose records have no age.
    pub(in crate::queue) age: (u64, Tick),
}

/// Lists the first tasks of a chain that have a handle, until the list is as long as `most`, or so many records have been
/// looked at; gives how many of those may still be. What is dead, or a future that has begun, or borrows, is left out.
///
/// # Safety
/// As [`walk`].
pub(super) unsafe fn list(
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
pub(super) unsafe fn find(
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
pub(super) struct Cursor {
    pub(super) segment: NonNull<Segment>,
    pub(super) offset: usize,
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
