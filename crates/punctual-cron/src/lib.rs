//! [`Schedule`]: when a task is to run, as a value; cron texts, time zones, and the plan of its runs. No clock, no thread.
//!
//! In: a period, a pause, an instant, a cron text or a function. Out: the first time, the next time after each run, a
//! preview, and one sentence that says it. Pure: the engine that runs a schedule reads the clocks and passes plain data.
//!
//! Users of the `punctual` crate find the names they need there; [`engine`] has what only an engine needs: [`engine::Plan`]
//! (which tick is next, which were missed or skipped) and the settings of a schedule.
//!
//! Feature `cron` (default): cron texts and time zones, for which it brings in `jiff`.

#![forbid(unsafe_code)]

mod axis;
#[cfg(feature = "cron")]
mod cron;
mod schedule;

#[cfg(feature = "cron")]
pub use cron::{CronDialect, Fold, Gap};
pub use schedule::{LastRun, Missed, OnFailure, Overlap, Schedule, ScheduleError};

/// What an engine needs to run schedules. Apart from the names above, so that a user who writes a schedule does not meet it.
pub mod engine {
    pub use crate::axis::{Axis, wall_tick};
    pub use crate::schedule::plan::{Begun, Due, Now, Plan};
    pub use crate::schedule::{ErrorHandler, ErrorParts, ScheduleExt, ScheduleKind, Verdict};
}
