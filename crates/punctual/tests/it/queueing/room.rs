//! Bounded means bounded, a refused task comes back whole, and a batch is a prefix and a rest.

use crate::support::{LONG, assert_all_settled, hold, single};
use punctual::{Capacity, Pool, Queue, Reason};
use std::cell::Cell;
use std::error::Error;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

fn bounded(threads: usize, capacity: usize) -> Pool {
    Pool::builder("bounded")
        .core_threads(threads)
        .queue(Queue::bounded(capacity))
        .build()
        .unwrap()
}

#[test]
fn exactly_the_capacity_waits_while_the_workers_are_busy() {
    for capacity in [1, 2, 7, 253, 254, 1_000] {
        let pool = bounded(2, capacity);
        let held = [hold(&pool), hold(&pool)];
        for round in 0..3 {
            let fit = (0..2 * capacity)
                .take_while(|_| pool.execute(|| ()).is_ok())
                .count();
            assert_eq!(fit, capacity, "round {round}");
            let refused = pool.submit(|| 9).unwrap_err();
            match refused.reason() {
                Reason::Full {
                    queued,
                    capacity: limit,
                    threads,
                } => {
                    assert_eq!((*queued, *limit, *threads), (capacity, capacity, 2));
                }
                other => panic!("{other:?}"),
            }
            let text = refused.to_string();
            assert!(
                text.contains(&capacity.to_string()) && text.contains("raise the capacity"),
                "{text}"
            );
            assert_eq!(refused.into_task()(), 9);
            assert_eq!(pool.drain().len(), capacity);
        }
        assert_eq!(pool.stats().capacity, Capacity::Bounded(capacity));
        drop(held);
        assert!(pool.close().terminated);
    }
}

#[test]
fn the_first_tasks_of_a_pool_count_against_its_capacity_too() {
    // Each of them starts a worker before it is queued.
    let pool = bounded(3, 1);
    let (tell, told) = channel();
    let meeting = Arc::new(Barrier::new(4));
    for _ in 0..3 {
        let (tell, meeting) = (tell.clone(), meeting.clone());
        let mut task = move || {
            tell.send(()).unwrap();
            meeting.wait();
        };
        while let Err(refused) = pool.execute(task) {
            assert!(refused.is_full());
            task = refused.into_task();
        }
        told.recv().unwrap();
    }
    assert!(pool.execute(|| ()).is_ok());
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    meeting.wait();
    assert!(pool.close().terminated);
}

#[test]
fn concurrent_producers_never_exceed_the_capacity() {
    const CAPACITY: usize = 64;
    const PRODUCERS: usize = 4;
    let pool = bounded(1, CAPACITY);
    for round in 0..200 {
        let held = hold(&pool);
        let begin = Arc::new(Barrier::new(PRODUCERS));
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|_| {
                let (pool, begin) = (pool.clone(), begin.clone());
                std::thread::spawn(move || {
                    begin.wait();
                    (0..CAPACITY).filter(|_| pool.execute(|| ()).is_ok()).count()
                })
            })
            .collect();
        let accepted: usize = producers
            .into_iter()
            .map(|producer| producer.join().unwrap())
            .sum();
        assert_eq!(accepted, CAPACITY, "round {round}: as many as fit, to the last");
        let stats = pool.stats();
        assert_eq!((stats.queued, stats.active), (CAPACITY, 1));
        drop(held);
        assert!(pool.wait_idle(LONG));
    }
    let stats = pool.stats();
    assert_eq!(stats.rejected.full, (200 * (PRODUCERS - 1) * CAPACITY) as u64);
    assert_all_settled(&stats);
}

#[test]
fn with_workers_taking_the_waiting_never_exceed_the_capacity() {
    const CAPACITY: usize = 8;
    let pool = bounded(2, CAPACITY);
    let (started, offered) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let producers: Vec<_> = (0..3)
        .map(|_| {
            let (pool, started, offered) = (pool.clone(), started.clone(), offered.clone());
            std::thread::spawn(move || {
                let mut accepted = 0_usize;
                for _ in 0..5_000 {
                    let mine = started.clone();
                    if pool.execute(move || _ = mine.fetch_add(1, SeqCst)).is_ok() {
                        accepted += 1;
                        offered.fetch_add(1, SeqCst);
                    }
                    let stats = pool.stats();
                    // A worker that has not looked into the queue yet will take one at once.
                    assert!(stats.queued <= CAPACITY + 2, "{stats:?}");
                }
                accepted
            })
        })
        .collect();
    let accepted: usize = producers
        .into_iter()
        .map(|producer| producer.join().unwrap())
        .sum();
    assert!(pool.close().terminated);
    assert_eq!(started.load(SeqCst), accepted);
    let stats = pool.stats();
    assert_eq!(stats.submitted as usize + stats.rejected.full as usize, 15_000);
}

#[test]
fn a_batch_is_accepted_as_a_prefix_and_the_rest_comes_back_in_order() {
    let pool = bounded(1, 300);
    let held = hold(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let job = |index: usize| {
        let ran = ran.clone();
        move || assert_eq!(ran.fetch_add(1, SeqCst), index, "in order, none twice")
    };
    let refused = pool.execute_all((0..1_000).map(job)).unwrap_err();
    assert!(refused.is_full());
    let rest = refused.into_task();
    assert_eq!(rest.len(), 700);
    assert_eq!(pool.stats().queued, 300);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(ran.load(SeqCst), 300);
    // Run by hand, the rest goes on exactly where the accepted prefix ended.
    rest.into_iter().for_each(|task| task());
    assert_eq!(ran.load(SeqCst), 1_000);

    assert_eq!(pool.execute_all((1_000..1_003).map(job)).unwrap(), 3);
    assert_eq!(pool.execute_all(std::iter::empty::<fn()>()).unwrap(), 0);
    assert!(pool.wait_idle(LONG));
    pool.shutdown();
    let refused = pool.execute_all((1_003..1_006).map(job)).unwrap_err();
    assert!(refused.is_shutdown());
    assert_eq!(refused.into_task().len(), 3);
    assert!(pool.close().terminated);
    assert_eq!(pool.stats().submitted, 304);
}

#[test]
fn a_batch_on_a_fresh_pool_starts_its_workers() {
    let pool = Pool::fixed(3).unwrap();
    let meeting = Arc::new(Barrier::new(3));
    let jobs = (0..3).map(|_| {
        let meeting = meeting.clone();
        move || _ = meeting.wait()
    });
    assert_eq!(pool.execute_all(jobs).unwrap(), 3);
    assert!(pool.wait_idle(LONG), "they can only meet on three workers");
    assert_eq!(pool.stats().threads, 3);
}

/// A closure that may move to another thread but not be shared, as one with a channel's receiver or a cell.
fn refused_with_question_mark(pool: &Pool) -> Result<(), Box<dyn Error + Send + Sync>> {
    let cell = Cell::new(1);
    drop(pool.submit(move || cell.get())?);
    let (sender, receiver) = channel::<u8>();
    drop(sender);
    pool.execute(move || _ = receiver.recv())?;
    let cell = Cell::new(2);
    pool.execute_all([move || cell.set(3)])?;
    Ok(())
}

#[test]
fn a_refusal_passes_through_the_question_mark_for_closures_that_are_not_sync() {
    let pool = single();
    refused_with_question_mark(&pool).unwrap();
    pool.shutdown();
    let error = refused_with_question_mark(&pool).unwrap_err();
    assert_eq!(
        error.to_string(),
        "task rejected: the pool has been shut down and accepts no more tasks"
    );
}
