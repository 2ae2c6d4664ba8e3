//! What several modules need: a worker held at a gate, and limits that are generous because machines are not.

use punctual::{Pool, Queue};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A real-time limit that only a hang exceeds.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// Holds one worker inside a task until dropped.
pub(crate) struct Held {
    _open: Sender<()>,
}

/// Submits a task that blocks its worker, and returns once it runs.
pub(crate) fn hold(pool: &Pool) -> Held {
    let (open, gate) = channel::<()>();
    let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
    pool.execute(move || {
        begun.send(()).expect("the test waits for this");
        // An error is the signal: the gate's owner is gone.
        let _ = gate.recv();
    })
    .expect("a pool with room");
    has_begun.recv().expect("the task runs");
    Held { _open: open }
}

/// One worker, unbounded queue.
pub(crate) fn single() -> Pool {
    Pool::builder("single").core_threads(1).queue(Queue::unbounded()).build().expect("valid settings")
}
