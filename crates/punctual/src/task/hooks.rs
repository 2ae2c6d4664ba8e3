//! The user's callbacks around tasks, kept where a panic of theirs goes no further.
//!
//! In: a task about to run, or its end. Out: each callback called at most once for it, contained and counted.
//! Not here: when they are called ([`run`](super::run)), and thread hooks ([`worker`](crate::worker)).

use super::decorate::Decorators;
use super::watch::Limits;
use super::{Outcome, TaskInfo, contain, discard};
use crate::sync::unmodelled::{AtomicU64, Relaxed};
use std::any::Any;
use std::fmt;

type Before = Box<dyn Fn(&TaskInfo<'_>) + Send + Sync>;
type After = Box<dyn Fn(&TaskInfo<'_>, Outcome<'_>) + Send + Sync>;

/// What [`PoolBuilder`](crate::PoolBuilder) was given.
#[derive(Default)]
pub(crate) struct Hooks {
    pub(crate) before: Option<Before>,
    pub(crate) after: Option<After>,
    pub(crate) failure: Option<After>,
    pub(crate) decorators: Decorators,
    /// Of every task that has none of its own.
    pub(crate) limits: Limits,
    /// Callbacks that panicked.
    pub(crate) panics: AtomicU64,
}

impl Hooks {
    /// Whether each task must be described to somebody: the worker then takes the longer way round.
    pub(crate) fn watch_tasks(&self) -> bool {
        let has_hooks = self.before.is_some() || self.after.is_some();
        has_hooks || !self.decorators.is_empty() || !self.limits.is_none()
    }

    pub(crate) fn before(&self, task: &TaskInfo<'_>) {
        if let Some(before) = &self.before {
            self.call(|| before(task));
        }
    }

    pub(crate) fn after(&self, task: &TaskInfo<'_>, outcome: Outcome<'_>) {
        if let Some(after) = &self.after {
            self.call(|| after(task, outcome));
        }
    }

    pub(crate) fn failure(&self, task: &TaskInfo<'_>, outcome: Outcome<'_>) {
        if let Some(failure) = &self.failure {
            self.call(|| failure(task, outcome));
        }
    }

    /// Calls user code and counts its panic.
    pub(crate) fn call(&self, f: impl FnOnce()) {
        if contain(f) {
            self.panics.fetch_add(1, Relaxed);
        }
    }

    /// Counts the panic of a callback that was caught elsewhere.
    pub(crate) fn count_panic(&self, payload: Box<dyn Any + Send>) {
        self.panics.fetch_add(1, Relaxed);
        discard(payload);
    }
}

impl fmt::Debug for Hooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hooks")
            .field("before", &self.before.is_some())
            .field("after", &self.after.is_some())
            .field("failure", &self.failure.is_some())
            .field("decorators", &self.decorators)
            .field("limits", &self.limits)
            .field("panics", &self.panics.load(Relaxed))
            .finish()
    }
}
