//! A cron schedule in words.

use super::Cron;
use super::days::{Days, MonthDays, WeekDays};
use super::parse::Fields;
use std::fmt;

/// More times of day than this are described by their fields.
const MAX_TIMES: usize = 6;

const WEEK: [&str; 7] = [
    "Sunday",
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
];
const MONDAY_TO_FRIDAY: u8 = 0b0111110;
const WEEKEND: u8 = 0b1000001;
const NTH: [&str; 5] = ["first", "second", "third", "fourth", "fifth"];
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// "every weekday at 09:00, Asia/Seoul".
impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let days = days(&self.days);
        let months = months(self.days.months);
        match (times(&self.fields), days) {
            (Ok(at), days) => write!(f, "{}{months} {at}", days.as_deref().unwrap_or("every day"))?,
            (Err(rhythm), Some(days)) => write!(f, "{rhythm}, {days}{months}")?,
            (Err(rhythm), None) => write!(f, "{rhythm}{months}")?,
        }
        write!(f, ", {}", self.zone.name())
    }
}

fn numbers(set: u64) -> Vec<u32> {
    (0..64).filter(|n| set >> n & 1 != 0).collect()
}

/// "a, b and c".
fn join(mut words: Vec<String>, with: &str) -> String {
    let last = words.pop().unwrap_or_default();
    if words.is_empty() {
        last
    } else {
        format!("{} {with} {last}", words.join(", "))
    }
}

/// "0, 15 and 30 to 40".
fn list(set: u64) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for n in numbers(set) {
        match runs.last_mut() {
            Some((_, end)) if *end + 1 == n => *end = n,
            _ => runs.push((n, n)),
        }
    }
    let word = |(begin, end): (u32, u32)| match end - begin {
        0 => vec![begin.to_string()],
        1 => vec![begin.to_string(), end.to_string()],
        _ => vec![format!("{begin} to {end}")],
    };
    join(runs.into_iter().flat_map(word).collect(), "and")
}

/// How far apart the numbers are, if they are evenly spread over all of `of`, beginning with 0.
fn step(set: u64, of: u32) -> Option<u32> {
    let numbers = numbers(set);
    let step = of / numbers.len() as u32;
    let is_even = of.is_multiple_of(step) && numbers.iter().copied().eq((0..of).step_by(step as usize));
    (is_even && step < of).then_some(step)
}

/// "every minute", "every 5 minutes".
fn every(step: u32, unit: &str) -> String {
    if step == 1 {
        format!("every {unit}")
    } else {
        format!("every {step} {unit}s")
    }
}

/// The times of day ("at 09:00"), or else a rhythm ("every 5 minutes").
fn times(fields: &Fields) -> Result<String, String> {
    let &Fields {
        seconds,
        minutes,
        hours,
        ..
    } = fields;
    let count = seconds.count_ones() * minutes.count_ones() * hours.count_ones();
    if step(hours, 24).is_none() && count as usize <= MAX_TIMES {
        let mut found = Vec::new();
        for hour in numbers(hours) {
            for minute in numbers(minutes) {
                for second in numbers(seconds) {
                    found.push(match seconds {
                        1 => format!("{hour:02}:{minute:02}"),
                        _ => format!("{hour:02}:{minute:02}:{second:02}"),
                    });
                }
            }
        }
        return Ok(format!("at {}", join(found, "and")));
    }
    // From the smallest unit that is not simply 0 up to the last that is not simply every one.
    let units = [
        ("second", seconds, 60),
        ("minute", minutes, 60),
        ("hour", hours, 24),
    ];
    let begin = units.iter().take_while(|(_, set, _)| *set == 1).count();
    let mut words = String::new();
    for (unit, set, of) in &units[begin..] {
        let named = || {
            if set.count_ones() == 1 {
                (*unit).to_owned()
            } else {
                format!("{unit}s")
            }
        };
        match step(*set, *of) {
            Some(1) if words.contains("every") => {}
            Some(1) if words.is_empty() => words = every(1, unit),
            Some(1) => words += &format!(" of every {unit}"),
            Some(step) if words.is_empty() => words = every(step, unit),
            Some(step) => words += &format!(", {}", every(step, unit)),
            None if words.is_empty() => words = format!("at {} {}", named(), list(*set)),
            None => words += &format!(" of {} {}", named(), list(*set)),
        }
    }
    Err(words)
}

fn months(set: u64) -> String {
    match set.count_ones() {
        12 => String::new(),
        _ => {
            let names = numbers(set)
                .into_iter()
                .map(|month| MONTHS[month as usize - 1].to_owned());
            format!(" in {}", join(names.collect(), "and"))
        }
    }
}

fn days(days: &Days) -> Option<String> {
    let of_month = (days.of_month.days != !1).then(|| month_days(&days.of_month));
    let is_restricted = days.of_week.days != 0x7f;
    match of_month {
        None => is_restricted.then(|| week_days(&days.of_week)),
        Some(of_month) if !is_restricted && !days.is_either => Some(of_month),
        Some(of_month) if days.is_either => Some(format!("{of_month} and {}", week_days(&days.of_week))),
        Some(of_month) => Some(format!("{of_month} if that is {}", one_of(&days.of_week))),
    }
}

fn month_days(field: &MonthDays) -> String {
    let mut words = Vec::new();
    match field.days.count_ones() {
        0 => {}
        1 => words.push(format!("day {}", list(field.days.into()))),
        _ => words.push(format!("days {}", list(field.days.into()))),
    }
    let nearest = numbers(field.nearest.into()).into_iter();
    words.extend(nearest.map(|day| format!("the weekday nearest to day {day}")));
    for before in numbers(field.before_last.into()) {
        words.push(match before {
            0 => "the last day".to_owned(),
            1 => "the day before the last".to_owned(),
            n => format!("the day {n} days before the last"),
        });
    }
    if field.last_weekday {
        words.push("the last weekday".to_owned());
    }
    format!("on {} of the month", join(words, "and"))
}

/// "the second Monday of the month", for each.
fn special_week_days(field: &WeekDays) -> Vec<String> {
    let mut words = Vec::new();
    for (which, set) in NTH.into_iter().zip(field.nth).chain([("last", field.last)]) {
        let names = numbers(set.into()).into_iter().map(|day| WEEK[day as usize]);
        words.extend(names.map(|name| format!("the {which} {name} of the month")));
    }
    words
}

fn week_day_names(set: u8) -> Vec<String> {
    // The week as it is read: from Monday on.
    let from_monday = (1..=7).map(|day| day % 7).filter(|day| set >> day & 1 != 0);
    from_monday.map(|day| WEEK[day as usize].to_owned()).collect()
}

fn week_days(field: &WeekDays) -> String {
    let every = match field.days {
        0 => None,
        0x7f => Some("every day".to_owned()),
        MONDAY_TO_FRIDAY => Some("every weekday".to_owned()),
        WEEKEND => Some("every Saturday and Sunday".to_owned()),
        days => Some(format!("every {}", join(week_day_names(days), "and"))),
    };
    let special = special_week_days(field);
    let special = (!special.is_empty()).then(|| format!("on {}", join(special, "and")));
    join(every.into_iter().chain(special).collect(), "and")
}

fn one_of(field: &WeekDays) -> String {
    let mut words = match field.days {
        MONDAY_TO_FRIDAY => vec!["a weekday".to_owned()],
        days => week_day_names(days)
            .into_iter()
            .map(|name| format!("a {name}"))
            .collect(),
    };
    words.extend(special_week_days(field));
    join(words, "or")
}
