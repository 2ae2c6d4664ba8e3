//! The days of a cron text: its two day fields and its months on the calendar.

use super::CronDialect;
use super::parse::Fields;
use crate::schedule::date;

/// The longest that a possible date is away: 29 February on a given weekday, around a year like 2100, is 40 years.
const MONTHS_AHEAD: i64 = 12 * 41;

/// The day-of-month field. Sets of days are bits, day 1 is bit 1.
#[derive(Clone, Copy, Default)]
pub(super) struct MonthDays {
    /// Begins with `*`, or is `?`.
    pub(super) is_star: bool,
    pub(super) days: u32,
    /// `L-n`: n days before the last, bit n; `L` is bit 0.
    pub(super) before_last: u32,
    /// `nW`: the weekday (Monday to Friday) nearest to day n, in the same month.
    pub(super) nearest: u32,
    /// `LW`: the last weekday.
    pub(super) last_weekday: bool,
}

/// The day-of-week field. Sets of weekdays are bits, Sunday is bit 0.
#[derive(Clone, Copy, Default)]
pub(super) struct WeekDays {
    /// Begins with `*`, or is `?`.
    pub(super) is_star: bool,
    pub(super) days: u8,
    /// `d#n`: the n-th such day of the month, in place n - 1.
    pub(super) nth: [u8; 5],
    /// `dL`: the last such day of the month.
    pub(super) last: u8,
}

/// Both, with the months, as a dialect reads them.
#[derive(Clone, Copy)]
pub(super) struct Days {
    pub(super) of_month: MonthDays,
    pub(super) of_week: WeekDays,
    /// Bits; January is bit 1.
    pub(super) months: u64,
    /// A day that matches one of the two fields is enough.
    pub(super) is_either: bool,
}

/// A month as far as days depend on it.
#[derive(Clone, Copy)]
struct Month {
    length: u32,
    /// The weekday of its first day; 0 is Sunday.
    first: u32,
}

impl Month {
    fn weekday(self, day: u32) -> u32 {
        (self.first + day - 1) % 7
    }

    fn nearest_weekday(self, day: u32) -> u32 {
        match self.weekday(day) {
            6 if day == 1 => 3,
            6 => day - 1,
            0 if day == self.length => day - 2,
            0 => day + 1,
            _ => day,
        }
    }
}

impl MonthDays {
    fn in_month(self, month: Month) -> u32 {
        let mut found = self.days;
        for day in 1..=month.length {
            let from_end = month.length - day;
            found |= u32::from(self.before_last & (1 << from_end) != 0) << day;
            if self.nearest & (1 << day) != 0 {
                found |= 1 << month.nearest_weekday(day);
            }
        }
        if self.last_weekday {
            found |= 1 << month.nearest_weekday(month.length);
        }
        found & (u32::MAX >> (31 - month.length)) & !1
    }
}

impl WeekDays {
    fn in_month(self, month: Month) -> u32 {
        let mut found = 0;
        for day in 1..=month.length {
            let mut matching = self.days | self.nth[(day as usize - 1) / 7];
            if day + 7 > month.length {
                matching |= self.last;
            }
            found |= u32::from(matching >> month.weekday(day) & 1) << day;
        }
        found
    }
}

impl Days {
    pub(super) fn new(of_month: MonthDays, of_week: WeekDays, months: u64, dialect: CronDialect) -> Days {
        let is_either = dialect == CronDialect::Unix && !of_month.is_star && !of_week.is_star;
        Days {
            of_month,
            of_week,
            months,
            is_either,
        }
    }

    /// Whether there is such a day in any year. The calendar repeats after 400 years, and within them each month
    /// begins on each weekday, February also when it has 29 days.
    pub(super) fn are_possible(&self) -> bool {
        let lengths = |month| match month {
            2 => 28..=29,
            4 | 6 | 9 | 11 => 30..=30,
            _ => 31..=31,
        };
        let mut months = (1..=12)
            .filter(|month| self.months & (1 << month) != 0)
            .flat_map(lengths);
        months.any(|length| (0..7).any(|first| self.in_month(Month { length, first }) != 0))
    }

    fn in_month(&self, month: Month) -> u32 {
        let (of_month, of_week) = (self.of_month.in_month(month), self.of_week.in_month(month));
        if self.is_either {
            of_month | of_week
        } else {
            of_month & of_week
        }
    }

    /// The first matching local time at or after `local`, in seconds since 1970 on a clock that is never changed.
    pub(super) fn next(&self, fields: &Fields, local: i64) -> Option<i64> {
        let (today, second) = (local.div_euclid(86_400), local.rem_euclid(86_400));
        let (year, month, day) = date(today.into());
        let mut from_day = u32::try_from(day).ok()?;
        let this_month = i64::try_from(year * 12 + month - 1).ok()?;
        let mut first_of_month = today - i64::from(from_day) + 1;
        for index in this_month..this_month + MONTHS_AHEAD {
            let month = month_of(index, first_of_month);
            if self.months & (2 << index.rem_euclid(12)) != 0 {
                let mut left = self.in_month(month) & (u32::MAX << from_day);
                while left != 0 {
                    let day = first_of_month + i64::from(left.trailing_zeros()) - 1;
                    let from = if day == today { second } else { 0 };
                    if let Some(time) = fields.next_time(from) {
                        return Some(day * 86_400 + time);
                    }
                    left &= left - 1;
                }
            }
            from_day = 1;
            first_of_month += i64::from(month.length);
        }
        None
    }
}

/// The month with this number (twelve times the year, January is 0), which begins on `first_of_month`.
fn month_of(index: i64, first_of_month: i64) -> Month {
    let year = index.div_euclid(12);
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match index.rem_euclid(12) {
        1 => 28 + u32::from(is_leap),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    };
    // 1970 began on a Thursday.
    let first = (first_of_month + 4).rem_euclid(7) as u32;
    Month { length, first }
}
