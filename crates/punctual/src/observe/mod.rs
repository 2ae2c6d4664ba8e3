//! What a pool did, as plain data.
//!
//! In: counters that each worker writes for itself, and sampled times. Out: a [`Stats`] snapshot that may be old but
//! never contradicts itself. Nothing here acts on a pool.

mod advice;
pub(crate) mod counters;
mod explain;
mod histogram;
pub(crate) mod split;
mod stats;

pub use advice::{Advice, Lint};
pub use explain::Explanation;
pub use histogram::Histogram;
pub use stats::{LevelStats, RejectCounts, Stats, StopCounts, ViewStats};

pub(crate) use explain::Place;
pub(crate) use histogram::Recorder;
