//! Memory: what was cancelled is gone, and what a burst took comes back. A binary of its own, because it counts every
//! byte that the process allocates.
//!
//! `PUNCTUAL_CANCEL_TASKS` and `PUNCTUAL_BURST_TASKS` set the sizes.

/// The allocator that counts.
#[path = "starts/counting.rs"]
mod counting;

use counting::live;
use punctual::{Cancel, Pool, Queue, TaskHandle};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

/// One test at a time: they look at the same counter.
static ALONE: Mutex<()> = Mutex::new(());

/// What recycled blocks, spare segments and the test's own lists may keep.
const SLACK: i64 = 2 << 20;

fn number(name: &str, default: usize) -> usize {
    std::env::var(name).map_or(default, |text| text.parse().expect("a number"))
}

/// Keeps the pool's only worker busy until the sender is dropped.
fn hold(pool: &Pool) -> Sender<()> {
    let (open, gate) = channel::<()>();
    let (begun, has_begun) = channel();
    pool.execute(move || {
        begun.send(()).expect("the test waits");
        let _ = gate.recv();
    })
    .expect("room");
    has_begun.recv().expect("it runs");
    open
}

fn cancel_many(live_at_the_head: bool) {
    const CAPACITY: usize = 1_000;
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = number("PUNCTUAL_CANCEL_TASKS", 200_000);
    let pool = Pool::builder("cancels")
        .core_threads(1)
        .queue(Queue::bounded(CAPACITY))
        .build()
        .unwrap();
    let held = hold(&pool);
    let head = live_at_the_head.then(|| pool.submit(|| 1).unwrap());
    let room = CAPACITY - usize::from(live_at_the_head);
    let submit = |_: usize| -> (TaskHandle<()>, Weak<[u8; 100]>) {
        let sentinel = Arc::new([0_u8; 100]);
        let weak = Arc::downgrade(&sentinel);
        (pool.submit(move || drop(sentinel)).unwrap(), weak)
    };
    let base = live();
    let mut most = 0;
    // One at a time, and a full queue at a time: dead entries must not pile up either way.
    let mut done = 0;
    while done < tasks {
        for index in 0..10 * room.min(tasks) {
            let (task, weak) = submit(index);
            assert_eq!(task.cancel(), Cancel::Removed);
            assert_eq!(weak.strong_count(), 0, "alive when its cancel returned");
            most = most.max(live() - base);
        }
        let batch: Vec<_> = (0..room).map(submit).collect();
        assert!(
            pool.execute(|| ()).unwrap_err().is_full(),
            "exactly as many fit as before"
        );
        for (task, weak) in batch {
            assert_eq!(task.cancel(), Cancel::Removed);
            assert_eq!(weak.strong_count(), 0);
            most = most.max(live() - base);
        }
        done += 11 * room;
    }
    assert!(
        most < SLACK,
        "{most} bytes more than at the beginning, after {done} cancels"
    );
    assert_eq!(
        pool.stats().cancelled as usize,
        10 * room.min(tasks) * (done / (11 * room)) + done / 11
    );
    let fit = (0..2 * CAPACITY)
        .take_while(|_| pool.execute(|| ()).is_ok())
        .count();
    assert_eq!(fit, room, "every permit came back");
    drop(held);
    if let Some(head) = head {
        assert_eq!(head.join().unwrap(), 1);
    }
    assert!(pool.close().terminated);
    println!("{done} cancels, at most {most} bytes above the base line");
}

#[test]
fn cancelling_behind_a_blocked_worker_keeps_memory_flat() {
    cancel_many(false);
}

#[test]
fn cancelling_behind_a_live_task_keeps_memory_flat() {
    cancel_many(true);
}

/// Waits until the live bytes are near the base line; says how long that took.
fn falls_back(base: i64, limit: Duration) -> Duration {
    let begin = Instant::now();
    loop {
        let above = live() - base;
        if above <= SLACK {
            return begin.elapsed();
        }
        assert!(
            begin.elapsed() < limit,
            "{above} bytes above the base line after {limit:?} of quiet"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn memory_of_a_burst_goes_back_when_its_handles_were_joined_as_it_ran() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = number("PUNCTUAL_BURST_TASKS", 300_000);
    let pool = Pool::fixed(2).unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    let base = live();
    let handles: Vec<_> = (0..tasks)
        .map(|value| pool.submit(move || value).unwrap())
        .collect();
    let peak = live() - base;
    for (value, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), value);
    }
    assert!(peak > SLACK, "a burst of {peak} bytes shows nothing");
    let took = falls_back(base, Duration::from_secs(15));
    println!("peak {peak} bytes, back after {took:?}");
}

#[test]
fn memory_of_a_burst_goes_back_when_its_handles_are_joined_after_the_workers_slept() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = number("PUNCTUAL_BURST_TASKS", 300_000);
    let pool = Pool::fixed(2).unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    let base = live();
    let handles: Vec<_> = (0..tasks)
        .map(|value| pool.submit(move || value).unwrap())
        .collect();
    let peak = live() - base;
    assert!(peak > SLACK, "a burst of {peak} bytes shows nothing");
    assert!(pool.wait_idle(Duration::from_secs(60)));
    // Asleep: the line for people says so, and nothing else does.
    let begin = Instant::now();
    while !format!("{pool:?}").contains("2 asleep, 0 searching") {
        assert!(begin.elapsed() < Duration::from_secs(60), "{pool:?}");
        std::thread::yield_now();
    }
    for (value, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), value);
    }
    let took = falls_back(base, Duration::from_secs(15));
    println!("peak {peak} bytes, back after {took:?}");
}

#[test]
fn memory_of_a_burst_that_waited_in_the_queue_goes_back() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let tasks = number("PUNCTUAL_BURST_TASKS", 300_000);
    let pool = Pool::fixed(1).unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    let base = live();
    let held = hold(&pool);
    for value in 0..tasks {
        pool.execute(move || assert!(value < usize::MAX)).unwrap();
    }
    let peak = live() - base;
    assert!(peak > SLACK, "a burst of {peak} bytes shows nothing");
    drop(held);
    assert!(pool.wait_idle(Duration::from_secs(60)));
    let took = falls_back(base, Duration::from_secs(15));
    println!("peak {peak} bytes, back after {took:?}");
}
