//! Scenarios of levels: tasks that are moved, thrown out for others, cancelled and taken at once.

use super::{Marks, explore};
use crate::{Cancel, Pool, Priority, PriorityQueue, Queue, Reject, Stats, TaskHandle};
use shuttle::thread;
use std::time::Duration;

fn pool(threads: usize, queue: PriorityQueue, reject: Reject) -> Pool {
    let builder = Pool::builder("scenario").core_threads(threads);
    builder.queue(queue).on_full(reject).build().unwrap()
}

/// Every accepted task has one end, and what the levels say adds up to what the pool says.
/// And the levels agree with the pool.
fn assert_all_settled(stats: &Stats) {
    super::assert_all_settled(stats);
    let sum = |number: fn(&crate::LevelStats) -> u64| -> u64 { stats.levels.iter().map(number).sum() };
    assert_eq!(sum(|level| level.queued as u64), 0, "{stats:?}");
    assert_eq!(sum(|level| level.taken), stats.taken, "{stats:?}");
    assert_eq!(sum(|level| level.evicted), stats.evicted, "{stats:?}");
}

/// A task of this level that counts its run and its drop.
fn submit(pool: &Pool, marks: &Marks, level: u8) -> Option<TaskHandle<usize>> {
    let task = pool.task(marks.closure()).priority(Priority::level(level));
    task.submit().ok()
}

/// Moves and a cancel meet two workers: each task runs once or is cancelled once, whichever of its records is found.
#[test]
fn set_priority_run_next_cancel_take() {
    explore(|| {
        for queue in [Queue::priority(8).strict(), Queue::priority(8)] {
            let pool = pool(2, queue, Reject::Abort);
            let marks = Marks::default();
            let tasks: Vec<_> = (0..3).filter_map(|level| submit(&pool, &marks, level)).collect();
            let references: Vec<_> = tasks.iter().map(TaskHandle::task_ref).collect();
            let moved = references.clone();
            let mover = thread::spawn(move || {
                let _ = moved[0].set_priority(Priority::LOW);
                let _ = moved[2].run_next();
                let _ = moved[0].set_priority(Priority::URGENT);
            });
            let cancel = references[0].cancel();
            let _ = references[2].set_priority(Priority::HIGH);
            let finished = tasks.into_iter().filter_map(|task| task.join().ok()).count();
            mover.join().unwrap();
            assert!(pool.close().terminated);
            assert_all_settled(&pool.stats());
            let removed = usize::from(cancel == Cancel::Removed);
            assert_eq!((marks.runs(), marks.drops()), (3 - removed, 3));
            assert!(finished + usize::from(cancel != Cancel::TooLate) >= 3);
        }
    });
}

/// Urgent tasks throw out less urgent ones that are being moved and cancelled: each accepted one has one end.
#[test]
fn evict_lower_meets_moves_and_cancels() {
    explore(|| {
        let pool = pool(1, Queue::priority(2).strict(), Reject::EvictLower);
        let marks = Marks::default();
        let low: Vec<_> = (0..2).filter_map(|_| submit(&pool, &marks, 3)).collect();
        let references: Vec<_> = low.iter().map(TaskHandle::task_ref).collect();
        let mover = thread::spawn(move || {
            for reference in &references {
                let _ = reference.set_priority(Priority::URGENT);
            }
            references.last().map(crate::TaskRef::cancel)
        });
        let urgent: Vec<_> = (0..2).filter_map(|_| submit(&pool, &marks, 0)).collect();
        let accepted = low.len() + urgent.len();
        mover.join().unwrap();
        for task in low.into_iter().chain(urgent) {
            let _ = task.join();
        }
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!(stats.submitted, accepted as u64);
        assert_eq!(marks.drops(), 4, "also those that were refused");
        assert!(marks.runs() as u64 >= stats.finished);
    });
}

/// A pool that stops while its tasks are moved: what had not begun comes back, once.
#[test]
fn moves_meet_a_stop() {
    explore(|| {
        let pool = pool(1, Queue::priority(8).shares([2, 1, 1, 1]), Reject::Abort);
        let marks = Marks::default();
        let tasks: Vec<_> = (0..3).filter_map(|level| submit(&pool, &marks, level)).collect();
        let references: Vec<_> = tasks.iter().map(TaskHandle::task_ref).collect();
        let mover = thread::spawn(move || {
            let _ = references[1].run_next();
            let _ = references[2].set_priority(Priority::URGENT);
            // After the end as well: it is no task of the queue any more.
            references[0].set_priority(Priority::LOW)
        });
        let returned = pool.stop().len();
        mover.join().unwrap();
        assert!(pool.await_termination(Duration::MAX));
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!(stats.returned as usize, returned);
        assert_eq!((marks.runs() + returned, marks.drops()), (3, 3));
    });
}
