//! Places in the queue: what an expiry gives back, and tasks that leave before it comes.

use super::{expired, expiring};
use crate::support::{assert_all_settled, counting_waker, on_worker, poll_once};
use crate::watching::{NANO, SECOND, builder, pool, stick};
use punctual::{Answer, Cancel, Queue, Reject, Status};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

#[test]
fn expiry_gives_the_place_to_the_next_that_comes() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::bounded(2)).build().unwrap();
    let _stuck = stick(&pool);
    let first = expiring(&pool, 1);
    let second = expiring(&pool, 2);
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    clock.advance(SECOND);
    pool.execute(|| ()).unwrap();
    assert!(
        pool.execute(|| ()).unwrap_err().is_full(),
        "one place came back, not two"
    );
    clock.advance(SECOND);
    pool.execute(|| ()).unwrap();
    assert!(expired(first.join()) && expired(second.join()));
}

#[test]
fn expiry_lets_a_submission_in_that_waits_for_room() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::bounded(1)).build().unwrap();
    let _stuck = stick(&pool);
    let first = expiring(&pool, 1);
    let (waker, calls) = counting_waker();
    let mut waiting = Box::pin(pool.submit_async(|| 2));
    assert!(poll_once(&mut waiting, &waker).is_pending());
    clock.advance(SECOND - NANO);
    assert_eq!(calls.load(SeqCst), 0);
    clock.advance(NANO);
    assert_eq!(calls.load(SeqCst), 1, "the place of the expired task is its own");
    let std::task::Poll::Ready(Ok(second)) = poll_once(&mut waiting, &waker) else {
        panic!("there is room");
    };
    assert_eq!(second.task_ref().status(), Status::Queued);
    assert!(expired(first.join()));
}

#[test]
fn expiry_counts_from_the_moment_a_submission_got_in() {
    let (builder, clock) = builder(1);
    let (tell, told) = std::sync::mpsc::channel();
    let waits = Reject::custom(move |_| {
        tell.send(()).expect("the test waits for this");
        Answer::Wait(Duration::MAX)
    });
    let pool = builder.queue(Queue::bounded(1)).on_full(waits).build().unwrap();
    let _stuck = stick(&pool);
    let first = expiring(&pool, 10);
    let submitter = pool.clone();
    let submitter = std::thread::spawn(move || expiring(&submitter, 10));
    // Whether it is in line by then or comes when the place is free: it gets in at 10 s.
    told.recv().unwrap();
    clock.advance(10 * SECOND);
    let second = submitter.join().unwrap();
    assert!(expired(first.join()));
    clock.advance(10 * SECOND - NANO);
    assert!(!second.is_finished());
    clock.advance(NANO);
    assert!(expired(second.join()));
}

#[test]
fn expiry_of_a_cancelled_task_never_comes() {
    let (pool, clock) = pool(1);
    let _stuck = stick(&pool);
    let task = expiring(&pool, 1);
    assert_eq!(task.cancel(), Cancel::Removed);
    clock.advance(2 * SECOND);
    assert!(task.join().unwrap_err().is_cancelled());
    assert_eq!((pool.stats().expired, pool.stats().cancelled), (0, 1));
}

#[test]
fn expiry_of_a_drained_task_never_comes_and_it_can_still_be_run() {
    let (pool, clock) = pool(1);
    let _stuck = stick(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let inside = ran.clone();
    let body = move || inside.fetch_add(1, SeqCst);
    let task = pool.task(body).expires_in(SECOND).submit().unwrap();
    let mut unrun = pool.drain();
    assert_eq!(unrun.len(), 1);
    clock.advance(2 * SECOND);
    assert!(task.join().unwrap_err().is_cancelled());
    unrun.pop().unwrap().run().unwrap();
    assert_eq!(ran.load(SeqCst), 1);
    assert_eq!((pool.stats().expired, pool.stats().returned), (0, 1));
}

#[test]
fn expiry_of_an_evicted_task_never_comes() {
    let (builder, clock) = builder(1);
    let builder = builder.queue(Queue::bounded(1));
    let pool = builder.on_full(Reject::DiscardOldest).build().unwrap();
    let _stuck = stick(&pool);
    let old = expiring(&pool, 1);
    let new = expiring(&pool, 3);
    clock.advance(2 * SECOND);
    assert!(old.join().unwrap_err().is_evicted());
    assert!(!new.is_finished());
    assert_eq!((pool.stats().expired, pool.stats().evicted), (0, 1));
}

#[test]
fn expiry_of_a_task_that_ran_in_place_never_comes() {
    let (pool, clock) = pool(1);
    let value = on_worker(&pool, |pool| {
        let child = expiring(&pool, 1);
        child.join().unwrap()
    });
    clock.advance(2 * SECOND);
    assert_eq!((value, pool.stats().expired), (1, 0));
    assert_all_settled(&pool.stats());
}

#[test]
fn expiry_does_not_touch_a_task_that_runs() {
    let (pool, clock) = pool(1);
    let body = || punctual::task::sleep(5 * SECOND).is_ok();
    let task = pool.task(body).expires_in(SECOND).submit().unwrap();
    clock.advance(5 * SECOND);
    assert!(task.join().unwrap(), "its token did not fire");
    assert_eq!((pool.stats().expired, pool.stats().finished), (0, 1));
}

#[test]
fn expiry_is_nothing_to_a_task_that_was_never_accepted() {
    let (builder, clock) = builder(1);
    let builder = builder.queue(Queue::bounded(1));
    let pool = builder.on_full(Reject::Discard).build().unwrap();
    let _stuck = stick(&pool);
    pool.execute(|| ()).unwrap();
    let discarded = expiring(&pool, 1);
    assert!(discarded.is_finished());
    pool.set_reject(Reject::CallerRuns);
    let here = expiring(&pool, 1);
    pool.set_reject(Reject::Abort);
    let refused = pool.task(|| 1).expires_in(SECOND).submit().unwrap_err();
    assert_eq!(refused.into_task()(), 1);
    clock.advance(2 * SECOND);
    let error = discarded.join().unwrap_err();
    assert!(error.is_rejected() && !error.is_expired());
    assert_eq!((here.join().unwrap(), pool.stats().expired), (1, 0));
}
