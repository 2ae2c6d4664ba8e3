//! A task as it lies in a queue: one header word, then the payload's own words.
//!
//! ```text
//!  | class 16 bits, table 48 bits | payload: 0 to 6 words |
//! ```
//!
//! In: a payload: a closure (inline up to 48 bytes, boxed above), or the [`Entry`] of a block. Out: a [`Slot`] on the
//! worker's stack, from which it is run, dropped, or moved on. The header tells the class although a plain queue has
//! only one: it costs nothing, since no address uses the top sixteen bits. A header is never zero.

#![allow(unsafe_code)]

use super::block::{Entry, Header};
use super::side::next_id;
use super::state::{Claim, End};
use super::{Class, TaskInfo};
use crate::time::Tick;
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// The longest payload that lies in the queue itself. Beyond this the copy costs more than the box saves.
pub(crate) const MAX_WORDS: usize = 6;

/// What differs from payload to payload.
#[derive(Debug)]
pub(crate) struct Table {
    pub(crate) words: usize,
    pub(crate) is_entry: bool,
    /// Of a future that was polled before: nobody else claims it.
    pub(crate) is_woken: bool,
    /// Consumes the payload at this address.
    run: unsafe fn(*mut u64),
    drop: unsafe fn(*mut u64),
    pub(crate) type_name: fn() -> &'static str,
}

/// Something that can lie in a queue.
///
/// # Safety
/// The type is at most [`MAX_WORDS`] words long and no more than word-aligned, and `TABLE` is its own.
pub(crate) unsafe trait Payload: Send + Sized {
    const TABLE: Table;
    const WORDS: usize = size_of::<Self>().div_ceil(size_of::<u64>());

    /// The entry, if it is one.
    fn into_entry(self) -> Result<Entry, Self> {
        Err(self)
    }

    /// What [`Payload::into_entry`] gave.
    fn of_entry(_: Entry) -> Self {
        unreachable!("only an entry is made of one")
    }
}

/// Whether a closure may lie in the queue itself.
pub(crate) const fn fits_inline<F>() -> bool {
    size_of::<F>() <= MAX_WORDS * size_of::<u64>() && align_of::<F>() <= align_of::<u64>()
}

/// A closure that fits.
pub(crate) struct Inline<F>(F);

impl<F> Inline<F> {
    /// Only for closures of which [`fits_inline`] is true. Decided when the code is generated, but checked when it
    /// runs: the branch that boxes the others must compile too.
    #[inline]
    pub(crate) fn new(closure: F) -> Self {
        assert!(fits_inline::<F>());
        Inline(closure)
    }
    pub(crate) fn into_inner(self) -> F {
        self.0
    }
}

// SAFETY: `new` is the only way to make one, and it checks size and alignment.
unsafe impl<F: FnOnce() + Send> Payload for Inline<F> {
    const TABLE: Table = closure_table::<Self, F>();
}

/// A closure that does not fit.
pub(crate) struct Boxed<F>(pub(crate) Box<F>);

// SAFETY: a box is one word.
unsafe impl<F: FnOnce() + Send> Payload for Boxed<F> {
    const TABLE: Table = closure_table::<Self, F>();
}

const fn closure_table<P: Payload + Runnable, F>() -> Table {
    Table {
        words: P::WORDS,
        is_entry: false,
        is_woken: false,
        run: run_payload::<P>,
        drop: drop_payload::<P>,
        type_name: std::any::type_name::<F>,
    }
}

// SAFETY: an entry is one pointer.
unsafe impl Payload for Entry {
    const TABLE: Table = Table {
        words: Self::WORDS,
        is_entry: true,
        is_woken: false,
        run: |_| unreachable!("an entry is run through its block"),
        drop: |_| unreachable!("an entry is let go of through its block"),
        type_name: || "an entry; its block knows the closure's type",
    };

    fn into_entry(self) -> Result<Entry, Self> {
        Ok(self)
    }

    fn of_entry(entry: Entry) -> Self {
        entry
    }
}

/// The record of a task that was moved inside its queue: the task's share, and the number of the move. The records it had
/// before are outdated; each of them holds a clone of the task's [`Reference`](super::block::Reference) from then on.
#[repr(C)]
pub(crate) struct Moved {
    entry: Entry,
    turn: u64,
}

impl Moved {
    pub(crate) fn new(entry: Entry, turn: u64) -> Self {
        Moved { entry, turn }
    }
}

// SAFETY: a pointer, which comes first, and a word.
unsafe impl Payload for Moved {
    const TABLE: Table = Table {
        words: Self::WORDS,
        is_entry: true,
        is_woken: false,
        run: |_| unreachable!("an entry is run through its block"),
        drop: |_| unreachable!("an entry is let go of through its block"),
        type_name: || "an entry; its block knows the closure's type",
    };
}

/// The record of a future that was polled before, and woken: it is the task's share, and whoever takes it polls the future. It
/// stands for no permit, and nobody but a worker takes the task out of the queue.
#[repr(transparent)]
pub(crate) struct Woken(pub(crate) Entry);

// SAFETY: an entry is one pointer.
unsafe impl Payload for Woken {
    const TABLE: Table = Table {
        words: Self::WORDS,
        is_entry: true,
        is_woken: true,
        run: |_| unreachable!("an entry is run through its block"),
        drop: |_| unreachable!("an entry is let go of through its block"),
        type_name: || "an entry; its block knows the closure's type",
    };
}

/// The number of the move that an entry's record, of so many words, stands for.
///
/// # Safety
/// The words behind `payload` are those of an [`Entry`] or a [`Moved`].
pub(crate) unsafe fn turn_of(words: usize, payload: *const u64) -> u64 {
    if words < Moved::WORDS {
        return 0;
    }
    // SAFETY: the caller's promise; the number is the second word, by `repr(C)`.
    unsafe { payload.add(1).read() }
}

/// A payload that is a closure.
trait Runnable {
    fn run(self);
}
impl<F: FnOnce()> Runnable for Inline<F> {
    #[inline]
    fn run(self) {
        (self.0)();
    }
}
impl<F: FnOnce()> Runnable for Boxed<F> {
    fn run(self) {
        (self.0)();
    }
}

unsafe fn run_payload<P: Runnable>(place: *mut u64) {
    // SAFETY: `Slot` calls this once, on a payload of the type whose table named this function.
    unsafe { place.cast::<P>().read() }.run();
}

unsafe fn drop_payload<P>(place: *mut u64) {
    // SAFETY: as in `run_payload`.
    unsafe { place.cast::<P>().drop_in_place() };
}

/// The header word of a payload type in a class.
#[inline]
pub(crate) fn header<P: Payload>(class: Class) -> u64 {
    header_of(&P::TABLE, class)
}

/// As [`header`], for a table that is known.
#[inline]
fn header_of(table: &'static Table, class: Class) -> u64 {
    let address = std::ptr::from_ref(table).expose_provenance() as u64;
    debug_assert!(address >> 48 == 0, "a static lies beyond 48 bits");
    u64::from(class.bits()) << 48 | address
}

/// The class and table a header word names.
///
/// # Safety
/// The word was made by [`header`].
#[inline]
pub(crate) unsafe fn read_header(word: u64) -> (Class, &'static Table) {
    let address = (word & ((1 << 48) - 1)) as usize;
    // SAFETY: the address is that of a static table whose provenance `header` exposed.
    let table = unsafe { &*std::ptr::with_exposed_provenance::<Table>(address) };
    (Class::of_bits((word >> 48) as u16), table)
}

/// A record that stands for no task any more.
pub(crate) struct Dead {
    pub(crate) entry: Entry,
    /// The task has a later record, which holds its share.
    pub(crate) is_outdated: bool,
}

impl Dead {
    /// Gives up what the record held.
    pub(crate) fn let_go(self) {
        if self.is_outdated {
            self.entry.let_go_outdated();
        } else {
            self.entry.let_go();
        }
    }
}

/// When a record came into the queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrival {
    pub(crate) tick: Tick,
    /// How many records this one speaks for.
    pub(crate) weight: u64,
}

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
            super::contain(|| unsafe { (table.drop)(self.words.as_mut_ptr().cast()) });
        }
    }
}
