//! Runs beside each other.

use super::{Noted, Notes, SECOND, books, builder, nap, noted, pool, prompt};
use crate::life::settle;
use crate::support::quiet_panic;
use punctual::{Cancel, Missed, OnFailure, Overlap, Reason, Run, Schedule, ScheduleHandle};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// The runs within a minute of a schedule whose runs take 25 seconds, up to `n` at once; and the most there were.
fn runs(schedule: Schedule, n: usize) -> (Vec<Noted>, ScheduleHandle) {
    let (pool, clock) = pool(8);
    let (notes, inside, most) = (
        Notes::default(),
        AtomicUsize::new(0),
        Arc::new(AtomicUsize::new(0)),
    );
    let (noting, highest) = (notes.clone(), most.clone());
    let body = move |run: &Run| {
        highest.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
        noting.add(noted(run));
        nap(25);
        inside.fetch_sub(1, SeqCst);
    };
    let handle = pool.schedule_overlapping(schedule, n, body).unwrap();
    clock.advance(60 * SECOND);
    books(&pool);
    assert!(most.load(SeqCst) <= n, "more than {n} at once");
    (notes.take(), handle)
}

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

#[test]
fn a_tick_starts_another_run_while_fewer_than_n_are_in_progress() {
    let (notes, handle) = runs(every(), 3);
    assert_eq!(notes, prompt([0, 10, 20, 30, 40, 50, 60]));
    assert_eq!(handle.stats().skipped, 0);
}

#[test]
fn a_tick_is_skipped_while_n_are_in_progress() {
    let (notes, handle) = runs(every(), 2);
    assert_eq!(notes, prompt([0, 10, 30, 40, 60]));
    assert_eq!(handle.stats().skipped, 2, "20 and 50");
}

#[test]
fn a_tick_may_wait_until_fewer_than_n_are_in_progress() {
    let (notes, handle) = runs(every().overlap(Overlap::Queue), 2);
    assert_eq!(
        notes,
        [
            (0, 0, 0),
            (10, 10, 0),
            (20, 25, 0),
            (30, 35, 0),
            (40, 50, 0),
            (50, 60, 0)
        ]
    );
    assert_eq!(handle.stats().skipped, 0);
}

#[test]
fn one_at_a_time_is_as_any_schedule() {
    let (notes, handle) = runs(every(), 1);
    assert_eq!(notes, prompt([0, 30, 60]));
    assert_eq!(handle.stats().skipped, 4);
}

#[test]
fn none_at_a_time_is_refused() {
    let (pool, _clock) = pool(1);
    let refused = pool.schedule_overlapping(every(), 0, |_| ()).unwrap_err();
    assert!(matches!(refused.reason(), Reason::Invalid(_)));
    assert!(refused.to_string().contains("schedule_overlapping"), "{refused}");
    assert_eq!(books(&pool).schedules, 0);
}

#[test]
fn a_pause_in_between_leaves_no_room_for_another() {
    let (pool, clock) = pool(4);
    let notes = Notes::default();
    let noting = notes.clone();
    let body = move |run: &Run| {
        noting.add(noted(run));
        nap(5);
    };
    let delay = Schedule::with_delay(10 * SECOND);
    drop(pool.schedule_overlapping(delay, 4, body).unwrap());
    clock.advance(30 * SECOND);
    assert_eq!(
        notes.take(),
        prompt([0, 15, 30]),
        "so much after the end is not before it"
    );
}

#[test]
fn a_cancel_tells_all_runs_in_progress() {
    let (pool, clock) = pool(4);
    let told = Arc::new(AtomicUsize::new(0));
    let inside = told.clone();
    let body = move |run: &Run| {
        nap(100);
        inside.fetch_add(run.token.is_cancelled().into(), SeqCst);
    };
    let handle = pool.schedule_overlapping(every(), 3, body).unwrap();
    clock.advance(25 * SECOND);
    assert_eq!(handle.stats().running, 3);
    assert_eq!(handle.cancel(), Cancel::Signalled);
    settle(&clock);
    assert_eq!((told.load(SeqCst), handle.is_finished()), (3, true));
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().runs, 3);
}

#[test]
fn run_now_is_one_more_run_beside_those_in_progress() {
    let (pool, clock) = pool(4);
    let notes = Notes::default();
    let noting = notes.clone();
    let body = move |run: &Run| {
        noting.add(noted(run));
        nap(8);
    };
    let handle = pool.schedule_overlapping(every(), 2, body).unwrap();
    clock.advance(5 * SECOND);
    handle.run_now().unwrap();
    clock.advance(25 * SECOND);
    assert_eq!(notes.take(), prompt([0, 5, 10, 20, 30]));
}

#[test]
fn times_counts_runs_that_have_begun() {
    let (notes, handle) = runs(every().times(3), 3);
    assert_eq!(notes, prompt([0, 10, 20]));
    assert!(handle.is_finished());
}

#[test]
fn a_failure_beside_others_is_counted_and_hurts_none_of_them() {
    let (pool, clock) = pool(4);
    let number = AtomicUsize::new(0);
    let body = move |_: &Run| {
        let number = number.fetch_add(1, SeqCst);
        nap(15);
        if number % 2 == 1 {
            quiet_panic("odd");
        }
    };
    let handle = pool.schedule_overlapping(every().times(6), 2, body).unwrap();
    clock.advance(100 * SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (6, 3));
    let stats = books(&pool);
    assert_eq!((stats.finished, stats.panicked), (3, 3));
}

#[test]
fn ticks_that_could_not_start_are_missed_though_another_run_is_in_progress() {
    let (builder, clock) = builder(2);
    let pool = builder.build().unwrap();
    let notes = Notes::default();
    let noting = notes.clone();
    let body = move |run: &Run| {
        noting.add(noted(run));
        if run.missed == 0 && noted(run).0 == 0 {
            nap(100);
        }
    };
    let schedule = every().missed(Missed::Once);
    let handle = pool.schedule_overlapping(schedule, 2, body).unwrap();
    clock.advance(5 * SECOND);
    let busy = crate::life::begun(&pool, || nap(30));
    clock.advance(40 * SECOND);
    busy.join().unwrap();
    assert_eq!(notes.take(), [(0, 0, 0), (10, 35, 2), (40, 40, 0)]);
    assert_eq!(handle.stats().missed, 2);
}

#[test]
fn a_failure_pauses_runs_that_may_overlap_too() {
    let (pool, clock) = pool(4);
    let notes = Notes::default();
    let noting = notes.clone();
    let schedule = every().on_failure(OnFailure::Backoff {
        first: 35 * SECOND,
        max: 100 * SECOND,
    });
    let body = move |run: &Run| {
        noting.add(noted(run));
        if noted(run).1 == 0 { Err("broken") } else { Ok(()) }
    };
    let handle = pool.schedule_overlapping(schedule, 2, body).unwrap();
    clock.advance(60 * SECOND);
    assert_eq!(notes.take(), prompt([0, 40, 50, 60]));
    assert_eq!(handle.stats().skipped, 3);
}
