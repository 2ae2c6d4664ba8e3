//! Schedules as values: first and next runs, starts and ends, sentences.

use super::{assert_runs, at, cron, spring};
use punctual::{Fold, Gap, LastRun, Schedule};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);
const NOON: &str = "2026-11-16T12:00:00Z";

fn noon() -> SystemTime {
    at(NOON)
}

#[test]
fn a_fixed_rate_begins_at_once_and_goes_on_by_its_period() {
    let expected = [NOON, "2026-11-16T12:00:10Z", "2026-11-16T12:00:20Z"];
    assert_runs(&Schedule::every(10 * SECOND), NOON, &expected);
    assert_runs(&Schedule::with_delay(10 * SECOND), NOON, &expected);
}

#[test]
fn a_fixed_rate_of_zero_is_refused_and_a_pause_of_zero_is_not() {
    let error = Schedule::every(Duration::ZERO)
        .preview(noon(), 1)
        .expect_err("no rate");
    assert_eq!(
        error.to_string(),
        "every = 0 s: a fixed rate needs a period; \
         set a period above zero, or use with_delay to run again at once"
    );
    assert_runs(&Schedule::with_delay(Duration::ZERO), NOON, &[NOON; 3]);
}

#[test]
fn once_is_once_and_a_past_instant_is_now() {
    let once = Schedule::once_at(noon());
    assert_eq!(once.preview(noon() - SECOND, 9), Ok(vec![noon()]));
    assert_eq!(once.preview(noon() + SECOND, 9), Ok(vec![noon() + SECOND]));
}

#[test]
fn a_start_holds_back_the_first_run() {
    for schedule in [Schedule::every(10 * SECOND), Schedule::with_delay(10 * SECOND)] {
        let expected = ["2026-11-16T12:00:03Z", "2026-11-16T12:00:13Z"];
        assert_runs(&schedule.clone().starting_in(3 * SECOND), NOON, &expected);
        assert_runs(
            &schedule.clone().starting_at(noon() + 3 * SECOND),
            NOON,
            &expected,
        );
        // One that has passed changes nothing; the last one counts.
        assert_runs(&schedule.clone().starting_at(noon() - 3 * SECOND), NOON, &[NOON]);
        let twice = schedule.starting_at(noon() + 9 * SECOND).starting_in(3 * SECOND);
        assert_runs(&twice, NOON, &expected);
    }
    let once = Schedule::once_at(noon()).starting_in(3 * SECOND);
    assert_runs(&once, NOON, &["2026-11-16T12:00:03Z"]);
}

#[test]
fn a_cron_start_that_is_still_to_come_is_part_of_it() {
    let daily = cron("0 9 * * *");
    let nine = at("2026-11-17T09:00:00Z");
    assert_eq!(daily.clone().starting_at(nine).preview(noon(), 1), Ok(vec![nine]));
    let later = daily.clone().starting_at(nine + Duration::from_nanos(1));
    assert_runs(&later, NOON, &["2026-11-18T09:00:00Z"]);
    assert_runs(
        &daily.clone().starting_in(21 * 3_600 * SECOND),
        NOON,
        &["2026-11-17T09:00:00Z"],
    );
    // Now itself is not.
    assert_runs(
        &daily.starting_at(nine),
        "2026-11-17T09:00:00Z",
        &["2026-11-18T09:00:00Z"],
    );
}

#[test]
fn times_and_until_end_it() {
    let every = Schedule::every(10 * SECOND);
    assert_eq!(every.clone().times(0).preview(noon(), 9), Ok(vec![]));
    assert_eq!(
        every.clone().times(2).preview(noon(), 9),
        Ok(vec![noon(), noon() + 10 * SECOND])
    );
    assert_eq!(every.clone().times(2).preview(noon(), 1), Ok(vec![noon()]));
    assert_eq!(every.clone().times(u64::MAX).preview(noon(), 1), Ok(vec![noon()]));
    let until = every.clone().until(noon() + 10 * SECOND);
    assert_eq!(until.preview(noon(), 9), Ok(vec![noon(), noon() + 10 * SECOND]));
    assert_eq!(every.until(noon() - SECOND).preview(noon(), 9), Ok(vec![]));
}

#[test]
fn what_lies_beyond_time_is_never() {
    assert_eq!(
        Schedule::every(Duration::MAX).preview(noon(), 9),
        Ok(vec![noon()])
    );
    assert_eq!(
        Schedule::with_delay(Duration::MAX).preview(noon(), 9),
        Ok(vec![noon()])
    );
    assert_eq!(
        Schedule::every(SECOND)
            .starting_in(Duration::MAX)
            .preview(noon(), 9),
        Ok(vec![])
    );
}

#[test]
fn a_preview_of_nothing_asks_nobody() {
    let trigger = Schedule::trigger(|_| panic!("not to be asked"));
    assert_eq!(trigger.preview(noon(), 0), Ok(vec![]));
    assert_eq!(trigger.times(0).preview(noon(), 5), Ok(vec![]));
}

#[test]
fn a_trigger_is_told_of_the_run_before_and_ends_with_none() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let asked = told.clone();
    let trigger = Schedule::trigger(move |last: &LastRun| {
        let mut asked = asked.lock().expect("no panic");
        asked.push(*last);
        (asked.len() < 3).then(|| last.completed.unwrap_or(noon()) + SECOND)
    });
    let runs = [noon() + SECOND, noon() + 2 * SECOND];
    assert_eq!(trigger.preview(noon(), 9), Ok(runs.to_vec()));
    let after = |at| LastRun {
        scheduled: Some(at),
        actual: Some(at),
        completed: Some(at),
    };
    let expected = [LastRun::default(), after(runs[0]), after(runs[1])];
    assert_eq!(*told.lock().expect("no panic"), expected);
}

#[test]
fn a_trigger_that_names_the_past_means_at_once() {
    let past = Schedule::trigger(|_| Some(noon() - 60 * SECOND));
    assert_eq!(past.preview(noon(), 2), Ok(vec![noon(), noon()]));
    let later = noon() + SECOND;
    assert_eq!(
        past.starting_in(SECOND).preview(noon(), 2),
        Ok(vec![later, later])
    );
}

#[test]
fn cron_28_a_run_that_began_early_does_not_come_twice() {
    // The next run counts from when the last one was due; a preview's runs are exactly that.
    let every_second = cron("* * * * * *");
    let early = every_second
        .preview(noon() - Duration::from_nanos(1), 3)
        .expect("runs");
    assert_eq!(early, [noon(), noon() + SECOND, noon() + 2 * SECOND]);
}

#[test]
fn gaps_and_folds_say_nothing_about_other_schedules() {
    let every = Schedule::every(SECOND).gap(Gap::Skip).fold(Fold::Both);
    assert_runs(&every, NOON, &[NOON, "2026-11-16T12:00:01Z"]);
}

#[test]
fn a_schedule_is_a_sentence() {
    let every = |millis| Schedule::every(Duration::from_millis(millis));
    for (schedule, sentence) in [
        (every(1), "every millisecond"),
        (every(250), "every 250 milliseconds"),
        (every(1_000), "every second"),
        (every(1_500), "every 1.5s"),
        (every(90_000), "every 90 seconds"),
        (every(60_000), "every minute"),
        (every(7_200_000), "every 2 hours"),
        (every(86_400_000), "every day"),
        (Schedule::with_delay(60 * SECOND), "1 minute after each run"),
        (
            Schedule::with_delay(Duration::ZERO),
            "again at once after each run",
        ),
        (Schedule::once_at(noon()), "once at 2026-11-16 12:00:00 UTC"),
        (Schedule::trigger(|_| None), "whenever its trigger says"),
        (
            every(1_000).starting_in(5 * SECOND).times(1),
            "every second, starting in 5 seconds, 1 time",
        ),
        (
            every(1_000)
                .starting_at(noon())
                .until(noon() + Duration::from_millis(1_250)),
            "every second, starting at 2026-11-16 12:00:00 UTC, until 2026-11-16 12:00:01.25 UTC",
        ),
        (cron("0 9 * * *").times(3), "every day at 09:00, UTC, 3 times"),
    ] {
        assert_eq!(schedule.to_string(), sentence);
    }
    let old = SystemTime::UNIX_EPOCH - Duration::from_millis(250);
    assert_eq!(
        Schedule::once_at(old).to_string(),
        "once at 1969-12-31 23:59:59.75 UTC"
    );
    let leap = at("2000-02-29T23:59:59Z");
    assert_eq!(
        Schedule::once_at(leap).to_string(),
        "once at 2000-02-29 23:59:59 UTC"
    );
}

#[test]
fn a_cron_schedule_is_a_sentence() {
    for (text, sentence) in [
        ("* * * * * *", "every second"),
        ("*/10 * * * * *", "every 10 seconds"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("0 * * * *", "every hour"),
        ("0 */6 * * *", "every 6 hours"),
        ("30 * * * *", "at minute 30 of every hour"),
        ("0,30 * * * *", "every 30 minutes"),
        ("7,9 * * * *", "at minutes 7 and 9 of every hour"),
        (
            "*/7 * * * *",
            "at minutes 0, 7, 14, 21, 28, 35, 42, 49 and 56 of every hour",
        ),
        ("*/15 9-17 * * *", "every 15 minutes of hours 9 to 17"),
        ("10 * * * * *", "at second 10 of every minute"),
        ("0 9 * * *", "every day at 09:00"),
        ("0 9,12,17 * * *", "every day at 09:00, 12:00 and 17:00"),
        ("15 30 9 * * *", "every day at 09:30:15"),
        ("0 9 * * MON-FRI", "every weekday at 09:00"),
        ("0 9 * * SAT,SUN", "every Saturday and Sunday at 09:00"),
        ("0 9 * * 0,3,1", "every Monday, Wednesday and Sunday at 09:00"),
        ("*/5 * * * MON-FRI", "every 5 minutes, every weekday"),
        ("* * * 6 *", "every minute in June"),
        (
            "0 0 1 1,7 *",
            "on day 1 of the month in January and July at 00:00",
        ),
        ("0 0 1-3,15 * *", "on days 1 to 3 and 15 of the month at 00:00"),
        ("0 0 L * *", "on the last day of the month at 00:00"),
        (
            "0 0 L-1,L-3 * *",
            "on the day before the last and the day 3 days before the last of the month at 00:00",
        ),
        ("0 0 LW * *", "on the last weekday of the month at 00:00"),
        (
            "0 0 15W * *",
            "on the weekday nearest to day 15 of the month at 00:00",
        ),
        ("0 0 * * MON#2", "on the second Monday of the month at 00:00"),
        (
            "0 0 * * TUE,5L",
            "every Tuesday and on the last Friday of the month at 00:00",
        ),
        ("0 0 13 * FRI", "on day 13 of the month and every Friday at 00:00"),
    ] {
        assert_eq!(cron(text).to_string(), format!("{sentence}, UTC"), "{text}");
    }
    let text = "on day 13 of the month if that is a Friday or the first Monday of the month at 00:00, UTC";
    assert_eq!(
        spring("0 0 13,1 * FRI,MON#1").to_string(),
        text.replace("day 13", "days 1 and 13")
    );
}

#[test]
fn debug_shows_the_name_and_the_sentence() {
    let daily = cron("@daily");
    assert_eq!(format!("{daily:?}"), "Schedule(every day at 00:00, UTC)");
    assert_eq!(
        format!("{:?}", daily.named("report")),
        "Schedule(\"report\", every day at 00:00, UTC)"
    );
}
