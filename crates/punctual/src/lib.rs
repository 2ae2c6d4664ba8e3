//! Punctual runs work on threads, on time, in the right order, and shows what it is doing.
//!
//! ```
//! use punctual::{Pool, Queue};
//!
//! let pool = Pool::builder("orders").core_threads(2).queue(Queue::bounded(1_000)).build()?;
//! pool.execute(|| println!("fire and forget"))?;
//! let answer = pool.submit(|| 6 * 7)?;
//! assert_eq!(answer.join()?, 42);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # The nouns
//!
//! - A [`Pool`] owns worker threads and their life. An [`Executor`] is a place to run work: every verb is written there
//!   once, a pool derefs to it, and functions take `&Executor`.
//! - A **task** is a closure plus its options. [`Executor::execute`] forgets it; [`Executor::submit`] gives a
//!   [`TaskHandle`]: join it, `.await` it, cancel it, or drop it and the task goes on. A [`TaskRef`] can do all but take
//!   the value.
//! - A [`Queue`] is the waiting room, bounded or not. What does not fit comes back in [`Rejected`], closure and all.
//! - A [`Clock`] is where time comes from; a [`ManualClock`] is moved by a test.
//!
//! # What is promised
//!
//! **Nothing is lost.** A task is accepted or comes back; an accepted one has exactly one end ([`Stats`] counts them), and
//! acceptance and shutdown meet at one point. **Every handle resolves**, also those of tasks that were cancelled, or taken
//! out by [`Pool::stop`]. **A failure stays in its task**: the worker lives, and a panic nobody reads goes to
//! [`PoolBuilder::on_failure`]. **First in, first out**: if one submit returned before another began, it is taken first,
//! whoever the submitters are. **No polling**: idle workers are parked.
//!
//! # Cancelling
//!
//! ```
//! use punctual::{Cancel, Pool, task};
//! use std::time::Duration;
//!
//! let pool = Pool::fixed(1)?;
//! let (tell, told) = std::sync::mpsc::channel();
//! let running = pool.submit(move || {
//!     tell.send(()).unwrap();
//!     task::sleep(Duration::from_secs(3600)) // ends early when the task is asked to stop
//! })?;
//! let waiting = pool.submit(|| unreachable!("it never starts"))?;
//! told.recv()?;
//! assert_eq!(waiting.cancel(), Cancel::Removed);
//! assert_eq!(running.cancel(), Cancel::Signalled);
//! assert!(running.join().unwrap_err().is_cancelled());
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # Closing
//!
//! | verb | accepts more | waiting tasks | running tasks | returns |
//! |---|---|---|---|---|
//! | [`Pool::shutdown`] | no | run | run on | at once |
//! | [`Pool::close`], or dropping the last owner | no | run | run on | when all have ended |
//! | [`Pool::close_timeout`] | no | run; dropped after the limit | asked to stop after the limit | at the limit at the latest |
//! | [`Pool::stop`] | no | given back | asked to stop | at once |
//! | [`Pool::drain`] | yes | given back | run on | at once |
//!
//! From inside one of its own tasks a pool can be closed too: `close` shuts down and returns.
//!
//! # Tests without sleeping
//!
//! ```
//! use punctual::{Clock, Pool, task};
//! use std::time::Duration;
//!
//! let clock = Clock::manual();
//! let pool = Pool::builder("test").core_threads(2).clock(&clock).build()?;
//! let slow = pool.submit(|| task::sleep(Duration::from_secs(60)).map(|()| "a minute later"))?;
//! clock.advance(Duration::from_secs(59));
//! assert!(!slow.is_finished());
//! clock.advance(Duration::from_secs(1));
//! assert_eq!(slow.join()?, Ok("a minute later"));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # What it does not do
//!
//! It does not kill threads: a task that ignores its token runs to its end. A panic while unwinding, a stack overflow and
//! an allocation failure abort the process, as everywhere in Rust. Memory a task allocates is not counted.

mod error;
mod executor;
mod handle;
#[cfg(all(test, loom))]
mod models;
mod observe;
mod pool;
mod queue;
#[cfg(all(test, shuttle))]
mod scenarios;
mod sync;
mod time;
mod worker;

pub mod task;

pub use error::{AnyError, ConfigError, JoinError, Reason, Rejected, Timeout};
pub use executor::{Executor, TaskBuilder, WeakExecutor};
pub use handle::{Cancel, Group, Scope, ScopedHandle, Status, TaskHandle, TaskRef, Unrun};
pub use observe::{Histogram, LevelStats, RejectCounts, Stats, StopCounts};
pub use pool::{
    Answer, CloseReport, DEFAULT_QUEUE_CAPACITY, Growth, MAX_THREADS, OnDrop, Pool, PoolBuilder, Refusal,
    Reject, Size, State,
};
pub use queue::{Capacity, Queue};
pub use task::{Outcome, Priority, TaskInfo};
pub use time::{Clock, ManualClock};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
