//! Tasks that somebody else's threads run.
//!
//! In: a task for an engine that has no workers, but a function that takes [`Job`]s. Out: the job with that function's owner,
//! to be run once or dropped; or the task back, with the cause. The task waits *aside*, without a record in any queue, so
//! whatever counts, cancels or joins waiting tasks finds it as it finds one that stands in a view's line; and the thread that
//! runs the job is a visitor, as one of another part of a pool would be.

#![allow(unsafe_code)]

use super::admit::Refused;
use super::engine::Engine;
use crate::Reason;
use crate::handle::end_waiting;
use crate::sync::Arc;
use crate::task::block::{Entry, Header};
use crate::task::home::Removal;
use crate::task::record::Payload;
use crate::task::{Class, here};
use crate::worker::spare::run_as_visitor;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;

/// Where the tasks of an adapter go.
pub(crate) type Foreign = Arc<dyn Fn(Job) -> Result<(), RefusedJob> + Send + Sync>;

/// What an adapter cannot do.
const NO_THREADS: &str = "an adapter has no threads of its own, and runs closures only: no views, no futures";

/// A task on its way to somebody else's threads; see [`Executor::from_fn`](crate::Executor::from_fn). Run it once, anywhere.
/// Dropping it instead resolves it as cancelled.
#[must_use = "a job that is dropped is cancelled"]
pub struct Job {
    /// Until it is run, given back or dropped.
    entry: Option<Entry>,
    engine: Arc<Engine>,
}

impl Job {
    /// Runs the task here: its result goes to its handle, a panic stays in it. One that was cancelled meanwhile is not run.
    pub fn run(mut self) {
        let Some(entry) = self.entry.take() else { return };
        // SAFETY: the entry is a share, and the engine its home.
        here(|here| unsafe { run_as_visitor(here, &self.engine, entry.pointer()) });
        entry.let_go();
    }

    /// Takes the task out, if it is this one and nobody has claimed it.
    fn take_back(&mut self, task: NonNull<Header>) -> Option<Entry> {
        let is_it = |entry: &mut Entry| entry.pointer() == task && entry.header().state.unpark();
        self.entry.take_if(is_it)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        if let Some(entry) = self.entry.take() {
            // SAFETY: the entry is a share.
            unsafe { end_waiting(entry.pointer(), Removal::Cancelled) };
            entry.let_go();
        }
    }
}

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Job")
    }
}

/// A job that was not taken: the task comes back to its submitter, in [`Rejected`](crate::Rejected) with
/// [`Reason::Foreign`].
#[derive(Debug)]
pub struct RefusedJob {
    /// As it came.
    pub job: Job,
    /// Why.
    pub cause: String,
}

impl Engine {
    /// Whether its tasks are run by somebody else's threads.
    pub(crate) fn is_adapter(&self) -> bool {
        self.config.foreign.is_some()
    }

    /// Why a task that needs workers is refused.
    pub(crate) fn no_threads(&self) -> Reason {
        Reason::Foreign(NO_THREADS.to_owned())
    }

    /// Gives a task to whoever runs this adapter's.
    pub(super) fn hand_out<P: Payload>(
        self: &Arc<Self>,
        foreign: &Foreign,
        class: Class,
        payload: P,
    ) -> Result<bool, Refused<P>> {
        let entry = match payload.into_entry() {
            Ok(entry) if !class.is_apart() && !class.is_future() => entry,
            Ok(entry) => {
                let (payload, reason) = (P::of_entry(entry), self.no_threads());
                return Err(Refused { payload, reason });
            }
            Err(_) => unreachable!("what needs more than the common way is a block"),
        };
        let task = entry.pointer();
        {
            let mut producers = self.room.producers();
            if producers.is_closed() {
                let (payload, reason) = (P::of_entry(entry), Reason::ShutDown);
                return Err(Refused { payload, reason });
            }
            entry.header().state.park();
            producers.put_aside(&self.room, class);
        }
        let job = Job {
            entry: Some(entry),
            engine: self.clone(),
        };
        match catch_unwind(AssertUnwindSafe(|| foreign(job))) {
            Ok(Ok(())) => Ok(false),
            Ok(Err(RefusedJob { mut job, cause })) => match job.take_back(task) {
                Some(entry) => {
                    self.room.producers().no_longer_aside(&self.room, class);
                    let (payload, reason) = (P::of_entry(entry), Reason::Foreign(cause));
                    Err(Refused { payload, reason })
                }
                // Another's job came back, and is cancelled; this one was kept.
                None => Ok(false),
            },
            // The job was dropped on the way: its task is cancelled, and its handle says so.
            Err(panic) => {
                self.hooks.count_panic(panic);
                Ok(false)
            }
        }
    }
}
