//! Views: limits, names, keys and lanes over the same threads.

mod cancelling;
mod counting;
mod ending;
mod explaining;
mod foretelling;
mod handing;
mod joining;
mod keys;
mod limiting;
mod ordering;
mod refusing;
mod timing;

use punctual::{Executor, Pool, Queue};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// So many workers, an unbounded queue.
fn pool_of(threads: usize) -> Pool {
    Pool::builder("p")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .build()
        .expect("valid settings")
}

/// Holds a slot of a view until dropped.
struct Held(#[allow(dead_code)] Sender<()>);

/// Submits a task that blocks, and returns once it runs.
fn hold_in(view: &Executor) -> Held {
    let (open, gate) = channel::<()>();
    let (begun, has_begun): (Sender<()>, Receiver<()>) = channel();
    view.execute(move || {
        begun.send(()).expect("the test waits for this");
        let _ = gate.recv();
    })
    .expect("a view with room");
    has_begun.recv().expect("the task runs");
    Held(open)
}

/// How many are inside at once, and the most there ever were.
#[derive(Default)]
struct Meter {
    inside: AtomicUsize,
    most: AtomicUsize,
}

impl Meter {
    fn pass<R>(&self, f: impl FnOnce() -> R) -> R {
        let inside = self.inside.fetch_add(1, SeqCst) + 1;
        self.most.fetch_max(inside, SeqCst);
        let result = f();
        self.inside.fetch_sub(1, SeqCst);
        result
    }

    fn most(&self) -> usize {
        self.most.load(SeqCst)
    }
}

/// Where tasks write down that they ran.
#[derive(Clone, Default)]
struct Notes(Arc<Mutex<Vec<usize>>>);

impl Notes {
    fn note(&self, number: usize) {
        self.0.lock().expect("nobody panics here").push(number);
    }

    /// A task that writes this number.
    fn writes(&self, number: usize) -> impl FnOnce() + Send + use<> {
        let notes = self.clone();
        move || notes.note(number)
    }

    fn read(&self) -> Vec<usize> {
        self.0.lock().expect("nobody panics here").clone()
    }
}
