//! Nobody sleeps beside a waiting task: wake-ups are few, and none is missing.

use crate::support::{LONG, Random, in_time, until};
use punctual::{Pool, Queue};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

#[test]
fn two_tasks_that_meet_find_two_workers_every_time() {
    in_time(|| {
        let pool = Pool::fixed(2).unwrap();
        for round in 0..1_000 {
            let meeting = Arc::new(Barrier::new(2));
            let mine = meeting.clone();
            let other = pool.submit(move || mine.wait().is_leader()).unwrap();
            let leads = pool
                .submit(move || meeting.wait().is_leader())
                .unwrap()
                .join()
                .unwrap();
            assert_ne!(leads, other.join().unwrap(), "round {round}");
        }
    });
}

#[test]
fn two_tasks_of_one_batch_find_two_workers_every_time() {
    in_time(|| {
        let pool = Pool::fixed(2).unwrap();
        for _ in 0..1_000 {
            let meeting = Arc::new(Barrier::new(2));
            let jobs = [meeting.clone(), meeting].map(|meeting| move || _ = meeting.wait());
            assert_eq!(pool.execute_all(jobs).unwrap(), 2);
            assert!(pool.wait_idle(LONG));
        }
    });
}

#[test]
fn a_burst_after_every_nap_is_run_to_its_end() {
    let mut random = Random::printed("bursts");
    in_time(move || {
        let pool = Pool::builder("naps")
            .core_threads(3)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let mut parks = 0;
        for _ in 0..2_000 {
            let burst = 1 + random.below(5) as usize;
            let before = ran.load(SeqCst);
            for _ in 0..burst {
                let ran = ran.clone();
                pool.execute(move || _ = ran.fetch_add(1, SeqCst)).unwrap();
            }
            until("the burst has run", || ran.load(SeqCst) == before + burst);
            // Some worker lay down since the last round: the next burst finds sleepers, or those about to sleep.
            if random.below(4) > 0 {
                until("a worker sleeps", || pool.stats().parks > parks);
            }
            parks = pool.stats().parks;
        }
    });
}

#[test]
fn every_worker_is_woken_for_a_burst_that_needs_them_all() {
    in_time(|| {
        let pool = Pool::fixed(4).unwrap();
        for _ in 0..300 {
            let meeting = Arc::new(Barrier::new(4));
            for _ in 0..4 {
                let meeting = meeting.clone();
                pool.execute(move || _ = meeting.wait()).unwrap();
            }
            assert!(
                pool.wait_idle(LONG),
                "all four must run at once for the barrier to open"
            );
        }
    });
}
