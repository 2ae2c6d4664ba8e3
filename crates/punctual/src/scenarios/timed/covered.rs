//! Permits that delayed tasks hold.

use super::{HOUR, Marks, NOW, assert_all_settled, builder, explore};
use crate::{Cancel, Pool, Queue, Reject};
use shuttle::thread;
use std::time::Duration;

/// One thread, and room for one task, due or not. Whoever finds it taken waits.
fn narrow() -> Pool {
    builder(1)
        .queue(Queue::bounded(1))
        .capacity_covers_delayed(true)
        .on_full(Reject::Block(Duration::MAX))
        .build()
        .unwrap()
}

/// Submitters of tasks with these delays, each on a thread of its own.
fn submitters<R: Send + 'static>(
    pool: &Pool,
    delays: [Duration; 3],
    submit: impl Fn(&Pool, Duration) -> R + Clone + Send + 'static,
) -> Vec<thread::JoinHandle<R>> {
    let start = |delay| {
        let (pool, submit) = (pool.clone(), submit.clone());
        thread::spawn(move || submit(&pool, delay))
    };
    delays.map(start).into()
}

/// Permits that delayed tasks hold come back by a cancel, by a run, or by a stop: whoever waits for one gets it.
#[test]
fn covered_cancel_wait() {
    explore(|| {
        let pool = narrow();
        let marks = Marks::default();
        let theirs = marks.clone();
        let submitters = submitters(&pool, [HOUR, NOW, NOW], move |pool, delay| {
            let task = pool.after(delay, theirs.closure()).unwrap();
            if delay == HOUR {
                assert_eq!(task.cancel(), Cancel::Removed);
            }
            task.join().is_ok()
        });
        let queued = pool.submit(marks.closure()).unwrap();
        assert!(queued.join().is_ok());
        let ran = submitters
            .into_iter()
            .filter_map(|each| each.join().unwrap().then_some(()));
        assert_eq!(ran.count(), 2);
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.submitted, stats.cancelled), (4, 1));
        assert_eq!((marks.runs(), marks.drops()), (3, 4));
    });
}

/// The same with a stop: each submission is accepted and resolved, or refused.
#[test]
fn covered_stop() {
    explore(|| {
        let pool = narrow();
        let marks = Marks::default();
        let theirs = marks.clone();
        let submitters = submitters(&pool, [HOUR, NOW, HOUR], move |pool, delay| {
            match pool.after(delay, theirs.closure()) {
                Ok(task) => drop(task.join()),
                Err(refused) => assert!(refused.is_shutdown()),
            }
        });
        let unrun = pool.stop();
        for submitter in submitters {
            submitter.join().unwrap();
        }
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.returned, unrun.len() as u64);
        drop(unrun);
        assert_eq!(marks.drops(), 3);
    });
}
