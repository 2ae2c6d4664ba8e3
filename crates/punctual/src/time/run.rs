//! [`Run`]: one firing of a schedule, as its body sees it; [`Schedule`] as this library runs it.

use crate::error::ConfigError;
use crate::task::Token;
use punctual_cron::ScheduleError;
use punctual_cron::engine::ErrorParts;
use std::fmt;
use std::time::SystemTime;

/// When a task is to run: once, at a fixed rate, with a pause in between, by the calendar, or as a function says.
///
/// A value: it starts nothing, can be cloned and printed, and [`preview`](Schedule::preview) tells what it will do. All its
/// methods are those of [`punctual_cron::Schedule`], whose error handler is told of a [`Run`] here.
///
/// ```
/// use punctual::Schedule;
/// use std::time::{Duration, SystemTime};
///
/// let flush = Schedule::every(Duration::from_secs(300)).times(3);
/// assert_eq!(flush.to_string(), "every 5 minutes, 3 times");
///
/// let now = SystemTime::now();
/// let minutes = |n: u64| now + Duration::from_secs(60 * n);
/// assert_eq!(flush.preview(now, 10)?, [now, minutes(5), minutes(10)]);
/// # Ok::<(), punctual::ScheduleError>(())
/// ```
pub type Schedule = punctual_cron::Schedule<Run>;

/// One run of a schedule.
///
/// ```
/// use punctual::{Clock, Pool, Schedule};
/// use std::time::{Duration, SystemTime};
///
/// let clock = Clock::manual_at(SystemTime::UNIX_EPOCH);
/// let pool = Pool::builder("p").clock(&clock).build()?;
/// let flush = pool.schedule(Schedule::every(Duration::from_secs(60)).times(3), |run| {
///     assert_eq!(run.scheduled, run.actual); // on a manual clock nothing is late
///     assert_eq!(run.missed, 0);
/// })?;
/// clock.advance(Duration::from_secs(180));
/// assert_eq!(flush.stats().runs, 3);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Run {
    /// When it was due.
    pub scheduled: SystemTime,
    /// When it began.
    pub actual: SystemTime,
    /// How many ticks after `scheduled` had come due before it could begin, and are made up for by this run.
    pub missed: u64,
    /// Fires when the schedule is cancelled or its pool stops.
    pub token: Token,
}

/// What a run may return: nothing, or a `Result`, whose `Err` counts as a failure exactly like a panic.
pub trait RunResult: sealed::Sealed {
    /// The failure's text, if it is one.
    fn failure(self) -> Option<String>;
}

impl RunResult for () {
    fn failure(self) -> Option<String> {
        None
    }
}

impl<E: fmt::Display> RunResult for Result<(), E> {
    fn failure(self) -> Option<String> {
        self.err().map(|error| error.to_string())
    }
}

impl From<ScheduleError> for ConfigError {
    fn from(error: ScheduleError) -> Self {
        let ErrorParts {
            field,
            value,
            limit,
            fix,
        } = error.into();
        ConfigError::new(field, value, limit, fix)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for () {}
    impl<E> Sealed for Result<(), E> {}
}
