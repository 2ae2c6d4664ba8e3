//! The submitting thread runs the task, the same way a worker would.

use super::{counting, fill, full, refused, small, with_queue};
use crate::support::{
    Dropped, LONG, assert_all_settled, assert_books_balance, hold, in_time, quiet_panic, until,
};
use punctual::{Outcome, Queue, Reason, Reject, Status, TaskHandle, task};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread::{self, ThreadId};

fn my_id() -> ThreadId {
    thread::current().id()
}

#[test]
fn rej_05_the_submitting_thread_has_run_the_task_when_every_form_returns() {
    let full = full(Reject::CallerRuns);
    let pool = &full.pool;
    let ran_at = Arc::new(Mutex::new(Vec::new()));
    let note = || {
        let ran_at = ran_at.clone();
        move || ran_at.lock().unwrap().push(my_id())
    };
    let count = || ran_at.lock().unwrap().len();
    pool.execute(note()).unwrap();
    assert_eq!(count(), 1, "execute");
    let (large, ballast) = (note(), [1_u8; 500]);
    pool.execute(move || {
        assert_eq!(ballast, [1; 500]);
        large();
    })
    .unwrap();
    assert_eq!(count(), 2, "execute, a large closure");
    assert_eq!(pool.execute_all((0..3).map(|_| note())).unwrap(), 3);
    assert_eq!(count(), 5, "execute_all");
    let task = pool.submit(note()).unwrap();
    assert!(task.is_finished() && count() == 6, "submit");
    task.join().unwrap();
    let task = pool.task(note()).name("named").submit().unwrap();
    assert_eq!(task.task_ref().status(), Status::Finished, "task.submit");
    pool.task(note()).name("named").execute().unwrap();
    assert_eq!(count(), 8, "task.execute");
    let mut group = pool.group();
    group.submit(note()).unwrap();
    group.next().expect("one task").1.unwrap();
    let ran_at = ran_at.lock().unwrap();
    assert_eq!(ran_at.len(), 9, "group.submit");
    assert!(ran_at.iter().all(|id| *id == my_id()), "{ran_at:?}");
    assert_eq!(pool.stats().rejected.caller_ran, 9);
}

#[test]
fn rej_05_a_caller_run_task_is_not_counted_as_accepted() {
    let full = full(Reject::CallerRuns);
    let looked = full.pool.clone();
    full.pool
        .execute(move || {
            let stats = looked.stats();
            assert_eq!(
                (stats.submitted, stats.active, stats.queued),
                (2, 1, 1),
                "{stats:?}"
            );
            assert_books_balance(&stats);
        })
        .unwrap();
    drop(full.pool.submit(|| quiet_panic("not counted either")).unwrap());
    let stats = full.pool.stats();
    assert_eq!((stats.submitted, stats.taken), (2, 1), "{stats:?}");
    assert_eq!((stats.finished, stats.panicked), (0, 0));
    assert_eq!((stats.rejected.caller_ran, stats.rejected.full), (2, 0));
    assert_books_balance(&stats);
    drop(full.held);
    assert!(full.pool.wait_idle(LONG));
    assert_all_settled(&full.pool.stats());
}

#[test]
fn rej_05_what_fits_of_a_batch_is_queued_and_the_caller_runs_the_rest() {
    let pool = with_queue(Queue::bounded(2), Reject::CallerRuns);
    let held = hold(&pool);
    let ran = Arc::new(Mutex::new(Vec::new()));
    let jobs = (0..5).map(|n| {
        let ran = ran.clone();
        move || ran.lock().unwrap().push((n, my_id()))
    });
    assert_eq!(pool.execute_all(jobs).unwrap(), 5);
    assert_eq!(*ran.lock().unwrap(), [2, 3, 4].map(|n| (n, my_id())));
    drop(held);
    assert!(pool.wait_idle(LONG));
    let ran = ran.lock().unwrap();
    assert_eq!((ran[3].0, ran[4].0), (0, 1));
    assert!(ran[3].1 != my_id() && ran[4].1 != my_id());
}

#[test]
fn rej_05_it_goes_through_hooks_and_decorators_as_on_a_worker() {
    let steps = Arc::new(Mutex::new(Vec::<String>::new()));
    let step = |what: &'static str| {
        let steps = steps.clone();
        move || steps.lock().unwrap().push(what.to_owned())
    };
    let (before, after) = (steps.clone(), steps.clone());
    let (capture, enter, leave) = (step("capture"), step("enter"), step("leave"));
    let pool = small(Reject::CallerRuns)
        .before_task(move |task| before.lock().unwrap().push(format!("before {:?}", task.name)))
        .after_task(move |task, outcome| {
            after
                .lock()
                .unwrap()
                .push(format!("after {:?} {outcome:?}", task.name));
        })
        .decorate(capture, move |(), run| {
            enter();
            run();
            leave();
        })
        .build()
        .unwrap();
    let full = fill(pool);
    let run_all = |name: Option<&'static str>, submit: &dyn Fn()| {
        steps.lock().unwrap().clear();
        submit();
        let expected = [
            "capture".to_owned(),
            format!("before {name:?}"),
            "enter".to_owned(),
            "body".to_owned(),
            "leave".to_owned(),
            format!("after {name:?} Finished"),
        ];
        assert_eq!(*steps.lock().unwrap(), expected);
    };
    run_all(None, &|| full.pool.execute(step("body")).unwrap());
    run_all(None, &|| _ = full.pool.execute_all([step("body")]).unwrap());
    run_all(None, &|| full.pool.submit(step("body")).unwrap().join().unwrap());
    run_all(Some("named"), &|| {
        full.pool.task(step("body")).name("named").execute().unwrap();
    });
}

#[test]
fn rej_05_a_caller_run_task_knows_who_it_is() {
    let full = full(Reject::CallerRuns);
    let token = task::Token::new();
    let seen = full
        .pool
        .task(|| {
            let me = task::current().expect("inside a task");
            assert!(!me.token().is_cancelled());
            let executor = task::current_executor().expect("the pool has an owner");
            (me.id(), me.name().map(str::to_owned), format!("{executor:?}"))
        })
        .name("guest")
        .token(&token)
        .submit()
        .unwrap();
    let id = seen.task_ref().id();
    let (own_id, name, executor) = seen.join().unwrap();
    assert_eq!((own_id, name.as_deref()), (id, Some("guest")));
    assert!(executor.contains("small"), "{executor}");
    assert!(task::current().is_none(), "and is gone when it has ended");
}

#[test]
fn rej_05_the_panic_of_a_caller_run_task_goes_to_its_handle_and_not_to_the_caller() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let (sink, hook) = (told.clone(), told.clone());
    let pool = small(Reject::CallerRuns)
        .on_failure(move |_, outcome| sink.lock().unwrap().push(format!("sink {outcome:?}")))
        .after_task(move |_, outcome| {
            if !matches!(outcome, Outcome::Finished) {
                hook.lock().unwrap().push(format!("hook {outcome:?}"));
            }
        })
        .build()
        .unwrap();
    let full = fill(pool);
    let take = || std::mem::take(&mut *told.lock().unwrap());

    let task: TaskHandle<()> = full.pool.submit(|| quiet_panic("kept")).unwrap();
    assert_eq!(task.task_ref().status(), Status::Panicked);
    let payload = task.join().unwrap_err().into_panic().unwrap();
    assert_eq!(payload.downcast_ref(), Some(&"kept"));
    assert_eq!(take(), ["hook Panicked(kept)"], "whoever joins has read it");

    drop(full.pool.submit(|| -> () { quiet_panic("unread") }).unwrap());
    assert_eq!(take(), ["hook Panicked(unread)", "sink Panicked(unread)"]);
    full.pool.execute(|| quiet_panic("forgotten")).unwrap();
    assert_eq!(take(), ["hook Panicked(forgotten)", "sink Panicked(forgotten)"]);
    full.pool
        .task(|| -> () { quiet_panic("named") })
        .name("n")
        .execute()
        .unwrap();
    assert_eq!(take(), ["hook Panicked(named)", "sink Panicked(named)"]);
    assert_eq!(full.pool.stats().panicked, 0, "they were not accepted");
}

#[test]
fn rej_05_stop_reaches_a_task_that_its_caller_runs() {
    in_time(|| {
        let full = full(Reject::CallerRuns);
        let (begun, has_begun) = channel();
        let pool = full.pool.clone();
        let caller = thread::spawn(move || {
            let task = pool.submit(move || {
                begun.send(()).expect("the test waits for this");
                task::sleep(LONG)
            });
            task.unwrap().join()
        });
        has_begun.recv().unwrap();
        assert_eq!(full.pool.stop().len(), 1);
        assert_eq!(
            caller.join().unwrap().unwrap(),
            Err(task::Cancelled),
            "the sleep was ended, and the handle has what the task returned"
        );
    });
}

#[test]
fn rej_05_a_token_reaches_a_task_that_its_caller_runs() {
    in_time(|| {
        let full = full(Reject::CallerRuns);
        let token = task::Token::new();
        let fired = token.clone();
        let (begun, has_begun) = channel();
        let firing = thread::spawn(move || {
            has_begun.recv().unwrap();
            fired.cancel();
        });
        let task = full.pool.task(move || {
            begun.send(()).expect("the other thread waits for this");
            task::sleep(LONG)
        });
        let task = task.token(&token).submit().unwrap();
        assert_eq!(task.join().unwrap(), Err(task::Cancelled));
        firing.join().unwrap();
    });
}

#[test]
fn rej_05_after_shutdown_the_drop_is_reported_and_nothing_runs() {
    // The JDK drops the task without a word.
    let full = full(Reject::CallerRuns);
    full.pool.shutdown();
    let (runs, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (job, kept) = (counting(&runs), Dropped(drops.clone()));
    let back = full
        .pool
        .execute(move || {
            job();
            drop(kept);
        })
        .unwrap_err();
    assert!(back.is_shutdown());
    assert_eq!((runs.load(SeqCst), drops.load(SeqCst)), (0, 0), "it came back");
    back.into_task()();
    assert!(matches!(
        refused(full.pool.submit(counting(&runs))),
        Reason::ShutDown
    ));
    let rejected = full.pool.stats().rejected;
    assert_eq!((rejected.shutdown, rejected.caller_ran), (2, 0));
}

#[test]
fn rej_05_a_worker_of_the_same_pool_is_a_caller_like_any_other() {
    in_time(|| {
        let pool = small(Reject::CallerRuns).build().unwrap();
        let own = pool.clone();
        let outer = pool.submit(move || {
            let queued = own.submit(|| ()).unwrap();
            let inner = own
                .submit(move || (my_id(), task::current().unwrap().id()))
                .unwrap();
            let id = inner.task_ref().id();
            let (ran_at, seen) = inner.join().unwrap();
            assert_eq!((ran_at, seen), (my_id(), id));
            assert_ne!(task::current().unwrap().id(), id, "this one again");
            queued
        });
        outer.unwrap().join().unwrap().join().unwrap();
        assert!(pool.wait_idle(LONG));
        let stats = pool.stats();
        assert_eq!((stats.rejected.caller_ran, stats.finished), (1, 2));
        assert_all_settled(&stats);
    });
}

#[test]
fn rej_05_callers_slow_down_and_nothing_is_lost() {
    const THREADS: usize = 4;
    const TASKS: usize = 500;
    let pool = small(Reject::CallerRuns).build().unwrap();
    let runs = Arc::new(AtomicUsize::new(0));
    let callers: Vec<_> = (0..THREADS)
        .map(|_| {
            let (pool, runs) = (pool.clone(), runs.clone());
            thread::spawn(move || {
                for _ in 0..TASKS {
                    pool.execute(counting(&runs)).unwrap();
                }
            })
        })
        .collect();
    for caller in callers {
        caller.join().unwrap();
    }
    until("all have run", || runs.load(SeqCst) == THREADS * TASKS);
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(
        stats.finished + stats.rejected.caller_ran,
        (THREADS * TASKS) as u64
    );
    assert_all_settled(&stats);
}
