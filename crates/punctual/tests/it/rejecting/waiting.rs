//! The submitter waits for room, with a limit: `Reject::Block` and `submit_timeout`.

use super::{AGES, Still, counting, refused, small, still};
use crate::life::{pool_on, settle};
use crate::support::{LONG, assert_all_settled, assert_books_balance, in_time};
use punctual::{Answer, Pool, Reason, Reject, TaskHandle, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_nanos(1);

/// What became of a submission: the handle, or why not.
type Answered = Result<TaskHandle<u8>, Reason>;

/// Submits from a task of another pool on the same clock, and returns when that one has an answer or waits for it.
fn submitting(
    still: &Still,
    submit: impl FnOnce(&Pool) -> Answered + Send + 'static,
) -> TaskHandle<Answered> {
    // A pool of its own, that ends with its task.
    let other = Pool::builder("submitter")
        .core_threads(1)
        .clock(&still.clock)
        .on_drop(punctual::OnDrop::Detach)
        .build()
        .unwrap();
    let pool = still.pool.clone();
    let task = other.submit(move || submit(&pool)).unwrap();
    settle(&still.clock);
    task
}

fn by_policy(pool: &Pool) -> Answered {
    pool.submit(|| 7).map_err(|back| back.reason().clone())
}

fn within(limit: Duration) -> impl FnOnce(&Pool) -> Answered + Send {
    move |pool| {
        pool.submit_timeout(limit, || 7)
            .map_err(|back| back.reason().clone())
    }
}

#[test]
fn rej_block_a_submitter_waits_to_its_limit_and_gets_the_task_back() {
    let still = still(Reject::Block(LIMIT));
    let waits = submitting(&still, by_policy);
    still.clock.advance(LIMIT - MOMENT);
    assert!(!waits.is_finished(), "the limit has not come");
    let stats = still.pool.stats();
    assert_eq!(
        (stats.submitted, stats.queued, stats.rejected.full),
        (2, 1, 0),
        "it is outside"
    );
    still.clock.advance(MOMENT);
    assert!(matches!(waits.join().unwrap(), Err(Reason::Full { .. })));
    let stats = still.pool.stats();
    assert_eq!((stats.submitted, stats.rejected.full), (2, 1));
    assert_books_balance(&stats);
    still.let_go();
}

#[test]
fn rej_block_a_submitter_is_let_in_when_a_worker_makes_room() {
    let still = still(Reject::Block(LIMIT));
    let waits = submitting(&still, by_policy);
    assert!(!waits.is_finished());
    still.let_go();
    assert_eq!(waits.join().unwrap().unwrap().join().unwrap(), 7);
    assert!(still.pool.wait_idle(LONG));
    assert_all_settled(&still.pool.stats());
}

#[test]
fn rej_block_covers_every_form() {
    let still = still(Reject::Block(AGES));
    let runs = Arc::new(AtomicUsize::new(0));
    let (pool, other, counter) = (still.pool.clone(), pool_on(&still.clock, 1), runs.clone());
    let all = other
        .submit(move || {
            let job = || counting(&counter);
            pool.execute(job()).unwrap();
            pool.execute_all([job(), job(), job()]).unwrap();
            drop(pool.submit(job()).unwrap());
            pool.task(job()).name("named").execute().unwrap();
            drop(pool.task(job()).name("named").submit().unwrap());
            let mut group = pool.group();
            group.submit(job()).unwrap();
            group
        })
        .unwrap();
    settle(&still.clock);
    assert!(!all.is_finished());
    assert_eq!(runs.load(SeqCst), 0);
    still.let_go();
    all.join().unwrap().next().expect("one task").1.unwrap();
    assert!(still.pool.wait_idle(LONG));
    assert_eq!(runs.load(SeqCst), 8);
    let stats = still.pool.stats();
    assert_eq!(stats.rejected, Default::default());
    assert_all_settled(&stats);
}

#[test]
fn rej_block_a_cancel_a_removal_and_a_drain_make_room() {
    let free: [fn(&Still); 3] = [
        |still| _ = still.queued.cancel(),
        |still| assert!(still.queued.task_ref().remove()),
        |still| assert_eq!(still.pool.drain().len(), 1),
    ];
    for free in free {
        let still = still(Reject::Block(AGES));
        let waits = submitting(&still, by_policy);
        assert!(!waits.is_finished());
        free(&still);
        settle(&still.clock);
        assert!(waits.is_finished());
        let task = waits.join().unwrap().unwrap();
        assert_eq!(still.pool.stats().queued, 1);
        still.let_go();
        assert_eq!(task.join().unwrap(), 7);
    }
}

#[test]
fn rej_block_a_shutdown_wakes_the_submitter_and_the_task_comes_back() {
    let still = still(Reject::Block(AGES));
    let by_policy = submitting(&still, by_policy);
    let by_limit = submitting(&still, within(AGES));
    still.pool.shutdown();
    assert!(matches!(by_policy.join().unwrap(), Err(Reason::ShutDown)));
    assert!(matches!(by_limit.join().unwrap(), Err(Reason::ShutDown)));
    let stats = still.pool.stats();
    assert_eq!((stats.rejected.shutdown, stats.rejected.full), (2, 0));
    still.let_go();
    assert_eq!(still.queued.join().unwrap(), "queued");
    assert!(still.pool.await_termination(LONG));
}

#[test]
fn rej_block_a_stop_makes_no_room() {
    let still = still(Reject::Block(AGES));
    let waits = submitting(&still, by_policy);
    let unrun = still.pool.stop();
    assert_eq!(unrun.len(), 1, "what was queued, and not the one outside");
    assert!(matches!(waits.join().unwrap(), Err(Reason::ShutDown)));
    assert!(still.pool.await_termination(LONG));
    assert_all_settled(&still.pool.stats());
}

#[test]
fn rej_block_a_worker_of_the_full_pool_is_told_that_it_would_wait_for_itself() {
    in_time(|| {
        for policy in [Reject::Block(AGES), Reject::custom(|_| Answer::Wait(AGES))] {
            let pool = small(policy).build().unwrap();
            let own = pool.clone();
            let runs = Arc::new(AtomicUsize::new(0));
            let counter = runs.clone();
            let outer = pool.submit(move || {
                own.execute(|| ()).expect("one place is free");
                let job = || counting(&counter);
                [
                    refused(own.execute(job())),
                    refused(own.submit(job())),
                    refused(own.task(job()).name("named").submit()),
                    refused(own.submit_timeout(AGES, job())),
                    super::all_refused(own.execute_all([job()])),
                ]
            });
            for reason in outer.unwrap().join().unwrap() {
                assert!(matches!(reason, Reason::WouldDeadlock), "{reason:?}");
            }
            assert_eq!(runs.load(SeqCst), 5, "each came back");
            let rejected = pool.stats().rejected;
            assert_eq!((rejected.would_deadlock, rejected.full), (5, 0));
        }
    });
}

#[test]
fn rej_block_a_worker_is_let_in_while_there_is_room() {
    in_time(|| {
        let pool = small(Reject::Block(AGES)).build().unwrap();
        let own = pool.clone();
        let outer = pool.submit(move || own.submit(|| 5).unwrap());
        assert_eq!(outer.unwrap().join().unwrap().join().unwrap(), 5);
    });
}

#[test]
fn rej_block_a_worker_of_another_pool_may_wait() {
    let still = still(Reject::Block(AGES));
    let waits = submitting(&still, |pool| {
        assert!(task::current().is_some(), "in a task, but of another pool");
        by_policy(pool)
    });
    assert!(!waits.is_finished());
    still.let_go();
    assert_eq!(waits.join().unwrap().unwrap().join().unwrap(), 7);
}

#[test]
fn rej_block_a_waiting_task_that_is_asked_to_stop_gets_its_task_back() {
    let still = still(Reject::Block(AGES));
    let (told, was_told) = channel();
    let waits = submitting(&still, move |pool| {
        let answer = by_policy(pool);
        told.send(matches!(answer, Err(Reason::Full { .. }))).unwrap();
        answer
    });
    assert!(!waits.is_finished());
    let _ = waits.cancel();
    assert_eq!(was_told.recv_timeout(LONG), Ok(true));
    settle(&still.clock);
    // Its place in line is gone too.
    let _ = still.queued.cancel();
    still.pool.submit(|| ()).map(drop).unwrap();
    assert_books_balance(&still.pool.stats());
    still.let_go();
}

#[test]
fn rej_block_zero_does_not_wait_and_the_longest_limit_never_passes() {
    let still = still(Reject::Block(Duration::ZERO));
    assert!(still.pool.submit(|| ()).unwrap_err().is_full());
    assert!(
        still
            .pool
            .submit_timeout(Duration::ZERO, || ())
            .unwrap_err()
            .is_full()
    );
    still.pool.set_reject(Reject::Block(Duration::MAX));
    let by_policy = submitting(&still, by_policy);
    let by_limit = submitting(&still, within(Duration::MAX));
    still.clock.advance(AGES / 2);
    assert!(!by_policy.is_finished() && !by_limit.is_finished());
    still.let_go();
    assert!(by_policy.join().unwrap().is_ok() && by_limit.join().unwrap().is_ok());
}

#[test]
fn rej_timeout_a_limited_submission_waits_whatever_the_policy() {
    for policy in super::every_policy() {
        let still = still(policy.clone());
        let waits = submitting(&still, within(LIMIT));
        still.clock.advance(LIMIT - MOMENT);
        assert!(!waits.is_finished(), "{policy:?}");
        still.clock.advance(MOMENT);
        assert!(
            matches!(waits.join().unwrap(), Err(Reason::Full { .. })),
            "{policy:?}"
        );
        let served = submitting(&still, within(LIMIT));
        still.let_go();
        assert_eq!(served.join().unwrap().unwrap().join().unwrap(), 7, "{policy:?}");
        let stats = still.pool.stats();
        assert_eq!((stats.rejected.full, stats.evicted), (1, 0), "{policy:?}");
        assert_eq!((stats.rejected.discarded, stats.rejected.caller_ran), (0, 0));
        assert_eq!(still.queued.join().unwrap(), "queued", "{policy:?}");
    }
}

#[test]
fn rej_timeout_there_is_room_and_nobody_waits() {
    // The clock stands still: a wait would never end.
    let clock = punctual::Clock::manual();
    let pool = small(Reject::Abort).clock(&clock).build().unwrap();
    let task = pool.submit_timeout(Duration::ZERO, || 5).unwrap();
    assert_eq!(task.join().unwrap(), 5);
}
