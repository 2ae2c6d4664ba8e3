//! Waiting for a view's task from inside a task: in place with its own slot, never past others, never for ever.

use super::{Notes, hold_in, pool_of};
use crate::support::{LONG, hold, in_time, on_worker, until};
use punctual::{Pool, Queue};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

#[test]
fn a_task_with_its_slot_is_run_in_place_under_it() {
    let pool = pool_of(1);
    let value = on_worker(&pool, |pool| {
        let lane = pool.lane();
        let first = lane.submit(|| std::thread::current().id()).unwrap();
        let here = std::thread::current().id();
        (first.join().unwrap() == here, lane.view_stats().taken)
    });
    assert_eq!(value, (true, 1));
    assert_eq!(pool.stats().threads_started, 1);
}

#[test]
fn a_task_in_line_is_not_run_past_those_before_it() {
    let pool = pool_of(1);
    let notes = Notes::default();
    let inside = notes.clone();
    on_worker(&pool, move |pool| {
        let lane = pool.lane();
        lane.execute(inside.writes(1)).unwrap();
        lane.submit(inside.writes(2)).unwrap().join().unwrap();
    });
    assert_eq!(notes.read(), [1, 2], "a spare ran both, in order");
}

#[test]
fn a_task_that_joins_a_later_one_of_its_own_lane_is_told_at_once() {
    let pool = pool_of(4);
    let lane = pool.lane();
    let own = lane.clone();
    let task = lane
        .submit(move || {
            let later = own.submit(|| ()).unwrap();
            later.join().unwrap_err().is_would_deadlock()
        })
        .unwrap();
    assert!(in_time(move || task.join().unwrap()));
    assert!(pool.wait_idle(LONG), "and the later one runs");
    assert_eq!(lane.view_stats().taken, 2);
}

#[test]
fn the_same_holds_for_a_delayed_one_and_for_a_group() {
    let pool = pool_of(4);
    let lane = pool.lane();
    let own = lane.clone();
    let task = lane
        .submit(move || {
            let delayed = own.after(std::time::Duration::from_millis(1), || ()).unwrap();
            let mut group = own.group();
            group.submit(|| ()).unwrap();
            let next = group.next().expect("one is in it").1;
            (delayed.join().unwrap_err(), next.unwrap_err())
        })
        .unwrap();
    let (delayed, grouped) = in_time(move || task.join().unwrap());
    assert!(
        delayed.is_would_deadlock() && grouped.is_would_deadlock(),
        "{delayed}, {grouped}"
    );
}

#[test]
fn all_slots_of_a_limit_that_wait_for_its_line_are_told_one_of_them() {
    let pool = pool_of(4);
    let view = pool.limit(2).unwrap();
    let barrier = Arc::new(Barrier::new(2));
    let tasks: Vec<_> = (0..2)
        .map(|_| {
            let (view, barrier) = (view.clone(), barrier.clone());
            view.clone()
                .submit(move || {
                    barrier.wait();
                    let later = view.submit(|| ()).unwrap();
                    barrier.wait();
                    later.join().err().is_some_and(|error| error.is_would_deadlock())
                })
                .unwrap()
        })
        .collect();
    let told: Vec<bool> = in_time(move || tasks.into_iter().map(|task| task.join().unwrap()).collect());
    assert_eq!(
        told.iter().filter(|told| **told).count(),
        1,
        "then there is a slot for the other's"
    );
}

#[test]
fn two_lanes_that_wait_for_each_other_are_told() {
    let pool = pool_of(4);
    let (one, two) = (pool.lane(), pool.lane());
    let barrier = Arc::new(Barrier::new(2));
    let cross = |own: &punctual::Lane, other: &punctual::Lane| {
        let (other, barrier) = (other.clone(), barrier.clone());
        own.submit(move || {
            barrier.wait();
            let theirs = other.submit(|| ()).unwrap();
            barrier.wait();
            theirs.join().err().is_some_and(|error| error.is_would_deadlock())
        })
        .unwrap()
    };
    let tasks = [cross(&one, &two), cross(&two, &one)];
    let told: Vec<bool> = in_time(move || tasks.into_iter().map(|task| task.join().unwrap()).collect());
    assert_eq!(told.iter().filter(|told| **told).count(), 1);
}

#[test]
fn a_scoped_child_in_the_own_lane_runs_as_part_of_its_parent() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let own = lane.clone();
    let task = lane
        .submit(move || {
            let mut sum = 0;
            let joined = own.scope(|s| {
                s.execute(|| sum += 1);
                s.submit(|| 40).join().unwrap()
            });
            sum + joined
        })
        .unwrap();
    assert_eq!(in_time(move || task.join().unwrap()), 41);
    let stats = lane.view_stats();
    assert_eq!((stats.taken, stats.queued, stats.active), (3, 0, 0));
    let after = lane.submit(|| 7).unwrap();
    assert_eq!(in_time(move || after.join().unwrap()), 7, "the slot is not lost");
}

#[test]
fn a_scope_on_a_lane_from_outside_waits_for_its_turn() {
    let pool = pool_of(2);
    let lane = pool.lane();
    let held = hold_in(&lane);
    let (tell, told) = channel();
    let own = lane.clone();
    let scope = std::thread::spawn(move || {
        own.scope(|s| {
            s.execute(|| tell.send(()).unwrap());
        });
    });
    until("its task waits", || lane.view_stats().queued == 1);
    // The other worker is free: what is in the pool's queue before this runs before it.
    pool.submit(|| ()).unwrap().join().unwrap();
    assert!(told.try_recv().is_err());
    drop(held);
    told.recv_timeout(LONG).unwrap();
    scope.join().unwrap();
}

#[test]
fn a_scope_on_a_lane_of_a_closed_pool_waits_for_the_lanes_task() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold_in(&lane);
    pool.shutdown();
    let (tell, told) = channel();
    let own = lane.clone();
    let scope = std::thread::spawn(move || {
        own.scope(|s| {
            s.execute(|| tell.send(()).unwrap());
        });
    });
    assert!(told.recv_timeout(std::time::Duration::from_millis(20)).is_err());
    drop(held);
    told.recv_timeout(LONG).unwrap();
    scope.join().unwrap();
    assert!(pool.await_termination(LONG));
}

#[test]
fn all_on_a_limit_from_a_worker_of_the_same_pool_ends() {
    let pool = pool_of(1);
    let sum: usize = on_worker(&pool, |pool| {
        let view = pool.limit(1).unwrap();
        view.all((0..20).map(|n| move || n))
            .unwrap()
            .into_iter()
            .flatten()
            .sum()
    });
    assert_eq!(sum, 190);
}

#[test]
fn no_view_task_is_run_by_its_submitter_when_the_pool_is_full() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(punctual::Reject::CallerRuns)
        .build()
        .unwrap();
    let view = pool.limit(1).unwrap();
    let held = hold(&pool);
    view.execute(|| ()).unwrap();
    let refused = view.execute(|| panic!("it must not run here")).unwrap_err();
    assert!(refused.is_full());
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().rejected.caller_ran, 0);
}
