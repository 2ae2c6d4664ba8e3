//! Punctual's time. The same pool as in the other scenarios; delayed tasks have handles like all others.

use std::time::{Duration, Instant, SystemTime};

use punctual::{Cancel, Schedule, TaskHandle};

use super::{Firing, Insertion, Repeating, until};
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

impl Repeating for &'static Ours {
    fn every<F: FnMut(u64) + Send + 'static>(&mut self, first: Instant, period: Duration, mut tick: F) {
        // Its default is to make up for ticks that could not start by one run, and to say how many they were.
        let when = Schedule::every(period).starting_in(until(first));
        let started = self.0.schedule(when, move |run| tick(run.missed));
        drop(started.expect("the pool is open"));
    }
}

impl Ours {
    /// `task` is to run at an instant on the wall, whatever becomes of the clock until then.
    pub(crate) fn at_wall<F: FnOnce() + Send + 'static>(&self, when: SystemTime, task: F) {
        drop(self.0.at(when, task).expect("the pool is open"));
    }
}
