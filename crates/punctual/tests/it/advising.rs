//! What a pool says about itself: lints of its settings, advice from its figures; niceness; workers that must not block.

use crate::support::{LONG, hold, in_time, until};
use punctual::{Lanes, OnBlocking, OnDrop, Pool, PoolBuilder, Queue, Reject};
use std::time::{Duration, Instant};

fn codes(builder: &PoolBuilder) -> Vec<&'static str> {
    builder.lints().iter().map(|lint| lint.code).collect()
}

fn pool() -> PoolBuilder {
    Pool::builder("pool").core_threads(1)
}

#[test]
fn settings_that_are_often_a_mistake_have_codes() {
    assert!(codes(&pool()).is_empty());
    assert_eq!(codes(&pool().queue(Queue::unbounded())), ["W001"]);
    let levels = || pool().queue(Queue::priority(10));
    assert_eq!(codes(&levels().on_full(Reject::DiscardOldest)), ["W002"]);
    assert!(codes(&levels().on_full(Reject::EvictLower)).is_empty());
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(codes(&pool().core_threads(16 * cores + 1)), ["W003"]);
    let never_blocks = pool().core_threads(cores + 1).on_blocking(OnBlocking::Error);
    assert_eq!(codes(&never_blocks), ["W003"]);
    assert_eq!(codes(&pool().on_drop(OnDrop::Detach)), ["W004"]);
    assert_eq!(codes(&pool().queue(Queue::priority(10).strict())), ["W005"]);
    assert_eq!(codes(&pool().max_threads(2).keep_alive(Duration::ZERO)), ["W006"]);
}

#[test]
fn lints_say_what_to_do_and_are_part_of_the_advice() {
    let pool = Pool::fixed(2).unwrap();
    let lints = pool.advice().lints().to_vec();
    assert_eq!(lints.len(), 1);
    assert!(lints[0].to_string().starts_with("W001: "), "{}", lints[0]);
    assert!(lints[0].text.contains("on_full"));
    assert!(pool.advice().to_string().contains("W001"));
}

#[test]
fn a_pool_that_has_done_nothing_has_nothing_to_say() {
    let pool = pool().build().unwrap();
    let advice = pool.advice();
    assert_eq!((advice.threads(), advice.for_waiting()), (None, None));
    assert!(advice.seen().is_empty());
    assert!(advice.to_string().contains("no task has been timed"), "{advice}");
}

/// Computes for about so long.
fn compute(time: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < time {
        std::hint::spin_loop();
    }
}

#[test]
fn tasks_that_compute_want_a_thread_for_each_core_and_one_more() {
    let cores = std::thread::available_parallelism().unwrap().get();
    // On a crowded machine, or one whose processors are somebody else's too, a thread that is held up may look as if it
    // waited: one undisturbed time is enough.
    let fits = (0..10).any(|_| {
        let pool = pool().build().unwrap();
        for _ in 0..400 {
            pool.execute(|| compute(Duration::from_micros(100))).unwrap();
        }
        assert!(pool.wait_idle(LONG));
        let advice = pool.advice();
        assert_eq!(advice.for_computing(), cores + 1);
        println!("{advice}");
        (cores..=2 * cores + 1).contains(&advice.threads().unwrap())
    });
    assert!(fits, "ten times more threads than that");
}

#[test]
#[cfg(target_os = "linux")]
fn tasks_that_wait_want_more_threads_the_longer_they_wait() {
    let lanes = Lanes::builder("waiting").max_threads(8).build().unwrap();
    for _ in 0..400 {
        let waits = || {
            compute(Duration::from_micros(100));
            std::thread::sleep(Duration::from_millis(1));
        };
        lanes.execute(waits).unwrap();
    }
    assert!(in_time({
        let lanes = lanes.clone();
        move || lanes.wait_idle(LONG)
    }));
    let cores = std::thread::available_parallelism().unwrap().get();
    let advice = lanes.advice();
    let threads = advice.threads().unwrap();
    assert!(threads > 3 * cores, "{advice}");
    assert!(
        advice.waiting().unwrap() > advice.computing().unwrap(),
        "{advice}"
    );
}

#[test]
fn a_queue_that_grows_and_refusals_stand_out() {
    let pool = pool().queue(Queue::bounded(3)).build().unwrap();
    let held = hold(&pool);
    for _ in 0..3 {
        pool.execute(|| ()).unwrap();
    }
    assert!(pool.execute(|| ()).is_err());
    let seen = pool.advice().seen().join("\n");
    assert!(seen.contains("3 tasks wait"), "{seen}");
    assert!(seen.contains("1 tasks") && seen.contains("refused"), "{seen}");
    drop(held);
}

#[test]
#[cfg(target_os = "linux")]
fn a_niceness_that_is_granted_is_shown_and_so_is_one_that_is_not() {
    let niceness = |n: i32| {
        let pool = pool().nice(n).build().unwrap();
        assert_eq!(pool.stats().nice, None, "no thread has been started");
        pool.submit(|| ()).unwrap().join().unwrap();
        pool.stats().nice.unwrap()
    };
    assert_eq!(niceness(7), 7);
    // More than others needs a privilege; either way it is said.
    let raised = niceness(-5);
    assert!(raised == -5 || raised >= 0, "{raised}");
    assert_eq!(pool().build().unwrap().stats().nice, None);
}

#[test]
fn a_niceness_out_of_range_is_refused() {
    for wrong in [-21, 20] {
        let text = pool().nice(wrong).build().unwrap_err().to_string();
        assert!(
            text.contains("nice") && text.contains(&wrong.to_string()),
            "{text}"
        );
    }
}

/// What a task on such a pool gets that joins one which runs.
fn join_of_a_running_task(policy: OnBlocking) -> (Pool, Result<(), punctual::JoinError>) {
    let pool = pool().core_threads(2).on_blocking(policy).build().unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let runs = pool
        .submit(move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    told.recv().unwrap();
    let (begun, has_begun) = std::sync::mpsc::channel();
    let asks = pool
        .submit(move || {
            begun.send(()).unwrap();
            runs.join()
        })
        .unwrap();
    has_begun.recv().unwrap();
    if policy == OnBlocking::Error {
        let answer = in_time(|| asks.join().unwrap());
        drop(open);
        return (pool, answer);
    }
    until("it waits", || {
        pool.stats().spare > 0 || pool.stats().blocking_waits > 0 || policy == OnBlocking::Allow
    });
    drop(open);
    let answer = in_time(|| asks.join().unwrap());
    (pool, answer)
}

#[test]
fn rea_20_a_join_on_a_worker_that_must_not_block_is_an_error() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Error);
    let error = answer.unwrap_err();
    assert!(
        error.is_blocking() && error.to_string().contains("must not block"),
        "{error}"
    );
    assert_eq!(pool.stats().blocking_waits, 1);
}

#[test]
fn rea_20_or_it_is_counted_and_allowed() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Warn);
    answer.unwrap();
    assert_eq!(pool.stats().blocking_waits, 1);
}

#[test]
fn rea_20_by_default_and_outside_it_is_allowed() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Allow);
    answer.unwrap();
    assert_eq!(pool.stats().blocking_waits, 0);
    // Outside a worker nobody is held up.
    let guarded = self::pool().on_blocking(OnBlocking::Error).build().unwrap();
    guarded.submit(|| ()).unwrap().join().unwrap();
}

#[test]
fn rea_20_what_still_waits_in_the_queue_is_run_in_place_which_is_no_wait() {
    let pool = pool().on_blocking(OnBlocking::Error).build().unwrap();
    let inside = pool.executor();
    let both = pool.submit(move || inside.submit(|| 2).unwrap().join()).unwrap();
    assert_eq!(both.join().unwrap().unwrap(), 2);
    assert_eq!(pool.stats().blocking_waits, 0);
}
