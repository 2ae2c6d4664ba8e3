//! What an engine asks a schedule: its settings, its kind, whether it can be run at all.
//!
//! A trait of its own, so that the methods for writing a schedule stay the only ones of the value.

use super::{Kind, LastRun, OnFailure, Schedule, ScheduleError};
use crate::axis::Axis;
use std::borrow::Cow;
use std::time::{Duration, SystemTime};

/// The kinds of schedules that statistics tell apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleKind {
    /// A fixed rate.
    Rate,
    /// A pause between runs.
    Delay,
    /// By the calendar: a cron text.
    Calendar,
    /// Once at an instant, or when a trigger says.
    Other,
}

/// An error handler, as [`Schedule::on_error`] takes it.
pub type ErrorHandler<R> = dyn Fn(&R, &str) + Send + Sync;

/// What an engine asks a schedule.
pub trait ScheduleExt: sealed::Sealed + Sized {
    /// What the engine tells an error handler about the failed run.
    type Run;

    /// Refuses what a value cannot refuse while it is being written.
    ///
    /// # Errors
    ///
    /// A period of zero; an end after no failure.
    fn check(&self) -> Result<(), ScheduleError>;

    /// Its kind.
    fn kind(&self) -> ScheduleKind;

    /// Whether its next time is the answer of a user's function: an engine asks for it without a lock.
    fn is_trigger(&self) -> bool;

    /// Whether it goes by the monotonic clock alone.
    fn is_monotonic(&self) -> bool;

    /// How many runs it has at most.
    fn run_limit(&self) -> Option<u64>;

    /// How much later a run may begin, at random.
    fn max_jitter(&self) -> Duration;

    /// What becomes of it when a run fails.
    fn failure_policy(&self) -> OnFailure;

    /// The handler that is told of failed runs.
    fn error_handler(&self) -> Option<&ErrorHandler<Self::Run>>;

    /// The name of its runs.
    fn name(&self) -> Option<&Cow<'static, str>>;

    /// The same schedule with this name, unless it has one.
    #[must_use]
    fn or_named(self, name: Option<&Cow<'static, str>>) -> Self;

    /// `first` and the times after it if each run takes no time, at most `most`.
    fn runs_from(&self, first: Option<SystemTime>, most: usize) -> Vec<SystemTime>;

    /// An error about this schedule: the field, why, and the fix. The value is the schedule's sentence.
    fn refuse(&self, field: &'static str, limit: &str, fix: &str) -> ScheduleError;
}

impl<R> ScheduleExt for Schedule<R> {
    type Run = R;

    fn check(&self) -> Result<(), ScheduleError> {
        match self.kind {
            Kind::Every(Duration::ZERO) => Err(ScheduleError::new(
                "every",
                "0 s",
                "a fixed rate needs a period",
                "set a period above zero, or use with_delay to run again at once",
            )),
            _ if self.on_failure == OnFailure::StopAfter(0) => Err(ScheduleError::new(
                "on_failure",
                "StopAfter(0)",
                "a schedule cannot end before its first failure",
                "use StopAfter(1), which is Stop",
            )),
            _ => Ok(()),
        }
    }

    fn kind(&self) -> ScheduleKind {
        match self.kind {
            Kind::Every(_) => ScheduleKind::Rate,
            Kind::Delay(_) => ScheduleKind::Delay,
            #[cfg(feature = "cron")]
            Kind::Cron(_) => ScheduleKind::Calendar,
            Kind::Once(_) | Kind::Trigger(_) => ScheduleKind::Other,
        }
    }

    fn is_trigger(&self) -> bool {
        matches!(self.kind, Kind::Trigger(_))
    }

    fn is_monotonic(&self) -> bool {
        self.axis() == Axis::Ticks && self.until.is_none()
    }

    fn run_limit(&self) -> Option<u64> {
        self.times
    }

    fn max_jitter(&self) -> Duration {
        self.jitter
    }

    fn failure_policy(&self) -> OnFailure {
        self.on_failure
    }

    fn error_handler(&self) -> Option<&ErrorHandler<R>> {
        self.on_error.as_deref()
    }

    fn name(&self) -> Option<&Cow<'static, str>> {
        self.name.as_ref()
    }

    fn or_named(mut self, name: Option<&Cow<'static, str>>) -> Self {
        self.name = self.name.or_else(|| name.cloned());
        self
    }

    fn runs_from(&self, first: Option<SystemTime>, most: usize) -> Vec<SystemTime> {
        let runs = std::iter::successors(first, |at| self.next(&LastRun::prompt(*at), *at));
        runs.take(most).collect()
    }

    fn refuse(&self, field: &'static str, limit: &str, fix: &str) -> ScheduleError {
        ScheduleError::new(field, self, limit, fix)
    }
}

mod sealed {
    pub trait Sealed {}
    impl<R> Sealed for super::Schedule<R> {}
}
