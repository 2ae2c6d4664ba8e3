//! `L`, `W` and `#`: CRON-18 to CRON-21.

use super::{assert_runs, assert_same, cron, spring};

/// Runs at midnight of these days.
#[track_caller]
fn assert_days(text: &str, from: &str, expected: &[&str]) {
    let midnight = |day: &&str| format!("{day}T00:00:00Z");
    let expected: Vec<String> = expected.iter().map(midnight).collect();
    let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
    for schedule in [cron(text), spring(text)] {
        assert_runs(&schedule, &format!("{from}T12:00:00Z"), &expected);
    }
}

#[test]
fn cron_18_the_last_day_of_each_month() {
    assert_days(
        "0 0 L * *",
        "2007-12-31",
        &["2008-01-31", "2008-02-29", "2008-03-31", "2008-04-30"],
    );
    assert_same("0 0 l * *", "0 0 L * *");
}

#[test]
fn cron_18_days_before_the_last() {
    assert_days(
        "0 0 L-3 * *",
        "2007-12-31",
        &["2008-01-28", "2008-02-26", "2008-03-28", "2008-04-27"],
    );
    // Only months of 31 days have a day that is thirty before the last.
    assert_days(
        "0 0 L-30 * *",
        "2007-12-31",
        &["2008-01-01", "2008-03-01", "2008-05-01"],
    );
}

#[test]
fn cron_19_the_last_weekday_of_each_month() {
    assert_days(
        "0 0 LW * *",
        "2007-12-31",
        &[
            "2008-01-31",
            "2008-02-29",
            "2008-03-31",
            "2008-04-30",
            "2008-05-30",
        ],
    );
    // The last of August 2008 is a Sunday.
    assert_days("0 0 LW 8 *", "2007-12-31", &["2008-08-29"]);
}

#[test]
fn cron_19_the_weekday_nearest_to_a_day() {
    assert_days(
        "0 0 15W * *",
        "2019-12-31",
        &["2020-01-15", "2020-02-14", "2020-03-16", "2020-04-15"],
    );
    assert_same("0 0 15w * *", "0 0 15W * *");
}

#[test]
fn cron_19_the_nearest_weekday_stays_in_its_month() {
    // The first of February 2020 is a Saturday, the last of May 2020 a Sunday.
    assert_days(
        "0 0 1W * *",
        "2020-01-15",
        &["2020-02-03", "2020-03-02", "2020-04-01"],
    );
    assert_days(
        "0 0 31W * *",
        "2019-12-31",
        &["2020-01-31", "2020-03-31", "2020-05-29", "2020-07-31"],
    );
}

#[test]
fn cron_21_the_last_of_a_weekday() {
    assert_days(
        "0 0 * * 5L",
        "2008-01-01",
        &["2008-01-25", "2008-02-29", "2008-03-28"],
    );
    assert_same("0 0 * * 5L", "0 0 * * fril");
    assert_same("0 0 * * 0L", "0 0 * * 7L");
}

#[test]
fn cron_21_the_nth_of_a_weekday() {
    assert_days(
        "0 0 * * MON#2",
        "2020-01-01",
        &["2020-01-13", "2020-02-10", "2020-03-09"],
    );
    // Months with five Mondays.
    assert_days(
        "0 0 * * 1#5",
        "2020-01-01",
        &["2020-03-30", "2020-06-29", "2020-08-31"],
    );
    assert_same("0 0 * * 0#1", "0 0 * * 7#1");
}

#[test]
fn cron_21_lists_mix_special_days() {
    let expected = [
        "2020-01-01",
        "2020-01-15",
        "2020-01-31",
        "2020-02-03",
        "2020-02-15",
        "2020-02-28",
    ];
    assert_days("0 0 1W,15,LW * *", "2019-12-31", &expected);
    let expected = [
        "2020-01-02",
        "2020-01-16",
        "2020-01-30",
        "2020-02-06",
        "2020-02-20",
        "2020-03-05",
    ];
    assert_days("0 0 * * THU#1,THU#3,THU#5", "2019-12-31", &expected);
    let expected = [
        "2020-01-06",
        "2020-01-07",
        "2020-01-13",
        "2020-01-20",
        "2020-01-27",
        "2020-01-31",
    ];
    assert_days("0 0 * * MON,2#1,5L", "2020-01-03", &expected);
}

#[test]
fn cron_21_special_days_with_every_hour_run_on_that_day_only() {
    for (text, before, day, next) in [
        ("0 * L * *", "2020-01-30", "2020-01-31", "2020-02-29"),
        ("0 * 15W * *", "2020-02-13", "2020-02-14", "2020-03-16"),
        ("0 * * * MON#2", "2020-01-12", "2020-01-13", "2020-02-10"),
        ("0 * * * FRIL", "2020-01-30", "2020-01-31", "2020-02-28"),
    ] {
        let mut expected: Vec<String> = (0..24).map(|hour| format!("{day}T{hour:02}:00:00Z")).collect();
        expected.push(format!("{next}T00:00:00Z"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        assert_runs(&cron(text), &format!("{before}T12:00:00Z"), &expected);
    }
}
