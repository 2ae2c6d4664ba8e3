//! Pausing, resuming, running now, rescheduling.

use super::{Notes, SECOND, at, books, nap, noting, pool, prompt, slow_at_first, taking};
use crate::life::settle;
use crate::support::Dropped;
use punctual::{Cancel, Overlap, Schedule};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

#[test]
fn a_paused_schedule_forgets_its_ticks_and_goes_on_with_the_next() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    clock.advance(5 * SECOND);
    handle.pause();
    handle.pause();
    assert_eq!(handle.next_run(), None);
    clock.advance(30 * SECOND);
    assert_eq!(notes.take(), prompt([0]));
    assert!(!handle.is_finished());
    assert_eq!(books(&pool).schedules, 1);
    handle.resume();
    assert_eq!(handle.next_run(), Some(at(40)));
    clock.advance(15 * SECOND);
    assert_eq!(notes.take(), prompt([40, 50]));
    let stats = handle.stats();
    assert_eq!((stats.missed, stats.skipped), (0, 0), "forgotten, not missed");
    let stats = books(&pool);
    assert_eq!((stats.submitted, stats.cancelled), (3, 0));
}

#[test]
fn a_short_pause_changes_nothing() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    clock.advance(3 * SECOND);
    handle.pause();
    clock.advance(3 * SECOND);
    handle.resume();
    handle.resume();
    clock.advance(14 * SECOND);
    assert_eq!(notes.take(), prompt([0, 10, 20]));
}

#[test]
fn a_fixed_delay_that_was_paused_beyond_its_tick_waits_its_delay_anew() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool
        .schedule(Schedule::with_delay(10 * SECOND), noting(&notes))
        .unwrap();
    clock.advance(5 * SECOND);
    handle.pause();
    clock.advance(10 * SECOND);
    handle.resume();
    clock.advance(15 * SECOND);
    assert_eq!(notes.take(), prompt([0, 25]));
}

#[test]
fn a_pause_lets_the_run_in_progress_end() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), taking(&notes, 5)).unwrap();
    clock.advance(12 * SECOND);
    handle.pause();
    clock.advance(20 * SECOND);
    assert_eq!((notes.take(), handle.stats().running), (prompt([0, 10]), 0));
    handle.resume();
    clock.advance(10 * SECOND);
    assert_eq!(notes.take(), prompt([40]));
}

#[test]
fn a_schedule_that_is_paused_and_resumed_during_a_run_goes_on() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), taking(&notes, 5)).unwrap();
    clock.advance(11 * SECOND);
    handle.pause();
    clock.advance(SECOND);
    handle.resume();
    clock.advance(18 * SECOND);
    assert_eq!(notes.take(), prompt([0, 10, 20, 30]));
}

#[test]
fn a_paused_schedule_can_be_cancelled() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let handle = pool.schedule(every(), move |_| _ = &inside).unwrap();
    settle(&clock);
    handle.pause();
    assert_eq!(handle.cancel(), Cancel::Removed);
    assert_eq!((drops.load(SeqCst), handle.is_finished()), (1, true));
    handle.resume();
    handle.pause();
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().runs, 1);
}

#[test]
fn run_now_is_one_run_beside_the_plan() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every().times(3), noting(&notes)).unwrap();
    clock.advance(5 * SECOND);
    handle.run_now().unwrap();
    settle(&clock);
    assert_eq!(notes.take(), prompt([0, 5]));
    assert_eq!(handle.next_run(), Some(at(10)), "the plan is as it was");
    clock.advance(15 * SECOND);
    assert_eq!(notes.take(), prompt([10, 20]));
    assert!(handle.is_finished(), "it is not one of the three");
    assert_eq!(handle.stats().runs, 4);
    let stats = books(&pool);
    assert_eq!((stats.submitted, stats.finished), (4, 4));
}

#[test]
fn run_now_during_a_run_follows_it() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let handle = pool.schedule(every(), slow_at_first(&notes, 5)).unwrap();
    clock.advance(3 * SECOND);
    handle.run_now().unwrap();
    settle(&clock);
    assert_eq!(notes.take(), prompt([0]), "never two at once");
    clock.advance(7 * SECOND);
    assert_eq!(notes.take(), prompt([5, 10]));
}

#[test]
fn run_now_runs_a_paused_schedule_once() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    clock.advance(5 * SECOND);
    handle.pause();
    handle.run_now().unwrap();
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), prompt([0, 5]), "and it stays paused");
    handle.resume();
    clock.advance(5 * SECOND);
    assert_eq!(notes.take(), prompt([30]));
}

#[test]
fn run_now_of_a_schedule_that_has_ended_is_refused() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every().times(1), |_| ()).unwrap();
    settle(&clock);
    assert!(handle.run_now().unwrap_err().is_shutdown());
    let handle = pool.schedule(every(), |_| ()).unwrap();
    settle(&clock);
    pool.shutdown();
    assert!(handle.run_now().unwrap_err().is_shutdown());
    assert_eq!(handle.stats().runs, 1);
}

#[test]
fn run_now_during_the_last_run_comes_after_it() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every().times(1), slow_at_first(&notes, 5)).unwrap();
    clock.advance(3 * SECOND);
    handle.run_now().unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(notes.take(), prompt([0, 5]));
    assert!(handle.is_finished());
}

#[test]
fn ticks_during_a_run_beside_the_plan_are_treated_as_during_any_other() {
    for (overlap, expected, skipped) in [
        (Overlap::Skip, prompt([40]), 3),
        (
            Overlap::Queue,
            vec![(10, 35, 0), (20, 35, 0), (30, 35, 0), (40, 40, 0)],
            0,
        ),
    ] {
        let (pool, clock) = pool(1);
        let notes = Notes::default();
        let schedule = every().starting_in(10 * SECOND).overlap(overlap);
        let handle = pool.schedule(schedule, slow_at_first(&notes, 30)).unwrap();
        clock.advance(5 * SECOND);
        handle.run_now().unwrap();
        clock.advance(35 * SECOND);
        let runs = notes.take();
        assert_eq!(runs[0], (5, 5, 0));
        assert_eq!(runs[1..], expected, "{overlap:?}");
        let stats = handle.stats();
        assert_eq!((stats.skipped, stats.missed), (skipped, 0), "{overlap:?}");
    }
}

#[test]
fn a_waiting_schedule_gets_another_plan() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let schedule = every().times(3).named("flush");
    let handle = pool.schedule(schedule, noting(&notes)).unwrap();
    clock.advance(15 * SECOND);
    let faster = Schedule::every(3 * SECOND).starting_in(3 * SECOND).times(4);
    handle.reschedule(faster).unwrap();
    assert_eq!(handle.next_run(), Some(at(18)));
    clock.advance(20 * SECOND);
    assert_eq!(
        notes.take(),
        prompt([0, 10, 18, 21, 24, 27]),
        "four times, counted anew"
    );
    assert!(handle.is_finished());
    assert_eq!(handle.stats().runs, 6, "what was counted stays");
    assert_eq!(handle.name().as_deref(), Some("flush"));
    assert_eq!(books(&pool).submitted, 6, "what waited was not accepted yet");
}

#[test]
fn a_running_schedule_gets_another_plan_and_its_run_ends_first() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let handle = pool.schedule(every(), slow_at_first(&notes, 8)).unwrap();
    clock.advance(5 * SECOND);
    handle
        .reschedule(Schedule::every(7 * SECOND).starting_in(7 * SECOND))
        .unwrap();
    clock.advance(SECOND);
    assert_eq!((handle.stats().running, handle.next_run()), (1, Some(at(12))));
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), prompt([0, 12, 19, 26]));
}

#[test]
fn a_run_may_give_its_own_schedule_another_plan() {
    let (pool, clock) = pool(2);
    let own = Arc::new(std::sync::OnceLock::<punctual::ScheduleHandle>::new());
    let (inside, notes) = (own.clone(), Notes::default());
    let noted = notes.clone();
    let mut delay = 0;
    let handle = pool
        .schedule(every().starting_in(SECOND), move |run| {
            noted.add(super::noted(run));
            delay += 1;
            let next = Schedule::every(10 * SECOND).starting_in(Duration::from_secs(delay));
            inside.get().unwrap().reschedule(next).unwrap();
        })
        .unwrap();
    own.set(handle).unwrap();
    clock.advance(11 * SECOND);
    assert_eq!(notes.take(), prompt([1, 2, 4, 7, 11]));
}

#[test]
fn a_paused_schedule_that_gets_another_plan_stays_paused() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    clock.advance(5 * SECOND);
    handle.pause();
    handle.reschedule(Schedule::every(7 * SECOND)).unwrap();
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), prompt([0]));
    handle.resume();
    clock.advance(7 * SECOND);
    assert_eq!(notes.take(), prompt([26]), "5, 12, 19, 26");
}

#[test]
fn a_plan_that_cannot_be_is_refused_and_the_old_one_stays() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let handle = pool.schedule(every(), noting(&notes)).unwrap();
    let error = handle.reschedule(Schedule::every(Duration::ZERO)).unwrap_err();
    assert!(error.to_string().contains("every"), "{error}");
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), prompt([0, 10, 20]));
}

#[test]
fn a_schedule_that_has_ended_gets_no_other_plan() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every().times(1), |_| nap(1)).unwrap();
    clock.advance(SECOND);
    let error = handle.reschedule(every()).unwrap_err();
    assert!(error.to_string().contains("it has ended"), "{error}");
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().runs, 1);
}

#[test]
fn a_plan_without_any_run_ends_the_schedule() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    settle(&clock);
    handle.reschedule(Schedule::trigger(|_| None)).unwrap();
    assert!(handle.is_finished());
    assert_eq!(books(&pool).schedules, 0);
}
