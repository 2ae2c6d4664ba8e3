//! One field of a cron text: lists, ranges, steps, names, special days; the errors that point at them.

use super::days::{MonthDays, WeekDays};
use crate::schedule::ScheduleError;

/// One of the six.
pub(super) struct Kind {
    pub(super) name: &'static str,
    plural: &'static str,
    least: u32,
    most: u32,
    /// Names of the numbers from `least` on.
    names: &'static [&'static str],
}

pub(super) const SECOND: Kind = Kind {
    name: "second",
    plural: "seconds",
    least: 0,
    most: 59,
    names: &[],
};
pub(super) const MINUTE: Kind = Kind {
    name: "minute",
    plural: "minutes",
    least: 0,
    most: 59,
    names: &[],
};
pub(super) const HOUR: Kind = Kind {
    name: "hour",
    plural: "hours",
    least: 0,
    most: 23,
    names: &[],
};
pub(super) const MONTH_DAY: Kind = Kind {
    name: "day of month",
    plural: "days of the month",
    least: 1,
    most: 31,
    names: &[],
};
pub(super) const MONTH: Kind = Kind {
    name: "month",
    plural: "months",
    least: 1,
    most: 12,
    names: &[
        "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
    ],
};
pub(super) const WEEK_DAY: Kind = Kind {
    name: "day of week",
    plural: "days of the week",
    least: 0,
    most: 7,
    names: &["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"],
};

/// A field that is being read.
pub(super) struct Field<'a> {
    pub(super) kind: &'static Kind,
    /// The whole text, and the field's part of it.
    pub(super) text: &'a str,
    pub(super) word: &'a str,
    /// Where the field begins in the text.
    pub(super) begin: usize,
    /// Its number and that of all fields.
    pub(super) number: (usize, usize),
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

    pub(super) fn numbers(&self) -> Result<u64, ScheduleError> {
        self.items()
            .try_fold(0, |set, (begin, item)| Ok(set | self.range(begin, item)?))
    }

    fn is_star(&self) -> bool {
        self.word.starts_with(['*', '?'])
    }

    pub(super) fn month_days(&self) -> Result<MonthDays, ScheduleError> {
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

    pub(super) fn week_days(&self) -> Result<WeekDays, ScheduleError> {
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
        let most = self.kind.most;
        let (least, most) = if body == "*" {
            (self.kind.least, most)
        } else if let Some((least, most)) = body.split_once('-') {
            let (mut least, mut most) = (value(least)?, value(most)?);
            if self.kind.name == WEEK_DAY.name {
                // Sunday begins a week as 0 and ends it as 7; from Sunday to Sunday it is one day.
                let is_sunday = least >= most && least % 7 == 0 && most % 7 == 0;
                let ends_by_name = body.to_ascii_uppercase().ends_with("-SUN");
                (least, most) = match (least, most) {
                    _ if is_sunday => (0, 0),
                    (7, most) => (0, most),
                    (least, 0) if ends_by_name => (least, 7),
                    ends => ends,
                };
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
