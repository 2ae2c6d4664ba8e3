//! What must happen at its time whatever the workers do: expiries, limits on running tasks, late ones; and the spare thread
//! that sees to it.

/// Waiting tasks that end at their time.
mod expiring;
/// The spare thread that keeps the clock.
mod keeping;
/// Due tasks that cannot start.
mod late;
/// Running tasks that take too long.
mod limiting;

use crate::support::until;
use punctual::{Clock, ManualClock, Pool, PoolBuilder, Queue, TaskHandle, task};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);
const NANO: Duration = Duration::from_nanos(1);

fn builder(threads: usize) -> (PoolBuilder, ManualClock) {
    let clock = Clock::manual();
    let builder = Pool::builder("watched").core_threads(threads).clock(&clock);
    (builder.queue(Queue::unbounded()), clock)
}

fn pool(threads: usize) -> (Pool, ManualClock) {
    let (builder, clock) = builder(threads);
    (builder.build().expect("valid settings"), clock)
}

/// Keeps one worker of a pool with a manual clock at work until it is dropped. It sleeps inside the library, so that the
/// clock can be advanced meanwhile.
struct Stuck(TaskHandle<bool>);

fn stick(pool: &Pool) -> Stuck {
    stick_for(pool, Duration::MAX)
}

fn stick_for(pool: &Pool, time: Duration) -> Stuck {
    let active = pool.stats().active;
    let stuck = pool.submit(move || task::sleep(time).is_ok()).expect("room");
    until("it runs", || pool.stats().active == active + 1);
    Stuck(stuck)
}

impl Drop for Stuck {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// What hooks were told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn tell(&self, text: String) {
        self.0.lock().expect("nobody panics here").push(text);
    }

    fn all(&self) -> Vec<String> {
        self.0.lock().expect("nobody panics here").clone()
    }
}
