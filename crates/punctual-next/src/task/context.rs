//! What the current thread is: a worker, and of which engine.

use crate::sync::local;
use std::cell::Cell;

local! {
    /// The engine's identity; 0 on a thread that is no worker.
    static WORKER_OF: Cell<usize> = Cell::new(0);
}

/// Marks the calling thread as a worker of this engine, until it ends.
pub(crate) fn become_worker_of(engine: usize) {
    WORKER_OF.with(|of| of.set(engine));
}

/// Whether the calling thread is a worker of this engine.
pub(crate) fn is_worker_of(engine: usize) -> bool {
    WORKER_OF.with(|of| of.get() == engine)
}
