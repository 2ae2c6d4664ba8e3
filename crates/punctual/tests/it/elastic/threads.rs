//! Which thread a task gets, and when threads come and go.

use crate::support::{LONG, hold, in_time, until};
use punctual::{Clock, Executor, Lanes, Pool, Queue, task};
use std::collections::BTreeSet;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::thread::{ThreadId, current};
use std::time::Duration;

const TTL: Duration = Duration::from_secs(60);

fn lanes(threads: usize) -> Lanes {
    Lanes::builder("lanes").max_threads(threads).build().unwrap()
}

fn this_thread() -> ThreadId {
    current().id()
}

#[test]
fn rea_25_lanes_run_beside_each_other_up_to_the_most_threads() {
    let lanes = lanes(4);
    let meet = Arc::new(Barrier::new(4));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let meet = meet.clone();
            let meets = move || {
                meet.wait();
                this_thread()
            };
            lanes.lane().submit(meets).unwrap()
        })
        .collect();
    let threads: BTreeSet<_> = in_time(|| {
        tasks
            .into_iter()
            .map(|task| format!("{:?}", task.join().unwrap()))
            .collect()
    });
    assert_eq!(threads.len(), 4);
    // A fifth lane waits for none of the others' tasks in particular.
    assert!(in_time(move || lanes.lane().submit(|| ()).unwrap().join()).is_ok());
}

#[test]
fn rea_26_the_thread_that_was_idle_last_then_a_new_one_then_the_queue() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(2)
        .time_to_live(TTL)
        .clock(&clock)
        .build()
        .unwrap();
    let thread_of = |lanes: &Lanes| lanes.submit(this_thread).unwrap().join().unwrap();
    let first = thread_of(&lanes);
    // Advancing waits until the worker rests.
    clock.advance(Duration::from_secs(1));
    assert_eq!(thread_of(&lanes), first);
    assert_eq!(lanes.stats().threads_started, 1);
    clock.advance(Duration::from_secs(1));
    let one = hold(&lanes);
    let two = hold(&lanes);
    assert_eq!((lanes.stats().threads_started, lanes.stats().queued), (2, 0));
    let third = lanes.submit(this_thread).unwrap();
    assert_eq!((lanes.stats().threads_started, lanes.stats().queued), (2, 1));
    drop(one);
    assert_eq!(third.join().unwrap(), first);
    drop(two);
}

#[test]
fn rea_26_of_two_idle_threads_the_one_that_became_idle_last() {
    const SECOND: Duration = Duration::from_secs(1);
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(2)
        .time_to_live(TTL)
        .clock(&clock)
        .build()
        .unwrap();
    let working = |seconds: u32| {
        let (tell, told) = channel();
        let works = move || {
            tell.send(this_thread()).unwrap();
            task::sleep(seconds * SECOND).unwrap();
        };
        lanes.execute(works).unwrap();
        told.recv().unwrap()
    };
    for round in 0..6 {
        // In turns the first and the second to begin ends last.
        let (first, second) = if round % 2 == 0 { (1, 2) } else { (2, 1) };
        let (first, second) = ((working(first), first), (working(second), second));
        assert_ne!(first.0, second.0);
        // Each advance returns when whoever has ended rests.
        clock.advance(SECOND);
        clock.advance(SECOND);
        let last = if first.1 > second.1 { first.0 } else { second.0 };
        assert_eq!(working(1), last, "round {round}");
        clock.advance(SECOND);
    }
    assert_eq!(lanes.stats().threads_started, 2);
}

#[test]
fn rea_34_a_thread_stays_while_it_is_idle_for_less_than_its_time_and_comes_again_on_demand() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(2)
        .time_to_live(TTL)
        .clock(&clock)
        .build()
        .unwrap();
    lanes.submit(|| ()).unwrap().join().unwrap();
    clock.advance(TTL - Duration::from_nanos(1));
    assert_eq!(lanes.stats().threads, 1);
    clock.advance(Duration::from_nanos(1));
    until("the idle thread leaves", || lanes.stats().threads == 0);
    lanes.submit(|| ()).unwrap().join().unwrap();
    assert_eq!((lanes.stats().threads, lanes.stats().threads_started), (1, 2));
}

#[test]
fn rea_39_as_many_blocked_tasks_as_threads_run_at_once() {
    let lanes = lanes(16);
    let meet = Arc::new(Barrier::new(16));
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let meet = meet.clone();
            lanes.submit(move || meet.wait().is_leader()).unwrap()
        })
        .collect();
    let meets = in_time(|| -> usize {
        tasks
            .into_iter()
            .map(|task| usize::from(task.join().unwrap()))
            .sum()
    });
    assert_eq!(meets, 1);
    assert_eq!(lanes.stats().largest, 16);
}

#[test]
fn rea_40_a_task_behind_a_busy_thread_starts_on_one_that_becomes_free() {
    let lanes = lanes(2);
    let (blocked, short) = (hold(&lanes), hold(&lanes));
    let behind = lanes.submit(|| 1).unwrap();
    drop(short);
    assert_eq!(in_time(|| behind.join().unwrap()), 1);
    drop(blocked);
}

#[test]
fn rea_40_unless_it_wants_to_come_after_the_task_that_blocks() {
    let lanes = lanes(2);
    let lane = lanes.lane();
    let blocked = hold(&lane);
    let after = lane.submit(|| 1).unwrap();
    lanes.submit(|| ()).unwrap().join().unwrap();
    assert!(!after.is_finished());
    drop(blocked);
    assert_eq!(in_time(|| after.join().unwrap()), 1);
}

#[test]
fn rea_21_a_hundred_tasks_keep_all_four_threads_busy() {
    let lanes = lanes(4);
    let meet = Arc::new(Barrier::new(4));
    let tasks: Vec<_> = (0..100)
        .map(|n| {
            let meet = meet.clone();
            let meets = move || {
                // In each round all four are needed at once.
                if n < 96 {
                    meet.wait();
                }
            };
            lanes.submit(meets).unwrap()
        })
        .collect();
    in_time(|| tasks.into_iter().for_each(|task| task.join().unwrap()));
}

#[test]
fn rea_36_tasks_that_submit_and_do_not_wait_end_on_one_thread() {
    let lanes = lanes(1);
    let (tell, told) = channel();
    let inside = lanes.executor();
    lanes
        .execute(move || {
            let outer = inside.clone();
            let told = move || {
                let tell = tell.clone();
                outer.execute(move || tell.send("in the end").unwrap()).unwrap();
            };
            inside.execute(told).unwrap();
        })
        .unwrap();
    assert_eq!(told.recv_timeout(LONG), Ok("in the end"));
}

#[test]
fn rea_36_after_fifty_waiting_tasks_were_cancelled_a_new_one_runs() {
    let lanes = lanes(1);
    let held = hold(&lanes);
    let cancelled: Vec<_> = (0..50).map(|_| lanes.submit(|| ()).unwrap()).collect();
    for task in &cancelled {
        let _ = task.cancel();
    }
    drop(held);
    assert_eq!(in_time(move || lanes.submit(|| 5).unwrap().join().unwrap()), 5);
}

#[test]
fn trap_47_tasks_that_wait_for_tasks_behind_them_end_on_one_thread() {
    fn nested(inside: &Executor, depth: usize) -> usize {
        if depth == 0 {
            return 0;
        }
        let own = inside.clone();
        let inner = inside.submit(move || nested(&own, depth - 1)).unwrap();
        1 + inner.join().unwrap()
    }
    let lanes = lanes(1);
    let inside = lanes.executor();
    let outer = lanes.submit(move || nested(&inside, 50)).unwrap();
    assert_eq!(in_time(|| outer.join().unwrap()), 50);
}

#[test]
fn trap_48_after_refusals_an_idle_thread_leaves_at_its_time() {
    let clock = Clock::manual();
    let lanes = Lanes::builder("lanes")
        .max_threads(1)
        .queue_capacity(1)
        .time_to_live(TTL)
        .clock(&clock)
        .build()
        .unwrap();
    let held = hold(&lanes);
    let waits = lanes.submit(|| ()).unwrap();
    for _ in 0..100 {
        assert!(lanes.execute(|| ()).unwrap_err().is_full());
    }
    drop(held);
    in_time(|| waits.join().unwrap());
    clock.advance(TTL);
    until("the idle thread leaves", || lanes.stats().threads == 0);
    assert_eq!(lanes.remaining_capacity(), 1);
}

/// A line is no way round a bound: with places, and without.
#[test]
fn a_lane_takes_in_no_more_than_there_are_hands_and_places() {
    let bounded = Lanes::builder("lanes").max_threads(4).queue_capacity(2);
    let bounded = bounded.build().unwrap();
    let handoff = Pool::builder("handoff").core_threads(4).prestart(true);
    let handoff = handoff.queue(Queue::handoff()).build().unwrap();
    for (pool, most) in [(&*bounded, 3 + 2), (&handoff, 3)] {
        let lane = pool.lane();
        let held = hold(&lane);
        let accepted = (0..20).filter(|_| lane.execute(|| ()).is_ok()).count();
        assert!((2..=most).contains(&accepted), "{accepted} of {most}: {pool:?}");
        drop(held);
        assert!(pool.wait_idle(LONG));
        assert_eq!(pool.stats().finished as usize, 1 + accepted);
    }
}

/// The next of a lane takes the hand of the one before it, also if somebody comes in between who would have had it.
#[test]
fn who_comes_while_a_lane_hands_on_gets_a_thread_all_the_same() {
    for _ in 0..200 {
        let lanes = lanes(3);
        let lane = lanes.lane();
        let meet = Arc::new(Barrier::new(3));
        for _ in 0..20 {
            lane.execute(|| ()).unwrap();
        }
        // All three at once, or none ends: one behind a backlog, two beside it.
        let last = meet.clone();
        lane.execute(move || _ = last.wait()).unwrap();
        for _ in 0..2 {
            let meet = meet.clone();
            lanes.execute(move || _ = meet.wait()).unwrap();
        }
        assert!(
            lanes.wait_idle(LONG),
            "a task waits beside threads that could be started"
        );
    }
}
