//! [`TaskRef`]: a task, without its value.
//!
//! In: a handle, or another reference. Out: cancel, look, name. All references to a task hold one share of its block.

#![allow(unsafe_code)]

use super::cancel::{Cancel, cancel, is_elsewhere, remove};
use crate::observe::{Explanation, Place};
use crate::sync::Arc;
use crate::task::Priority;
use crate::task::block::{Header, Reference};
use crate::task::home::Destination;
use crate::task::state::End;
use std::fmt;
use std::panic::{Location, RefUnwindSafe, UnwindSafe};
use std::ptr::NonNull;
use std::time::Duration;

/// Where a task is.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Its time has not come.
    Delayed,
    /// It waits.
    Queued,
    /// It runs.
    Running,
    /// A future that has been polled, and is not being polled: it waits to be woken, or for a worker after that.
    Suspended,
    /// It returned.
    Finished,
    /// It panicked.
    Panicked,
    /// It was cancelled. (If it was running, it may still be on its way to its end.)
    Cancelled,
    /// `stop` or `drain` took it out.
    Returned,
    /// It was thrown out of a full queue for another.
    Evicted,
    /// It waited longer than it was meant to.
    Expired,
    /// It was never accepted: the pool was full and its policy dropped it.
    Rejected,
}

/// A cheap, clonable reference to a task: cancel it from elsewhere, look at it. It does not keep the task's value, nor what it
/// panicked with: that goes with the handle, or, if the handle was gone before, with the end of the task.
///
/// ```
/// use punctual::{Cancel, Pool, Status};
/// let pool = Pool::fixed(1)?;
/// let task = pool.submit(|| 1)?;
/// let watcher = task.task_ref();
/// task.join()?;
/// assert_eq!(watcher.status(), Status::Finished);
/// assert_eq!(watcher.cancel(), Cancel::TooLate);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct TaskRef {
    held: Arc<Reference>,
}

// As for a handle: everything a reference shares is an atomic state.
impl UnwindSafe for TaskRef {}
impl RefUnwindSafe for TaskRef {}

impl TaskRef {
    /// # Safety
    /// The caller holds a share of the block.
    pub(super) unsafe fn new(block: NonNull<Header>) -> Self {
        // SAFETY: the caller's promise.
        let held = unsafe { Reference::of(block) };
        TaskRef { held }
    }

    pub(crate) fn of(held: Arc<Reference>) -> Self {
        TaskRef { held }
    }

    pub(crate) fn reference(&self) -> &Arc<Reference> {
        &self.held
    }

    pub(super) fn pointer(&self) -> NonNull<Header> {
        self.held.pointer()
    }

    fn header(&self) -> &Header {
        self.held.header()
    }

    /// Cancels the task; see [`Cancel`].
    pub fn cancel(&self) -> Cancel {
        cancel(self.held.pointer())
    }

    /// Takes the task out only if it has not started; never signals. Says whether it did.
    pub fn remove(&self) -> bool {
        remove(self.held.pointer())
    }

    /// Moves a waiting task to the end of another level, where it counts as a new arrival. False: it does not wait in the
    /// queue (it is delayed, runs, or has ended), or the queue has no levels.
    ///
    /// ```
    /// use punctual::{Pool, Priority, Queue};
    /// let pool = Pool::builder("p").core_threads(1).queue(Queue::priority(100)).build()?;
    /// pool.pause();
    /// let report = pool.task(|| ()).priority(Priority::LOW).submit()?;
    /// assert!(report.task_ref().set_priority(Priority::URGENT));
    /// assert_eq!(pool.stats().levels[0].queued, 1);
    /// pool.resume();
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    pub fn set_priority(&self, priority: Priority) -> bool {
        self.relocate(Destination::Level(priority))
    }

    /// Moves a waiting task before everything else that waits, in any queue; of several such tasks the first to be moved
    /// is taken first. False: it does not wait in the queue.
    pub fn run_next(&self) -> bool {
        self.relocate(Destination::Front)
    }

    fn relocate(&self, to: Destination) -> bool {
        let header = self.header();
        if is_elsewhere(header) {
            return false;
        }
        let home = header.reach_home();
        home.is_some_and(|home| home.relocate(&self.held, to))
    }

    /// Where the task is.
    #[must_use]
    pub fn status(&self) -> Status {
        status_of(self.pointer())
    }

    /// How long until its time, for a task submitted with a delay: zero once that has come, `None` for all others.
    #[must_use]
    pub fn remaining(&self) -> Option<Duration> {
        // SAFETY: the reference is a share.
        let (axis, due) = unsafe { Header::due(self.held.pointer()) }?;
        let now = self.header().clock().on(axis);
        Some(Duration::from_nanos(due.saturating_sub(now)))
    }

    /// Why it has not started yet: where it waits, how many go before it, which view holds it, what runs meanwhile, when it
    /// should start. It may be old when it is read. What it costs is said at [`Explanation`].
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// pool.pause();
    /// let (_first, second) = (pool.submit(|| ())?, pool.submit(|| ())?);
    /// let why = second.task_ref().explain();
    /// assert_eq!(why.at_most_before(), Some(1));
    /// assert!(why.to_string().contains("the pool is paused"));
    /// pool.resume();
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn explain(&self) -> Explanation {
        self.explain_with(true)
    }

    /// As [`TaskRef::explain`], and says what runs only if it is wanted: that is a look at each of several workers.
    pub(crate) fn explain_with(&self, names: bool) -> Explanation {
        let header = self.header();
        let home = (!is_elsewhere(header)).then(|| header.reach_home()).flatten();
        match home {
            Some(home) => {
                let mut why = home.explain(header, self.remaining(), names);
                // SAFETY: the reference is a share.
                if matches!(why.place, Place::Running) && unsafe { Header::is_suspended(self.pointer()) } {
                    why.place = Place::Suspended;
                }
                why
            }
            None => Explanation::of(Place::Over),
        }
    }

    /// Unique in the process; says nothing about order.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.header().side_or_make().id
    }

    /// The name it was submitted with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.header().side()?.name.as_deref()
    }

    /// The type of its closure or future, which tells the function it was written in.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        self.header().type_name()
    }

    /// How urgent it is by now: what it was submitted with, or was [moved to](TaskRef::set_priority) since.
    #[must_use]
    pub fn priority(&self) -> Priority {
        self.header().priority()
    }

    /// Where in the source [`Executor::task`](crate::Executor::task) was called, of a task that was given a name, a token or a
    /// limit. Others keep no more than their closure; [`TaskRef::type_name`] tells roughly where they come from.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// let task = pool.task(|| ()).name("nightly").submit()?;
    /// assert_eq!(task.task_ref().site().unwrap().file(), file!());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn site(&self) -> Option<&'static Location<'static>> {
        self.header().side()?.site
    }

    /// How long ago it was made, give or take a few milliseconds, of a task with a name.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        let born = self.header().side()?.born?;
        let now = self.header().clock().tick();
        Some(Duration::from_nanos(now.saturating_sub(born)))
    }

    /// The name of the view it was submitted to (a limit, a lane, a key), until it has ended.
    #[must_use]
    pub fn view(&self) -> Option<Arc<str>> {
        let header = self.header();
        let view = Arc::clone(&*header.view()?);
        let home = (!is_elsewhere(header)).then(|| header.reach_home()).flatten()?;
        Some(home.view_name(&view))
    }
}

/// The caller holds a share of the block.
pub(super) fn status_of(pointer: NonNull<Header>) -> Status {
    // SAFETY: the caller holds a share.
    let block = unsafe { pointer.as_ref() };
    let seen = block.state.load();
    match seen.outcome() {
        Some(End::Finished) => Status::Finished,
        Some(End::Panicked) => Status::Panicked,
        Some(End::Cancelled) => Status::Cancelled,
        Some(End::Returned) => Status::Returned,
        Some(End::Evicted) => Status::Evicted,
        Some(End::Expired) => Status::Expired,
        Some(End::Rejected) => Status::Rejected,
        None if seen.is_ended() => Status::Panicked,
        None if seen.is_removed() => Status::Cancelled,
        // SAFETY: the caller holds a share.
        None if seen.is_claimed() && unsafe { Header::is_suspended(pointer) } => Status::Suspended,
        None if seen.is_claimed() => Status::Running,
        None if seen.is_delayed() => Status::Delayed,
        None => Status::Queued,
    }
}

impl fmt::Debug for TaskRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskRef({}, {:?})", self.id(), self.status())
    }
}
