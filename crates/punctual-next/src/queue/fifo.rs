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
use crate::sync::parker::Parker;
use crate::sync::{Arc, Padded, prefetch};
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
    /// Submitters wait for room: a consumer grants what it frees.
    is_watched: bool,
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
            is_watched: false,
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
        if queued >= tail.gate.room {
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
            let Some((cell, ahead)) = head.take() else {
                if !self.advance(&mut head) {
                    return None;
                }
                continue;
            };
            self.count_left(&mut head);
            let is_watched = head.is_watched;
            drop(head);
            prefetch(ahead);
            if is_watched {
                self.grant_room();
            }
            // SAFETY: the slot owned the `Runnable`, and is empty now.
            return Some(unsafe { Runnable::from_raw(cell) });
        }
    }

    /// The first take of a new thread: in one step with its count, so that the gate's bound is exact. `None`: the thread is still new.
    pub(crate) fn begin(&self) -> Option<Runnable> {
        let mut head = self.head.lock();
        let mut tail = self.tail.lock();
        loop {
            if let Some((cell, _)) = head.take() {
                self.count_left(&mut head);
                tail.gate.begun();
                // SAFETY: as in `pop`.
                return Some(unsafe { Runnable::from_raw(cell) });
            }
            if tail.pushed == head.left {
                return None;
            }
            head.move_on(&mut tail);
        }
    }

    #[inline]
    fn count_left(&self, head: &mut Head) {
        head.left += 1;
        self.left.store(head.left, Release);
    }

    /// To where there is more. False: there is nothing.
    #[cold]
    fn advance(&self, head: &mut Head) -> bool {
        if head.next_segment().is_null() {
            if self.pushed.load(Acquire) == head.left {
                return false;
            }
            head.move_on(&mut self.tail.lock());
        } else {
            head.move_inside();
            if head.emptied.len() >= BATCH {
                self.tail.lock().spare.append(&mut head.emptied);
            }
        }
        true
    }

    /// Takes the oldest task out, to drop it.
    pub(crate) fn take_oldest(&self) -> Option<Runnable> {
        let oldest = self.pop()?;
        self.tail.lock().gate.left(1);
        Some(oldest)
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
        }
        tail.gate.left(1);
        if head.is_watched {
            self.grant_and_unlock(head, tail);
        }
        // SAFETY: the slot owned the `Runnable`, and is empty now.
        Some(unsafe { Runnable::from_raw(cell.pointer()) })
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
        tail.gate.left(taken.len());
        if head.is_watched {
            self.grant_and_unlock(head, tail);
        }
        taken
    }

    /// A task has ended on a worker: of pools whose gate counts them.
    pub(crate) fn task_left(&self) {
        let has_line = {
            let mut tail = self.tail.lock();
            tail.gate.left(1);
            tail.gate.has_line()
        };
        if has_line {
            self.grant_room();
        }
    }

    /// Joins the line of submitters that wait for room. The parker is unparked when a place is granted, or when the gate is closed.
    pub(crate) fn join_line(&self, parker: &Arc<Parker>) {
        let head = self.head.lock();
        let mut tail = self.tail.lock();
        tail.gate.join_line(parker.clone());
        self.grant_and_unlock(head, tail);
    }

    /// Leaves the line. True: a place was granted before, and is the caller's to use.
    pub(crate) fn leave_line(&self, parker: &Arc<Parker>) -> bool {
        self.tail.lock().gate.leave_line(parker)
    }

    /// Gives room that became free to the submitters that wait for it.
    #[cold]
    pub(crate) fn grant_room(&self) {
        let head = self.head.lock();
        let tail = self.tail.lock();
        self.grant_and_unlock(head, tail);
    }

    fn grant_and_unlock(&self, mut head: MutexGuard<'_, Head>, mut tail: MutexGuard<'_, Tail>) {
        let mut woken = Vec::new();
        let queued = tail.pushed - head.left;
        tail.gate.grant(queued, &mut woken);
        head.is_watched = tail.gate.has_line();
        drop((tail, head));
        woken.iter().for_each(|parker| parker.unpark());
    }

    /// Closes the gate, and sends the submitters in line away.
    pub(crate) fn close(&self) {
        self.tail.lock().gate.is_closed = true;
        self.grant_room();
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

impl Head {
    /// The next cell of the current segment, and the one that a consumer wants soon. `None`: the segment is passed.
    #[inline]
    fn take(&mut self) -> Option<(NonNull<TaskHeader>, *mut TaskHeader)> {
        // SAFETY: the head's segments are its own while its lock is held, and so is this.
        let segment = unsafe { &mut *self.segment };
        while self.offset < segment.filled {
            let offset = self.offset;
            self.offset += 1;
            // A canceller left nothing.
            if let Some(cell) = NonNull::new(std::mem::replace(&mut segment.slots[offset], ptr::null_mut())) {
                return Some((cell, segment.slots[(offset + AHEAD).min(SLOTS - 1)]));
            }
        }
        None
    }

    fn next_segment(&self) -> *mut Segment {
        // SAFETY: as in `take`.
        unsafe { (*self.segment).next }
    }

    /// To the next segment of the own chain.
    fn move_inside(&mut self) {
        let old = self.segment;
        // SAFETY: as in `take`; there is a next one.
        unsafe {
            self.segment = (*old).next;
            (*self.segment).previous = ptr::null_mut();
            (*old).clear();
        }
        self.emptied.push(old);
        self.offset = 0;
    }

    /// To the next segment, or the whole tail in exchange for the empty one.
    fn move_on(&mut self, tail: &mut Tail) {
        if !self.next_segment().is_null() {
            return self.move_inside();
        }
        let old = self.segment;
        // SAFETY: as in `take`.
        unsafe { (*old).clear() };
        self.segment = std::mem::replace(&mut tail.first, old);
        tail.last = old;
        self.offset = 0;
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
