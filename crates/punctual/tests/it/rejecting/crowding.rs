//! Many submitters at once: everybody gets an answer, no task is lost, and the books balance.

use super::{counting, fill, full, small, submit_async};
use crate::support::{LONG, Random, assert_all_settled, block_on, in_time, poll_once};
use punctual::{Pool, Queue, Reject};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::Waker;
use std::thread;

#[test]
fn rej_06_submitters_that_evict_each_other_lose_no_handle() {
    const THREADS: usize = 4;
    const TASKS: usize = 500;
    let pool = Pool::builder("crowd")
        .core_threads(2)
        .queue(Queue::bounded(3))
        .on_full(Reject::DiscardOldest)
        .build()
        .unwrap();
    let submitters: Vec<_> = (0..THREADS)
        .map(|_| {
            let pool = pool.clone();
            thread::spawn(move || {
                let tasks: Vec<_> = (0..TASKS).map(|n| pool.submit(move || n)).collect();
                let mut ends = [0_u64; 3];
                for (n, task) in tasks.into_iter().enumerate() {
                    match task.map(punctual::TaskHandle::join) {
                        Ok(Ok(value)) => {
                            assert_eq!(value, n);
                            ends[0] += 1;
                        }
                        Ok(Err(error)) => {
                            assert!(error.is_evicted(), "{error}");
                            ends[1] += 1;
                        }
                        Err(_) => ends[2] += 1,
                    }
                }
                ends
            })
        })
        .collect();
    let mut ends = [0; 3];
    for submitter in submitters {
        for (sum, n) in ends.iter_mut().zip(submitter.join().unwrap()) {
            *sum += n;
        }
    }
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(ends, [stats.finished, stats.evicted, stats.rejected.full]);
    assert_eq!(ends.iter().sum::<u64>(), (THREADS * TASKS) as u64);
    assert_all_settled(&stats);
}

#[test]
fn rej_line_everybody_is_served_however_many_push_and_leave() {
    const THREADS: usize = 4;
    const TASKS: usize = 300;
    let pool = small(Reject::Abort).build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let mut seed = Random::printed("rej_line_everybody_is_served");
    let submitters: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (pool, runs) = (pool.clone(), runs.clone());
            let mut random = Random::from_seed(seed.next());
            thread::spawn(move || {
                for n in 0..TASKS {
                    if (n + thread) % 2 == 0 {
                        drop(pool.submit_timeout(LONG, counting(&runs)).expect("served"));
                    } else {
                        // Another that looks once and leaves a little later, perhaps with a promise.
                        let mut leaves = submit_async(&pool, || ());
                        let answer = poll_once(&mut leaves, Waker::noop());
                        random.dawdle(2_000);
                        drop((answer, leaves));
                        drop(block_on(pool.submit_async(counting(&runs))).expect("served"));
                    }
                }
            })
        })
        .collect();
    in_time(move || {
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(pool.wait_idle(LONG));
        assert_eq!(runs.load(SeqCst), THREADS * TASKS);
        let stats = pool.stats();
        assert_eq!(stats.rejected, Default::default());
        assert_all_settled(&stats);
        assert!(
            fill(pool).pool.execute(|| ()).unwrap_err().is_full(),
            "no place was lost"
        );
    });
}

#[test]
fn rej_block_submissions_racing_a_shutdown_run_or_come_back() {
    // Custom policies that put into the queue by force lose tasks here.
    const THREADS: usize = 4;
    in_time(|| {
        for _ in 0..50 {
            let pool = Pool::builder("race")
                .core_threads(2)
                .queue(Queue::bounded(2))
                .on_full(Reject::Block(LONG))
                .build()
                .unwrap();
            let runs = Arc::new(AtomicUsize::new(0));
            let submitters: Vec<_> = (0..THREADS)
                .map(|_| {
                    let (pool, runs) = (pool.clone(), runs.clone());
                    thread::spawn(move || {
                        let mut accepted = 0_usize;
                        loop {
                            match pool.submit(counting(&runs)) {
                                Ok(task) => drop(task),
                                Err(back) => {
                                    assert!(back.is_shutdown(), "{back:?}");
                                    return accepted;
                                }
                            }
                            accepted += 1;
                        }
                    })
                })
                .collect();
            while runs.load(SeqCst) < 50 {
                thread::yield_now();
            }
            pool.shutdown();
            let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
            assert!(pool.await_termination(LONG));
            assert_eq!(
                runs.load(SeqCst),
                accepted,
                "accepted, so it ran; refused, so it did not"
            );
            let stats = pool.stats();
            assert_eq!(stats.rejected.shutdown, THREADS as u64);
            assert_all_settled(&stats);
        }
    });
}

#[test]
fn rej_block_many_submitters_keep_the_capacity_and_are_all_served() {
    const THREADS: usize = 4;
    const TASKS: usize = 300;
    in_time(|| {
        let full = full(Reject::Block(LONG));
        let runs = Arc::new(AtomicUsize::new(0));
        let submitters: Vec<_> = (0..THREADS)
            .map(|_| {
                let (pool, runs) = (full.pool.clone(), runs.clone());
                thread::spawn(move || {
                    for _ in 0..TASKS {
                        pool.execute(counting(&runs)).unwrap();
                        assert!(pool.stats().queued <= 1);
                    }
                })
            })
            .collect();
        drop(full.held);
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(full.pool.wait_idle(LONG));
        assert_eq!(runs.load(SeqCst), THREADS * TASKS);
        assert_all_settled(&full.pool.stats());
    });
}
