//! Tasks that come back in the error: from a full pool under Abort, and from an ended one under every policy.

use super::{AGES, all_refused, counting, every_policy, fill, full, refused, small, still};
use crate::life::pool_on;
use crate::support::{LONG, assert_all_settled, assert_books_balance, block_on, hold};
use punctual::{AnyError, Pool, Queue, Reason, Reject};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Offers a task in every form that does not wait for room; the reason of each refusal.
fn offer_all(pool: &Pool, runs: &Arc<AtomicUsize>) -> Vec<(&'static str, Reason)> {
    let job = || counting(runs);
    let large = {
        let (job, ballast) = (counting(runs), [7_u8; 500]);
        move || {
            job();
            assert_eq!(ballast, [7; 500]);
        }
    };
    vec![
        ("execute", refused(pool.execute(job()))),
        ("execute, a large closure", refused(pool.execute(large))),
        ("execute_all", all_refused(pool.execute_all([job()]))),
        ("submit", refused(pool.submit(job()))),
        ("task.submit", refused(pool.task(job()).name("named").submit())),
        ("task.execute", refused(pool.task(job()).name("named").execute())),
        (
            "submit_timeout",
            refused(pool.submit_timeout(Duration::ZERO, job())),
        ),
        ("group.submit", refused(pool.group().submit(job()))),
    ]
}

/// The other verbs, which wait for room; they refuse an ended pool too.
fn offer_patiently(pool: &Pool, runs: &Arc<AtomicUsize>) -> Vec<(&'static str, Reason)> {
    let job = || counting(runs);
    let any = pool.any([|| Ok::<(), ()>(())]);
    assert!(matches!(any, Err(AnyError::ShutDown)), "{any:?}");
    vec![
        ("submit_async", refused(block_on(pool.submit_async(job())))),
        ("all", all_refused(pool.all([job()]))),
        ("submit_timeout", refused(pool.submit_timeout(AGES, job()))),
    ]
}

#[test]
fn rej_01_a_full_pool_refuses_every_form_and_gives_the_task_back() {
    let runs = Arc::new(AtomicUsize::new(0));
    let full = full(Reject::Abort);
    let answers = offer_all(&full.pool, &runs);
    for (form, reason) in &answers {
        let Reason::Full {
            queued,
            capacity,
            threads,
        } = reason
        else {
            panic!("{form}: {reason:?}");
        };
        assert_eq!((*queued, *capacity, *threads), (1, 1, 1), "{form}");
    }
    assert_eq!(
        runs.load(SeqCst),
        answers.len(),
        "each came back, and was run by the test"
    );
    let stats = full.pool.stats();
    assert_eq!(stats.rejected.full, answers.len() as u64);
    assert_eq!(
        (stats.submitted, stats.queued, stats.active),
        (2, 1, 1),
        "{stats:?}"
    );
    assert_books_balance(&stats);
}

#[test]
fn rej_01_a_pool_that_is_shut_down_refuses_every_form_under_every_policy() {
    for policy in every_policy() {
        let runs = Arc::new(AtomicUsize::new(0));
        let full = full(policy.clone());
        full.pool.shutdown();
        let mut answers = offer_all(&full.pool, &runs);
        answers.extend(offer_patiently(&full.pool, &runs));
        for (form, reason) in &answers {
            assert!(
                matches!(reason, Reason::ShutDown),
                "{policy:?}, {form}: {reason:?}"
            );
        }
        assert_eq!(runs.load(SeqCst), answers.len(), "each came back");
        let stats = full.pool.stats();
        // And one of `any`, which has no way to give its tasks back.
        assert_eq!(stats.rejected.shutdown, answers.len() as u64 + 1, "{policy:?}");
        assert_eq!((stats.rejected.discarded, stats.rejected.caller_ran), (0, 0));
        drop(full.held);
        assert_eq!(full.queued.join().unwrap(), "queued", "what was accepted runs");
        assert!(full.pool.await_termination(LONG));
        assert_all_settled(&full.pool.stats());
    }
}

#[test]
fn rej_01_a_terminated_pool_refuses_every_form_under_every_policy() {
    for policy in every_policy() {
        let runs = Arc::new(AtomicUsize::new(0));
        let pool = small(policy.clone()).build().unwrap();
        pool.submit(|| ()).unwrap().join().unwrap();
        assert!(pool.close().terminated);
        let mut answers = offer_all(&pool, &runs);
        answers.extend(offer_patiently(&pool, &runs));
        for (form, reason) in &answers {
            assert!(
                matches!(reason, Reason::ShutDown),
                "{policy:?}, {form}: {reason:?}"
            );
        }
        assert_eq!(runs.load(SeqCst), answers.len(), "each came back");
    }
}

#[test]
fn rej_01_a_pool_without_a_thread_refuses_every_form_under_every_policy() {
    // No system gives a thread such a stack.
    for policy in every_policy() {
        let runs = Arc::new(AtomicUsize::new(0));
        let pool = small(policy.clone()).stack_size(1 << 60).build().unwrap();
        let answers = offer_all(&pool, &runs);
        for (form, reason) in &answers {
            assert!(
                matches!(reason, Reason::NoThread),
                "{policy:?}, {form}: {reason:?}"
            );
        }
        assert_eq!(runs.load(SeqCst), answers.len(), "each came back");
        let stats = pool.stats();
        assert_eq!(stats.rejected.no_thread, answers.len() as u64, "{policy:?}");
        assert_eq!((stats.submitted, stats.threads), (0, 0));
    }
}

#[test]
fn rej_03_the_default_policy_gives_the_task_back_and_never_runs_it() {
    let pool = Pool::builder("default")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .build()
        .unwrap();
    assert!(matches!(pool.reject(), Reject::Abort));
    let full = fill(pool);
    let runs = Arc::new(AtomicUsize::new(0));
    let back = full.pool.submit(counting(&runs)).unwrap_err();
    assert!(back.is_full() && !back.is_shutdown());
    drop(full.held);
    assert!(full.pool.wait_idle(LONG));
    assert_eq!(full.queued.join().unwrap(), "queued");
    assert_eq!(runs.load(SeqCst), 0, "the pool has let go of it");
    drop(back);
    assert_eq!(runs.load(SeqCst), 0);
    assert_all_settled(&full.pool.stats());
}

#[test]
fn rej_03_of_a_batch_the_prefix_that_fits_is_accepted_and_the_rest_comes_back_in_order() {
    let pool = Pool::builder("batch")
        .core_threads(1)
        .queue(Queue::bounded(3))
        .build()
        .unwrap();
    let held = hold(&pool);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let jobs = (0..600).map(|n| {
        let ran = ran.clone();
        move || ran.lock().unwrap().push(n)
    });
    let back = pool.execute_all(jobs).unwrap_err();
    assert!(back.is_full());
    let stats = pool.stats();
    assert_eq!(stats.queued, 3);
    assert_eq!(stats.rejected.full, 597, "each that came back is counted");
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(*ran.lock().unwrap(), [0, 1, 2]);
    for job in back.into_task() {
        job();
    }
    assert_eq!(
        *ran.lock().unwrap(),
        (0..600).collect::<Vec<_>>(),
        "all of the rest"
    );
    assert_all_settled(&pool.stats());
}

#[test]
fn rej_03_a_changed_policy_is_asked_from_the_next_task_on() {
    let full = full(Reject::Abort);
    let pool = &full.pool;
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    pool.set_reject(Reject::Discard);
    assert!(matches!(pool.reject(), Reject::Discard));
    assert!(pool.submit(|| ()).unwrap().join().unwrap_err().is_rejected());
    pool.set_reject(Reject::CallerRuns);
    let here = std::thread::current().id();
    let ran_at = pool.submit(|| std::thread::current().id()).unwrap();
    assert_eq!(ran_at.join().unwrap(), here);
    pool.set_reject(Reject::Block(Duration::ZERO));
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    pool.set_reject(Reject::DiscardOldest);
    let last = pool.submit(|| "last").unwrap();
    assert!(full.queued.join().unwrap_err().is_evicted());
    drop(full.held);
    assert_eq!(last.join().unwrap(), "last");
    let rejected = full.pool.stats().rejected;
    assert_eq!(
        (rejected.full, rejected.discarded, rejected.caller_ran),
        (2, 1, 1)
    );
}

#[test]
fn rej_03_whoever_waits_is_not_touched_by_a_changed_policy() {
    let still = still(Reject::Block(AGES));
    let (pool, other) = (still.pool.clone(), pool_on(&still.clock, 1));
    let waits = other.submit(move || pool.submit(|| "waited")).unwrap();
    crate::life::settle(&still.clock);
    still.pool.set_reject(Reject::Discard);
    crate::life::settle(&still.clock);
    assert!(!waits.is_finished());
    still.let_go();
    assert_eq!(waits.join().unwrap().unwrap().join().unwrap(), "waited");
}

#[test]
fn rej_08_a_queue_without_bounds_refuses_after_shutdown_only() {
    let pool = Pool::builder("unbounded")
        .core_threads(1)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let held = hold(&pool);
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..2_000 {
        pool.execute(counting(&runs)).unwrap();
    }
    assert_eq!(pool.stats().queued, 2_000);
    pool.shutdown();
    let refused_runs = Arc::new(AtomicUsize::new(0));
    for (form, reason) in offer_all(&pool, &refused_runs) {
        assert!(matches!(reason, Reason::ShutDown), "{form}: {reason:?}");
    }
    drop(held);
    assert!(pool.await_termination(LONG));
    assert_eq!(runs.load(SeqCst), 2_000);
}

#[test]
fn rej_08_the_error_says_what_was_full_and_what_helps() {
    let full = full(Reject::Abort);
    let error = full.pool.submit(|| ()).unwrap_err();
    let text = error.to_string();
    for part in ["1 of 1 places", "1 threads", "raise the capacity"] {
        assert!(text.contains(part), "{part} is not in {text}");
    }
    full.pool.shutdown();
    let text = full.pool.submit(|| ()).unwrap_err().to_string();
    assert!(text.contains("shut down"), "{text}");
}
