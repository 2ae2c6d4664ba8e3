//! Settings that are closures: called round a task, beside it, on a thread, or at the end.
//!
//! In: the user's closures. Out: the same, shared. Where each is called, and how its panic is contained, is said there
//! ([`task::hooks`](crate::task::hooks)).

use super::PoolBuilder;
use crate::sync::Arc;
use crate::task::{Outcome, TaskInfo};
use std::any::Any;
use std::time::Duration;

pub(crate) type TimeHook = Arc<dyn Fn(&TaskInfo<'_>, Duration) + Send + Sync>;
pub(crate) type ThreadHook = Arc<dyn Fn() + Send + Sync>;
pub(crate) type EnterHook = Arc<dyn Fn() -> Box<dyn Any> + Send + Sync>;

impl PoolBuilder {
    /// Called on the worker before each task.
    pub fn before_task(mut self, f: impl Fn(&TaskInfo<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.before = Some(Box::new(f));
        self
    }

    /// Called once after each task, with its outcome and with the handle already resolved; for a task cancelled in
    /// the queue, on the thread that cancelled it. (A panic is shown here before the handle can take its payload: its
    /// status is `Panicked`, and the handle resolves when this returns. A task cancelled in the very moment in which the pool
    /// ends may be told of after [`PoolBuilder::on_terminated`].)
    pub fn after_task(mut self, f: impl Fn(&TaskInfo<'_>, Outcome<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.after = Some(Box::new(f));
        self
    }

    /// Told once of every task that panicked and whose failure nobody can read any more: it had no handle, or the
    /// handle was dropped unread.
    pub fn on_failure(mut self, f: impl Fn(&TaskInfo<'_>, Outcome<'_>) + Send + Sync + 'static) -> Self {
        self.hooks.failure = Some(Box::new(f));
        self
    }

    /// Context propagation: `capture` runs at each submission, on the submitting thread; `around` runs the task inside
    /// what was captured. It covers every way to submit. `around` never holds the closure; a task that it does not run
    /// is cancelled; a second run does nothing. Of several, the first is the outermost.
    ///
    /// ```
    /// use std::cell::RefCell;
    /// thread_local!(static USER: RefCell<String> = RefCell::default());
    ///
    /// let pool = punctual::Pool::builder("web")
    ///     .core_threads(1)
    ///     .decorate(
    ///         || USER.with_borrow(String::clone),
    ///         |user, run| {
    ///             USER.set(std::mem::take(user));
    ///             run();
    ///             USER.take();
    ///         },
    ///     )
    ///     .build()?;
    /// USER.set("ada".into());
    /// let seen = pool.submit(|| USER.with_borrow(String::clone))?;
    /// assert_eq!(seen.join()?, "ada");
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn decorate<C: Send + 'static>(
        mut self,
        capture: impl Fn() -> C + Send + Sync + 'static,
        around: impl Fn(&mut C, &mut dyn FnMut()) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.decorators.add(None, capture, around);
        self
    }

    /// As [`PoolBuilder::decorate`], under a key: the same key replaces, in its old place.
    pub fn decorate_keyed<C: Send + 'static>(
        mut self,
        key: &'static str,
        capture: impl Fn() -> C + Send + Sync + 'static,
        around: impl Fn(&mut C, &mut dyn FnMut()) + Send + Sync + 'static,
    ) -> Self {
        self.hooks.decorators.add(Some(key), capture, around);
        self
    }

    /// Takes the decorator with this key out again, if there is one.
    pub fn undecorate(mut self, key: &str) -> Self {
        self.hooks.decorators.remove(key);
        self
    }

    /// Told of each task that has run longer than its `slow_after`, and for how long, while it still runs: on a thread of
    /// the pool, not on the task's. A panic here is counted.
    pub fn on_slow(mut self, f: impl Fn(&TaskInfo<'_>, Duration) + Send + Sync + 'static) -> Self {
        self.on_slow = Some(Arc::new(f));
        self
    }

    /// Told of each delayed task, or run of a schedule, that has not begun `limit` after it was due, and how late it is:
    /// the workers are busy, or the machine was. On a thread of the pool; a panic here is counted.
    pub fn on_late(
        mut self,
        limit: Duration,
        f: impl Fn(&TaskInfo<'_>, Duration) + Send + Sync + 'static,
    ) -> Self {
        self.on_late = Some((limit, Arc::new(f)));
        self
    }

    /// Called on each worker before its first task.
    pub fn on_thread_start(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_start = Some(Arc::new(f));
        self
    }

    /// Made on each worker before its first task, and held for its life: the guard of somebody else's runtime, so that what
    /// belongs to that works inside of tasks and futures here. Threads of [`Executor::blocking`](crate::Executor::blocking) and
    /// [`Executor::reserve`](crate::Executor::reserve) hold one too.
    ///
    /// ```
    /// # use std::cell::Cell;
    /// # thread_local! { static INSIDE: Cell<bool> = const { Cell::new(false) }; }
    /// # struct Guard;
    /// # impl Drop for Guard { fn drop(&mut self) { INSIDE.set(false) } }
    /// # fn enter() -> Guard { INSIDE.set(true); Guard }
    /// // With tokio the guard borrows the runtime's handle, which must live as long as the threads: see the example `tokio_io`.
    /// let pool = punctual::Pool::builder("io").core_threads(1).enter(enter).build()?;
    /// assert!(pool.submit(|| INSIDE.get())?.join()?);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn enter<G: 'static>(mut self, f: impl Fn() -> G + Send + Sync + 'static) -> Self {
        self.enter = Some(Arc::new(move || Box::new(f())));
        self
    }

    /// Called on each worker after its last task.
    pub fn on_thread_stop(mut self, f: impl Fn() + Send + Sync + 'static) -> Self {
        self.on_thread_stop = Some(Arc::new(f));
        self
    }

    /// Called once, when every task has ended and every worker has left; the pool is not terminated before it returns.
    pub fn on_terminated(mut self, f: impl FnOnce() + Send + 'static) -> Self {
        self.on_terminated = Some(Box::new(f));
        self
    }
}
