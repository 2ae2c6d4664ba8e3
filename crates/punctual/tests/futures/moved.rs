//! Sleeps that are polled by one executor first and by another later, and futures that their pool gave back.

use crate::support::{LONG, hold, in_time, single, until};
use crate::timed::{SECOND, manual};
use punctual::{Clock, ManualClock, Pool, Status, future};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::mpsc::channel;
use std::task::Poll;
use std::time::{Duration, Instant};

type Sleep = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A sleep that began on this pool, and is not polled there any more.
#[allow(clippy::async_yields_async, reason = "it is awaited elsewhere")]
fn begun_on(pool: &Pool, duration: Duration) -> Sleep {
    let first = pool.spawn(async move {
        let mut sleep: Sleep = Box::pin(future::sleep(duration));
        let is_pending = poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context).is_pending())).await;
        assert!(is_pending, "it is not over yet");
        sleep
    });
    in_time(move || first.expect("accepted").join()).expect("it ends")
}

fn by(clock: &ManualClock) -> Pool {
    let builder = Pool::builder("second").core_threads(1).clock(clock);
    builder.build().expect("valid")
}

#[test]
fn a_sleep_that_moves_to_another_pool_ends_there_although_the_first_is_gone() {
    let (clock, first) = manual();
    let second = by(&clock);
    let sleep = begun_on(&first, 5 * SECOND);
    clock.advance(2 * SECOND);
    let task = second.spawn(sleep).expect("accepted");
    until("it sleeps there", || {
        task.task_ref().status() == Status::Suspended
    });
    assert!(first.close().terminated);
    drop(first);
    clock.advance(3 * SECOND - Duration::from_nanos(1));
    assert_eq!(task.task_ref().status(), Status::Suspended, "never early");
    clock.advance(Duration::from_nanos(1));
    assert!(task.is_finished());
}

#[test]
fn a_sleep_that_moves_to_another_clock_sleeps_for_what_was_left() {
    let (clock, first) = manual();
    let other = Clock::manual();
    let second = by(&other);
    let sleep = begun_on(&first, 5 * SECOND);
    clock.advance(2 * SECOND);
    let task = second.spawn(sleep).expect("accepted");
    other.advance(3 * SECOND - Duration::from_nanos(1));
    clock.advance(60 * SECOND);
    assert_eq!(task.task_ref().status(), Status::Suspended, "by the other clock");
    other.advance(Duration::from_nanos(1));
    assert!(task.is_finished());
}

#[test]
fn a_sleep_that_began_on_a_pool_ends_on_a_thread_that_drives_it() {
    let pool = single();
    let begin = Instant::now();
    let sleep = begun_on(&pool, Duration::from_millis(200));
    let other = single();
    assert!(pool.close().terminated);
    drop(pool);
    in_time(move || other.block_on(sleep)).expect("not interrupted");
    assert!(begin.elapsed() >= Duration::from_millis(200));
}

/// Its pool has ended: what sleeps in it goes by the thread that runs it.
#[test]
fn a_future_that_was_given_back_can_sleep() {
    let pool = single();
    let held = hold(&pool);
    let (tell, told) = channel();
    let task = pool
        .spawn(async move {
            let begin = Instant::now();
            future::sleep(Duration::from_millis(5)).await;
            let never = future::timeout(Duration::from_millis(5), std::future::pending::<()>());
            assert!(never.await.is_err());
            let mut beat = future::interval(Duration::from_millis(5));
            beat.tick().await;
            beat.tick().await;
            tell.send(begin.elapsed()).expect("the test waits");
        })
        .expect("accepted");
    let mut unrun = pool.stop();
    drop(held);
    assert!(pool.await_termination(LONG));
    assert!(task.join().expect_err("returned").is_cancelled());
    let unrun = unrun.pop().expect("it comes back");
    in_time(move || unrun.run()).expect("it does not panic");
    let took = told.try_recv().expect("it has ended");
    assert!(took >= Duration::from_millis(15), "{took:?}");
}
