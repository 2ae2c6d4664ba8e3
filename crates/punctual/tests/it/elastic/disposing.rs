//! The end of lanes: of one task, of a lane, of all; graceful and forced.

use crate::support::{LONG, hold, in_time, until};
use punctual::{AtShutdown, Cancel, Lanes, Schedule, State, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

fn lanes(threads: usize) -> Lanes {
    Lanes::builder("lanes").max_threads(threads).build().unwrap()
}

#[test]
fn rea_01_fresh_lanes_are_open_and_closed_ones_stay_closed() {
    let lanes = lanes(2);
    assert_eq!(lanes.state(), State::Running);
    assert!(lanes.close().terminated);
    assert!(lanes.close().terminated);
    assert_eq!(lanes.prestart(), 0);
    assert_eq!(lanes.state(), State::Terminated);
}

#[test]
fn rea_02_after_the_end_every_way_in_is_refused_and_ending_again_changes_nothing() {
    let lanes = lanes(1);
    let (tell, told) = channel();
    let running = lanes
        .submit(move || {
            tell.send(()).unwrap();
            task::sleep(2 * LONG)
        })
        .unwrap();
    told.recv().unwrap();
    assert!(!running.is_finished());
    assert_eq!(running.cancel(), Cancel::Signalled);
    assert_eq!(running.cancel(), Cancel::TooLate);
    assert!(lanes.stop().is_empty() && lanes.stop().is_empty());
    assert!(lanes.execute(|| ()).unwrap_err().is_shutdown());
    assert!(lanes.submit(|| ()).unwrap_err().is_shutdown());
    assert!(lanes.after(LONG, || ()).unwrap_err().is_shutdown());
    assert!(
        lanes
            .schedule(Schedule::every(LONG), |_| ())
            .unwrap_err()
            .is_shutdown()
    );
}

#[test]
fn rea_03_a_lane_with_ten_tasks_is_disposed_of_with_all_of_them() {
    let lanes = lanes(4);
    let lane = lanes.lane();
    let tasks: Vec<_> = (0..10)
        .map(|_| lane.submit(|| task::sleep(2 * LONG)).unwrap())
        .collect();
    until("the first one runs", || lane.view_stats().active == 1);
    assert_eq!(lane.dispose(), 9);
    for task in tasks {
        assert!(in_time(|| task.join()).unwrap_err().is_cancelled());
    }
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    assert!(lane.after(LONG, || ()).unwrap_err().is_shutdown());
    assert!(
        lane.schedule(Schedule::every(LONG), |_| ())
            .unwrap_err()
            .is_shutdown()
    );
}

#[test]
fn rea_05_ten_who_wait_for_the_end_time_out_together_and_are_told_together() {
    let lanes = lanes(1);
    let held = hold(&lanes);
    lanes.shutdown();
    let wait = |limit: Duration| {
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                let lanes = lanes.clone();
                std::thread::spawn(move || lanes.await_termination(limit))
            })
            .collect();
        move || -> Vec<bool> { waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect() }
    };
    assert_eq!(wait(Duration::from_millis(10))(), [false; 10]);
    assert!(lanes.execute(|| ()).unwrap_err().is_shutdown());
    let told = wait(LONG);
    drop(held);
    assert_eq!(told(), [true; 10]);
}

#[test]
fn rea_06_a_forced_end_during_a_graceful_one_signals_what_is_left() {
    let lanes = lanes(1);
    let (tell, told) = channel();
    let running = lanes
        .submit(move || {
            tell.send(()).unwrap();
            task::sleep(2 * LONG)
        })
        .unwrap();
    told.recv().unwrap();
    let waits = lanes.submit(|| ()).unwrap();
    let closing = {
        let lanes = lanes.clone();
        std::thread::spawn(move || lanes.close())
    };
    until("it closes gracefully", || lanes.state() >= State::Shutdown);
    assert_eq!(lanes.stop().len(), 1);
    assert!(in_time(move || closing.join().unwrap()).terminated);
    // Its token fired, and it returned: the handle gets what it returned.
    assert!(running.join().unwrap().is_err());
    assert!(waits.join().unwrap_err().is_cancelled());
}

#[test]
fn rea_07_a_graceful_end_completes_all_that_was_accepted_also_what_is_delayed_a_little() {
    let lanes = Lanes::builder("lanes")
        .max_threads(4)
        .pool(|pool| pool.delayed_at_shutdown(AtShutdown::Run))
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    for n in 0..100_000 {
        let ran = ran.clone();
        let count = move || {
            ran.fetch_add(1, SeqCst);
        };
        if n % 10 == 0 {
            drop(lanes.after(Duration::from_millis(1), count).unwrap());
        } else {
            lanes.execute(count).unwrap();
        }
    }
    assert!(in_time(move || lanes.close()).terminated);
    assert_eq!(ran.load(SeqCst), 100_000);
}

#[test]
fn rea_09_cancel_and_run_meet_and_the_lane_is_empty_after() {
    let lanes = lanes(1);
    let lane = lanes.lane();
    for _ in 0..2500 {
        let task = lane.submit(|| ()).unwrap();
        let canceller = task.task_ref();
        let other = std::thread::spawn(move || canceller.cancel());
        let joined = task.join();
        let cancelled = other.join().unwrap();
        assert_eq!(joined.is_err(), cancelled != Cancel::TooLate, "{cancelled:?}");
    }
    until("nothing is left", || {
        let stats = lane.view_stats();
        (stats.queued, stats.active) == (0, 0)
    });
}

#[test]
fn rea_13_nothing_enters_a_lane_whose_lanes_have_ended() {
    let lanes = lanes(1);
    let lane = lanes.lane();
    assert!(lanes.close().terminated);
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    assert!(lane.after(LONG, || ()).unwrap_err().is_shutdown());
    assert!(
        lane.schedule(Schedule::every(LONG), |_| ())
            .unwrap_err()
            .is_shutdown()
    );
    let delayed = Schedule::every(LONG).starting_in(LONG);
    assert!(lane.schedule(delayed, |_| ()).unwrap_err().is_shutdown());
    assert_eq!(lanes.stats().submitted, 0);
}

#[test]
fn rea_35_the_end_takes_all_threads_along() {
    let lanes = lanes(4);
    let tasks: Vec<_> = (0..4).map(|_| lanes.lane().submit(|| ()).unwrap()).collect();
    tasks.into_iter().for_each(|task| task.join().unwrap());
    assert!(lanes.close().terminated);
    let stats = lanes.stats();
    assert_eq!((stats.threads, stats.threads_started), (0, stats.threads_stopped));
}
