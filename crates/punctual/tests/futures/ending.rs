//! How a future ends that does not get to its own end.

use super::Bell;
use crate::support::{Dropped, LONG, hold, in_time, single, until};
use punctual::{Cancel, Clock, Pool, State, Status};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

/// Notes the thread that drops it.
struct DroppedOn(Arc<Mutex<Option<ThreadId>>>);

impl Drop for DroppedOn {
    fn drop(&mut self) {
        *self.0.lock().unwrap() = Some(std::thread::current().id());
    }
}

#[test]
fn cancelling_a_future_before_its_first_poll_removes_it() {
    let pool = single();
    let held = hold(&pool);
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let task = pool.spawn(async move { drop(inside) }).expect("accepted");
    assert_eq!(task.cancel(), Cancel::Removed);
    assert_eq!(drops.load(SeqCst), 1, "at once");
    assert!(task.join().expect_err("cancelled").is_cancelled());
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!((pool.stats().cancelled, pool.stats().polls), (1, 0));
}

#[test]
fn cancelling_a_suspended_future_drops_it_on_a_worker() {
    let pool = single();
    let dropped_on = Arc::new(Mutex::new(None));
    let inside = DroppedOn(dropped_on.clone());
    let bell = Bell::default();
    let on = bell.clone();
    let task = pool
        .spawn(async move {
            on.await;
            drop(inside);
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let worker = pool
        .submit(|| std::thread::current().id())
        .expect("accepted")
        .join()
        .expect("it runs");
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(task.join().expect_err("cancelled").is_cancelled());
    assert!(pool.wait_idle(LONG));
    assert_eq!(*dropped_on.lock().unwrap(), Some(worker));
    assert_eq!(bell.polls(), 1, "not polled again");
    assert_eq!((pool.stats().cancelled, pool.stats().suspended), (1, 0));
}

#[test]
fn cancelling_a_future_in_its_poll_drops_it_after_the_poll() {
    let pool = single();
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let gate = Mutex::new(gate);
    let task = pool
        .spawn(std::future::poll_fn(move |_| {
            let _ = &inside;
            begun.send(()).expect("the test waits");
            let _ = gate.lock().unwrap().recv();
            std::task::Poll::<()>::Pending
        }))
        .expect("accepted");
    has_begun.recv().expect("it is polled");
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert_eq!(task.cancel(), Cancel::TooLate);
    assert_eq!(drops.load(SeqCst), 0, "not under its poll");
    assert!(task.join().expect_err("told at once").is_cancelled());
    drop(open);
    assert!(pool.wait_idle(LONG));
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_panic_in_a_poll_stays_in_its_future() {
    let pool = single();
    let task = pool
        .spawn(async { crate::support::quiet_panic("in a poll") })
        .expect("accepted");
    let error = in_time(move || task.join())
        .map(|(): ()| ())
        .expect_err("it panicked");
    assert_eq!(
        error.into_panic().expect("a panic").downcast_ref::<&str>(),
        Some(&"in a poll")
    );
    pool.submit(|| ())
        .expect("accepted")
        .join()
        .expect("the worker lives");
    assert_eq!(pool.stats().panicked, 1);
}

#[test]
fn a_panic_in_a_futures_drop_is_what_its_handle_gets() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            crate::support::quiet_panic("in a drop");
        }
    }
    let pool = single();
    let bomb = Bomb;
    let task = pool
        .spawn(std::future::poll_fn(move |_| {
            let _ = &bomb;
            std::task::Poll::Ready(5)
        }))
        .expect("accepted");
    let error = in_time(move || task.join()).expect_err("its drop panicked");
    assert_eq!(
        error.into_panic().expect("a panic").downcast_ref::<&str>(),
        Some(&"in a drop")
    );
    pool.submit(|| ())
        .expect("accepted")
        .join()
        .expect("the worker lives");
}

#[test]
fn stop_drops_suspended_futures_on_workers_and_counts_them_cancelled() {
    let pool = single();
    let dropped_on = Arc::new(Mutex::new(None));
    let inside = DroppedOn(dropped_on.clone());
    let bell = Bell::default();
    let on = bell.clone();
    let task = pool
        .spawn(async move {
            on.await;
            drop(inside);
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let worker = pool
        .submit(|| std::thread::current().id())
        .expect("accepted")
        .join()
        .expect("it runs");
    assert!(pool.stop().is_empty(), "it does not come back");
    assert!(pool.await_termination(LONG));
    assert!(task.join().expect_err("cancelled").is_cancelled());
    assert_eq!(*dropped_on.lock().unwrap(), Some(worker));
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.returned, stats.suspended), (1, 0, 0));
}

#[test]
fn stop_gives_an_unpolled_future_back_which_can_be_run() {
    let pool = single();
    let held = hold(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let seen = ran.clone();
    let task = pool
        .spawn(async move {
            std::future::poll_fn({
                let mut first = true;
                move |context| {
                    context.waker().wake_by_ref();
                    if std::mem::take(&mut first) {
                        std::task::Poll::Pending
                    } else {
                        std::task::Poll::Ready(())
                    }
                }
            })
            .await;
            seen.fetch_add(1, SeqCst);
        })
        .expect("accepted");
    let mut unrun = pool.stop();
    drop(held);
    assert!(task.join().expect_err("returned").is_cancelled());
    let unrun = unrun.pop().expect("it comes back");
    in_time(move || unrun.run()).expect("it does not panic");
    assert_eq!(ran.load(SeqCst), 1);
    assert!(pool.await_termination(LONG));
}

#[test]
fn a_poll_in_progress_when_the_pool_stops_ends_cancelled_if_it_is_not_ready() {
    let pool = single();
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let task = pool
        .spawn(std::future::poll_fn(move |_| {
            begun.send(()).expect("the test waits");
            let _ = gate.lock().unwrap().recv();
            std::task::Poll::<()>::Pending
        }))
        .expect("accepted");
    has_begun.recv().expect("it is polled");
    assert!(pool.stop().is_empty());
    drop(open);
    assert!(
        in_time(move || task.join())
            .expect_err("cancelled")
            .is_cancelled()
    );
    assert!(pool.await_termination(LONG));
}

#[test]
fn close_waits_for_a_suspended_future() {
    let clock = Clock::manual();
    let pool = Pool::builder("closing")
        .core_threads(1)
        .clock(&clock)
        .build()
        .expect("valid");
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    pool.shutdown();
    // Returns when nothing of the pool moves any more.
    clock.advance(Duration::from_secs(1));
    assert_eq!(pool.state(), State::Shutdown, "one is suspended");
    assert!(pool.spawn(async {}).expect_err("closed").is_shutdown());
    bell.ring();
    assert!(pool.await_termination(LONG));
    task.join().expect("it ended by itself");
}

#[test]
fn a_future_nobody_can_wake_or_reach_is_dropped_and_counted_cancelled() {
    let pool = single();
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = Dropped(drops.clone());
    let task = pool
        .spawn(async move {
            std::future::pending::<()>().await;
            drop(inside);
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    assert_eq!(pool.stats().suspended, 1, "its handle could still cancel it");
    drop(task);
    assert!(pool.wait_idle(LONG));
    assert_eq!((drops.load(SeqCst), pool.stats().cancelled), (1, 1));
}

#[test]
fn a_future_whose_last_waker_goes_is_dropped_and_counted_cancelled() {
    let pool = single();
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    drop(task);
    assert_eq!(pool.stats().suspended, 1, "the bell has a waker");
    let waker = bell.0.lock().unwrap().waker.take();
    drop(waker);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().cancelled, 1);
    assert_eq!(bell.polls(), 1);
}

#[test]
fn a_drain_leaves_futures_that_have_begun() {
    let pool = single();
    let bell = Bell::default();
    let task = pool.spawn(bell.clone()).expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    let held = hold(&pool);
    bell.ring();
    let queued = pool.submit(|| ()).expect("accepted");
    assert_eq!(pool.drain().len(), 1);
    assert!(queued.join().expect_err("drained").is_cancelled());
    drop(held);
    in_time(move || task.join()).expect("it was only woken");
    let stats = pool.stats();
    assert_eq!(
        (stats.suspended, stats.active, stats.finished, stats.returned),
        (0, 0, 2, 1)
    );
}

#[test]
fn kot_18_a_token_that_one_future_fired_is_not_the_next_ones() {
    let pool = single();
    let fired = pool
        .spawn(async {
            let token = punctual::task::current().expect("inside a task").token();
            token.cancel();
            token.is_cancelled()
        })
        .expect("accepted");
    assert!(fired.join().expect("it runs"));
    let next = pool
        .spawn(async {
            punctual::task::current()
                .expect("inside a task")
                .token()
                .is_cancelled()
        })
        .expect("accepted");
    assert!(!next.join().expect("it runs"), "on the same thread");
}

#[test]
fn kot_20_closing_right_after_a_thousand_spawns_drops_none() {
    for threads in 1..=7 {
        let pool = Pool::builder("closing")
            .core_threads(threads)
            .build()
            .expect("valid");
        let ran = Arc::new(AtomicUsize::new(0));
        for _ in 0..1_000 {
            let ran = ran.clone();
            let future = async move {
                punctual::future::yield_now().await;
                ran.fetch_add(1, SeqCst);
            };
            drop(pool.spawn(future).expect("accepted"));
        }
        assert!(pool.close().terminated);
        assert_eq!(ran.load(SeqCst), 1_000);
        assert!(pool.spawn(async {}).expect_err("closed").is_shutdown());
    }
}
