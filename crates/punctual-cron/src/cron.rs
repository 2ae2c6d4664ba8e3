//! Cron: which instants a text of five or six fields means in a time zone.
//!
//! In: a text, a dialect, a zone, and what to do about local times that do not exist or exist twice. Out: the first
//! instant after a given one. Bounded: texts that no day can match are refused, and a search takes at most
//! [`MAX_STEPS`] steps.

#[cfg(test)]
mod bounds;
mod days;
mod field;
mod parse;
mod sentence;
mod zone;

use crate::schedule::ScheduleError;
use days::Days;
use parse::Fields;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zone::Zone;

/// What it means if a cron text restricts both the day of the month and the day of the week.
///
/// ```
/// use punctual::{CronDialect, Schedule};
///
/// let thirteenth = Schedule::cron("0 0 13 * FRI")?;
/// assert_eq!(thirteenth.to_string(), "on day 13 of the month and every Friday at 00:00, UTC");
/// let unlucky = thirteenth.dialect(CronDialect::Spring)?;
/// assert_eq!(unlucky.to_string(), "on day 13 of the month if that is a Friday at 00:00, UTC");
/// # Ok::<(), punctual::ScheduleError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CronDialect {
    /// A day that matches either of them, as in a crontab. As there, a field that begins with `*` does not count as
    /// restricted, also not if it has a step: then a day must match both.
    #[default]
    Unix,
    /// A day that matches both.
    Spring,
}

/// What becomes of a local time that does not exist, because the clocks were put forward over it.
///
/// ```
/// use punctual::{Gap, Schedule};
/// use std::time::{Duration, UNIX_EPOCH};
///
/// // In 2013, on the last of March, Amsterdam's clocks went from 02:00 to 03:00.
/// let midnight = UNIX_EPOCH + Duration::from_secs(1_364_684_400);
/// let minutes = |n: u64| midnight + Duration::from_secs(60 * n);
/// let nightly = Schedule::cron("10 2 * * *")?.zone("Europe/Amsterdam")?;
/// assert_eq!(nightly.preview(midnight, 1)?, [minutes(120)]); // 03:00, the first moment after the gap
/// assert_eq!(nightly.gap(Gap::Skip).preview(midnight, 1)?, [minutes(24 * 60 + 70)]); // 02:10 of the next day
/// # Ok::<(), punctual::ScheduleError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Gap {
    /// One run at the first moment after the gap, however many times fell into it. A schedule that runs in each of the
    /// 24 hours has missed nothing (its hour did not happen), and gets none.
    #[default]
    RunAtEnd,
    /// No run.
    Skip,
}

/// What becomes of a local time that exists twice, because the clocks were put back over it.
///
/// ```
/// use punctual::{Fold, Schedule};
/// use std::time::{Duration, UNIX_EPOCH};
///
/// // In 2013, on the 27th of October, Amsterdam's clocks went from 03:00 back to 02:00.
/// let midnight = UNIX_EPOCH + Duration::from_secs(1_382_824_800);
/// let minutes = |n: u64| midnight + Duration::from_secs(60 * n);
/// let nightly = Schedule::cron("30 2 27 OCT *")?.zone("Europe/Amsterdam")?.until(minutes(24 * 60));
/// assert_eq!(nightly.preview(midnight, 9)?, [minutes(150)]);
/// assert_eq!(nightly.clone().fold(Fold::Last).preview(midnight, 9)?, [minutes(210)]);
/// assert_eq!(nightly.fold(Fold::Both).preview(midnight, 9)?, [minutes(150), minutes(210)]);
/// # Ok::<(), punctual::ScheduleError>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fold {
    /// `First` if the text names its hours (`2`, `1,2`, `1-3`), `Both` if they recur (`*`, `*/2`, `1/3`).
    #[default]
    Auto,
    /// The first time only.
    First,
    /// The second time only.
    Last,
    /// Both times.
    Both,
}

/// Steps of one search: stretches between two changes of the clocks that were looked at. Far apart dates are reached
/// in leaps, so that this is more than a hundred years even for times that fall into the gap each year.
const MAX_STEPS: usize = 512;

/// More than any two clocks differ, and more than any change of a clock.
const TWO_DAYS: i64 = 2 * 86_400;

/// A text and how it is to be read.
#[derive(Clone)]
pub(super) struct Cron {
    text: String,
    fields: Fields,
    days: Days,
    zone: Zone,
    gap: Gap,
    fold: Fold,
}

impl Cron {
    pub(super) fn parse(text: &str) -> Result<Cron, ScheduleError> {
        let fields = parse::parse(text)?;
        Ok(Cron {
            text: text.to_owned(),
            days: fields.days(CronDialect::Unix, text)?,
            fields,
            zone: Zone::utc(),
            gap: Gap::default(),
            fold: Fold::default(),
        })
    }

    pub(super) fn set_dialect(&mut self, dialect: CronDialect) -> Result<(), ScheduleError> {
        self.days = self.fields.days(dialect, &self.text)?;
        Ok(())
    }

    pub(super) fn zone_name(&self) -> &str {
        self.zone.name()
    }

    pub(super) fn set_zone(&mut self, iana: &str) -> Result<(), ScheduleError> {
        self.zone = Zone::named(iana)?;
        Ok(())
    }

    pub(super) fn set_gap(&mut self, gap: Gap) {
        self.gap = gap;
    }

    pub(super) fn set_fold(&mut self, fold: Fold) {
        self.fold = fold;
    }

    /// The first instant after `seed`; a whole second. `None` = none within the search's bounds.
    pub(super) fn next(&self, seed: SystemTime) -> Option<SystemTime> {
        self.search(whole_seconds(seed)?, &mut 0)
    }

    /// As [`Cron::next`]; counts its steps.
    fn search(&self, seed: i64, steps: &mut usize) -> Option<SystemTime> {
        // The seed's own stretch: if it ends with the next second, its gap is still to come.
        let (mut look, mut wanted) = (seed, seed + 1);
        while *steps < MAX_STEPS {
            *steps += 1;
            let here = self.zone.stretch(look)?;
            let mut local = wanted + here.offset;
            if self.is_first_only() {
                local = local.max(here.repeats_until().unwrap_or(local));
            }
            let found = self.days.next(&self.fields, local)?;
            let due = found - here.offset;
            let Some(change) = here.end.filter(|change| due >= change.at) else {
                if self.fold != Fold::Last || here.repeated_from().is_none_or(|from| found < from) {
                    return from_seconds(due);
                }
                // All that is left of this stretch will come again.
                let end = here.end?.at;
                (look, wanted) = (end, end);
                continue;
            };
            let is_missing = found < change.at + change.other;
            if is_missing && self.gap == Gap::RunAtEnd && !self.fields.is_every_hour() {
                return from_seconds(change.at);
            }
            // Nothing can match before `found`, except what is repeated right after the change.
            let leap = if change.at - wanted > TWO_DAYS {
                due - TWO_DAYS
            } else {
                change.at
            };
            let next = leap.max(change.at);
            (look, wanted) = (next, next);
        }
        None
    }

    fn is_first_only(&self) -> bool {
        match self.fold {
            Fold::Auto => !self.fields.hours_recur,
            fold => fold == Fold::First,
        }
    }
}

/// Seconds since 1970, rounded down.
fn whole_seconds(at: SystemTime) -> Option<i64> {
    match at.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).ok(),
        Err(before) => {
            let before = before.duration();
            let whole = before.as_secs() + u64::from(before.subsec_nanos() > 0);
            Some(-i64::try_from(whole).ok()?)
        }
    }
}

fn from_seconds(seconds: i64) -> Option<SystemTime> {
    let distance = Duration::from_secs(seconds.unsigned_abs());
    if seconds < 0 {
        UNIX_EPOCH.checked_sub(distance)
    } else {
        UNIX_EPOCH.checked_add(distance)
    }
}
