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

mod slot;

use super::Class;
use super::block::Entry;
use crate::time::Tick;
pub(crate) use slot::Slot;

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
