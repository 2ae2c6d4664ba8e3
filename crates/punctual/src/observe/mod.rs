//! What a pool did, as plain data.
//!
//! In: counters that each worker writes for itself, and sampled times. Out: a [`Stats`] snapshot that may be old but
//! never contradicts itself. Nothing here acts on a pool.

mod advice;
pub(crate) mod cost;
pub(crate) mod counters;
mod dump;
mod event;
mod explain;
pub(crate) mod figures;
pub(crate) mod flight;
mod histogram;
pub(crate) mod json;
pub(crate) mod lately;
#[cfg(any(feature = "prometheus", feature = "metrics"))]
pub(crate) mod meter;
pub(crate) mod named;
pub(crate) mod split;
mod stats;
pub(crate) mod unbroken;

pub use advice::{Advice, Lint};
pub use cost::Cost;
pub use dump::{Dump, DumpedSchedule, DumpedTask, DumpedWorker, RejectedTask};
pub use event::{Ending, Event, EventKind, Recent};
pub use explain::Explanation;
pub use histogram::Histogram;
pub use named::TaskTimes;
pub use stats::{LaneCounts, LevelStats, RejectCounts, RunCounts, StartCounts, Stats, StopCounts, ViewStats};

pub(crate) use dump::site_in_words;
pub(crate) use explain::Place;
pub(crate) use figures::{Figure, figures};
pub(crate) use histogram::Recorder;
