//! Tasks to which another task of their view has given its slot, and which no worker has taken yet: they wait like any other.

use super::{Notes, pool_of};
use crate::support::{LONG, assert_all_settled, hold, until};
use punctual::{Cancel, Clock, Lane, Pool, Queue, Reject, TaskHandle};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// A pool whose one worker is in a task of its own, after the first task of a lane has handed its slot to the second, which
/// is to be taken after that task; and a task that came to the queue after that chain was taken.
struct Handed {
    pool: Pool,
    lane: Lane,
    notes: Notes,
    second: TaskHandle<()>,
    /// The worker is in its task until this is dropped.
    busy: Sender<()>,
}

/// Submits a task that blocks its worker until what comes back is dropped; then it tells that it has begun.
fn blocker(pool: &Pool) -> (Sender<()>, Receiver<()>) {
    let (open, gate) = channel::<()>();
    let (begun, has_begun) = channel();
    pool.execute(move || {
        begun.send(()).expect("the test waits for this");
        let _ = gate.recv();
    })
    .expect("a pool with room");
    (open, has_begun)
}

fn handed(pool: Pool) -> Handed {
    let (lane, notes) = (pool.lane(), Notes::default());
    let first_chain = hold(&pool);
    let executor = pool.executor();
    let last = notes.writes(3);
    lane.execute(move || executor.execute(last).expect("a queue with room"))
        .unwrap();
    let second = lane.submit(notes.writes(2)).unwrap();
    // In the queue behind the lane's first one.
    let (busy, has_begun) = blocker(&pool);
    drop(first_chain);
    has_begun.recv_timeout(LONG).expect("the worker is in it");
    Handed {
        pool,
        lane,
        notes,
        second,
        busy,
    }
}

#[test]
fn it_goes_before_what_came_after_its_chain_and_after_the_rest_of_that() {
    let Handed {
        pool, notes, busy, ..
    } = handed(pool_of(1));
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [2, 3], "at the end of the queue it would be last");
    assert_all_settled(&pool.stats());
}

#[test]
fn it_is_counted_listed_and_explained_as_a_task_that_waits() {
    let handed = handed(pool_of(1));
    let (stats, view) = (handed.pool.stats(), handed.lane.view_stats());
    assert_eq!((stats.queued, view.queued), (2, 1));
    let listed = handed.pool.control().queued(10);
    assert_eq!(
        listed.first().map(|task| task.id()),
        Some(handed.second.task_ref().id())
    );
    let why = handed.second.task_ref().explain();
    assert_eq!(why.at_most_before(), Some(0), "{why}");
    drop(handed.busy);
    handed.second.join().unwrap();
}

#[test]
fn cancelled_there_it_is_gone_and_the_lane_goes_on() {
    let Handed {
        pool,
        lane,
        notes,
        second,
        busy,
    } = handed(pool_of(1));
    lane.execute(notes.writes(4)).unwrap();
    assert_eq!(second.cancel(), Cancel::Removed);
    assert_eq!(pool.stats().queued, 2);
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [3, 4]);
    assert_all_settled(&pool.stats());
}

#[test]
fn a_disposal_reaches_it_there() {
    let Handed {
        pool,
        lane,
        notes,
        second,
        busy,
    } = handed(pool_of(1));
    assert_eq!(lane.dispose(), 1);
    assert!(second.join().unwrap_err().is_cancelled());
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [3]);
}

#[test]
fn a_drain_gives_it_back_in_its_turn() {
    let Handed {
        pool,
        notes,
        second,
        busy,
        ..
    } = handed(pool_of(1));
    let drained = pool.drain();
    assert_eq!(drained.len(), 2);
    for task in drained {
        task.run().expect("its body does not panic");
    }
    assert_eq!(notes.read(), [2, 3]);
    assert!(second.join().is_err(), "the pool did not run it");
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
}

#[test]
fn a_paused_pool_leaves_it_there_and_a_closed_one_runs_it() {
    let Handed {
        pool,
        notes,
        second,
        busy,
        ..
    } = handed(pool_of(1));
    pool.pause();
    drop(busy);
    until("the worker has nothing to do", || pool.stats().active == 0);
    assert_eq!((notes.read(), pool.stats().queued), (vec![], 2));
    pool.shutdown();
    second.join().unwrap();
    assert!(pool.await_termination(LONG));
    assert_eq!(notes.read(), [2, 3]);
}

#[test]
fn a_full_pool_throws_it_out_when_it_is_the_oldest() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(3))
        .on_full(Reject::DiscardOldest)
        .build()
        .unwrap();
    let Handed {
        pool,
        lane,
        notes,
        second,
        busy,
    } = handed(pool);
    // One place is left; the next two throw out the two that are there.
    for number in 4..=6 {
        pool.execute(notes.writes(number)).unwrap();
    }
    assert!(second.join().is_err(), "it was thrown out");
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [4, 5, 6]);
    lane.submit(|| ()).unwrap().join().expect("its slot came back");
    assert_all_settled(&pool.stats());
}

#[test]
fn many_that_are_cancelled_there_are_swept_out() {
    let pool = pool_of(1);
    let first_chain = hold(&pool);
    let tasks: Vec<_> = (0..5_000)
        .map(|_| {
            let lane = pool.sequential();
            lane.execute(|| ()).unwrap();
            lane.submit(|| ()).unwrap()
        })
        .collect();
    let (held, has_begun) = blocker(&pool);
    drop(first_chain);
    has_begun.recv_timeout(LONG).expect("the worker is in it");
    assert_eq!(pool.stats().queued, 5_000);
    for task in &tasks {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    assert_eq!(pool.stats().queued, 0);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
    pool.shutdown();
    assert!(pool.await_termination(LONG), "nothing is left there");
}

#[test]
fn its_wait_is_among_the_measured_ones() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    let lane = pool.lane();
    let first = lane.submit(|| punctual::task::sleep(Duration::from_secs(5)));
    let second = lane.submit(|| ()).unwrap();
    clock.advance(Duration::from_secs(5));
    drop(first.unwrap().join());
    second.join().unwrap();
    assert!(pool.wait_idle(LONG));
    assert!(pool.stats().wait.sum() >= Duration::from_secs(5));
}
