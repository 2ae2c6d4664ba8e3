//! Futures that sleep, give up, and come back.

use crate::support::{LONG, hold, in_time, single, until};
use punctual::{Cancel, Clock, ManualClock, Pool, Schedule, Status, future, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

pub(crate) fn manual() -> (ManualClock, Pool) {
    let clock = Clock::manual();
    let pool = Pool::builder("timed")
        .core_threads(1)
        .clock(&clock)
        .build()
        .expect("valid");
    (clock, pool)
}

#[test]
fn a_sleeping_future_is_woken_at_its_time_and_not_before() {
    let (clock, pool) = manual();
    let task = pool.spawn(future::sleep(5 * SECOND)).expect("accepted");
    clock.advance(5 * SECOND - Duration::from_nanos(1));
    assert_eq!(task.task_ref().status(), Status::Suspended);
    clock.advance(Duration::from_nanos(1));
    assert!(task.is_finished());
}

/// A sleep goes by the timers of whoever polls it: of its pool, of the pool that a blocked thread drives it for.
#[test]
fn kot_35_a_sleep_goes_by_the_clock_of_the_pool_that_polls_it() {
    let (clock, pool) = manual();
    let (other_clock, other) = manual();
    let sleeping = pool.spawn(future::sleep(SECOND)).expect("accepted");
    let elsewhere = other.spawn(future::sleep(SECOND)).expect("accepted");
    clock.advance(SECOND);
    assert_eq!((sleeping.is_finished(), elsewhere.is_finished()), (true, false));
    other_clock.advance(SECOND);
    assert!(elsewhere.is_finished());
    // What has no timers says so instead of sleeping by somebody else's.
    let here = punctual::Executor::immediate();
    let refused = here.after(SECOND, || ()).expect_err("no timers");
    assert!(matches!(refused.reason(), punctual::Reason::NoTimer));
}

#[test]
fn sleeping_futures_wake_in_the_order_of_their_times() {
    let (clock, pool) = manual();
    let order = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = [3, 1, 2]
        .into_iter()
        .map(|seconds| {
            let order = order.clone();
            pool.spawn(async move {
                future::sleep(seconds * SECOND).await;
                order.lock().unwrap().push(seconds);
            })
            .expect("accepted")
        })
        .collect();
    clock.advance(3 * SECOND);
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert_eq!(*order.lock().unwrap(), [1, 2, 3]);
}

#[test]
fn a_timeout_gives_up_at_its_time_and_drops_the_future() {
    let (clock, pool) = manual();
    let drops = Arc::new(AtomicUsize::new(0));
    let inside = crate::support::Dropped(drops.clone());
    let task = pool
        .spawn(future::timeout(2 * SECOND, async move {
            future::sleep(60 * SECOND).await;
            drop(inside);
        }))
        .expect("accepted");
    clock.advance(SECOND);
    assert!(!task.is_finished());
    clock.advance(SECOND);
    assert!(task.join().expect("it ends").is_err());
    assert_eq!(drops.load(SeqCst), 1);
    assert!(pool.wait_idle(LONG));
}

#[test]
fn a_timeout_passes_on_what_is_ready_in_time() {
    let (clock, pool) = manual();
    let task = pool
        .spawn(future::timeout(2 * SECOND, async {
            future::sleep(SECOND).await;
            7
        }))
        .expect("accepted");
    clock.advance(SECOND);
    assert_eq!(task.join().expect("it ends").expect("in time"), 7);
}

#[test]
fn an_interval_ticks_at_its_rate_and_counts_what_it_missed() {
    let (clock, pool) = manual();
    let ticks = Arc::new(Mutex::new(Vec::new()));
    let noted = ticks.clone();
    let begin = clock.now();
    let task = pool
        .spawn(async move {
            let mut beat = future::interval(SECOND);
            for pause in [0, 0, 3, 0] {
                let run = beat.tick().await;
                let after = |time: std::time::SystemTime| time.duration_since(begin).unwrap().as_secs();
                noted
                    .lock()
                    .unwrap()
                    .push((after(run.scheduled), after(run.actual), run.missed));
                future::sleep(pause * SECOND).await;
            }
        })
        .expect("accepted");
    clock.advance(10 * SECOND);
    assert!(task.is_finished());
    // The third is due at 2 s; its run sleeps until 5 s, when those of 3 s, 4 s and 5 s are due.
    assert_eq!(
        *ticks.lock().unwrap(),
        [(0, 0, 0), (1, 1, 0), (2, 2, 0), (3, 5, 2)]
    );
}

#[test]
fn sleeps_go_on_in_a_closed_pool() {
    let (clock, pool) = manual();
    let task = pool
        .spawn(async {
            future::sleep(SECOND).await;
            future::sleep(SECOND).await;
            3
        })
        .expect("accepted");
    until("it sleeps", || task.task_ref().status() == Status::Suspended);
    pool.shutdown();
    clock.advance(2 * SECOND);
    assert_eq!(task.join().expect("it runs to its end"), 3);
    assert!(pool.await_termination(LONG));
}

#[test]
fn stop_does_not_wait_for_a_sleep() {
    let pool = single();
    let task = pool
        .spawn(future::sleep(Duration::from_secs(86_400)))
        .expect("accepted");
    until("it sleeps", || task.task_ref().status() == Status::Suspended);
    assert!(pool.stop().is_empty());
    assert!(pool.await_termination(LONG));
    assert!(task.join().expect_err("cancelled").is_cancelled());
}

#[test]
fn a_sleep_on_the_system_clock_takes_its_time() {
    let pool = single();
    let task = pool
        .spawn(async {
            let begin = std::time::Instant::now();
            future::sleep(Duration::from_millis(20)).await;
            begin.elapsed()
        })
        .expect("accepted");
    let slept = in_time(move || task.join()).expect("it ends");
    assert!(slept >= Duration::from_millis(20), "{slept:?}");
}

#[test]
fn a_future_can_wait_for_its_token() {
    let (_clock, pool) = manual();
    let token = task::Token::new();
    let mine = token.clone();
    let task = pool
        .spawn(async move { mine.cancelled().await })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    token.cancel();
    in_time(move || task.join()).expect("it was woken");
}

#[test]
fn kot_36_a_cancelled_future_fires_its_token_and_the_next_task_has_a_clean_one() {
    let pool = single();
    let seen = Arc::new(Mutex::new(None));
    let noted = seen.clone();
    let task = pool
        .spawn(async move {
            let token = task::current().expect("inside a task").token();
            *noted.lock().unwrap() = Some(token);
            std::future::pending::<()>().await;
        })
        .expect("accepted");
    until("it rests", || task.task_ref().status() == Status::Suspended);
    // Nobody else gets to fire it.
    let held = hold(&pool);
    task.cancel();
    let token = seen.lock().unwrap().take().expect("it was polled");
    assert!(token.is_cancelled());
    drop(held);
    let next = pool.spawn(async { task::current().expect("inside a task").token().is_cancelled() });
    assert!(
        !next.expect("accepted").join().expect("it runs"),
        "a flag of its own"
    );
}

/// A wait that can be cancelled, inside of a section: it ends, and the section with it.
#[test]
fn kot_36_a_wait_in_a_blocking_section_ends_with_its_task_and_the_next_token_is_clean() {
    let (clock, pool) = manual();
    let (begun, has_begun) = channel();
    let (tell, told) = channel();
    let task = pool
        .submit(move || {
            let slept = task::blocking_section(|| {
                begun.send(()).expect("the test waits");
                task::sleep(Duration::from_secs(86_400))
            });
            tell.send(slept.is_err()).expect("the test waits");
        })
        .expect("accepted");
    has_begun.recv_timeout(LONG).expect("it runs");
    // Returns when it sleeps.
    clock.advance(SECOND);
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(told.recv_timeout(LONG).expect("the wait ends"), "as cancelled");
    let next = pool.submit(|| task::sleep(SECOND).is_ok()).expect("accepted");
    clock.advance(SECOND);
    assert!(
        in_time(move || next.join()).expect("it runs"),
        "a token of its own"
    );
}

#[test]
fn block_on_drives_a_future_by_the_pools_clock() {
    let (clock, pool) = manual();
    let asleep = Arc::new(AtomicUsize::new(0));
    let noted = asleep.clone();
    let own = pool.clone();
    let driver = std::thread::spawn(move || {
        own.block_on(async move {
            noted.store(1, SeqCst);
            future::sleep(SECOND).await;
            future::timeout(SECOND, std::future::pending::<()>())
                .await
                .is_err()
        })
    });
    until("it has begun", || asleep.load(SeqCst) == 1);
    // Not a worker's, so the clock does not wait for it: it is moved until it is over.
    until("it is over", || {
        clock.advance(SECOND);
        driver.is_finished()
    });
    assert!(driver.join().unwrap().expect("not interrupted"));
}

#[test]
fn block_on_from_a_worker_lets_others_run() {
    let pool = single();
    let own = pool.clone();
    let outer = pool
        .submit(move || {
            let inner = own.spawn(async { 5 }).expect("accepted");
            own.block_on(inner).expect("not interrupted").expect("it ends")
        })
        .expect("accepted");
    assert_eq!(
        in_time(move || outer.join()).expect("a spare thread stands in"),
        5
    );
}

#[test]
fn block_on_ends_when_its_task_is_told_to_stop() {
    let pool = single();
    let own = pool.clone();
    let task = pool
        .submit(move || {
            own.block_on(std::future::pending::<()>())
                .expect_err("it never is ready")
        })
        .expect("accepted");
    until("it runs", || task.task_ref().status() == Status::Running);
    assert!(pool.stop().is_empty());
    assert!(
        in_time(move || task.join())
            .expect("it returned")
            .is_interrupted()
    );
}

#[test]
fn a_schedule_of_futures_runs_one_at_a_time_and_holds_no_thread() {
    let (clock, pool) = manual();
    let inside = Arc::new(AtomicUsize::new(0));
    let here = inside.clone();
    let schedule = pool
        .schedule_future(Schedule::every(SECOND), move |_run| {
            let here = here.clone();
            async move {
                assert_eq!(here.fetch_add(1, SeqCst), 0, "two runs at once");
                future::sleep(3 * SECOND).await;
                here.fetch_sub(1, SeqCst);
            }
        })
        .expect("accepted");
    clock.advance(Duration::from_millis(500));
    let stats = pool.stats();
    assert_eq!((stats.suspended, stats.active, stats.submitted), (1, 0, 1));
    pool.submit(|| ())
        .expect("accepted")
        .join()
        .expect("the worker is free");
    clock.advance(9 * SECOND);
    let stats = schedule.stats();
    assert_eq!(
        (stats.runs, stats.failures),
        (3, 0),
        "at 0 s, 4 s and 8 s; ticks that come during a run are left out"
    );
    assert!(stats.skipped > 0);
    // The run in progress sleeps by a clock that stands still.
    drop(pool.stop());
}

#[test]
fn a_failed_run_of_a_schedule_of_futures_is_counted_and_the_next_one_comes() {
    let (clock, pool) = manual();
    let mut runs = 0;
    let schedule = pool
        .schedule_future(Schedule::every(SECOND), move |_run| {
            runs += 1;
            async move {
                match runs {
                    1 => Err("first".to_owned()),
                    2 => crate::support::quiet_panic("second"),
                    _ => Ok(()),
                }
            }
        })
        .expect("accepted");
    clock.advance(2 * SECOND);
    let stats = schedule.stats();
    assert_eq!((stats.runs, stats.failures), (3, 2));
    assert_eq!(stats.last_error.as_deref(), Some("second"));
}

#[test]
fn stopping_a_pool_ends_a_run_that_is_suspended() {
    let (clock, pool) = manual();
    let schedule = pool
        .schedule_future(Schedule::every(SECOND), |_run| future::sleep(60 * SECOND))
        .expect("accepted");
    clock.advance(SECOND);
    assert_eq!(pool.stats().suspended, 1);
    assert!(pool.stop().is_empty());
    assert!(pool.await_termination(LONG));
    in_time(move || schedule.wait());
    assert_eq!(pool.stats().cancelled, 1);
}
