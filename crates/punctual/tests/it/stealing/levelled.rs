//! Levels and deques in one pool: trap E61.

use super::order::turns_between;
use super::{Log, inside, with, within};
use crate::support::{LONG, hold, until};
use punctual::{Capacity, Executor, Pool, Priority, Queue};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::time::{Duration, Instant};

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

/// Whatever the rule: a worker with tasks of its own looks at the less urgent levels at every 64th turn.
#[test]
fn e61_less_urgent_levels_are_served_at_every_64th_turn_under_every_rule() {
    let queue = || Queue::priority(Capacity::Unbounded);
    for queue in [
        queue().strict(),
        queue().aging(Duration::from_secs(3600)),
        queue().shares([50, 30, 15, 5]),
    ] {
        let rule = format!("{queue:?}");
        let pool = with(1, queue.stealing());
        let seen = turns_between(&pool, 10, |pool, task| {
            pool.task(task).priority(Priority::LOW).execute().unwrap();
        });
        let expected: Vec<_> = (1..10).map(|number| (number, 63)).collect();
        assert_eq!(seen[1..], expected, "{rule}");
    }
}

const THREADS: usize = 2;

/// What a usual task does, besides going on.
type Each = dyn Fn(&Executor, usize) + Send + Sync;

/// Usual tasks that go on until `left` is used up, each of which calls `each` with what is left.
fn go_on(pool: &Executor, left: usize, each: Arc<Each>) {
    each(pool, left);
    if left > 0 {
        pool.execute(move || go_on(&inside(), left - 1, each)).unwrap();
    }
}

/// By how many usual tasks urgent ones were overtaken: at most so many, for half of them, and for nine of ten. (Between a worker's
/// look and its take the system may stop it, and the others run any number of tasks meanwhile: not all are within.)
fn assert_bent_by(log: &Log<usize>, half: usize, most: usize) {
    let mut sorted = log.read();
    sorted.sort_unstable();
    let at = |part: usize| sorted[(sorted.len() - 1) * part / 100];
    let parts = [50, 90, 99, 100].map(at);
    println!(
        "overtaken by: half {}, 90 % {}, 99 % {}, all {}",
        parts[0], parts[1], parts[2], parts[3]
    );
    assert!(parts[0] <= half && parts[1] <= most, "{parts:?}");
}

/// Submits an urgent task that adds how many have begun since its submission was over: until then it may be anywhere on its way,
/// and the system may stop the submitter there.
fn submit_urgent(pool: &Executor, begun: &Arc<AtomicUsize>, log: &Log<usize>) {
    let accepted_at = Arc::new(AtomicUsize::new(usize::MAX));
    let (seen, log, at) = (begun.clone(), log.clone(), accepted_at.clone());
    let task = move || log.task(seen.load(SeqCst).saturating_sub(at.load(SeqCst)))();
    pool.task(task).priority(Priority::URGENT).execute().unwrap();
    accepted_at.store(begun.load(SeqCst), SeqCst);
}

/// How far stealing bends the order of levels: a more urgent task waits for those that run, one per worker, and no other.
#[test]
fn e61_the_order_of_levels_is_bent_by_at_most_one_task_per_worker() {
    let pool = levelled(THREADS);
    let (log, begun) = (Log::new(), Arc::new(AtomicUsize::new(0)));
    let held = hold(&pool);
    for _ in 0..THREADS {
        let (begun, log) = (begun.clone(), log.clone());
        let each = move |pool: &Executor, left: usize| {
            begun.fetch_add(1, SeqCst);
            if left % 10 == 1 {
                submit_urgent(pool, &begun, &log);
            }
        };
        pool.execute(move || go_on(&inside(), 2000, Arc::new(each)))
            .unwrap();
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(log.read().len(), THREADS * 200);
    assert_bent_by(&log, THREADS, THREADS);
}

/// The same for urgent tasks from outside, which come at any moment of a usual one.
#[test]
fn e61_an_urgent_task_from_outside_is_overtaken_by_at_most_one_task_per_worker() {
    let pool = levelled(THREADS);
    let (log, begun) = (Log::new(), Arc::new(AtomicUsize::new(0)));
    let is_over = Arc::new(AtomicBool::new(false));
    for _ in 0..THREADS {
        let (begun, is_over) = (begun.clone(), is_over.clone());
        // Long enough for a submission to be short beside it.
        let each = move |_: &Executor, _: usize| {
            begun.fetch_add(1, SeqCst);
            let begin = Instant::now();
            while begin.elapsed() < Duration::from_micros(200) && !is_over.load(SeqCst) {
                std::hint::spin_loop();
            }
        };
        pool.execute(move || go_on(&inside(), 1000, Arc::new(each)))
            .unwrap();
    }
    for number in 1..=200 {
        submit_urgent(&pool, &begun, &log);
        until("it has begun", || log.read().len() == number);
    }
    is_over.store(true, SeqCst);
    assert!(pool.wait_idle(LONG));
    assert_bent_by(&log, THREADS, THREADS);
}
