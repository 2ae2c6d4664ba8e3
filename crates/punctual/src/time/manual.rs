//! [`ManualClock`]: time that moves when a test says so, and waits for the work it causes.
//!
//! In: `advance(d)`. Out: every deadline on the way has passed in order, and after each one the clock has waited
//! until no task of any attached pool can still run. A thread waiting on this clock is an *entry*: its word, what
//! makes it ready, its deadline, and the pool whose worker it is. A pool is quiet when each of its workers sits in an
//! entry that is neither ready nor due, parked or in the middle of a task. Whoever becomes an entry, or leaves, tells
//! the clock ([`Manual::hint`]); nothing polls.

#![allow(unsafe_code)]

use super::clock::{Clock, Kind, deadline_after};
use super::wait::{Place, Wait, Waked, spin};
use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::{Acquire, Release};
use crate::sync::wait::WordRef;
use crate::sync::{Arc, Lock, WaitWord, Weak, is_multi_core};
use punctual_timer::Tick;
use std::fmt;
use std::time::{Duration, Instant, SystemTime};

/// How long `advance` waits, in real time, for a task that is blocked on something the clock knows nothing of.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long it looks on before it sleeps: a woken worker needs about ten microseconds to run a short task.
const SPIN: Duration = Duration::from_micros(30);

/// The first tick: 0 means "not noted" where arrivals are kept.
const BIRTH: Tick = 1;

/// A pool as a manual clock sees it.
pub(crate) trait Attached: Send + Sync {
    /// Tells one pool from another in entries.
    fn identity(&self) -> usize;
    /// Workers, whatever they do; and whoever is about to wake one or to end the pool.
    fn hands(&self) -> usize;
    /// The names of the tasks that run now, for the panic message of `advance`.
    fn running(&self) -> Vec<String>;
}

struct Entry {
    number: u64,
    word: WordRef,
    mask: u32,
    expected: u32,
    interrupt: Option<crate::task::Token>,
    deadline: Option<Tick>,
    place: Place,
    due: bool,
}

impl Entry {
    /// Whether the waiting thread still has something to do before it can be called asleep.
    fn is_stirring(&self) -> bool {
        self.due
            || self.word.load() & self.mask != self.expected
            || self
                .interrupt
                .as_ref()
                .is_some_and(crate::task::Token::is_cancelled)
    }
}

#[derive(Default)]
struct Book {
    entries: Vec<Entry>,
    pools: Vec<Weak<dyn Attached>>,
    next_number: u64,
}

/// Where the wall was put, and how far the clock had been moved then: it reads the one, and what has passed since the other.
#[derive(Clone, Copy)]
struct Put {
    to: SystemTime,
    at: Duration,
}

/// What a manual [`Clock`] and its [`ManualClock`] share.
pub(super) struct Manual {
    now: AtomicU64,
    wall: Lock<Put>,
    book: Lock<Book>,
    /// Counts the moments at which some pool may have become quiet.
    moments: WaitWord,
    /// One advance at a time; a second one waits here and then adds its own step.
    driving: Lock<()>,
}

impl Manual {
    pub(super) fn tick(&self) -> Tick {
        self.now.load(Acquire)
    }

    pub(super) fn wall(&self) -> SystemTime {
        let put = *self.wall.lock();
        let since = self.passed().saturating_sub(put.at);
        // At the end of what the system can tell it stands still.
        put.to.checked_add(since).unwrap_or(put.to)
    }

    /// How far the clock has been moved.
    pub(super) fn passed(&self) -> Duration {
        Duration::from_nanos(self.tick() - BIRTH)
    }

    /// Something stopped running: whoever advances should look again.
    fn hint(&self) {
        self.moments.0.fetch_add(1, Release);
        self.moments.wake_all();
    }

    pub(super) fn wait(&self, wait: &Wait<'_>, place: Place) -> Waked {
        let number = {
            let mut book = self.book.lock();
            if wait.deadline.is_some_and(|deadline| deadline <= self.tick()) {
                return if wait.is_ready(wait.word.load()) {
                    Waked::Ready
                } else {
                    Waked::TimedOut
                };
            }
            let number = book.next_number;
            book.next_number += 1;
            book.entries.push(Entry {
                number,
                // SAFETY: entries are read under the book's lock, and this function takes its own out, under that
                // lock, on every way back to the caller that lent the word.
                word: unsafe { WordRef::new(wait.word) },
                mask: wait.mask,
                expected: wait.expected,
                interrupt: wait.interrupt.cloned(),
                deadline: wait.deadline,
                place,
                due: false,
            });
            number
        };
        self.hint();
        loop {
            let seen = wait.word.load();
            let ready = wait.is_ready(seen);
            let interrupted = wait.is_interrupted();
            {
                let mut book = self.book.lock();
                let index = book.entries.iter().position(|entry| entry.number == number);
                let due = index.is_some_and(|index| book.entries[index].due);
                if ready || interrupted || due {
                    if let Some(index) = index {
                        book.entries.swap_remove(index);
                    }
                    return match (ready, interrupted) {
                        (true, _) => Waked::Ready,
                        (_, true) => Waked::Interrupted,
                        _ => Waked::TimedOut,
                    };
                }
            }
            wait.word.sleep(seen, None);
        }
    }

    /// Sleeps until every attached pool is quiet.
    ///
    /// # Panics
    /// After [`PATIENCE`] of real time, naming what still runs.
    fn await_quiet(&self) {
        let begin = Instant::now();
        loop {
            let moment = self.moments.load();
            let loud = self.loud_pools();
            if loud.is_empty() {
                return;
            }
            // Mostly a task is about to end, and sleeping costs more than that takes.
            if is_multi_core() && spin(SPIN, || self.moments.load() != moment) {
                continue;
            }
            let Some(left) = PATIENCE.checked_sub(begin.elapsed()) else {
                let running: Vec<String> = loud.iter().flat_map(|pool| pool.running()).collect();
                panic!(
                    "ManualClock::advance waited {PATIENCE:?} of real time for tasks that neither end nor wait \
                     inside the library; still running: [{}]",
                    running.join(", ")
                );
            };
            self.moments.sleep(moment, Some(left));
        }
    }

    /// The pools in which something can still run.
    fn loud_pools(&self) -> Vec<Arc<dyn Attached>> {
        let mut book = self.book.lock();
        book.pools.retain(|pool| pool.strong_count() > 0);
        // Dropped after the lock: the last owner of an engine drops its hooks, which are user code.
        let pools: Vec<_> = book.pools.iter().filter_map(Weak::upgrade).collect();
        // Read before and after the entries: a task that resolves a sleeper and then sleeps itself looks asleep to the
        // second reading, one that starts another and then sleeps looks asleep to the first.
        let before: Vec<usize> = pools.iter().map(|pool| pool.hands()).collect();
        let asleep: Vec<usize> = pools
            .iter()
            .map(|pool| {
                let places = [Place::Task(pool.identity()), Place::Parked(pool.identity())];
                let here = |entry: &&Entry| places.contains(&entry.place);
                book.entries
                    .iter()
                    .filter(here)
                    .filter(|entry| !entry.is_stirring())
                    .count()
            })
            .collect();
        let is_loud = |index: usize| before[index].max(pools[index].hands()) > asleep[index];
        let loud = (0..pools.len())
            .filter(|index| is_loud(*index))
            .map(|index| pools[index].clone())
            .collect();
        drop(book);
        loud
    }

    /// Moves to the earliest deadline not after `end`, and wakes all that are due there; false if there is none, and then
    /// the clock stands at `end`. Under the lock: whoever begins to wait after this sees the new time.
    fn step(&self, end: Tick) -> bool {
        let mut book = self.book.lock();
        let waiting = book.entries.iter().filter(|entry| !entry.due);
        let Some(next) = waiting
            .filter_map(|entry| entry.deadline)
            .min()
            .filter(|next| *next <= end)
        else {
            self.now.store(end.max(self.tick()), Release);
            return false;
        };
        self.now.store(next.max(self.tick()), Release);
        for entry in &mut book.entries {
            if !entry.due && entry.deadline.is_some_and(|deadline| deadline <= next) {
                entry.due = true;
                entry.word.nudge();
            }
        }
        true
    }
}

/// The hand that moves a manual [`Clock`]; pass it to [`PoolBuilder::clock`](crate::PoolBuilder::clock).
///
/// Everything such a pool measures, and everybody who waits on its handles, goes by this clock.
///
/// ```
/// use punctual::Clock;
/// use std::time::{Duration, SystemTime};
///
/// let clock = Clock::manual_at(SystemTime::UNIX_EPOCH);
/// clock.advance(Duration::from_secs(86_400));
/// assert_eq!(clock.now(), SystemTime::UNIX_EPOCH + Duration::from_secs(86_400));
/// ```
#[derive(Clone)]
pub struct ManualClock {
    pub(super) manual: Arc<Manual>,
}

impl ManualClock {
    pub(super) fn starting(start: SystemTime) -> Self {
        ManualClock {
            manual: Arc::new(Manual {
                now: AtomicU64::new(BIRTH),
                wall: Lock::new(Put {
                    to: start,
                    at: Duration::ZERO,
                }),
                book: Lock::new(Book::default()),
                moments: WaitWord::new(0),
                driving: Lock::new(()),
            }),
        }
    }

    /// Moves time by `d`: steps to each deadline on the way in order, and after each waits until no task of any
    /// attached pool is runnable or running. A task that waits inside the library (a sleep, any join or wait) does
    /// not count as running. Concurrent calls add up.
    ///
    /// # Panics
    /// When called from inside a task, and after ten seconds of real time in which a task neither ended nor waited
    /// inside the library; the message names the tasks.
    pub fn advance(&self, d: Duration) {
        assert!(
            !crate::task::is_inside(),
            "ManualClock::advance was called from inside a task: it waits for tasks and would wait for itself; \
             call it from the test's own thread"
        );
        let _alone = self.manual.driving.lock();
        let end = deadline_after(self.manual.tick(), d).unwrap_or(Tick::MAX);
        loop {
            self.manual.await_quiet();
            if !self.manual.step(end) {
                return;
            }
        }
    }

    /// The time on this clock's wall.
    #[must_use]
    pub fn now(&self) -> SystemTime {
        self.manual.wall()
    }

    /// Moves the wall clock only, as a clock step or a suspended machine does; delays do not notice.
    pub fn jump_wall(&self, to: SystemTime) {
        let mut wall = self.manual.wall.lock();
        let at = self.manual.passed();
        *wall = Put { to, at };
    }
}

impl Clock {
    /// Makes a manual clock wait for this pool's tasks.
    pub(crate) fn attach(&self, pool: Weak<dyn Attached>) {
        if let Kind::Manual(manual) = &self.kind {
            manual.book.lock().pools.push(pool);
        }
    }

    /// Tells a manual clock that a worker parked or left.
    #[inline]
    pub(crate) fn hint(&self) {
        if let Kind::Manual(manual) = &self.kind {
            manual.hint();
        }
    }
}

impl From<&ManualClock> for Clock {
    fn from(manual: &ManualClock) -> Clock {
        Clock {
            kind: Kind::Manual(manual.manual.clone()),
        }
    }
}

impl From<ManualClock> for Clock {
    fn from(manual: ManualClock) -> Clock {
        Clock::from(&manual)
    }
}

impl fmt::Debug for ManualClock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ManualClock(+{:?})", self.manual.passed())
    }
}
