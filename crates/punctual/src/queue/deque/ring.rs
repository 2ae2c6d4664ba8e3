//! The memory of a deque: places for records, reused in a circle.
//!
//! In: how many. Out: that many places of eight words: a time of arrival or 0, then a record's header word and payload.
//! Which places hold a record is known to the deque; dropped, a ring forgets them.

#![allow(unsafe_code)]

use crate::queue::segment::Witness;
use crate::task::Class;
use crate::task::block::Header;
use crate::task::record::Arrival;
use crate::task::record::{self, MAX_WORDS, Payload, Slot};
use crate::time::Tick;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// One in this many has its time of arrival noted, and speaks for all of them.
pub(super) const SAMPLE_EVERY: u64 = 64;

/// A cache line: a record and its arrival.
#[repr(C, align(64))]
pub(super) struct Place {
    words: [MaybeUninit<u64>; MAX_WORDS + 2],
    /// Loom's witness that one side at a time touches the words.
    witness: Witness,
}

#[cfg(not(loom))]
const _: () = assert!(size_of::<Place>() == 64);

impl Place {
    /// Moves a payload in.
    ///
    /// # Safety
    /// `place` is one of a ring's, holds no record, and is the caller's alone until it says otherwise.
    #[inline(always)]
    pub(super) unsafe fn put<P: Payload>(place: NonNull<Place>, arrival: Tick, class: Class, payload: P) {
        // SAFETY: the caller's promise; a payload's type fits its words and is no more than word-aligned (contract of
        // `Payload`), and is moved: nothing drops it here.
        unsafe {
            (*place.as_ptr()).witness.touch();
            let words = (&raw mut (*place.as_ptr()).words).cast::<u64>();
            words.write(arrival);
            words.add(1).write(record::header::<P>(class));
            words.add(2).cast::<P>().write(payload);
        }
    }

    /// Moves a record back in.
    ///
    /// # Safety
    /// As [`Place::put`]; the slot is not empty.
    pub(super) unsafe fn put_back(place: NonNull<Place>, slot: Slot) {
        // SAFETY: the caller's promise; a record is at most as long as the place's words but one.
        unsafe {
            (*place.as_ptr()).witness.touch();
            let words = (&raw mut (*place.as_ptr()).words).cast::<u64>();
            words.write(0);
            slot.spill(words.add(1));
        }
    }

    /// Whether the record in it is this task's.
    ///
    /// # Safety
    /// A record was put into `place`, and nobody writes to it meanwhile.
    pub(super) unsafe fn holds(place: NonNull<Place>, task: NonNull<Header>) -> bool {
        // SAFETY: the caller's promise; an entry's record is its header word and the block's address.
        unsafe {
            let words = (&raw const (*place.as_ptr()).words).cast::<u64>();
            let (_, table) = record::read_header(words.add(1).read());
            table.is_entry && words.add(2).cast::<NonNull<Header>>().read() == task
        }
    }

    /// Moves the record into an empty slot.
    ///
    /// # Safety
    /// `place` holds a record that is the caller's alone, and that it forgets after this.
    #[inline(always)]
    pub(super) unsafe fn take(place: NonNull<Place>, slot: &mut Slot) {
        // SAFETY: the caller's promise.
        unsafe {
            (*place.as_ptr()).witness.touch();
            let words = (&raw const (*place.as_ptr()).words).cast::<u64>();
            let tick = words.read();
            slot.arrival = (tick != 0).then_some(Arrival {
                tick,
                weight: SAMPLE_EVERY,
            });
            slot.fill(words.add(1));
        }
    }
}

/// So many places, a power of two.
pub(super) struct Ring {
    places: NonNull<Place>,
    /// How many, less one.
    mask: u64,
}

// SAFETY: what lies in the places is `Send`, and who may touch one is decided by the deque.
unsafe impl Send for Ring {}

impl Ring {
    pub(super) fn new(places: usize) -> Self {
        assert!(places.is_power_of_two());
        let layout = Ring::layout(places);
        // SAFETY: the layout has a size above zero.
        let Some(start) = NonNull::new(unsafe { alloc(layout) }.cast::<Place>()) else {
            handle_alloc_error(layout)
        };
        for index in 0..places {
            // SAFETY: inside the allocation; the witness is the only part that is ever read before it was written.
            unsafe { (&raw mut (*start.add(index).as_ptr()).witness).write(Witness::new()) };
        }
        Ring {
            places: start,
            mask: places as u64 - 1,
        }
    }

    fn layout(places: usize) -> Layout {
        Layout::array::<Place>(places).expect("a ring of records fits the address space")
    }

    pub(super) fn len(&self) -> u64 {
        self.mask + 1
    }

    /// Where the record with this number lies.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> NonNull<Place> {
        // SAFETY: the mask keeps it inside.
        unsafe { self.places.add((number & self.mask) as usize) }
    }

    /// The same places, for the owner's own use while the ring lives.
    pub(super) fn alias(&self) -> Alias {
        Alias {
            places: self.places,
            mask: self.mask,
        }
    }

    /// A larger or smaller ring with the records of these numbers, which are the caller's alone; this one has forgotten
    /// them.
    pub(super) fn moved(&self, numbers: std::ops::Range<u64>, places: usize) -> Ring {
        let other = Ring::new(places);
        for number in numbers {
            // SAFETY: both are places of their rings; the words are moved as they are, and the witness stays.
            unsafe {
                let from = self.place(number).as_ptr();
                let to = other.place(number).as_ptr();
                (*from).witness.touch();
                (*to).witness.touch();
                (&raw const (*from).words).copy_to_nonoverlapping(&raw mut (*to).words, 1);
            }
        }
        other
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let places = self.len() as usize;
        for index in 0..places {
            // SAFETY: written when the ring was made, and dropped once.
            unsafe { (&raw mut (*self.places.add(index).as_ptr()).witness).drop_in_place() };
        }
        // SAFETY: allocated with this layout.
        unsafe { dealloc(self.places.as_ptr().cast(), Ring::layout(places)) };
    }
}

/// A ring's places as its owner remembers them.
#[derive(Clone, Copy)]
pub(super) struct Alias {
    places: NonNull<Place>,
    mask: u64,
}

impl Alias {
    #[inline(always)]
    pub(super) fn len(&self) -> u64 {
        self.mask + 1
    }

    /// As [`Ring::place`]; good while the ring lives.
    #[inline(always)]
    pub(super) fn place(&self, number: u64) -> NonNull<Place> {
        // SAFETY: as there; the owner replaces its alias when it replaces the ring.
        unsafe { self.places.add((number & self.mask) as usize) }
    }
}
