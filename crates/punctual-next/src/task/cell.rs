//! The cell of a task: one piece of memory, a [`TaskHeader`], then the closure and later its output in the same bytes.
//!
//! Only the files of this folder touch those bytes. The other modules hold a cell in a role, which is a pointer to it and the right to
//! certain steps:
//!
//! ```text
//!   make ----> Runnable ---- run ----> Ran ---- publish ----> (gone)
//!     |           '--------- end -----------------------------'
//!     '------> Receipt ---- accepted ----> JoinRef ---- take the output, or detach
//!                 '-------- take_back(Runnable) ----> the closure
//! ```
//!
//! The right to run is in `runnable.rs`, references without the right to run are in `reference.rs`.

#![allow(unsafe_code)]

use super::reference::PinnedCell;
use super::runnable::Runnable;
use super::slab;
use super::state::{End, State, Waiters};
use crate::sync::atomic::AtomicU8;
use crate::sync::atomic::Ordering::Relaxed;
use crate::sync::{Arc, Cell, Weak, futex};
use std::alloc::Layout;
use std::any::Any;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::task::Waker;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// What a cell asks of the engine that it was made for.
pub(crate) trait Scheduler: Send + Sync {
    /// Takes the task out of the place in which it waits. `None`: a runner has it.
    fn remove(&self, cell: &PinnedCell) -> Option<Runnable>;
    /// Counts the end of a task that was never run. Before the end is visible.
    fn before_end(&self, task: &TaskHeader, end: End);
}

/// A thin pointer to the scheduler of a cell. It may be followed by the owner of the `Runnable` and by a thread that pins the cell:
/// a scheduler outlives every task that has not ended.
#[derive(Clone, Copy)]
pub(crate) struct SchedulerRef(NonNull<Weak<dyn Scheduler>>);

// SAFETY: it is followed under the rule above only, and then gives out a counted reference.
unsafe impl Send for SchedulerRef {}
// SAFETY: as above.
unsafe impl Sync for SchedulerRef {}

impl SchedulerRef {
    /// The scheduler keeps the weak reference to itself at this address for as long as it lives.
    pub(crate) fn new(anchor: &Weak<dyn Scheduler>) -> Self {
        SchedulerRef(NonNull::from(anchor))
    }

    /// # Safety
    /// The caller owns the task's `Runnable`, or pins its cell.
    pub(super) unsafe fn own(self) -> Arc<dyn Scheduler> {
        // SAFETY: the task has not ended, so the scheduler, and in it the weak reference, is there.
        let anchor = unsafe { self.0.as_ref() };
        anchor.upgrade().expect("a scheduler outlives its tasks")
    }
}

/// The place that a task is in, or was in last. Written by the owner of the `Runnable` or under the lock of that place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PlaceTag {
    /// In the hands of a thread: the submitter, or a runner.
    None,
    /// In the ready queue. A pop does not write the tag: a task that the queue does not hold any more is with a runner.
    Ready,
}

pub(super) struct VTable {
    pub(super) layout: Layout,
    /// Calls the closure, which may unwind. Its output lies in the cell then, if there is a handle to take it.
    pub(super) run: unsafe fn(NonNull<TaskHeader>),
    /// Puts the payload of a panic where the output would be. It comes back if there is no handle to take it.
    pub(super) put_payload: unsafe fn(NonNull<TaskHeader>, Payload) -> Option<Payload>,
    pub(super) has_output: bool,
    pub(super) drop_closure: unsafe fn(NonNull<TaskHeader>),
    pub(super) drop_output: unsafe fn(NonNull<TaskHeader>, End),
    /// Moves output or payload to the address.
    pub(super) take_output: unsafe fn(NonNull<TaskHeader>, End, *mut ()),
    /// Where the waker lies; 0 in a cell without a handle.
    pub(super) waker: usize,
}

/// The first bytes of every cell.
#[repr(C)]
pub(crate) struct TaskHeader {
    pub(super) state: State,
    pub(super) vtable: &'static VTable,
    pub(super) scheduler: SchedulerRef,
    /// Of the place that holds the task, and guarded by its lock: the slot in the queue, neighbours in a list.
    links: Cell<[usize; 2]>,
    place: AtomicU8,
}

// SAFETY: `links` is touched under the lock of the task's place; everything else is made for sharing.
unsafe impl Sync for TaskHeader {}

impl TaskHeader {
    pub(super) fn new(with_handle: bool, vtable: &'static VTable, scheduler: SchedulerRef) -> Self {
        TaskHeader {
            state: State::new(with_handle),
            vtable,
            scheduler,
            links: Cell::new([0; 2]),
            place: AtomicU8::new(PlaceTag::None as u8),
        }
    }

    pub(crate) fn place(&self) -> PlaceTag {
        match self.place.load(Relaxed) {
            1 => PlaceTag::Ready,
            _ => PlaceTag::None,
        }
    }

    /// By the owner of the `Runnable`, or under the lock of the place that owns it.
    #[inline]
    pub(crate) fn set_place(&self, tag: PlaceTag) {
        self.place.store(tag as u8, Relaxed);
    }

    /// Calls `f` with the links.
    ///
    /// # Safety
    /// The caller holds the lock of the place that the task is in, or owns its `Runnable`.
    #[inline]
    pub(crate) unsafe fn links<R>(&self, f: impl FnOnce(&mut [usize; 2]) -> R) -> R {
        // SAFETY: the caller's promise: no other thread touches them meanwhile.
        self.links.with_mut(|links| f(unsafe { &mut *links }))
    }
}

/// Frees a cell.
///
/// # Safety
/// The caller has given up the last reference; closure and output are gone.
pub(super) unsafe fn free(cell: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise: no other thread knows the cell.
    unsafe {
        let vtable = cell.as_ref().vtable;
        if let Some(waker) = waker_slot(cell) {
            drop_quietly(waker.with_mut(|waker| (*waker).take()));
        }
        slab::free(cell.cast(), vtable.layout);
    }
}

/// # Safety
/// The cell is there for as long as the answer is used.
pub(super) unsafe fn waker_slot<'a>(cell: NonNull<TaskHeader>) -> Option<&'a Cell<Option<Waker>>> {
    // SAFETY: the caller's promise; the table says where the waker lies.
    unsafe {
        let offset = cell.as_ref().vtable.waker;
        (offset != 0).then(|| cell.byte_add(offset).cast::<Cell<Option<Waker>>>().as_ref())
    }
}

/// Drops something of the user's; a panic in there goes no further.
pub(crate) fn drop_quietly<T>(value: T) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value))) {
        // The payload's own drop may panic too.
        std::mem::forget(payload);
    }
}

/// Takes the waker and calls it.
///
/// # Safety
/// The caller resolved the task in a step that made the waker its own, and has a reference.
pub(super) unsafe fn call_waker(cell: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    let waker = unsafe { waker_slot(cell) }.and_then(|slot| slot.with_mut(|slot| unsafe { (*slot).take() }));
    if let Some(waker) = waker
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake()))
    {
        std::mem::forget(payload);
    }
}

/// Wakes what waits for a task.
///
/// # Safety
/// The caller resolved the task in the step with this answer, and has a reference.
pub(super) unsafe fn wake(cell: NonNull<TaskHeader>, waiters: Waiters) {
    // SAFETY: the caller's promise.
    unsafe {
        if waiters.threads {
            futex::wake_all_low_half(cell.as_ref().state.address());
        }
        if waiters.waker {
            call_waker(cell);
        }
    }
}

#[repr(C)]
pub(crate) struct Detached<F> {
    pub(super) header: TaskHeader,
    pub(super) closure: ManuallyDrop<F>,
}

impl<F: FnOnce() + Send> Detached<F> {
    pub(super) const VTABLE: VTable = VTable {
        layout: Layout::new::<Self>(),
        run: Self::run,
        put_payload: |_, payload| Some(payload),
        has_output: false,
        drop_closure: Self::drop_closure,
        drop_output: |_, _| {},
        take_output: |_, _, _| unreachable!("a task without a handle has no output"),
        waker: 0,
    };

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn run(cell: NonNull<TaskHeader>) {
        // SAFETY: the closure is there until the task is run, which this is.
        let closure = unsafe { ManuallyDrop::take(&mut cell.cast::<Self>().as_mut().closure) };
        closure();
    }

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn drop_closure(cell: NonNull<TaskHeader>) {
        // SAFETY: as above.
        drop_quietly(unsafe { ManuallyDrop::take(&mut cell.cast::<Self>().as_mut().closure) });
    }
}

pub(super) union Stage<F, T> {
    pub(super) closure: ManuallyDrop<F>,
    output: ManuallyDrop<T>,
    payload: ManuallyDrop<Payload>,
}

#[repr(C)]
pub(crate) struct Joinable<F, T> {
    pub(super) header: TaskHeader,
    pub(super) waker: Cell<Option<Waker>>,
    pub(super) stage: Cell<Stage<F, T>>,
}

impl<F: FnOnce() -> T + Send, T: Send> Joinable<F, T> {
    pub(super) const VTABLE: VTable = VTable {
        layout: Layout::new::<Self>(),
        run: Self::run,
        put_payload: Self::put_payload,
        has_output: true,
        drop_closure: Self::drop_closure,
        drop_output: Self::drop_output,
        take_output: Self::take_output,
        waker: std::mem::offset_of!(Self, waker),
    };

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn run(cell: NonNull<TaskHeader>) {
        // SAFETY: the closure is there until the task is run, which this is; until the end is published the stage is the runner's.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            let closure = stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure));
            let output = ManuallyDrop::new(closure());
            stage.with_mut(|stage| (*stage).output = output);
        }
    }

    /// # Safety
    /// The caller was the `Runnable`, and the closure has panicked.
    unsafe fn put_payload(cell: NonNull<TaskHeader>, payload: Payload) -> Option<Payload> {
        let payload = ManuallyDrop::new(payload);
        // SAFETY: as in `run`.
        let stage = unsafe { &cell.cast::<Self>().as_ref().stage };
        // SAFETY: as in `run`.
        stage.with_mut(|stage| unsafe { (*stage).payload = payload });
        None
    }

    /// # Safety
    /// The caller owns the `Runnable`.
    unsafe fn drop_closure(cell: NonNull<TaskHeader>) {
        // SAFETY: as above.
        drop_quietly(unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure))
        });
    }

    /// # Safety
    /// The output of a task that ended like this lies in the cell, and is the caller's.
    unsafe fn drop_output(cell: NonNull<TaskHeader>, end: End) {
        // SAFETY: the caller's promise.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            match end {
                End::Finished => {
                    drop_quietly(stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).output)));
                }
                End::Panicked => {
                    drop_quietly(stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).payload)));
                }
                End::Cancelled | End::Returned | End::Rejected | End::Evicted => {}
            }
        }
    }

    /// # Safety
    /// As `drop_output`; the address is that of a `T` to be if the task finished, and of a [`Payload`] to be if it panicked.
    unsafe fn take_output(cell: NonNull<TaskHeader>, end: End, to: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe {
            let stage = &cell.cast::<Self>().as_ref().stage;
            match end {
                End::Finished => {
                    stage.with(|stage| to.cast::<T>().copy_from((&raw const (*stage).output).cast(), 1))
                }
                End::Panicked => {
                    stage.with(|stage| {
                        to.cast::<Payload>()
                            .copy_from((&raw const (*stage).payload).cast(), 1)
                    });
                }
                End::Cancelled | End::Returned | End::Rejected | End::Evicted => {}
            }
        }
    }
}
