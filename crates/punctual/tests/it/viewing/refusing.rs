//! Full and closed: what a view's task is told, and that it never runs elsewhere.

use super::{Notes, hold_in, pool_of};
use crate::support::{LONG, hold, in_time};
use punctual::{Lanes, Pool, Queue, Reason, Reject};
use std::sync::{Arc, Barrier, RwLock};
use std::time::Duration;

#[test]
fn trap_60_a_task_that_the_pool_refuses_comes_back_and_runs_nowhere() {
    for reject in [Reject::Abort, Reject::CallerRuns] {
        let pool = Pool::builder("p")
            .core_threads(1)
            .queue(Queue::bounded(1))
            .on_full(reject)
            .build()
            .unwrap();
        let lane = pool.lane();
        let held = hold_in(&lane);
        let notes = Notes::default();
        lane.execute(notes.writes(1)).unwrap();
        let refused = lane.submit(notes.writes(2)).unwrap_err();
        assert!(refused.is_full(), "{refused}");
        drop(held);
        assert!(pool.wait_idle(LONG));
        assert_eq!(notes.read(), [1]);
        refused.into_task()();
        assert_eq!(notes.read(), [1, 2], "it came back whole");
    }
}

#[test]
fn trap_60_a_discarded_task_of_a_view_resolves_as_rejected() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::Discard)
        .build()
        .unwrap();
    let lane = pool.lane();
    let _held = hold_in(&lane);
    lane.execute(|| ()).unwrap();
    assert!(lane.submit(|| ()).unwrap().join().unwrap_err().is_rejected());
    assert_eq!((lane.view_stats().queued, pool.stats().queued), (1, 1));
}

#[test]
fn what_stands_in_a_line_takes_one_place_of_the_queue_with_levels_or_without() {
    for queue in [Queue::bounded(4), Queue::priority(4).into()] {
        let pool = Pool::builder("p").core_threads(1).queue(queue).build().unwrap();
        let lane = pool.lane();
        let held = hold_in(&lane);
        lane.execute(|| ()).unwrap();
        let places = (0..8).take_while(|_| pool.execute(|| ()).is_ok()).count();
        assert_eq!((places, pool.stats().queued), (3, 4));
        drop(held);
        assert!(pool.wait_idle(LONG));
    }
}

#[test]
fn a_submission_waits_for_room_that_a_view_holds() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .build()
        .unwrap();
    let lane = pool.lane();
    let held = hold_in(&lane);
    let first = lane.submit(|| 1).unwrap();
    let own = lane.clone();
    let waiting = std::thread::spawn(move || own.submit_timeout(LONG, || 2).unwrap().join().unwrap());
    drop(held);
    assert_eq!(
        in_time(move || (first.join().unwrap(), waiting.join().unwrap())),
        (1, 2)
    );
}

#[test]
fn a_bounded_lane_refuses_what_does_not_fit_whatever_the_policy() {
    for reject in [
        Reject::Abort,
        Reject::DiscardOldest,
        Reject::Block(LONG),
        Reject::Discard,
    ] {
        let pool = Pool::builder("p")
            .core_threads(1)
            .on_full(reject)
            .build()
            .unwrap();
        let lane = pool.lane_bounded(2).unwrap();
        let held = hold_in(&lane);
        let tasks = [lane.submit(|| 1).unwrap(), lane.submit(|| 2).unwrap()];
        let refused = lane.submit(|| 3).unwrap_err();
        assert!(
            matches!(
                refused.reason(),
                Reason::Full {
                    queued: 2,
                    capacity: 2,
                    ..
                }
            ),
            "{:?}",
            refused.reason()
        );
        assert!(lane.submit_timeout(Duration::ZERO, || 3).unwrap_err().is_full());
        assert_eq!(
            pool.submit(|| 7).unwrap().task_ref().name(),
            None,
            "the pool has room"
        );
        drop(held);
        assert_eq!(tasks.map(|task| task.join().unwrap()), [1, 2]);
    }
}

#[test]
fn what_waits_for_room_does_not_mind_the_lanes_own_bound() {
    let pool = pool_of(2);
    let lane = pool.lane_bounded(1).unwrap();
    let sum: i32 = in_time(move || {
        lane.all((0..10).map(|n| move || n))
            .unwrap()
            .into_iter()
            .flatten()
            .sum()
    });
    assert_eq!(sum, 45);
}

#[test]
fn a_lane_without_room_is_an_error_that_says_what_to_do() {
    let pool = pool_of(1);
    let error = pool.lane_bounded(0).unwrap_err().to_string();
    assert!(
        error.contains("lane_bounded") && error.contains('0') && error.contains("lane()"),
        "{error}"
    );
    assert!(pool.lane_bounded(usize::MAX).is_err());
}

#[test]
fn a_handoff_pool_takes_no_more_for_a_lane_than_it_has_hands() {
    let pool = Pool::builder("p")
        .core_threads(2)
        .queue(Queue::handoff())
        .build()
        .unwrap();
    let lane = pool.lane();
    let held = hold_in(&lane);
    let second = lane.submit(|| 2).unwrap();
    assert!(
        lane.execute(|| ()).unwrap_err().is_full(),
        "the second waits for its turn with the other hand"
    );
    drop(held);
    assert_eq!(second.join().unwrap(), 2);
    let _other = hold(&pool);
}

#[test]
fn a_lane_inside_one_that_was_disposed_of_refuses_for_good_even_if_it_is_full() {
    let pool = pool_of(2);
    let outer = pool.lane();
    let inner = outer.lane_bounded(1).unwrap();
    let held = hold_in(&inner);
    inner.execute(|| ()).unwrap();
    assert!(inner.execute(|| ()).unwrap_err().is_full());
    assert!(!outer.close_timeout(Duration::ZERO), "its task goes on");
    let refused = inner.after(LONG, || ()).map(drop).unwrap_err();
    assert!(matches!(refused.reason(), Reason::ShutDown), "{refused}");
    let refused = inner.submit(|| ()).map(drop).unwrap_err();
    assert!(matches!(refused.reason(), Reason::ShutDown), "{refused}");
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().pending_timers, 0);
}

/// The first submissions of a pool without threads all pass the first look, and start a thread each.
#[test]
fn a_lanes_bound_holds_for_submissions_that_start_threads() {
    for _ in 0..50 {
        let lanes = Lanes::builder("p")
            .max_threads(16)
            .queue_per_lane(1)
            .build()
            .unwrap();
        let lane = lanes.lane();
        let gate = Arc::new(RwLock::new(()));
        let shut = gate.write().unwrap();
        let start = Barrier::new(8);
        let submit = || {
            let gate = gate.clone();
            start.wait();
            lane.submit(move || drop(gate.read().unwrap())).is_ok()
        };
        let accepted = std::thread::scope(|scope| {
            let submitters: Vec<_> = (0..8).map(|_| scope.spawn(submit)).collect();
            let accepted = submitters.into_iter().map(|each| each.join().unwrap());
            accepted.filter(|is_accepted| *is_accepted).count()
        });
        assert!((1..=2).contains(&accepted), "one runs and one waits: {accepted}");
        drop(shut);
        assert!(lanes.wait_idle(LONG));
    }
}
