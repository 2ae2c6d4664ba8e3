//! Triggers.

use crate::delaying::{Notes, SECOND, at, books, pool, seconds};
use crate::life::settle;
use punctual::{Cancel, LastRun, Schedule, task};
use std::time::Duration;

#[test]
fn spr_10_a_trigger_that_answers_none_at_first_gives_a_handle_that_has_ended() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(Schedule::trigger(|_| None), |_| ()).unwrap();
    assert!(handle.is_finished());
    assert_eq!((handle.next_run(), handle.cancel()), (None, Cancel::TooLate));
    handle.wait();
    clock.advance(100 * SECOND);
    assert_eq!((handle.stats().runs, books(&pool).schedules), (0, 0));
}

#[test]
fn spr_11_a_trigger_is_told_the_three_instants_of_the_last_run() {
    let (pool, clock) = pool(1);
    let told = Notes::default();
    let asked = told.clone();
    let trigger = Schedule::trigger(move |last: &LastRun| {
        asked.add((
            last.scheduled.map(seconds),
            last.actual.map(seconds),
            last.completed.map(seconds),
        ));
        Some(last.completed.map_or(at(5), |end| end + 10 * SECOND))
    });
    // The only worker is busy at the first tick: due at 5, begun at 8.
    let busy = crate::life::begun(&pool, || task::sleep(8 * SECOND));
    let handle = pool
        .schedule(trigger, |_| task::sleep(2 * SECOND).unwrap_or(()))
        .unwrap();
    clock.advance(15 * SECOND);
    busy.join().unwrap().unwrap();
    assert_eq!(told.take(), [(None, None, None), (Some(5), Some(8), Some(10))]);
    assert_eq!(handle.next_run(), Some(at(20)));
}

#[test]
fn spr_11_a_schedule_that_is_cancelled_during_a_run_is_not_asked_again() {
    let (pool, clock) = pool(1);
    let asked = Notes::default();
    let noting = asked.clone();
    let trigger = Schedule::trigger(move |last: &LastRun| {
        noting.add(());
        Some(last.completed.map_or(at(0), |end| end + SECOND))
    });
    let handle = pool
        .schedule(trigger, |_| task::sleep(5 * SECOND).unwrap_or(()))
        .unwrap();
    clock.advance(SECOND);
    assert_eq!(handle.cancel(), Cancel::Signalled);
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().runs, 1);
    assert!(handle.is_finished());
    assert_eq!(asked.take().len(), 1, "once, for its first run");
}

#[test]
fn spr_12_the_first_run_is_now_or_after_the_initial_delay() {
    for schedule in [Schedule::every(10 * SECOND), Schedule::with_delay(10 * SECOND)] {
        assert_eq!(schedule.preview(at(3), 1).unwrap(), [at(3)]);
        let later = schedule.clone().starting_in(4 * SECOND);
        assert_eq!(later.preview(at(3), 1).unwrap(), [at(7)]);
        let (pool, clock) = pool(1);
        let now = pool.schedule(schedule, |_| ()).unwrap();
        let later = pool.schedule(later, |_| ()).unwrap();
        settle(&clock);
        assert_eq!((now.stats().runs, later.stats().runs), (1, 0));
        clock.advance(4 * SECOND);
        assert_eq!((now.stats().runs, later.stats().runs), (1, 1));
    }
}

#[test]
fn spr_13_a_rate_goes_by_when_it_was_due_and_a_delay_by_the_end() {
    let length = Duration::from_secs(3);
    for (schedule, second) in [
        (Schedule::every(10 * SECOND), 14),
        (Schedule::with_delay(10 * SECOND), 19),
    ] {
        let (pool, clock) = pool(1);
        // Due at 4, begun at 6, ended at 9: the initial delay plays no part any more.
        let busy = crate::life::begun(&pool, || task::sleep(6 * SECOND));
        let handle = pool
            .schedule(schedule.starting_in(4 * SECOND), move |_| {
                task::sleep(length).unwrap_or(())
            })
            .unwrap();
        clock.advance(9 * SECOND);
        busy.join().unwrap().unwrap();
        let stats = handle.stats();
        let times = [stats.last_scheduled, stats.last_actual, stats.last_completed];
        assert_eq!(times, [Some(at(4)), Some(at(6)), Some(at(9))]);
        assert_eq!(handle.next_run(), Some(at(second)));
    }
}
