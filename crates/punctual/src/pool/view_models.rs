//! Loom models of a view's gate: a slot that goes back meets a submission, a cancel, a disposal, the end of its pool. A
//! slot that is lost is a task that never runs: loom reports the wait for it as a deadlock.

use crate::models::model;
use crate::queue::Queue;
use crate::sync::Arc;
use crate::{Cancel, Pool};
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

fn pool() -> Pool {
    let builder = Pool::builder("model").core_threads(1).queue(Queue::unbounded());
    builder.build().unwrap()
}

/// The slot is given back while the next task comes to the gate.
#[test]
fn a_slot_that_goes_back_meets_a_submission() {
    model(2, || {
        let pool = pool();
        let lane = pool.sequential();
        let runs = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let count = runs.clone();
            lane.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
        drop((lane, pool));
        assert_eq!(runs.load(SeqCst), 2);
    });
}

/// A task in line gets the slot while it is cancelled: it runs, or it is removed, and the one behind it runs.
#[test]
fn a_cancel_meets_the_slot() {
    model(2, || {
        let pool = pool();
        let lane = pool.sequential();
        lane.execute(|| ()).unwrap();
        let cancelled = lane.submit(|| ()).unwrap();
        let last = lane.submit(|| 7).unwrap();
        let cancel = cancelled.cancel();
        assert_eq!(cancelled.join().is_err(), cancel != Cancel::TooLate);
        assert_eq!(last.join().unwrap(), 7);
        drop((lane, pool));
    });
}

/// The task that has the slot is cancelled while a worker takes it: the next in line gets it once.
#[test]
fn a_cancel_meets_the_claim_of_the_slots_owner() {
    model(2, || {
        let pool = pool();
        let lane = pool.sequential();
        let first = lane.submit(|| ()).unwrap();
        let next = lane.submit(|| 7).unwrap();
        let cancel = first.cancel();
        assert_eq!(next.join().unwrap(), 7);
        assert_eq!(first.join().is_err(), cancel != Cancel::TooLate);
        drop((lane, pool));
    });
}

/// A canceller takes the slot's owner out of a pool that closes: the worker does not leave before the next in line has
/// run.
#[test]
fn a_cancel_meets_the_end_of_a_pool_with_a_line() {
    model(2, || {
        let pool = pool();
        let lane = pool.sequential();
        let first = lane.submit(|| ()).unwrap();
        let next = lane.submit(|| 7).unwrap();
        pool.shutdown();
        let _ = first.cancel();
        assert_eq!(next.join().unwrap(), 7);
        drop((lane, pool));
    });
}

/// A lane is disposed of while its slot goes from one task to the next: everything has an end.
#[test]
fn a_disposal_meets_the_slot() {
    model(2, || {
        let pool = pool();
        let lane = pool.lane();
        let tasks = [lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap()];
        let disposed = lane.dispose();
        let cancelled = tasks.into_iter().filter_map(|task| task.join().err()).count();
        assert!(disposed <= cancelled, "a running one is told, and not counted");
        assert!(lane.close_timeout(Duration::MAX));
        drop((lane, pool));
    });
}

/// A lane is disposed of by one branch of a `join` in it, at whatever step the worker of the other is: that runs once, and what it
/// borrows is its lender's when `join` returns.
#[test]
fn a_join_in_a_lane_meets_its_disposal() {
    model(2, || {
        let pool = pool();
        let lane = pool.lane();
        let runs = AtomicUsize::new(0);
        let (_, before) = lane.join(|| lane.dispose(), || runs.fetch_add(1, SeqCst));
        assert_eq!((before, runs.into_inner()), (0, 1));
        drop((lane, pool));
    });
}
