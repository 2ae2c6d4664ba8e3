//! Levels and deques in one pool: trap E61.

use super::{Log, inside, with, within};
use crate::support::{LONG, hold};
use punctual::{Capacity, Executor, Pool, Priority, Queue};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

fn levelled(threads: usize) -> Pool {
    with(threads, Queue::priority(Capacity::Unbounded).strict().stealing())
}

#[test]
fn e61_a_more_urgent_task_goes_before_what_lies_in_the_deque() {
    let pool = levelled(1);
    let log = Log::new();
    let (low, local, high) = (log.task("low"), log.task("local"), log.task("high"));
    within(&pool, move |pool| {
        pool.task(low).priority(Priority::LOW).execute().unwrap();
        pool.execute(local).unwrap();
        pool.task(high).priority(Priority::HIGH).execute().unwrap();
    });
    let _ = pool.close();
    assert_eq!(log.read(), ["high", "local", "low"]);
}

#[test]
fn only_tasks_of_the_usual_level_go_to_deques() {
    let pool = levelled(1);
    let own = pool.clone();
    let counts = within(&pool, move |pool| {
        for level in 0..4 {
            pool.task(|| ())
                .priority(Priority::level(level))
                .execute()
                .unwrap();
        }
        let stats = own.stats();
        let levels: Vec<usize> = stats.levels.iter().map(|level| level.queued).collect();
        (stats.queued_local, levels)
    });
    assert_eq!(counts, (1, vec![1, 1, 1, 1]));
    assert!(pool.wait_idle(LONG));
    let taken: Vec<u64> = pool.stats().levels.iter().map(|level| level.taken).collect();
    assert_eq!(taken, [1, 1, 2, 1], "and the task itself");
}

/// How far stealing bends the order of levels: a more urgent task waits for those that run, one per worker, and no other.
#[test]
fn e61_the_order_of_levels_is_bent_by_at_most_one_task_per_worker() {
    const THREADS: usize = 2;
    fn go_on(pool: &Executor, left: usize, begun: &Arc<AtomicUsize>, log: &Log<usize>) {
        begun.fetch_add(1, SeqCst);
        if left == 0 {
            return;
        }
        let (begun, log) = (begun.clone(), log.clone());
        if left.is_multiple_of(10) {
            let (seen, log) = (begun.clone(), log.clone());
            let at = begun.load(SeqCst);
            // How many began between its submission and its start.
            let urgent = move || log.task(seen.load(SeqCst) - at)();
            pool.task(urgent).priority(Priority::URGENT).execute().unwrap();
        }
        pool.execute(move || go_on(&inside(), left - 1, &begun, &log))
            .unwrap();
    }
    let pool = levelled(THREADS);
    let log = Log::new();
    let begun = Arc::new(AtomicUsize::new(0));
    let held = hold(&pool);
    for _ in 0..THREADS {
        let (begun, log) = (begun.clone(), log.clone());
        pool.execute(move || go_on(&inside(), 2000, &begun, &log))
            .unwrap();
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    let waited = log.read();
    assert_eq!(waited.len(), THREADS * 200);
    // Between two looks of a worker that takes it, the others may run any number of tasks if the system stops that one;
    // the usual wait is what is promised.
    let mut sorted = waited;
    sorted.sort_unstable();
    let at = |part: usize| sorted[(sorted.len() - 1) * part / 100];
    println!(
        "overtaken by: half {}, 90 % {}, 99 % {}, all {}",
        at(50),
        at(90),
        at(99),
        at(100)
    );
    assert!(at(50) <= THREADS, "{sorted:?}");
}
