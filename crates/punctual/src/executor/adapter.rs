//! Executors round somebody else's threads.
//!
//! In: a function that takes jobs. Out: an [`Executor`] with handles, cancelling, groups and scopes, whose tasks that function
//! runs. What needs workers of the library's own is refused: delays and schedules
//! ([`Reason::NoTimer`](crate::Reason::NoTimer)), views and futures ([`Reason::Foreign`](crate::Reason::Foreign)).

use super::Executor;
use crate::pool::{Job, RefusedJob};
use crate::{OnDrop, Pool, Queue};

impl Executor {
    /// Runs each task at once, on the thread that submits it: for tests, and where something wants an executor and there is
    /// nothing to run beside.
    ///
    /// ```
    /// use punctual::Executor;
    /// let here = Executor::immediate();
    /// let task = here.submit(|| std::thread::current().id())?;
    /// assert_eq!(task.join()?, std::thread::current().id());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn immediate() -> Executor {
        Executor::from_fn(|job| {
            job.run();
            Ok(())
        })
    }

    /// Runs each task where `f` takes it. `f` is called by the submitter, for each task once; it runs the job, or has it run
    /// elsewhere, and says `Ok`; or gives it back, and the submitter gets its closure in
    /// [`Rejected`](crate::Rejected) with the cause. A job that is dropped is cancelled: its handle says so. Refusals and
    /// drops end nothing: the next task is offered again.
    ///
    /// ```
    /// use punctual::{Executor, RefusedJob};
    /// use std::sync::mpsc::{TrySendError, sync_channel};
    ///
    /// let (send, receive) = sync_channel::<punctual::Job>(1);
    /// let other = Executor::from_fn(move |job| {
    ///     send.try_send(job).map_err(|refused| match refused {
    ///         TrySendError::Full(job) => RefusedJob { job, cause: "full".into() },
    ///         TrySendError::Disconnected(job) => RefusedJob { job, cause: "gone".into() },
    ///     })
    /// });
    /// let task = other.submit(|| 6 * 7)?;
    /// let refused = other.submit(|| 1).unwrap_err(); // the channel holds one
    /// assert_eq!(refused.into_task()(), 1);
    ///
    /// std::thread::spawn(move || receive.into_iter().for_each(punctual::Job::run));
    /// assert_eq!(task.join()?, 42);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn from_fn(f: impl Fn(Job) -> Result<(), RefusedJob> + Send + Sync + 'static) -> Executor {
        let pool = Pool::builder("adapter")
            .core_threads(1)
            .queue(Queue::unbounded())
            .on_drop(OnDrop::Detach)
            .foreign(f)
            .build();
        pool.expect("these settings are right").executor()
    }
}
