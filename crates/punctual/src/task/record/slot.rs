//! [`Slot`]: one record, out of the queue and on somebody's stack.
//!
//! In: a record's words, or a payload that never lay in a queue. Out: the task, claimed and run; or what is left of it, let go of,
//! ended, or moved into a queue again. It holds a payload until one of these has taken it.

#![allow(unsafe_code)]

use super::{Arrival, Dead, MAX_WORDS, Payload, Table, header_of, read_header, turn_of};
use crate::task::block::{Entry, Header};
use crate::task::side::next_id;
use crate::task::state::{Claim, End};
use crate::task::{Class, TaskInfo, contain};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// One record, moved out of the queue.
#[derive(Debug)]
pub(crate) struct Slot {
    table: Option<&'static Table>,
    /// Of the record taken last, if it was noted; whoever reads it takes it.
    pub(crate) arrival: Option<Arrival>,
    /// Its wait brought it before others; whoever reads it takes it.
    pub(crate) promoted: bool,
    /// It was taken from another worker's deque; as that.
    pub(crate) stolen: bool,
    class: Class,
    words: [MaybeUninit<u64>; MAX_WORDS],
}

// SAFETY: a slot holds a payload, and payloads are `Send`.
unsafe impl Send for Slot {}

impl Slot {
    pub(crate) fn empty() -> Self {
        Slot {
            table: None,
            arrival: None,
            promoted: false,
            stolen: false,
            class: Class::ROOT,
            words: [const { MaybeUninit::uninit() }; MAX_WORDS],
        }
    }

    /// A slot with a payload that never lay in a queue.
    pub(crate) fn holding<P: Payload>(class: Class, payload: P) -> Self {
        let mut slot = Slot::empty();
        slot.hold(class, payload);
        slot
    }

    /// Fills an empty slot with such a payload.
    #[inline]
    pub(crate) fn hold<P: Payload>(&mut self, class: Class, payload: P) {
        debug_assert!(self.table.is_none(), "a slot was filled over a task");
        self.class = class;
        self.table = Some(&P::TABLE);
        // SAFETY: a payload is at most as long as the slot's words and no more than word-aligned.
        unsafe { self.words.as_mut_ptr().cast::<P>().write(payload) };
    }

    /// Moves the payload out again.
    ///
    /// # Safety
    /// The slot was made by [`Slot::holding`] with this type, and still holds it.
    pub(crate) unsafe fn into_payload<P: Payload>(mut self) -> P {
        self.table = None;
        // SAFETY: the caller's promise; the slot is empty from here on.
        unsafe { self.words.as_ptr().cast::<P>().read() }
    }

    /// Fills an empty slot from the queue's memory; gives the payload's length in words.
    ///
    /// # Safety
    /// `record` points to a header word and its payload, which the caller owns and forgets after this.
    #[inline]
    pub(crate) unsafe fn fill(&mut self, record: *const u64) -> usize {
        debug_assert!(self.table.is_none(), "a slot was filled over a task");
        // SAFETY: the caller's promise; a table's `words` is at most `MAX_WORDS`.
        unsafe {
            let (class, table) = read_header(record.read());
            self.class = class;
            self.table = Some(table);
            let from = record.add(1);
            // Most records have one or two words: a short loop beats a call to memcpy.
            for index in 0..table.words {
                self.words[index] = from.add(index).cast::<MaybeUninit<u64>>().read();
            }
            table.words
        }
    }

    /// Words that [`Slot::spill`] writes.
    pub(crate) fn words(&self) -> usize {
        1 + self.table.map_or(0, |table| table.words)
    }

    /// Moves the record back into a queue's memory.
    ///
    /// # Safety
    /// The slot is not empty, and [`Slot::words`] words are free at `place`.
    pub(crate) unsafe fn spill(mut self, place: *mut u64) {
        let Some(table) = self.table.take() else { return };
        // SAFETY: the caller's promise; the slot is empty from here on, so the payload is moved.
        unsafe {
            place.write(header_of(table, self.class));
            let to = place.add(1).cast::<MaybeUninit<u64>>();
            for index in 0..table.words {
                to.add(index).write(self.words[index]);
            }
        }
    }

    /// What it was submitted as.
    #[inline]
    pub(crate) fn class(&self) -> Class {
        self.class
    }

    /// Of its payload; `None` when it is empty.
    #[inline]
    pub(crate) fn table(&self) -> Option<&'static Table> {
        self.table
    }

    #[inline]
    pub(crate) fn is_entry(&self) -> bool {
        self.table.is_some_and(|table| table.is_entry)
    }

    #[inline]
    pub(crate) fn type_name(&self) -> fn() -> &'static str {
        self.table.map_or(|| "nothing", |table| table.type_name)
    }

    /// The closure's type, for somebody who must name the task.
    pub(crate) fn label(&self) -> &'static str {
        self.peek_entry()
            .map_or_else(|| self.type_name()(), |entry| entry.header().type_name())
    }

    /// The entry in this slot, to look at.
    #[inline]
    pub(crate) fn peek_entry(&self) -> Option<&Entry> {
        // SAFETY: the table says an entry lies in the first word; `Entry` is one pointer.
        self.is_entry()
            .then(|| unsafe { &*self.words.as_ptr().cast::<Entry>() })
    }

    /// Moves the entry out.
    #[inline]
    pub(crate) fn take_entry(&mut self) -> Option<Entry> {
        if !self.is_entry() {
            return None;
        }
        self.table = None;
        // SAFETY: as in `peek_entry`; the slot is empty from here on, so the entry is moved once.
        Some(unsafe { Entry::from_raw(self.words.as_ptr().cast::<NonNull<_>>().read()) })
    }

    /// Whether it is the record of a future that was polled before.
    #[inline]
    pub(crate) fn is_woken(&self) -> bool {
        self.table.is_some_and(|table| table.is_woken)
    }

    /// Claims the task in this slot, to be run; a closure is nobody else's anyway. False: its task was claimed elsewhere,
    /// or has moved on.
    #[inline]
    pub(crate) fn claim(&self) -> bool {
        match self.peek_entry() {
            None => true,
            Some(_) if self.is_woken() => true,
            Some(entry) => !self.is_outdated(entry) && entry.header().state.claim() == Claim::Won,
        }
    }

    /// As [`Slot::claim`], for a record that is its task's first and was not taken under the queue's locks.
    #[inline]
    pub(crate) fn claim_unmoved(&self) -> bool {
        match self.peek_entry() {
            None => true,
            Some(entry) => entry.header().state.claim_unmoved() == Claim::Won,
        }
    }

    /// As [`Slot::claim`], for somebody who will not run it. Not for the record of a woken future.
    pub(crate) fn claim_to_remove(&self) -> bool {
        debug_assert!(!self.is_woken(), "a future that has begun is ended by a worker");
        match self.peek_entry() {
            None => true,
            Some(entry) => !self.is_outdated(entry) && entry.header().state.claim_to_remove() == Claim::Won,
        }
    }

    /// Whether its task has a later record. Once claimed, a task is not moved any more: then this stays as it is.
    #[inline]
    fn is_outdated(&self, entry: &Entry) -> bool {
        entry.header().state.load().is_moved() && entry.header().is_outdated(self.turn())
    }

    fn turn(&self) -> u64 {
        let words = self.table.map_or(0, |table| table.words);
        // SAFETY: called for slots that hold an entry.
        unsafe { turn_of(words, self.words.as_ptr().cast()) }
    }

    /// Whether it stands for no task any more.
    pub(crate) fn is_dead(&self) -> bool {
        if self.is_woken() {
            return false;
        }
        self.peek_entry()
            .is_some_and(|entry| entry.header().state.load().is_claimed() || self.is_outdated(entry))
    }

    /// Whether its task waits still, by a later record. Under a lock of its room.
    pub(crate) fn is_elsewhere(&self) -> bool {
        self.peek_entry()
            .is_some_and(|entry| self.is_outdated(entry) && !entry.header().state.load().is_claimed())
    }

    /// Empties a slot whose task was claimed elsewhere, or has moved on.
    #[cold]
    #[inline(never)]
    pub(crate) fn let_go(&mut self) {
        if let Some(dead) = self.take_dead() {
            dead.let_go();
        }
    }

    /// Takes the record out of a slot whose task was claimed elsewhere, or has moved on; for later.
    pub(crate) fn take_dead(&mut self) -> Option<Dead> {
        let is_outdated = self.peek_entry().map(|entry| self.is_outdated(entry))?;
        Some(Dead {
            entry: self.take_entry()?,
            is_outdated,
        })
    }

    /// What hooks and policies are told of the task.
    pub(crate) fn info(&self) -> TaskInfo<'_> {
        match self.peek_entry() {
            Some(entry) => entry.header().info(),
            None => TaskInfo {
                id: next_id(),
                name: None,
                type_name: self.type_name()(),
                priority: self.class.priority(),
            },
        }
    }

    /// Ends a task that will not run: drops its closure, tells its waiters and then `told`. A task with a handle has been
    /// claimed by the caller, or was never published.
    pub(crate) fn end_unrun(mut self, end: End, told: Option<&dyn Fn(&TaskInfo<'_>)>) {
        let Some(entry) = self.take_entry() else {
            let told = told.map(|told| (told, self.info().id, self.type_name()()));
            let priority = self.class.priority();
            drop(self);
            if let Some((told, id, type_name)) = told {
                told(&TaskInfo {
                    id,
                    name: None,
                    type_name,
                    priority,
                });
            }
            return;
        };
        if !entry.header().state.load().is_claimed() {
            let _ = entry.header().state.claim_to_remove();
        }
        // SAFETY: claimed, and the closure is still there; the entry is a share.
        unsafe { Header::end_unrun(entry.pointer(), end, None) };
        if let Some(told) = told {
            told(&entry.header().info());
        }
        entry.let_go();
    }

    /// Runs the closure in this slot; what it panics with passes through.
    #[inline]
    pub(crate) fn run(&mut self) {
        if let Some(table) = self.table.take() {
            // SAFETY: the slot holds a payload of this table, and is empty from here on, also if it panics.
            unsafe { (table.run)(self.words.as_mut_ptr().cast()) };
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(entry) = self.take_entry() {
            debug_assert!(false, "an entry was dropped without an end");
            entry.let_go();
        } else if let Some(table) = self.table.take() {
            // SAFETY: as in `run`.
            contain(|| unsafe { (table.drop)(self.words.as_mut_ptr().cast()) });
        }
    }
}
