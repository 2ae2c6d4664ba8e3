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

mod error;
mod executor;
mod handle;
mod observe;
mod pool;
mod queue;
#[cfg(all(test, shuttle))]
mod scenarios;
mod sync;
mod time;
mod worker;

pub mod task;

pub use error::{ConfigError, JoinError, Reason, Rejected};
pub use executor::{Executor, TaskBuilder, WeakExecutor};
pub use handle::{Cancel, Status, TaskHandle, TaskRef, Unrun};
pub use observe::{Histogram, LevelStats, RejectCounts, Stats};
pub use pool::{CloseReport, DEFAULT_QUEUE_CAPACITY, MAX_THREADS, OnDrop, Pool, PoolBuilder, Size, State};
pub use queue::{Capacity, Queue};
pub use task::{Outcome, Priority, TaskInfo};
pub use time::{Clock, ManualClock};
