//! The clockroom: where time comes from, and the one way to wait for it.
//!
//! In: a word to wait on and a deadline. Out: which of the two came first. Everything the engine measures or waits
//! for goes through a [`Clock`]; nothing else in the crate reads the system's time. Not here: who waits, and why.

/// Whether times are measured. Not in a build with `--cfg punctual_no_statistics`, against which the bench measures what they
/// cost; what is counted there is what a pool needs for itself.
pub(crate) const MEASURES: bool = !cfg!(punctual_no_statistics);

mod clock;
mod manual;
mod run;
mod wait;

pub use clock::Clock;
pub use manual::ManualClock;
#[cfg(feature = "cron")]
#[doc(inline)]
pub use punctual_cron::{CronDialect, Fold, Gap};
#[doc(inline)]
pub use punctual_cron::{LastRun, Missed, OnFailure, Overlap, ScheduleError};
pub use run::{Run, RunResult, Schedule};

pub(crate) use clock::deadline_after;
pub(crate) use manual::Attached;
pub(crate) use punctual_cron::engine::{Axis, Due, Now, Plan, ScheduleExt, Verdict, wall_tick};
pub(crate) use punctual_timer::{DueTimer, Tick, Timed, TimerKey, TimerQueue};
pub(crate) use wait::{Place, Wait, Waked, spin};
