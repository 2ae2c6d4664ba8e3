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
