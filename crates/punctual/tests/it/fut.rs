//! Handles, seen from outside: one outcome, told to everybody who waits, and a value taken once (`FUT-..`).
//!
//! Where a test speaks of time, or of threads that are blocked, it uses a manual clock: see the note in `life`.

/// Who may cancel what, when, and what that does: FUT-04 to FUT-08, FUT-14.
mod cancelling;
/// Values and failures: FUT-01 to FUT-03, FUT-13, FUT-17, FUT-19, FUT-20.
mod outcomes;
/// Waiting with and without a limit, and being called away from it: FUT-08 to FUT-11.
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};

/// A waker that counts how often it was called.
#[derive(Default)]
struct Calls(AtomicUsize);

impl Wake for Calls {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn counting_waker() -> (Waker, Arc<Calls>) {
    let calls = Arc::new(Calls::default());
    (Waker::from(calls.clone()), calls)
}
