//! A schedule as one sentence.

use super::{Kind, Schedule, Start};
use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// One sentence: "every 5 minutes, 3 times".
impl<R> fmt::Display for Schedule<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Every(period) => write!(f, "every {}", rhythm(*period))?,
            Kind::Delay(Duration::ZERO) => f.write_str("again at once after each run")?,
            Kind::Delay(delay) => write!(f, "{} after each run", length(*delay))?,
            Kind::Once(when) => write!(f, "once at {}", instant(*when))?,
            #[cfg(feature = "cron")]
            Kind::Cron(cron) => write!(f, "{cron}")?,
            Kind::Trigger(_) => f.write_str("whenever its trigger says")?,
        }
        match self.start {
            Start::Now => {}
            Start::In(delay) => write!(f, ", starting in {}", length(delay))?,
            Start::At(start) => write!(f, ", starting at {}", instant(start))?,
        }
        match self.times {
            None => {}
            Some(1) => f.write_str(", 1 time")?,
            Some(times) => write!(f, ", {times} times")?,
        }
        match self.until {
            None => Ok(()),
            Some(end) => write!(f, ", until {}", instant(end)),
        }
    }
}

/// The largest unit that divides it, and how many of them; `None` below a millisecond, or for a mix.
fn units(duration: Duration) -> Option<(u64, &'static str)> {
    let seconds = duration.as_secs();
    match (duration.subsec_nanos(), seconds) {
        (0, 0) => Some((0, "second")),
        (0, s) if s.is_multiple_of(86_400) => Some((s / 86_400, "day")),
        (0, s) if s.is_multiple_of(3_600) => Some((s / 3_600, "hour")),
        (0, s) if s.is_multiple_of(60) => Some((s / 60, "minute")),
        (0, s) => Some((s, "second")),
        (_, 0) if duration.subsec_nanos().is_multiple_of(1_000_000) => {
            Some((u64::from(duration.subsec_millis()), "millisecond"))
        }
        _ => None,
    }
}

/// "5 minutes", "1 hour".
fn length(duration: Duration) -> String {
    match units(duration) {
        Some((1, unit)) => format!("1 {unit}"),
        Some((n, unit)) => format!("{n} {unit}s"),
        None => format!("{duration:?}"),
    }
}

/// What follows "every": "5 minutes", "hour".
fn rhythm(period: Duration) -> String {
    match units(period) {
        Some((1, unit)) => unit.to_owned(),
        _ => length(period),
    }
}

/// "2026-11-16 09:00:00 UTC"; parts of a second only if there are any.
fn instant(at: SystemTime) -> String {
    let (seconds, nanos) = match at.duration_since(UNIX_EPOCH) {
        Ok(after) => (i128::from(after.as_secs()), after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let whole = -i128::from(before.as_secs());
            match before.subsec_nanos() {
                0 => (whole, 0),
                part => (whole - 1, 1_000_000_000 - part),
            }
        }
    };
    let (year, month, day) = date(seconds.div_euclid(86_400));
    let second = seconds.rem_euclid(86_400);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    let part = match nanos {
        0 => String::new(),
        nanos => format!(".{nanos:09}").trim_end_matches('0').to_owned(),
    };
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}{part} UTC")
}

/// Year, month and day of a day counted from 1970-01-01. The year is taken to begin in March: then the leap day is its
/// last, and months are 153 days in five.
pub(crate) fn date(day: i128) -> (i128, i128, i128) {
    let day = day + 719_468;
    let (era, day) = (day.div_euclid(146_097), day.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    (era * 400 + year + i128::from(month <= 2), month, day)
}
