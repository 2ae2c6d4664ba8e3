//! [`Unrun`]: a task that a pool gave back.

use crate::task::runnable::HandedOut;
use std::any::Any;
use std::fmt;

/// A task that [`Pool::stop`](crate::Pool::stop) or [`Pool::drain`](crate::Pool::drain) took out before it began. Its handle, if there
/// is one, says that it was cancelled. Dropping this drops the closure.
#[must_use = "the task inside has not run"]
pub struct Unrun {
    task: HandedOut,
}

impl Unrun {
    pub(crate) fn new(task: HandedOut) -> Self {
        Unrun { task }
    }

    /// Runs the closure on the calling thread; its result is dropped.
    ///
    /// # Errors
    /// The payload, if it panicked.
    pub fn run(self) -> Result<(), Box<dyn Any + Send>> {
        self.task.run()
    }
}

impl fmt::Debug for Unrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Unrun")
    }
}
