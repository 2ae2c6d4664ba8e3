//! Futures that are always ready, or wake themselves: others get their turn all the same.
//!
//! One worker, a future that goes on until a task behind it in the queue has run, and a limit that only a hang exceeds.

use crate::support::{in_time, single};
use punctual::{Capacity, Pool, Queue, future, task};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// Makes a step again and again on the only worker of the pool, until a sibling that was submitted later has run.
fn goes_on_until_its_sibling_ran<F, Fut>(pool: Pool, step: F)
where
    F: Fn(&Pool) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send,
{
    let over = Arc::new(AtomicBool::new(false));
    let (asked, own) = (over.clone(), pool.clone());
    let looping = pool
        .spawn(async move {
            while !asked.load(SeqCst) {
                step(&own).await;
            }
        })
        .expect("accepted");
    let sibling = pool.submit(move || over.store(true, SeqCst)).expect("accepted");
    in_time(move || sibling.join()).expect("it gets its turn");
    in_time(move || looping.join()).expect("it saw that");
}

fn stealing() -> Pool {
    let builder = Pool::builder("steal").core_threads(1);
    builder
        .queue(Queue::stealing(Capacity::Unbounded))
        .build()
        .expect("valid")
}

#[test]
fn kot_17_a_future_that_yields_lets_its_queued_sibling_run() {
    goes_on_until_its_sibling_ran(single(), |_| future::yield_now());
}

/// Trap E63: the fair way, where a worker prefers its own.
#[test]
fn kot_17_a_future_that_yields_on_a_worker_that_steals_lets_its_sibling_run() {
    goes_on_until_its_sibling_ran(stealing(), |_| future::yield_now());
}

/// The same for a sibling in the deque of the worker, put there by the future itself.
#[test]
fn kot_17_a_future_that_yields_lets_the_tasks_of_its_worker_run() {
    let pool = stealing();
    let task = pool
        .spawn(async {
            let own = task::current_executor().expect("inside a task");
            let over = Arc::new(AtomicBool::new(false));
            let seen = over.clone();
            own.execute(move || over.store(true, SeqCst)).expect("accepted");
            while !seen.load(SeqCst) {
                future::yield_now().await;
            }
        })
        .expect("accepted");
    in_time(move || task.join()).expect("the other got its turn");
}

#[test]
fn a_future_that_awaits_what_is_always_ready_is_made_to_yield() {
    goes_on_until_its_sibling_ran(single(), |_| future::sleep(Duration::ZERO));
}

#[test]
fn a_future_that_awaits_a_token_that_has_fired_is_made_to_yield() {
    let token = task::Token::new();
    token.cancel();
    goes_on_until_its_sibling_ran(single(), move |_| token.cancelled());
}

#[test]
fn a_future_whose_timeouts_are_ready_at_once_is_made_to_yield() {
    goes_on_until_its_sibling_ran(single(), |_| async {
        let ready = future::timeout(Duration::from_secs(1), async { 7 }).await;
        assert_eq!(ready.expect("it was ready"), 7);
    });
}

/// In an unbounded queue there is always room: without a turn for others it would only grow.
#[test]
fn a_future_that_submits_where_there_is_always_room_is_made_to_yield() {
    goes_on_until_its_sibling_ran(single(), |pool| {
        let submission = pool.submit_async(|| ());
        async move { drop(submission.await.expect("accepted")) }
    });
}
