//! A cron text, field by field.
//!
//! ```text
//! [second 0-59] minute 0-59  hour 0-23  day of month 1-31  month 1-12 JAN-DEC  day of week 0-7 SUN-SAT
//! ```

use super::CronDialect;
use super::days::{Days, MonthDays, WeekDays};
use crate::time::schedule::ScheduleError;
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

/// One of the six.
struct Kind {
    name: &'static str,
    plural: &'static str,
    least: u32,
    most: u32,
    /// Names of the numbers from `least` on.
    names: &'static [&'static str],
}

const SECOND: Kind = Kind {
    name: "second",
    plural: "seconds",
    least: 0,
    most: 59,
    names: &[],
};
const MINUTE: Kind = Kind {
    name: "minute",
    plural: "minutes",
    least: 0,
    most: 59,
    names: &[],
};
const HOUR: Kind = Kind {
    name: "hour",
    plural: "hours",
    least: 0,
    most: 23,
    names: &[],
};
const MONTH_DAY: Kind = Kind {
    name: "day of month",
    plural: "days of the month",
    least: 1,
    most: 31,
    names: &[],
};
const MONTH: Kind = Kind {
    name: "month",
    plural: "months",
    least: 1,
    most: 12,
    names: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
};
const WEEK_DAY: Kind = Kind {
    name: "day of week",
    plural: "days of the week",
    least: 0,
    most: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

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

/// A field that is being read.
struct Field<'a> {
    kind: &'static Kind,
    text: &'a str,
    word: &'a str,
    begin: usize,
    number: (usize, usize),
}

impl Field<'_> {
    /// The pieces between commas, and where each begins in the text.
    fn items(&self) -> impl Iterator<Item = (usize, &str)> {
        self.word.split(',').scan(self.begin, |begin, item| {
            let this = *begin;
            *begin += item.len() + 1;
            Some((this, item))
        })
    }

    fn numbers(&self) -> Result<u64, ScheduleError> {
        self.items()
            .try_fold(0, |set, (begin, item)| Ok(set | self.range(begin, item)?))
    }

    fn is_star(&self) -> bool {
        self.word.starts_with(['*', '?'])
    }

    fn month_days(&self) -> Result<MonthDays, ScheduleError> {
        let mut found = MonthDays {
            is_star: self.is_star(),
            ..MonthDays::default()
        };
        if self.word == "?" {
            found.days = !1;
            return Ok(found);
        }
        for (begin, item) in self.items() {
            let special = item.to_ascii_uppercase();
            let number = |digits: &str, most| number(digits).filter(|n| (1..=most).contains(n));
            if special == "L" {
                found.before_last |= 1;
            } else if special == "LW" {
                found.last_weekday = true;
            } else if let Some(before) = special.strip_prefix("L-").and_then(|digits| number(digits, 30)) {
                found.before_last |= 1 << before;
            } else if let Some(day) = special.strip_suffix('W').and_then(|digits| number(digits, 31)) {
                found.nearest |= 1 << day;
            } else if special.contains(['L', 'W']) {
                let limit = "the special days are L, L-1 to L-30, LW and 1W to 31W";
                return Err(self.error(begin, item, limit, "write one of them, or a day from 1 to 31"));
            } else {
                found.days |= self.range(begin, item)? as u32;
            }
        }
        Ok(found)
    }

    fn week_days(&self) -> Result<WeekDays, ScheduleError> {
        let mut found = WeekDays {
            is_star: self.is_star(),
            ..WeekDays::default()
        };
        if self.word == "?" {
            found.days = 0x7f;
            return Ok(found);
        }
        for (begin, item) in self.items() {
            let last = item.strip_suffix(['L', 'l']);
            if let Some(day) = last.and_then(|day| self.value(day)) {
                found.last |= 1 << (day % 7);
            } else if let Some((day, n)) = item.split_once('#') {
                let n = number(n).filter(|n| (1..=5).contains(n));
                let (Some(day), Some(n)) = (self.value(day), n) else {
                    let limit = "the n-th such day of a month is a day, # and 1 to 5";
                    return Err(self.error(begin, item, limit, "write for example MON#2 or 5#1"));
                };
                found.nth[n as usize - 1] |= 1 << (day % 7);
            } else if last.is_some() {
                let limit = "the last such day of a month is a day and L";
                return Err(self.error(begin, item, limit, "write for example FRIL or 5L"));
            } else {
                let set = self.range(begin, item)?;
                found.days |= (set & 0x7f | set >> 7) as u8;
            }
        }
        Ok(found)
    }

    /// `*`, `n`, `a-b`, each with `/step` or without.
    fn range(&self, begin: usize, item: &str) -> Result<u64, ScheduleError> {
        let (body, step) = match item.split_once('/') {
            Some((body, step)) => match number(step) {
                Some(step) if step > 0 => (body, Some(step)),
                _ => {
                    let limit = "a step is a number above 0";
                    return Err(self.error(begin, item, limit, "write for example */5 or 10-30/2"));
                }
            },
            None => (item, None),
        };
        let value = |text| self.value(text).ok_or_else(|| self.unknown(begin, item, text));
        let is_week = self.kind.name == WEEK_DAY.name;
        let most = self.kind.most;
        let (least, most) = if body == "*" {
            (self.kind.least, most)
        } else if let Some((least, most)) = body.split_once('-') {
            let (mut least, mut most) = (value(least)?, value(most)?);
            if is_week {
                // A week may begin with Sunday and end with it.
                let both = least % 7 == 0 && most % 7 == 0 && least >= most;
                least = if least == 7 { 0 } else { least };
                most = if both { 0 } else { most };
                let is_named = body.to_ascii_uppercase().ends_with("-SUN");
                most = if is_named && least > 0 { 7 } else { most };
            }
            if least > most {
                let limit = "a range goes upwards";
                return Err(self.error(begin, item, limit, "swap its ends, or write two ranges"));
            }
            (least, most)
        } else {
            let least = value(body)?;
            (least, if step.is_some() { most } else { least })
        };
        let step = step.unwrap_or(1) as usize;
        Ok((least..=most)
            .step_by(step)
            .fold(0, |set, number| set | 1 << number))
    }

    /// A number in range, or a name.
    fn value(&self, text: &str) -> Option<u32> {
        let names = self.kind.names.iter().zip(self.kind.least..);
        let mut named = names.filter(|(name, _)| name.eq_ignore_ascii_case(text));
        let is_allowed = |n: &u32| (self.kind.least..=self.kind.most).contains(n);
        let named = named.next().map(|(_, number)| number);
        named.or_else(|| number(text).filter(is_allowed))
    }

    #[cold]
    fn unknown(&self, begin: usize, item: &str, value: &str) -> ScheduleError {
        let Kind {
            name,
            plural,
            least,
            most,
            names,
        } = self.kind;
        let (article, mut limit) = match *name {
            "hour" => ("an", format!("{plural} go from {least} to {most}")),
            _ => ("a", format!("{plural} go from {least} to {most}")),
        };
        if let (Some(first), Some(last)) = (names.first(), names.last()) {
            limit += &format!(" or {first} to {last}");
        }
        if value == "?" {
            limit = "? stands alone, and only for a day of month or a day of week".to_owned();
        }
        let fix = format!("write {article} {name} in that range, or * for every {name}");
        self.error(begin, if value.is_empty() { item } else { value }, limit, fix)
    }

    #[cold]
    fn error(
        &self,
        begin: usize,
        item: &str,
        limit: impl Into<String>,
        fix: impl Into<String>,
    ) -> ScheduleError {
        let value = if item.is_empty() { "nothing" } else { item };
        let error = ScheduleError::new(self.kind.name, value, limit, fix);
        let whole = self.items().find(|(at, _)| *at == begin);
        let length = whole.map_or(item.len(), |(_, whole)| whole.len());
        error.at(self.text, begin..begin + length, Some(self.number))
    }
}

/// A few digits and nothing else.
fn number(text: &str) -> Option<u32> {
    let is_plain = (1..=4).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    is_plain.then(|| text.parse().ok()).flatten()
}
