//! Expiries and limits that are over at once.

use super::{HOUR, Marks, NOW, assert_all_settled, builder, explore};
use crate::task::{self, Token};
use crate::{Cancel, TaskHandle};
use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use shuttle::thread;
use std::time::Duration;

/// The end of patience, a worker, a canceller and a stop compete for the same tasks.
#[test]
fn expiry_claim_cancel_stop() {
    explore(|| {
        let pool = builder(1).spare_threads(1).build().unwrap();
        let marks = Marks::default();
        let tasks = [
            pool.task(marks.closure()).expires_in(NOW).submit(),
            pool.task(marks.closure()).expires_in(NOW).after(NOW),
            pool.task(marks.closure()).expires_in(HOUR).submit(),
            pool.task(marks.closure()).expires_in(NOW).after(HOUR),
        ]
        .map(Result::unwrap);
        let watchers = [0, 1, 2].map(|index: usize| tasks[index].task_ref());
        let canceller = thread::spawn(move || watchers.map(|task| task.cancel()));
        let unrun = pool.stop();
        let cancels = canceller.join().unwrap();
        let removed = cancels.iter().filter(|each| **each == Cancel::Removed).count();
        let joined = tasks.map(TaskHandle::join);
        let stats = assert_all_settled(&pool);
        let expired = joined.iter().flat_map(|each| each.as_ref().err());
        let expired = expired.filter(|error| error.is_expired()).count();
        assert_eq!(stats.expired, expired as u64);
        assert_eq!(stats.finished, joined.iter().flatten().count() as u64);
        assert_eq!(stats.returned, unrun.len() as u64);
        assert!(stats.cancelled >= removed as u64);
        drop(unrun);
        assert_eq!(marks.drops(), 4);
    });
}

/// All workers are at work for as long as the tasks behind them may wait: those expire in time.
#[test]
fn expiry_while_everybody_is_busy() {
    explore(|| {
        let pool = builder(2).spare_threads(1).build().unwrap();
        let token = Token::new();
        let (give, take) = shuttle::sync::mpsc::channel();
        for _ in 0..2 {
            let give = give.clone();
            let body = move || {
                give.send(()).unwrap();
                let _ = task::sleep(Duration::MAX);
            };
            pool.task(body).token(&token).execute().unwrap();
        }
        for _ in 0..2 {
            take.recv().unwrap();
        }
        let queued = pool.task(|| ()).expires_in(NOW).submit().unwrap();
        let due = pool.task(|| ()).expires_in(NOW).after(NOW).unwrap();
        assert!(queued.join().unwrap_err().is_expired());
        assert!(due.join().unwrap_err().is_expired());
        token.cancel();
        let stats = assert_all_settled(&pool);
        assert_eq!((stats.expired, stats.finished), (2, 2));
    });
}

/// Limits that are over at once: a task that listens is told although every worker is at work, one that ends meanwhile
/// keeps its result, and the pool closes.
#[test]
fn limit_end_close() {
    explore(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let pool = builder(2)
            .spare_threads(1)
            .slow_after(NOW)
            .on_slow(move |_, _| _ = count.fetch_add(1, SeqCst))
            .build()
            .unwrap();
        let endless = [(); 2].map(|()| {
            let body = || task::sleep(Duration::MAX).is_err();
            pool.task(body).time_limit(NOW).submit().unwrap()
        });
        let short = pool.task(|| 7).time_limit(NOW).submit().unwrap();
        let after = pool.task(|| 8).time_limit(HOUR).after(NOW).unwrap();
        assert!(pool.close().terminated);
        for task in endless {
            assert!(task.join().unwrap(), "told to stop");
        }
        assert_eq!((short.join().unwrap(), after.join().unwrap()), (7, 8));
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.finished, 4);
        assert!((2..=4).contains(&told.load(SeqCst)), "each at most once");
    });
}

/// The keeper has the only spare while a worker begins to wait: whichever of the two comes first, the task that is waited for runs.
#[test]
fn the_keeper_hands_its_spare_over() {
    explore(|| {
        let told = Arc::new(AtomicUsize::new(0));
        let count = told.clone();
        let pool = builder(1)
            .spare_threads(1)
            .keep_alive(NOW)
            .on_slow(move |_, _| _ = count.fetch_add(1, SeqCst))
            .build()
            .unwrap();
        let inner = pool.clone();
        let body = move || {
            let mut delayed = inner.after(NOW, || 7).unwrap();
            delayed.join_timeout(HOUR).expect("a thread comes for it")
        };
        let waiting = pool.task(body).slow_after(NOW).submit().unwrap();
        assert_eq!(waiting.join().unwrap(), 7);
        let stats = assert_all_settled(&pool);
        assert_eq!(stats.finished, 2);
        assert!(told.load(SeqCst) <= 1);
    });
}

/// A spare comes free while a limit waits for a thread that watches the clock.
#[test]
fn the_keeper_gets_the_spare_that_comes_free() {
    explore(|| {
        let (tell, told) = shuttle::sync::mpsc::channel();
        let (open, gate) = shuttle::sync::mpsc::channel::<()>();
        let tell = shuttle::sync::Mutex::new(tell);
        let pool = builder(1)
            .spare_threads(1)
            .on_slow(move |_, _| tell.lock().unwrap().send(()).unwrap())
            .build()
            .unwrap();
        let inner = pool.clone();
        let body = move || {
            let child = inner.spawn(async {}).unwrap();
            // Told that it would wait for ever, if the keeper has the spare.
            let _ = child.join();
            let _ = gate.recv();
        };
        let limited = pool.task(body).slow_after(NOW).submit().unwrap();
        told.recv().unwrap();
        drop(open);
        limited.join().unwrap();
        assert_all_settled(&pool);
    });
}
