//! [`Schedule`]: when, as a value.
//!
//! In: a period, a delay, an instant, a cron text or a function. Out: the first instant, and the next one after each
//! run. Pure: nothing here reads a clock or starts anything; the engine that runs a schedule brings both.

mod engine;
mod error;
pub(crate) mod plan;
mod policy;
mod sentence;

#[cfg(feature = "cron")]
use crate::cron::{Cron, CronDialect, Fold, Gap};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use engine::{ErrorHandler, ScheduleExt, ScheduleKind};
pub use error::{ErrorParts, ScheduleError};
pub use policy::{Missed, OnFailure, Overlap, Verdict};
#[cfg(feature = "cron")]
pub(crate) use sentence::date;

/// When a task is to run: once, at a fixed rate, with a pause in between, by the calendar, or as a function says.
///
/// A value: it starts nothing, can be cloned and printed, and [`preview`](Schedule::preview) tells what it will do.
/// `R` is what the engine that runs it tells [`on_error`](Schedule::on_error) about a failed run.
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
pub struct Schedule<R = ()> {
    kind: Kind,
    start: Start,
    times: Option<u64>,
    until: Option<SystemTime>,
    jitter: Duration,
    overlap: Overlap,
    missed: Missed,
    on_failure: OnFailure,
    on_error: Option<Arc<ErrorHandler<R>>>,
    name: Option<Cow<'static, str>>,
}

type Trigger = dyn Fn(&LastRun) -> Option<SystemTime> + Send + Sync;

#[derive(Clone)]
enum Kind {
    Every(Duration),
    Delay(Duration),
    Once(SystemTime),
    #[cfg(feature = "cron")]
    Cron(Box<Cron>),
    Trigger(Arc<Trigger>),
}

/// Before when nothing runs.
#[derive(Clone, Copy)]
enum Start {
    Now,
    In(Duration),
    At(SystemTime),
}

/// What a [trigger](Schedule::trigger) is told: the run before, or nothing at all before the first.
///
/// ```
/// use punctual::{LastRun, Schedule};
/// use std::time::{Duration, SystemTime};
///
/// // An hour after each run ended; the first one now.
/// let now = SystemTime::now();
/// let hourly = Schedule::trigger(move |last: &LastRun| match last.completed {
///     Some(end) => end.checked_add(Duration::from_secs(3600)),
///     None => Some(now),
/// });
/// assert_eq!(hourly.preview(now, 2)?, [now, now + Duration::from_secs(3600)]);
/// # Ok::<(), punctual::ScheduleError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LastRun {
    /// When it was due.
    pub scheduled: Option<SystemTime>,
    /// When it began.
    pub actual: Option<SystemTime>,
    /// When it ended.
    pub completed: Option<SystemTime>,
}

impl LastRun {
    /// A run that began when it was due and took no time.
    fn prompt(at: SystemTime) -> LastRun {
        LastRun {
            scheduled: Some(at),
            actual: Some(at),
            completed: Some(at),
        }
    }
}

impl<R> Schedule<R> {
    fn of(kind: Kind) -> Self {
        Schedule {
            kind,
            start: Start::Now,
            times: None,
            until: None,
            jitter: Duration::ZERO,
            overlap: Overlap::default(),
            missed: Missed::default(),
            on_failure: OnFailure::default(),
            on_error: None,
            name: None,
        }
    }

    /// At a fixed rate: the first run at once, each next one `period` after the one before was due.
    ///
    /// A period of zero is refused by whatever takes the schedule; use [`with_delay`](Schedule::with_delay).
    #[must_use]
    pub fn every(period: Duration) -> Self {
        Schedule::of(Kind::Every(period))
    }

    /// With a pause: the first run at once, each next one `delay` after the one before ended.
    #[must_use]
    pub fn with_delay(delay: Duration) -> Self {
        Schedule::of(Kind::Delay(delay))
    }

    /// Once. An instant that has passed means at once.
    #[must_use]
    pub fn once_at(when: SystemTime) -> Self {
        Schedule::of(Kind::Once(when))
    }

    /// Whenever `next` says: it is asked before the first run and after each one. An instant that has passed means at
    /// once; `None` ends the schedule.
    #[must_use]
    pub fn trigger(next: impl Fn(&LastRun) -> Option<SystemTime> + Send + Sync + 'static) -> Self {
        Schedule::of(Kind::Trigger(Arc::new(next)))
    }

    /// By the calendar: five fields (minute first) or six (second first), in UTC unless a [`zone`](Schedule::zone) is
    /// given.
    ///
    /// | field | numbers | names | also |
    /// |---|---|---|---|
    /// | second, minute | 0-59 | | |
    /// | hour | 0-23 | | |
    /// | day of month | 1-31 | | `L` last day, `L-3` three before it, `LW` last weekday, `15W` weekday nearest to the 15th |
    /// | month | 1-12 | `JAN`-`DEC` | |
    /// | day of week | 0-7, Sunday is 0 and 7 | `SUN`-`SAT` | `5L` last Friday, `MON#2` second Monday |
    ///
    /// Every field takes `*`, lists `1,2`, ranges `1-5`, steps `*/5`, `10/5` and `10-30/2`; the day fields `?` for `*`.
    /// Names are in any case. Shorthands: `@yearly`, `@annually`, `@monthly`, `@weekly`, `@daily`, `@midnight`,
    /// `@hourly`.
    ///
    /// ```
    /// use punctual::Schedule;
    /// use std::time::{Duration, UNIX_EPOCH};
    ///
    /// let opening = Schedule::cron("0 9 * * MON-FRI")?.zone("Asia/Seoul")?;
    /// assert_eq!(opening.to_string(), "every weekday at 09:00, Asia/Seoul");
    /// // 1970 began on a Thursday, at 9 o'clock in Seoul: the next ones are Friday and Monday.
    /// let days = |n: u64| UNIX_EPOCH + Duration::from_secs(86_400 * n);
    /// assert_eq!(opening.preview(UNIX_EPOCH, 2)?, [days(1), days(4)]);
    /// # Ok::<(), punctual::ScheduleError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the text cannot be read, or no day can ever match it (31 June). The error names the field.
    #[cfg(feature = "cron")]
    pub fn cron(text: &str) -> Result<Self, ScheduleError> {
        Ok(Schedule::of(Kind::Cron(Box::new(Cron::parse(text)?))))
    }

    /// The time zone whose clocks a cron schedule goes by, by its IANA name.
    ///
    /// # Errors
    ///
    /// If there is no such zone, or this is not a cron schedule.
    #[cfg(feature = "cron")]
    pub fn zone(mut self, iana: &str) -> Result<Self, ScheduleError> {
        self.cron_for("zone", iana)?.set_zone(iana)?;
        Ok(self)
    }

    /// The IANA name of the zone whose clocks it goes by; `None` where it goes by no calendar.
    ///
    /// ```
    /// use punctual::Schedule;
    /// use std::time::Duration;
    /// let opening = Schedule::cron("0 9 * * MON-FRI")?.zone("Asia/Seoul")?;
    /// assert_eq!(opening.zone_name(), Some("Asia/Seoul"));
    /// assert_eq!(Schedule::every(Duration::from_secs(1)).zone_name(), None);
    /// # Ok::<(), punctual::ScheduleError>(())
    /// ```
    #[must_use]
    pub fn zone_name(&self) -> Option<&str> {
        match &self.kind {
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => Some(cron.zone_name()),
            _ => None,
        }
    }

    /// How a cron text that restricts both day fields is read.
    ///
    /// # Errors
    ///
    /// If no day can match the text in this dialect, or this is not a cron schedule.
    #[cfg(feature = "cron")]
    pub fn dialect(mut self, dialect: CronDialect) -> Result<Self, ScheduleError> {
        self.cron_for("dialect", &format!("{dialect:?}"))?
            .set_dialect(dialect)?;
        Ok(self)
    }

    /// What becomes of a local time that does not exist. Only cron schedules know local times.
    #[cfg(feature = "cron")]
    #[must_use]
    pub fn gap(mut self, gap: Gap) -> Self {
        if let Kind::Cron(cron) = &mut self.kind {
            cron.set_gap(gap);
        }
        self
    }

    /// What becomes of a local time that exists twice. Only cron schedules know local times.
    #[cfg(feature = "cron")]
    #[must_use]
    pub fn fold(mut self, fold: Fold) -> Self {
        if let Kind::Cron(cron) = &mut self.kind {
            cron.set_fold(fold);
        }
        self
    }

    #[cfg(feature = "cron")]
    fn cron_for(&mut self, setting: &'static str, value: &str) -> Result<&mut Cron, ScheduleError> {
        match &mut self.kind {
            Kind::Cron(cron) => Ok(cron),
            _ => Err(ScheduleError::new(
                setting,
                value,
                "only a cron schedule goes by local time",
                "leave it out, or begin with Schedule::cron",
            )),
        }
    }

    /// Not before `delay` has passed. The last of `starting_in` and `starting_at` counts.
    #[must_use]
    pub fn starting_in(self, delay: Duration) -> Self {
        Schedule {
            start: Start::In(delay),
            ..self
        }
    }

    /// Not before `start`. One that has passed changes nothing. The last of `starting_in` and `starting_at` counts.
    #[must_use]
    pub fn starting_at(self, start: SystemTime) -> Self {
        Schedule {
            start: Start::At(start),
            ..self
        }
    }

    /// At most `n` runs.
    #[must_use]
    pub fn times(self, n: u64) -> Self {
        Schedule {
            times: Some(n),
            ..self
        }
    }

    /// No run that is due after `end`; one that is due at `end` still runs.
    #[must_use]
    pub fn until(self, end: SystemTime) -> Self {
        Schedule {
            until: Some(end),
            ..self
        }
    }

    /// Each run up to so much later, at random, so that many schedules do not all begin at once. The plan itself is not
    /// moved.
    #[must_use]
    pub fn jitter(self, most: Duration) -> Self {
        Schedule { jitter: most, ..self }
    }

    /// What becomes of ticks that come due while a run is in progress.
    #[must_use]
    pub fn overlap(self, overlap: Overlap) -> Self {
        Schedule { overlap, ..self }
    }

    /// What becomes of ticks that came due and could not start.
    #[must_use]
    pub fn missed(self, missed: Missed) -> Self {
        Schedule { missed, ..self }
    }

    /// What becomes of it when a run fails.
    #[must_use]
    pub fn on_failure(self, on_failure: OnFailure) -> Self {
        Schedule { on_failure, ..self }
    }

    /// Told of each failed run, with the text of its panic or error. It observes; what follows is
    /// [`on_failure`](Schedule::on_failure)'s to decide.
    #[must_use]
    pub fn on_error(self, f: impl Fn(&R, &str) + Send + Sync + 'static) -> Self {
        Schedule {
            on_error: Some(Arc::new(f)),
            ..self
        }
    }

    /// The name under which its runs appear.
    #[must_use]
    pub fn named(self, name: impl Into<Cow<'static, str>>) -> Self {
        Schedule {
            name: Some(name.into()),
            ..self
        }
    }

    /// The first `n` times at which it would run if it were started at `from` and each run took no time. Fewer if it
    /// ends before.
    ///
    /// # Errors
    ///
    /// If the schedule cannot be: a period of zero.
    pub fn preview(&self, from: SystemTime, n: usize) -> Result<Vec<SystemTime>, ScheduleError> {
        self.check()?;
        let most = self
            .times
            .map_or(n, |times| n.min(usize::try_from(times).unwrap_or(n)));
        let first = (most > 0).then(|| self.first(from)).flatten();
        Ok(self.runs_from(first, most))
    }

    /// When the first run is due if the schedule begins `now`.
    fn first(&self, now: SystemTime) -> Option<SystemTime> {
        let start = match self.start {
            Start::Now => now,
            Start::In(delay) => now.checked_add(delay)?,
            Start::At(start) => start.max(now),
        };
        let due = match &self.kind {
            Kind::Every(_) | Kind::Delay(_) => start,
            Kind::Once(when) => start.max(*when),
            // After now, but a start that is still to come is part of it.
            #[cfg(feature = "cron")]
            Kind::Cron(cron) if start > now => cron.next(start.checked_sub(Duration::from_nanos(1))?)?,
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => cron.next(now)?,
            Kind::Trigger(next) => next(&LastRun::default())?.max(start),
        };
        self.in_time(due)
    }

    /// When the run after `last` is due. What has not happened yet counts from `now`.
    fn next(&self, last: &LastRun, now: SystemTime) -> Option<SystemTime> {
        let due = match &self.kind {
            Kind::Every(period) => last.scheduled.unwrap_or(now).checked_add(*period)?,
            Kind::Delay(delay) => last.completed.unwrap_or(now).checked_add(*delay)?,
            Kind::Once(_) => return None,
            // From when it was due, not from when it began: a run that began a little early does not come twice.
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => cron.next(last.scheduled.unwrap_or(now))?,
            Kind::Trigger(next) => next(last)?.max(now),
        };
        self.in_time(due)
    }

    fn in_time(&self, due: SystemTime) -> Option<SystemTime> {
        self.until.is_none_or(|end| due <= end).then_some(due)
    }
}

/// By hand: whether the engine's runs can be cloned does not matter.
impl<R> Clone for Schedule<R> {
    fn clone(&self) -> Self {
        Schedule {
            kind: self.kind.clone(),
            on_error: self.on_error.clone(),
            name: self.name.clone(),
            ..*self
        }
    }
}

impl<R> fmt::Debug for Schedule<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "Schedule({name:?}, {self})"),
            None => write!(f, "Schedule({self})"),
        }
    }
}
