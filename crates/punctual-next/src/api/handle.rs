//! [`TaskHandle`]: the right to a task's result.

use crate::base::errors::JoinError;
use crate::sync::{is_multi_core, spin_loop};
use crate::task::reference::{Cancel, JoinRef, TaskFailure};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// How long a join looks on before it sleeps.
const SPIN: Duration = Duration::from_micros(20);

/// The right to a task's result. Dropping it detaches the task, which goes on.
#[must_use = "dropping a handle detaches the task; use `execute` for fire and forget"]
pub struct TaskHandle<T> {
    task: JoinRef<T>,
}

impl<T> Unpin for TaskHandle<T> {}

impl<T> TaskHandle<T> {
    pub(crate) fn new(task: JoinRef<T>) -> Self {
        TaskHandle { task }
    }

    /// Waits for the task and gives its value.
    ///
    /// # Errors
    /// If the task panicked or was cancelled, or if its value was taken before.
    #[inline]
    pub fn join(self) -> Result<T, JoinError> {
        if !self.task.state().load().is_resolved() {
            self.wait_until(None);
        }
        self.task.take_and_leave().map_err(TaskFailure::into_error)
    }

    /// As [`TaskHandle::join`], at most so long.
    ///
    /// # Errors
    /// As there, and [`JoinError::is_timeout`], after which the handle is still good.
    pub fn join_timeout(&mut self, limit: Duration) -> Result<T, JoinError> {
        if self.wait_timeout(limit) {
            self.outcome()
        } else {
            Err(JoinError::timeout())
        }
    }

    /// Waits for the task and leaves its value where it is. Any number of threads may wait.
    pub fn wait(&self) {
        self.wait_until(None);
    }

    /// As [`TaskHandle::wait`], at most so long. False: the limit passed.
    #[must_use]
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.wait_until(Some(limit))
    }

    /// Takes the task out before it begins, or tells it to stop.
    pub fn cancel(&self) -> Cancel {
        self.task.reference().cancel()
    }

    /// Whether the outcome is there.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.task.state().load().is_resolved()
    }

    fn outcome(&mut self) -> Result<T, JoinError> {
        self.task.take().map_err(TaskFailure::into_error)
    }

    #[cold]
    fn wait_until(&self, limit: Option<Duration>) -> bool {
        let state = self.task.state();
        let begin = Instant::now();
        if is_multi_core() {
            let mut pauses = 1;
            while begin.elapsed() < limit.map_or(SPIN, |limit| limit.min(SPIN)) {
                if state.load().is_resolved() {
                    return true;
                }
                (0..pauses).for_each(|_| spin_loop());
                pauses = (pauses * 2).min(16);
            }
        }
        loop {
            let seen = state.announce_sleeper();
            if seen.is_resolved() {
                return true;
            }
            let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
            if left.is_some_and(|left| left.is_zero()) {
                return false;
            }
            state.sleep(seen, left);
        }
    }
}

impl<T> Future for TaskHandle<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let is_resolved = self.task.state().load().is_resolved();
        if is_resolved || !self.task.set_waker(context.waker()) {
            return Poll::Ready(self.outcome());
        }
        Poll::Pending
    }
}

impl<T> fmt::Debug for TaskHandle<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskHandle")
            .field("is_finished", &self.is_finished())
            .finish_non_exhaustive()
    }
}
