//! What a handle tells, and how it ends its schedule.

use super::{NANO, Notes, SECOND, at, books, builder, nap, noting, pool, prompt, taking};
use crate::life::{calling, pool_on, settle};
use crate::support::{Dropped, LONG, in_time, until};
use punctual::{Cancel, RunOutcome, Schedule, ScheduleHandle, task};
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::sync::{Arc, OnceLock};

fn every() -> Schedule {
    Schedule::every(10 * SECOND)
}

#[test]
fn stpe_15_a_schedule_that_goes_on_is_not_finished() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    for _ in 0..10 {
        clock.advance(10 * SECOND);
        assert!(!handle.is_finished());
    }
    assert!(!handle.wait_timeout(std::time::Duration::ZERO));
    assert_eq!(books(&pool).schedules, 1);
}

#[test]
fn stpe_19_a_schedule_that_is_cancelled_before_its_first_run_never_runs_and_is_gone() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let schedule = every().starting_in(SECOND);
    let handle = pool.schedule(schedule, move |_| _ = &inside).unwrap();
    assert_eq!(handle.cancel(), Cancel::Removed);
    assert_eq!(drops.load(SeqCst), 1, "the body has been dropped");
    assert!(handle.is_finished());
    let stats = books(&pool);
    assert_eq!(
        (stats.schedules, stats.submitted, stats.pending_timers),
        (0, 0, 0)
    );
    clock.advance(100 * SECOND);
    assert_eq!((handle.stats().runs, handle.next_run()), (0, None));
    assert_eq!(handle.cancel(), Cancel::TooLate);
}

#[test]
fn a_schedule_that_is_cancelled_between_two_runs_drops_its_body_at_once() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let handle = pool.schedule(every(), move |_| _ = &inside).unwrap();
    clock.advance(15 * SECOND);
    assert_eq!(drops.load(SeqCst), 0);
    assert_eq!(handle.cancel(), Cancel::Removed);
    assert_eq!(drops.load(SeqCst), 1, "the handle lives on, the body does not");
    assert_eq!(handle.stats().runs, 2);
}

#[test]
fn a_schedule_that_has_run_its_times_drops_its_body() {
    let (pool, clock) = pool(1);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let handle = pool.schedule(every().times(2), move |_| _ = &inside).unwrap();
    clock.advance(10 * SECOND);
    assert_eq!((drops.load(SeqCst), handle.is_finished()), (1, true));
}

#[test]
fn stpe_18_a_run_in_progress_is_told_and_may_finish_and_none_follows() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let (inside, mut number) = (notes.clone(), 0);
    let handle = pool
        .schedule(every(), move |run| {
            number += 1;
            let slept = task::sleep(5 * SECOND);
            inside.add((number, slept.is_err(), run.token.is_cancelled()));
        })
        .unwrap();
    clock.advance(12 * SECOND);
    assert_eq!(handle.cancel(), Cancel::Signalled);
    settle(&clock);
    assert_eq!(notes.take(), [(1, false, false), (2, true, true)]);
    assert!(handle.is_finished());
    clock.advance(100 * SECOND);
    assert_eq!(handle.stats().runs, 2);
    let stats = books(&pool);
    assert_eq!((stats.finished, stats.cancelled, stats.schedules), (2, 0, 0));
}

#[test]
fn stpe_18_a_run_that_does_not_listen_is_waited_for() {
    let (pool, _clock) = pool(1);
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let handle = pool
        .schedule(every(), move |_| {
            let _inside = &inside;
            begun.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    has_begun.recv_timeout(LONG).unwrap();
    assert_eq!(handle.cancel(), Cancel::Signalled);
    assert!(!handle.is_finished(), "its last run goes on");
    assert_eq!((drops.load(SeqCst), handle.stats().running), (0, 1));
    assert_eq!(handle.cancel(), Cancel::TooLate);
    drop(open);
    until("the run ends", || handle.is_finished());
    assert_eq!((drops.load(SeqCst), handle.stats().running), (1, 0));
}

#[test]
fn a_run_that_cancels_its_own_schedule_is_not_told_to_stop() {
    let (pool, clock) = pool(1);
    let own = Arc::new(OnceLock::<ScheduleHandle>::new());
    let (inside, notes) = (own.clone(), Notes::default());
    let noted = notes.clone();
    let handle = pool
        .schedule(every().starting_in(SECOND), move |run| {
            let own = inside.get().unwrap();
            noted.add(own.cancel());
            noted.add(own.cancel());
            assert!(!run.token.is_cancelled() && !own.is_finished());
            assert_eq!(own.next_run(), None);
        })
        .unwrap();
    own.set(handle.clone()).unwrap();
    clock.advance(100 * SECOND);
    assert_eq!(notes.take(), [Cancel::Removed, Cancel::TooLate]);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (1, 0));
    assert!(handle.is_finished());
}

#[test]
fn dropping_the_handle_lets_the_schedule_go_on() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    drop(pool.schedule(every(), noting(&notes)).unwrap());
    clock.advance(30 * SECOND);
    assert_eq!(notes.take(), prompt([0, 10, 20, 30]));
}

#[test]
fn the_next_run_is_known_while_the_schedule_goes_on() {
    let (pool, clock) = pool(2);
    let rate = pool
        .schedule(every().starting_in(5 * SECOND), |_| nap(12))
        .unwrap();
    let delay = Schedule::with_delay(10 * SECOND).starting_in(5 * SECOND);
    let delay = pool.schedule(delay, |_| nap(12)).unwrap();
    assert_eq!((rate.next_run(), delay.next_run()), (Some(at(5)), Some(at(5))));
    clock.advance(6 * SECOND);
    assert_eq!(
        rate.next_run(),
        Some(at(15)),
        "if the run in progress has ended by then"
    );
    assert_eq!(delay.next_run(), None, "known when the run in progress has ended");
    clock.advance(10 * SECOND);
    assert_eq!(rate.next_run(), Some(at(25)), "15 was skipped");
    clock.advance(SECOND);
    assert_eq!((rate.next_run(), delay.next_run()), (Some(at(25)), Some(at(27))));
}

#[test]
fn the_last_run_has_no_next() {
    let (pool, clock) = pool(1);
    let handle = pool.schedule(every().times(2), |_| nap(3)).unwrap();
    clock.advance(SECOND);
    assert_eq!(handle.next_run(), Some(at(10)));
    clock.advance(10 * SECOND);
    assert_eq!(handle.next_run(), None);
    assert!(!handle.is_finished(), "it runs");
    clock.advance(2 * SECOND);
    assert!(handle.is_finished());
}

#[test]
fn the_counts_and_times_of_a_schedule_can_be_read_at_any_time() {
    let (pool, clock) = pool(1);
    let schedule = every().starting_in(5 * SECOND).named("flush");
    let handle = pool.schedule(schedule, |_| nap(3)).unwrap();
    let fresh = handle.stats();
    assert_eq!((fresh.runs, fresh.running), (0, 0));
    assert_eq!((fresh.last_scheduled, fresh.last_actual), (None, None));
    assert_eq!(
        (fresh.last_completed, fresh.last_outcome),
        (None, RunOutcome::None)
    );
    clock.advance(6 * SECOND);
    let during = handle.stats();
    assert_eq!((during.runs, during.running), (1, 1));
    assert_eq!(
        (during.last_scheduled, during.last_actual),
        (Some(at(5)), Some(at(5)))
    );
    assert_eq!(
        (during.last_completed, during.last_outcome),
        (None, RunOutcome::Started)
    );
    clock.advance(2 * SECOND);
    let after = handle.stats();
    assert_eq!((after.runs, after.running), (1, 0));
    assert_eq!(
        (after.last_completed, after.last_outcome),
        (Some(at(8)), RunOutcome::Succeeded)
    );
    clock.advance(8 * SECOND);
    let second = handle.stats();
    assert_eq!(
        (second.last_scheduled, second.last_completed),
        (Some(at(15)), Some(at(8))),
        "of the last that has ended"
    );
    assert_eq!(handle.name().as_deref(), Some("flush"));
    assert_eq!(
        handle.schedule().to_string(),
        "every 10 seconds, starting in 5 seconds"
    );
}

#[test]
fn a_wait_ends_with_the_last_run() {
    let (pool, clock) = pool(2);
    let waiters = pool_on(&clock, 2);
    let handle = pool.schedule(every().times(3), |_| nap(3)).unwrap();
    let [elsewhere, here] = [handle.clone(), handle.clone()];
    // From a task of another pool, of this pool, and from outside.
    let (_, from_elsewhere) = calling(&waiters, move || elsewhere.wait());
    let (_, from_here) = calling(&pool, move || here.wait());
    let outside = std::thread::spawn({
        let handle = handle.clone();
        move || handle.wait()
    });
    clock.advance(23 * SECOND - NANO);
    assert!(from_elsewhere.try_recv().is_err() && from_here.try_recv().is_err());
    assert!(!outside.is_finished());
    clock.advance(NANO);
    assert_eq!(
        (from_elsewhere.try_recv(), from_here.try_recv()),
        (Ok(()), Ok(()))
    );
    in_time(move || outside.join()).unwrap();
    handle.wait();
    assert!(handle.wait_timeout(SECOND), "and at once when it is over");
}

#[test]
fn a_wait_ends_with_a_cancel() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    let waited = handle.clone();
    let (_, answer) = calling(&waiters, move || waited.wait());
    clock.advance(15 * SECOND);
    assert!(answer.try_recv().is_err());
    assert_eq!(handle.cancel(), Cancel::Removed);
    settle(&clock);
    assert_eq!(answer.try_recv(), Ok(()));
}

#[test]
fn a_wait_with_a_limit_goes_by_the_pools_clock() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    let (_, answer) = calling(&waiters, move || handle.wait_timeout(5 * SECOND));
    clock.advance(5 * SECOND - NANO);
    assert!(answer.try_recv().is_err());
    clock.advance(NANO);
    assert_eq!(answer.try_recv(), Ok(false));
}

#[test]
fn a_run_that_waits_for_its_own_schedule_is_answered_at_once() {
    let (pool, clock) = pool(2);
    let own = Arc::new(OnceLock::<ScheduleHandle>::new());
    let inside = own.clone();
    let handle = pool
        .schedule(every().starting_in(SECOND).times(2), move |_| {
            inside.get().unwrap().wait();
            assert!(!inside.get().unwrap().wait_timeout(LONG));
        })
        .unwrap();
    own.set(handle.clone()).unwrap();
    clock.advance(11 * SECOND);
    let stats = handle.stats();
    assert_eq!((stats.runs, stats.failures), (2, 0));
    assert!(handle.is_finished());
}

#[test]
fn a_task_that_is_told_to_stop_waits_no_longer() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let handle = pool.schedule(every(), |_| ()).unwrap();
    let (waiter, answer) = calling(&waiters, move || handle.wait());
    settle(&clock);
    assert_eq!(waiter.cancel(), Cancel::Signalled);
    settle(&clock);
    assert_eq!(answer.try_recv(), Ok(()));
}

#[test]
fn a_wait_on_the_only_worker_lets_the_schedule_go_on() {
    let (builder, clock) = builder(1);
    let pool = builder.spare_threads(1).build().unwrap();
    let notes = Notes::default();
    let handle = pool.schedule(every().times(3), taking(&notes, 1)).unwrap();
    let (_, answer) = calling(&pool, move || handle.wait());
    clock.advance(21 * SECOND);
    assert_eq!(notes.take(), prompt([0, 10, 20]));
    assert_eq!(answer.try_recv(), Ok(()));
}
