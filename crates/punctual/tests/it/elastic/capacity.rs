//! How much may wait, in all and in a lane, and how much room is left.

use crate::support::{LONG, hold, in_time, until};
use punctual::{Cancel, Clock, Executor, Lanes, MAX_THREADS, Reason, Rejected, Schedule};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn lanes(threads: usize, capacity: usize) -> Lanes {
    Lanes::builder("lanes")
        .max_threads(threads)
        .queue_capacity(capacity)
        .build()
        .unwrap()
}

/// Of a refusal: waiting, room, threads.
fn numbers<F>(refused: &Rejected<F>) -> (usize, usize, usize) {
    let Reason::Full {
        queued,
        capacity,
        threads,
    } = refused.reason()
    else {
        panic!("{refused:?}")
    };
    (*queued, *capacity, *threads)
}

#[test]
fn rea_23_threads_capacities_and_time_to_live_are_more_than_nothing() {
    let wrong = [
        ("max_threads", Lanes::builder("x").max_threads(0)),
        ("queue_capacity", Lanes::builder("x").queue_capacity(0)),
        ("queue_per_lane", Lanes::builder("x").queue_per_lane(0)),
        ("time_to_live", Lanes::builder("x").time_to_live(Duration::ZERO)),
    ];
    for (field, builder) in wrong {
        let text = builder.build().unwrap_err().to_string();
        assert!(text.contains(field) && text.contains('0'), "{text}");
    }
}

#[test]
fn rea_24_ten_threads_a_core_a_hundred_thousand_tasks_each_and_a_minute() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let lanes = Lanes::builder("defaults").build().unwrap();
    assert_eq!((lanes.size().core, lanes.size().max), (0, 10 * cores));
    assert_eq!(lanes.remaining_capacity(), 10 * cores * 100_000);
    assert_eq!(lanes.keep_alive(), Duration::from_secs(60));
    // One that runs, a hundred thousand behind it, and no more.
    let lane = lanes.lane();
    let held = hold(&lane);
    for _ in 0..100_000 {
        lane.execute(|| ()).unwrap();
    }
    let refused = lane.execute(|| ()).unwrap_err();
    let (queued, capacity, _) = numbers(&refused);
    assert_eq!((queued, capacity), (100_000, 100_000));
    assert_eq!(lane.dispose(), 100_000);
    drop(held);
}

#[test]
fn rea_28_one_runs_two_wait_and_the_third_is_told_the_numbers() {
    let lanes = lanes(1, 2);
    let held = hold(&lanes);
    let waiting = [lanes.submit(|| 1).unwrap(), lanes.submit(|| 2).unwrap()];
    let refused = lanes.submit(|| 3).unwrap_err();
    assert_eq!(numbers(&refused), (2, 2, 1));
    assert_eq!(refused.into_task()(), 3);
    drop(held);
    assert_eq!(waiting.map(|task| task.join().unwrap()), [1, 2]);
}

#[test]
fn rea_29_one_cap_for_all_and_one_for_each_lane() {
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .queue_capacity(3)
        .queue_per_lane(2)
        .build()
        .unwrap();
    let held = hold(&lanes);
    let (one, two) = (lanes.lane(), lanes.lane());
    one.execute(|| ()).unwrap();
    one.execute(|| ()).unwrap();
    // Two wait in it; the running one is not of this lane.
    assert_eq!(numbers(&one.execute(|| ()).unwrap_err()), (2, 2, 1));
    two.execute(|| ()).unwrap();
    // Its own cap has room, that of all has not.
    assert_eq!(numbers(&two.execute(|| ()).unwrap_err()), (3, 3, 1));
    assert_eq!(numbers(&lanes.execute(|| ()).unwrap_err()), (3, 3, 1));
    assert_eq!(lanes.remaining_capacity(), 0);
    drop(held);
}

#[test]
fn rea_29_delayed_tasks_count_where_that_is_asked_for() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .queue_capacity(2)
        .clock(&clock)
        .pool(|pool| pool.capacity_covers_delayed(true))
        .build()
        .unwrap();
    let later = lanes.after(LONG, || ()).unwrap();
    assert_eq!((lanes.remaining_capacity(), lanes.stats().occupied), (1, 1));
    let other = lanes.after(LONG, || ()).unwrap();
    assert_eq!(lanes.remaining_capacity(), 0);
    assert_eq!(numbers(&lanes.after(LONG, || ()).unwrap_err()), (2, 2, 1));
    assert_eq!(later.cancel(), Cancel::Removed);
    assert_eq!(lanes.remaining_capacity(), 1);
    drop(lanes.after(LONG, || ()).unwrap());
    // They keep their places until they are taken.
    lanes.pause();
    clock.advance(LONG);
    assert_eq!((lanes.stats().queued, lanes.remaining_capacity()), (2, 0));
    lanes.resume();
    in_time(|| other.join().unwrap());
    assert!(lanes.wait_idle(LONG));
    assert_eq!(lanes.remaining_capacity(), 2);
}

#[test]
fn rea_29_runs_of_schedules_take_no_room() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .queue_capacity(2)
        .clock(&clock)
        .build()
        .unwrap();
    lanes.pause();
    let due = lanes.schedule(Schedule::every(LONG), |_| ()).unwrap();
    until("its first run is due", || lanes.stats().queued == 1);
    // What is left is what is accepted.
    assert_eq!(lanes.remaining_capacity(), 2);
    lanes.execute(|| ()).unwrap();
    assert_eq!(lanes.remaining_capacity(), 1);
    lanes.execute(|| ()).unwrap();
    assert_eq!((lanes.remaining_capacity(), lanes.stats().queued), (0, 3));
    assert!(lanes.execute(|| ()).unwrap_err().is_full());
    let _ = due.cancel();
    lanes.resume();
}

#[test]
fn rea_30_a_hundred_thousand_are_accepted_ten_are_not_and_all_accepted_run() {
    const CAP: usize = 100_000;
    let lanes = lanes(1, CAP);
    let held = hold(&lanes);
    let ran = Arc::new(AtomicUsize::new(0));
    let lane = lanes.lane();
    let mut refused = 0;
    for n in 0..CAP + 10 {
        let ran = ran.clone();
        let count = move || {
            ran.fetch_add(1, SeqCst);
        };
        let answer = if n % 2 == 0 {
            lanes.execute(count)
        } else {
            lane.execute(count)
        };
        refused += usize::from(answer.is_err_and(|refused| refused.is_full()));
    }
    assert_eq!(refused, 10);
    drop(held);
    assert!(in_time({
        let lanes = lanes.clone();
        move || lanes.wait_idle(LONG)
    }));
    assert_eq!(ran.load(SeqCst), CAP);
}

#[test]
fn rea_30_delayed_ones_are_bounded_alike_and_all_accepted_run() {
    const CAP: usize = 100_000;
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .queue_capacity(CAP)
        .clock(&clock)
        .pool(|pool| pool.capacity_covers_delayed(true))
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let lane = lanes.lane();
    let mut refused = 0;
    for n in 0..CAP + 10 {
        let ran = ran.clone();
        let count = move || {
            ran.fetch_add(1, SeqCst);
        };
        let by: &Executor = if n % 2 == 0 { &lanes } else { &lane };
        refused += usize::from(by.after(LONG, count).is_err_and(|refused| refused.is_full()));
    }
    assert_eq!((refused, lanes.remaining_capacity()), (10, 0));
    clock.advance(LONG);
    assert_eq!((ran.load(SeqCst), lanes.remaining_capacity()), (CAP, CAP));
}

#[test]
fn rea_31_the_room_that_is_left_is_exact_after_runs_refusals_cancels_and_disposal() {
    let lanes = lanes(1, 4);
    assert_eq!(lanes.remaining_capacity(), 4);
    let held = hold(&lanes);
    // What runs takes no room.
    assert_eq!(lanes.remaining_capacity(), 4);
    let lane = lanes.lane();
    let tasks = [lanes.submit(|| ()).unwrap(), lanes.submit(|| ()).unwrap()];
    lane.execute(|| ()).unwrap();
    lane.execute(|| ()).unwrap();
    assert_eq!(lanes.remaining_capacity(), 0);
    assert!(lanes.execute(|| ()).is_err());
    assert_eq!(lanes.remaining_capacity(), 0);
    assert_eq!(tasks[0].cancel(), Cancel::Removed);
    assert_eq!(lanes.remaining_capacity(), 1);
    assert_eq!(lane.dispose(), 2);
    assert_eq!(lanes.remaining_capacity(), 3);
    drop(held);
    assert!(lanes.wait_idle(LONG));
    assert_eq!(lanes.remaining_capacity(), 4);
}

#[test]
fn rea_31_the_room_of_very_many_threads_does_not_overflow() {
    let most = Lanes::builder("lanes").max_threads(MAX_THREADS).build().unwrap();
    assert_eq!(most.remaining_capacity(), MAX_THREADS * 100_000);
    let lanes = lanes(1, usize::MAX);
    let held = hold(&lanes);
    lanes.execute(|| ()).unwrap();
    assert_eq!(lanes.remaining_capacity(), usize::MAX - 1);
    drop(held);
}

#[test]
fn rea_32_a_task_that_is_cancelled_while_it_waits_gives_its_place_back_and_never_runs() {
    let lanes = lanes(1, 1);
    let held = hold(&lanes);
    let never = lanes.submit(|| unreachable!("it was cancelled")).unwrap();
    assert_eq!(never.cancel(), Cancel::Removed);
    let undisturbed = lanes.submit(|| 7).unwrap();
    drop(held);
    assert_eq!(undisturbed.join().unwrap(), 7);
}
