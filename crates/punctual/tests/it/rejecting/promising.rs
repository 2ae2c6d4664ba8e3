//! A place that becomes free is promised to the first in line: taken up, given up, and never taken by others.

use super::{accepted, full, in_line};
use crate::support::{LONG, assert_all_settled, counting_waker, poll_once};
use punctual::{Reason, Reject};
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Poll, Waker};

#[test]
fn rej_line_a_plain_submission_does_not_slip_past_those_in_line() {
    let full = full(Reject::Abort);
    let mut waits = in_line(&full.pool, "waited");
    let _ = full.queued.cancel();
    // The queue is empty, but its place is promised.
    assert_eq!(full.pool.stats().queued, 0);
    let back = full.pool.execute(|| ()).unwrap_err();
    assert!(matches!(
        back.reason(),
        Reason::Full {
            queued: 1,
            capacity: 1,
            ..
        }
    ));
    assert!(full.pool.submit(|| ()).unwrap_err().is_full());
    assert!(full.pool.execute_all([|| ()]).unwrap_err().is_full());
    let task = accepted(&mut waits);
    drop(full.held);
    assert_eq!(task.join().unwrap(), "waited");
}

#[test]
fn rej_line_who_leaves_the_line_gives_the_place_to_the_next() {
    let full = full(Reject::Abort);
    let first = in_line(&full.pool, 1);
    let mut second = in_line(&full.pool, 2);
    drop(first);
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut second, &waker).is_pending());
    let _ = full.queued.cancel();
    assert_eq!(calls.load(SeqCst), 1);
    let task = accepted(&mut second);
    drop(full.held);
    assert_eq!(task.join().unwrap(), 2);
    assert!(full.pool.wait_idle(LONG));
    assert_all_settled(&full.pool.stats());
}

#[test]
fn rej_line_a_promised_place_that_is_given_up_goes_to_the_next() {
    let full = full(Reject::Abort);
    let promised = in_line(&full.pool, 1);
    let mut second = in_line(&full.pool, 2);
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut second, &waker).is_pending());
    let _ = full.queued.cancel();
    assert_eq!(calls.load(SeqCst), 0, "it is the first one's");
    drop(promised);
    assert_eq!(calls.load(SeqCst), 1);
    let task = accepted(&mut second);
    assert_eq!(full.pool.stats().queued, 1);
    drop(full.held);
    assert_eq!(task.join().unwrap(), 2);
}

#[test]
fn rej_line_a_promised_place_that_nobody_wants_is_free_again() {
    let full = full(Reject::Abort);
    let promised = in_line(&full.pool, 1);
    let _ = full.queued.cancel();
    assert!(full.pool.execute(|| ()).unwrap_err().is_full());
    drop(promised);
    full.pool.execute(|| ()).unwrap();
    assert!(full.pool.execute(|| ()).unwrap_err().is_full());
}

#[test]
fn rej_line_a_promised_place_does_not_outlive_the_pool() {
    // Taken up after the shutdown, and given up after it: either way the pool ends.
    for taken_up in [true, false] {
        let full = full(Reject::Abort);
        let mut promised = in_line(&full.pool, 1);
        let _ = full.queued.cancel();
        full.pool.shutdown();
        drop(full.held);
        if taken_up {
            assert!(matches!(
                poll_once(&mut promised, Waker::noop()),
                Poll::Ready(Err(Reason::ShutDown))
            ));
        }
        drop(promised);
        assert!(full.pool.await_termination(LONG));
        assert_all_settled(&full.pool.stats());
    }
}
