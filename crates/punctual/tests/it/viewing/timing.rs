//! Delayed tasks and schedules of views: they come to their gate when their time has come.

use super::Notes;
use crate::support::{LONG, assert_all_settled};
use punctual::{Clock, ManualClock, Pool, Schedule, task};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

fn clocked(threads: usize) -> (ManualClock, Pool) {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(threads)
        .clock(&clock)
        .build()
        .unwrap();
    (clock, pool)
}

#[test]
fn a_delayed_task_of_a_lane_waits_for_the_lane_once_it_is_due() {
    let (clock, pool) = clocked(2);
    let lane = pool.lane();
    let notes = Notes::default();
    let inside = notes.clone();
    lane.execute(move || {
        let _ = task::sleep(5 * SECOND);
        inside.note(1);
    })
    .unwrap();
    let delayed = lane.after(SECOND, notes.writes(2)).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(notes.read(), [0; 0]);
    let stats = pool.stats();
    assert_eq!(
        (stats.queued, stats.active, stats.pending_timers),
        (1, 1, 0),
        "it waits, and is seen"
    );
    assert_eq!((lane.view_stats().queued, lane.view_stats().active), (1, 1));
    clock.advance(3 * SECOND);
    delayed.join().unwrap();
    assert_eq!(notes.read(), [1, 2]);
    assert_all_settled(&pool.stats());
}

#[test]
fn due_tasks_of_a_lane_never_overlap_and_keep_their_order() {
    let (clock, pool) = clocked(4);
    let lane = pool.lane();
    let notes = Notes::default();
    let meter = std::sync::Arc::new(super::Meter::default());
    for number in 0..100 {
        let (notes, meter) = (notes.clone(), meter.clone());
        drop(
            lane.after(SECOND, move || meter.pass(|| notes.note(number)))
                .unwrap(),
        );
    }
    clock.advance(SECOND);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..100).collect::<Vec<_>>());
    assert_eq!(meter.most(), 1);
}

#[test]
fn a_due_task_in_line_is_cancelled_as_any_other() {
    // The second worker watches the clock.
    let (clock, pool) = clocked(2);
    let lane = pool.lane();
    let busy = lane.submit(|| task::sleep(10 * SECOND).is_ok()).unwrap();
    let first = lane.after(SECOND, || 1).unwrap();
    let second = lane.after(SECOND, || 2).unwrap();
    clock.advance(SECOND);
    assert_eq!(first.cancel(), punctual::Cancel::Removed);
    assert_eq!(pool.stats().queued, 1);
    clock.advance(9 * SECOND);
    busy.join().unwrap();
    assert_eq!(second.join().unwrap(), 2);
    assert_all_settled(&pool.stats());
}

#[test]
fn a_schedule_on_a_lane_takes_its_turn_there() {
    let (clock, pool) = clocked(2);
    let lane = pool.lane();
    let notes = Notes::default();
    let inside = notes.clone();
    let schedule = lane
        .schedule(Schedule::every(SECOND).starting_in(SECOND), move |_| {
            inside.note(1)
        })
        .unwrap();
    let busy = lane
        .submit(|| task::sleep(3 * SECOND + SECOND / 2).is_ok())
        .unwrap();
    clock.advance(3 * SECOND);
    assert_eq!(notes.read(), [0; 0], "the lane is busy");
    clock.advance(3 * SECOND);
    busy.join().unwrap();
    assert!(!notes.read().is_empty());
    assert!(schedule.stats().runs > 0);
    schedule.cancel();
    assert!(pool.close().terminated);
}

#[test]
fn a_pool_that_closes_runs_the_due_tasks_of_lines() {
    let (clock, pool) = clocked(1);
    let lane = pool.lane();
    let busy = lane.submit(|| task::sleep(5 * SECOND).is_ok()).unwrap();
    let due = lane.after(SECOND, || 7).unwrap();
    let not_due = lane.after(60 * SECOND, || 8).unwrap();
    clock.advance(SECOND);
    pool.shutdown();
    assert!(not_due.join().unwrap_err().is_cancelled());
    clock.advance(4 * SECOND);
    busy.join().unwrap();
    assert_eq!(due.join().unwrap(), 7);
    assert!(pool.await_termination(LONG));
    assert_all_settled(&pool.stats());
}
