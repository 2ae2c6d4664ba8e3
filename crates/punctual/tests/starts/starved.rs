//! Fault 26: too little processor. The process is pinned to one core and shares it with threads that never rest and that
//! the system prefers: slower, never lost.

#![allow(unsafe_code)]

use crate::process::alone;
use crate::support::{Random, assert_all_settled, assert_books_balance, quiet_panic};
use punctual::{Cancel, Pool, Queue, Reject};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64};
use std::time::{Duration, Instant};

const TASKS: usize = 3_000;
const PRODUCERS: usize = 3;
const HOGS: usize = 2;

/// This thread, and those it starts, run on one core only.
pub(crate) fn pin_to_one_core() {
    // SAFETY: plain data; the calls read and write only what they are given.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        let size = std::mem::size_of::<libc::cpu_set_t>();
        assert_eq!(libc::sched_getaffinity(0, size, &raw mut allowed), 0);
        let first = (0..libc::CPU_SETSIZE as usize).find(|core| libc::CPU_ISSET(*core, &allowed));
        let mut one: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(first.expect("this thread runs somewhere"), &mut one);
        assert_eq!(libc::sched_setaffinity(0, size, &raw const one), 0);
    }
}

/// Asks that this thread be as nice to others as this; the system may refuse what is less than it is now.
fn be_nice(nice: i32) -> bool {
    // SAFETY: no memory is involved. On Linux this is the priority of the calling thread alone.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) == 0 }
}

// What is known of a task.
const ACCEPTED: u8 = 1;
const STARTED: u8 = 2;
const REMOVED: u8 = 4;
const SIGNALLED: u8 = 8;
const PANICS: u8 = 16;

#[test]
fn fault_26_a_starved_pool_is_slower_and_loses_nothing() {
    alone(|| {
        pin_to_one_core();
        let mut random = Random::printed("starved");
        let over = Arc::new(AtomicBool::new(false));
        let hogs: Vec<_> = (0..HOGS)
            .map(|_| {
                let over = over.clone();
                std::thread::spawn(move || {
                    // Only some may. The workers below are nicer, which everybody may be, so these come first anyway.
                    let _ = be_nice(-5);
                    while !over.load(SeqCst) {
                        std::hint::spin_loop();
                    }
                })
            })
            .collect();
        let pool = Pool::builder("starved")
            .core_threads(2)
            .max_threads(4)
            .keep_alive(Duration::from_millis(1))
            .queue(Queue::bounded(64))
            .on_full(Reject::Block(Duration::MAX))
            .on_thread_start(|| assert!(be_nice(19)))
            .build()
            .expect("valid");
        let pages: Arc<[AtomicU8]> = (0..TASKS).map(|_| AtomicU8::new(0)).collect();
        let twice = Arc::new(AtomicU64::new(0));
        let begin = Instant::now();
        let producers: Vec<_> = (0..PRODUCERS)
            .map(|first| {
                let (pool, pages, twice) = (pool.clone(), pages.clone(), twice.clone());
                let mut random = Random::from_seed(random.next());
                std::thread::spawn(move || {
                    let mut kept = Vec::new();
                    for id in (first..TASKS).step_by(PRODUCERS) {
                        let panics = random.below(10) == 0;
                        let (mine, again) = (pages.clone(), twice.clone());
                        let body = move || {
                            if mine[id].fetch_or(STARTED, SeqCst) & STARTED != 0 {
                                again.fetch_add(1, SeqCst);
                            }
                            if panics {
                                quiet_panic("one in ten");
                            }
                            id
                        };
                        pages[id].fetch_or(if panics { PANICS } else { 0 }, SeqCst);
                        let task = pool.submit(body).expect("it waits for room");
                        pages[id].fetch_or(ACCEPTED, SeqCst);
                        match random.below(4) {
                            0 => match task.cancel() {
                                Cancel::Removed => _ = pages[id].fetch_or(REMOVED, SeqCst),
                                Cancel::Signalled => _ = pages[id].fetch_or(SIGNALLED, SeqCst),
                                Cancel::TooLate => {}
                            },
                            1 => drop(task),
                            _ => kept.push((id, task)),
                        }
                    }
                    for (id, task) in kept {
                        match task.join() {
                            Ok(value) => assert_eq!(value, id, "the value of another task"),
                            Err(error) => assert!(error.is_panic(), "{error}"),
                        }
                    }
                })
            })
            .collect();
        for producer in producers {
            producer.join().expect("its checks hold");
            assert_books_balance(&pool.stats());
        }
        assert!(pool.close().terminated);
        let took = begin.elapsed();
        over.store(true, SeqCst);
        for hog in hogs {
            hog.join().expect("no panic");
        }

        let stats = pool.stats();
        assert_all_settled(&stats);
        let [mut finished, mut panicked, mut cancelled] = [0; 3];
        for (id, page) in pages.iter().enumerate() {
            match page.load(SeqCst) {
                page if page & !PANICS == ACCEPTED | STARTED => match page & PANICS {
                    0 => finished += 1,
                    _ => panicked += 1,
                },
                page if page & !PANICS == ACCEPTED | REMOVED => cancelled += 1,
                page if page & !PANICS == ACCEPTED | STARTED | SIGNALLED => cancelled += 1,
                page => panic!("task {id} ended in no way, or in two: {page:#b}"),
            }
        }
        assert_eq!(stats.submitted, TASKS as u64);
        assert_eq!(
            [stats.finished, stats.panicked, stats.cancelled],
            [finished, panicked, cancelled]
        );
        assert_eq!(twice.load(SeqCst), 0);
        let late = stats.wait.quantile(1.0);
        println!("{TASKS} tasks in {took:?}, the latest start after {late:?}");
    });
}
