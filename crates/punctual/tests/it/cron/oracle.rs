//! An independent implementation, and random questions to both.
//!
//! The oracle reads the text anew for each number it asks about, walks civil days, then the seconds of matching days,
//! and asks the zone what each of these local times is. `PUNCTUAL_CRON_TRIPLES` sets the number of questions. They are asked on as
//! many threads as there are cores.

mod questions;

use crate::support::{Random, env_number, full_size};
use jiff::civil::{Date, DateTime};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone};
use jiff::{Timestamp, ToSpan};
use punctual::{CronDialect, Fold, Gap, Schedule};
use questions::{pick, random_instant, random_text};
use std::collections::BTreeMap;
use std::time::SystemTime;

/// A question: a text, how to read it, and where.
#[derive(Debug, Clone)]
struct Question {
    text: String,
    zone: TimeZone,
    is_spring: bool,
    gap: Gap,
    fold: Fold,
}

const WEEK: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const YEAR: [&str; 12] = [
    "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC",
];

/// What a word stands for in a field whose names begin with the number `first`.
fn value(word: &str, names: &[&str], first: i64) -> i64 {
    let named = names.iter().position(|name| name.eq_ignore_ascii_case(word));
    named.map_or_else(|| word.parse().expect("a number"), |index| index as i64 + first)
}

/// Whether a list of plain items (no special days) allows a number.
fn allows(item: &str, number: i64, least: i64, most: i64, names: &[&str]) -> bool {
    let (body, step) = item.split_once('/').unwrap_or((item, ""));
    let every: i64 = if step.is_empty() {
        1
    } else {
        step.parse().expect("a step")
    };
    let value = |word| value(word, names, least);
    let (low, high) = match body {
        "*" | "?" => (least, most),
        _ => match body.split_once('-') {
            Some((low, high)) => (value(low), value(high)),
            None if step.is_empty() => (value(body), value(body)),
            None => (value(body), most),
        },
    };
    (low..=high).contains(&number) && (number - low) % every == 0
}

/// The weekday nearest to a day, found by looking at all days of its month.
fn nearest_weekday(target: Date) -> Date {
    let days =
        (1..=target.days_in_month()).map(|day| Date::new(target.year(), target.month(), day).expect("a day"));
    let distance = |date: &Date| (i32::from(date.day()) - i32::from(target.day())).abs();
    let is_weekday = |date: &Date| date.weekday().to_sunday_zero_offset() % 6 != 0;
    days.filter(is_weekday)
        .min_by_key(distance)
        .expect("every month has weekdays")
}

impl Question {
    fn words(&self) -> Vec<&str> {
        let mut words: Vec<&str> = self.text.split(' ').collect();
        if words.len() == 5 {
            words.insert(0, "0");
        }
        words
    }

    fn allowed(&self, field: usize, most: i64) -> Vec<i64> {
        let word = self.words()[field].to_owned();
        let is_allowed = |number: &i64| word.split(',').any(|item| allows(item, *number, 0, most, &[]));
        (0..=most).filter(is_allowed).collect()
    }

    fn month_day_matches(&self, date: Date) -> bool {
        let length = date.days_in_month();
        self.words()[3].split(',').any(|item| match item {
            "L" => date.day() == length,
            "LW" => date == nearest_weekday(date.last_of_month()),
            _ if item.starts_with("L-") => {
                let before: i8 = item[2..].parse().expect("a number");
                date.day() == length - before
            }
            _ if item.ends_with('W') => {
                let day: i8 = item[..item.len() - 1].parse().expect("a number");
                day <= length
                    && date == nearest_weekday(Date::new(date.year(), date.month(), day).expect("a day"))
            }
            _ => allows(item, date.day().into(), 1, 31, &[]),
        })
    }

    fn week_day_matches(&self, date: Date) -> bool {
        let today = i64::from(date.weekday().to_sunday_zero_offset());
        self.words()[5].split(',').any(|item| {
            if let Some((day, nth)) = item.split_once('#') {
                let nth: i8 = nth.parse().expect("a number");
                let earlier = (1..=date.day()).filter(|day| (date.day() - day) % 7 == 0).count();
                value(day, &WEEK, 0) % 7 == today && earlier == nth as usize
            } else if let Some(day) = item.strip_suffix('L') {
                let next = date.checked_add(1.week()).expect("in range");
                value(day, &WEEK, 0) % 7 == today && next.month() != date.month()
            } else {
                // A range that begins with Sunday begins the week, one that ends with it ends it.
                let item = item.replace("7-", "0-").replace("-SUN", "-7");
                allows(&item, today, 0, 7, &WEEK) || today == 0 && allows(&item, 7, 0, 7, &WEEK)
            }
        })
    }

    fn day_matches(&self, date: Date) -> bool {
        let words = self.words();
        let in_month = words[4]
            .split(',')
            .any(|item| allows(item, date.month().into(), 1, 12, &YEAR));
        let is_loose = |word: &str| word.starts_with(['*', '?']);
        let (of_month, of_week) = (words[3], words[5]);
        in_month
            && if self.is_spring || is_loose(of_month) || is_loose(of_week) {
                self.month_day_matches(date) && self.week_day_matches(date)
            } else {
                self.month_day_matches(date) || self.week_day_matches(date)
            }
    }

    /// The smallest and the largest offset within three days of an instant.
    fn offsets(&self, around: i64) -> (i64, i64) {
        let hours = (-72..=72).map(|hour| self.offset(around + hour * 3_600));
        hours.fold((i64::MAX, i64::MIN), |(least, most), offset| {
            (least.min(offset), most.max(offset))
        })
    }

    fn offset(&self, at: i64) -> i64 {
        let at = Timestamp::from_second(at).expect("in range");
        self.zone.to_offset(at).seconds().into()
    }

    /// The instants at which a matching local time runs.
    fn instants(&self, local: DateTime) -> Vec<i64> {
        let hours = self.words()[2];
        let minus = |offset: Offset| offset.to_timestamp(local).expect("in range").as_second();
        match self.zone.to_ambiguous_timestamp(local).offset() {
            AmbiguousOffset::Unambiguous { offset } => vec![minus(offset)],
            AmbiguousOffset::Fold { before, after } => match self.fold {
                Fold::First => vec![minus(before)],
                Fold::Last => vec![minus(after)],
                Fold::Auto if !hours.contains('*') && !hours.contains('/') => vec![minus(before)],
                _ => vec![minus(before), minus(after)],
            },
            AmbiguousOffset::Gap { before, after } => {
                if self.gap == Gap::Skip || self.allowed(2, 23).len() == 24 {
                    return vec![];
                }
                // The change lies between the two readings of the local time: halve the distance until it is found.
                let (mut old, mut new) = (minus(after), minus(before));
                while new - old > 1 {
                    let middle = old + (new - old) / 2;
                    if self.offset(middle) == i64::from(before.seconds()) {
                        old = middle
                    } else {
                        new = middle
                    }
                }
                vec![new]
            }
        }
    }

    /// The first run after an instant.
    fn next(&self, after: Timestamp) -> Option<i64> {
        let seed = after.as_second() - i64::from(after.subsec_nanosecond() < 0);
        let seconds = |local: DateTime| Offset::UTC.to_timestamp(local).expect("in range").as_second();
        let (hours, minutes, second) = (self.allowed(2, 23), self.allowed(1, 59), self.allowed(0, 59));
        let begin = seed + self.offsets(seed).0;
        let mut date = Timestamp::from_second(begin).ok()?.to_zoned(TimeZone::UTC).date();
        let mut best: Option<i64> = None;
        // Local times that are later than this cannot run before the best.
        let mut end = i64::MAX;
        for _ in 0..366 * 45 {
            if seconds(date.at(0, 0, 0, 0)) > end {
                break;
            }
            if self.day_matches(date) {
                for hour in &hours {
                    let first = seconds(date.at(*hour as i8, 0, 0, 0));
                    if first + 3_600 < begin || first > end {
                        continue;
                    }
                    for (minute, second) in minutes.iter().flat_map(|m| second.iter().map(move |s| (*m, *s)))
                    {
                        let local = first + minute * 60 + second;
                        if local < begin || local > end {
                            continue;
                        }
                        let local = date.at(*hour as i8, minute as i8, second as i8, 0);
                        for instant in self.instants(local).into_iter().filter(|instant| *instant > seed) {
                            if best.is_none_or(|best| instant < best) {
                                best = Some(instant);
                                end = instant + self.offsets(instant).1;
                            }
                        }
                    }
                }
            }
            date = date.tomorrow().ok()?;
        }
        best
    }

    fn schedule(&self) -> Result<Schedule, punctual::ScheduleError> {
        let dialect = if self.is_spring {
            CronDialect::Spring
        } else {
            CronDialect::Unix
        };
        let name = self.zone.iana_name().expect("a named zone");
        let schedule = Schedule::cron(&self.text)?.zone(name).expect("a known zone");
        Ok(schedule.dialect(dialect)?.gap(self.gap).fold(self.fold))
    }
}

fn zones() -> Vec<TimeZone> {
    let names = jiff::tz::db().available();
    let zones: Vec<TimeZone> = names
        .filter_map(|name| TimeZone::get(name.as_str()).ok())
        .collect();
    assert!(zones.len() > 300, "only {} zones", zones.len());
    zones.into_iter().filter(|zone| !zone.is_unknown()).collect()
}

fn ask(question: &Question, from: Timestamp) -> &'static str {
    let schedule = match question.schedule() {
        Ok(schedule) => schedule,
        Err(error) => {
            // Within 28 years each month begins on each weekday, also a February of 29 days.
            let days = Date::constant(2000, 1, 1).series(1.day()).take(366 * 28);
            let possible = days.into_iter().find(|date| question.day_matches(*date));
            assert_eq!(possible, None, "{question:?}: {error}");
            return "impossible";
        }
    };
    let runs = schedule
        .preview(SystemTime::from(from), 2)
        .expect("a schedule that can be");
    let second = |at: &SystemTime| Timestamp::try_from(*at).expect("in range");
    let runs: Vec<Timestamp> = runs.iter().map(second).collect();
    let mut seed = from;
    let mut expected = Vec::new();
    while expected.len() < 2 {
        let Some(next) = question.next(seed) else { break };
        seed = Timestamp::from_second(next).expect("in range");
        expected.push(seed);
    }
    assert_eq!(runs, expected, "{question:?} from {from}: {schedule}");
    if runs.len() < 2 { "rare" } else { "runs" }
}

/// Asks those whose number is one of a stride, each about a zone, the first ones about each zone in turn.
fn ask_some(numbers: impl Iterator<Item = u64>, mut random: Random) -> BTreeMap<&'static str, u64> {
    let zones = zones();
    let mut answers = BTreeMap::new();
    for number in numbers {
        let zone = match zones.get(number as usize) {
            Some(zone) => zone.clone(),
            None => zones[random.below(zones.len() as u64) as usize].clone(),
        };
        let question = Question {
            text: random_text(&mut random),
            is_spring: random.below(3) == 0,
            gap: pick(&mut random, &[Gap::RunAtEnd, Gap::RunAtEnd, Gap::Skip]),
            fold: pick(
                &mut random,
                &[Fold::Auto, Fold::Auto, Fold::First, Fold::Last, Fold::Both],
            ),
            zone,
        };
        let from = random_instant(&mut random, &question.zone);
        *answers.entry(ask(&question, from)).or_default() += 1;
    }
    answers
}

#[test]
fn cron_the_oracle_agrees() {
    let mut random = Random::printed("cron_the_oracle_agrees");
    let triples = env_number("PUNCTUAL_CRON_TRIPLES").unwrap_or_else(|| full_size(200_000, 2_000));
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let asking: Vec<_> = (0..cores)
        .map(|first| {
            let random = Random::from_seed(random.next());
            std::thread::spawn(move || ask_some((first..triples).step_by(cores as usize), random))
        })
        .collect();
    let mut answers = BTreeMap::<&str, u64>::new();
    for some in asking {
        for (answer, times) in some.join().expect("the answers agree") {
            *answers.entry(answer).or_default() += times;
        }
    }
    println!("{triples} triples on {cores} threads: {answers:?}");
    assert_eq!(answers.values().sum::<u64>(), triples);
    assert!(answers["runs"] > triples / 2, "{answers:?}");
}
