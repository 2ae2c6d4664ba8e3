//! Schedules as values, and cron: `CRON-..`.

/// Daylight saving: gaps, folds, zones.
mod clocks;
/// What the fields mean.
mod fields;
/// An independent implementation, and random questions to both.
mod oracle;
/// What is refused, and how.
mod refusing;
/// `L`, `W` and `#`.
mod special;
/// Schedules that are not cron; starts, ends, sentences.
mod values;

use jiff::Timestamp;
use punctual::{CronDialect, Schedule};
use std::time::SystemTime;

/// An instant such as `2010-12-31T23:59:59Z`, or with an offset.
fn at(text: &str) -> SystemTime {
    let instant: Timestamp = text.parse().expect("an instant");
    instant.into()
}

/// Instants as `2010-12-31T23:59:59Z`.
fn shown(instants: Vec<SystemTime>) -> Vec<String> {
    let show = |at| Timestamp::try_from(at).expect("in range").to_string();
    instants.into_iter().map(show).collect()
}

fn cron(text: &str) -> Schedule {
    Schedule::cron(text).expect("a cron text")
}

/// Both day fields must match.
fn spring(text: &str) -> Schedule {
    cron(text).dialect(CronDialect::Spring).expect("possible days")
}

#[track_caller]
fn assert_runs(schedule: &Schedule, from: &str, expected: &[&str]) {
    let runs = schedule
        .preview(at(from), expected.len())
        .expect("a schedule that can be");
    assert_eq!(shown(runs), expected, "{schedule} from {from}");
}

/// The local times at which it runs, from a local time on.
#[track_caller]
fn assert_local_runs(schedule: &Schedule, zone: &str, from: &str, expected: &[&str]) {
    let from = format!("{from}[{zone}]")
        .parse::<jiff::Zoned>()
        .expect("a local time");
    let runs = schedule
        .preview(from.timestamp().into(), expected.len())
        .expect("a schedule that can be");
    let local = |run: SystemTime| {
        let local = Timestamp::try_from(run)
            .expect("in range")
            .to_zoned(from.time_zone().clone());
        local.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    };
    assert_eq!(
        runs.into_iter().map(local).collect::<Vec<_>>(),
        expected,
        "{schedule} from {from}"
    );
}

/// Two texts that mean the same, shown by a year's worth of runs from several instants.
#[track_caller]
fn assert_same(one: &str, other: &str) {
    for from in [
        "2010-01-01T00:00:00Z",
        "2012-02-28T23:59:59Z",
        "2019-12-31T12:30:30Z",
    ] {
        let [one, other] = [one, other].map(|text| shown(cron(text).preview(at(from), 400).expect("runs")));
        assert_eq!(one, other);
    }
}
