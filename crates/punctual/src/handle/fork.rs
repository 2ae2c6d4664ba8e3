//! `join`: two closures, one of which another thread may take.
//!
//! In: two closures that may borrow. Out: both values, when both have ended. The second becomes a task of its own, which
//! holds no more than a reference to where it lies, on the caller's stack; the caller runs the first, and then the second
//! itself if no other thread has taken it. A task that was refused, cancelled by a `stop` or never taken leaves the closure where it
//! was, so there is always a value.

#![allow(unsafe_code)]

use super::scope::AbortOnUnwind;
use super::task_handle::TaskHandle;
use super::wait;
use crate::Executor;
use crate::sync::is_multi_core;
use crate::task::block::{Entry, Header, Options};
use crate::task::here;
use crate::time::spin;
use crate::worker::spare;
use std::any::Any;
use std::cell::UnsafeCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr::NonNull;

type Caught<T> = Result<T, Box<dyn Any + Send>>;

/// The second closure, on the stack of the thread that called `join`: the task's body's while the task has not ended, then
/// the caller's.
struct Branch<B, R>(UnsafeCell<Place<B, R>>);

enum Place<B, R> {
    Closure(B),
    Empty,
    Value(Caught<R>),
}

// SAFETY: closure and value cross threads once each, handed over by the task that refers to this; both are `Send`.
unsafe impl<B: Send, R: Send> Sync for Branch<B, R> {}

impl<B: FnOnce() -> R, R> Branch<B, R> {
    fn new(closure: B) -> Self {
        Branch(UnsafeCell::new(Place::Closure(closure)))
    }

    /// The task's body. A panic is the caller's to hear of.
    ///
    /// # Safety
    /// The cell is the body's: it runs once, if at all, and the caller does not touch the cell until the task has ended.
    unsafe fn run(&self) {
        // SAFETY: the caller's promise.
        Branch::run_here(unsafe { &mut *self.0.get() });
    }

    fn run_here(place: &mut Place<B, R>) {
        *place = match std::mem::replace(place, Place::Empty) {
            Place::Closure(closure) => Place::Value(catch_unwind(AssertUnwindSafe(closure))),
            other => other,
        };
    }

    /// The value, run here if it was not run before. The task is over: its body has ended or is gone.
    fn finish(self) -> Caught<R> {
        let mut place = self.0.into_inner();
        Branch::run_here(&mut place);
        match place {
            Place::Value(value) => value,
            Place::Closure(_) | Place::Empty => unreachable!("run above, if not before"),
        }
    }
}

impl Executor {
    /// Fork and join: runs `a` here, while `b` waits as a task that another worker may take; if none has when `a` is done, `b`
    /// runs here too. Returns when both have ended. A panic goes on here after that, `a`'s before `b`'s.
    ///
    /// From inside a task of a pool with [`Queue::stealing`](crate::Queue::stealing) this costs no lock and, but for the
    /// first, no memory. On any other queue, and from outside, it does the same by way of the queue. A pool that is full or
    /// shut down is no obstacle: both run here then.
    ///
    /// ```
    /// use punctual::{Capacity, Executor, Pool, Queue};
    ///
    /// fn sum(pool: &Executor, numbers: &[u64]) -> u64 {
    ///     if numbers.len() < 1_000 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (left, right) = numbers.split_at(numbers.len() / 2);
    ///     let (left, right) = pool.join(|| sum(pool, left), || sum(pool, right));
    ///     left + right
    /// }
    ///
    /// let pool = Pool::builder("p").core_threads(2).queue(Queue::stealing(Capacity::Unbounded)).build()?;
    /// let numbers: Vec<u64> = (0..10_000).collect();
    /// assert_eq!(sum(&pool, &numbers), 49_995_000);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn join<A, B, RA, RB>(&self, a: A, b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        let branch = Branch::new(b);
        // SAFETY: nothing below unwinds before the wait. The branch is not touched before that is over, and then the task is: its
        // body, which runs once if at all, is gone.
        let task = unsafe { self.fork(|| branch.run()) };
        let a = catch_unwind(AssertUnwindSafe(a));
        if let Some(task) = task {
            self.end_fork(task);
        }
        let b = branch.finish();
        match (a, b) {
            (Ok(a), Ok(b)) => (a, b),
            (Err(panic), Ok(_)) | (Ok(_), Err(panic)) => resume_unwind(panic),
            (Err(panic), Err(other)) => {
                crate::task::discard(other);
                resume_unwind(panic)
            }
        }
    }

    /// Submits the body of a branch; `None`: it was refused, and will not run.
    ///
    /// # Safety
    /// The caller waits with [`Executor::end_fork`] before what the body borrows ends.
    unsafe fn fork<F: FnOnce() + Send>(&self, body: F) -> Option<TaskHandle<()>> {
        let options = self.prepare(Options::default()).ok()?;
        let class = self.class_of(None);
        let options = self.measured(class, Some(options));
        // SAFETY: the caller's promise; a body that is dropped unrun touches nothing.
        let entry = unsafe { Entry::scoped(self.origin(class), true, options, body) };
        let block = entry.pointer();
        match self.engine().admit_any(class, entry) {
            // SAFETY: made with a handle's share, for a value of `()`.
            Ok(woke) => Some(unsafe { TaskHandle::new(block, woke) }),
            Err(refused) => {
                // SAFETY: refused, so it was never published; the types are those it was made with.
                drop(unsafe { refused.payload.unmake::<(), F, ()>() });
                None
            }
        }
    }

    /// Runs the task here if it still waits; otherwise waits for its end, whatever the calling task is asked meanwhile. A task that
    /// borrows has its outcome when its closure is gone, whatever fixed it ([`handle::cancel`](mod@super::cancel)).
    fn end_fork(&self, task: TaskHandle<()>) {
        // Nothing here panics; if it did, the body would outlive what it borrows.
        let guard = AbortOnUnwind;
        let block = task.pointer();
        // SAFETY: the handle is a share.
        let header = unsafe { block.as_ref() };
        here(|here| {
            // SAFETY: as above.
            let is_run = unsafe {
                spare::run_newest_in_place(here, self.engine(), block)
                    || spare::run_child_in_place(here, block)
                    || (here.host().is_none() && self.run_from_outside(block))
            };
            // What was run here has ended, or was taken back and is being dropped elsewhere.
            let is_over = || header.state.load().is_resolved();
            let is_over = (is_run && is_over()) || (is_multi_core() && spin(wait::SPIN, is_over));
            if !is_over {
                wait::wait_with_a_spare(header, here);
            }
        });
        // Its outcome is that it was run, or not: the value lies elsewhere.
        drop(task);
        std::mem::forget(guard);
    }

    /// # Safety
    /// The caller holds a share of the block.
    unsafe fn run_from_outside(&self, block: NonNull<Header>) -> bool {
        // SAFETY: the caller's promise; the task was submitted to this engine.
        here(|here| unsafe { spare::run_as_visitor(here, self.engine(), block) })
    }
}
