//! First in, first out: cell pointers in segments, with a lock at each end.
//!
//! Producers fill segments under the tail lock, consumers empty them under the head lock, and the two meet only when the head has
//! run dry: it then takes the whole chain of the tail in exchange for its own empty segment. A pop empties the slot and does not
//! touch the cell, whose cache line is far away while the lock is held.
//!
//! **Removal.** A cell knows its slot. A canceller takes both locks and compares: the slot holds this cell, or a consumer was
//! first. The slot may have been reused meanwhile for another cell, or its segment for another part of the queue; it is still a slot,
//! because segments are not freed while the queue lives. A segment whose cells were all taken out leaves the chain, so nothing has to
//! be swept.

#![allow(unsafe_code)]

use super::gate::{Entry, Gate, Verdict};
use crate::sync::atomic::AtomicUsize;
use crate::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use crate::sync::mutex::{Mutex, MutexGuard, Rank};
use crate::sync::{Padded, prefetch};
use crate::task::cell::{PlaceTag, TaskHeader};
use crate::task::reference::PinnedCell;
use crate::task::runnable::Runnable;
use std::alloc::Layout;
use std::ptr::{self, NonNull};

/// Slots of a segment: with the four words before them they fill 512 bytes. Few in the models, which then cross the border.
const SLOTS: usize = if cfg!(any(loom, shuttle)) { 2 } else { 60 };

/// A consumer asks for the cell this many slots ahead.
const AHEAD: usize = 4;

/// Empty segments that the head gives back to the tail at a time: the consumers meet the tail lock once for so many.
const BATCH: usize = if cfg!(any(loom, shuttle)) { 1 } else { 16 };

#[repr(C, align(512))]
struct Segment {
    next: *mut Segment,
    previous: *mut Segment,
    filled: usize,
    /// Cells that were taken out by cancellers. (A pop does not count: the head passes its slots once.)
    removed: usize,
    slots: [*mut TaskHeader; SLOTS],
}

/// The producers' end. The chain is `first..=last`; `last` has room, or is full and gets a successor.
pub(crate) struct Tail {
    first: *mut Segment,
    last: *mut Segment,
    pushed: usize,
    /// How many had left when a producer last looked.
    left: usize,
    pub(crate) gate: Gate,
    /// Empty segments.
    spare: Vec<*mut Segment>,
}

/// The consumers' end: a chain of its own, without the tail's.
struct Head {
    segment: *mut Segment,
    offset: usize,
    left: usize,
    /// Emptied, and on their way back to the tail.
    emptied: Vec<*mut Segment>,
}

// SAFETY: segments belong to the queue, and are touched under the lock of the end that they are at.
unsafe impl Send for Tail {}
// SAFETY: as above.
unsafe impl Send for Head {}

/// See the module.
pub(crate) struct Fifo {
    tail: Padded<Mutex<Tail>>,
    /// Mirrors for those that look without a lock.
    pushed: Padded<AtomicUsize>,
    head: Padded<Mutex<Head>>,
    left: Padded<AtomicUsize>,
}

impl Fifo {
    pub(crate) fn new(gate: Gate) -> Self {
        let (first, segment) = (allocate(), allocate());
        let tail = Tail {
            first,
            last: first,
            pushed: 0,
            left: 0,
            gate,
            spare: Vec::new(),
        };
        let head = Head {
            segment,
            offset: 0,
            left: 0,
            emptied: Vec::with_capacity(BATCH),
        };
        Fifo {
            tail: Padded(Mutex::new(Rank::Tail, tail)),
            pushed: Padded(AtomicUsize::new(0)),
            head: Padded(Mutex::new(Rank::Head, head)),
            left: Padded(AtomicUsize::new(0)),
        }
    }

    /// Asks the gate, and takes the task if it says so. Otherwise the task comes back.
    #[inline]
    pub(crate) fn push(&self, task: Runnable, entry: Entry) -> Result<Verdict, (Runnable, Verdict)> {
        task.header().set_place(PlaceTag::Ready);
        let mut tail = self.tail.lock();
        let mut queued = tail.pushed - tail.left;
        if queued >= tail.gate.capacity {
            tail.left = self.left.load(Acquire);
            queued = tail.pushed - tail.left;
        }
        let verdict = tail.gate.admit(entry, queued);
        if !matches!(verdict, Verdict::Go | Verdict::GoAndStart) {
            drop(tail);
            return Err((task, verdict));
        }
        tail.append(task);
        // Release: a consumer that sees the number may take the tail lock and finds the task.
        self.pushed.store(tail.pushed, Release);
        Ok(verdict)
    }

    /// Takes the oldest task.
    #[inline]
    pub(crate) fn pop(&self) -> Option<Runnable> {
        let mut head = self.head.lock();
        loop {
            // SAFETY: the head's segments are its own while its lock is held.
            let segment = unsafe { &mut *head.segment };
            if head.offset == segment.filled {
                if !self.advance(&mut head) {
                    return None;
                }
                continue;
            }
            let offset = head.offset;
            head.offset += 1;
            let cell = std::mem::replace(&mut segment.slots[offset], ptr::null_mut());
            // A canceller left nothing.
            let Some(cell) = NonNull::new(cell) else { continue };
            let ahead = segment.slots[(offset + AHEAD).min(SLOTS - 1)];
            self.count_left(&mut head);
            drop(head);
            prefetch(ahead);
            // SAFETY: the slot owned the `Runnable`, and is empty now.
            return Some(unsafe { Runnable::from_raw(cell) });
        }
    }

    #[inline]
    fn count_left(&self, head: &mut Head) {
        head.left += 1;
        self.left.store(head.left, Release);
    }

    /// To the next segment of the head, or the whole tail in exchange for the empty one. False: there is nothing.
    #[cold]
    fn advance(&self, head: &mut Head) -> bool {
        let old = head.segment;
        // SAFETY: the head's segments are its own; the tail's are touched under its lock.
        unsafe {
            let next = (*old).next;
            if next.is_null() && self.pushed.load(Acquire) == head.left {
                return false;
            }
            if next.is_null() {
                let mut tail = self.tail.lock();
                (*old).clear();
                head.segment = tail.first;
                tail.first = old;
                tail.last = old;
            } else {
                (*old).clear();
                (*next).previous = ptr::null_mut();
                head.segment = next;
                head.emptied.push(old);
                if head.emptied.len() == BATCH {
                    self.tail.lock().spare.append(&mut head.emptied);
                }
            }
        }
        head.offset = 0;
        true
    }

    /// Takes a task out that waits here. `None`: a consumer was first.
    pub(crate) fn remove(&self, cell: &PinnedCell) -> Option<Runnable> {
        let mut head = self.head.lock();
        let mut tail = self.tail.lock();
        // SAFETY: with both locks no other thread touches slots, segments or the links of a cell in them. The link is the address of
        // a slot, because the tag said that the cell was pushed here; the slot lies in a segment, which is not freed while the queue
        // lives.
        unsafe {
            let slot = cell.header().links(|links| links[0]) as *mut *mut TaskHeader;
            if *slot != cell.pointer().as_ptr() {
                return None;
            }
            *slot = ptr::null_mut();
            let segment = slot
                .map_addr(|slot| slot & !(align_of::<Segment>() - 1))
                .cast::<Segment>();
            (*segment).removed += 1;
            if (*segment).removed == SLOTS && segment != head.segment {
                tail.drop_from_chain(segment);
            }
            self.count_left(&mut head);
            Some(Runnable::from_raw(cell.pointer()))
        }
    }

    /// Takes everything out, in order.
    pub(crate) fn take_all(&self) -> Vec<Runnable> {
        let mut taken = Vec::new();
        let mut head = self.head.lock();
        let mut tail = self.tail.lock();
        let (mut segment, mut offset) = (head.segment, head.offset);
        // The head's chain, then the tail's.
        for next in [tail.first, ptr::null_mut()] {
            // SAFETY: with both locks the segments are this thread's.
            while let Some(each) = unsafe { segment.as_mut() } {
                for slot in &mut each.slots[offset..each.filled] {
                    let cell = NonNull::new(std::mem::replace(slot, ptr::null_mut()));
                    // SAFETY: the slot owned the `Runnable`, and is empty now.
                    taken.extend(cell.map(|cell| unsafe { Runnable::from_raw(cell) }));
                }
                (segment, offset) = (each.next, 0);
            }
            segment = next;
        }
        // The slots stay behind as gaps, as after a removal; the next pop passes them.
        head.left += taken.len();
        self.left.store(head.left, Release);
        tail.left = head.left;
        taken
    }

    /// The tail under its lock: the gate, for those that close the pool or count its threads.
    pub(crate) fn tail(&self) -> MutexGuard<'_, Tail> {
        self.tail.lock()
    }

    /// Whether something waits, as far as can be seen without a lock.
    #[inline]
    pub(crate) fn looks_empty(&self) -> bool {
        self.pushed.load(Acquire) == self.left.load(Relaxed)
    }

    /// Whether something waits. In one order with every push: for a worker that has announced its sleep.
    pub(crate) fn is_empty(&self, tail: &Tail) -> bool {
        tail.pushed == self.left.load(Acquire)
    }

    /// Whether something waits, in one order with every push: the lock is taken only if nothing is seen without it.
    pub(crate) fn has_work(&self) -> bool {
        !self.looks_empty() || !self.is_empty(&self.tail.lock())
    }

    pub(crate) fn len(&self) -> usize {
        let pushed = self.tail.lock().pushed;
        pushed - self.left.load(Acquire).min(pushed)
    }
}

impl Tail {
    #[inline]
    fn append(&mut self, task: Runnable) {
        // SAFETY: the segments of the tail are touched under its lock, which the caller holds; so are the links of a cell that is
        // put into it.
        unsafe {
            if (*self.last).filled == SLOTS {
                self.extend();
            }
            let last = &mut *self.last;
            let slot = &raw mut last.slots[last.filled];
            last.filled += 1;
            task.header().links(|links| links[0] = slot.expose_provenance());
            *slot = task.into_raw().as_ptr();
        }
        self.pushed += 1;
    }

    #[cold]
    fn extend(&mut self) {
        // SAFETY: as in `append`.
        unsafe {
            if (*self.last).removed == SLOTS {
                // All of it was taken out while it was the last one.
                (*self.last).restart();
                return;
            }
            let segment = self.spare.pop().unwrap_or_else(allocate);
            (*segment).previous = self.last;
            (*self.last).next = segment;
            self.last = segment;
        }
    }

    /// A segment without cells leaves the chain; the last one stays, and is used again.
    ///
    /// # Safety
    /// Both locks are held; the segment is full, its cells were all taken out, and the head is not at it.
    unsafe fn drop_from_chain(&mut self, segment: *mut Segment) {
        if segment == self.last {
            return;
        }
        // SAFETY: the caller's promise.
        unsafe {
            let (previous, next) = ((*segment).previous, (*segment).next);
            if let Some(previous) = previous.as_mut() {
                previous.next = next;
            }
            if let Some(next) = next.as_mut() {
                next.previous = previous;
            }
            if segment == self.first {
                self.first = next;
            }
            (*segment).clear();
        }
        self.spare.push(segment);
    }
}

impl Segment {
    fn restart(&mut self) {
        self.filled = 0;
        self.removed = 0;
    }

    fn clear(&mut self) {
        self.restart();
        self.next = ptr::null_mut();
        self.previous = ptr::null_mut();
    }
}

fn allocate() -> *mut Segment {
    let layout = Layout::new::<Segment>();
    // SAFETY: the layout is not empty; null pointers and zeros are a segment without cells.
    let segment = unsafe { std::alloc::alloc_zeroed(layout) };
    if segment.is_null() {
        std::alloc::handle_alloc_error(layout);
    }
    segment.cast()
}

impl Drop for Fifo {
    fn drop(&mut self) {
        debug_assert!(self.looks_empty(), "an engine outlives its tasks");
        let (mut head, mut tail) = (self.head.lock(), self.tail.lock());
        let mut segments = std::mem::take(&mut tail.spare);
        segments.append(&mut head.emptied);
        for mut segment in [head.segment, tail.first] {
            while let Some(each) = NonNull::new(segment) {
                // SAFETY: the chains are the queue's.
                segment = unsafe { each.as_ref() }.next;
                segments.push(each.as_ptr());
            }
        }
        for segment in segments {
            // SAFETY: each is in one of the two chains or spare, once.
            unsafe { std::alloc::dealloc(segment.cast(), Layout::new::<Segment>()) };
        }
    }
}
