//! The threads of a pool: how one is started, and who waits for it at the end.
//!
//! How many there are stands in the gate of the queue, in one order with acceptance and close. Here are their join handles.

use super::Engine;
use crate::sync::mutex::{Mutex, Rank};
use crate::sync::{Arc, JoinHandle};
use std::io;

/// How a worker begins: the engine is left of the workers, and is handed this when it is made.
pub(crate) type SpawnWorker = fn(Arc<Engine>) -> io::Result<JoinHandle<()>>;

/// See the module.
pub(crate) struct Threads {
    spawn: SpawnWorker,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    pub(super) fn new(spawn: SpawnWorker) -> Self {
        Threads {
            spawn,
            handles: Mutex::new(Rank::Threads, Vec::new()),
        }
    }

    /// The threads that were started, to be joined. Each is given out once.
    pub(crate) fn take_handles(&self) -> Vec<JoinHandle<()>> {
        std::mem::take(&mut *self.handles.lock())
    }
}

/// Starts a thread whose place the gate has reserved; gives the place back if the system refuses.
pub(crate) fn start_reserved(engine: &Arc<Engine>) -> io::Result<()> {
    match (engine.threads.spawn)(engine.clone()) {
        Ok(handle) => {
            engine.threads.handles.lock().push(handle);
            Ok(())
        }
        Err(error) => {
            engine.queue.tail().gate.threads -= 1;
            engine.try_terminate();
            Err(error)
        }
    }
}
