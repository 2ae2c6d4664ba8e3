//! The right to run a task: made with the cell, owned by one place or runner at a time, given up with the outcome.
//!
//! - [`Runnable`]: the unique right and duty to run the task or to end it. The place in which a task waits owns it.
//! - [`Ran`]: the body has returned; the outcome is not visible yet. `publish` is the last touch of a runner.
//! - [`HandedOut`]: taken out of the engine by `stop` or `drain`, unrun.
//! - [`Receipt`]: what the submitter keeps while the task is on its way: it becomes the handle, or takes a refused task apart.

#![allow(unsafe_code)]

use super::cell::{
    Detached, Joinable, Payload, SchedulerRef, Stage, TaskHeader, call_waker, drop_quietly, free, wake,
};
use super::reference::JoinRef;
use super::slab;
use super::state::{End, Publish};
use crate::sync::{Cell, futex};
use std::alloc::Layout;
use std::any::Any;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind};
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

    /// Runs the body. A panic is part of the outcome; `told` hears of it first.
    #[inline]
    pub(crate) fn run(self, told: impl FnOnce(&(dyn Any + Send))) -> Ran {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`.
        let (vtable, result) = unsafe {
            let vtable = cell.as_ref().vtable;
            (vtable, catch_unwind(AssertUnwindSafe(|| (vtable.run)(cell))))
        };
        match result {
            Ok(()) => Ran {
                cell,
                end: End::Finished,
                has_output: vtable.has_output,
            },
            Err(payload) => {
                told(&*payload);
                // SAFETY: as above, and the closure has panicked.
                drop_quietly(unsafe { (vtable.put_payload)(cell, payload) });
                Ran {
                    cell,
                    end: End::Panicked,
                    has_output: vtable.has_output,
                }
            }
        }
    }

    /// Takes the task out of the engine's hands: waiters get their answer, and the closure stays where it is.
    pub(crate) fn hand_out(self, end: End) -> HandedOut {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`, whose reference is the answer's. The scheduler is held until the end is visible, as in
        // `end`.
        unsafe {
            let scheduler = cell.as_ref().scheduler.own();
            scheduler.before_end(cell.as_ref(), end);
            let waiters = cell.as_ref().state.resolve_unrun(end);
            wake(cell, waiters);
        }
        HandedOut(cell)
    }

    /// Ends a task that was never run: drops the closure and tells the scheduler and the waiters.
    pub(crate) fn end(self, end: End) {
        let cell = self.into_raw();
        // SAFETY: this was the `Runnable`. The scheduler is held until the end is visible: a thread that pins the cell may use it.
        unsafe {
            let scheduler = cell.as_ref().scheduler.own();
            (cell.as_ref().vtable.drop_closure)(cell);
            scheduler.before_end(cell.as_ref(), end);
            let ran = Ran {
                cell,
                end,
                has_output: false,
            };
            ran.publish();
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
    cell: NonNull<TaskHeader>,
    pub(crate) end: End,
    has_output: bool,
}

impl Ran {
    /// Makes the outcome visible. The last touch of a runner.
    #[inline]
    pub(crate) fn publish(self) {
        let cell = self.cell;
        // SAFETY: the runner's reference is there until the step that gives it up.
        let state = unsafe { &cell.as_ref().state };
        if !self.has_output && state.is_sole() {
            // SAFETY: the last reference; neither closure nor output is left.
            return unsafe { free(cell) };
        }
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
                    give_up(cell);
                }
                Publish::DropOutputFirst => unreachable!("there is no output any more"),
            }
        }
    }
}

/// A task that `stop` or `drain` took out: its waiters have their answer, and the engine has forgotten it. The closure is still
/// there.
pub(crate) struct HandedOut(NonNull<TaskHeader>);

// SAFETY: as of a `Runnable`.
unsafe impl Send for HandedOut {}

impl HandedOut {
    /// Runs the closure; its output is dropped.
    pub(crate) fn run(self) -> Result<(), Payload> {
        let cell = ManuallyDrop::new(self).0;
        // SAFETY: the closure is there, and no other thread looks at what follows it: the task was resolved without an output.
        unsafe {
            let vtable = cell.as_ref().vtable;
            let result = catch_unwind(AssertUnwindSafe(|| (vtable.run)(cell)));
            if result.is_ok() {
                (vtable.drop_output)(cell, End::Finished);
            }
            give_up(cell);
            result
        }
    }
}

impl Drop for HandedOut {
    fn drop(&mut self) {
        // SAFETY: as in `run`.
        unsafe {
            (self.0.as_ref().vtable.drop_closure)(self.0);
            give_up(self.0);
        }
    }
}

/// # Safety
/// The caller's reference, which is given up; neither closure nor output is left.
unsafe fn give_up(cell: NonNull<TaskHeader>) {
    // SAFETY: the caller's promise.
    unsafe {
        if cell.as_ref().state.drop_reference() {
            free(cell);
        }
    }
}
