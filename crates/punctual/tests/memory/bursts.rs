//! What a burst took comes back.

use super::{SLACK, alone, falls_back, live, number};
use crate::support::{LONG, hold, until};
use punctual::{Pool, TaskHandle};
use std::time::Duration;

/// Makes a burst, and lets it end by `end`: what it took is given back.
fn comes_back<B>(threads: usize, burst: impl FnOnce(&Pool, usize) -> B, end: impl FnOnce(&Pool, B)) {
    let _alone = alone();
    let tasks = number("PUNCTUAL_BURST_TASKS", 300_000);
    let pool = Pool::fixed(threads).unwrap();
    // What is there once, before the burst.
    for _ in 0..threads {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    let base = live();
    let burst = burst(&pool, tasks);
    let peak = live() - base;
    assert!(peak > SLACK, "a burst of {peak} bytes shows nothing");
    end(&pool, burst);
    let took = falls_back(base, Duration::from_secs(15));
    println!("peak {peak} bytes, back after {took:?}");
}

fn submit(pool: &Pool, tasks: usize) -> Vec<TaskHandle<usize>> {
    let submit = |value| pool.submit(move || value).unwrap();
    (0..tasks).map(submit).collect()
}

fn join(handles: Vec<TaskHandle<usize>>) {
    for (value, handle) in handles.into_iter().enumerate() {
        assert_eq!(handle.join().unwrap(), value);
    }
}

#[test]
fn memory_of_a_burst_goes_back_when_its_handles_were_joined_as_it_ran() {
    comes_back(2, submit, |_, handles| join(handles));
}

#[test]
fn memory_of_a_burst_goes_back_when_its_handles_are_joined_after_the_workers_slept() {
    comes_back(2, submit, |pool, handles| {
        assert!(pool.wait_idle(LONG));
        // Asleep: the line for people says so, and nothing else does.
        until("both sleep", || {
            format!("{pool:?}").contains("2 asleep, 0 searching")
        });
        join(handles);
    });
}

#[test]
fn memory_of_a_burst_that_waited_in_the_queue_goes_back() {
    let burst = |pool: &Pool, tasks| {
        let held = hold(pool);
        for value in 0..tasks {
            pool.execute(move || assert!(value < usize::MAX)).unwrap();
        }
        held
    };
    comes_back(1, burst, |pool, held| {
        drop(held);
        assert!(pool.wait_idle(LONG));
    });
}
