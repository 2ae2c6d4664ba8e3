//! Joins inside joins, deeper than the pool has threads.

use super::pool_of;
use crate::support::{LONG, Random, assert_all_settled, in_time};
use punctual::{Executor, JoinError};

/// A task that joins a task that joins a task, `depth` times; the answer is the depth.
fn descend(on: &Executor, depth: u32) -> Result<u32, JoinError> {
    if depth == 0 {
        return Ok(0);
    }
    let next = on.clone();
    let child = on.submit(move || descend(&next, depth - 1)).unwrap();
    Ok(child.join()?? + 1)
}

fn descend_on(threads: usize, spares: usize, depth: u32) -> Result<u32, JoinError> {
    let pool = pool_of(threads, spares);
    let own = pool.executor();
    let first = pool.submit(move || descend(&own, depth)).unwrap();
    let answer = in_time(|| first.join().unwrap());
    assert!(pool.stats().largest <= threads + spares, "{:?}", pool.stats());
    assert_eq!(pool.submit(|| 7).unwrap().join().unwrap(), 7, "the pool goes on");
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
    answer
}

#[test]
fn fault_09_a_join_nested_deeper_than_the_pool_is_wide_ends() {
    for threads in 1..=3 {
        assert_eq!(descend_on(threads, 0, 30).unwrap(), 30);
    }
}

#[test]
fn fault_09_a_join_nested_deeper_than_one_stack_goes_on_another() {
    assert_eq!(descend_on(1, 4, 200).unwrap(), 200);
}

#[test]
fn fault_09_a_join_nested_deeper_than_all_stacks_is_told() {
    // Either every level was run, or somebody was told; nobody hangs.
    match descend_on(1, 0, 200) {
        Ok(depth) => assert_eq!(depth, 200),
        Err(error) => assert!(error.is_would_deadlock(), "{error}"),
    }
}

#[test]
fn fault_09_two_deep_nests_at_once_end() {
    let pool = pool_of(2, 1);
    let nests: Vec<_> = (0..4)
        .map(|_| {
            let own = pool.executor();
            pool.submit(move || descend(&own, 50)).unwrap()
        })
        .collect();
    for nest in nests {
        assert_eq!(in_time(|| nest.join().unwrap()).unwrap(), 50);
    }
}

/// A task with a random number of children, joined in a random order, some dropped, some cancelled. Counts what ran.
fn grow(on: &Executor, seed: u64, depth: u64) -> u64 {
    let mut random = Random::from_seed(seed);
    if depth == 0 {
        return 1;
    }
    let mut children = Vec::new();
    for _ in 0..random.below(4) {
        let (next, seed) = (on.clone(), random.next());
        children.push(on.submit(move || grow(&next, seed, depth - 1)).unwrap());
    }
    let mut sum = 1;
    while !children.is_empty() {
        let index = random.below(children.len() as u64) as usize;
        let mut child = children.swap_remove(index);
        match random.below(6) {
            0 => drop(child),
            1 => drop(child.cancel()),
            2 => drop(child.join_timeout(std::time::Duration::ZERO)),
            _ => match child.join() {
                Ok(count) => sum += count,
                // Nobody waits for its own parent here, so nobody is ever told so; a parent may be cancelled.
                Err(error) => assert!(error.is_interrupted(), "{error}"),
            },
        }
    }
    sum
}

#[test]
fn fault_09_random_trees_of_joins_end_and_balance() {
    let mut random = Random::printed("random_trees_of_joins");
    for _ in 0..30 {
        let (threads, spares) = (1 + random.below(3) as usize, random.below(3) as usize);
        let pool = pool_of(threads, spares);
        let trees: Vec<_> = (0..4)
            .map(|_| {
                let (own, seed) = (pool.executor(), random.next());
                pool.submit(move || grow(&own, seed, 5)).unwrap()
            })
            .collect();
        for tree in trees {
            in_time(|| tree.join().unwrap());
        }
        // Those whose handle was dropped go on, and submit children of their own.
        assert!(pool.wait_idle(LONG));
        let stats = pool.stats();
        assert!(stats.largest <= threads + spares, "{stats:?}");
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
        assert_eq!(pool.stats().panicked, 0);
    }
}
