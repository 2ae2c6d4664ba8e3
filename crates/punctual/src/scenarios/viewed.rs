//! Scenarios of views: limits and lanes against cancels, panics, disposals and the end of their pool.

use super::{Marks, assert_all_settled, explore};
use crate::{Pool, Queue};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::time::Duration;

fn pool(threads: usize) -> Pool {
    let builder = Pool::builder("scenario").core_threads(threads);
    builder.queue(Queue::unbounded()).build().unwrap()
}

/// Counts who is inside at once.
#[derive(Clone, Default)]
struct Inside(Arc<AtomicUsize>);

impl Inside {
    /// A task that panics, or not, and asserts that at most `limit` are inside.
    fn task(&self, limit: usize, panics: bool) -> impl FnOnce() + Send + use<> {
        let inside = self.0.clone();
        move || {
            let now = inside.fetch_add(1, SeqCst) + 1;
            thread::yield_now();
            inside.fetch_sub(1, SeqCst);
            assert!(now <= limit, "{now} at once");
            if panics {
                std::panic::resume_unwind(Box::new("as asked"));
            }
        }
    }
}

/// Two submitters, a canceller and panics in a limited view, and a pool that closes: all ends are there, no limit is
/// passed, nothing is stuck.
#[test]
fn limit_cancel_panic_close() {
    explore(|| {
        let pool = pool(2);
        let view = pool.limit(1).unwrap();
        let inside = Inside::default();
        let submitters: Vec<_> = (0..2)
            .map(|number| {
                let (view, inside) = (view.clone(), inside.clone());
                thread::spawn(move || {
                    let tasks: Vec<_> = (0..2)
                        .filter_map(|each| view.submit(inside.task(1, each == number)).ok())
                        .collect();
                    if let Some(first) = tasks.first() {
                        let _ = first.cancel();
                    }
                    for task in tasks {
                        let _ = task.join();
                    }
                })
            })
            .collect();
        pool.shutdown();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
        let stats = view.view_stats();
        assert_eq!((stats.queued, stats.active), (0, 0));
    });
}

/// The same in a lane inside a limit, against a stop: what stands in either line comes back.
#[test]
fn lane_in_a_limit_stop() {
    explore(|| {
        let pool = pool(2);
        let view = pool.limit(1).unwrap();
        let lanes = [view.lane(), view.lane()];
        let marks = Marks::default();
        let submitters: Vec<_> = lanes
            .iter()
            .map(|lane| {
                let (lane, marks) = (lane.clone(), marks.clone());
                let submit = move |_: &i32| {
                    let mark = marks.closure();
                    lane.execute(move || {
                        mark();
                    })
                    .is_ok()
                };
                thread::spawn(move || (0..2).filter(submit).count())
            })
            .collect();
        let returned = pool.stop().len();
        let accepted: usize = submitters.into_iter().map(|each| each.join().unwrap()).sum();
        assert!(pool.close().terminated);
        assert_eq!((marks.runs() + returned, marks.drops()), (accepted, 4));
        assert_all_settled(&pool.stats());
    });
}

/// A lane is disposed of while it works, another waits for its end, and both are cancelled into.
#[test]
fn dispose_close_cancel() {
    explore(|| {
        let pool = pool(2);
        let (lane, other) = (pool.lane(), pool.lane());
        let tasks = [lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap()];
        let others = [other.submit(|| ()).unwrap(), other.submit(|| ()).unwrap()];
        let closing = other.clone();
        let closer = thread::spawn(move || assert!(closing.close_timeout(Duration::MAX)));
        let disposing = lane.clone();
        let disposer = thread::spawn(move || disposing.dispose());
        let _ = others[0].cancel();
        let mut cancelled = 0;
        for task in tasks {
            cancelled += usize::from(task.join().is_err());
        }
        for task in others {
            let _ = task.join();
        }
        assert!(disposer.join().unwrap() <= cancelled);
        closer.join().unwrap();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

/// Keys that come and go under two submitters and somebody who sweeps: tasks of a key never overlap.
#[test]
fn keys_come_and_go() {
    explore(|| {
        let pool = pool(2);
        let inside = Inside::default();
        let sweeper = {
            let pool = pool.clone();
            thread::spawn(move || (0..3).for_each(|_| pool.engine().keys.sweep()))
        };
        let submitters: Vec<_> = (0..2)
            .map(|_| {
                let (pool, inside) = (pool.clone(), inside.clone());
                thread::spawn(move || {
                    for _ in 0..2 {
                        pool.keyed("key").execute(inside.task(1, false)).unwrap();
                    }
                })
            })
            .collect();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        sweeper.join().unwrap();
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_eq!((stats.finished, stats.panicked), (4, 0));
    });
}
