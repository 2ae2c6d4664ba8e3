//! References to a task without the right to run it.
//!
//! - [`CellRef`]: a counted reference without a right to the output. It keeps the memory, not the engine.
//! - [`PinnedCell`]: one that holds the end of the task off, so that the scheduler behind the cell is there.
//! - [`JoinRef`]: the part of a handle that knows the cell: it may take the output.

#![allow(unsafe_code)]

use super::cell::{Payload, TaskHeader, drop_quietly, free, wake, waker_slot};
use super::state::{Detach, End, Signal, State};
use crate::base::errors::JoinError;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::task::Waker;

/// One counted reference to a cell, without a right to its output. It keeps the memory, not the engine.
pub(crate) struct CellRef(NonNull<TaskHeader>);

// SAFETY: the header is made for sharing.
unsafe impl Send for CellRef {}
// SAFETY: as above.
unsafe impl Sync for CellRef {}

impl CellRef {
    pub(crate) fn header(&self) -> &TaskHeader {
        // SAFETY: it is a reference.
        unsafe { self.0.as_ref() }
    }

    /// Holds the end of the task off. `None`: it has ended, and its engine may be gone.
    pub(crate) fn pin(&self) -> Option<PinnedCell> {
        self.header().state.pin().then(|| PinnedCell(self.clone()))
    }

    /// Takes the task out of its place and ends it; or, if a runner has it, resolves it for its waiters.
    pub(crate) fn cancel(&self) -> Cancel {
        let Some(pinned) = self.pin() else {
            return Cancel::TooLate;
        };
        // SAFETY: the cell is pinned.
        let scheduler = unsafe { self.header().scheduler.own() };
        let removed = scheduler.remove(&pinned);
        drop(pinned);
        if let Some(task) = removed {
            task.end(End::Cancelled);
            return Cancel::Removed;
        }
        match self.header().state.signal() {
            Signal::TooLate => Cancel::TooLate,
            Signal::Signalled(waiters) => {
                // SAFETY: the step above resolved the task, and this is a reference.
                unsafe { wake(self.0, waiters) };
                Cancel::Signalled
            }
        }
    }
}

impl Clone for CellRef {
    fn clone(&self) -> Self {
        self.header().state.add_reference();
        CellRef(self.0)
    }
}

impl Drop for CellRef {
    fn drop(&mut self) {
        if self.header().state.drop_reference() {
            // SAFETY: the last reference.
            unsafe { free(self.0) };
        }
    }
}

impl fmt::Debug for CellRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.header().state.fmt(f)
    }
}

/// A cell whose task cannot end. Held for a lock section: no user code runs meanwhile.
pub(crate) struct PinnedCell(CellRef);

impl PinnedCell {
    pub(crate) fn header(&self) -> &TaskHeader {
        self.0.header()
    }

    pub(crate) fn pointer(&self) -> NonNull<TaskHeader> {
        self.0.0
    }
}

impl Drop for PinnedCell {
    fn drop(&mut self) {
        self.0.header().state.unpin();
    }
}

/// What a cancel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cancel {
    /// The task was taken out before it began; its closure is dropped.
    Removed,
    /// The task runs. Its waiters have their answer, and its result will be dropped.
    Signalled,
    /// The task had an outcome already.
    TooLate,
}

/// The part of a handle that knows the cell: one reference, and the right to the output. Its drop detaches.
pub(crate) struct JoinRef<T> {
    cell: NonNull<TaskHeader>,
    output: PhantomData<T>,
}

// SAFETY: the output moves to the thread that takes it.
unsafe impl<T: Send> Send for JoinRef<T> {}
// SAFETY: no `&T` is given out.
unsafe impl<T: Send> Sync for JoinRef<T> {}

impl<T> JoinRef<T> {
    pub(super) fn new(cell: NonNull<TaskHeader>) -> Self {
        JoinRef {
            cell,
            output: PhantomData,
        }
    }

    #[inline]
    pub(crate) fn state(&self) -> &State {
        // SAFETY: it is a reference.
        unsafe { &self.cell.as_ref().state }
    }

    pub(crate) fn reference(&self) -> CellRef {
        self.state().add_reference();
        CellRef(self.cell)
    }

    /// As [`JoinRef::take`], by a handle that goes with it. The last reference to a finished task, which is the usual case, needs no
    /// locked step to take the output and to free the cell.
    #[inline]
    pub(crate) fn take_and_leave(mut self) -> Result<T, TaskFailure> {
        if !self.state().load().is_last_with_value() {
            return self.take();
        }
        let cell = ManuallyDrop::new(self).cell;
        let mut taken = MaybeUninit::<T>::uninit();
        // SAFETY: the task has finished, its output is not taken, and no other thread knows the cell.
        unsafe {
            (cell.as_ref().vtable.take_output)(cell, End::Finished, taken.as_mut_ptr().cast());
            free(cell);
            Ok(taken.assume_init())
        }
    }

    /// The outcome, once: the output, or how it ended without one. The task is resolved.
    #[inline]
    pub(crate) fn take(&mut self) -> Result<T, TaskFailure> {
        let seen = self.state().load();
        if seen.is_taken() && matches!(seen.end(), Some(End::Finished | End::Panicked)) {
            return Err(TaskFailure::Taken);
        }
        match seen.end() {
            // SAFETY: the task has ended like this, and its output is the handle's until it is marked as taken.
            Some(End::Finished) => Ok(unsafe { self.take_as(End::Finished) }),
            // SAFETY: as above.
            Some(End::Panicked) => Err(TaskFailure::Panicked(unsafe { self.take_as(End::Panicked) })),
            Some(End::Rejected) => Err(TaskFailure::Rejected),
            Some(End::Evicted) => Err(TaskFailure::Evicted),
            Some(End::Cancelled | End::Returned) | None => Err(TaskFailure::Cancelled),
        }
    }

    /// # Safety
    /// The task has ended like this, its output is not taken, and `R` is `T` if it finished and [`Payload`] if it panicked.
    #[inline]
    unsafe fn take_as<R>(&mut self, end: End) -> R {
        let mut taken = MaybeUninit::<R>::uninit();
        // SAFETY: the caller's promise.
        unsafe {
            (self.cell.as_ref().vtable.take_output)(self.cell, end, taken.as_mut_ptr().cast());
            self.state().mark_taken();
            taken.assume_init()
        }
    }

    /// Leaves a waker for the end. False: the task is resolved.
    pub(crate) fn set_waker(&mut self, waker: &Waker) -> bool {
        if !self.state().reclaim_waker() {
            return false;
        }
        // SAFETY: this is a reference, and the waker is the handle's until it is left to the resolver.
        let Some(slot) = (unsafe { waker_slot(self.cell) }) else {
            return false;
        };
        let old = slot.with_mut(|slot| {
            // SAFETY: as above.
            let slot = unsafe { &mut *slot };
            match slot {
                Some(mine) if mine.will_wake(waker) => None,
                _ => slot.replace(waker.clone()),
            }
        });
        drop_quietly(old);
        self.state().leave_waker()
    }
}

impl<T> Drop for JoinRef<T> {
    fn drop(&mut self) {
        // SAFETY: it is a reference, and each answer says what is the caller's.
        unsafe {
            match self.state().detach() {
                Detach::Done => {}
                Detach::Free => free(self.cell),
                Detach::DropOutput => {
                    let end = self.state().load().end().expect("an ended task has an outcome");
                    (self.cell.as_ref().vtable.drop_output)(self.cell, end);
                    if self.state().drop_reference() {
                        free(self.cell);
                    }
                }
            }
        }
    }
}

/// Why there is no output.
pub(crate) enum TaskFailure {
    Panicked(Payload),
    Cancelled,
    /// A full pool refused the task.
    Rejected,
    /// A full pool dropped the task to make room.
    Evicted,
    /// The output was taken before.
    Taken,
}

impl TaskFailure {
    #[cold]
    pub(crate) fn into_error(self) -> JoinError {
        match self {
            TaskFailure::Panicked(payload) => JoinError::panicked(payload),
            TaskFailure::Cancelled => JoinError::cancelled(),
            TaskFailure::Rejected => JoinError::rejected(),
            TaskFailure::Evicted => JoinError::evicted(),
            TaskFailure::Taken => JoinError::taken(),
        }
    }
}
