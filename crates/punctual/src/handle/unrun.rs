//! [`Unrun`]: a task that did not run, with its closure.
//!
//! In: a slot or a claimed entry that `stop` or `drain` took out. Out: run here, or dropped. Its handle, if it has
//! one, was resolved as cancelled when it was taken out; what the closure returns now is dropped.

#![allow(unsafe_code)]

use crate::task::block::{Entry, Header};
use crate::task::record::Slot;
use crate::task::side::next_id;
use crate::task::state::{End, Resolved};
use crate::task::{Priority, TaskInfo};
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
    id: u64,
}

enum Work {
    Closure(Slot),
    /// Claimed, with the closure still in the block; `None` once it is gone.
    Entry(Option<Entry>),
}

impl Unrun {
    pub(crate) fn closure(slot: Slot) -> Self {
        Unrun {
            work: Work::Closure(slot),
            id: next_id(),
        }
    }

    /// The entry was claimed by the caller; resolves its handle.
    pub(crate) fn entry(entry: Entry) -> Self {
        match entry.header().state.resolve(End::Returned, false) {
            // SAFETY: the entry is a share.
            Resolved::Fixed(after) => unsafe { Header::wake_waiters(entry.pointer(), after) },
            Resolved::BeforeUs => unreachable!("only a running task is resolved by another"),
        }
        let id = entry.header().side_or_make().id;
        Unrun {
            work: Work::Entry(Some(entry)),
            id,
        }
    }

    /// Runs the closure on this thread and drops what it returns. `Err`: it panicked, with this payload.
    pub fn run(mut self) -> Result<(), Box<dyn Any + Send>> {
        match &mut self.work {
            Work::Closure(slot) => catch_unwind(AssertUnwindSafe(|| slot.run())),
            Work::Entry(entry) => {
                let Some(entry) = entry.take() else { return Ok(()) };
                // SAFETY: claimed by whoever made this, and the closure's one use.
                let end = unsafe { entry.run() };
                let result = match end {
                    // SAFETY: the outcome was fixed before the run, so the payload is the runner's (rule 3).
                    End::Panicked => Err(unsafe { entry.header().take_panic() }),
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
        self.info_parts().0
    }

    /// Unique in the process; the same as its handle's reference says.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn info(&self) -> TaskInfo<'_> {
        let (name, type_name) = self.info_parts();
        TaskInfo {
            id: self.id,
            name,
            type_name,
            priority: Priority::NORMAL,
        }
    }

    fn info_parts(&self) -> (Option<&str>, &'static str) {
        match &self.work {
            Work::Closure(slot) => (None, slot.label()),
            Work::Entry(Some(entry)) => (
                entry.header().side().and_then(|side| side.name.as_deref()),
                entry.header().type_name(),
            ),
            Work::Entry(None) => (None, "nothing"),
        }
    }
}

impl Drop for Unrun {
    fn drop(&mut self) {
        if let Work::Entry(entry) = &mut self.work
            && let Some(entry) = entry.take()
        {
            // SAFETY: claimed by whoever made this, and the closure's end.
            unsafe { entry.header().drop_closure() };
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
