//! Many tasks, each run once, wherever they come from.

use super::{inside, pool, with, within};
use crate::support::{hold, in_time, until};
use punctual::{Capacity, Executor, Queue};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

#[test]
fn kot_02_tasks_of_both_kinds_from_outside_and_from_inside_all_run() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    let submit = |to: &Executor, ran: &Arc<AtomicUsize>| {
        let ran = ran.clone();
        to.execute(move || _ = ran.fetch_add(1, SeqCst)).unwrap();
    };
    let blocking = pool.blocking().unwrap();
    for _ in 0..100 {
        submit(&pool, &ran);
        submit(&blocking, &ran);
    }
    let count = ran.clone();
    within(&pool, move |pool| {
        for _ in 0..100 {
            submit(pool, &count);
            submit(&blocking, &count);
        }
    });
    let _ = in_time(move || pool.close());
    assert_eq!(ran.load(SeqCst), 400);
}

#[test]
fn kot_05_a_hundred_thousand_tasks_of_one_worker_while_others_steal() {
    let pool = pool(3);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    within(&pool, move |pool| {
        for _ in 0..100_000 {
            let count = count.clone();
            pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
    });
    let _ = in_time(move || pool.close());
    assert_eq!(ran.load(SeqCst), 100_000);
}

/// A tree of tasks: each of `depth` makes two of one less.
fn grow(pool: &Executor, depth: u32, ran: Arc<AtomicUsize>) {
    if depth > 0 {
        for _ in 0..2 {
            let ran = ran.clone();
            pool.execute(move || grow(&inside(), depth - 1, ran)).unwrap();
        }
    }
    ran.fetch_add(1, SeqCst);
}

#[test]
fn kot_08_half_a_million_internal_tasks_each_exactly_once() {
    let pool = pool(4);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    pool.execute(move || grow(&inside(), 18, count)).unwrap();
    until("all have run", || ran.load(SeqCst) == (1 << 19) - 1);
    let stats = in_time(move || {
        let _ = pool.close();
        pool.stats()
    });
    assert_eq!(ran.load(SeqCst), (1 << 19) - 1);
    assert_eq!(
        (stats.submitted, stats.finished, stats.queued),
        ((1 << 19) - 1, (1 << 19) - 1, 0)
    );
}

#[test]
fn kot_08_the_tasks_of_a_blocked_worker_are_all_run_by_others() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    within(&pool, move |pool| {
        for _ in 0..1000 {
            let count = count.clone();
            pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
        // Blocked on what the library does not see.
        until("others have run them", || count.load(SeqCst) == 1000);
    });
    assert_eq!(pool.stats().steals, 1000);
}

/// So many rounds of tasks that all meet: each needs a thread of its own, so one that lies beside a sleeping worker hangs.
fn meet_in_rounds(rounds: usize, threads: usize, is_inside: bool) {
    let pool = pool(threads);
    let executor = Executor::clone(&pool);
    in_time(move || {
        for round in 0..rounds {
            let barrier = Arc::new(Barrier::new(threads));
            let (tell, told) = std::sync::mpsc::channel();
            let submit = move |to: &Executor| {
                for _ in 0..threads {
                    let (barrier, tell) = (barrier.clone(), tell.clone());
                    to.execute(move || {
                        barrier.wait();
                        tell.send(()).unwrap();
                    })
                    .unwrap();
                }
            };
            if is_inside {
                executor.execute(move || submit(&inside())).unwrap();
            } else {
                submit(&executor);
            }
            for _ in 0..threads {
                told.recv().unwrap();
            }
            if round % 10 == 0 {
                // Some rounds find the workers asleep.
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
        }
    });
    let _ = pool.close();
}

#[test]
fn a_thousand_rounds_of_tasks_that_meet_submitted_inside() {
    meet_in_rounds(1000, 3, true);
}

#[test]
fn a_thousand_rounds_of_tasks_that_meet_submitted_outside() {
    meet_in_rounds(1000, 3, false);
}

/// Trap E62: short bursts start no more threads than there are, and wake no more than are needed.
#[test]
fn e62_a_burst_of_local_tasks_starts_no_thread_beyond_the_core() {
    let pool = with(2, Queue::stealing(Capacity::Unbounded));
    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let count = ran.clone();
        pool.execute(move || grow(&inside(), 6, count)).unwrap();
    }
    until("all have run", || ran.load(SeqCst) == 50 * 127);
    assert_eq!(pool.stats().threads_started, 2);
}

/// All threads come for local tasks too, although nobody outside submits any more.
#[test]
fn local_tasks_start_the_workers_that_are_missing() {
    let pool = punctual::Pool::builder("lazy")
        .core_threads(3)
        .queue(Queue::stealing(Capacity::Unbounded))
        .build()
        .unwrap();
    let barrier = Arc::new(Barrier::new(3));
    within(&pool, move |pool| {
        for _ in 0..2 {
            let barrier = barrier.clone();
            pool.execute(move || _ = barrier.wait()).unwrap();
        }
        barrier.wait();
    });
    assert_eq!(pool.stats().threads, 3);
}

/// Trap E64, KOT-18: nothing of a stolen task is left for the next one on that thread.
#[test]
fn e64_a_cancelled_task_leaves_no_mark_on_the_next_of_its_worker() {
    let pool = pool(1);
    let held = hold(&pool);
    let first = pool
        .submit(|| {
            let token = punctual::task::current().unwrap().token();
            until("it is asked to stop", || token.is_cancelled());
        })
        .unwrap();
    let second = pool
        .submit(|| punctual::task::current().unwrap().token().is_cancelled())
        .unwrap();
    drop(held);
    until("it runs", || {
        first.task_ref().status() == punctual::Status::Running
    });
    first.cancel();
    assert!(!in_time(|| second.join().unwrap()));
}
