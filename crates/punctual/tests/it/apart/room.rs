//! What waits in an annex counts against the pool's capacity, and the pool's policy answers when that is full.

use super::{block_many, hold_many, meet, once_active, value};
use crate::growing::Gate;
use crate::support::{LONG, block_on, counting_waker, hold, poll_once, until};
use punctual::{Executor, Pool, Queue, Reason, Reject};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Poll;
use std::time::Duration;

/// One thread, so many places, and this policy.
fn bounded(places: usize, reject: Reject) -> Pool {
    Pool::builder("apart")
        .core_threads(1)
        .queue(Queue::bounded(places))
        .on_full(reject)
        .build()
        .unwrap()
}

/// How many more are accepted, at most 100.
fn fills(executor: &Executor, gate: &Gate) -> usize {
    (0..100)
        .take_while(|_| executor.execute(gate.task()).is_ok())
        .count()
}

#[test]
fn apart_places_are_those_of_the_pool_and_threads_come_on_top() {
    let pool = bounded(5, Reject::Abort);
    let reserved = pool.reserve(2).unwrap();
    let gate = Gate::default();
    assert_eq!(fills(&reserved, &gate), 2 + 5);
    once_active(&pool, 2);
    let refused = pool.execute(|| ());
    assert!(
        refused.is_ok(),
        "the pool's own thread is free, and is started for it"
    );
    until("it has run", || pool.stats().finished == 1);
    assert!(pool.execute(|| ()).unwrap_err().is_full(), "all places are taken");
    let refused = reserved.execute(|| ()).unwrap_err();
    assert!(
        matches!(
            refused.reason(),
            Reason::Full {
                queued: 5,
                capacity: 5,
                ..
            }
        ),
        "{refused}"
    );
    assert_eq!(pool.stats().rejected.full, 3);
    drop(gate);
    assert!(pool.wait_idle(LONG));
    let _held = hold(&pool);
    let gate = Gate::default();
    assert_eq!(fills(&pool, &gate), 5, "all places have come back");
    assert_eq!(fills(&reserved, &gate), 2);
}

#[test]
fn apart_places_come_back_however_a_task_ends() {
    let pool = bounded(3, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    for round in 0..20 {
        let held = hold(&reserved);
        let waiting: Vec<_> = (0..3).map(|_| reserved.submit(|| ()).unwrap()).collect();
        assert!(reserved.execute(|| ()).unwrap_err().is_full());
        match round % 4 {
            0 => waiting.iter().for_each(|task| _ = task.cancel()),
            1 => drop(pool.drain()),
            2 => waiting
                .into_iter()
                .for_each(|task| assert!(task.task_ref().remove())),
            _ => drop(waiting),
        }
        if round % 4 != 3 {
            let gate = Gate::default();
            assert_eq!(fills(&reserved, &gate), 3);
        }
        drop(held);
        assert!(pool.wait_idle(LONG));
    }
    let gate = Gate::default();
    assert_eq!(fills(&reserved, &gate), 1 + 3);
}

#[test]
fn apart_places_given_by_racing_submitters_are_exact() {
    for _ in 0..30 {
        let pool = bounded(10, Reject::Abort);
        let annexes = [pool.reserve(2).unwrap(), pool.reserve(3).unwrap()];
        let gate = Gate::default();
        let accepted: usize = std::thread::scope(|scope| {
            let fill = |annex| {
                let gate = &gate;
                scope.spawn(move || fills(annex, gate))
            };
            let fillers = [&annexes[0], &annexes[1], &annexes[0]].map(fill);
            fillers.into_iter().map(|each| each.join().unwrap()).sum()
        });
        assert_eq!(accepted, 2 + 3 + 10);
        drop(gate);
        assert!(pool.wait_idle(LONG));
    }
}

#[test]
fn apart_a_handoff_pool_has_annexes_without_places() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .queue(Queue::handoff())
        .build()
        .unwrap();
    let reserved = pool.reserve(2).unwrap();
    for _ in 0..10 {
        let gate = Gate::default();
        assert_eq!(fills(&reserved, &gate), 2);
        drop(gate);
        assert!(pool.wait_idle(LONG));
    }
}

#[test]
fn apart_capacity_that_is_changed_holds_at_once() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    let gate = Gate::default();
    assert_eq!(fills(&reserved, &gate), 2);
    pool.set_capacity(3).unwrap();
    assert_eq!(fills(&reserved, &gate), 2);
}

#[test]
fn trap_60_a_refused_task_comes_back_or_is_resolved_and_never_runs_elsewhere() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    let _held = hold(&reserved);
    let _waits = reserved.submit(|| ()).unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let task = |_| {
        let ran = ran.clone();
        move || _ = ran.fetch_add(1, SeqCst)
    };
    let refused = reserved.submit(task(())).unwrap_err();
    assert!(refused.is_full());
    refused.into_task()();
    assert_eq!(ran.load(SeqCst), 1, "it is whole");
    pool.set_reject(Reject::Discard);
    let discarded = reserved.submit(task(())).unwrap();
    assert!(discarded.join().unwrap_err().is_rejected());
    pool.shutdown();
    assert!(reserved.submit(task(())).unwrap_err().is_shutdown());
    assert_eq!(ran.load(SeqCst), 1);
}

#[test]
fn apart_caller_runs_what_finds_no_place() {
    let pool = bounded(1, Reject::CallerRuns);
    let reserved = pool.reserve(1).unwrap();
    let _held = hold(&reserved);
    drop(reserved.submit(|| ()).unwrap());
    let here = std::thread::current().id();
    let ran_on = reserved.submit(|| std::thread::current().id()).unwrap();
    assert_eq!(value(ran_on), here);
    assert_eq!(pool.stats().rejected.caller_ran, 1);
}

#[test]
fn apart_discard_oldest_throws_out_the_oldest_of_the_same_annex() {
    let pool = bounded(2, Reject::DiscardOldest);
    let reserved = pool.reserve(1).unwrap();
    let _held = hold(&reserved);
    let (first, second) = (reserved.submit(|| 1).unwrap(), reserved.submit(|| 2).unwrap());
    let third = reserved.submit(|| 3).unwrap();
    assert!(first.join().unwrap_err().is_evicted());
    assert!(!second.is_finished() && !third.is_finished());
    assert_eq!(pool.stats().queued, 2);
}

#[test]
fn apart_discard_oldest_does_not_reach_into_the_pools_queue() {
    let pool = bounded(1, Reject::DiscardOldest);
    let reserved = pool.reserve(1).unwrap();
    let _held = (hold(&pool), hold(&reserved));
    let own = pool.submit(|| 1).unwrap();
    assert!(reserved.submit(|| 2).unwrap_err().is_full());
    assert!(!own.is_finished());
}

#[test]
fn apart_whoever_waits_for_room_gets_the_next_thread() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    let _own = hold(&pool);
    drop(pool.submit(|| ()).unwrap());
    let held = hold(&reserved);
    // The pool's only place is taken: this one waits for the annex's thread.
    let (waker, calls) = counting_waker();
    let mut waits = pin!(reserved.submit_async(|| 5));
    assert!(poll_once(&mut waits, &waker).is_pending());
    drop(held);
    until("it was called", || calls.load(SeqCst) > 0);
    assert_eq!(value(block_on(waits).unwrap()), 5);
}

#[test]
fn apart_whoever_waits_for_room_gets_the_next_place() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    let own = hold(&pool);
    drop(pool.submit(|| ()).unwrap());
    let held = hold(&reserved);
    let (waker, calls) = counting_waker();
    let mut waits = pin!(reserved.submit_async(|| 5));
    assert!(poll_once(&mut waits, &waker).is_pending());
    // The pool's task is taken: its place is free, although the annex's thread is not.
    drop(own);
    until("it was called", || calls.load(SeqCst) > 0);
    let Poll::Ready(Ok(task)) = poll_once(&mut waits, &waker) else {
        panic!("it has its place");
    };
    assert_eq!(pool.stats().queued, 1);
    drop(held);
    assert_eq!(value(task), 5);
}

#[test]
fn apart_whoever_waits_for_room_is_told_when_the_pool_closes() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(1).unwrap();
    let held = hold_many(&reserved, 1);
    drop(reserved.submit(|| ()).unwrap());
    let (waker, calls) = counting_waker();
    let mut waits = pin!(reserved.submit_async(|| 5));
    assert!(poll_once(&mut waits, &waker).is_pending());
    pool.shutdown();
    until("it was called", || calls.load(SeqCst) > 0);
    let refused = block_on(waits).unwrap_err();
    assert!(refused.is_shutdown());
    drop(held);
}

#[test]
fn apart_from_a_worker_of_any_of_its_threads_a_full_pool_does_not_block() {
    let pool = bounded(1, Reject::Block(LONG));
    let reserved = pool.reserve(1).unwrap();
    let own = pool.clone();
    let gate = Gate::default();
    block_many(&pool, &gate, 2);
    let answer = reserved.submit(move || {
        own.submit(|| ())
            .map(drop)
            .map_err(|refused| refused.reason().clone())
    });
    assert!(matches!(value(answer.unwrap()), Err(Reason::WouldDeadlock)));
}

#[test]
fn apart_all_waits_for_room() {
    let pool = bounded(1, Reject::Abort);
    let reserved = pool.reserve(2).unwrap();
    let numbers = reserved.all((0..50).map(|number| move || number)).unwrap();
    let numbers: Result<Vec<_>, _> = numbers.into_iter().collect();
    assert_eq!(numbers.unwrap(), (0..50).collect::<Vec<_>>());
}

#[test]
fn apart_scopes_run_there() {
    let pool = bounded(4, Reject::Abort);
    let reserved = pool.reserve(2).unwrap();
    let mut names = vec![None; 20];
    reserved.scope(|scope| {
        for name in &mut names {
            scope.execute(move || *name = std::thread::current().name().map(str::to_owned));
        }
    });
    let is_there = |name: &Option<String>| name.as_ref().is_some_and(|name| name.contains("-reserve(2)-"));
    assert!(names.iter().all(is_there), "{names:?}");
}

#[test]
fn apart_capacity_may_cover_what_is_delayed_there() {
    let pool = Pool::builder("apart")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .capacity_covers_delayed(true)
        .build()
        .unwrap();
    let reserved = pool.reserve(1).unwrap();
    let hour = Duration::from_secs(3600);
    let one = reserved.after(hour, || 1).unwrap();
    let _two = pool.after(hour, || 2).unwrap();
    assert!(reserved.after(hour, || 3).unwrap_err().is_full());
    one.cancel();
    let three = reserved.after(Duration::ZERO, || 3).unwrap();
    assert_eq!(value(three), 3);
    assert!(
        reserved.after(hour, || 4).is_ok(),
        "its place came back when it was taken"
    );
}

#[test]
fn apart_a_paused_pool_lets_in_as_many_as_it_has_places() {
    let pool = bounded(3, Reject::Abort);
    let reserved = pool.reserve(2).unwrap();
    meet(&reserved, 2);
    pool.pause();
    let gate = Gate::default();
    assert_eq!(fills(&reserved, &gate), 3);
    drop(gate);
    pool.resume();
    assert!(pool.wait_idle(LONG));
    let gate = Gate::default();
    assert_eq!(fills(&reserved, &gate), 2 + 3);
}

#[test]
fn apart_a_lane_of_a_reserve_joined_from_the_pool_is_not_jumped() {
    let pool = bounded(100, Reject::Abort);
    let lane = pool.reserve(2).unwrap().sequential();
    let gate = Gate::default();
    lane.execute(gate.task()).unwrap();
    let own = lane.clone();
    let joined = pool
        .submit(move || own.submit(|| 5).unwrap().join().unwrap())
        .unwrap();
    until("both are there", || pool.stats().submitted == 3);
    assert!(!joined.is_finished(), "the lane's first task still runs");
    drop(gate);
    assert_eq!(value(joined), 5);
}
