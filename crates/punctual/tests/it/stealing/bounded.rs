//! Capacity: a task in a deque holds a place like any other.

use super::{gated, inside, with, within};
use crate::support::{LONG, hold, in_time, until};
use punctual::{Pool, Queue, Reject};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

fn bounded(threads: usize, places: usize, reject: Reject) -> Pool {
    let pool = Pool::builder("bounded")
        .core_threads(threads)
        .queue(Queue::stealing(places))
        .on_full(reject)
        .build()
        .unwrap();
    pool.prestart();
    until("they have looked", || pool.stats().parks as usize >= threads);
    pool
}

#[test]
fn local_and_shared_tasks_together_fill_the_queue_exactly() {
    let pool = bounded(1, 10, Reject::Abort);
    let own = pool.clone();
    let (local, refused, queued) = within(&pool, move |pool| {
        let local = (0..6).filter(|_| pool.execute(|| ()).is_ok()).count();
        let shared = || pool.task(|| ()).shared().execute().is_ok();
        let shared = (0..4).filter(|_| shared()).count();
        let refused = pool.execute(|| ()).unwrap_err();
        assert!(pool.task(|| ()).shared().execute().is_err());
        (local + shared, refused.is_full(), own.stats().queued)
    });
    assert_eq!((local, refused, queued), (10, true, 10));
    assert!(pool.wait_idle(LONG));
    // All places are back.
    assert_eq!(
        within(&pool, |pool| (0..20)
            .filter(|_| pool.execute(|| ()).is_ok())
            .count()),
        10
    );
}

#[test]
fn a_cancelled_local_task_gives_its_place_back() {
    let pool = bounded(1, 1, Reject::Abort);
    within(&pool, |pool| {
        let task = pool.submit(|| ()).unwrap();
        assert!(pool.execute(|| ()).is_err());
        task.cancel();
        assert!(pool.execute(|| ()).is_ok());
        assert!(pool.execute(|| ()).is_err());
    });
}

#[test]
fn the_bound_holds_while_workers_submit_and_steal() {
    let pool = bounded(3, 50, Reject::Abort);
    let accepted = Arc::new(AtomicUsize::new(0));
    let ran = Arc::new(AtomicUsize::new(0));
    let barrier = Arc::new(Barrier::new(3));
    for _ in 0..3 {
        let (accepted, ran, own) = (accepted.clone(), ran.clone(), pool.clone());
        let barrier = barrier.clone();
        pool.execute(move || {
            barrier.wait();
            for _ in 0..10_000 {
                let ran = ran.clone();
                if own.execute(move || _ = ran.fetch_add(1, SeqCst)).is_ok() {
                    accepted.fetch_add(1, SeqCst);
                }
            }
        })
        .unwrap();
    }
    while pool.stats().finished < 3 {
        assert!(pool.stats().queued <= 50);
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(accepted.load(SeqCst), ran.load(SeqCst));
    assert_eq!(pool.stats().submitted, ran.load(SeqCst) as u64 + 3);
}

#[test]
fn a_submission_that_waits_gets_the_place_of_a_local_task() {
    let pool = bounded(1, 1, Reject::Abort);
    let (gate, has_begun, open) = gated();
    let own = pool.clone();
    pool.execute(move || {
        own.execute(|| ()).unwrap();
        gate();
    })
    .unwrap();
    has_begun.recv().unwrap();
    let waits = pool.clone();
    let thread = std::thread::spawn(move || waits.submit_timeout(LONG, || 7).unwrap().join().unwrap());
    until("somebody waits", || pool.execute(|| ()).is_err());
    drop(open);
    assert_eq!(in_time(move || thread.join().unwrap()), 7);
}

/// The same, many times, without anything that makes them meet.
#[test]
fn nobody_in_line_is_forgotten_when_local_tasks_leave() {
    let pool = bounded(2, 4, Reject::Block(LONG));
    let ran = Arc::new(AtomicUsize::new(0));
    let own = pool.clone();
    let count = ran.clone();
    in_time(move || {
        for _ in 0..2000 {
            let count = count.clone();
            own.execute(move || {
                for _ in 0..3 {
                    let count = count.clone();
                    // Refused from a worker when it is full.
                    let _ = inside().execute(move || _ = count.fetch_add(1, SeqCst));
                }
            })
            .unwrap();
        }
        assert!(own.wait_idle(LONG));
    });
    let stats = pool.stats();
    assert_eq!(stats.finished, 2000 + ran.load(SeqCst) as u64);
}

#[test]
fn discard_oldest_throws_a_local_task_out_if_nothing_else_waits() {
    let pool = bounded(1, 2, Reject::DiscardOldest);
    let (gate, has_begun, open) = gated();
    let (tell, told) = channel();
    let own = pool.clone();
    pool.execute(move || {
        tell.send([own.submit(|| 1).unwrap(), own.submit(|| 2).unwrap()])
            .unwrap();
        gate();
    })
    .unwrap();
    has_begun.recv().unwrap();
    let [first, second] = told.recv().unwrap();
    let third = pool.submit(|| 3).unwrap();
    assert!(first.join().unwrap_err().is_evicted());
    drop(open);
    assert_eq!((second.join().unwrap(), third.join().unwrap()), (2, 3));
    assert_eq!(pool.stats().evicted, 1);
}

#[test]
fn the_capacity_of_a_running_pool_counts_what_lies_in_deques() {
    let pool = with(1, Queue::stealing(100));
    let own = pool.clone();
    within(&pool, move |pool| {
        for _ in 0..10 {
            pool.execute(|| ()).unwrap();
        }
        own.set_capacity(punctual::Capacity::Bounded(10)).unwrap();
        assert!(pool.execute(|| ()).is_err());
        own.set_capacity(punctual::Capacity::Unbounded).unwrap();
        assert!(pool.execute(|| ()).is_ok());
    });
    let held = hold(&pool);
    pool.set_capacity(punctual::Capacity::Bounded(1)).unwrap();
    pool.execute(|| ()).unwrap();
    assert!(pool.execute(|| ()).is_err());
    drop(held);
}
