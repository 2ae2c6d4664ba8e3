//! Many tasks, each run once, wherever they come from.

use super::{Log, inside, pool, within};
use crate::support::{LONG, hold, in_time, until};
use punctual::{Capacity, Executor, Queue};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};

/// Adds the name of the thread that runs it.
fn tell_where(to: &Executor, threads: &Log<String>) {
    let threads = threads.clone();
    let task = move || threads.task(std::thread::current().name().unwrap_or_default().to_owned())();
    to.execute(task).unwrap();
}

#[test]
fn kot_02_tasks_of_both_kinds_from_outside_and_from_inside_all_run() {
    let pool = pool(2);
    let (computing, waiting) = (Log::new(), Log::new());
    let blocking = pool.blocking().unwrap();
    for _ in 0..100 {
        tell_where(&pool, &computing);
        tell_where(&blocking, &waiting);
    }
    let (own, apart) = (computing.clone(), waiting.clone());
    within(&pool, move |pool| {
        for _ in 0..100 {
            tell_where(pool, &own);
            tell_where(&blocking, &apart);
        }
    });
    let _ = in_time(move || pool.close());
    let (computing, waiting) = (computing.read(), waiting.read());
    assert_eq!((computing.len(), waiting.len()), (200, 200));
    let both: Vec<_> = waiting.iter().filter(|name| computing.contains(name)).collect();
    assert!(both.is_empty(), "each kind has threads of its own: {both:?}");
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
        // This worker is busy: whoever runs one has stolen it.
        until("others steal", || count.load(SeqCst) > 0);
    });
    let stats = in_time(move || {
        let _ = pool.close();
        pool.stats()
    });
    assert_eq!(ran.load(SeqCst), 100_000);
    assert!(stats.steals > 0, "{stats:?}");
}

/// How often each task ran.
type Runs = Arc<Vec<AtomicUsize>>;

/// A tree whose tasks have the numbers below `end`: number `n` makes those after `2 n`.
fn grow_numbered(pool: &Executor, number: usize, end: usize, runs: &Runs) {
    for child in [2 * number + 1, 2 * number + 2]
        .into_iter()
        .filter(|child| *child < end)
    {
        let runs = runs.clone();
        pool.execute(move || grow_numbered(&inside(), child, end, &runs))
            .unwrap();
    }
    runs[number].fetch_add(1, SeqCst);
}

#[test]
fn kot_08_half_a_million_internal_tasks_each_exactly_once() {
    const INSIDE: usize = (1 << 19) - 1;
    const OUTSIDE: usize = 20_000;
    let pool = pool(4);
    let runs: Runs = Arc::new((0..INSIDE + OUTSIDE).map(|_| AtomicUsize::new(0)).collect());
    let tree = runs.clone();
    pool.execute(move || grow_numbered(&inside(), 0, INSIDE, &tree))
        .unwrap();
    for number in INSIDE..INSIDE + OUTSIDE {
        let runs = runs.clone();
        pool.execute(move || _ = runs[number].fetch_add(1, SeqCst))
            .unwrap();
    }
    assert!(pool.wait_idle(LONG));
    let others: Vec<_> = runs
        .iter()
        .map(|each| each.load(SeqCst))
        .enumerate()
        .filter(|(_, runs)| *runs != 1)
        .collect();
    assert!(others.is_empty(), "{others:?}");
    let stats = pool.stats();
    let all = (INSIDE + OUTSIDE) as u64;
    assert_eq!((stats.submitted, stats.finished, stats.queued), (all, all, 0));
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

/// Trap E62: a burst starts no threads, and wakes them one at a time: whoever is called and finds something calls the next.
#[test]
fn e62_a_burst_of_local_tasks_starts_no_thread_and_wakes_few() {
    const THREADS: usize = 8;
    const ROUNDS: u64 = 200;
    let pool = pool(THREADS);
    let is_quiet = || pool.stats().parks >= THREADS as u64 && pool.stats().idle == THREADS;
    until("all sleep", is_quiet);
    let before = pool.stats();
    for _ in 0..ROUNDS {
        within(&pool, |pool| {
            for _ in 0..64 {
                pool.execute(|| ()).unwrap();
            }
        });
        assert!(pool.wait_idle(LONG));
    }
    let after = pool.stats();
    assert_eq!(after.threads_started, THREADS as u64);
    let parks = after.parks - before.parks;
    println!(
        "{parks} sleeps in {ROUNDS} rounds, {} in vain",
        after.spurious_wakeups - before.spurious_wakeups
    );
    assert!(parks <= 4 * ROUNDS, "{parks} sleeps");
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

/// Trap E64, KOT-18: nothing of a task is left for the next one on its thread.
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
