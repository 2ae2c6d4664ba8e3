//! The threads of a pool: how one is started, and who waits for it at the end.
//!
//! How many there are stands in the gate of the queue, in one order with acceptance and close. Here are their join handles.

use super::Engine;
use crate::base::errors::ConfigError;
use crate::base::settings::{KeepAlive, Size};
use crate::sync::mutex::{Mutex, Rank};
use crate::sync::unmodelled::{AtomicBool, Relaxed};
use crate::sync::{Arc, JoinHandle};
use std::io;

/// How a worker begins: the engine is left of the workers, and is handed this when it is made.
pub(crate) type SpawnWorker = fn(Arc<Engine>) -> io::Result<JoinHandle<()>>;

/// See the module.
pub(crate) struct Threads {
    spawn: SpawnWorker,
    pub(crate) keep_alive: KeepAlive,
    /// There are more threads than the largest size. A hint: the gate decides who leaves.
    pub(crate) has_surplus: AtomicBool,
    handles: Mutex<Vec<JoinHandle<()>>>,
}

impl Threads {
    pub(super) fn new(spawn: SpawnWorker, keep_alive: KeepAlive) -> Self {
        Threads {
            spawn,
            keep_alive,
            has_surplus: AtomicBool::new(false),
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
            engine.queue.tail().gate.start_failed();
            engine.try_terminate();
            Err(error)
        }
    }
}

/// Starts threads up to the core size, at most so many. Answers how many.
pub(crate) fn start_core(engine: &Arc<Engine>, at_most: usize) -> usize {
    (0..at_most)
        .take_while(|_| {
            let is_reserved = engine.queue.tail().gate.reserve_core();
            is_reserved && start_reserved(engine).is_ok()
        })
        .count()
}

/// Changes the sizes. Threads beyond the new largest size leave: idle ones now, the others after their task. A raised core size starts
/// threads for the tasks that wait.
///
/// # Errors
/// If the sizes do not go together; then nothing is changed.
pub(crate) fn resize(engine: &Arc<Engine>, core: usize, max: usize) -> Result<(), ConfigError> {
    {
        let mut tail = engine.queue.tail();
        Size {
            core,
            max,
            ..tail.gate.size
        }
        .check()?;
        tail.gate.resize(core, max);
        engine.threads.has_surplus.store(tail.gate.threads > max, Relaxed);
    }
    engine.idle.wake_all();
    start_core(engine, engine.queue.len());
    Ok(())
}
