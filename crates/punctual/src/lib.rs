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
//! - A [`Queue`] is the waiting room: bounded ([`DEFAULT_QUEUE_CAPACITY`] places unless you say otherwise), unbounded, or
//!   without places. What does not fit comes back in [`Rejected`], closure and all.
//! - A [`Schedule`] is when, as a value; a [`Run`] is one firing of it, and a [`ScheduleHandle`] what can be done with it. A
//!   [`Clock`] is where time comes from; a [`ManualClock`] is moved by a test.
//!
//! # What is promised
//!
//! **Nothing is lost.** A task is accepted or comes back; an accepted one has exactly one end ([`Stats`] counts them), and
//! acceptance and shutdown meet at one point. **Every handle resolves**, also those of tasks that were cancelled, or taken
//! out by [`Pool::stop`]. **A failure stays in its task**: the worker lives, and a panic nobody reads goes to
//! [`PoolBuilder::on_failure`]. **First in, first out**: if one submit returned before another began, it is taken first,
//! whoever the submitters are. **Never early**: what has a time runs at it or after it, and equal times run in order. **No
//! polling**: idle workers are parked, and one of them sleeps until the next time comes. **No hidden deadlock**: a join, group or scope inside a task
//! that could never end is an error. **Bounded means bounded**, queue and threads.
//!
//! # Growing and shrinking
//!
//! The first submissions start a thread each, up to `core_threads`. When the queue is full more come, up to `max_threads`, and
//! leave when they were idle for `keep_alive`; with [`Growth::ThreadsFirst`] they come before the queue fills.
//! [`Pool::resize`] changes both sizes of a running pool at once.
//!
//! ```
//! use punctual::{Growth, Pool, Queue};
//!
//! let pool = Pool::builder("crawl")
//!     .core_threads(2)
//!     .max_threads(16)
//!     .growth(Growth::ThreadsFirst)
//!     .queue(Queue::unbounded())
//!     .build()?;
//! let old = pool.resize(4, 8)?;
//! assert_eq!((old.core, old.max), (2, 16));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # When a pool is full
//!
//! The queue holds its capacity, and no further thread may start: [`PoolBuilder::on_full`] decides. The default,
//! [`Reject::Abort`], gives the closure back; others run it on the submitter, drop it, throw out the oldest, wait, or ask a
//! rule of yours. Whatever happens, its handle resolves and it is counted. [`Executor::submit_timeout`] and
//! [`Executor::submit_async`] wait for room under every policy, first come first served. After shutdown every task comes back,
//! whatever the policy. The tables are in `docs/full-queue.md`.
//!
//! ```
//! use punctual::{Pool, Queue, Reject};
//! use std::time::Duration;
//!
//! let pool = Pool::builder("mail").queue(Queue::bounded(100)).on_full(Reject::CallerRuns).build()?;
//! for n in 0..1_000 {
//!     pool.execute(move || drop(n))?; // slows down, loses nothing
//! }
//! let last = pool.submit_timeout(Duration::from_secs(30), || "sent")?;
//! assert_eq!(last.join()?, "sent");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # Waiting inside a task
//!
//! A task may join others of its pool, one deeper than the other: what still waits is run in place, and while it waits for one
//! that runs, a spare thread stands in. Tasks that wait for each other in a circle, of one pool or of several, are told
//! ([`JoinError::is_would_deadlock`]). Not seen are circles that lead through a lock, a channel or a future.
//!
//! ```
//! use punctual::{Executor, JoinError, Pool};
//!
//! fn fib(pool: &Executor, n: u64) -> Result<u64, JoinError> {
//!     if n < 2 {
//!         return Ok(n);
//!     }
//!     let other = pool.clone();
//!     let left = pool.submit(move || fib(&other, n - 1)).expect("room, and open");
//!     Ok(fib(pool, n - 2)? + left.join()??)
//! }
//!
//! let pool = Pool::fixed(1)?;
//! let inside = pool.executor();
//! assert_eq!(pool.submit(move || fib(&inside, 10))?.join()??, 55);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # Threads of their own
//!
//! [`Executor::blocking`] runs what blocks on threads beside the pool's, which keep their parallelism; [`Executor::reserve`] has
//! threads that nobody else uses, however saturated the pool is. Both are part of the pool: it closes, pauses and counts with
//! them. A task that blocks now and then says so with [`task::blocking_section`].
//!
//! ```
//! use punctual::{Pool, task};
//! use std::sync::mpsc::channel;
//!
//! let pool = Pool::builder("web").core_threads(1).build()?;
//! let (tell, told) = channel();
//! let waits = pool.blocking()?.submit(move || told.recv().unwrap())?;
//! pool.execute(move || tell.send(42).unwrap())?;
//! assert_eq!(waits.join()?, 42);
//! assert_eq!(pool.reserve(2)?.submit(|| "urgent")?.join()?, "urgent");
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # Many at once
//!
//! [`Executor::scope`] runs closures that borrow, and returns when all of them are gone. [`Executor::all`] gives every outcome
//! in order, [`Executor::any`] the first success, [`Executor::group`] outcomes as they come.
//!
//! ```
//! let pool = punctual::Pool::fixed(2)?;
//! let mut parts = [1, 2, 3, 4];
//! pool.scope(|s| {
//!     for part in &mut parts {
//!         s.execute(move || *part *= 10);
//!     }
//! });
//! assert_eq!(parts, [10, 20, 30, 40]);
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! # By the clock
//!
//! [`Executor::after`] and [`Executor::at`] run a closure once, later, and give the usual handle. [`Executor::schedule`] runs one
//! again and again, as a [`Schedule`] says: at a fixed rate, with a pause, by a trigger, or by the calendar of a place. A run
//! that fails does not end it unless [`Schedule::on_failure`] says so; [`Schedule::overlap`] and [`Schedule::missed`] say what
//! becomes of ticks that could not run in time. Due work goes before the queue. The tables are in `docs/schedules.md`.
//!
//! ```
//! use punctual::{Clock, Pool, Schedule};
//! use std::time::Duration;
//!
//! let clock = Clock::manual(); // leave it out, and the pool goes by the machine's
//! let pool = Pool::builder("cache").clock(&clock).build()?;
//! let tea = pool.after(Duration::from_secs(180), || "ready")?;
//! let flush = pool.schedule(Schedule::every(Duration::from_secs(60)), |_run| Err("disk full"))?;
//! clock.advance(Duration::from_secs(180)); // at 0 s, 60 s, 120 s and 180 s
//! assert_eq!(tea.join()?, "ready");
//! assert_eq!((flush.stats().runs, flush.stats().failures), (4, 4));
//! # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
//! ```
//!
//! [`TaskBuilder::expires_in`] ends a task that waited too long, [`TaskBuilder::time_limit`] fires the token of one that runs too
//! long, [`PoolBuilder::on_slow`] and [`PoolBuilder::on_late`] hear of it: in time, although every worker is stuck.
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
//! From inside one of its own tasks a pool can be closed too: `close` shuts down and returns. What is delayed, and schedules,
//! are cancelled by all of these but `drain`, and counted in the report; [`AtShutdown::Run`] lets a pool stay for them, and
//! [`Pool::stop`] gives delayed tasks back.
//!
//! # Tests without sleeping
//!
//! A [`ManualClock`] drives everything that a pool measures. [`ManualClock::advance`] steps from one due time to the next, and
//! returns when all that it caused has happened.
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
//!
//! # Features
//!
//! - `cron` (default): `Schedule::cron` and time zones, for which it brings in `jiff`.
//! - `prometheus`: `prometheus::render`, the figures of pools as text; no further crate.
//! - `metrics`: `metrics::publish`, the same for the `metrics` facade.
//! - `tracing`: `PoolBuilder::tracing`, a span for each task.

mod error;
mod executor;
mod handle;
mod lane;
mod lanes;
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

pub mod future;
pub mod global;
#[cfg(feature = "metrics")]
pub mod metrics;
#[cfg(feature = "prometheus")]
pub mod prometheus;
pub mod task;

pub use error::{AnyError, ConfigError, JoinError, Reason, Rejected, Timeout};
pub use executor::{Executor, TaskBuilder, WeakExecutor};
pub use handle::{Cancel, Group, Scope, ScopedHandle, Status, TaskHandle, TaskRef, Unrun};
pub use lane::Lane;
pub use lanes::{Lanes, LanesBuilder};
pub use observe::{
    Advice, Cost, Dump, DumpedSchedule, DumpedTask, DumpedWorker, Ending, Event, EventKind, Explanation,
    Histogram, LaneCounts, LevelStats, Lint, Recent, RejectCounts, RejectedTask, RunCounts, StartCounts,
    Stats, StopCounts, TaskTimes, ViewStats,
};
pub use pool::{
    Answer, AtShutdown, CloseReport, Control, DEFAULT_QUEUE_CAPACITY, Growth, Job, MAX_EVENTS, MAX_THREADS,
    OnBlocking, OnDrop, Pool, PoolBuilder, Refusal, RefusedJob, Reject, ResizePreview, RunOutcome,
    RunningTask, ScheduleHandle, ScheduleStats, Size, State, WorkerStats,
};
pub use queue::{Capacity, PriorityQueue, Queue};
pub use task::{Outcome, Priority, TaskInfo};
pub use time::{
    Clock, LastRun, ManualClock, Missed, OnFailure, Overlap, Run, RunResult, Schedule, ScheduleError,
};
#[cfg(feature = "cron")]
pub use time::{CronDialect, Fold, Gap};

/// The README's examples are tests too.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

/// And those of the guide to a full queue.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/full-queue.md")]
struct FullQueue;

/// And those of the guide to work by the clock.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/schedules.md")]
struct Schedules;

/// And those of the guide to choosing.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/which-executor.md")]
struct WhichExecutor;
