//! What can go wrong, as values.
//!
//! In: a refusal, a failed join, a bad setting. Out: opaque errors with predicates, whose text names the field, the
//! value, the limit and the fix. A refused task comes back inside its error; nothing is lost with it.

#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;

/// Why a task was not accepted.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Reason {
    /// The queue is at its capacity.
    Full {
        /// Tasks that wait, or whose place is reserved.
        queued: usize,
        /// What the queue may hold.
        capacity: usize,
        /// Live worker threads.
        threads: usize,
    },
    /// The pool has been shut down.
    ShutDown,
    /// No worker is alive and the system refused to start one.
    NoThread,
    /// Waiting for room here could never end.
    WouldDeadlock,
    /// This executor cannot run work at a later time.
    NoTimer,
    /// This process is a fork of the one that made the pool; its threads are not here.
    Forked,
    /// The task's own settings contradict each other.
    Invalid(ConfigError),
    /// A foreign executor refused, and said this.
    Foreign(String),
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Full { queued, capacity, threads } => write!(
                f,
                "the queue is full: {queued} of {capacity} places are taken and {threads} threads are at work; \
                 raise the capacity, add threads, or submit less"
            ),
            Reason::ShutDown => f.write_str("the pool has been shut down and accepts no more tasks"),
            Reason::NoThread => f.write_str(
                "the pool has no live worker and the system refused to start a thread; \
                 raise the process's thread limit or lower the pool's size",
            ),
            Reason::WouldDeadlock => f.write_str(
                "waiting for room from this pool's own worker could never end; \
                 use a larger queue or another rejection policy",
            ),
            Reason::NoTimer => f.write_str("this executor cannot run work at a later time; use a pool"),
            Reason::Forked => f.write_str(
                "this process was forked from the one that made the pool, and threads are not copied by a fork; \
                 make a new pool in the child",
            ),
            Reason::Invalid(error) => write!(f, "the task's settings are invalid: {error}"),
            Reason::Foreign(cause) => write!(f, "the underlying executor refused: {cause}"),
        }
    }
}

/// A setting that cannot be: which one, its value, the limit, and what to do.
///
/// ```
/// let error = punctual::Pool::builder("x").max_threads(0).build().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "max_threads = 0: a pool needs at least one thread; set max_threads to 1 or more"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    field: &'static str,
    value: String,
    limit: String,
    fix: String,
}

impl ConfigError {
    #[cold]
    pub(crate) fn new(
        field: &'static str,
        value: impl fmt::Display,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        ConfigError {
            field,
            value: value.to_string(),
            limit: limit.into(),
            fix: fix.into(),
        }
    }

    /// The setting's name.
    #[must_use]
    pub fn field(&self) -> &str {
        self.field
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} = {}: {}; {}", self.field, self.value, self.limit, self.fix)
    }
}

impl std::error::Error for ConfigError {}

/// A task that was not accepted, given back.
///
/// Works with `?` into `Box<dyn Error + Send + Sync>` for every closure that is `Send`, also when it is not `Sync`:
/// nobody can reach the closure through a shared reference to this.
///
/// ```
/// use punctual::Pool;
/// let pool = Pool::fixed(1)?;
/// pool.shutdown();
/// let refused = pool.submit(|| 6 * 7).unwrap_err();
/// assert!(refused.is_shutdown());
/// assert_eq!(refused.into_task()(), 42); // nothing is lost
/// # Ok::<(), punctual::ConfigError>(())
/// ```
#[must_use = "the task inside has not run"]
pub struct Rejected<F> {
    task: F,
    reason: Reason,
}

// SAFETY: no public method gives out `&F`, so sharing a `Rejected<F>` shares only its `Reason`, which is `Sync`. (The
// crate's own `task` is used once, on a value that is not shared yet, for the length of a `Vec`.)
unsafe impl<F: Send> Sync for Rejected<F> {}

impl<F> Rejected<F> {
    #[cold]
    pub(crate) fn new(task: F, reason: Reason) -> Self {
        Rejected { task, reason }
    }

    /// The task itself.
    pub fn into_task(self) -> F {
        self.task
    }

    /// Why it was not accepted.
    pub fn reason(&self) -> &Reason {
        &self.reason
    }

    /// The queue was full.
    pub fn is_full(&self) -> bool {
        matches!(self.reason, Reason::Full { .. })
    }

    /// The pool had been shut down.
    pub fn is_shutdown(&self) -> bool {
        matches!(self.reason, Reason::ShutDown)
    }

    /// For the library's own eyes: what is inside never leaves as a reference.
    pub(crate) fn task(&self) -> &F {
        &self.task
    }

    pub(crate) fn map<G>(self, f: impl FnOnce(F) -> G) -> Rejected<G> {
        Rejected {
            task: f(self.task),
            reason: self.reason,
        }
    }
}

impl<F> fmt::Debug for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rejected")
            .field("reason", &self.reason)
            .finish_non_exhaustive()
    }
}

impl<F> fmt::Display for Rejected<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "task rejected: {}", self.reason)
    }
}

impl<F> std::error::Error for Rejected<F> {}

/// Why none of the tasks of [`Executor::any`](crate::Executor::any) gave a value.
#[non_exhaustive]
#[derive(Debug)]
pub enum AnyError<E> {
    /// There were none.
    Empty,
    /// All failed; this is the error of the last one to do so.
    AllFailed(E),
    /// All failed, and the last one did so without an error of its own: it panicked or was cancelled; or the calling task
    /// was asked to stop.
    Join(JoinError),
    /// The limit passed.
    Timeout,
    /// The pool has been shut down.
    ShutDown,
}

impl<E: fmt::Debug> fmt::Display for AnyError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            AnyError::Empty => f.write_str("no task was given; `any` needs at least one"),
            AnyError::AllFailed(error) => write!(f, "every task failed, the last one with {error:?}"),
            AnyError::Join(error) => write!(f, "every task failed; of the last one: {error}"),
            AnyError::Timeout => f.write_str("no task succeeded within the limit; the others were cancelled"),
            AnyError::ShutDown => f.write_str("the pool has been shut down and accepts no more tasks"),
        }
    }
}

impl<E: fmt::Debug> std::error::Error for AnyError<E> {}

/// The limit of a wait passed before anything happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeout;

impl fmt::Display for Timeout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("nothing happened within the limit")
    }
}

impl std::error::Error for Timeout {}

/// Why a join gave no value.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let task = pool.submit(|| panic!("no luck"))?;
/// let error = task.join().unwrap_err();
/// assert!(error.is_panic());
/// assert_eq!(error.to_string(), "the task panicked: no luck");
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub struct JoinError {
    kind: Kind,
}

enum Kind {
    Panicked(SyncBox),
    Cancelled,
    Returned,
    Evicted,
    Expired,
    Rejected,
    Timeout,
    Taken,
    WouldDeadlock,
    Interrupted,
    Forked,
    Blocking,
}

/// A panic's payload, which need not be `Sync`.
struct SyncBox(Box<dyn Any + Send>);

// SAFETY: the payload is given out by value (`into_panic`) or, through a shared reference, only as the text of a
// `&str` or `String`, which are `Sync`; a payload of another type is never looked into.
unsafe impl Sync for SyncBox {}

impl JoinError {
    #[cold]
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        JoinError {
            kind: Kind::Panicked(SyncBox(payload)),
        }
    }
    #[cold]
    pub(crate) fn cancelled() -> Self {
        JoinError {
            kind: Kind::Cancelled,
        }
    }
    #[cold]
    pub(crate) fn returned() -> Self {
        JoinError { kind: Kind::Returned }
    }
    #[cold]
    pub(crate) fn evicted() -> Self {
        JoinError { kind: Kind::Evicted }
    }
    #[cold]
    pub(crate) fn expired() -> Self {
        JoinError { kind: Kind::Expired }
    }
    #[cold]
    pub(crate) fn rejected() -> Self {
        JoinError { kind: Kind::Rejected }
    }
    #[cold]
    pub(crate) fn timeout() -> Self {
        JoinError { kind: Kind::Timeout }
    }
    #[cold]
    pub(crate) fn taken() -> Self {
        JoinError { kind: Kind::Taken }
    }
    #[cold]
    pub(crate) fn would_deadlock() -> Self {
        JoinError {
            kind: Kind::WouldDeadlock,
        }
    }
    #[cold]
    pub(crate) fn interrupted() -> Self {
        JoinError {
            kind: Kind::Interrupted,
        }
    }
    #[cold]
    pub(crate) fn forked() -> Self {
        JoinError { kind: Kind::Forked }
    }
    #[cold]
    pub(crate) fn blocking() -> Self {
        JoinError { kind: Kind::Blocking }
    }

    /// The task was cancelled, or `stop`/`drain` took it out of the queue.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, Kind::Cancelled | Kind::Returned)
    }

    /// The pool was full, and its policy dropped the task, or dropped it later for another.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.kind, Kind::Rejected | Kind::Evicted)
    }

    /// The task was thrown out of a full queue for another.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        matches!(self.kind, Kind::Evicted)
    }

    /// The task waited longer than it was meant to: see [`TaskBuilder::expires_in`](crate::TaskBuilder::expires_in).
    #[must_use]
    pub fn is_expired(&self) -> bool {
        matches!(self.kind, Kind::Expired)
    }

    /// The task panicked.
    #[must_use]
    pub fn is_panic(&self) -> bool {
        matches!(self.kind, Kind::Panicked(_))
    }

    /// The limit passed; the handle is still good.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self.kind, Kind::Timeout)
    }

    /// The value was taken before.
    #[must_use]
    pub fn is_taken(&self) -> bool {
        matches!(self.kind, Kind::Taken)
    }

    /// The wait could never have ended: a task joined itself, or tasks that wait for each other, or a task that nobody is
    /// left to run.
    #[must_use]
    pub fn is_would_deadlock(&self) -> bool {
        matches!(self.kind, Kind::WouldDeadlock)
    }

    /// The *joining* task's own token fired while it waited; the joined task goes on.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        matches!(self.kind, Kind::Interrupted)
    }

    /// This process was forked from the one that runs the task.
    #[must_use]
    pub fn is_forked(&self) -> bool {
        matches!(self.kind, Kind::Forked)
    }

    /// The joining task runs on a worker that must not block, and the joined one has not ended; see
    /// [`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking). The joined task goes on.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        matches!(self.kind, Kind::Blocking)
    }

    /// The panic's payload, e.g. for [`std::panic::resume_unwind`]; the error itself if it was no panic.
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self.kind {
            Kind::Panicked(SyncBox(payload)) => Ok(payload),
            kind => Err(JoinError { kind }),
        }
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Panicked(SyncBox(payload)) => {
                write!(f, "the task panicked: {}", crate::task::panic_text(&**payload))
            }
            Kind::Cancelled => f.write_str("the task was cancelled"),
            Kind::Returned => {
                f.write_str("the task was taken out of the queue by stop or drain and did not run")
            }
            Kind::Evicted => {
                f.write_str("the task was thrown out of the full queue for another one and did not run")
            }
            Kind::Expired => f.write_str("the task waited longer than it was meant to and did not run"),
            Kind::Rejected => f.write_str("the task was dropped because the queue was full, and did not run"),
            Kind::Timeout => f.write_str("the task did not end within the limit; its handle is still good"),
            Kind::Taken => f.write_str("the task's value was taken before"),
            Kind::WouldDeadlock => f.write_str(
                "the wait could never end: every task it depends on waits too, in the end for this one or for a free \
                 worker; join outside the pool, or give it more threads or spare_threads",
            ),
            Kind::Interrupted => f.write_str("the joining task was asked to stop while it waited"),
            Kind::Forked => f.write_str(
                "the task runs in the process this one was forked from, and cannot be waited for here",
            ),
            Kind::Blocking => f.write_str(
                "the task has not ended, and this worker must not block (on_blocking); await the handle, or join it elsewhere",
            ),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
