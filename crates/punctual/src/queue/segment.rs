//! Four kilobytes of records.
//!
//! In: nothing. Out: memory with a place for the next segment and for a few times. Records never cross a segment's
//! end; a zero word marks the end of those that were written. Segments are not initialised and not page-aligned (the
//! allocator would spend a second page on that), but their pages are touched when they are made: a page fault takes
//! two microseconds, and nobody should wait for it under a lock.

#![allow(unsafe_code)]

#[cfg(loom)]
use crate::sync::Cell;
use crate::time::Tick;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr::{NonNull, null_mut};

/// Words for records. Few in the models, so that they cross from segment to segment. (The longest record, of six words with
/// an age, needs nine; no loom model has one.)
pub(super) const WORDS: usize = if cfg!(loom) {
    8
} else if cfg!(shuttle) {
    9
} else {
    502
};

/// One record in this many has its time of arrival noted; [`Segment::samples`] has room for those of 512 records, and
/// a segment holds at most 502.
pub(super) const SAMPLE_EVERY: u64 = 64;
const SAMPLES: usize = 8;

/// The record that opened a chain is no sample of how long records wait: there are enough of those.
const UNCOUNTED: Tick = 1 << 63;

/// The memory.
#[repr(C)]
pub(super) struct Segment {
    pub(super) next: *mut Segment,
    /// When the first record of a chain was written, and [`UNCOUNTED`] if that is all; 0 = not noted.
    opened: Tick,
    samples: [Tick; SAMPLES],
    pub(super) words: [MaybeUninit<u64>; WORDS],
    /// Loom's witness that one side at a time touches the words.
    pub(super) witness: Witness,
}

#[cfg(not(any(loom, shuttle)))]
const _: () = assert!(size_of::<Segment>() == 4096);

#[cfg(not(loom))]
pub(super) struct Witness;
#[cfg(not(loom))]
impl Witness {
    pub(super) fn new() -> Self {
        Witness
    }
    #[inline(always)]
    pub(super) fn touch(&self) {}
}
#[cfg(loom)]
pub(super) struct Witness(Cell<()>);
#[cfg(loom)]
impl Witness {
    pub(super) fn new() -> Self {
        Witness(Cell::new(()))
    }
    pub(super) fn touch(&self) {
        self.0.with_mut(|_| ());
    }
}
impl Segment {
    /// Notes when the record that opens a chain was written; whether it is a sample too.
    pub(super) fn open(&mut self, tick: Tick, is_sample: bool) {
        self.opened = if is_sample { tick } else { tick | UNCOUNTED };
    }

    /// When the chain was opened; 0 = not noted.
    pub(super) fn opened(&self) -> Tick {
        self.opened & !UNCOUNTED
    }

    /// The same, if its first record is a sample.
    #[inline]
    pub(super) fn opened_by_a_sample(&self) -> Option<Tick> {
        (self.opened != 0 && self.opened & UNCOUNTED == 0).then_some(self.opened)
    }

    /// Notes a time of arrival for the record with this number.
    #[inline]
    pub(super) fn note(&mut self, number: u64, tick: Tick) {
        self.samples[Self::sample_of(number)] = tick;
    }

    /// Takes the time of arrival of the record with this number, if it was noted.
    #[inline]
    pub(super) fn noted(&mut self, number: u64) -> Option<Tick> {
        let tick = std::mem::take(&mut self.samples[Self::sample_of(number)]);
        (tick != 0).then_some(tick)
    }

    /// Forgets when the chain was opened.
    #[inline]
    pub(super) fn forget_opening(&mut self) {
        self.opened = 0;
    }

    /// Forgets every time that was noted.
    pub(super) fn forget_times(&mut self) {
        self.opened = 0;
        self.samples = [0; SAMPLES];
    }

    fn sample_of(number: u64) -> usize {
        (number / SAMPLE_EVERY) as usize % SAMPLES
    }
}

/// A segment that belongs to whoever holds this.
pub(super) struct Owned(NonNull<Segment>);

// SAFETY: the memory belongs to its holder, whatever thread that is.
unsafe impl Send for Owned {}

impl Owned {
    const LAYOUT: Layout = Layout::new::<Segment>();

    pub(super) fn new() -> Self {
        // SAFETY: the layout is not empty. The header is initialised before anyone reads it; the words are
        // `MaybeUninit`. The last word is written to touch the second page.
        unsafe {
            let memory = alloc(Self::LAYOUT).cast::<Segment>();
            let Some(segment) = NonNull::new(memory) else {
                handle_alloc_error(Self::LAYOUT)
            };
            (&raw mut (*memory).next).write(null_mut());
            (&raw mut (*memory).opened).write(0);
            (&raw mut (*memory).samples).write([0; SAMPLES]);
            (&raw mut (*memory).witness).write(Witness::new());
            (&raw mut (*memory).words[WORDS - 1]).write(MaybeUninit::new(0));
            Owned(segment)
        }
    }

    pub(super) fn into_raw(self) -> NonNull<Segment> {
        let segment = self.0;
        std::mem::forget(self);
        segment
    }

    /// # Safety
    /// `segment` came from [`Owned::into_raw`] and nobody else refers to it any more.
    pub(super) unsafe fn from_raw(segment: NonNull<Segment>) -> Self {
        Owned(segment)
    }

    /// Ready for another round.
    pub(super) fn reset(&mut self) {
        // SAFETY: owned.
        let segment = unsafe { self.0.as_mut() };
        segment.next = null_mut();
        segment.forget_times();
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: owned, made with this layout; dropping the header is the models' business.
        unsafe {
            std::ptr::drop_in_place(self.0.as_ptr());
            dealloc(self.0.as_ptr().cast(), Self::LAYOUT);
        }
    }
}
