//! Which fills first when all core threads are at work: the queue, or the threads. Both ways, task by task.

use punctual::{Growth, Pool, Queue};
use std::sync::mpsc::{Sender, channel};
use std::thread;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Fills a pool of 1 to 3 threads and 2 places with tasks that stay, and notes (threads, queued) after each.
fn fill(growth: Growth) -> Done<Vec<(usize, usize)>> {
    let pool = Pool::builder("web")
        .core_threads(1)
        .max_threads(3)
        .queue(Queue::bounded(2))
        .growth(growth)
        .build()?;
    let mut open: Vec<Sender<()>> = Vec::new();
    let mut steps = Vec::new();
    loop {
        let (sender, gate) = channel();
        let submitted = pool.task(move || gate.recv()).execute();
        if let Err(refused) = submitted {
            // 3 at work and 2 waiting: that is all, and it is exact.
            assert!(refused.is_full());
            assert_eq!(pool.stats().largest, 3);
            return Ok(steps);
        }
        open.push(sender);
        // A new thread takes its first task from the queue a moment later.
        while pool.stats().active < pool.stats().threads {
            thread::yield_now();
        }
        let stats = pool.stats();
        steps.push((stats.threads, stats.queued));
    }
}

fn main() -> Done<()> {
    let queue_first = fill(Growth::QueueFirst)?;
    println!("queue first (the default):  (threads, queued) {queue_first:?}");
    assert_eq!(queue_first, [(1, 0), (1, 1), (1, 2), (2, 2), (3, 2)]);

    let threads_first = fill(Growth::ThreadsFirst)?;
    println!("threads first:              (threads, queued) {threads_first:?}");
    assert_eq!(threads_first, [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)]);

    // The classic mistake, two more threads that could never start, is no pool but an error that says so.
    let mistake = Pool::builder("web")
        .core_threads(1)
        .max_threads(3)
        .queue(Queue::unbounded());
    let error = mistake.build().unwrap_err();
    assert_eq!(error.field(), "max_threads");
    println!("{error}");
    Ok(())
}
