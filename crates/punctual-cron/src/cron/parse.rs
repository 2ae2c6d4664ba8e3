//! A cron text, cut into its fields.
//!
//! ```text
//! [second 0-59] minute 0-59  hour 0-23  day of month 1-31  month 1-12 JAN-DEC  day of week 0-7 SUN-SAT
//! ```

use super::CronDialect;
use super::days::{Days, MonthDays, WeekDays};
use super::field::{Field, HOUR, Kind, MINUTE, MONTH, MONTH_DAY, SECOND, WEEK_DAY};
use crate::schedule::ScheduleError;
use std::ops::Range;

/// Longer texts are refused before they are read.
const MAX_TEXT: usize = 256;

/// A text as sets of numbers: bit n stands for the number n.
#[derive(Clone)]
pub(super) struct Fields {
    pub(super) seconds: u64,
    pub(super) minutes: u64,
    pub(super) hours: u64,
    /// The hours are a wildcard or have a step.
    pub(super) hours_recur: bool,
    months: u64,
    of_month: MonthDays,
    of_week: WeekDays,
}

const MACROS: [(&str, &str); 7] = [
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
    ("@monthly", "0 0 1 * *"),
    ("@weekly", "0 0 * * 0"),
    ("@daily", "0 0 * * *"),
    ("@midnight", "0 0 * * *"),
    ("@hourly", "0 * * * *"),
];

impl Fields {
    /// The days as a dialect reads them; an error if there are none. `text` is what these fields were made from.
    pub(super) fn days(&self, dialect: CronDialect, text: &str) -> Result<Days, ScheduleError> {
        let days = Days::new(self.of_month, self.of_week, self.months, dialect);
        if days.are_possible() {
            return Ok(days);
        }
        let words = words(text);
        let day = words.len() - 3;
        let (of_month, month, of_week) = (&words[day].text, &words[day + 1].text, &words[day + 2].text);
        let limit =
            format!("no day of any year has this day of month, month {month} and day of week {of_week}");
        let error = ScheduleError::new(MONTH_DAY.name, of_month, limit, "name a date that exists");
        Err(error.at(
            text,
            words[day].bytes.start..words[day + 2].bytes.end,
            Some((day + 1, words.len())),
        ))
    }

    /// The first matching second of a day at or after the given one.
    pub(super) fn next_time(&self, second_of_day: i64) -> Option<i64> {
        let from = second_of_day as u32;
        let (hour, minute, second) = (from / 3_600, from / 60 % 60, from % 60);
        let at_or_after = |set: u64, number: u32| {
            let left = set.checked_shr(number).unwrap_or(0);
            (left != 0).then(|| number + left.trailing_zeros())
        };
        let (first_minute, first_second) = (self.minutes.trailing_zeros(), self.seconds.trailing_zeros());
        let mut time = None;
        if has(self.hours, hour) {
            if has(self.minutes, minute) {
                time = at_or_after(self.seconds, second).map(|second| (hour, minute, second));
            }
            let later = || at_or_after(self.minutes, minute + 1).map(|minute| (hour, minute, first_second));
            time = time.or_else(later);
        }
        let later = || at_or_after(self.hours, hour + 1).map(|hour| (hour, first_minute, first_second));
        let (hour, minute, second) = time.or_else(later)?;
        Some(i64::from(hour * 3_600 + minute * 60 + second))
    }

    pub(super) fn is_every_hour(&self) -> bool {
        self.hours == (1 << 24) - 1
    }
}

fn has(set: u64, number: u32) -> bool {
    set >> number & 1 != 0
}

/// A piece of the text between spaces, and where it is.
struct Word<'a> {
    text: &'a str,
    bytes: Range<usize>,
}

fn words(text: &str) -> Vec<Word<'_>> {
    let begin_of = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let word = |word| {
        let begin = begin_of(word);
        Word {
            text: word,
            bytes: begin..begin + word.len(),
        }
    };
    text.split_ascii_whitespace().map(word).collect()
}

pub(super) fn parse(text: &str) -> Result<Fields, ScheduleError> {
    if text.len() > MAX_TEXT {
        return Err(ScheduleError::new(
            "cron",
            format_args!("a text of {} bytes", text.len()),
            format!("at most {MAX_TEXT} are read"),
            "use ranges and steps, or several schedules",
        ));
    }
    if let Some(strange) = text
        .chars()
        .find(|c| !c.is_ascii() || (c.is_control() && !c.is_whitespace()))
    {
        return Err(ScheduleError::new(
            "cron",
            format_args!("{text:?}"),
            format!("{strange:?} has no meaning in a cron text"),
            "write digits, names, spaces and * , - / ? L W #",
        ));
    }
    match text.trim() {
        shorthand if shorthand.starts_with('@') => parse_macro(text, shorthand),
        _ => parse_fields(text),
    }
}

fn parse_macro(text: &str, shorthand: &str) -> Result<Fields, ScheduleError> {
    match MACROS
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(shorthand))
    {
        Some((_, fields)) => parse_fields(fields),
        None => {
            let known: Vec<&str> = MACROS.iter().map(|(name, _)| *name).collect();
            let error = ScheduleError::new(
                "cron",
                shorthand,
                format!("the shorthands are {}", known.join(", ")),
                "write one of them, five or six fields, or use Schedule::every",
            );
            let begin = text.len() - text.trim_start().len();
            Err(error.at(text, begin..begin + shorthand.len(), None))
        }
    }
}

fn parse_fields(text: &str) -> Result<Fields, ScheduleError> {
    let words = words(text);
    let of = words.len();
    if of != 5 && of != 6 {
        return Err(ScheduleError::new(
            "cron",
            format_args!("{text:?}"),
            format!("it has {of} fields, and a cron text has 5 (minute first) or 6 (second first)"),
            "write minute, hour, day of month, month and day of week, with a second before them if it matters",
        ));
    }
    let skipped = 6 - of;
    // Numbered from the second on, as if there were always six.
    let read = |index: usize, kind: &'static Kind| Field {
        kind,
        text,
        word: words[index - skipped].text,
        begin: words[index - skipped].bytes.start,
        number: (index - skipped + 1, of),
    };
    let hours = read(2, &HOUR);
    Ok(Fields {
        seconds: if skipped == 0 {
            read(0, &SECOND).numbers()?
        } else {
            1
        },
        minutes: read(1, &MINUTE).numbers()?,
        hours: hours.numbers()?,
        hours_recur: hours.word.contains(['*', '/']),
        of_month: read(3, &MONTH_DAY).month_days()?,
        months: read(4, &MONTH).numbers()?,
        of_week: read(5, &WEEK_DAY).week_days()?,
    })
}
