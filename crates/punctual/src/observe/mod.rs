//! What a pool did, as plain data.
//!
//! In: counters that each worker writes for itself, and sampled times. Out: a [`Stats`] snapshot that may be old but
//! never contradicts itself. Nothing here acts on a pool.

mod advice;
pub(crate) mod counters;
mod dump;
mod event;
mod explain;
pub(crate) mod flight;
mod histogram;
pub(crate) mod json;
#[cfg(any(feature = "prometheus", feature = "metrics"))]
pub(crate) mod meter;
pub(crate) mod split;
mod stats;

pub use advice::{Advice, Lint};
pub use dump::{Dump, DumpedSchedule, DumpedTask, DumpedWorker, RejectedTask};
pub use event::{Ending, Event, EventKind, Recent};
pub use explain::Explanation;
pub use histogram::Histogram;
pub use stats::{LevelStats, RejectCounts, Stats, StopCounts, ViewStats};

pub(crate) use explain::Place;
pub(crate) use histogram::Recorder;
