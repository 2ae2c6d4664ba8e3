//! The end of lanes: of one task, of a lane, of all; graceful and forced.

use crate::support::{LONG, Random, hold, in_time, until};
use punctual::{AtShutdown, Cancel, Lanes, Schedule, State, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
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
fn rea_05_ten_who_wait_for_the_end_of_a_lane_time_out_together_and_are_told_together() {
    let lanes = lanes(2);
    let lane = lanes.lane();
    let held = hold(&lane);
    let wait = |limit: Duration| {
        let waiters: Vec<_> = (0..10)
            .map(|_| {
                let lane = lane.clone();
                std::thread::spawn(move || lane.close_timeout(limit))
            })
            .collect();
        move || -> Vec<bool> { waiters.into_iter().map(|waiter| waiter.join().unwrap()).collect() }
    };
    assert_eq!(wait(Duration::from_millis(10))(), [false; 10]);
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    let told = wait(LONG);
    drop(held);
    assert_eq!(in_time(told), [true; 10]);
    // The others go on.
    assert_eq!(in_time(move || lanes.submit(|| 1).unwrap().join().unwrap()), 1);
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

/// Two threads that do something at the same time, round after round; gives what both answered.
fn race<A: Send + 'static, B: Send + 'static>(
    rounds: usize,
    mut pair: impl FnMut() -> (Box<dyn FnOnce() -> A + Send>, Box<dyn FnOnce() -> B + Send>),
    mut check: impl FnMut(A, B),
) {
    let (give, given) = channel::<Box<dyn FnOnce() -> B + Send>>();
    let (answer, answered) = channel();
    let meet = Arc::new(Barrier::new(2));
    let also = meet.clone();
    let mut random = Random::printed("race");
    let mut others = Random::from_seed(random.next());
    let other = std::thread::spawn(move || {
        for each in given {
            also.wait();
            others.dawdle(1_000);
            answer.send(each()).unwrap();
        }
    });
    for _ in 0..rounds {
        let (one, two) = pair();
        give.send(two).unwrap();
        meet.wait();
        random.dawdle(1_000);
        let one = one();
        check(one, answered.recv_timeout(LONG).unwrap());
    }
    drop(give);
    other.join().unwrap();
}

/// A task that counts its start.
fn starting(started: &Arc<AtomicUsize>) -> impl FnOnce() + Send + 'static {
    let started = started.clone();
    move || _ = started.fetch_add(1, SeqCst)
}

#[test]
fn rea_09_disposal_and_run_meet_and_the_lane_is_empty_after() {
    let lanes = lanes(1);
    let mut begun = 0;
    let pair = || {
        let lane = lanes.lane();
        let started = Arc::new(AtomicUsize::new(0));
        // One that may run now, and one behind it.
        let tasks = [(); 2].map(|()| lane.submit(starting(&started)).unwrap());
        let joins: Box<dyn FnOnce() -> _ + Send> = Box::new(move || (tasks.map(|task| task.join()), started));
        let disposes: Box<dyn FnOnce() -> _ + Send> = Box::new(move || (lane.dispose(), lane));
        (joins, disposes)
    };
    race(2500, pair, |(joined, started), (disposed, lane)| {
        assert!(lane.close_timeout(LONG));
        assert_eq!((lane.view_stats().queued, lane.view_stats().active), (0, 0));
        // Each has begun or was removed; one that had begun may have been asked to stop.
        let started = started.load(SeqCst);
        assert_eq!(started + disposed, 2, "{joined:?}");
        let cancelled = joined.iter().filter(|joined| joined.is_err()).count();
        assert!(cancelled >= disposed, "{disposed} {joined:?}");
        let mut errors = joined.into_iter().filter_map(Result::err);
        assert!(errors.all(|error| error.is_cancelled()));
        begun += started;
    });
    println!("{begun} of 5000 began");
}

#[test]
fn rea_09_disposal_and_submission_meet_and_every_handle_is_final() {
    let lanes = lanes(1);
    let mut refused = 0;
    let pair = || {
        let lane = lanes.lane();
        let ends = lane.clone();
        let started = Arc::new(AtomicUsize::new(0));
        let submits: Box<dyn FnOnce() -> _ + Send> = Box::new(move || {
            let task = lane.submit(starting(&started));
            (task.map_err(|refused| refused.is_shutdown()), started)
        });
        let disposes: Box<dyn FnOnce() -> _ + Send> = Box::new(move || (ends.dispose(), ends));
        (submits, disposes)
    };
    race(2500, pair, |(submitted, started), (disposed, lane)| {
        let is_refused = submitted.is_err();
        match submitted {
            Err(is_shutdown) => assert!(is_shutdown),
            Ok(task) => {
                let joined = task.join();
                assert!(joined.is_ok() || joined.unwrap_err().is_cancelled());
            }
        }
        assert!(lane.close_timeout(LONG));
        assert_eq!((lane.view_stats().queued, lane.view_stats().active), (0, 0));
        assert_eq!(started.load(SeqCst) + disposed + usize::from(is_refused), 1);
        assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
        refused += usize::from(is_refused);
    });
    println!("{refused} of 2500 refused");
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
