//! A spare thread that cannot be started: the wait that needed it is told so, or ends at its limit. Nothing hangs, and
//! what was accepted runs.

use crate::process::{Gate, alone, large, room_for, room_for_all};
use crate::support::{LONG, assert_all_settled, until};
use punctual::{Executor, JoinError, Pool, Queue, WeakExecutor};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Deeper than tasks are run in place inside each other, so that the last wait needs another thread.
const DEPTH: usize = 70;

fn single_with_a_spare() -> Pool {
    large("spare")
        .core_threads(1)
        .spare_threads(1)
        .queue(Queue::unbounded())
        .build()
        .expect("valid")
}

/// Joins a child, that joins a child, and so on; says how deep it came and how the deepest wait ended.
fn descend(executor: &WeakExecutor, depth: usize, ran: &Arc<AtomicUsize>) -> Result<usize, JoinError> {
    ran.fetch_add(1, SeqCst);
    if depth == DEPTH {
        return Ok(depth);
    }
    let pool: Executor = executor.upgrade().expect("the test has the pool");
    let (again, mine) = (executor.clone(), ran.clone());
    let child = pool
        .submit(move || descend(&again, depth + 1, &mine))
        .expect("room");
    child.join()?
}

#[test]
fn fault_07_a_wait_whose_spare_cannot_start_is_told_that_it_would_not_end() {
    alone(|| {
        let pool = single_with_a_spare();
        let ran = Arc::new(AtomicUsize::new(0));
        room_for(1);
        let (executor, mine) = (pool.downgrade(), ran.clone());
        let task = pool
            .submit(move || descend(&executor, 1, &mine))
            .expect("one thread fits");
        let error = task
            .join()
            .expect("no panic")
            .expect_err("nobody to run the deepest");
        assert!(error.is_would_deadlock(), "{error}");
        assert!(pool.stats().failed_starts > 0);
        // The task that nobody could wait for was accepted, and runs.
        assert!(pool.wait_idle(LONG));
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!(stats.finished, stats.submitted);
        assert_eq!(stats.finished, ran.load(SeqCst) as u64);
    });
}

#[test]
fn fault_07_the_same_wait_ends_when_the_spare_can_start() {
    alone(|| {
        let pool = single_with_a_spare();
        let ran = Arc::new(AtomicUsize::new(0));
        room_for(2);
        let (executor, mine) = (pool.downgrade(), ran.clone());
        let task = pool
            .submit(move || descend(&executor, 1, &mine))
            .expect("one thread fits");
        assert_eq!(
            task.join().expect("no panic").expect("a spare ran the deepest"),
            DEPTH
        );
        assert_eq!(ran.load(SeqCst), DEPTH);
    });
}

#[test]
fn fault_07_a_wait_with_a_limit_ends_there_when_its_spare_cannot_start() {
    alone(|| {
        let pool = single_with_a_spare();
        room_for(1);
        let executor = pool.downgrade();
        let task = pool.submit(move || {
            let pool = executor.upgrade().expect("the test has the pool");
            let mut child = pool.submit(|| 1).expect("room");
            // A wait with a limit does not run the child in place: that could take longer.
            let waited = child.join_timeout(Duration::from_millis(5));
            (waited.is_err_and(|error| error.is_timeout()), child)
        });
        let (timed_out, child) = task.expect("one thread fits").join().expect("no panic");
        assert!(timed_out);
        assert_eq!(child.join().expect("accepted, so it runs"), 1);
        // Once there is room, the same wait gets its spare.
        room_for_all();
        let executor = pool.downgrade();
        let task = pool.submit(move || {
            let pool = executor.upgrade().expect("the test has the pool");
            pool.submit(|| 2).expect("room").join_timeout(LONG)
        });
        let value = task.expect("somebody is alive").join().expect("no panic");
        assert_eq!(value.expect("a spare ran it"), 2);
    });
}

#[test]
fn fault_07_the_last_free_worker_serves_those_who_wait_without_a_spare() {
    alone(|| {
        let pool = large("two")
            .core_threads(2)
            .spare_threads(2)
            .queue(Queue::unbounded())
            .build()
            .expect("valid");
        room_for(2);
        let gate = Gate::default();
        let at_gate = gate.clone();
        let busy = pool.submit(move || at_gate.pass()).expect("a thread");
        let executor = pool.downgrade();
        let waiting = pool
            .submit(move || {
                let pool = executor.upgrade().expect("the test has the pool");
                pool.submit(|| 3).expect("room").join_timeout(LONG)
            })
            .expect("a thread");
        until("a spare was tried", || pool.stats().failed_starts > 0);
        assert!(!waiting.is_finished(), "nobody is free");
        gate.open();
        assert_eq!(waiting.join().expect("no panic").expect("the other ran it"), 3);
        busy.join().expect("it runs");
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}
