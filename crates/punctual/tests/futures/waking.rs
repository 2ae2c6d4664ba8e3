//! Polls, wakes, and what is counted of them.

use super::Bell;
use crate::support::{Dropped, LONG, hold, in_time, single, until};
use punctual::{Clock, Pool, Queue, Reject, Status};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

#[test]
fn a_future_that_is_ready_gives_its_output() {
    let pool = single();
    let task = pool.spawn(async { 2 + 2 }).expect("accepted");
    assert_eq!(in_time(move || task.join()).expect("it ends"), 4);
    let stats = pool.stats();
    assert_eq!(
        (stats.submitted, stats.taken, stats.finished, stats.polls),
        (1, 1, 1, 1)
    );
}

#[test]
fn a_suspended_future_holds_no_worker_and_goes_on_when_it_is_woken() {
    let pool = single();
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    pool.submit(|| ())
        .expect("accepted")
        .join()
        .expect("the worker is free");
    let stats = pool.stats();
    assert_eq!((stats.suspended, stats.active, stats.queued), (1, 0, 0));
    assert_eq!(stats.submitted, 1 + stats.finished);
    assert!(task.task_ref().explain().to_string().contains("suspended"));
    bell.ring();
    in_time(move || task.join()).expect("it was woken");
    let stats = pool.stats();
    assert_eq!((stats.suspended, stats.finished, stats.taken), (0, 2, 2));
    assert_eq!((stats.polls, stats.wakes), (2, 1));
}

/// From the wake to the poll: as long as the worker was held.
#[test]
fn how_long_a_woken_future_waits_is_measured() {
    let clock = Clock::manual();
    let pool = Pool::builder("timed")
        .core_threads(1)
        .clock(&clock)
        .build()
        .expect("valid");
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    assert_eq!(pool.stats().wake.count(), 0);
    pool.pause();
    bell.ring();
    clock.advance(Duration::from_secs(2));
    pool.resume();
    in_time(move || task.join()).expect("it was woken");
    let wake = pool.stats().wake;
    assert_eq!(wake.count(), 1);
    let mean = wake.mean().expect("one was measured").as_secs_f64();
    assert!((1.5..2.5).contains(&mean), "{mean}");
}

#[test]
fn a_woken_future_needs_no_place_in_a_full_queue() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::Abort)
        .build()
        .expect("valid");
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let held = hold(&pool);
    let queued = pool.submit(|| ()).expect("the one place");
    assert!(pool.submit(|| ()).expect_err("no place").is_full());
    bell.ring();
    // It waits beside the one that has the place, and takes none when that is gone.
    assert!(queued.task_ref().remove());
    let queued = pool
        .submit(|| ())
        .expect("the place is free: a woken future holds none");
    drop(held);
    in_time(move || task.join()).expect("it was not refused");
    in_time(move || queued.join()).expect("it runs");
}

#[test]
fn a_refused_future_comes_back_unpolled() {
    let pool = Pool::builder("full")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .build()
        .expect("valid");
    let held = hold(&pool);
    let _queued = pool.submit(|| ()).expect("the one place");
    let refused = pool.spawn(async { 7 }).expect_err("no place");
    assert!(refused.is_full());
    drop(held);
    let again = pool.executor();
    let future = refused.into_task();
    until("there is room", || pool.stats().queued == 0);
    assert_eq!(again.spawn(future).expect("accepted").join().expect("it ends"), 7);
}

#[test]
fn a_wake_during_a_poll_leads_to_another_poll() {
    let pool = single();
    let polls = Arc::new(AtomicUsize::new(0));
    let seen = polls.clone();
    let task = pool
        .spawn(std::future::poll_fn(move |context| {
            context.waker().wake_by_ref();
            if seen.fetch_add(1, SeqCst) == 9 {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        }))
        .expect("accepted");
    in_time(move || task.join()).expect("each wake is one more poll");
    assert_eq!(polls.load(SeqCst), 10);
}

#[test]
fn a_future_that_always_wakes_itself_lets_others_run() {
    let pool = single();
    let stop = Bell::default();
    let asked = stop.clone();
    let task = pool
        .spawn(std::future::poll_fn(move |context| {
            context.waker().wake_by_ref();
            if asked.0.lock().unwrap().rung {
                std::task::Poll::Ready(())
            } else {
                std::task::Poll::Pending
            }
        }))
        .expect("accepted");
    for _ in 0..100 {
        let other = pool.submit(|| ()).expect("accepted");
        in_time(move || other.join()).expect("it gets its turn");
    }
    stop.ring();
    in_time(move || task.join()).expect("it ends");
}

#[test]
fn waiting_for_quiet_waits_for_a_suspended_future() {
    let pool = single();
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    assert!(
        !pool.wait_idle(std::time::Duration::from_millis(20)),
        "one is suspended"
    );
    bell.ring();
    assert!(pool.wait_idle(LONG));
    assert_eq!(task.task_ref().status(), Status::Finished);
}

#[test]
fn wakes_after_the_end_and_after_the_pool_are_harmless() {
    let bell = Bell::default();
    let pool = single();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let waker = bell.waker().expect("it was polled");
    bell.ring();
    in_time(move || task.join()).expect("it ends");
    let polls = bell.polls();
    waker.wake_by_ref();
    drop(pool);
    waker.wake_by_ref();
    let other = waker.clone();
    drop(waker);
    other.wake();
    assert_eq!(bell.polls(), polls, "nothing is polled after its end");
}

#[test]
fn an_output_that_nobody_takes_is_dropped_at_the_end_whoever_keeps_a_waker() {
    let pool = single();
    let drops = Arc::new(AtomicUsize::new(0));
    let bell = Bell::default();
    let value = Dropped(drops.clone());
    let on = bell.clone();
    let task = pool
        .spawn(async move {
            on.await;
            value
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let waker = bell.waker();
    drop(task);
    bell.ring();
    assert!(pool.wait_idle(LONG));
    assert_eq!(drops.load(SeqCst), 1);
    drop(waker);
}

#[test]
fn a_pool_without_core_threads_keeps_one_for_a_suspended_future() {
    let clock = punctual::Clock::manual();
    let pool = Pool::builder("cached")
        .core_threads(0)
        .max_threads(2)
        .queue(Queue::handoff())
        .keep_alive(std::time::Duration::from_secs(1))
        .clock(&clock)
        .build()
        .expect("valid");
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(pool.stats().threads, 1, "somebody stays");
    bell.ring();
    in_time(move || task.join()).expect("it was polled again");
    clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(pool.stats().threads, 0);
}

#[test]
fn futures_spawned_inside_and_outside_a_stealing_pool_all_end() {
    let pool = Pool::builder("stealing")
        .core_threads(2)
        .queue(Queue::stealing(punctual::Capacity::Unbounded))
        .build()
        .expect("valid");
    let own = pool.clone();
    let outer = pool
        .spawn(async move {
            let mut sum = 0;
            for number in 0..200_u64 {
                let inner = own.spawn(async move {
                    punctual::future::yield_now().await;
                    number
                });
                sum += inner.expect("accepted").await.expect("it ends");
            }
            sum
        })
        .expect("accepted");
    assert_eq!(in_time(move || outer.join()).expect("it ends"), 19_900);
    assert!(pool.wait_idle(LONG));
    crate::support::assert_all_settled(&pool.stats());
}
