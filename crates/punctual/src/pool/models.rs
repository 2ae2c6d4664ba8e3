//! Loom models of whole pools: the line before one that is full, a worker that leaves while a task comes, and a stop that meets a
//! future on its way to rest.

use crate::Pool;
use crate::models::model;
use crate::queue::Queue;
use crate::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use loom::thread;
use std::time::Duration;

/// A worker becomes free while a submission gets into line: one of the two sees the other. Loom reports a deadlock if
/// the permit goes by the waiter.
#[test]
fn a_free_hand_meets_the_line() {
    model(2, || {
        let pool = Pool::cached(1).unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let (other, count) = (pool.clone(), runs.clone());
        let waiter = thread::spawn(move || {
            let task = other.submit_timeout(Duration::MAX, move || _ = count.fetch_add(1, SeqCst));
            drop(task.expect("nobody closes the pool"));
        });
        let count = runs.clone();
        let task = pool.submit_timeout(Duration::MAX, move || _ = count.fetch_add(1, SeqCst));
        drop(task.expect("nobody closes the pool"));
        waiter.join().unwrap();
        drop(pool);
        assert_eq!(runs.load(SeqCst), 2);
    });
}

/// The only worker leaves while a task comes: it takes the task, or the submission starts another.
#[test]
fn a_worker_that_leaves_meets_a_task() {
    model(2, || {
        let runs = Arc::new(AtomicUsize::new(0));
        let pool = Pool::builder("model")
            .core_threads(0)
            .max_threads(1)
            .keep_alive(Duration::ZERO)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        for _ in 0..2 {
            let count = runs.clone();
            pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
        drop(pool);
        assert_eq!(runs.load(SeqCst), 2);
    });
}

/// A future is listed and then looks whether the pool stops; a stop says so and then goes through the list. Loom reports a
/// deadlock if the future rests for ever.
#[test]
fn a_stop_meets_a_future_that_comes_to_rest() {
    model(2, || {
        let pool = Pool::builder("model")
            .core_threads(1)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        let task = pool.spawn(std::future::pending::<()>()).unwrap();
        drop(pool.stop());
        assert!(task.join().unwrap_err().is_cancelled());
        assert!(pool.close().terminated);
    });
}
