//! Zones, and clocks that are put forward and back: CRON-23 to CRON-29.

use super::{assert_local_runs, assert_runs, at, cron, shown};
use punctual::{Fold, Gap, Schedule};
use std::time::Duration;

const AMSTERDAM: &str = "Europe/Amsterdam";

fn amsterdam(text: &str) -> Schedule {
    cron(text).zone(AMSTERDAM).expect("a zone")
}

#[test]
fn cron_23_nine_o_clock_stays_nine_o_clock() {
    let daily = amsterdam("0 9 * * *");
    let spring = [
        "2021-03-27T09:00:00+01:00",
        "2021-03-28T09:00:00+02:00",
        "2021-03-29T09:00:00+02:00",
    ];
    assert_local_runs(&daily, AMSTERDAM, "2021-03-26T10:00:00", &spring);
    let autumn = [
        "2021-10-30T09:00:00+02:00",
        "2021-10-31T09:00:00+01:00",
        "2021-11-01T09:00:00+01:00",
    ];
    assert_local_runs(&daily, AMSTERDAM, "2021-10-29T10:00:00", &autumn);
}

#[test]
fn cron_24_a_time_in_the_gap_is_skipped_if_asked() {
    let daily = amsterdam("10 2 * * *").gap(Gap::Skip);
    let expected = ["2013-03-30T02:10:00+01:00", "2013-04-01T02:10:00+02:00"];
    assert_local_runs(&daily, AMSTERDAM, "2013-03-29T10:00:00", &expected);
}

#[test]
fn cron_24_a_time_in_the_gap_runs_at_its_end() {
    let daily = amsterdam("10 2 * * *");
    let expected = [
        "2013-03-30T02:10:00+01:00",
        "2013-03-31T03:00:00+02:00",
        "2013-04-01T02:10:00+02:00",
    ];
    assert_local_runs(&daily, AMSTERDAM, "2013-03-29T10:00:00", &expected);
    // Also if the search begins with the last second before the gap.
    assert_local_runs(&daily, AMSTERDAM, "2013-03-31T01:59:59", &expected[1..]);
    assert_local_runs(&daily, AMSTERDAM, "2013-03-31T03:00:00", &expected[2..]);
}

#[test]
fn cron_24_many_times_in_the_gap_are_one_run() {
    let often = amsterdam("*/20 2,4 * * *");
    let expected = [
        "2013-03-31T03:00:00+02:00",
        "2013-03-31T04:00:00+02:00",
        "2013-03-31T04:20:00+02:00",
    ];
    assert_local_runs(&often, AMSTERDAM, "2013-03-31T00:00:00", &expected);
}

#[test]
fn cron_24_what_runs_in_every_hour_has_missed_nothing() {
    let expected = [
        "2013-03-31T01:30:00+01:00",
        "2013-03-31T03:30:00+02:00",
        "2013-03-31T04:30:00+02:00",
    ];
    assert_local_runs(
        &amsterdam("30 * * * *"),
        AMSTERDAM,
        "2013-03-31T01:00:00",
        &expected,
    );
    // Every other hour has: its next turn would be two hours late.
    let expected = [
        "2013-03-31T00:30:00+01:00",
        "2013-03-31T03:00:00+02:00",
        "2013-03-31T04:30:00+02:00",
    ];
    assert_local_runs(
        &amsterdam("30 */2 * * *"),
        AMSTERDAM,
        "2013-03-31T00:00:00",
        &expected,
    );
}

#[test]
fn cron_24_a_whole_day_may_be_missing() {
    // Samoa crossed the date line: 30 December 2011 did not happen there.
    let daily = cron("0 9 * * *").zone("Pacific/Apia").expect("a zone");
    let kept = [
        "2011-12-29T09:00:00-10:00",
        "2011-12-31T00:00:00+14:00",
        "2011-12-31T09:00:00+14:00",
    ];
    assert_local_runs(&daily, "Pacific/Apia", "2011-12-28T12:00:00", &kept);
    let daily = daily.gap(Gap::Skip);
    assert_local_runs(&daily, "Pacific/Apia", "2011-12-28T12:00:00", &[kept[0], kept[2]]);
}

#[test]
fn cron_24_a_gap_at_midnight_does_not_cost_the_day() {
    // Cairo's clocks went from 00:00 to 01:00.
    let cairo = |text| cron(text).zone("Africa/Cairo").expect("a zone").gap(Gap::Skip);
    let expected = [
        "2024-04-25T22:00:00+02:00",
        "2024-04-26T02:00:00+03:00",
        "2024-04-26T04:00:00+03:00",
    ];
    assert_local_runs(
        &cairo("0 */2 * * *"),
        "Africa/Cairo",
        "2024-04-25T20:30:00",
        &expected,
    );
}

#[test]
fn cron_24_what_falls_into_the_gap_each_year_ends_the_search() {
    let never = amsterdam("30 2 * 3 SUNL").gap(Gap::Skip);
    assert_eq!(never.preview(at("2021-01-01T00:00:00Z"), 1), Ok(vec![]));
}

#[test]
fn cron_24_a_time_that_fell_into_the_gap_for_many_years_is_found() {
    // Moscow put its clocks forward at 02:00 on the last Sunday of March until 2011, and then no more.
    let yearly = cron("30 2 * 3 SUNL")
        .zone("Europe/Moscow")
        .expect("a zone")
        .gap(Gap::Skip);
    let expected = ["2012-03-25T02:30:00+04:00"];
    assert_local_runs(&yearly, "Europe/Moscow", "1994-01-01T00:00:00", &expected);
}

#[test]
fn cron_26_five_past_midnight_comes_once_on_the_day_after_each_change() {
    let daily = amsterdam("5 0 * * *");
    let spring = [
        "2021-03-28T00:05:00+01:00",
        "2021-03-29T00:05:00+02:00",
        "2021-03-30T00:05:00+02:00",
    ];
    assert_local_runs(&daily, AMSTERDAM, "2021-03-27T12:00:00", &spring);
    let autumn = [
        "2021-10-31T00:05:00+02:00",
        "2021-11-01T00:05:00+01:00",
        "2021-11-02T00:05:00+01:00",
    ];
    assert_local_runs(&daily, AMSTERDAM, "2021-10-30T12:00:00", &autumn);
}

#[test]
fn cron_27_a_named_hour_that_comes_twice_runs_at_its_first() {
    let expected = ["2013-10-27T02:30:00+02:00", "2013-10-28T02:30:00+01:00"];
    for text in ["30 2 * * *", "30 1-2 * * *", "30 1,2 * * *"] {
        assert_local_runs(&amsterdam(text), AMSTERDAM, "2013-10-27T02:00:00", &expected[..1]);
    }
    let daily = amsterdam("30 2 * * *");
    assert_local_runs(&daily, AMSTERDAM, "2013-10-27T00:00:00", &expected);
    assert_local_runs(
        &daily.fold(Fold::First),
        AMSTERDAM,
        "2013-10-27T00:00:00",
        &expected,
    );
}

#[test]
fn cron_27_an_hour_that_recurs_runs_both_times() {
    let expected = ["2013-10-27T02:30:00+02:00", "2013-10-27T02:30:00+01:00"];
    for text in ["30 * * * *", "30 */2 * * *", "30 2/5 * * *"] {
        assert_local_runs(&amsterdam(text), AMSTERDAM, "2013-10-27T02:00:00", &expected);
    }
}

#[test]
fn cron_27_the_last_of_two_if_asked() {
    let daily = amsterdam("30 2 * * *").fold(Fold::Last);
    let expected = ["2013-10-27T02:30:00+01:00", "2013-10-28T02:30:00+01:00"];
    assert_local_runs(&daily, AMSTERDAM, "2013-10-27T00:00:00", &expected);
    // However many of them there are.
    let seconds = amsterdam("* * 2 * * *").fold(Fold::Last);
    assert_local_runs(
        &seconds,
        AMSTERDAM,
        "2013-10-27T00:00:00",
        &["2013-10-27T02:00:00+01:00"],
    );
}

#[test]
fn cron_27_both_if_asked_in_the_order_in_which_they_come() {
    let twice = amsterdam("0,30 2 * * *").fold(Fold::Both);
    let expected = [
        "2013-10-27T02:00:00+02:00",
        "2013-10-27T02:30:00+02:00",
        "2013-10-27T02:00:00+01:00",
        "2013-10-27T02:30:00+01:00",
        "2013-10-28T02:00:00+01:00",
    ];
    assert_local_runs(&twice, AMSTERDAM, "2013-10-27T00:00:00", &expected);
}

#[test]
fn cron_27_both_also_if_the_next_date_is_a_year_away() {
    let yearly = amsterdam("30 2 27 OCT *").fold(Fold::Both);
    let expected = [
        "2013-10-27T02:30:00+02:00",
        "2013-10-27T02:30:00+01:00",
        "2014-10-27T02:30:00+01:00",
    ];
    assert_local_runs(&yearly, AMSTERDAM, "2013-10-27T00:00:00", &expected);
}

#[test]
fn cron_27_once_is_once_although_the_clock_is_put_back_right_after() {
    // Seconds of the hour before the change, first and second time.
    let often = amsterdam("59 59 1,2 * * *");
    let expected = [
        "2013-10-27T01:59:59+02:00",
        "2013-10-27T02:59:59+02:00",
        "2013-10-28T01:59:59+01:00",
    ];
    assert_local_runs(&often, AMSTERDAM, "2013-10-27T00:00:00", &expected);
}

#[test]
fn cron_29_the_zone_is_utc_unless_it_is_given() {
    let daily = cron("0 9 * * *");
    assert_runs(&daily, "2021-01-01T00:00:00Z", &["2021-01-01T09:00:00Z"]);
    assert_eq!(daily.to_string(), "every day at 09:00, UTC");
    let seoul = daily.zone("Asia/Seoul").expect("a zone");
    assert_runs(&seoul, "2021-01-01T00:00:00Z", &["2021-01-02T00:00:00Z"]);
    assert_eq!(seoul.to_string(), "every day at 09:00, Asia/Seoul");
}

#[test]
fn cron_29_the_last_zone_counts_and_its_name_is_in_any_case() {
    let schedule = cron("0 9 * * *")
        .zone("Asia/Seoul")
        .and_then(|cron| cron.zone("america/new_york"));
    let schedule = schedule.expect("a zone");
    assert_runs(&schedule, "2021-01-01T00:00:00Z", &["2021-01-01T14:00:00Z"]);
    assert_eq!(schedule.to_string(), "every day at 09:00, America/New_York");
}

#[test]
fn a_cron_schedule_beyond_the_calendar_has_no_next_run() {
    let Some(far) = at("9999-12-30T00:00:00Z").checked_add(Duration::from_secs(3 * 86_400)) else {
        return;
    };
    assert_eq!(
        shown(
            amsterdam("0 0 * * *")
                .preview(far, 1)
                .expect("a schedule that can be")
        ),
        [""; 0]
    );
}
