//! What can go wrong, as values: opaque errors with predicates, whose text names the field, the value, the limit and the fix.
//!
//! A refused task comes back inside its error; nothing is lost with it.

#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;

/// Why a task was not accepted.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub enum Reason {
    /// The queue is at its capacity.
    Full {
        /// Tasks that wait.
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
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Full {
                queued,
                capacity,
                threads,
            } => write!(
                f,
                "the queue is full: {queued} of {capacity} places are taken and {threads} threads are at work; \
                 raise the capacity, add threads, or submit less"
            ),
            Reason::ShutDown => f.write_str("the pool has been shut down and accepts no more tasks"),
            Reason::NoThread => f.write_str(
                "the pool has no live worker and the system refused to start a thread; \
                 raise the process's thread limit or lower the pool's size",
            ),
        }
    }
}

/// A setting that cannot be: which one, its value, the limit, and what to do.
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
/// Works with `?` into `Box<dyn Error + Send + Sync>` for every closure that is `Send`, also when it is not `Sync`: a shared
/// reference to this does not reach the closure.
#[must_use = "the task inside has not run"]
pub struct Rejected<F> {
    task: F,
    reason: Reason,
}

// SAFETY: no method gives out `&F`, so sharing a `Rejected<F>` shares only its `Reason`, which is `Sync`.
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

/// Why a join gave no value.
pub struct JoinError {
    kind: Kind,
}

enum Kind {
    Panicked(SyncBox),
    Cancelled,
    Rejected,
    Evicted,
    Timeout,
    Taken,
}

/// A panic's payload, which need not be `Sync`.
struct SyncBox(Box<dyn Any + Send>);

// SAFETY: the payload is given out by value (`into_panic`) or, through a shared reference, only as the text of a `&str` or
// `String`, which are `Sync`; a payload of another type is never looked into.
unsafe impl Sync for SyncBox {}

impl JoinError {
    #[cold]
    pub(crate) fn panicked(payload: Box<dyn Any + Send>) -> Self {
        let kind = Kind::Panicked(SyncBox(payload));
        JoinError { kind }
    }

    #[cold]
    pub(crate) fn cancelled() -> Self {
        let kind = Kind::Cancelled;
        JoinError { kind }
    }

    #[cold]
    pub(crate) fn rejected() -> Self {
        JoinError { kind: Kind::Rejected }
    }

    #[cold]
    pub(crate) fn evicted() -> Self {
        JoinError { kind: Kind::Evicted }
    }

    #[cold]
    pub(crate) fn timeout() -> Self {
        JoinError { kind: Kind::Timeout }
    }

    #[cold]
    pub(crate) fn taken() -> Self {
        JoinError { kind: Kind::Taken }
    }

    /// The task was cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        matches!(self.kind, Kind::Cancelled)
    }

    /// A full pool dropped the task to make room for another one.
    #[must_use]
    pub fn is_evicted(&self) -> bool {
        matches!(self.kind, Kind::Evicted)
    }

    /// A full pool refused the task, and its policy dropped it.
    #[must_use]
    pub fn is_rejected(&self) -> bool {
        matches!(self.kind, Kind::Rejected)
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

    /// The panic's payload, e.g. for [`std::panic::resume_unwind`]; the error itself if it was no panic.
    ///
    /// # Errors
    /// The error itself, if the task did not panic.
    pub fn into_panic(self) -> Result<Box<dyn Any + Send>, Self> {
        match self.kind {
            Kind::Panicked(SyncBox(payload)) => Ok(payload),
            kind => Err(JoinError { kind }),
        }
    }
}

/// The text of a payload, where it is one.
fn text_of(payload: &(dyn Any + Send)) -> &str {
    if let Some(text) = payload.downcast_ref::<&str>() {
        text
    } else if let Some(text) = payload.downcast_ref::<String>() {
        text
    } else {
        "a payload that is no text"
    }
}

impl fmt::Display for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Panicked(SyncBox(payload)) => write!(f, "the task panicked: {}", text_of(&**payload)),
            Kind::Cancelled => f.write_str("the task was cancelled"),
            Kind::Rejected => f.write_str("the pool was full and its policy dropped the task"),
            Kind::Evicted => f.write_str("the pool was full and dropped the task to make room"),
            Kind::Timeout => f.write_str("the task did not end within the limit"),
            Kind::Taken => f.write_str("the task's value was taken before"),
        }
    }
}

impl fmt::Debug for JoinError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JoinError({self})")
    }
}

impl std::error::Error for JoinError {}
