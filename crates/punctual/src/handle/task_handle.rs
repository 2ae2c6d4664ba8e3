//! [`TaskHandle`]: the receipt for a task's value.
//!
//! In: a share of a block. Out: the value, once, by `join`, `join_timeout` or `.await`; or an error that says why
//! not. The handle is one pointer; its lowest bit remembers whether the submission had to wake a worker.

#![allow(unsafe_code)]

use super::cancel::{Cancel, cancel};
use super::task_ref::TaskRef;
use super::wait::{Waited, wait, wait_uninterrupted};
use crate::JoinError;
use crate::pool::fork;
use crate::task::block::{Header, free};
use crate::task::state::{End, HandleDrop, Share};
use crate::task::{Here, budget, panic_text};
use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};
use std::time::Duration;

/// The receipt for a task: join it, await it, cancel it, or drop it (the task goes on, detached).
///
/// ```
/// # async fn example() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let pool = punctual::Pool::fixed(2)?;
/// let first = pool.submit(|| 1)?;
/// let second = pool.submit(|| 2)?;
/// assert_eq!(first.join()? + second.await?, 3); // blocking or async, the same handle
/// # Ok(()) }
/// ```
#[must_use = "dropping a handle detaches the task; use `execute` for fire and forget"]
pub struct TaskHandle<T> {
    /// A share of the block, tagged in the two lowest bits.
    tagged: NonNull<Header>,
    value: PhantomData<T>,
}

const _: () = assert!(size_of::<TaskHandle<String>>() == size_of::<usize>());

// SAFETY: the handle moves a `T` between threads at most once, and everything else it touches is made for sharing.
unsafe impl<T: Send> Send for TaskHandle<T> {}
// SAFETY: through `&TaskHandle` no `T` can be reached at all.
unsafe impl<T: Send> Sync for TaskHandle<T> {}

impl<T> Unpin for TaskHandle<T> {}
// A panic elsewhere leaves a handle as usable as it was: everything it shares is an atomic state.
impl<T> UnwindSafe for TaskHandle<T> {}
impl<T> RefUnwindSafe for TaskHandle<T> {}

/// A worker had to be woken for the task.
const WOKE: usize = 1;
/// The handle was found resolved, and put off ([`budget`]).
const PUT_OFF: usize = 2;
const TAGS: usize = WOKE | PUT_OFF;

const _: () = assert!(align_of::<Header>() > TAGS);

impl<T> TaskHandle<T> {
    /// # Safety
    /// The block was made with a handle's share, which is this one, and for a closure that returns `T`.
    pub(crate) unsafe fn new(block: NonNull<Header>, woke: bool) -> Self {
        let tagged = if woke {
            block.map_addr(|address| address | WOKE)
        } else {
            block
        };
        TaskHandle {
            tagged,
            value: PhantomData,
        }
    }

    pub(super) fn pointer(&self) -> NonNull<Header> {
        // SAFETY: a header is aligned, so its address without the tag is not zero.
        let address = |address: std::num::NonZero<usize>| unsafe {
            std::num::NonZero::new_unchecked(address.get() & !TAGS)
        };
        self.tagged.map_addr(address)
    }

    fn block(&self) -> &Header {
        // SAFETY: the handle is a share, so the block lives.
        unsafe { self.pointer().as_ref() }
    }

    fn spins(&self) -> bool {
        self.tagged.addr().get() & WOKE == 0
    }

    /// Waits for the task and takes its value.
    ///
    /// From inside a task of the same pool, a task that still waits in the queue is run right here; for one that runs, a
    /// spare thread may stand in for this worker while it waits
    /// ([`PoolBuilder::spare_threads`](crate::PoolBuilder::spare_threads)); where the wait could never end, the answer is
    /// [`JoinError::is_would_deadlock`], and on a worker that must not block
    /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)) [`JoinError::is_blocking`]. The wait ends early, with [`JoinError::is_interrupted`], when the task that
    /// waits is asked to stop.
    pub fn join(self) -> Result<T, JoinError> {
        // Mostly it is there: no call for that.
        if self.block().state.load().is_resolved() {
            return self.take_and_leave();
        }
        match wait(self.pointer(), None, self.spins()) {
            Waited::Resolved => self.take_and_leave(),
            waited => Err(error_of(waited)),
        }
    }

    /// As [`TaskHandle::join`], for at most `limit` on the pool's clock. `Err` with [`JoinError::is_timeout`] leaves
    /// the handle usable; the value can be taken once, later calls say [`JoinError::is_taken`].
    pub fn join_timeout(&mut self, limit: Duration) -> Result<T, JoinError> {
        match wait(self.pointer(), Some(limit), self.spins()) {
            Waited::Resolved => self.take(),
            waited => Err(error_of(waited)),
        }
    }

    /// Waits for the outcome without taking it; any number of threads may. From inside a task as [`TaskHandle::join`];
    /// it returns early when that task is asked to stop, where the wait could never end, and on a worker that must not block
    /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)): [`TaskHandle::is_finished`] tells.
    pub fn wait(&self) {
        wait(self.pointer(), None, self.spins());
    }

    /// As [`TaskHandle::wait`], for at most `limit`; says whether the outcome is there.
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        wait(self.pointer(), Some(limit), self.spins()) == Waited::Resolved
    }

    /// As [`TaskHandle::join`], and the handle stays.
    pub(super) fn wait_and_take(&mut self) -> Result<T, JoinError> {
        match wait(self.pointer(), None, self.spins()) {
            Waited::Resolved => self.take(),
            waited => Err(error_of(waited)),
        }
    }

    /// As [`TaskHandle::join`], for a task whose end is near: the calling task's own token does not end the wait.
    pub(super) fn join_uninterrupted(mut self) -> Result<T, JoinError> {
        wait_uninterrupted(self.block());
        self.take()
    }

    /// The handle of the task that runs here and was made without one.
    ///
    /// # Safety
    /// If a task with a block runs here, it is the caller, it was made without a handle, and its closure returns `T`.
    pub(super) unsafe fn of_running(here: Here<'_>) -> Option<Self> {
        let block = here.block()?;
        // SAFETY: the task runs, so its runner holds a share.
        unsafe { block.as_ref() }.state.regain_handle();
        // SAFETY: the share was regained, and the value is the caller's promise.
        Some(unsafe { TaskHandle::new(block, false) })
    }

    /// Waits for a task whose end is near; what it panicked with, of which the pool's sink is told as of any failure that no
    /// join reads.
    pub(super) fn take_failure(self) -> Option<Box<dyn Any + Send>> {
        let block = self.block();
        wait_uninterrupted(block);
        let is_unread = block.state.load().holds_unread();
        // SAFETY: resolved as panicked and not taken, so the payload is the handle's (rule 3), which is ours.
        is_unread.then(|| unsafe { Header::take_unread(self.pointer()) })
    }

    /// Whether the task has ended without a failure that somebody should hear of.
    pub(super) fn is_settled(&self) -> bool {
        self.block()
            .state
            .load()
            .outcome()
            .is_some_and(|end| end != End::Panicked)
    }

    /// Leaves a waker for the outcome, without taking it then. False: the outcome is there.
    pub(super) fn watch(&self, waker: &std::task::Waker) -> bool {
        self.block().register_waker(waker)
    }

    pub(crate) fn share(&self) -> NonNull<Header> {
        self.pointer()
    }

    /// Cancels the task; see [`Cancel`] for what that means where.
    pub fn cancel(&self) -> Cancel {
        cancel(self.pointer())
    }

    /// Whether the outcome is there: a join does not wait any more.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.block().state.load().is_resolved()
    }

    /// A cheap clone that can do everything but take the value.
    #[must_use]
    pub fn task_ref(&self) -> TaskRef {
        // SAFETY: the handle is a share of this block.
        unsafe { TaskRef::new(self.pointer()) }
    }

    /// Takes the result of a resolved task and leaves the block to the others.
    fn take(&mut self) -> Result<T, JoinError> {
        let block = self.block();
        let seen = block.state.load();
        if seen.is_taken() {
            return Err(JoinError::taken());
        }
        let result = match seen.outcome() {
            // SAFETY: resolved as finished, `T` is the block's (contract of `new`), and `&mut self` takes it once.
            Some(End::Finished) => Ok(unsafe { Header::take_value::<T>(self.pointer()) }),
            // SAFETY: as above, with the panic.
            Some(End::Panicked) => Err(JoinError::panicked(unsafe { Header::take_panic(self.pointer()) })),
            // Nothing was there to be taken: the answer stays the same.
            Some(End::Cancelled) => return Err(JoinError::cancelled()),
            Some(End::Returned) => return Err(JoinError::returned()),
            Some(End::Evicted) => return Err(JoinError::evicted()),
            Some(End::Expired) => return Err(JoinError::expired()),
            Some(End::Rejected) => return Err(JoinError::rejected()),
            None => unreachable!("taken before it was resolved: {seen:?}"),
        };
        block.state.mark_taken();
        result
    }

    /// As [`TaskHandle::take`] for a handle that ends here. If nobody else is left, and that is the rule, the value
    /// is moved and the block freed without another atomic step.
    #[inline]
    fn take_and_leave(mut self) -> Result<T, JoinError> {
        let seen = self.block().state.load();
        if !seen.is_handle_alone() || seen.outcome() != Some(End::Finished) || seen.is_taken() {
            return self.take();
        }
        let block = self.pointer();
        std::mem::forget(self);
        // SAFETY: finished and not taken, so the value is there and ours; alone, so the block is ours to free. The
        // reading is from before the value was moved: tell `free` that it is gone.
        unsafe {
            let value = Header::take_value::<T>(block);
            free(block, seen.taken());
            Ok(value)
        }
    }
}

fn error_of(waited: Waited) -> JoinError {
    match waited {
        Waited::TimedOut => JoinError::timeout(),
        Waited::Interrupted => JoinError::interrupted(),
        Waited::WouldDeadlock => JoinError::would_deadlock(),
        Waited::Forked => JoinError::forked(),
        Waited::Blocking => JoinError::blocking(),
        Waited::Resolved => unreachable!("a resolved task has an outcome"),
    }
}

impl<T> Future for TaskHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let block = self.block();
        if block.fork != fork::generation() && !block.state.load().is_resolved() {
            return Poll::Ready(Err(JoinError::forked()));
        }
        if block.register_waker(cx.waker()) {
            return Poll::Pending;
        }
        let mut was_put_off = self.tagged.addr().get() & PUT_OFF != 0;
        if budget::step(cx, &mut was_put_off).is_pending() {
            self.tagged = self.tagged.map_addr(|address| address | PUT_OFF);
            return Poll::Pending;
        }
        Poll::Ready(self.take())
    }
}

impl<T> Drop for TaskHandle<T> {
    fn drop(&mut self) {
        let block = self.pointer();
        if self.block().class.is_future() {
            // SAFETY: a future's block, in which the handle was counted, and of which it is a share.
            unsafe { Header::one_less(block) };
        }
        // SAFETY: the share is held.
        let seen = unsafe { block.as_ref() }.state.load();
        if seen.is_handle_alone() && !seen.holds_unread() {
            // SAFETY: nobody else is left, and nobody can come: references are made by those who hold a share.
            return unsafe { free(block, seen) };
        }
        loop {
            // SAFETY: the share is held until `drop_handle` says otherwise.
            match unsafe { block.as_ref() }.state.drop_handle() {
                // SAFETY: resolved and not taken, so it is the handle's (rule 3), which is ours.
                HandleDrop::Holds(end) => unsafe { Header::end_result(block, end) },
                HandleDrop::Share(Share::OthersRemain) => return,
                // SAFETY: the last one frees.
                HandleDrop::Share(Share::Last(last)) => return unsafe { free(block, last) },
            }
        }
    }
}

/// Where the task is, and what it panicked with.
impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.block().state.load();
        if seen.outcome() == Some(End::Panicked) && !seen.is_taken() {
            // SAFETY: resolved and not taken, so the payload is the handle's; taking it needs `&mut` or the handle
            // itself. Other threads may do the same at the same time, and only read text, which is `Sync`.
            let payload = unsafe { Header::peek_panic(self.pointer()) };
            return write!(f, "TaskHandle(Panicked: {})", panic_text(payload));
        }
        write!(f, "TaskHandle({:?})", super::task_ref::status_of(self.pointer()))
    }
}
