//! Scenarios of deques: local tasks against thieves, cancels, pauses, resizes, and the end of their pool.

use super::{Marks, assert_all_settled, explore};
use crate::{Capacity, Pool, Queue, task};
use shuttle::thread;

fn pool(threads: usize, capacity: Capacity) -> Pool {
    let builder = Pool::builder("scenario").core_threads(threads);
    builder.queue(Queue::stealing(capacity)).build().unwrap()
}

/// Submits so many tasks from inside one, of which the first is cancelled; how many were accepted.
fn fork(pool: &Pool, marks: &Marks, tasks: usize) -> Option<crate::TaskHandle<usize>> {
    let marks = marks.clone();
    let parent = move || {
        let Some(pool) = task::current_executor() else {
            return 0;
        };
        let tasks: Vec<_> = (0..tasks)
            .filter_map(|_| pool.submit(marks.closure()).ok())
            .collect();
        if let Some(first) = tasks.first() {
            let _ = first.cancel();
        }
        tasks.len()
    };
    pool.submit(parent).ok()
}

/// Two forking tasks, thieves, a cancel each, and a close.
#[test]
fn fork_cancel_close() {
    explore(|| {
        let pool = pool(2, Capacity::Unbounded);
        let marks = Marks::default();
        let parents: Vec<_> = (0..2).filter_map(|_| fork(&pool, &marks, 3)).collect();
        let closer = {
            let pool = pool.clone();
            thread::spawn(move || _ = pool.close())
        };
        let accepted: usize = parents.into_iter().map(|parent| parent.join().unwrap()).sum();
        closer.join().unwrap();
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!(stats.submitted as usize, accepted + 2);
        assert!(marks.runs() <= accepted && marks.drops() >= accepted);
    });
}

/// A stop meets a worker that submits: each task is refused, given back, or run, and the pool ends.
#[test]
fn fork_stop() {
    explore(|| {
        let pool = pool(2, Capacity::Unbounded);
        let marks = Marks::default();
        let parent = fork(&pool, &marks, 3);
        let unrun = pool.stop();
        drop((unrun, parent));
        let _ = pool.close();
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert!(marks.drops() >= marks.runs());
    });
}

/// A pool that is made smaller while its workers have tasks of their own, and paused and resumed meanwhile.
#[test]
fn fork_resize_pause() {
    explore(|| {
        let pool = pool(2, Capacity::Unbounded);
        let marks = Marks::default();
        let parents: Vec<_> = (0..2).filter_map(|_| fork(&pool, &marks, 2)).collect();
        let other = {
            let pool = pool.clone();
            thread::spawn(move || {
                pool.pause();
                let taken = pool.stats().taken;
                thread::yield_now();
                assert_eq!(pool.stats().taken, taken, "nothing is taken from a paused pool");
                pool.resize(1, 1).unwrap();
                pool.resume();
            })
        };
        for parent in parents {
            parent.join().unwrap();
        }
        other.join().unwrap();
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}

/// A bound: local and outside submissions, one of which waits in line.
#[test]
fn fork_bounded_line() {
    explore(|| {
        let pool = pool(1, Capacity::Bounded(1));
        let marks = Marks::default();
        let parent = fork(&pool, &marks, 2);
        let outside = {
            let (pool, marks) = (pool.clone(), marks.clone());
            let limit = std::time::Duration::from_secs(3600);
            thread::spawn(move || {
                let task = pool.submit_timeout(limit, marks.closure()).ok()?;
                task.join().ok()
            })
        };
        if let Some(parent) = parent {
            parent.join().unwrap();
        }
        outside.join().unwrap().expect("room comes, and it runs");
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}

/// Fork and join, and a close in the middle of it: there is always a value.
#[test]
fn join_close() {
    explore(|| {
        let pool = pool(2, Capacity::Unbounded);
        let own = pool.clone();
        let parent = pool
            .submit(move || {
                let inner = || own.join(|| 1, || 2);
                let ((a, b), c) = own.join(inner, || 3);
                a + b + c
            })
            .unwrap();
        pool.shutdown();
        assert_eq!(parent.join().unwrap(), 6);
        let _ = pool.close();
        assert_all_settled(&pool.stats());
    });
}
