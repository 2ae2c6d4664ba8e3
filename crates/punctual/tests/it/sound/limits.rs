//! Limits that once were ignored: time limits, time-outs, idle moments, covered delays.

use crate::support::{LONG, assert_books_balance, counting_waker, hold, in_time, poll_once};
use punctual::task::Token;
use punctual::{
    AnyError, Clock, Executor, JoinError, ManualClock, Pool, Priority, Queue, Reject, future, task,
};
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// One worker and one blocking thread under a capacity of one place, which delayed tasks take too.
fn one_place(reject: Reject) -> Pool {
    Pool::builder("one place")
        .core_threads(1)
        .max_threads(1)
        .blocking_threads(1)
        .queue(Queue::priority(1))
        .on_full(reject)
        .capacity_covers_delayed(true)
        .build()
        .unwrap()
}

/// Either the waiting task goes, and the delayed one has its place; or the delayed one comes back. There is one place.
#[test]
fn a_delayed_task_of_the_blocking_threads_never_gets_a_place_that_there_is_not() {
    for reject in [Reject::EvictLower, Reject::DiscardOldest] {
        let pool = one_place(reject);
        let blocking = pool.blocking().unwrap();
        let _held = (hold(&blocking), hold(&pool));
        let low = blocking.task(|| ()).priority(Priority::LOW).submit().unwrap();
        assert_eq!(pool.stats().occupied, 1);
        let delayed = blocking.task(|| ()).priority(Priority::URGENT).after(HOUR);
        assert_eq!(delayed.is_ok(), low.is_finished(), "one of them has the place");
        assert_eq!(pool.stats().occupied, 1);
        pool.pause();
        let others = (0..5).filter_map(|_| pool.task(|| ()).priority(Priority::LOW).submit().ok());
        let others: Vec<_> = others.collect();
        assert_eq!(pool.stats().occupied, 1, "{others:?}");
        assert_books_balance(&pool.stats());
    }
}

/// Of the pool's own queue the less urgent one goes, as for a delayed task of the pool itself.
#[test]
fn a_delayed_task_of_the_blocking_threads_evicts_a_less_urgent_one_of_the_pool() {
    let pool = one_place(Reject::EvictLower);
    let blocking = pool.blocking().unwrap();
    let held = (hold(&blocking), hold(&pool));
    let low = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    let refused = blocking.task(|| ()).priority(Priority::LOW).after(HOUR);
    assert!(refused.is_err_and(|refused| refused.is_full()), "no less urgent");
    let delayed = blocking
        .task(|| ())
        .priority(Priority::URGENT)
        .after(HOUR)
        .unwrap();
    assert!(low.join().unwrap_err().is_evicted());
    assert_eq!(pool.stats().occupied, 1);
    let _ = delayed.cancel();
    assert_eq!(pool.stats().occupied, 0);
    drop(held);
    assert!(pool.close().terminated);
    assert_books_balance(&pool.stats());
}
