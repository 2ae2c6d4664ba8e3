//! What the fields mean: CRON-01 to CRON-17.

use super::{assert_runs, assert_same, at, cron, spring};
use std::time::Duration;

#[test]
fn cron_01_five_and_six_fields_are_valid() {
    assert_runs(
        &cron("* * * * *"),
        "2010-01-01T00:00:00Z",
        &["2010-01-01T00:01:00Z"],
    );
    assert_runs(
        &cron("* * * * * *"),
        "2010-01-01T00:00:00Z",
        &["2010-01-01T00:00:01Z"],
    );
}

#[test]
fn cron_02_next_is_strictly_after_the_seed_and_a_whole_second() {
    let every_second = cron("* * * * * *");
    let seed = at("2010-01-01T00:00:59Z");
    let last_minute = at("2010-01-01T00:01:00Z");
    for nanos in [0, 1, 500_000_000, 999_999_999] {
        let seed = seed + Duration::from_nanos(nanos);
        assert_eq!(every_second.preview(seed, 1), Ok(vec![last_minute]));
    }
    assert_runs(
        &cron("59 * * * * *"),
        "2010-01-01T00:00:59Z",
        &["2010-01-01T00:01:59Z"],
    );
}

#[test]
fn cron_02_next_is_a_whole_second_also_before_1970() {
    for seed in [
        "1969-12-31T23:59:58Z",
        "1969-12-31T23:59:58.4Z",
        "1969-12-31T23:59:58.999999999Z",
    ] {
        assert_runs(
            &cron("* * * * * *"),
            seed,
            &["1969-12-31T23:59:59Z", "1970-01-01T00:00:00Z"],
        );
    }
}

#[test]
fn cron_03_seconds_are_met_and_roll_over() {
    let tenth = cron("10 * * * * *");
    assert_runs(&tenth, "2010-01-01T00:00:09Z", &["2010-01-01T00:00:10Z"]);
    assert_runs(&tenth, "2010-01-01T00:00:11Z", &["2010-01-01T00:01:10Z"]);
    let range = [
        "2010-01-01T00:00:10Z",
        "2010-01-01T00:00:11Z",
        "2010-01-01T00:00:12Z",
    ];
    assert_runs(&cron("10-15 * * * * *"), "2010-01-01T00:00:09Z", &range);
    assert_runs(
        &cron("10-15 * * * * *"),
        "2010-01-01T00:00:15Z",
        &["2010-01-01T00:01:10Z"],
    );
}

#[test]
fn cron_04_each_unit_rolls_over_into_the_next() {
    for (text, from, next) in [
        ("0 * * * * *", "2010-01-01T00:59:01Z", "2010-01-01T01:00:00Z"),
        ("5 * * * *", "2010-01-01T23:05:00Z", "2010-01-02T00:05:00Z"),
        ("0 5 * * *", "2010-01-31T05:00:00Z", "2010-02-01T05:00:00Z"),
        ("0 0 1 * *", "2010-12-01T00:00:00Z", "2011-01-01T00:00:00Z"),
        ("0 0 * * *", "2010-12-31T00:00:00Z", "2011-01-01T00:00:00Z"),
        ("* * * * * *", "2010-12-31T23:59:59Z", "2011-01-01T00:00:00Z"),
    ] {
        assert_runs(&cron(text), from, &[next]);
    }
}

#[test]
fn cron_05_days_cross_the_ends_of_months() {
    assert_runs(
        &cron("0 0 * * *"),
        "2009-09-29T12:00:00Z",
        &["2009-09-30T00:00:00Z", "2009-10-01T00:00:00Z"],
    );
    assert_runs(
        &cron("0 0 * * *"),
        "2009-08-30T12:00:00Z",
        &["2009-08-31T00:00:00Z", "2009-09-01T00:00:00Z"],
    );
}

#[test]
fn cron_05_day_31_runs_only_in_months_that_have_it() {
    let expected = [
        "2009-03-31T00:00:00Z",
        "2009-05-31T00:00:00Z",
        "2009-07-31T00:00:00Z",
        "2009-08-31T00:00:00Z",
    ];
    assert_runs(&cron("0 0 31 * *"), "2009-01-31T00:00:00Z", &expected);
}

#[test]
fn cron_06_weekday_2_is_tuesday() {
    assert_runs(
        &cron("0 0 * * 2"),
        "2009-09-30T00:00:00Z",
        &["2009-10-06T00:00:00Z", "2009-10-13T00:00:00Z"],
    );
}

#[test]
fn cron_06_sunday_is_0_and_7() {
    assert_runs(
        &cron("0 0 * * 0"),
        "2009-09-30T00:00:00Z",
        &["2009-10-04T00:00:00Z"],
    );
    assert_same("0 0 * * 0", "0 0 * * 7");
    assert_same("0 0 * * 0", "0 0 * * SUN");
    assert_same("0 0 * * 5-7", "0 0 * * FRI-SUN");
}

#[test]
fn cron_06_weekdays_0_to_6_are_all_names() {
    assert_same("0 0 * * 0-6", "0 0 * * TUE,WED,THU,FRI,SAT,SUN,MON");
    assert_same("0 0 * * 0-7", "0 0 * * *");
}

#[test]
fn cron_08_the_leap_day_comes_every_fourth_year_and_not_in_2100() {
    let expected = ["2008-02-29T00:00:00Z", "2012-02-29T00:00:00Z"];
    assert_runs(&cron("0 0 29 2 *"), "2007-02-10T12:00:00Z", &expected);
    let expected = ["2096-02-29T00:00:00Z", "2104-02-29T00:00:00Z"];
    assert_runs(&cron("0 0 29 2 *"), "2095-01-01T00:00:00Z", &expected);
}

#[test]
fn cron_08_the_longest_way_to_a_date_is_forty_years() {
    // A leap day on a Monday.
    let expected = ["2072-02-29T00:00:00Z", "2112-02-29T00:00:00Z"];
    assert_runs(&spring("0 0 29 2 MON"), "2044-02-29T00:00:00Z", &expected);
}

#[test]
fn cron_09_weekdays_leave_out_the_weekend() {
    let expected = [
        "2009-09-28T07:00:00Z",
        "2009-09-29T07:00:00Z",
        "2009-09-30T07:00:00Z",
    ];
    assert_runs(&cron("0 0 7 ? * MON-FRI"), "2009-09-26T00:42:55Z", &expected);
}

#[test]
fn cron_09_months_in_steps_begin_anew_each_year() {
    let expected = [
        "2011-01-30T23:30:00Z",
        "2011-04-30T23:30:00Z",
        "2011-07-30T23:30:00Z",
    ];
    assert_runs(&cron("0 30 23 30 1/3 ?"), "2010-12-30T00:00:00Z", &expected);
}

#[test]
fn cron_10_in_the_spring_dialect_both_days_must_match() {
    let expected = [
        "2009-02-13T00:00:00Z",
        "2009-03-13T00:00:00Z",
        "2009-11-13T00:00:00Z",
    ];
    assert_runs(&spring("0 0 0 13 * FRI"), "2009-01-01T00:00:00Z", &expected);
    assert_runs(
        &spring("0 0 0 29 2 WED"),
        "2009-01-01T00:00:00Z",
        &["2012-02-29T00:00:00Z"],
    );
}

#[test]
fn cron_10_in_a_crontab_either_day_matches() {
    let expected = [
        "2009-01-02T00:00:00Z",
        "2009-01-09T00:00:00Z",
        "2009-01-13T00:00:00Z",
        "2009-01-16T00:00:00Z",
    ];
    assert_runs(&cron("0 0 13 * FRI"), "2009-01-01T00:00:00Z", &expected);
    assert_runs(&cron("0 0 0 13 * FRI"), "2009-01-01T00:00:00Z", &expected);
}

#[test]
fn cron_10_in_a_crontab_a_field_that_begins_with_a_star_restricts_nothing_by_itself() {
    // The odd days that are Mondays, as crontabs have it.
    let expected = [
        "2009-01-05T00:00:00Z",
        "2009-01-19T00:00:00Z",
        "2009-02-09T00:00:00Z",
    ];
    assert_runs(&cron("0 0 */2 * MON"), "2009-01-01T00:00:00Z", &expected);
    let expected = [
        "2009-02-01T00:00:00Z",
        "2009-03-01T00:00:00Z",
        "2009-08-01T00:00:00Z",
    ];
    assert_runs(&cron("0 0 1 * */6"), "2009-01-01T00:00:00Z", &expected);
}

#[test]
fn cron_12_a_question_mark_is_a_star_in_the_day_fields() {
    assert_same("0 12 ? * *", "0 12 * * *");
    assert_same("0 12 * * ?", "0 12 * * *");
    assert_same("0 12 ? * ?", "0 12 * * *");
    assert_same("0 12 ? * 2", "0 12 * * 2");
    assert_same("0 12 2 * ?", "0 12 2 * *");
}

#[test]
fn cron_13_steps_begin_where_they_say() {
    assert_same("57/2 * * * * *", "57,59 * * * * *");
    assert_same("1-6/2 * * * * *", "1,3,5 * * * * *");
    assert_same("0 0 4/4 * * *", "0 0 4,8,12,16,20 * * *");
    assert_same("5,10-30/2 * * * *", "5,10,12,14,16,18,20,22,24,26,28,30 * * * *");
    assert_same("*/15 * * * *", "0,15,30,45 * * * *");
    assert_same("0 0 */10 * *", "0 0 1,11,21,31 * *");
    assert_same("0 0 1 */5 *", "0 0 1 1,6,11 *");
    assert_same("0 0 * * 1-6/2", "0 0 * * 1,3,5");
    assert_same("0 0 * * */3", "0 0 * * SUN,WED,SAT");
    assert_same("0 0 * * 1/3", "0 0 * * MON,THU,SUN");
}

#[test]
fn cron_14_names_are_in_any_case_and_order() {
    assert_same(
        "0 0 1 feb,JAN,Mar,apR,MAY,jun,JUL,aug,SEP,oct,NOV,dec *",
        "0 0 1 1-12 *",
    );
    assert_same("0 0 1 jan-Mar *", "0 0 1 1-3 *");
    assert_same("0 0 * * fri,Mon,WED", "0 0 * * 1,3,5");
    assert_same("0 0 * * mon-fri/2", "0 0 * * 1,3,5");
}

#[test]
fn cron_14_repeated_spaces_are_tolerated() {
    assert_same("  0   9\t*  * \n 1  ", "0 9 * * 1");
    assert_same(" @daily ", "0 0 * * *");
}

#[test]
fn cron_16_a_weekday_range_may_begin_with_sunday() {
    assert_same("0 0 * * 7-5", "0 0 * * 0,1,2,3,4,5");
    assert_same("0 0 * * SUN-FRI", "0 0 * * 0,1,2,3,4,5");
    let expected = [
        "2021-02-25T00:00:00Z",
        "2021-02-26T00:00:00Z",
        "2021-02-28T00:00:00Z",
    ];
    assert_runs(&cron("0 0 * * SUN-FRI"), "2021-02-24T00:00:00Z", &expected);
}

#[test]
fn cron_16_sunday_to_sunday_is_sunday() {
    for range in ["SUN-SUN", "7-7", "0-0", "7-SUN", "7-0"] {
        assert_same(&format!("0 0 * * {range}"), "0 0 * * SUN");
    }
}

#[test]
fn cron_17_the_shorthands_equal_their_six_fields() {
    for (shorthand, fields) in [
        ("@yearly", "0 0 0 1 1 *"),
        ("@annually", "0 0 0 1 1 *"),
        ("@monthly", "0 0 0 1 * *"),
        ("@weekly", "0 0 0 * * 0"),
        ("@daily", "0 0 0 * * *"),
        ("@Midnight", "0 0 0 * * *"),
        ("@HOURLY", "0 0 * * * *"),
    ] {
        assert_same(shorthand, fields);
    }
}
