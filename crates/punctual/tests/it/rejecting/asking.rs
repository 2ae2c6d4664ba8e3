//! Rules of the user's own.

use super::{AGES, Full, counting, fill, refused, small, with_queue};
use crate::life::{pool_on, settle};
use crate::support::{Dropped, LONG, assert_all_settled, assert_books_balance, hold, quiet_panic};
use punctual::{Answer, Clock, Pool, Queue, Reason, Reject, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a rule was told: the task's name, and how full the pool was.
type Asked = Arc<Mutex<Vec<(Option<String>, [usize; 3])>>>;

/// A rule that writes down what it is asked and always says the same.
fn always(answer: Answer) -> (Reject, Asked) {
    let asked = Asked::default();
    let notes = asked.clone();
    let rule = Reject::custom(move |refusal| {
        let Reason::Full {
            queued,
            capacity,
            threads,
        } = refusal.reason
        else {
            panic!("asked about {:?}", refusal.reason);
        };
        let name = refusal.task.name.map(str::to_owned);
        notes.lock().unwrap().push((name, [*queued, *capacity, *threads]));
        answer
    });
    (rule, asked)
}

fn full(reject: Reject) -> Full {
    fill(small(reject).build().unwrap())
}

#[test]
fn rej_02_a_rule_is_asked_once_per_refused_task_with_its_facts() {
    let (rule, asked) = always(Answer::Abort);
    let full = full(rule);
    let before = full.pool.stats();
    let runs = Arc::new(AtomicUsize::new(0));
    refused(full.pool.execute(counting(&runs)));
    refused(full.pool.submit(counting(&runs)));
    refused(full.pool.task(counting(&runs)).name("report").submit());
    refused(full.pool.task(counting(&runs)).name("mail").execute());
    refused(full.pool.group().submit(counting(&runs)));

    let names = asked.lock().unwrap().clone();
    let expected = [None, None, Some("report"), Some("mail"), None];
    assert_eq!(
        names,
        expected.map(|name| (name.map(str::to_owned), [1, 1, 1])),
        "in order, once each"
    );
    let after = full.pool.stats();
    assert_eq!(
        (after.submitted, after.finished, after.queued),
        (before.submitted, before.finished, before.queued)
    );
    assert_eq!(after.rejected.full, 5);
}

#[test]
fn rej_02_a_rule_is_told_which_closure_it_is() {
    let types = Arc::new(Mutex::new(Vec::new()));
    let seen = types.clone();
    let full = full(Reject::custom(move |refusal| {
        seen.lock().unwrap().push(refusal.task.type_name);
        Answer::Abort
    }));
    refused(full.pool.execute(|| ()));
    refused(full.pool.submit(|| 1));
    for name in &*types.lock().unwrap() {
        assert!(
            name.contains("rej_02_a_rule_is_told_which_closure_it_is"),
            "{name}"
        );
    }
    assert_eq!(types.lock().unwrap().len(), 2);
}

#[test]
fn rej_02_a_rule_is_asked_for_each_task_of_a_batch_that_does_not_fit() {
    let (rule, asked) = always(Answer::Discard);
    let pool = with_queue(Queue::bounded(2), rule);
    let held = hold(&pool);
    let runs = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<_> = (0..7).map(|_| counting(&runs)).collect();
    assert_eq!(pool.execute_all(jobs).unwrap(), 7);
    assert_eq!(asked.lock().unwrap().len(), 5);
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.rejected.discarded), (2, 5));
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(runs.load(SeqCst), 2);
    assert_all_settled(&pool.stats());
}

#[test]
fn rej_02_a_rule_is_not_asked_while_there_is_room() {
    let (rule, asked) = always(Answer::Abort);
    let pool = small(rule).build().unwrap();
    for _ in 0..100 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    assert!(asked.lock().unwrap().is_empty());
}

#[test]
fn rej_02_a_rule_is_not_asked_after_shutdown() {
    let (rule, asked) = always(Answer::CallerRuns);
    let full = full(rule);
    full.pool.shutdown();
    let runs = Arc::new(AtomicUsize::new(0));
    assert!(matches!(
        refused(full.pool.submit(counting(&runs))),
        Reason::ShutDown
    ));
    assert!(asked.lock().unwrap().is_empty());
    assert_eq!(
        full.pool.stats().hook_panics,
        0,
        "this rule panics when it is asked about anything else"
    );
}

#[test]
fn rej_02_every_answer_is_followed() {
    let here = std::thread::current().id();
    let (rule, _) = always(Answer::CallerRuns);
    let caller_runs = full(rule);
    let ran_at = caller_runs.pool.submit(|| std::thread::current().id()).unwrap();
    assert_eq!(ran_at.join().unwrap(), here);
    assert_eq!(caller_runs.pool.stats().rejected.caller_ran, 1);

    let (rule, _) = always(Answer::Discard);
    let discard = full(rule);
    let dropped = discard.pool.submit(|| ()).unwrap();
    assert!(dropped.join().unwrap_err().is_rejected());
    assert_eq!(discard.pool.stats().rejected.discarded, 1);

    let (rule, asked) = always(Answer::DiscardOldest);
    let oldest = full(rule);
    let newest = oldest.pool.submit(|| "newest").unwrap();
    assert!(oldest.queued.join().unwrap_err().is_evicted());
    drop(oldest.held);
    assert_eq!(newest.join().unwrap(), "newest");
    assert_eq!(asked.lock().unwrap().len(), 1, "not again when it is tried again");

    let (rule, _) = always(Answer::Abort);
    let abort = full(rule);
    assert!(abort.pool.submit(|| ()).unwrap_err().is_full());
}

#[test]
fn rej_02_the_answer_to_wait_is_kept_to_its_limit_and_not_asked_again() {
    const LIMIT: Duration = Duration::from_secs(3);
    let clock = Clock::manual();
    let (rule, asked) = always(Answer::Wait(LIMIT));
    let pool = small(rule).clock(&clock).build().unwrap();
    let busy = pool.submit(|| _ = task::sleep(AGES)).unwrap();
    settle(&clock);
    let queued = pool.submit(|| ()).unwrap();
    let (waits_at, other) = (pool.clone(), pool_on(&clock, 1));
    let waits = other
        .submit(move || waits_at.submit(|| ()).map(drop).map_err(|back| back.is_full()))
        .unwrap();
    clock.advance(LIMIT - Duration::from_nanos(1));
    assert!(!waits.is_finished());
    clock.advance(Duration::from_nanos(1));
    assert_eq!(waits.join().unwrap(), Err(true));
    assert_eq!(asked.lock().unwrap().len(), 1);
    let _ = busy.cancel();
    queued.join().unwrap();
}

#[test]
fn rej_02_a_rule_that_panics_gives_the_task_back_and_is_counted() {
    let full = full(Reject::custom(|_| quiet_panic("a rule")));
    let (runs, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let kept = Dropped(drops.clone());
    let job = counting(&runs);
    let back = full
        .pool
        .submit(move || {
            job();
            drop(kept);
        })
        .unwrap_err();
    assert!(back.is_full());
    assert_eq!(drops.load(SeqCst), 0, "it came back whole");
    back.into_task()();
    refused(full.pool.execute(counting(&runs)));
    assert_eq!(runs.load(SeqCst), 2);
    let stats = full.pool.stats();
    assert_eq!((stats.hook_panics, stats.rejected.full), (2, 2));
    assert_books_balance(&stats);
    drop(full.held);
    assert_eq!(full.queued.join().unwrap(), "queued");
}

#[test]
fn rej_02_a_rule_may_use_its_pool_and_even_replace_itself() {
    let own: Arc<Mutex<Option<Pool>>> = Arc::default();
    let inside = own.clone();
    let full = full(Reject::custom(move |_| {
        let pool = inside
            .lock()
            .unwrap()
            .clone()
            .expect("set before the pool was full");
        assert_eq!(pool.stats().queued, 1);
        pool.set_reject(Reject::Discard);
        // Asked again, this one would never end.
        assert!(pool.submit(|| ()).unwrap().join().unwrap_err().is_rejected());
        Answer::Abort
    }));
    *own.lock().unwrap() = Some(full.pool.clone());
    assert!(
        full.pool.execute(|| ()).unwrap_err().is_full(),
        "the rule that was asked answers"
    );
    full.pool.execute(|| ()).unwrap();
    let stats = full.pool.stats();
    assert_eq!((stats.rejected.full, stats.rejected.discarded), (1, 2));
    assert_eq!(stats.hook_panics, 0);
    // A pool in its own rule would never be dropped.
    *own.lock().unwrap() = None;
}

#[test]
fn rej_02_a_rule_is_dropped_when_another_takes_its_place() {
    let drops = Arc::new(AtomicUsize::new(0));
    let rule = || {
        let kept = Dropped(drops.clone());
        Reject::custom(move |_| {
            let _ = &kept;
            Answer::Abort
        })
    };
    let full = full(rule());
    full.pool.set_reject(rule());
    assert_eq!(drops.load(SeqCst), 1, "the builder's");
    full.pool.set_reject(Reject::Abort);
    assert_eq!(drops.load(SeqCst), 2, "the one that was set later");
}
