//! What is refused, and how: CRON-01, CRON-07, CRON-15, CRON-22, and zones.

use super::cron;
use punctual::{CronDialect, Schedule, ScheduleError};
use std::time::Duration;

#[track_caller]
fn refused(text: &str) -> ScheduleError {
    match Schedule::cron(text) {
        Ok(schedule) => panic!("{text:?} was read as {schedule}"),
        Err(error) => error,
    }
}

/// Each of these, in place of a field of `* * * * * *`, is refused with the field's name.
#[track_caller]
fn assert_refused(place: usize, name: &str, values: &[&str]) {
    for value in values {
        let mut fields = ["*"; 6];
        fields[place] = value;
        let error = refused(&fields.join(" "));
        assert_eq!(error.field(), name, "{value}");
        let begin = format!("{name} (field {} of 6) = ", place + 1);
        assert!(error.to_string().starts_with(&begin), "{error}");
    }
}

#[test]
fn cron_01_other_numbers_of_fields_are_named() {
    for (text, count) in [
        ("", 0),
        ("   ", 0),
        ("*", 1),
        ("* * * *", 4),
        ("* * * * * * *", 7),
    ] {
        let error = refused(text);
        assert_eq!(error.field(), "cron");
        let text = error.to_string();
        assert!(text.contains(&format!("it has {count} fields")), "{text}");
        assert!(text.contains("5 (minute first) or 6 (second first)"), "{text}");
    }
}

#[test]
fn cron_07_dates_that_never_come_are_refused() {
    for text in [
        "0 0 31 6 *",
        "0 0 0 30 2 ?",
        "0 0 31 2,4,6,9,11 *",
        "0 0 31W 6 *",
        "0 0 L-30 4 *",
    ] {
        let error = refused(text);
        assert_eq!(error.field(), "day of month");
        assert!(error.to_string().contains("no day of any year"), "{error}");
    }
    let text = refused("0 0 31 JUN *").to_string();
    assert_eq!(
        text,
        "day of month (field 3 of 5) = 31: no day of any year has this day of month, month JUN and day of week *; \
         name a date that exists"
    );
}

#[test]
fn cron_07_what_is_possible_depends_on_the_dialect() {
    // Mondays in June, or a day that is the 31st of June and a Monday.
    let either = cron("0 0 31 6 MON");
    let error = either.dialect(CronDialect::Spring).expect_err("no such day");
    assert_eq!(error.field(), "day of month");
    // The second Monday is never the first of a month.
    let error = cron("0 0 1 * MON#2")
        .dialect(CronDialect::Spring)
        .expect_err("no such day");
    assert_eq!(format!("{error:#}").lines().last(), Some("      ^^^^^^^^^"));
    assert!(cron("0 0 8 * MON#2").dialect(CronDialect::Spring).is_ok());
}

#[test]
fn cron_15_values_out_of_range_are_refused() {
    assert_refused(
        0,
        "second",
        &["60", "-1", "0-60", "59-60", "a", "1.5", "L", "?", "1?"],
    );
    assert_refused(1, "minute", &["60", "0-60", "MON", "?", "99999999999999999999"]);
    assert_refused(2, "hour", &["24", "0-24", "-", "3-", "-3"]);
    assert_refused(3, "day of month", &["0", "32", "0-5", "5-32", "MON"]);
    assert_refused(4, "month", &["0", "13", "0-5", "5-13", "MON", "JANUARY", "?"]);
    assert_refused(5, "day of week", &["8", "0-8", "JAN", "MONDAY", "-1"]);
}

#[test]
fn cron_15_steps_of_nothing_are_refused() {
    assert_refused(
        0,
        "second",
        &["*/0", "5/0", "1-5/0", "*/", "*/a", "*/-1", "*/2/2", "/5"],
    );
    assert_refused(5, "day of week", &["*/0", "MON/0", "*/MON"]);
}

#[test]
fn cron_15_reversed_ranges_are_refused() {
    assert_refused(0, "second", &["20-10"]);
    assert_refused(3, "day of month", &["20-10"]);
    assert_refused(4, "month", &["DEC-JAN", "1-2-3"]);
    assert_refused(5, "day of week", &["FRI-MON", "5-0", "6-1"]);
}

#[test]
fn cron_15_what_is_glued_together_or_missing_is_refused() {
    assert_refused(
        5,
        "day of week",
        &["*SUN", "SUN*", "**", "?,1", "??", "SUN,,MON", ",", "1,"],
    );
    assert_refused(1, "minute", &["*5", "5*", "1,,2", "**"]);
}

#[test]
fn cron_22_malformed_special_days_are_refused() {
    let days = [
        "1L", "LL", "4L", "W", "W1", "WW", "32W", "0W", "L-", "L-0", "L-31", "L3", "LW-1", "1-5W", "15W/2",
    ];
    assert_refused(3, "day of month", &days);
    let days = [
        "L", "L1", "LL", "8L", "-4L", "#", "1#", "#1", "1#L", "L#1", "8#1", "1#0", "1#6", "1-5#2", "15W",
        "1L2",
    ];
    assert_refused(5, "day of week", &days);
}

#[test]
fn an_error_points_at_the_place() {
    let error = refused(" 0  0 1,32,5   * *");
    assert_eq!(
        error.to_string(),
        "day of month (field 3 of 5) = 32: days of the month go from 1 to 31; \
         write a day of month in that range, or * for every day of month"
    );
    assert!(
        format!("{error:#}").ends_with("\n   0  0 1,32,5   * *\n          ^^"),
        "{error:#}"
    );
    let error = refused("0 0\t* *\n8");
    assert!(
        format!("{error:#}").ends_with("\n  0 0 * * 8\n          ^"),
        "{error:#}"
    );
    let error = refused("0 0 * JAN-FOO *");
    assert!(
        error
            .to_string()
            .starts_with("month (field 4 of 5) = FOO: months go from 1 to 12 or JAN to DEC;")
    );
    assert!(
        format!("{error:#}").ends_with("\n  0 0 * JAN-FOO *\n        ^^^^^^^"),
        "{error:#}"
    );
}

#[test]
fn shorthands_that_are_not_known_are_refused() {
    for text in ["@", "@reboot", "@every 5m", "@daily 5", "@ daily"] {
        let text = refused(text).to_string();
        assert!(
            text.contains("@yearly, @annually, @monthly, @weekly, @daily, @midnight, @hourly"),
            "{text}"
        );
    }
}

#[test]
fn long_and_strange_texts_are_refused() {
    let long = format!("{} * * * *", ["0"; 130].join(","));
    assert!(
        refused(&long).to_string().contains("at most 256"),
        "{}",
        long.len()
    );
    for text in ["0 0 * * ＊", "0 0 * * \u{0}", "é"] {
        assert_eq!(refused(text).field(), "cron");
    }
}

#[test]
fn zones_that_are_not_known_are_refused() {
    for zone in [
        "",
        "Asia/Soul",
        "Mars/Olympus",
        "+09:00",
        "../../etc/passwd",
        "Etc/Unknown",
    ] {
        let error = cron("0 9 * * *").zone(zone).expect_err("no such zone");
        assert_eq!(error.field(), "zone");
        assert!(
            error
                .to_string()
                .starts_with(&format!("zone = {zone:?}: no time zone has this name; "))
        );
    }
}

#[test]
fn zones_and_dialects_belong_to_cron() {
    let every = Schedule::every(Duration::from_secs(1));
    let error = every.clone().zone("Asia/Seoul").expect_err("no local time");
    assert_eq!(
        error.to_string(),
        "zone = Asia/Seoul: only a cron schedule goes by local time; leave it out, or begin with Schedule::cron"
    );
    assert_eq!(
        every
            .dialect(CronDialect::Unix)
            .expect_err("no local time")
            .field(),
        "dialect"
    );
}
