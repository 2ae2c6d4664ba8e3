//! Looks at running and waiting tasks while they come and go as fast as they can.

use crate::support::LONG;
use punctual::{Capacity, Pool, Queue};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// Counts its drops: what is freed twice, or never, shows.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

fn look_while_tasks_end(pool: &Pool) {
    const TASKS: usize = 20_000;
    let control = pool.control();
    let drops = Arc::new(AtomicUsize::new(0));
    let is_over = std::sync::atomic::AtomicBool::new(false);
    let seen = std::thread::scope(|threads| {
        let looker = threads.spawn(|| {
            let mut seen = 0;
            while !is_over.load(SeqCst) {
                for task in control.running().into_iter().chain(control.queued(16)) {
                    seen += usize::from(task.type_name().contains("racing"));
                    assert!(task.id() > 0);
                }
            }
            seen
        });
        for round in 0..TASKS {
            let counted = Counted(drops.clone());
            let other = pool.clone();
            let task = pool.submit(move || {
                if round % 16 == 0 {
                    // In place, or on another worker.
                    let inner = other.submit(|| 1).unwrap();
                    assert_eq!(inner.join().unwrap(), 1);
                }
                counted
            });
            let task = task.unwrap();
            match round % 3 {
                0 => drop(task),
                1 => drop(task.join().unwrap()),
                _ => drop(task.cancel()),
            }
        }
        assert!(pool.wait_idle(LONG));
        is_over.store(true, SeqCst);
        looker.join().unwrap()
    });
    assert!(seen > 0, "the looks saw nothing at all");
    crate::support::until("every value is dropped", || drops.load(SeqCst) == TASKS);
}

#[test]
fn see_15_looks_at_tasks_that_end_leave_them_as_they_are() {
    look_while_tasks_end(&Pool::fixed(2).unwrap());
}

#[test]
fn see_16_looks_at_tasks_of_a_stealing_pool_leave_them_as_they_are() {
    let queue = Queue::stealing(Capacity::Unbounded);
    look_while_tasks_end(&Pool::builder("s").core_threads(2).queue(queue).build().unwrap());
}
