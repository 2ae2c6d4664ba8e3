//! The oldest is thrown away for the newcomer (`DiscardOldest`), and whoever waits for it is told.

use super::{counter, counting, full, small, watched, with_queue};
use crate::life::settle;
use crate::support::{
    Dropped, LONG, assert_all_settled, assert_books_balance, counting_waker, hold, in_time, poll_once,
};
use punctual::{Clock, Queue, Reject, Status};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

#[test]
fn rej_06_the_oldest_goes_and_the_newest_runs() {
    let full = full(Reject::DiscardOldest);
    let oldest = full.queued;
    let looked_at = oldest.task_ref();
    let newest = full.pool.submit(|| "newest").unwrap();
    assert_eq!(looked_at.status(), Status::Evicted);
    let error = oldest.join().unwrap_err();
    assert!(error.is_evicted() && error.is_rejected() && !error.is_cancelled());
    let stats = full.pool.stats();
    assert_eq!((stats.submitted, stats.evicted, stats.queued), (3, 1, 1));
    assert_eq!(
        (stats.rejected.full, stats.rejected.discarded),
        (0, 0),
        "it had been accepted"
    );
    assert_books_balance(&stats);
    drop(full.held);
    assert_eq!(newest.join().unwrap(), "newest");
    assert!(full.pool.wait_idle(LONG));
    assert_eq!(full.pool.stats().finished, 2);
    assert_all_settled(&full.pool.stats());
}

#[test]
fn rej_06_the_after_hook_is_told_once_that_a_task_was_evicted() {
    let clock = Clock::manual();
    let (full, told, starts) = watched(&clock, Reject::DiscardOldest);
    drop(full.pool.task(|| ()).name("second").submit().unwrap());
    full.pool.task(|| ()).name("third").execute().unwrap();
    full.pool.execute(|| ()).unwrap();
    full.pool.submit(|| "last").map(drop).unwrap();
    let evicted = |name: Option<&str>| (name.map(str::to_owned), "Evicted".to_owned());
    assert_eq!(
        *told.lock().unwrap(),
        [
            evicted(None),
            evicted(Some("second")),
            evicted(Some("third")),
            evicted(None)
        ],
        "with a handle, with a dropped one, without one"
    );
    drop(full.held);
    settle(&clock);
    assert_eq!(starts.load(SeqCst), 2, "the held one and the last one");
    assert_eq!(told.lock().unwrap().len(), 6);
    assert!(full.queued.join().unwrap_err().is_evicted());
}

#[test]
fn rej_06_the_closure_of_an_evicted_task_is_gone_when_the_submission_returns() {
    let pool = small(Reject::DiscardOldest).build().unwrap();
    let held = hold(&pool);
    let drops = counter();
    let keeping = || {
        let kept = Dropped(drops.clone());
        move || drop(kept)
    };
    pool.execute(keeping()).unwrap();
    let second = pool.submit(keeping()).unwrap();
    assert_eq!(drops.load(SeqCst), 1);
    pool.execute(|| ()).unwrap();
    assert_eq!(drops.load(SeqCst), 2);
    assert!(second.join().unwrap_err().is_evicted());
    drop(held);
}

#[test]
fn rej_06_those_who_are_not_the_oldest_keep_their_order() {
    let pool = with_queue(Queue::bounded(3), Reject::DiscardOldest);
    let held = hold(&pool);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let note = |n: usize| {
        let ran = ran.clone();
        move || ran.lock().unwrap().push(n)
    };
    for n in 0..4 {
        pool.execute(note(n)).unwrap();
    }
    drop(pool.submit(note(4)).unwrap());
    assert_eq!(pool.execute_all((5..7).map(note)).unwrap(), 2);
    let stats = pool.stats();
    assert_eq!((stats.evicted, stats.queued), (4, 3));
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(*ran.lock().unwrap(), [4, 5, 6]);
    assert_all_settled(&pool.stats());
}

#[test]
fn rej_06_a_cancelled_task_is_not_evicted_in_place_of_a_waiting_one() {
    let pool = with_queue(Queue::bounded(2), Reject::DiscardOldest);
    let held = hold(&pool);
    let gone = pool.submit(|| ()).unwrap();
    let oldest = pool.submit(|| ()).unwrap();
    let _ = gone.cancel();
    let fits = pool.submit(|| ()).unwrap();
    assert_eq!(pool.stats().evicted, 0, "a place was free");
    let newest = pool.submit(|| ()).unwrap();
    assert!(oldest.join().unwrap_err().is_evicted());
    assert!(gone.join().unwrap_err().is_cancelled());
    let stats = pool.stats();
    assert_eq!((stats.evicted, stats.cancelled, stats.queued), (1, 1, 2));
    assert_books_balance(&stats);
    drop(held);
    fits.join().unwrap();
    newest.join().unwrap();
}

#[test]
fn rej_06_waiters_of_an_evicted_task_are_woken() {
    in_time(|| {
        let full = full(Reject::DiscardOldest);
        let mut awaited = full.queued;
        let (waker, calls) = counting_waker();
        assert!(poll_once(&mut awaited, &waker).is_pending());
        let joined = full.pool.submit(|| ()).unwrap();
        assert_eq!(calls.load(SeqCst), 1);
        let Poll::Ready(Err(error)) = poll_once(&mut awaited, Waker::noop()) else {
            panic!("it has an outcome");
        };
        assert!(error.is_evicted());
        let joiner = std::thread::spawn(move || joined.join());
        full.pool.execute(|| ()).unwrap();
        assert!(joiner.join().unwrap().unwrap_err().is_evicted());
    });
}

#[test]
fn rej_06_a_pool_that_hands_over_has_nothing_to_evict_and_aborts() {
    let pool = with_queue(Queue::handoff(), Reject::DiscardOldest);
    let held = hold(&pool);
    let runs = counter();
    assert!(pool.submit(counting(&runs)).unwrap_err().is_full());
    assert!(pool.execute(counting(&runs)).unwrap_err().is_full());
    let stats = pool.stats();
    assert_eq!((stats.evicted, stats.rejected.full), (0, 2));
    assert_books_balance(&stats);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(runs.load(SeqCst), 0);
}

#[test]
fn rej_06_after_shutdown_the_task_comes_back_and_nobody_is_evicted() {
    let full = full(Reject::DiscardOldest);
    full.pool.shutdown();
    let runs = counter();
    assert!(full.pool.submit(counting(&runs)).unwrap_err().is_shutdown());
    assert!(full.pool.execute(counting(&runs)).unwrap_err().is_shutdown());
    assert_eq!(full.pool.stats().evicted, 0);
    drop(full.held);
    assert_eq!(full.queued.join().unwrap(), "queued");
    assert!(full.pool.await_termination(LONG));
    assert_all_settled(&full.pool.stats());
}

#[test]
fn rej_06_no_task_is_evicted_for_nobody_while_others_stand_in_line() {
    in_time(|| {
        let pool = with_queue(Queue::bounded(3), Reject::DiscardOldest);
        let held = hold(&pool);
        let queued: Vec<_> = (0..3).map(|n| pool.submit(move || n).unwrap()).collect();
        let mut in_line = Box::pin(pool.submit_async(|| 3));
        assert!(poll_once(&mut in_line, Waker::noop()).is_pending());

        let mut let_in = u64::from(pool.execute(|| ()).is_ok());
        let_in += u64::from(poll_once(&mut in_line, Waker::noop()).is_ready());
        let stats = pool.stats();
        assert!(
            stats.evicted <= let_in,
            "{} thrown out for {let_in} that came in",
            stats.evicted
        );
        assert_books_balance(&stats);
        drop(held);
        assert!(pool.wait_idle(LONG));
        for task in queued {
            drop(task.join());
        }
    });
}

#[test]
fn rej_06_a_place_that_is_promised_cannot_be_taken_by_evicting() {
    in_time(|| {
        let full = full(Reject::DiscardOldest);
        let mut promised = Box::pin(full.pool.submit_async(|| 5));
        assert!(poll_once(&mut promised, Waker::noop()).is_pending());
        let _ = full.queued.cancel();
        // Nothing waits that could be thrown out, and only this thread could take the promise up.
        assert!(full.pool.execute(|| ()).unwrap_err().is_full());
        let Poll::Ready(Ok(task)) = poll_once(&mut promised, Waker::noop()) else {
            panic!("the place is its own");
        };
        drop(full.held);
        assert_eq!(task.join().unwrap(), 5);
        assert_eq!(full.pool.stats().evicted, 0);
    });
}
