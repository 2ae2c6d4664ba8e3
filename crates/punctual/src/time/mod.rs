//! The clockroom: where time comes from, and the one way to wait for it.
//!
//! In: a word to wait on and a deadline. Out: which of the two came first. Everything the engine measures or waits
//! for goes through a [`Clock`]; nothing else in the crate reads the system's time. Not here: who waits, and why.

/// Whether times are measured. Not in a build with `--cfg punctual_no_statistics`, against which the bench measures what they
/// cost; what is counted there is what a pool needs for itself.
pub(crate) const MEASURES: bool = !cfg!(punctual_no_statistics);

mod clock;
#[cfg(feature = "cron")]
mod cron;
mod manual;
mod run;
mod schedule;
mod wait;

pub use clock::Clock;
#[cfg(feature = "cron")]
pub use cron::{CronDialect, Fold, Gap};
pub use manual::ManualClock;
pub use run::{Run, RunResult};
pub use schedule::{LastRun, Missed, OnFailure, Overlap, Schedule, ScheduleError};

#[cfg(feature = "cron")]
pub(crate) use clock::off_the_wall;
pub(crate) use clock::{Axis, deadline_after, on_the_wall};
pub(crate) use manual::Attached;
pub(crate) use punctual_timer::{DueTimer, Tick, Timed, TimerKey, TimerQueue};
pub(crate) use schedule::Verdict;
pub(crate) use schedule::cursor::{Cursor, Due, Now};
pub(crate) use wait::{Place, Wait, Waked, spin};
