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

pub(crate) mod block;
mod current;
pub(crate) mod decorate;
pub(crate) mod home;
pub(crate) mod hooks;
mod info;
#[cfg(all(test, loom))]
mod models;
pub(crate) mod record;
pub(crate) mod recycle;
pub(crate) mod run;
pub(crate) mod side;
pub(crate) mod state;
mod token;
pub(crate) mod watch;

pub use crate::executor::current_executor;
pub use current::{CurrentTask, current, sleep};
pub use info::{Outcome, Priority, TaskInfo};
pub use token::{Cancelled, Token};

pub(crate) use current::{Frame, Here, Host, here, is_inside};
pub(crate) use info::panic_text;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Which part of a pool a task belongs to. Every task carries one from its submission on; a plain pool has only
/// [`Class::ROOT`], views and levels add theirs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Class(pub(crate) u16);

impl Class {
    pub(crate) const ROOT: Class = Class(0);
    /// Delayed tasks, and those whose time has come.
    pub(crate) const TIMED: Class = Class(1);
    /// Runs of a schedule: accepted when their time has come, not before.
    pub(crate) const REPEATED: Class = Class(2);

    /// Whether its tasks wait for a time before they wait for a worker.
    pub(crate) fn is_timed(self) -> bool {
        matches!(self, Class::TIMED | Class::REPEATED)
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
