//! Delayed tasks that come due while somebody cancels, drains, closes or leaves.

use super::{HOUR, Marks, NOW, PAST, assert_all_settled, builder, explore};
use crate::{AtShutdown, Cancel, Pool, TaskHandle};
use shuttle::thread;
use std::time::Duration;

/// One of each: due by the one clock, due by the other, far away.
fn three(pool: &Pool, marks: &Marks) -> Vec<TaskHandle<usize>> {
    let tasks = [
        pool.after(NOW, marks.closure()),
        pool.at(PAST, marks.closure()),
        pool.after(HOUR, marks.closure()),
    ];
    tasks.into_iter().filter_map(Result::ok).collect()
}

/// Cancel, fire and shutdown at once: what was due has run or was cancelled, what was not has not run.
#[test]
fn cancel_fire_shutdown() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let marks = Marks::default();
        let tasks = three(&pool, &marks);
        let watchers: Vec<_> = tasks.iter().map(TaskHandle::task_ref).collect();
        let canceller = thread::spawn(move || watchers.iter().map(|task| task.cancel()).collect::<Vec<_>>());
        pool.shutdown();
        let cancels = canceller.join().unwrap();
        let joined: Vec<_> = tasks.into_iter().map(TaskHandle::join).collect();
        let stats = assert_all_settled(&pool);
        let removed = cancels.iter().filter(|each| **each == Cancel::Removed).count();
        assert_eq!(marks.drops(), 3);
        assert_eq!(joined.iter().flatten().count() as u64, stats.finished);
        assert!(joined[2].is_err(), "an hour has not passed");
        assert!(marks.runs() <= 2 && marks.runs() + removed <= 3);
        for (joined, cancel) in joined.iter().zip(&cancels).take(2) {
            assert_eq!(joined.is_ok(), *cancel == Cancel::TooLate, "due is due");
        }
    });
}

/// Submitters, a canceller and a stop: every handle resolves, what comes back has not run.
#[test]
fn cancel_fire_stop() {
    explore(|| {
        let pool = builder(2).build().unwrap();
        let marks = Marks::default();
        let (other, theirs) = (pool.clone(), marks.clone());
        let submitter = thread::spawn(move || {
            let tasks = three(&other, &theirs);
            tasks.first().map(TaskHandle::cancel);
            tasks.last().map(TaskHandle::cancel);
            tasks
                .into_iter()
                .map(TaskHandle::join)
                .filter(Result::is_ok)
                .count()
        });
        let unrun = pool.stop();
        let finished = submitter.join().unwrap();
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.returned, unrun.len() as u64);
        assert_eq!(stats.finished, finished as u64);
        drop(unrun);
        assert_eq!(
            marks.drops(),
            3,
            "run, cancelled, refused or dropped with their Unrun"
        );
    });
}

/// A drain while delayed tasks come due: run here, there, or not at all, and once.
#[test]
fn drain_fire() {
    explore(|| {
        let pool = builder(1).build().unwrap();
        let marks = Marks::default();
        let tasks = three(&pool, &marks);
        let unrun = pool.drain();
        let drained = unrun.len();
        assert!(drained <= 2, "what is not due stays");
        for task in unrun {
            task.run().unwrap();
        }
        assert_eq!(tasks[2].cancel(), Cancel::Removed);
        let ok = tasks.into_iter().filter_map(|task| task.join().ok()).count();
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.returned as usize, stats.finished as usize), (drained, ok));
        assert_eq!((marks.runs(), marks.drops()), (2, 3));
    });
}

/// A pool that would wait for what never comes, a canceller, and a policy that changes: the pool ends.
#[test]
fn a_policy_that_changes_meets_the_end() {
    explore(|| {
        let pool = builder(2).delayed_at_shutdown(AtShutdown::Run).build().unwrap();
        let marks = Marks::default();
        let tasks = [(); 2].map(|()| pool.after(HOUR, marks.closure()).unwrap());
        let due = pool.after(NOW, marks.closure()).unwrap();
        let other = pool.clone();
        let changer = thread::spawn(move || other.set_delayed_at_shutdown(AtShutdown::Drop));
        let watcher = tasks[0].task_ref();
        let canceller = thread::spawn(move || watcher.cancel());
        let report = pool.close();
        assert!(report.terminated);
        changer.join().unwrap();
        let removed = usize::from(canceller.join().unwrap() == Cancel::Removed);
        assert_eq!(due.join().unwrap(), 0);
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled());
        }
        let stats = assert_all_settled(&pool);
        assert_eq!(report.cancelled_delayed + removed, 2);
        assert_eq!((stats.finished, stats.cancelled), (1, 2));
        assert_eq!((marks.runs(), marks.drops()), (1, 3));
    });
}

/// Crowds from two threads on two pools, while the workers and a closer all move what is due.
#[test]
fn crowds_fire() {
    explore(|| {
        let pools = [(); 2].map(|()| builder(2).build().unwrap());
        let marks = Marks::default();
        let submitters: Vec<_> = pools
            .iter()
            .map(|pool| {
                let (pool, marks) = (pool.clone(), marks.clone());
                thread::spawn(move || {
                    let tasks: Vec<_> = (0..4)
                        .filter_map(|_| pool.after(NOW, marks.closure()).ok())
                        .collect();
                    let accepted = tasks.len();
                    assert_eq!(
                        tasks.into_iter().filter_map(|task| task.join().ok()).count(),
                        accepted
                    );
                    accepted
                })
            })
            .collect();
        for pool in &pools {
            drop(pool.at(PAST, marks.closure()).unwrap());
        }
        pools[0].shutdown();
        let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        let finished: u64 = pools.iter().map(|pool| assert_all_settled(pool).finished).sum();
        assert_eq!(finished as usize, accepted + 2);
        assert_eq!((marks.runs(), marks.drops()), (accepted + 2, 10));
    });
}

/// The leader takes a queued task that waits for due ones: somebody else moves and runs them.
#[test]
fn a_due_task_is_waited_for() {
    explore(|| {
        let pool = builder(2).spare_threads(0).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        let (give, take) = shuttle::sync::mpsc::channel();
        pool.execute(move || assert_eq!(take.recv(), Ok(7))).unwrap();
        let other = pool.clone();
        let submitter = thread::spawn(move || drop(other.after(NOW, move || give.send(7).unwrap()).unwrap()));
        assert!(pool.wait_idle(Duration::MAX) || far.is_finished());
        submitter.join().unwrap();
        assert_eq!(far.cancel(), Cancel::Removed);
        assert_eq!(assert_all_settled(&pool).finished, 2);
    });
}

/// Workers that leave when they have nothing to do: somebody is there when a task comes due, and nobody stays for one that
/// was cancelled.
#[test]
fn retire_meets_a_timer() {
    explore(|| {
        let pool = builder(0)
            .max_threads(1)
            .keep_alive(Duration::ZERO)
            .build()
            .unwrap();
        let far = pool.after(HOUR, || 1).unwrap();
        let other = pool.clone();
        let submitter = thread::spawn(move || other.after(NOW, || 2).unwrap().join().unwrap());
        assert_eq!(far.cancel(), Cancel::Removed);
        assert_eq!(pool.after(NOW, || 3).unwrap().join().unwrap(), 3);
        assert_eq!(submitter.join().unwrap(), 2);
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.finished, stats.cancelled), (2, 1));
    });
}

/// The last owner goes inside a due task, while another is far away.
#[test]
fn owner_dropped_inside_a_due_task() {
    explore(|| {
        let pool = builder(1).build().unwrap();
        let far = pool.after(HOUR, || ()).unwrap();
        let inner = pool.clone();
        let near = pool.after(NOW, move || drop(inner)).unwrap();
        drop(pool);
        near.join().unwrap();
        assert!(far.join().unwrap_err().is_cancelled());
    });
}

/// A task waits for a delayed one: a spare, or the other worker, runs it.
#[test]
fn a_delayed_child_is_joined() {
    explore(|| {
        let pool = builder(1).spare_threads(1).build().unwrap();
        let inner = pool.clone();
        let parent = pool
            .submit(move || inner.after(NOW, || 7).unwrap().join().unwrap())
            .unwrap();
        assert_eq!(parent.join().unwrap(), 7);
        assert_eq!(assert_all_settled(&pool).finished, 2);
    });
}
