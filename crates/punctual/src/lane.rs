//! [`Lane`]: an ordered line of tasks that never overlap, with an end of its own.
//!
//! In: an executor under a limit of one. Out: the same with two more verbs: dispose of it, or close it and wait.

use crate::Executor;
use crate::sync::Arc;
use crate::task::view::View;
use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// Tasks one after the other, in the order of submission, on whatever thread of the pool is free. Never a thread of its
/// own: a hundred thousand idle lanes cost some memory and nothing else. Made by [`Executor::lane`] and
/// [`Executor::lane_bounded`]; every verb is its [`Executor`]'s.
///
/// A task that waits for a later one of its own lane would wait for ever, and gets
/// [`JoinError::is_would_deadlock`](crate::JoinError::is_would_deadlock). Clones are the same lane. Dropping the last clone
/// leaves its tasks alone: they run.
///
/// ```
/// let pool = punctual::Pool::fixed(4)?;
/// let lane = pool.lane();
/// let (mut first, mut second) = (lane.submit(|| 1)?, lane.submit(|| 2)?);
/// assert_eq!((first.join()?, second.join()?), (1, 2));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Lane {
    executor: Executor,
}

impl Deref for Lane {
    type Target = Executor;
    fn deref(&self) -> &Executor {
        &self.executor
    }
}

impl Lane {
    pub(crate) fn of(executor: Executor) -> Self {
        Lane { executor }
    }

    fn view(&self) -> &Arc<View> {
        self.executor.lanes_view().expect("a lane is a view")
    }

    /// Refuses new tasks from now on, as a pool that was shut down, and cancels those that wait, delayed ones too; the
    /// running one is asked to stop; if it borrows (a scope's, or a branch of [`Executor::join`]), its caller waits for it all the
    /// same. How many were cancelled.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// let lane = pool.lane();
    /// let (hold, held) = std::sync::mpsc::channel::<()>();
    /// pool.execute(move || drop(held.recv()))?; // keeps the only worker busy
    /// let waiting = lane.submit(|| 1)?;
    /// assert_eq!(lane.dispose(), 1);
    /// assert!(waiting.join().unwrap_err().is_cancelled());
    /// assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    /// # drop(hold);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn dispose(&self) -> usize {
        self.executor.engine().dispose_of(self.view())
    }

    /// Refuses new tasks from now on, and waits until those it has accepted have ended, at most `limit` on the pool's clock.
    /// Delayed ones whose time has not come are cancelled. False: not all have ended. From inside one of its own tasks,
    /// which could never end then, the answer is at once; so it is on a worker that must not block
    /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)).
    pub fn close_timeout(&self, limit: Duration) -> bool {
        self.executor.engine().close_view(self.view(), limit)
    }
}

impl fmt::Debug for Lane {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Lane {:?} of {:?}",
            self.executor.view_stats().name,
            self.executor
        )
    }
}
