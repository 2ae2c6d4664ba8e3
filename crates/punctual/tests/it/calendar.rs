//! Work by the wall clock: `at`, `once_at`, cron, while somebody puts that clock forward and back. Never early, never twice,
//! and noticed within 30 seconds.

/// Tasks at an instant.
mod appointing;
/// What else there is in a pool that goes by the wall.
mod around;
/// Cron schedules over jumps.
#[cfg(feature = "cron")]
mod jumping;

use punctual::{Clock, ManualClock, Pool, Schedule, ScheduleHandle, TaskHandle};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
const NANO: Duration = Duration::from_nanos(1);
const HOUR: Duration = Duration::from_secs(3_600);
/// A clock that was put is noticed by then.
const NOTICED: Duration = Duration::from_secs(30);

/// A full hour in 2027.
fn start() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn pool(threads: usize) -> (Pool, ManualClock) {
    pool_from(start(), threads)
}

/// A pool whose wall clock shows `begin`.
fn pool_from(begin: SystemTime, threads: usize) -> (Pool, ManualClock) {
    let clock = Clock::manual_at(begin);
    let pool = Pool::builder("calendar").core_threads(threads).clock(&clock);
    (pool.build().expect("valid settings"), clock)
}

/// Notes what the wall shows whenever it is called.
#[derive(Clone)]
struct Log {
    clock: ManualClock,
    seen: Arc<Mutex<Vec<SystemTime>>>,
}

impl Log {
    fn of(clock: &ManualClock) -> Self {
        Log {
            clock: clock.clone(),
            seen: Arc::default(),
        }
    }

    fn note(&self) {
        self.seen.lock().unwrap().push(self.clock.now());
    }

    fn all(&self) -> Vec<SystemTime> {
        self.seen.lock().unwrap().clone()
    }

    fn len(&self) -> usize {
        self.seen.lock().unwrap().len()
    }

    /// A task that notes.
    fn task(&self) -> impl FnOnce() + Send + 'static + use<> {
        let log = self.clone();
        move || log.note()
    }

    /// A schedule whose runs note.
    fn scheduled(&self, pool: &Pool, schedule: Schedule) -> ScheduleHandle {
        let log = self.clone();
        pool.schedule(schedule, move |_| log.note()).unwrap()
    }

    /// A task and a schedule that note at that instant.
    fn both(&self, pool: &Pool, when: SystemTime) -> (TaskHandle<()>, ScheduleHandle) {
        let task = pool.at(when, self.task()).unwrap();
        (task, self.scheduled(pool, Schedule::once_at(when)))
    }
}

/// A pool with one thread, its clock, and what is noted in it.
fn noting() -> (Pool, ManualClock, Log) {
    let (pool, clock) = pool(1);
    let log = Log::of(&clock);
    (pool, clock, log)
}
