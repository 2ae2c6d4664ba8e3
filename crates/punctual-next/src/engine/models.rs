//! Models of the whole engine: submitters, workers that sleep and search, and the end of a pool.

use super::Engine;
use crate::sync::Arc;
use crate::{Capacity, Pool, Reject};
use loom::sync::atomic::AtomicUsize;
use loom::sync::atomic::Ordering::SeqCst;

fn model(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(f);
}

/// Without an owner: until the threads are gone, which a model must wait for.
fn await_end(engine: &Engine) {
    assert!(engine.lifecycle.await_termination(None));
    for thread in engine.threads.take_handles() {
        thread.join().unwrap();
    }
}

#[test]
fn a_push_wakes_a_sleeper() {
    model(2, || {
        let pool = Pool::fixed(1).unwrap();
        // The worker is started by the first, and is on its way to sleep, asleep or searching when the second comes.
        let first = pool.submit(|| 1).unwrap();
        let second = pool.submit(|| 2).unwrap();
        assert_eq!(first.join().unwrap() + second.join().unwrap(), 3);
        assert!(pool.close());
    });
}

/// Two tasks that wait for each other need two workers: if the first task's worker does not wake the other one, neither ends.
#[test]
fn the_last_searcher_passes_the_word_on() {
    model(1, || {
        let pool = Pool::fixed(2).unwrap();
        let met = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let met = met.clone();
                pool.submit(move || {
                    met.fetch_add(1, SeqCst);
                    while met.load(SeqCst) < 2 {
                        loom::thread::yield_now();
                    }
                })
                .unwrap()
            })
            .collect();
        for task in tasks {
            task.join().unwrap();
        }
        assert!(pool.close());
    });
}

#[test]
fn a_close_meets_a_submission() {
    model(2, || {
        let pool = Pool::fixed(1).unwrap();
        let closer = pool.clone();
        let thread = loom::thread::spawn(move || closer.close());
        let submitted = pool.submit(|| 7);
        if let Ok(task) = submitted {
            assert_eq!(task.join().unwrap(), 7);
        }
        assert!(thread.join().unwrap());
        assert!(pool.close());
    });
}

#[test]
fn the_last_owner_goes_while_a_task_waits() {
    model(2, || {
        let pool = Pool::fixed(1).unwrap();
        let engine = pool.engine().clone();
        let task = pool.submit(|| 7).unwrap();
        drop(pool);
        assert_eq!(task.join().unwrap(), 7);
        await_end(&engine);
    });
}

/// Each task is run, or given back and run here: once, whichever of stop and the worker comes first.
#[test]
fn a_stop_meets_a_worker() {
    model(2, || {
        let pool = Pool::fixed(1).unwrap();
        let runs = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let runs = runs.clone();
                pool.submit(move || runs.fetch_add(1, SeqCst)).unwrap()
            })
            .collect();
        let unrun = pool.stop();
        let returned = unrun.len();
        unrun.into_iter().for_each(|task| task.run().unwrap());
        let finished = tasks.into_iter().filter_map(|task| task.join().ok()).count();
        assert!(pool.close());
        assert_eq!((finished + returned, runs.load(SeqCst)), (2, 2));
    });
}

/// A submitter that waits for room gets what a worker frees: if a grant is lost, it waits for ever, which loom reports.
#[test]
fn a_submitter_in_line_is_granted_room() {
    model(2, || {
        let pool = full_blocks();
        let tasks: Vec<_> = (0..3).map(|n| pool.submit(move || n).unwrap()).collect();
        assert_eq!(
            tasks.into_iter().map(|task| task.join().unwrap()).sum::<usize>(),
            3
        );
        assert!(pool.close());
    });
}

/// A submitter in line is granted a place or sent away, whichever of close and worker comes first.
#[test]
fn a_close_meets_a_submitter_in_line() {
    model(1, || {
        let pool = full_blocks();
        let first: Vec<_> = (0..2).filter_map(|n| pool.submit(move || n).ok()).collect();
        let closer = pool.clone();
        let thread = loom::thread::spawn(move || closer.shutdown());
        let last = pool.submit(|| 7);
        thread.join().unwrap();
        for task in first {
            task.join().unwrap();
        }
        if let Ok(last) = last {
            assert_eq!(last.join().unwrap(), 7);
        }
        assert!(pool.close());
    });
}

/// A worker that leaves for good while a task comes: the task starts another one, or this one stays.
#[test]
fn a_departure_meets_a_submission() {
    model(2, || {
        let builder = Pool::builder("model").core_threads(0).max_threads(1);
        let pool = builder.keep_alive(std::time::Duration::ZERO).build().unwrap();
        for n in 0..2 {
            assert_eq!(pool.submit(move || n).unwrap().join().unwrap(), n);
        }
        assert!(pool.close());
    });
}

/// One thread, room for one, and submitters that wait.
fn full_blocks() -> Pool {
    Pool::builder("model")
        .capacity(Capacity::Bounded(1))
        .on_full(Reject::Block(std::time::Duration::MAX))
        .build()
        .unwrap()
}
