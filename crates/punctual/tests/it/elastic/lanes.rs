//! One lane: order, no overlap, failures.

use crate::support::{LONG, hold, in_time, quiet_panic, until};
use punctual::{Cancel, Clock, Lanes, OnFailure, Schedule};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn lanes() -> Lanes {
    Lanes::builder("lanes").max_threads(4).build().unwrap()
}

#[test]
fn rea_15_a_thousand_tasks_of_a_lane_run_in_their_order_at_once_and_delayed() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(4)
        .clock(&clock)
        .build()
        .unwrap();
    let lane = lanes.lane();
    let seen = Arc::new(Mutex::new(Vec::new()));
    for n in 0..1000 {
        let seen = seen.clone();
        lane.execute(move || seen.lock().unwrap().push(n)).unwrap();
    }
    for n in 1000..2000 {
        let seen = seen.clone();
        let note = move || seen.lock().unwrap().push(n);
        drop(lane.after(Duration::from_secs(1), note).unwrap());
    }
    clock.advance(Duration::from_secs(1));
    assert!(lanes.wait_idle(LONG));
    assert!(seen.lock().unwrap().iter().copied().eq(0..2000));
}

#[test]
fn rea_16_tasks_of_a_lane_never_overlap_also_delayed_and_repeated_ones() {
    let lanes = lanes();
    let lane = lanes.lane();
    let (inside, overlaps) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let body = {
        let (inside, overlaps) = (inside.clone(), overlaps.clone());
        move || {
            if inside.swap(true, SeqCst) {
                overlaps.fetch_add(1, SeqCst);
            }
            std::thread::yield_now();
            inside.store(false, SeqCst);
        }
    };
    let repeated = {
        let body = body.clone();
        let when = Schedule::with_delay(Duration::ZERO).times(100);
        lane.schedule(when, move |_| body()).unwrap()
    };
    let submitters: Vec<_> = (0..4)
        .map(|_| {
            let (lane, body) = (lane.clone(), body.clone());
            std::thread::spawn(move || {
                for n in 0..200 {
                    let body = body.clone();
                    if n % 2 == 0 {
                        lane.execute(body).unwrap();
                    } else {
                        drop(lane.after(Duration::from_micros(n), body).unwrap());
                    }
                }
            })
        })
        .collect();
    for submitter in submitters {
        submitter.join().unwrap();
    }
    in_time(move || repeated.wait());
    until("all have run", || lanes.stats().finished >= 900);
    assert_eq!(overlaps.load(SeqCst), 0);
}

#[test]
fn rea_10_a_task_that_fails_is_reported_and_harms_nobody() {
    let reports = Arc::new(AtomicUsize::new(0));
    let told = reports.clone();
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .pool(|pool| {
            pool.on_failure(move |_, _| {
                told.fetch_add(1, SeqCst);
                quiet_panic("the handler fails too");
            })
        })
        .build()
        .unwrap();
    lanes.execute(|| quiet_panic("no luck")).unwrap();
    assert_eq!(lanes.submit(|| 1).unwrap().join().unwrap(), 1);
    assert_eq!(reports.load(SeqCst), 1);
    assert_eq!((lanes.stats().panicked, lanes.stats().threads), (1, 1));
}

#[test]
fn rea_11_a_repeated_task_that_fails_goes_on() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes").clock(&clock).build().unwrap();
    let every = Schedule::every(Duration::from_secs(1));
    let failing = lanes.schedule(every, |_| Err("no luck")).unwrap();
    clock.advance(Duration::from_secs(3));
    assert_eq!((failing.stats().runs, failing.stats().failures), (4, 4));
}

#[test]
fn rea_12_without_a_pause_it_runs_again_and_again_until_it_is_cancelled_or_fails() {
    let lanes = lanes();
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    let busy = lanes
        .schedule(Schedule::with_delay(Duration::ZERO), move |_| {
            count.fetch_add(1, SeqCst);
        })
        .unwrap();
    until("it runs again and again", || runs.load(SeqCst) > 1000);
    let _ = busy.cancel();
    busy.wait();
    let so_far = runs.load(SeqCst);
    let ends = Schedule::with_delay(Duration::ZERO).on_failure(OnFailure::Stop);
    let fails = lanes.schedule(ends, |_| Err("once")).unwrap();
    fails.wait();
    assert_eq!(fails.stats().runs, 1);
    let never = Schedule::with_delay(Duration::ZERO).starting_in(LONG);
    let never = lanes
        .schedule(never, |_| -> () { unreachable!("cancelled before") })
        .unwrap();
    assert!(never.next_run().is_some());
    assert_eq!(never.cancel(), Cancel::Removed);
    assert_eq!((never.next_run(), never.stats().runs), (None, 0));
    assert_eq!(runs.load(SeqCst), so_far);
}

#[test]
fn rea_22_a_task_sees_the_time_it_was_due_and_one_inside_it_the_sum() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes").clock(&clock).build().unwrap();
    let begin = clock.now();
    let (inside, watch) = (lanes.executor(), clock.clone());
    let nested = lanes
        .after(Duration::from_secs(2), move || {
            let seen = watch.now();
            let watch = watch.clone();
            let later = inside.after(Duration::from_secs(3), move || watch.now()).unwrap();
            (seen, later)
        })
        .unwrap();
    let never = lanes
        .after(Duration::from_secs(1), || unreachable!("cancelled"))
        .unwrap();
    let _ = never.cancel();
    clock.advance(Duration::from_secs(10));
    let (seen, later) = nested.join().unwrap();
    assert_eq!(seen, begin + Duration::from_secs(2));
    assert_eq!(later.join().unwrap(), begin + Duration::from_secs(5));
}

#[test]
fn rea_38_cancelling_running_work_signals_it_and_the_thread_is_free_again() {
    let lanes = Lanes::builder("lanes").max_threads(1).build().unwrap();
    // On a crowded machine one undisturbed time is enough.
    let quickest = (0..20).map(|_| {
        let (tell, told) = std::sync::mpsc::channel();
        let sleeping = lanes
            .submit(move || {
                tell.send(()).unwrap();
                punctual::task::sleep(2 * LONG)
            })
            .unwrap();
        told.recv().unwrap();
        let begin = Instant::now();
        let _ = sleeping.cancel();
        let next = lanes.submit(|| 3).unwrap();
        assert_eq!(in_time(|| next.join().unwrap()), 3);
        begin.elapsed()
    });
    let quickest = quickest.min().unwrap();
    assert!(quickest < Duration::from_millis(150), "{quickest:?}");
}

#[test]
fn a_lane_that_is_disposed_of_leaves_the_others_alone() {
    let lanes = Lanes::builder("lanes").max_threads(1).build().unwrap();
    let held = hold(&lanes);
    let (one, two) = (lanes.lane(), lanes.lane());
    let (gone, stays) = (one.submit(|| 1).unwrap(), two.submit(|| 2).unwrap());
    assert_eq!(one.dispose(), 1);
    drop(held);
    assert!(gone.join().unwrap_err().is_cancelled());
    assert_eq!(stays.join().unwrap(), 2);
    assert!(one.execute(|| ()).unwrap_err().is_shutdown());
}
