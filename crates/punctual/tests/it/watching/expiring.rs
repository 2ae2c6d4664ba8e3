//! `expires_in`: a waiting task ends at its time, and not when a worker gets there.

/// Places that expiries free, and tasks that leave before.
mod placing;

use super::{NANO, SECOND, Told, builder, pool, stick, stick_for};
use crate::support::{LONG, Random, assert_all_settled, counting_waker, hold, in_time, poll_once};
use punctual::{JoinError, Pool, Queue, Status, TaskHandle};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

fn expiring(pool: &Pool, seconds: u32) -> TaskHandle<u32> {
    pool.task(|| 1)
        .expires_in(seconds * SECOND)
        .submit()
        .expect("room")
}

fn expired<T>(joined: Result<T, JoinError>) -> bool {
    joined.is_err_and(|error| error.is_expired() && !error.is_cancelled() && !error.is_evicted())
}

#[test]
fn expiry_ends_a_waiting_task_at_its_time_and_not_before() {
    let (pool, clock) = pool(1);
    let stuck = stick(&pool);
    let task = expiring(&pool, 5);
    let watcher = task.task_ref();
    clock.advance(5 * SECOND - NANO);
    assert_eq!((watcher.status(), pool.stats().queued), (Status::Queued, 1));
    clock.advance(NANO);
    assert_eq!((watcher.status(), pool.stats().queued), (Status::Expired, 0));
    assert!(expired(task.join()));
    drop(stuck);
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!((stats.expired, stats.cancelled, stats.finished), (1, 1, 0));
    assert_all_settled(&stats);
}

#[test]
fn expiry_comes_while_every_worker_is_blocked_on_something_foreign() {
    let pool = Pool::fixed(2).unwrap();
    let held = [hold(&pool), hold(&pool)];
    let patience = Duration::from_millis(20);
    let begin = Instant::now();
    let tasks: Vec<_> = (0..10)
        .map(|_| pool.task(|| ()).expires_in(patience).submit().unwrap())
        .collect();
    for task in tasks {
        assert!(task.wait_timeout(LONG), "{pool:?}");
        assert!(begin.elapsed() >= patience);
        assert!(expired(task.join()));
    }
    drop(held);
    assert_eq!(pool.stats().expired, 10);
}

#[test]
fn expiry_drops_the_closure_at_its_time() {
    let (pool, clock) = pool(1);
    let _stuck = stick(&pool);
    let inside = Arc::new(());
    let outside = Arc::downgrade(&inside);
    let task = pool
        .task(move || drop(inside))
        .expires_in(SECOND)
        .submit()
        .unwrap();
    clock.advance(SECOND - NANO);
    assert_eq!(outside.strong_count(), 1);
    clock.advance(NANO);
    assert_eq!(outside.strong_count(), 0, "though the handle is still there");
    assert!(expired(task.join()));
}

#[test]
fn expiry_of_a_task_without_a_handle_is_counted_and_drops_the_closure() {
    let (pool, clock) = pool(1);
    let stuck = stick(&pool);
    let inside = Arc::new(());
    let outside = Arc::downgrade(&inside);
    pool.task(move || drop(inside))
        .expires_in(SECOND)
        .execute()
        .unwrap();
    clock.advance(SECOND);
    assert_eq!((outside.strong_count(), pool.stats().expired), (0, 1));
    drop(stuck);
}

#[test]
fn expiry_is_told_to_the_hooks_with_its_name_and_never_began() {
    let told = Told::default();
    let (builder, clock) = builder(1);
    let (before, after) = (told.clone(), told.clone());
    let pool = builder
        .before_task(move |task| before.tell(format!("begins {:?}", task.name)))
        .after_task(move |task, outcome| after.tell(format!("{outcome:?} {:?}", task.name)))
        .build()
        .unwrap();
    let _stuck = stick(&pool);
    let quote = pool
        .task(|| ())
        .name("quote")
        .expires_in(SECOND)
        .submit()
        .unwrap();
    clock.advance(SECOND);
    assert!(expired(quote.join()));
    assert_eq!(told.all(), ["begins None", "Expired Some(\"quote\")"]);
}

#[test]
fn expiry_is_no_failure_and_the_awaiting_are_woken() {
    let (pool, clock) = pool(1);
    let _stuck = stick(&pool);
    let mut task = expiring(&pool, 1);
    let (waker, calls) = counting_waker();
    assert!(poll_once(&mut task, &waker).is_pending());
    clock.advance(SECOND);
    assert_eq!(calls.load(SeqCst), 1);
    assert!(poll_once(&mut task, &waker).is_ready());
    assert_eq!(pool.stats().panicked, 0);
}

#[test]
fn expiry_without_any_patience_comes_at_once() {
    let (pool, clock) = pool(1);
    let _stuck = stick(&pool);
    let task = expiring(&pool, 0);
    clock.advance(Duration::ZERO);
    assert!(expired(task.join()));
}

#[test]
fn expiry_comes_in_a_paused_pool_too() {
    let (pool, clock) = pool(2);
    pool.pause();
    let task = expiring(&pool, 3);
    clock.advance(3 * SECOND - NANO);
    assert!(!task.is_finished());
    clock.advance(NANO);
    assert!(expired(task.join()));
    pool.resume();
    assert_all_settled(&pool.stats());
}

#[test]
fn expiry_of_a_delayed_task_counts_from_when_it_is_due() {
    let (pool, clock) = pool(2);
    let _stuck = [stick(&pool), stick(&pool)];
    let task = pool.task(|| 1).expires_in(5 * SECOND).after(10 * SECOND).unwrap();
    let wall = pool
        .task(|| 1)
        .expires_in(5 * SECOND)
        .at(clock.now() + 11 * SECOND);
    let wall = wall.unwrap();
    clock.advance(10 * SECOND - NANO);
    assert_eq!(task.task_ref().status(), Status::Delayed);
    clock.advance(5 * SECOND);
    assert!(
        !task.is_finished(),
        "its time came at 10 s, and its patience ends at 15 s"
    );
    clock.advance(NANO);
    assert!(task.is_finished(), "{:?}", task.task_ref().status());
    assert!(expired(task.join()));
    assert!(!wall.is_finished());
    clock.advance(SECOND);
    assert!(expired(wall.join()));
    assert_eq!((pool.stats().expired, pool.stats().pending_timers), (2, 0));
}

#[test]
fn expiry_spares_a_delayed_task_that_starts_when_it_is_due() {
    let (pool, clock) = pool(1);
    let task = pool.task(|| 1).expires_in(SECOND).after(10 * SECOND).unwrap();
    clock.advance(20 * SECOND);
    assert_eq!((task.join().unwrap(), pool.stats().expired), (1, 0));
}

#[test]
fn expiry_of_many_at_once_ends_each_once() {
    const TASKS: u64 = 5_000;
    let (pool, clock) = pool(1);
    let stuck = stick(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let ran = ran.clone();
            let body = move || ran.fetch_add(1, SeqCst);
            let patience = Duration::from_millis(1 + number % 3);
            pool.task(body).expires_in(patience).submit().unwrap()
        })
        .collect();
    clock.advance(Duration::from_millis(2));
    let ended = tasks.iter().filter(|task| task.is_finished()).count() as u64;
    assert_eq!(ended, TASKS.div_ceil(3) + (TASKS - 1).div_ceil(3));
    drop(stuck);
    let rest = tasks.into_iter().filter_map(|task| task.join().ok()).count();
    assert_eq!(ran.load(SeqCst), rest);
    assert!(pool.close().terminated);
    assert_eq!(pool.stats().expired, ended);
    assert_all_settled(&pool.stats());
}

#[test]
fn expiry_of_what_is_over_is_seen_before_a_worker_takes_it() {
    // Without a spare thread nobody keeps the clock, but the worker looks at it between two tasks.
    let (builder, clock) = builder(1);
    let pool = builder.spare_threads(0).build().unwrap();
    let stuck = stick_for(&pool, 10 * SECOND);
    let ran = Arc::new(AtomicUsize::new(0));
    let inside = ran.clone();
    let body = move || inside.fetch_add(1, SeqCst);
    let over = pool.task(body).expires_in(2 * SECOND).submit().unwrap();
    let fresh = expiring(&pool, 20);
    clock.advance(10 * SECOND - NANO);
    assert_eq!((over.is_finished(), pool.stats().keepers), (false, 0));
    clock.advance(NANO);
    assert!(expired(over.join()));
    assert_eq!((fresh.join().unwrap(), ran.load(SeqCst)), (1, 0));
    assert!(stuck.0.is_finished());
}

#[test]
fn expiry_that_meets_the_worker_has_one_end() {
    const TASKS: u64 = 3_000;
    let mut random = Random::printed("expiry meets the worker");
    let ran = Arc::new(AtomicUsize::new(0));
    let (finished, gone) = in_time({
        let ran = ran.clone();
        move || {
            let pool = Pool::builder("racing").core_threads(2).queue(Queue::unbounded());
            let pool = pool.build().unwrap();
            let mut tasks = Vec::new();
            let mut sentinels: Vec<Weak<()>> = Vec::new();
            for _ in 0..TASKS {
                let (ran, sentinel) = (ran.clone(), Arc::new(()));
                sentinels.push(Arc::downgrade(&sentinel));
                let work = random.below(300);
                let body = move || {
                    (0..work).for_each(|_| std::hint::spin_loop());
                    ran.fetch_add(1, SeqCst);
                    drop(sentinel);
                };
                // About as long as the queue is.
                let patience = Duration::from_nanos(random.below(40_000));
                tasks.push(pool.task(body).expires_in(patience).submit().unwrap());
            }
            let (mut finished, mut gone) = (0, 0);
            for task in tasks {
                match task.join() {
                    Ok(()) => finished += 1,
                    Err(error) if error.is_expired() => gone += 1,
                    Err(other) => panic!("{other}"),
                }
            }
            assert!(sentinels.iter().all(|sentinel| sentinel.strong_count() == 0));
            assert!(pool.close().terminated);
            let stats = pool.stats();
            assert_eq!(
                (stats.finished, stats.expired, stats.submitted),
                (finished, gone, TASKS)
            );
            assert_all_settled(&stats);
            (finished, gone)
        }
    });
    assert_eq!(ran.load(SeqCst) as u64, finished);
    assert_eq!(finished + gone, TASKS);
}
