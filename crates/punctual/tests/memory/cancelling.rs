//! Cancelled tasks leave nothing behind, whatever stands before them in the queue.

use super::{SLACK, alone, live, number};
use crate::support::hold;
use punctual::{Cancel, Pool, Queue, TaskHandle};
use std::sync::{Arc, Weak};

fn cancel_many(live_at_the_head: bool) {
    const CAPACITY: usize = 1_000;
    let _alone = alone();
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
