//! Fault 19: somebody blocks, and nobody else notices. On a clock that a test moves: it does not move while a task is runnable
//! and a worker is there for it, so a task that waits at all waits because somebody keeps its worker.

use crate::support::{LONG, assert_all_settled};
use punctual::{Clock, Executor, ManualClock, Pool, Queue, Status, task};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn pool(clock: &ManualClock, threads: usize) -> Pool {
    Pool::builder("p")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .clock(clock)
        .build()
        .unwrap()
}

/// The longest wait of 200 tasks, of which one comes every second, whether the one before has run or not.
fn longest_wait(clock: &ManualClock, view: &Executor) -> Duration {
    let mut tasks = Vec::new();
    for number in 0..200 {
        tasks.push(view.submit(move || number).unwrap());
        clock.advance(Duration::from_secs(1));
    }
    for (number, task) in tasks.into_iter().enumerate() {
        assert!(task.is_finished(), "a worker was there for it");
        assert_eq!(task.join().unwrap(), number);
    }
    let waits = view.view_stats().wait;
    assert!(waits.count() > 0);
    waits.quantile(1.0).unwrap()
}

#[test]
fn fault_19_while_a_lane_and_a_pool_sleep_nobody_else_waits_longer_than_before() {
    let clock = Clock::manual();
    let (busy, other) = (pool(&clock, 2), pool(&clock, 1));
    let quick = busy.limit(1).unwrap();
    let baseline = longest_wait(&clock, &quick);
    let slow = busy.lane();
    // Each would keep a worker for an hour; one at a time.
    let asleep = slow.submit(|| task::sleep(HOUR).is_ok()).unwrap();
    let behind: Vec<_> = (0..3)
        .map(|_| slow.submit(|| task::sleep(HOUR).is_ok()).unwrap())
        .collect();
    let elsewhere = other.submit(|| task::sleep(HOUR).is_ok()).unwrap();
    other.execute(|| ()).unwrap();
    let meanwhile = longest_wait(&clock, &busy.limit(1).unwrap());
    assert_eq!(meanwhile, baseline);
    assert!(
        meanwhile < Duration::from_micros(1),
        "the width of a bucket: {meanwhile:?}"
    );
    assert_eq!(asleep.task_ref().status(), Status::Running, "all that time");
    assert_eq!(elsewhere.task_ref().status(), Status::Running);
    assert_eq!(slow.view_stats().oldest_wait, Some(Duration::from_secs(200)));
    clock.advance(HOUR * 4);
    for task in behind {
        assert!(task.join().unwrap());
    }
    assert!(busy.wait_idle(LONG) && other.wait_idle(LONG));
    assert_all_settled(&busy.stats());
}
