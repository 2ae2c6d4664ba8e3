//! Runs that panic or return an error.

use super::{Noted, Notes, SECOND, books, builder, noted, pool, prompt};
use crate::support::quiet_panic;
use punctual::{OnFailure, Outcome, Overlap, Reason, Run, RunOutcome, Schedule, ScheduleStats};
use std::time::Duration;

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

/// A body that notes its runs and fails at some of them, by an error or by a panic.
fn failing(
    notes: &Notes<Noted>,
    panics: bool,
    fails: impl Fn(usize) -> bool + Send + 'static,
) -> impl FnMut(&Run) -> Result<(), String> + Send + 'static {
    let (notes, mut number) = (notes.clone(), 0);
    move |run| {
        notes.add(noted(run));
        number += 1;
        match fails(number) {
            true if panics => quiet_panic("broken"),
            true => Err(String::from("broken")),
            false => Ok(()),
        }
    }
}

/// The runs within a minute of a schedule whose runs fail as told, both ways; both must be alike.
fn runs(on_failure: OnFailure, fails: fn(usize) -> bool) -> (Vec<Noted>, ScheduleStats, bool) {
    let [by_error, by_panic] = [false, true].map(|panics| {
        let (pool, clock) = pool(2);
        let notes = Notes::default();
        let schedule = every().on_failure(on_failure);
        let handle = pool.schedule(schedule, failing(&notes, panics, fails)).unwrap();
        clock.advance(60 * SECOND);
        let stats = books(&pool);
        assert_eq!(
            stats.panicked,
            handle.stats().failures,
            "an error counts like a panic"
        );
        assert_eq!(stats.finished + stats.panicked, handle.stats().runs);
        assert_eq!(handle.next_run().is_none(), handle.is_finished());
        (notes.take(), handle.stats(), handle.is_finished())
    });
    assert_eq!(by_error, by_panic);
    by_error
}

#[test]
fn rea_11_a_failed_run_is_reported_and_the_next_one_comes() {
    let (all, stats, has_ended) = runs(OnFailure::Continue, |_| true);
    assert_eq!(all, prompt([0, 10, 20, 30, 40, 50, 60]));
    assert_eq!((stats.failures, stats.failures_in_a_row), (7, 7));
    assert_eq!(stats.last_error.as_deref(), Some("broken"));
    assert_eq!(stats.last_outcome, RunOutcome::Failed("broken".into()));
    assert!(!has_ended);
    let (all, stats, _) = runs(OnFailure::default(), |number| number == 2);
    assert_eq!(all.len(), 7, "the default");
    assert_eq!((stats.failures, stats.failures_in_a_row), (1, 0));
    assert_eq!(stats.last_error.as_deref(), Some("broken"), "however long ago");
    assert_eq!(stats.last_outcome, RunOutcome::Succeeded);
}

#[test]
fn stpe_16_a_schedule_may_stop_at_its_first_failure_and_others_go_on() {
    let (all, stats, has_ended) = runs(OnFailure::Stop, |number| number == 3);
    assert_eq!(all, prompt([0, 10, 20]));
    assert!(has_ended);
    assert_eq!(stats.last_error.as_deref(), Some("broken"));

    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let stops = every().on_failure(OnFailure::Stop);
    let stopped = pool.schedule(stops, |_| Err("broken")).unwrap();
    let goes_on = pool.schedule(every(), super::noting(&notes)).unwrap();
    clock.advance(20 * SECOND);
    assert!(stopped.is_finished() && !goes_on.is_finished());
    assert_eq!(notes.take(), prompt([0, 10, 20]));
    assert_eq!(books(&pool).schedules, 1);
}

#[test]
fn stpe_16_a_schedule_may_stop_after_so_many_failures_in_a_row() {
    let (all, stats, has_ended) = runs(OnFailure::StopAfter(3), |number| {
        [1, 2, 4, 5, 6].contains(&number)
    });
    assert_eq!(
        all,
        prompt([0, 10, 20, 30, 40, 50]),
        "one that goes well begins the count anew"
    );
    assert!(has_ended);
    assert_eq!((stats.failures, stats.failures_in_a_row), (5, 3));
    assert_eq!(runs(OnFailure::StopAfter(1), |_| true).0, prompt([0]));
}

#[test]
fn stop_after_no_failure_is_refused() {
    let (pool, _clock) = pool(1);
    let never = every().on_failure(OnFailure::StopAfter(0));
    let refused = pool.schedule(never, |_| ()).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Invalid(_)));
    assert!(refused.to_string().contains("StopAfter(0)"), "{refused}");
}

fn backoff(first: u32, max: u32) -> OnFailure {
    OnFailure::Backoff {
        first: first * SECOND,
        max: max * SECOND,
    }
}

#[test]
fn backing_off_doubles_the_pause_up_to_its_limit_and_skips_the_ticks_in_it() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let schedule = every().on_failure(backoff(15, 50));
    let body = failing(&notes, false, |number| number <= 4);
    let handle = pool.schedule(schedule, body).unwrap();
    clock.advance(200 * SECOND);
    // Failed at 0: not before 15. At 20: not before 50. At 50: not before 100, the limit. At 100: not before 150. Then well.
    assert_eq!(
        notes.take(),
        prompt([0, 20, 50, 100, 150, 160, 170, 180, 190, 200])
    );
    let stats = handle.stats();
    assert_eq!(
        (stats.skipped, stats.missed, stats.failures),
        (1 + 2 + 4 + 4, 0, 4)
    );
}

#[test]
fn backing_off_never_brings_a_run_forward() {
    let (all, ..) = runs(backoff(3, 5), |_| true);
    assert_eq!(all, prompt([0, 10, 20, 30, 40, 50, 60]));
}

#[test]
fn backing_off_a_fixed_delay_takes_the_longer_of_the_two() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let schedule = Schedule::with_delay(10 * SECOND).on_failure(backoff(6, 100));
    let body = failing(&notes, true, |number| number <= 3);
    drop(pool.schedule(schedule, body).unwrap());
    clock.advance(80 * SECOND);
    // Pauses of 6, 12 and 24 seconds.
    assert_eq!(notes.take(), prompt([0, 10, 22, 46, 56, 66, 76]));
}

#[test]
fn backing_off_makes_up_for_nothing() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let schedule = every().on_failure(backoff(35, 100)).overlap(Overlap::Queue);
    let body = failing(&notes, true, |number| number == 1);
    let handle = pool.schedule(schedule, body).unwrap();
    clock.advance(60 * SECOND);
    assert_eq!(notes.take(), prompt([0, 40, 50, 60]));
    assert_eq!(handle.stats().skipped, 3);
}

#[test]
fn an_endless_row_of_failures_backs_off_to_the_limit() {
    let (pool, clock) = pool(1);
    let schedule = Schedule::with_delay(Duration::ZERO).on_failure(backoff(1, 3_600));
    let handle = pool.schedule(schedule, |_| Err("broken")).unwrap();
    clock.advance(Duration::from_secs(100 * 3_600));
    // 1 + 2 + .. + 2048 seconds are 4095, then an hour each: the doubling does not come round to nothing.
    assert_eq!(handle.stats().failures, 1 + 12 + (360_000 - 4_095) / 3_600);
}

#[test]
fn a_failure_is_told_to_everybody_who_asked() {
    for panics in [false, true] {
        let told = Notes::default();
        let (of_pool, after, of_schedule) = (told.clone(), told.clone(), told.clone());
        let text = |outcome: &Outcome<'_>| match outcome {
            Outcome::Panicked(payload) => payload
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| payload.downcast_ref::<&str>().map(|text| String::from(*text))),
            _ => None,
        };
        let (builder, clock) = builder(1);
        let pool = builder
            .on_failure(move |task, outcome| {
                of_pool.add(("sink", task.name.map(String::from), text(&outcome)))
            })
            .after_task(move |task, outcome| {
                after.add(("after", task.name.map(String::from), text(&outcome)))
            })
            .build()
            .unwrap();
        let schedule = every().named("flush").on_error(move |run, text| {
            assert_eq!(noted(run), (10, 10, 0));
            of_schedule.add(("schedule", None, Some(String::from(text))));
        });
        let body = failing(&Notes::default(), panics, |number| number == 2);
        drop(pool.schedule(schedule, body).unwrap());
        clock.advance(20 * SECOND);
        let (name, broken) = (Some(String::from("flush")), Some(String::from("broken")));
        let well = ("after", name.clone(), None);
        let expected = [
            well.clone(),
            ("schedule", None, broken.clone()),
            ("after", name.clone(), broken.clone()),
            ("sink", name, broken),
            well,
        ];
        assert_eq!(told.take(), expected, "panics: {panics}");
    }
}

#[test]
fn an_error_handler_that_panics_is_counted_and_changes_nothing() {
    let (pool, clock) = pool(1);
    let schedule = every().on_error(|_, _| quiet_panic("the handler too"));
    let handle = pool.schedule(schedule, |_| Err("broken")).unwrap();
    clock.advance(20 * SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (3, 3));
    assert_eq!(stats.last_error.as_deref(), Some("broken"));
    assert_eq!(books(&pool).hook_panics, 3);
}

#[test]
fn a_failed_run_does_not_hurt_the_worker() {
    let (pool, clock) = pool(1);
    let handle = pool
        .schedule(every(), |_| -> () { quiet_panic("broken") })
        .unwrap();
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().failures, 11);
    let stats = books(&pool);
    assert_eq!(
        (stats.threads_started, stats.panicked, stats.hook_panics),
        (1, 11, 0)
    );
}
