//! The right to run a task: made with the cell, owned by one place or runner at a time, given up with the outcome.
//!
//! - [`Runnable`]: the unique right and duty to run the task or to end it. The place in which a task waits owns it.
//! - [`Ran`]: the body has returned; the outcome is not visible yet. `publish` is the last touch of a runner.
//! - [`Receipt`]: what the submitter keeps while the task is on its way: it becomes the handle, or takes a refused task apart.

#![allow(unsafe_code)]

use super::cell::{
    Detached, Joinable, Payload, SchedulerRef, Stage, TaskHeader, call_waker, drop_quietly, free,
};
use super::reference::JoinRef;
use super::slab;
use super::state::{End, Publish};
use crate::sync::{Cell, futex};
use std::alloc::Layout;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// Makes a task without a handle.
#[inline]
pub(crate) fn make_detached<F>(scheduler: SchedulerRef, closure: F) -> (Runnable, Receipt<F, Detached<F>>)
where
    F: FnOnce() + Send + 'static,
{
    let cell = slab::allocate(Layout::new::<Detached<F>>()).cast::<Detached<F>>();
    let made = Detached {
        header: TaskHeader::new(false, &Detached::<F>::VTABLE, scheduler),
        closure: ManuallyDrop::new(closure),
    };
    // SAFETY: fresh memory of this layout.
    unsafe { cell.write(made) };
    (
        Runnable(cell.cast()),
        Receipt {
            cell,
            closure: PhantomData,
        },
    )
}

/// Makes a task with a handle.
#[inline]
pub(crate) fn make_joinable<F, T>(
    scheduler: SchedulerRef,
    closure: F,
) -> (Runnable, Receipt<F, Joinable<F, T>>)
where
    F: FnOnce() -> T + Send + 'static,
    T: Send + 'static,
{
    let cell = slab::allocate(Layout::new::<Joinable<F, T>>()).cast::<Joinable<F, T>>();
    let made = Joinable {
        header: TaskHeader::new(true, &Joinable::<F, T>::VTABLE, scheduler),
        waker: Cell::new(None),
        stage: Cell::new(Stage {
            closure: ManuallyDrop::new(closure),
        }),
    };
    // SAFETY: fresh memory of this layout.
    unsafe { cell.write(made) };
    (
        Runnable(cell.cast()),
        Receipt {
            cell,
            closure: PhantomData,
        },
    )
}

/// Held by the submitter while the task is on its way. See the module.
#[must_use = "a refused task must be taken back"]
pub(crate) struct Receipt<F, C> {
    cell: NonNull<C>,
    closure: PhantomData<F>,
}

impl<F> Receipt<F, Detached<F>> {
    /// Nothing more is to be done for it.
    #[inline]
    pub(crate) fn accepted(self) {}

    /// Takes a refused task apart.
    pub(crate) fn take_back(self, refused: Runnable) -> F {
        let cell = refused.into_raw();
        assert_eq!(cell, self.cell.cast(), "a receipt is for one task");
        // SAFETY: the task came back unrun, and no other thread knows it.
        unsafe {
            let closure = ManuallyDrop::take(&mut self.cell.cast::<Detached<F>>().as_mut().closure);
            free(cell);
            closure
        }
    }
}

impl<F, T> Receipt<F, Joinable<F, T>> {
    #[inline]
    pub(crate) fn accepted(self) -> JoinRef<T> {
        JoinRef::new(self.cell.cast())
    }

    /// Takes a refused task apart; the handle is not made.
    pub(crate) fn take_back(self, refused: Runnable) -> F {
        let cell = refused.into_raw();
        assert_eq!(cell, self.cell.cast(), "a receipt is for one task");
        // SAFETY: the task came back unrun, and no other thread knows it.
        unsafe {
            let stage = &self.cell.as_ref().stage;
            let closure = stage.with_mut(|stage| ManuallyDrop::take(&mut (*stage).closure));
            free(cell);
            closure
        }
    }
}

/// The unique right and duty to run a task, or to end it. Its drop ends the task as cancelled.
pub(crate) struct Runnable(NonNull<TaskHeader>);

// SAFETY: a closure in a cell is `Send`; the right to run it goes with this value.
unsafe impl Send for Runnable {}

impl Runnable {
    #[inline]
    pub(crate) fn header(&self) -> &TaskHeader {
        // SAFETY: the `Runnable` has a reference.
        unsafe { self.0.as_ref() }
    }

    /// Runs the body; a panic is part of the outcome.
    #[inline]
    pub(crate) fn run(self) -> Ran {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`.
        unsafe { (cell.as_ref().vtable.run)(cell) }
    }

    /// Ends a task that was never run: drops the closure and tells the scheduler and the waiters.
    pub(crate) fn end(self, end: End) {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`. The scheduler is held until the end is visible: a thread that pins the cell may use it.
        unsafe {
            let scheduler = cell.as_ref().scheduler.own();
            (cell.as_ref().vtable.drop_closure)(cell);
            scheduler.before_end(cell.as_ref(), end);
            Ran {
                cell: Some(cell),
                end,
                has_output: false,
            }
            .publish();
        }
    }

    #[inline]
    pub(crate) fn into_raw(self) -> NonNull<TaskHeader> {
        ManuallyDrop::new(self).0
    }

    /// # Safety
    /// From [`Runnable::into_raw`], once.
    #[inline]
    pub(crate) unsafe fn from_raw(cell: NonNull<TaskHeader>) -> Self {
        Runnable(cell)
    }
}

impl Drop for Runnable {
    fn drop(&mut self) {
        Runnable(self.0).end(End::Cancelled);
    }
}

/// The body has returned, and the outcome is not visible yet.
#[must_use = "waiters would wait for ever"]
pub(crate) struct Ran {
    /// `None`: no other thread could reach the cell, and it is gone.
    cell: Option<NonNull<TaskHeader>>,
    pub(crate) end: End,
    has_output: bool,
}

impl Ran {
    /// Of a task without an output.
    pub(super) fn without_output(cell: Option<NonNull<TaskHeader>>, result: Result<(), Payload>) -> Self {
        let end = match &result {
            Ok(_) => End::Finished,
            Err(_) => End::Panicked,
        };
        if let Err(payload) = result {
            drop_quietly(payload);
        }
        Ran {
            cell,
            end,
            has_output: false,
        }
    }

    /// Its output, or the payload of its panic, lies in the cell.
    pub(super) fn with_output(cell: NonNull<TaskHeader>, end: End) -> Self {
        Ran {
            cell: Some(cell),
            end,
            has_output: true,
        }
    }

    /// Makes the outcome visible. The last touch of a runner.
    #[inline]
    pub(crate) fn publish(self) {
        let Some(cell) = self.cell else { return };
        // SAFETY: the runner's reference is there until the step that gives it up.
        let state = unsafe { &cell.as_ref().state };
        let address = state.address();
        let wakes = match state.publish(self.end, self.has_output) {
            Publish::Done { wake_threads } => wake_threads,
            other => return self.publish_slowly(cell, other),
        };
        if wakes {
            futex::wake_all_low_half(address);
        }
    }

    #[cold]
    fn publish_slowly(&self, cell: NonNull<TaskHeader>, mut answer: Publish) {
        // SAFETY: as in `publish`; each answer says what is the caller's.
        unsafe {
            let address = cell.as_ref().state.address();
            if answer == Publish::DropOutputFirst {
                (cell.as_ref().vtable.drop_output)(cell, self.end);
                answer = cell.as_ref().state.publish(self.end, false);
            }
            match answer {
                Publish::Free => free(cell),
                Publish::Done { wake_threads: false } => {}
                Publish::Done { wake_threads: true } => futex::wake_all_low_half(address),
                Publish::TakeWaker { wake_threads } => {
                    if wake_threads {
                        futex::wake_all_low_half(address);
                    }
                    call_waker(cell);
                    if cell.as_ref().state.drop_reference() {
                        free(cell);
                    }
                }
                Publish::DropOutputFirst => unreachable!("there is no output any more"),
            }
        }
    }
}
