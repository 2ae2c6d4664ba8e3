//! [`Unrun`]: a task that did not run, with its closure.
//!
//! In: a slot or a claimed entry that `stop` or `drain` took out. Out: run here, or dropped. Its handle, if it has
//! one, was resolved as cancelled when it was taken out; what the closure returns now is dropped.

#![allow(unsafe_code)]

use crate::task::TaskInfo;
use crate::task::block::{Entry, Header};
use crate::task::record::Slot;
use crate::task::side::next_id;
use crate::task::state::{End, Resolved};
use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A task that [`stop`](crate::Pool::stop) or [`drain`](crate::Pool::drain) took out of the queue.
///
/// ```
/// let pool = punctual::Pool::fixed(1)?;
/// let (hold, held) = std::sync::mpsc::channel::<()>();
/// let (tell, told) = std::sync::mpsc::channel();
/// pool.execute(move || {
///     tell.send(()).unwrap();
///     held.recv().ok(); // keeps the only worker busy
/// })?;
/// told.recv()?;
/// let waiting = pool.submit(|| println!("runs after all"))?;
/// for task in pool.stop() {
///     task.run().ok(); // here, on this thread
/// }
/// assert!(waiting.join().unwrap_err().is_cancelled());
/// drop(hold);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use = "the task inside has not run; dropping it drops its closure"]
pub struct Unrun {
    work: Work,
}

enum Work {
    Closure {
        slot: Slot,
        id: u64,
    },
    /// Claimed, with the closure still in the block; `None` once it is gone.
    Entry(Option<Entry>),
}

impl Unrun {
    pub(crate) fn closure(slot: Slot) -> Self {
        Unrun {
            work: Work::Closure { slot, id: next_id() },
        }
    }

    /// The entry was claimed by the caller; resolves its handle.
    pub(crate) fn entry(entry: Entry) -> Self {
        match entry.header().state.resolve(End::Returned, false) {
            // SAFETY: the entry is a share.
            Resolved::Fixed(after) => unsafe { Header::wake_waiters(entry.pointer(), after) },
            Resolved::BeforeUs => unreachable!("only a running task is resolved by another"),
        }
        Unrun {
            work: Work::Entry(Some(entry)),
        }
    }

    /// Runs the closure on this thread and drops what it returns. `Err`: it panicked, with this payload.
    pub fn run(mut self) -> Result<(), Box<dyn Any + Send>> {
        match &mut self.work {
            Work::Closure { slot, .. } => catch_unwind(AssertUnwindSafe(|| slot.run())),
            Work::Entry(entry) => {
                let Some(entry) = entry.take() else { return Ok(()) };
                // SAFETY: claimed by whoever made this, and the closure's one use.
                let end = unsafe { entry.run() };
                let result = match end {
                    // SAFETY: the outcome was fixed before the run, so the payload is the runner's (rule 3).
                    End::Panicked => Err(unsafe { Header::take_panic(entry.pointer()) }),
                    _ => {
                        // SAFETY: as above.
                        unsafe { entry.drop_result(end) };
                        Ok(())
                    }
                };
                entry.let_go();
                result
            }
        }
    }

    /// The name it was submitted with.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.work {
            Work::Entry(Some(entry)) => entry.header().side()?.name.as_deref(),
            Work::Closure { .. } | Work::Entry(None) => None,
        }
    }

    /// Unique in the process; the same as its handle's reference says.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.info().id
    }

    pub(crate) fn info(&self) -> TaskInfo<'_> {
        match &self.work {
            Work::Entry(Some(entry)) => entry.header().info(),
            Work::Closure { slot, id } => TaskInfo {
                id: *id,
                name: None,
                type_name: slot.label(),
                priority: slot.class().priority(),
            },
            Work::Entry(None) => unreachable!("an entry is taken out of its Unrun by what consumes that"),
        }
    }
}

impl Drop for Unrun {
    fn drop(&mut self) {
        if let Work::Entry(entry) = &mut self.work
            && let Some(entry) = entry.take()
        {
            // SAFETY: claimed by whoever made this, and the closure's end.
            unsafe { Header::drop_closure(entry.pointer()) };
            entry.let_go();
        }
    }
}

impl fmt::Debug for Unrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let info = self.info();
        write!(f, "Unrun({}, {})", info.id, info.label())
    }
}
