//! Failures, and who is told of them.

use crate::delaying::{Notes, SECOND, at, books, builder, pool};
use crate::life::settle;
use crate::support::quiet_panic;
use punctual::{OnFailure, Outcome, RunOutcome, Schedule};

/// The text of a failure.
fn text(outcome: &Outcome<'_>) -> &'static str {
    match outcome {
        Outcome::Panicked(payload) => payload
            .downcast_ref::<&'static str>()
            .copied()
            .unwrap_or("an error"),
        _ => "no failure",
    }
}

#[test]
fn spr_05_a_handler_observes_and_the_handle_still_reports_the_failure() {
    let (builder, clock) = builder(1);
    let told = Notes::default();
    let after = told.clone();
    let pool = builder
        .after_task(move |_, outcome| after.add(text(&outcome)))
        .build()
        .unwrap();
    let handles = [
        pool.submit(|| -> () { quiet_panic("submitted") }).unwrap(),
        pool.after(SECOND, || -> () { quiet_panic("delayed") }).unwrap(),
        pool.at(at(2), || -> () { quiet_panic("appointed") }).unwrap(),
    ];
    clock.advance(2 * SECOND);
    assert_eq!(told.take(), ["submitted", "delayed", "appointed"]);
    let texts = handles.map(|handle| {
        let payload = handle.join().unwrap_err().into_panic().unwrap();
        *payload.downcast::<&'static str>().unwrap()
    });
    assert_eq!(texts, ["submitted", "delayed", "appointed"]);
}

#[test]
fn spr_05_without_a_handler_the_handle_reports_the_failure() {
    let (pool, clock) = pool(1);
    let handle = pool.after(SECOND, || -> () { quiet_panic("delayed") }).unwrap();
    clock.advance(SECOND);
    assert!(handle.join().unwrap_err().is_panic());
}

#[test]
fn spr_06_a_failed_task_without_a_handler_does_not_hurt_the_pool() {
    let (pool, clock) = pool(1);
    pool.execute(|| quiet_panic("nobody listens")).unwrap();
    drop(
        pool.after(SECOND, || -> () { quiet_panic("nobody listens") })
            .unwrap(),
    );
    clock.advance(SECOND);
    assert_eq!(pool.submit(|| 1).unwrap().join().unwrap(), 1);
    let stats = books(&pool);
    assert_eq!((stats.panicked, stats.threads_stopped), (2, 0));
}

#[test]
fn spr_07_by_default_a_schedule_goes_on_and_a_task_passes_its_failure_on() {
    let (builder, clock) = builder(1);
    let told = Notes::default();
    let sink = told.clone();
    let pool = builder
        .on_failure(move |_, outcome| sink.add(text(&outcome)))
        .build()
        .unwrap();
    let schedule = pool
        .schedule(Schedule::every(SECOND), |_| -> () { quiet_panic("again") })
        .unwrap();
    let once = pool.after(SECOND, || -> () { quiet_panic("once") }).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(schedule.stats().failures, 3);
    assert_eq!(
        told.take(),
        ["again"; 3],
        "what a handle can still report is not told twice"
    );
    assert!(once.join().unwrap_err().is_panic());
    drop(pool.after(SECOND, || -> () { quiet_panic("unread") }).unwrap());
    schedule.cancel();
    clock.advance(SECOND);
    assert_eq!(told.take(), ["unread"]);
}

#[test]
fn spr_08_a_schedule_ends_at_a_failure_where_its_policy_says_so_not_its_handler() {
    let (pool, clock) = pool(1);
    let raising = Schedule::every(SECOND).on_error(|_, _| quiet_panic("raised again"));
    let trigger = Schedule::trigger(|last| Some(last.completed.map_or(at(0), |end| end + SECOND)));
    let schedules = [
        raising.clone(),
        raising.on_failure(OnFailure::Stop),
        trigger.on_failure(OnFailure::Stop),
    ];
    let handles = schedules.map(|schedule| pool.schedule(schedule, |_| Err("broken")).unwrap());
    clock.advance(3 * SECOND);
    let runs = handles.each_ref().map(|handle| handle.stats().runs);
    assert_eq!(runs, [4, 1, 1]);
    let ended = handles.each_ref().map(|handle| handle.is_finished());
    assert_eq!(ended, [false, true, true]);
    assert_eq!(books(&pool).hook_panics, 5, "a handler that panics is counted");
}

#[test]
fn spr_16_the_last_outcome_goes_from_none_to_started_to_how_it_went() {
    let (pool, clock) = pool(1);
    let mut number = 0;
    let handle = pool
        .schedule(Schedule::every(10 * SECOND).starting_in(SECOND), move |_| {
            punctual::task::sleep(2 * SECOND).unwrap();
            number += 1;
            if number == 2 { Err("second") } else { Ok(()) }
        })
        .unwrap();
    let outcome = |advance: u32| {
        clock.advance(advance * SECOND);
        handle.stats().last_outcome
    };
    assert_eq!(outcome(0), RunOutcome::None);
    assert_eq!(outcome(1), RunOutcome::Started);
    assert_eq!(handle.stats().last_actual, Some(at(1)));
    assert_eq!(outcome(2), RunOutcome::Succeeded);
    assert_eq!(outcome(8), RunOutcome::Started);
    assert_eq!(outcome(2), RunOutcome::Failed("second".into()));
    assert_eq!(outcome(8), RunOutcome::Started, "a new start clears the error");
    assert_eq!(outcome(2), RunOutcome::Succeeded);
    assert_eq!(handle.stats().last_error.as_deref(), Some("second"));
    settle(&clock);
}
