//! Waits from one part of a pool to another that nobody is left to end: DESIGN's eighth promise, across parts.

use super::value;
use crate::support::LONG;
use punctual::{Executor, Pool, Queue, TaskHandle};
use std::sync::mpsc::{Sender, channel};

/// A task that joins what it is sent, and then tells whether it was told that this would be a deadlock.
fn joiner(on: &Executor, tell: &Sender<bool>) -> Sender<TaskHandle<()>> {
    let (give, get) = channel::<TaskHandle<()>>();
    let (begun, has_begun) = channel();
    let tell = tell.clone();
    on.execute(move || {
        begun.send(()).expect("the test waits for this");
        let joined = get.recv().expect("it is sent below").join();
        let is_told = joined.is_err_and(|error| error.is_would_deadlock());
        tell.send(is_told).expect("the test waits for this");
    })
    .expect("an executor with room");
    has_begun.recv_timeout(LONG).expect("a thread is free");
    give
}

/// The second of a lane's two tasks: nobody may run it past the first, and that waits for a thread.
fn second_in_line(on: &Executor) -> TaskHandle<()> {
    let lane = on.lane();
    lane.execute(|| ()).expect("an executor with room");
    lane.submit(|| ()).expect("an executor with room")
}

/// On each a task that waits for a task of the next, the last for one of the first; how many were told.
fn told_in_a_ring(parts: &[Executor]) -> usize {
    let (tell, told) = channel();
    let joiners: Vec<_> = parts.iter().map(|part| joiner(part, &tell)).collect();
    for (joiner, next) in joiners.iter().zip(parts.iter().cycle().skip(1)) {
        joiner
            .send(second_in_line(next))
            .expect("the task waits for this");
    }
    let heard = parts
        .iter()
        .map(|_| told.recv_timeout(LONG).expect("nobody hangs"));
    heard.filter(|is_told| *is_told).count()
}

/// One worker, one blocking thread, and so many spares.
fn pool(spares: usize) -> Pool {
    Pool::builder("apart")
        .core_threads(1)
        .blocking_threads(1)
        .spare_threads(spares)
        .queue(Queue::unbounded())
        .build()
        .expect("valid settings")
}

#[test]
fn when_all_threads_of_two_parts_wait_for_each_other_one_is_told() {
    let pool = pool(0);
    let parts = [pool.executor(), pool.blocking().unwrap()];
    for _ in 0..20 {
        assert_eq!(told_in_a_ring(&parts), 1);
    }
    assert!(pool.wait_idle(LONG), "and everything else ran");
}

#[test]
fn when_all_threads_of_three_parts_wait_in_a_ring_one_is_told() {
    let pool = pool(0);
    let parts = [
        pool.executor(),
        pool.blocking().unwrap(),
        pool.reserve(1).unwrap(),
    ];
    for _ in 0..20 {
        assert_eq!(told_in_a_ring(&parts), 1);
    }
    assert!(pool.wait_idle(LONG));
}

#[test]
fn nobody_is_told_while_a_thread_is_free_or_a_spare_can_come() {
    let spared = pool(1);
    let parts = [spared.executor(), spared.blocking().unwrap()];
    for _ in 0..20 {
        assert_eq!(told_in_a_ring(&parts), 0, "a spare runs one of the lanes");
    }
    let free = pool(0);
    // The second thread of the reserve runs its lane.
    let parts = [free.executor(), free.reserve(2).unwrap()];
    for _ in 0..20 {
        assert_eq!(told_in_a_ring(&parts), 0);
    }
}

#[test]
fn a_part_that_waits_for_another_is_not_told_while_that_one_works() {
    let pool = pool(0);
    let blocking = pool.blocking().unwrap();
    let held = crate::support::hold(&blocking);
    let behind = second_in_line(&blocking);
    let waits = pool.submit(move || behind.join().is_ok()).unwrap();
    crate::support::until("it waits", || pool.stats().active == 2);
    drop(held);
    assert!(value(waits));
}
