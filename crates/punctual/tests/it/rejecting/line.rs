//! The line before a full pool: first come, first served, blocking or as a future.

use super::{AGES, Still, accepted, counting, full, in_line, is_waiting, small, still, submit_async};
use crate::life::{pool_on, settle};
use crate::support::{
    LONG, assert_all_settled, assert_books_balance, block_on, counting_waker, hold, in_time, poll_once,
};
use punctual::{Pool, Queue, Reason, Reject};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Poll, Waker};

#[test]
fn rej_line_a_future_submission_is_ready_at_once_while_there_is_room() {
    let pool = small(Reject::Abort).build().unwrap();
    let task = accepted(&mut submit_async(&pool, || 5));
    assert_eq!(task.join().unwrap(), 5);
    assert_all_settled(&pool.stats());
}

#[test]
fn rej_line_a_future_submission_waits_for_room_under_every_policy() {
    for policy in super::every_policy() {
        let full = full(policy.clone());
        let mut waits = in_line(&full.pool, 5);
        assert!(is_waiting(&mut waits), "{policy:?}");
        let stats = full.pool.stats();
        assert_eq!(
            (stats.submitted, stats.queued, stats.evicted),
            (2, 1, 0),
            "{policy:?}"
        );
        assert_eq!(stats.rejected, Default::default(), "{policy:?}");
        drop(full.held);
        assert_eq!(full.queued.join().unwrap(), "queued");
        assert_eq!(block_on(waits).unwrap().join().unwrap(), 5, "{policy:?}");
        assert!(full.pool.wait_idle(LONG));
        assert_all_settled(&full.pool.stats());
    }
}

#[test]
fn rej_line_a_future_submission_does_nothing_until_it_is_polled() {
    let full = full(Reject::Abort);
    let unpolled = submit_async(&full.pool, || ());
    let _ = full.queued.cancel();
    // It does not stand in line, so nobody is held up by it.
    full.pool.execute(|| ()).unwrap();
    assert_eq!(full.pool.stats().queued, 1);
    drop(unpolled);
}

#[test]
fn rej_line_the_waker_given_last_is_called_once_when_a_place_is_free() {
    let full = full(Reject::Abort);
    let mut waits = submit_async(&full.pool, || ());
    let (first, first_calls) = counting_waker();
    let (last, last_calls) = counting_waker();
    assert!(poll_once(&mut waits, &first).is_pending());
    assert!(poll_once(&mut waits, &last).is_pending());
    assert_eq!(last_calls.load(SeqCst), 0);
    let _ = full.queued.cancel();
    assert_eq!((first_calls.load(SeqCst), last_calls.load(SeqCst)), (0, 1));
    let task = accepted(&mut waits);
    drop(full.held);
    task.join().unwrap();
}

#[test]
fn rej_line_blocking_and_future_submissions_are_served_in_their_order() {
    let still = still(Reject::Block(AGES));
    let Still {
        clock, pool, queued, ..
    } = &still;
    let other = pool_on(clock, 2);
    let blocked = |n: u8| {
        let pool = pool.clone();
        let task = other.submit(move || {
            let task = move || n;
            // Once by the pool's policy, once by a limit of its own.
            let answer = if n == 2 {
                pool.submit_timeout(AGES, task)
            } else {
                pool.submit(task)
            };
            answer.map_err(|_| ())
        });
        settle(clock);
        task.unwrap()
    };
    let mut first = in_line(pool, 1);
    let second = blocked(2);
    let mut third = in_line(pool, 3);
    let fourth = blocked(4);

    // Each takes the one place when the one before it leaves.
    let _ = queued.cancel();
    settle(clock);
    assert!(
        !second.is_finished() && is_waiting(&mut third),
        "the first is first"
    );
    let task = accepted(&mut first);
    settle(clock);
    assert!(
        !second.is_finished() && is_waiting(&mut third),
        "the place is taken"
    );
    let _ = task.cancel();
    settle(clock);
    assert!(second.is_finished() && is_waiting(&mut third) && !fourth.is_finished());
    let _ = second.join().unwrap().unwrap().cancel();
    settle(clock);
    assert!(!fourth.is_finished());
    let _ = accepted(&mut third).cancel();
    settle(clock);
    assert!(fourth.is_finished());
    let fourth = fourth.join().unwrap().unwrap();
    still.let_go();
    assert_eq!(fourth.join().unwrap(), 4);
    assert_books_balance(&still.pool.stats());
}

#[test]
fn rej_line_a_worker_that_takes_a_task_serves_the_line() {
    let still = still(Reject::Abort);
    let other = pool_on(&still.clock, 1);
    let pool = still.pool.clone();
    let first = other
        .submit(move || pool.submit_timeout(AGES, || 1).unwrap().join())
        .unwrap();
    settle(&still.clock);
    let mut second = in_line(&still.pool, 2);
    still.let_go();
    assert_eq!(first.join().unwrap().unwrap(), 1);
    assert_eq!(accepted(&mut second).join().unwrap(), 2);
}

#[test]
fn rej_line_a_shutdown_answers_everybody_in_line() {
    let still = still(Reject::Block(AGES));
    let other = pool_on(&still.clock, 1);
    let pool = still.pool.clone();
    let blocked = other
        .submit(move || pool.submit(|| ()).map(drop).map_err(|back| back.is_shutdown()))
        .unwrap();
    settle(&still.clock);
    let mut waits = submit_async(&still.pool, || ());
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut waits, &waker).is_pending());
    still.pool.shutdown();
    assert_eq!(calls.load(SeqCst), 1);
    assert!(matches!(
        poll_once(&mut waits, Waker::noop()),
        Poll::Ready(Err(Reason::ShutDown))
    ));
    assert_eq!(blocked.join().unwrap(), Err(true));
    assert_eq!(still.pool.stats().rejected.shutdown, 2);
    still.let_go();
    assert_eq!(still.queued.join().unwrap(), "queued");
    assert!(still.pool.await_termination(LONG));
}

#[test]
fn rej_line_a_future_submission_gives_the_task_back_when_the_pool_is_shut_down() {
    let full = full(Reject::Abort);
    let runs = Arc::new(AtomicUsize::new(0));
    let mut waits = Box::pin(full.pool.submit_async(counting(&runs)));
    assert!(poll_once(&mut waits, Waker::noop()).is_pending());
    full.pool.shutdown();
    let Poll::Ready(Err(back)) = poll_once(&mut waits, Waker::noop()) else {
        panic!("it is answered");
    };
    assert!(back.is_shutdown());
    back.into_task()();
    assert_eq!(runs.load(SeqCst), 1);
}

#[test]
fn rej_line_a_wider_queue_and_a_new_thread_serve_the_line() {
    let full = full(Reject::Abort);
    let mut first = in_line(&full.pool, 1);
    let mut second = in_line(&full.pool, 2);
    full.pool.set_capacity(2).unwrap();
    let first = accepted(&mut first);
    assert!(is_waiting(&mut second));
    full.pool.resize(1, 2).unwrap();
    let second = accepted(&mut second);
    // The new thread works through the queue while the other is held.
    assert_eq!(first.join().unwrap(), 1);
    assert_eq!(second.join().unwrap(), 2);
    assert_eq!(full.queued.join().unwrap(), "queued");
}

#[test]
fn rej_line_a_pool_that_hands_over_serves_the_line_when_a_thread_is_free() {
    in_time(|| {
        let pool = Pool::builder("handoff")
            .core_threads(1)
            .queue(Queue::handoff())
            .build()
            .unwrap();
        let held = hold(&pool);
        let mut waits = in_line(&pool, 1);
        let next = in_line(&pool, 2);
        assert!(is_waiting(&mut waits));
        drop(held);
        assert_eq!(block_on(waits).unwrap().join().unwrap(), 1);
        assert_eq!(block_on(next).unwrap().join().unwrap(), 2);
    });
}
