//! The newcomer is thrown away (`Discard`), and its handle says so.

use super::{counter, counting, full, watched};
use crate::support::{Dropped, LONG, assert_all_settled, assert_books_balance, block_on, in_time};
use punctual::{Clock, Reject, Status};
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn rej_04_a_discarded_task_never_runs_and_its_handle_says_so() {
    let full = full(Reject::Discard);
    let (runs, drops) = (counter(), counter());
    let (job, kept) = (counting(&runs), Dropped(drops.clone()));
    let task = full
        .pool
        .submit(move || {
            job();
            drop(kept);
        })
        .expect("no error");
    assert_eq!(drops.load(SeqCst), 1, "its closure is gone");
    assert!(task.is_finished());
    assert_eq!(task.task_ref().status(), Status::Rejected);
    let error = task.join().unwrap_err();
    assert!(error.is_rejected() && !error.is_evicted() && !error.is_cancelled());
    drop(full.held);
    assert_eq!(
        full.queued.join().unwrap(),
        "queued",
        "the others are not touched"
    );
    assert!(full.pool.wait_idle(LONG));
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn rej_04_whoever_waits_for_a_discarded_task_gets_an_answer() {
    // The JDK's waiter hangs here.
    in_time(|| {
        let full = full(Reject::Discard);
        let task = full.pool.submit(|| 1).unwrap();
        task.wait();
        assert!(block_on(task).unwrap_err().is_rejected());
        let named = full.pool.task(|| 1).name("named").submit().unwrap();
        assert_eq!(named.task_ref().name(), Some("named"));
        assert!(named.join().unwrap_err().is_rejected());
        let mut group = full.pool.group();
        group.submit(|| 1).unwrap();
        let (_, outcome) = group.next().expect("one task");
        assert!(outcome.unwrap_err().is_rejected());
        assert!(group.next().is_none());
    });
}

#[test]
fn rej_04_discarded_tasks_are_counted_and_not_accepted() {
    let clock = Clock::manual();
    let (full, told, _) = watched(&clock, Reject::Discard);
    let (runs, drops) = (counter(), counter());
    let (job, kept) = (counting(&runs), Dropped(drops.clone()));
    full.pool
        .execute(move || {
            job();
            drop(kept);
        })
        .expect("`execute` says nothing");
    assert_eq!(drops.load(SeqCst), 1, "its closure is gone");
    drop(full.pool.submit(counting(&runs)).unwrap());
    full.pool.task(counting(&runs)).name("named").execute().unwrap();
    let jobs: Vec<_> = (0..5).map(|_| counting(&runs)).collect();
    assert_eq!(full.pool.execute_all(jobs).unwrap(), 5, "how many there were");

    let stats = full.pool.stats();
    assert_eq!(stats.rejected.discarded, 8);
    assert_eq!((stats.rejected.full, stats.submitted, stats.evicted), (0, 2, 0));
    assert_books_balance(&stats);
    assert!(
        told.lock().unwrap().is_empty(),
        "never accepted, so no end is told"
    );
    drop(full.held);
    assert!(full.pool.wait_idle(LONG));
    assert_eq!(runs.load(SeqCst), 0);
    assert_all_settled(&full.pool.stats());
}
