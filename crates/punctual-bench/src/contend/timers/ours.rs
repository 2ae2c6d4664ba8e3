//! Punctual's time. The same pool as in the other scenarios; delayed tasks have handles like all others.

use std::time::{Duration, Instant};

use punctual::{Cancel, TaskHandle};

use super::{Firing, Insertion, until};
use crate::contend::Ours;

impl Insertion for &'static Ours {
    type Handle = TaskHandle<()>;

    const TELLS: bool = true;

    fn insert<F: FnOnce() + Send + 'static>(&mut self, delay: Duration, task: F) -> Self::Handle {
        self.0.after(delay, task).expect("the pool is open")
    }

    fn cancel(&mut self, handle: Self::Handle) -> bool {
        handle.cancel() == Cancel::Removed
    }
}

impl Firing for &'static Ours {
    fn arm<B: Fn(u64) + Copy + Send + 'static>(&mut self, at: Instant, index: u64, body: B) {
        let armed = self.0.after(until(at), move || body(index));
        // A dropped handle lets its task go on.
        drop(armed.expect("the pool is open"));
    }
}
