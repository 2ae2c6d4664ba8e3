//! Decorators that do not run what they are put round.

use crate::support::in_time;
use punctual::{Clock, Pool, Schedule};
use std::future::poll_fn;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
use std::time::Duration;

/// A future run that is woken and then left out by a decorator is not polled again: it ends, and so the schedule goes on.
#[test]
fn a_future_run_that_a_decorator_leaves_out_in_the_middle_ends() {
    in_time(|| {
        let clock = Clock::manual();
        let polls = AtomicUsize::new(0);
        let pool = Pool::builder("decorated")
            .core_threads(1)
            .clock(&clock)
            .decorate(
                || (),
                move |(), run| {
                    // The first run: its second poll is left out.
                    if polls.fetch_add(1, SeqCst) != 1 {
                        run();
                    }
                },
            )
            .build()
            .expect("valid settings");
        let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
        let runs = Arc::new(AtomicUsize::new(0));
        let (left, begun) = (waker.clone(), runs.clone());
        let plan = Schedule::every(Duration::from_secs(1)).times(2);
        let schedule = pool
            .schedule_future(plan, move |_| {
                let is_first = begun.fetch_add(1, SeqCst) == 0;
                let left = left.clone();
                poll_fn(move |context| {
                    if is_first {
                        *left.lock().expect("not poisoned") = Some(context.waker().clone());
                        return Poll::Pending;
                    }
                    Poll::Ready(())
                })
            })
            .expect("room, and open");
        clock.advance(Duration::ZERO);
        // Kept: a future that nothing could wake any more would be dropped.
        let waker = waker.lock().expect("not poisoned").take();
        waker
            .as_ref()
            .expect("the first run has been polled")
            .wake_by_ref();
        clock.advance(Duration::from_secs(1));
        schedule.wait();
        assert_eq!(runs.load(SeqCst), 2);
        assert!(pool.close().terminated);
    });
}
