//! All of them, or the first that succeeds.
//!
//! In: closures. Out: every outcome in the order of the closures (`all`), or the first success (`any`). Both wait for
//! room instead of being refused (from a worker of a full pool the caller runs the task), and refuse only after
//! shutdown. Whoever is still running when the answer is known has been asked to stop.

use super::group::{Group, cancel_all};
use super::task_handle::TaskHandle;
use crate::pool::reject::Patience;
use crate::task::block::Options;
use crate::task::here;
use crate::{AnyError, Executor, JoinError, Reason, Rejected};
use std::time::Duration;

/// A limit, and when it began.
struct Term<'a> {
    executor: &'a Executor,
    begin: u64,
    limit: Option<Duration>,
}

impl Term<'_> {
    /// What is left; `None` for no limit.
    fn left(&self) -> Option<Duration> {
        let now = self.executor.engine().clock.tick();
        let passed = Duration::from_nanos(now.saturating_sub(self.begin));
        self.limit.map(|limit| limit.saturating_sub(passed))
    }

    /// How long the next submission may wait for room. `None`: the limit has passed, and nothing begins any more.
    fn patience(&self) -> Option<Patience> {
        let left = self.left();
        (left != Some(Duration::ZERO)).then_some(Patience::OrHere(left))
    }
}

impl Executor {
    /// Runs all of them and waits; outcomes in the order of the closures. Waits for room; `Err`, with those that were not
    /// accepted, only after shutdown, and then those that were accepted are cancelled. If the calling task is asked to
    /// stop, what has not ended is cancelled and says [`JoinError::is_interrupted`].
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// let squares = pool.all((1..=3).map(|n| move || n * n))?;
    /// let squares: Result<Vec<i32>, _> = squares.into_iter().collect();
    /// assert_eq!(squares?, [1, 4, 9]);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn all<F, T, I>(&self, jobs: I) -> Result<Vec<Result<T, JoinError>>, Rejected<Vec<F>>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.all_within(None, jobs.into_iter())
    }

    /// As [`Executor::all`], for at most `limit` on the pool's clock: what has not ended by then is cancelled, and what has
    /// not been submitted by then is not submitted. (A task that this thread runs itself, on an executor that runs tasks at
    /// once or in a worker of a full pool, is not left before it ends.)
    pub fn all_timeout<F, T, I>(
        &self,
        limit: Duration,
        jobs: I,
    ) -> Result<Vec<Result<T, JoinError>>, Rejected<Vec<F>>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        self.all_within(Some(limit), jobs.into_iter())
    }

    fn term(&self, limit: Option<Duration>) -> Term<'_> {
        Term {
            executor: self,
            begin: self.engine().clock.tick(),
            limit,
        }
    }

    fn all_within<F, T>(
        &self,
        limit: Option<Duration>,
        mut jobs: impl Iterator<Item = F>,
    ) -> Result<Vec<Result<T, JoinError>>, Rejected<Vec<F>>>
    where
        F: FnOnce() -> T + Send + 'static,
        T: Send + 'static,
    {
        let term = self.term(limit);
        let mut tasks: Vec<TaskHandle<T>> = Vec::new();
        let mut unsubmitted = 0;
        while let Some(job) = jobs.next() {
            let Some(patience) = term.patience() else {
                unsubmitted = 1 + jobs.by_ref().count();
                break;
            };
            match self.submit_with(Options::default(), patience, job) {
                Ok(task) => tasks.push(task),
                // The limit passed in front of a full queue, or the calling task was asked to stop there.
                Err(refused) if refused.is_full() => {
                    unsubmitted = 1 + jobs.by_ref().count();
                    break;
                }
                Err(refused) => {
                    cancel_all(tasks.iter());
                    let refused = refused.map(|first| std::iter::once(first).chain(jobs).collect::<Vec<_>>());
                    // The first was counted where it was refused.
                    let others = refused.task().len() - 1;
                    self.engine().count_refused(refused.reason(), others);
                    return Err(refused);
                }
            }
        }
        let mut outcomes = join_all(tasks, &term);
        let is_interrupted = here(|here| here.token()).is_some_and(|token| token.is_cancelled());
        let missing = || {
            if is_interrupted {
                JoinError::interrupted()
            } else {
                JoinError::cancelled()
            }
        };
        outcomes.extend((0..unsubmitted).map(|_| Err(missing())));
        Ok(outcomes)
    }

    /// The value of the first task that returns `Ok`. Starts one task, and the next whenever there is no result to look
    /// at yet; the rest is cancelled. Waits for room.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// let number = pool.any(["x", "7", "y"].map(|text| move || text.parse::<i32>()))?;
    /// assert_eq!(number, 7);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn any<F, T, E, I>(&self, jobs: I) -> Result<T, AnyError<E>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        self.any_within(None, jobs.into_iter())
    }

    /// As [`Executor::any`], for at most `limit` on the pool's clock; then [`AnyError::Timeout`], and what has not been
    /// submitted is not submitted. (For a task that this thread runs itself see [`Executor::all_timeout`].)
    pub fn any_timeout<F, T, E, I>(&self, limit: Duration, jobs: I) -> Result<T, AnyError<E>>
    where
        I: IntoIterator<Item = F>,
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        self.any_within(Some(limit), jobs.into_iter())
    }

    fn any_within<F, T, E>(
        &self,
        limit: Option<Duration>,
        mut jobs: impl Iterator<Item = F>,
    ) -> Result<T, AnyError<E>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let found = self.first_success(limit, &mut jobs);
        // Not at the end of the function: a closure whose drop panics there would leak what is being returned.
        drop(jobs);
        found
    }

    fn first_success<F, T, E>(
        &self,
        limit: Option<Duration>,
        jobs: &mut impl Iterator<Item = F>,
    ) -> Result<T, AnyError<E>>
    where
        F: FnOnce() -> Result<T, E> + Send + 'static,
        T: Send + 'static,
        E: Send + 'static,
    {
        let term = self.term(limit);
        // Its drop cancels whatever is left, on every way out.
        let mut group: Group<Result<T, E>> = self.group();
        let mut last = AnyError::Empty;
        loop {
            let mut ended = group.next_ended();
            if ended.is_none() {
                match jobs.next() {
                    Some(job) => {
                        let patience = term.patience().ok_or(AnyError::Timeout)?;
                        group
                            .submit_with(patience, job)
                            .map_err(|refused| refusal(&refused))?;
                        continue;
                    }
                    None if group.is_empty() => return Err(last),
                    None => {
                        let next = match term.left() {
                            Some(left) => group.next_timeout(left).map_err(|_| AnyError::Timeout)?,
                            None => group.next(),
                        };
                        ended = next.map(|(_, outcome)| outcome);
                    }
                }
            }
            match ended {
                Some(Ok(Ok(value))) => return Ok(value),
                Some(Ok(Err(error))) => last = AnyError::AllFailed(error),
                // The calling task's own trouble, not one of the group's.
                Some(Err(error))
                    if error.is_interrupted() || error.is_would_deadlock() || error.is_blocking() =>
                {
                    return Err(AnyError::Join(error));
                }
                Some(Err(error)) => last = AnyError::Join(error),
                None => {}
            }
        }
    }

    /// An empty group of tasks on this executor, whose outcomes are read in the order in which they come.
    pub fn group<T: Send + 'static>(&self) -> Group<T> {
        Group::new(self.clone())
    }
}

/// What a task that was not let in means to `any`.
fn refusal<F, E>(refused: &Rejected<F>) -> AnyError<E> {
    match refused.reason() {
        Reason::ShutDown => AnyError::ShutDown,
        Reason::Full { .. } if here(|here| here.token()).is_some_and(|token| token.is_cancelled()) => {
            AnyError::Join(JoinError::interrupted())
        }
        Reason::Full { .. } => AnyError::Timeout,
        Reason::WouldDeadlock => AnyError::Join(JoinError::would_deadlock()),
        Reason::Forked => AnyError::Join(JoinError::forked()),
        _ => AnyError::Join(JoinError::rejected()),
    }
}

/// Joins them in order. Once the limit has passed, or the calling task is asked to stop, the rest is cancelled.
fn join_all<T>(tasks: Vec<TaskHandle<T>>, term: &Term<'_>) -> Vec<Result<T, JoinError>> {
    let mut outcomes = Vec::with_capacity(tasks.len());
    let mut tasks = tasks.into_iter();
    while let Some(mut task) = tasks.next() {
        let outcome = match term.left() {
            None => task.wait_and_take(),
            Some(left) => task.join_timeout(left),
        };
        match outcome {
            Err(error) if error.is_interrupted() => {
                cancel_all(tasks.as_slice().iter());
                let _ = task.cancel();
                outcomes.push(Err(error));
                outcomes.extend(tasks.by_ref().map(|task| match task.join() {
                    Err(error) if error.is_cancelled() => Err(JoinError::interrupted()),
                    outcome => outcome,
                }));
            }
            Err(error) if error.is_timeout() => {
                cancel_all(tasks.as_slice().iter());
                let _ = task.cancel();
                outcomes.push(task.join());
            }
            outcome => outcomes.push(outcome),
        }
    }
    outcomes
}
