//! Scenarios of pools with annexes: made, given up, crowded, cancelled and closed at once.

use super::{Marks, assert_all_settled, explore};
use crate::{Cancel, Pool, Queue, task};
use shuttle::thread;
use std::time::Duration;

/// One worker, one blocking thread, so many places.
fn pool(places: usize) -> Pool {
    let builder = Pool::builder("scenario").core_threads(1).blocking_threads(2);
    let builder = builder.spare_threads(0).queue(Queue::bounded(places));
    builder.keep_alive(Duration::ZERO).build().unwrap()
}

/// Submitters to a reserve that is made and given up meanwhile, a canceller, and a closer: what was accepted has run or was
/// removed, and the pool ends after it.
#[test]
fn annex_close_cancel() {
    explore(|| {
        let pool = pool(1);
        let marks = Marks::default();
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let reserved = pool.reserve(1).unwrap();
                    let tasks = (0..2).map(|_| reserved.submit(marks.closure()));
                    let tasks: Vec<_> = tasks.flatten().collect();
                    drop(reserved);
                    let removed = tasks.first().is_some_and(|task| task.cancel() == Cancel::Removed);
                    (tasks.len(), usize::from(removed))
                })
            })
            .collect();
        pool.shutdown();
        let ends: Vec<_> = submitters.into_iter().map(|each| each.join().unwrap()).collect();
        let accepted: usize = ends.iter().map(|(accepted, _)| accepted).sum();
        let removed: usize = ends.iter().map(|(_, removed)| removed).sum();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (accepted - removed, 4));
        let stats = pool.stats();
        assert_eq!(stats.submitted, accepted as u64);
        assert_all_settled(&stats);
    });
}

/// The first use of the blocking threads, twice at once, and a stop: each task runs, comes back or is refused.
#[test]
fn annex_stop_submit() {
    explore(|| {
        let pool = pool(2);
        let marks = Marks::default();
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || pool.blocking().unwrap().task(marks.closure()).execute().is_ok())
            })
            .collect();
        let unrun = pool.stop().len();
        let accepted = submitters.into_iter().map(|each| each.join().unwrap());
        let accepted = accepted.filter(|is_accepted| *is_accepted).count();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (accepted - unrun, 2));
        assert_all_settled(&pool.stats());
    });
}

/// A submitter that waits before a full annex gets the pool's next place, or the annex's next thread; nobody hangs.
#[test]
fn annex_line() {
    explore(|| {
        let pool = pool(1);
        let reserved = pool.reserve(1).unwrap();
        let marks = Marks::default();
        let submitters: Vec<_> = [pool.executor(), reserved.clone(), reserved]
            .into_iter()
            .map(|executor| {
                let marks = marks.clone();
                thread::spawn(move || {
                    for _ in 0..2 {
                        drop(executor.submit_timeout(Duration::MAX, marks.closure()).unwrap());
                    }
                })
            })
            .collect();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(pool.close().terminated);
        assert_eq!((marks.runs(), marks.drops()), (6, 6));
        assert_all_settled(&pool.stats());
    });
}

/// A task joins one of another part that may still wait: it is run once, there or in place, and both parts end.
#[test]
fn annex_join_across() {
    explore(|| {
        let pool = pool(4);
        let reserved = pool.reserve(1).unwrap();
        let (own, other) = (pool.clone(), reserved.clone());
        let there = pool.submit(move || other.submit(|| 1).map_or(0, |task| task.join().unwrap()));
        let back = reserved.submit(move || own.submit(|| 2).map_or(0, |task| task.join().unwrap()));
        drop(reserved);
        assert_eq!(there.unwrap().join().unwrap(), 1);
        assert_eq!(back.unwrap().join().unwrap(), 2);
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// Two tasks of a pool with one thread meet, one of them in a section; the blocking threads are used and left meanwhile.
#[test]
fn section_meets_close() {
    explore(|| {
        let pool = pool(4);
        let blocking = pool.blocking().unwrap();
        let other = thread::spawn(move || drop(blocking.submit(|| ())));
        let (own, blocking) = (pool.clone(), pool.blocking().unwrap());
        let waits = pool.submit(move || {
            task::blocking_section(|| {
                let behind = own.submit(|| 3).unwrap();
                // Not joined in place: the one that stands in has to run it.
                while !behind.is_finished() {
                    thread::yield_now();
                }
                drop(blocking);
                behind.join().unwrap()
            })
        });
        other.join().unwrap();
        assert_eq!(waits.unwrap().join().unwrap(), 3);
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}
