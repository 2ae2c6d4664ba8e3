//! Random texts and instants.

use super::{WEEK, YEAR};
use crate::support::Random;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};

/// One of these.
pub(super) fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

fn between(random: &mut Random, low: u64, high: u64) -> u64 {
    low + random.below(high - low + 1)
}

/// A field without special days.
fn random_field(random: &mut Random, least: u64, most: u64) -> String {
    let items = [1, 1, 1, 2, 3];
    let item = |random: &mut Random| {
        let low = between(random, least, most);
        let high = between(random, low, most);
        let step = between(random, 1, (most - least) / 2);
        match random.below(6) {
            0 => format!("{low}-{high}"),
            1 => format!("{low}-{high}/{step}"),
            2 => format!("{low}/{step}"),
            3 => format!("*/{step}"),
            _ => low.to_string(),
        }
    };
    let items: Vec<String> = (0..pick(random, &items)).map(|_| item(random)).collect();
    items.join(",")
}

fn random_month_days(random: &mut Random) -> String {
    let item = |random: &mut Random| match random.below(8) {
        0 => "L".to_owned(),
        1 => "LW".to_owned(),
        2 => format!("L-{}", between(random, 1, 30)),
        3 | 4 => format!("{}W", between(random, 1, 31)),
        _ => random_field(random, 1, 31),
    };
    let items: Vec<String> = (0..pick(random, &[1, 1, 2])).map(|_| item(random)).collect();
    items.join(",")
}

fn random_week_days(random: &mut Random) -> String {
    let day = |random: &mut Random| match random.below(2) {
        0 => random.below(8).to_string(),
        _ => pick(random, &WEEK).to_owned(),
    };
    let ranges = [
        "MON-FRI", "7-5", "SUN-FRI", "FRI-SUN", "SAT-SUN", "0-7", "1-6/2", "7-6/3",
    ];
    let item = |random: &mut Random| match random.below(6) {
        0 => format!("{}#{}", day(random), between(random, 1, 5)),
        1 => format!("{}L", day(random)),
        2 => pick(random, &ranges).to_owned(),
        3 => random_field(random, 0, 6),
        _ => day(random),
    };
    let items: Vec<String> = (0..pick(random, &[1, 1, 2])).map(|_| item(random)).collect();
    items.join(",")
}

/// Five or six fields.
pub(super) fn random_text(random: &mut Random) -> String {
    let sometimes = |random: &mut Random, n: u64| random.below(n) == 0;
    let second = match random.below(40) {
        0 => Some("*".to_owned()),
        1..=9 => Some(random_field(random, 0, 59)),
        _ => None,
    };
    let minute = match random.below(8) {
        0 => "*".to_owned(),
        1..=3 => pick(random, &["0", "30", "*/15", "59", "5,35"]).to_owned(),
        _ => random_field(random, 0, 59),
    };
    // The small hours are those in which clocks are changed.
    let hour = match random.below(8) {
        0 => "*".to_owned(),
        1 => pick(random, &["*/2", "1/3", "2/5", "0-23"]).to_owned(),
        2..=5 => pick(random, &["0", "1", "2", "3", "1-3", "0,2,3", "23", "1,2"]).to_owned(),
        _ => random_field(random, 0, 23),
    };
    let of_month = if sometimes(random, 3) {
        random_month_days(random)
    } else {
        pick(random, &["*", "?"]).to_owned()
    };
    let month = match random.below(6) {
        0 => pick(random, &YEAR).to_owned(),
        1 => random_field(random, 1, 12),
        2 => pick(random, &["2", "MAR", "10-11", "FEB,APR-JUN"]).to_owned(),
        _ => "*".to_owned(),
    };
    let of_week = if sometimes(random, 3) {
        random_week_days(random)
    } else {
        pick(random, &["*", "?"]).to_owned()
    };
    let fields = second.into_iter().chain([minute, hour, of_month, month, of_week]);
    fields.collect::<Vec<_>>().join(" ")
}

/// An instant between 1900 and 2100; every other one within a day of a change of the zone's clocks.
pub(super) fn random_instant(random: &mut Random, zone: &TimeZone) -> Timestamp {
    let any = between(random, 0, 6_311_433_600) as i64 - 2_208_988_800;
    let any = Timestamp::from_second(any).expect("in range");
    let change = zone.following(any).next().filter(|_| random.below(2) == 0);
    let near = match random.below(4) {
        0 => between(random, 0, 4) as i64 - 2,
        1 => between(random, 0, 7_200) as i64 - 3_600,
        _ => between(random, 0, 2 * 86_400) as i64 - 86_400,
    };
    let begin = change.map_or(any, |change| change.timestamp() + near.seconds());
    let nanos = [0, 0, 1, 500_000_000, 999_999_999];
    begin + pick(random, &nanos).nanoseconds()
}
