//! Inside a task: who am I, have I been asked to stop, sleep.
//!
//! ```
//! use punctual::{Pool, task};
//! use std::time::Duration;
//!
//! let pool = Pool::fixed(1)?;
//! let polite = pool.submit(|| {
//!     let me = task::current().expect("inside a task");
//!     while !me.token().is_cancelled() {
//!         if task::sleep(Duration::from_millis(1)).is_err() {
//!             break; // asked to stop
//!         }
//!     }
//!     "stopped when asked"
//! })?;
//! while pool.stats().active == 0 {
//!     std::thread::yield_now();
//! }
//! drop(pool.stop()); // fires the token of what runs
//! assert_eq!(polite.join()?, "stopped when asked");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # How it is made
//!
//! In: a closure. A fire-and-forget closure becomes a `record`: a header word and the closure itself, moved into the
//! queue. A closure whose result somebody wants becomes a `block`: closure, result, `state` and waker in one recycled
//! piece of memory, with a 16-byte record in the queue that points to it. Out: an end, told to the handle. A task
//! knows no pool and no queue: it knows its `home`, which settles what it left behind.

pub(crate) mod alarm;
pub(crate) mod block;
pub(crate) mod budget;
mod current;
pub(crate) mod decorate;
#[cfg(all(test, loom))]
mod future_models;
pub(crate) mod home;
pub(crate) mod hooks;
mod info;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod parker;
pub(crate) mod record;
pub(crate) mod recycle;
pub(crate) mod run;
pub(crate) mod shown;
pub(crate) mod side;
pub(crate) mod state;
pub(crate) mod tape;
mod token;
pub(crate) mod view;
pub(crate) mod visit;
pub(crate) mod waking;
pub(crate) mod watch;

pub use crate::executor::{blocking_section, current_executor};
pub use current::{CurrentTask, current, sleep};
pub use info::{Outcome, Priority, TaskInfo};
pub use token::{Cancelled, Token};

pub(crate) use current::{Frame, Here, Host, as_watchdog_of, here, is_inside, is_watchdog_of};
pub(crate) use info::panic_text;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What a task is to the pool, from its submission on: how urgent, and whether it waits for a time first.
///
/// ```text
///  | priority 8 bits | 1 bit free | local 1 bit | future 1 bit | levels 1 bit | of a view 1 bit | given 1 bit | kind 2 bits |
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(u16);

impl Class {
    const KIND: u16 = 0b11;
    /// Delayed tasks, and those whose time has come.
    const TIMED: u16 = 1;
    /// Runs of a schedule: accepted when their time has come, not before.
    const REPEATED: u16 = 2;
    /// The submitter named the priority: no other is inherited.
    const GIVEN: u16 = 1 << 2;
    /// Its home is a view.
    const VIEWED: u16 = 1 << 3;
    /// The queue it is for has levels: a hint to take the way in that is made for those.
    const LEVELLED: u16 = 1 << 4;
    /// It is a future.
    const FUTURE: u16 = 1 << 5;
    /// The queue it is for has deques, and it may go to one.
    const LOCAL: u16 = 1 << 6;
    const PRIORITY_SHIFT: u16 = 8;

    /// A task without a time, and without a priority of its own.
    pub(crate) const ROOT: Class = Class((Priority::NORMAL.number() as u16) << Class::PRIORITY_SHIFT);

    /// The same with a priority that the submitter named.
    pub(crate) const fn with_priority(self, priority: Priority) -> Self {
        Class(self.inheriting(priority).0 | Class::GIVEN)
    }

    /// The same with somebody else's priority.
    pub(crate) const fn inheriting(self, priority: Priority) -> Self {
        let rest = self.0 & ((1 << Class::PRIORITY_SHIFT) - 1);
        Class(rest | (priority.number() as u16) << Class::PRIORITY_SHIFT)
    }

    /// The same for a task that waits for its time.
    pub(crate) const fn timed(self) -> Self {
        Class(self.0 & !Class::KIND | Class::TIMED)
    }

    /// The same for a run of a schedule.
    pub(crate) const fn repeated(self) -> Self {
        Class(self.0 & !Class::KIND | Class::REPEATED)
    }

    /// The same for a queue with levels.
    pub(crate) const fn levelled(self) -> Self {
        Class(self.0 | Class::LEVELLED)
    }

    #[inline]
    pub(crate) fn is_levelled(self) -> bool {
        self.0 & Class::LEVELLED != 0
    }

    /// The same for a queue with deques.
    pub(crate) const fn local(self) -> Self {
        Class(self.0 | Class::LOCAL)
    }

    /// The same, but for the shared queue.
    pub(crate) const fn shared(self) -> Self {
        Class(self.0 & !Class::LOCAL)
    }

    /// Whether it may go to a deque.
    #[inline]
    pub(crate) fn is_local(self) -> bool {
        self.0 & Class::LOCAL != 0
    }

    /// Whether its way in is not that of a plain queue.
    #[inline]
    pub(crate) fn is_unusual(self) -> bool {
        self.0 & (Class::LEVELLED | Class::LOCAL) != 0
    }

    /// The same for a task of a view.
    pub(crate) const fn viewed(self) -> Self {
        Class(self.0 | Class::VIEWED)
    }

    /// Whether its block leads to a view.
    #[inline]
    pub(crate) fn is_viewed(self) -> bool {
        self.0 & Class::VIEWED != 0
    }

    /// The same for a future.
    pub(crate) const fn future(self) -> Self {
        Class(self.0 | Class::FUTURE)
    }

    #[inline]
    pub(crate) fn is_future(self) -> bool {
        self.0 & Class::FUTURE != 0
    }

    /// Whether its run is more than a run: slots go back, or it may suspend.
    #[inline]
    pub(crate) fn is_viewed_or_future(self) -> bool {
        self.0 & (Class::VIEWED | Class::FUTURE) != 0
    }

    /// Whether it does not go straight to the queue: it has a time, or is a view's.
    #[inline]
    pub(crate) fn is_apart(self) -> bool {
        self.0 & (Class::KIND | Class::VIEWED) != 0
    }

    /// Whether its tasks wait for a time before they wait for a worker.
    pub(crate) fn is_timed(self) -> bool {
        self.0 & Class::KIND != 0
    }

    /// A delayed task; not a run of a schedule.
    #[inline]
    pub(crate) fn is_delayed(self) -> bool {
        self.0 & Class::KIND == Class::TIMED
    }

    pub(crate) fn is_repeated(self) -> bool {
        self.0 & Class::KIND == Class::REPEATED
    }

    /// Whether the submitter named the priority.
    pub(crate) fn is_given(self) -> bool {
        self.0 & Class::GIVEN != 0
    }

    #[inline]
    pub(crate) fn priority(self) -> Priority {
        Priority::level((self.0 >> Class::PRIORITY_SHIFT) as u8)
    }

    #[inline]
    pub(crate) fn bits(self) -> u16 {
        self.0
    }

    /// What [`Class::bits`] gave.
    #[inline]
    pub(crate) fn of_bits(bits: u16) -> Self {
        Class(bits)
    }
}

/// Runs user code whose panic must go no further (a hook, a waker, somebody's `Drop`). Says whether it panicked.
pub(crate) fn contain(f: impl FnOnce()) -> bool {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(()) => false,
        Err(payload) => {
            discard(payload);
            true
        }
    }
}

/// Drops a panic's payload. The payload's own `Drop` may panic; the payload of *that* is forgotten, because a third
/// one could follow for ever.
pub(crate) fn discard(payload: Box<dyn Any + Send>) {
    if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(second);
    }
}
