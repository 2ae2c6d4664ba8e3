//! In-place runs: the same thread, but in everything else a run like any other.

use super::{assert_sums, builder_of, pool_of};
use crate::hooking::{CONTEXT, carrying_context};
use crate::support::{LONG, assert_all_settled, in_time, on_worker, quiet_panic, until};
use punctual::{Cancel, Outcome, Queue, Status, TaskHandle, task};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

#[test]
fn join_runs_a_queued_task_on_the_joining_thread() {
    let pool = pool_of(1, 0);
    let same_thread = on_worker(&pool, |own| {
        let child = own.submit(|| thread::current().id()).unwrap();
        child.join().unwrap() == thread::current().id()
    });
    assert!(same_thread);
    assert_eq!(pool.stats().threads_started, 1);
}

#[test]
fn join_of_a_queued_task_runs_it_in_place_although_others_could_have_come_first() {
    // A worker is idle, or will be: the joiner does not wait for it if the task is still there. Held, so it is.
    let pool = pool_of(2, 0);
    let held = crate::support::hold(&pool);
    let same_thread = on_worker(&pool, |own| {
        let child = own.submit(|| thread::current().id()).unwrap();
        child.join().unwrap() == thread::current().id()
    });
    assert!(same_thread);
    drop(held);
}

#[test]
fn wait_runs_a_queued_task_in_place_too() {
    let pool = pool_of(1, 0);
    let same_thread = on_worker(&pool, |own| {
        let child = own.submit(|| thread::current().id()).unwrap();
        child.wait();
        assert!(child.is_finished());
        child.join().unwrap() == thread::current().id()
    });
    assert!(same_thread);
}

#[test]
fn the_current_task_is_the_child_and_afterwards_the_parent_again() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let parent = pool
        .task(move || {
            let before = task::current().unwrap();
            let child = own
                .task(|| task::current().unwrap())
                .name("child")
                .submit()
                .unwrap();
            let child_id = child.task_ref().id();
            let inside = child.join().unwrap();
            assert_eq!((inside.id(), inside.name()), (child_id, Some("child")));
            let after = task::current().unwrap();
            assert_eq!((after.id(), after.name()), (before.id(), Some("parent")));
            after.id()
        })
        .name("parent")
        .submit()
        .unwrap();
    let id = parent.task_ref().id();
    assert_eq!(parent.join().unwrap(), id);
}

#[test]
fn hooks_and_decorators_go_round_an_in_place_run() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let (before, after) = (log.clone(), log.clone());
    let pool = carrying_context(builder_of(1, 0))
        .before_task(move |task| before.lock().unwrap().push(format!("before {}", task.label())))
        .after_task(move |task, outcome| {
            assert!(matches!(outcome, Outcome::Finished));
            after.lock().unwrap().push(format!("after {}", task.label()));
        })
        .build()
        .unwrap();
    let (own, inner) = (pool.clone(), log.clone());
    CONTEXT.set("the test's");
    let parent = pool
        .task(move || {
            assert_eq!(CONTEXT.replace("the parent's"), "the test's");
            let child = own
                .task(move || inner.lock().unwrap().push(format!("in {}", CONTEXT.get())))
                .name("child")
                .submit()
                .unwrap();
            CONTEXT.set("something else");
            child.join().unwrap();
            CONTEXT.get()
        })
        .name("parent")
        .submit()
        .unwrap();
    assert_eq!(
        parent.join().unwrap(),
        "something else",
        "restored by the decorator"
    );
    assert!(pool.close().terminated);
    assert_eq!(
        *log.lock().unwrap(),
        [
            "before parent",
            "before child",
            "in the parent's",
            "after child",
            "after parent"
        ]
    );
}

#[test]
fn a_task_that_runs_in_place_has_a_token_of_its_own() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let (tell, told) = channel();
    let parent = pool
        .submit(move || {
            let child = own
                .submit(|| task::sleep(LONG).expect_err("told to stop"))
                .unwrap();
            tell.send(child.task_ref()).expect("the test waits for this");
            let error = child.join().unwrap_err();
            let own = task::current().unwrap().token();
            (error.is_cancelled(), own.is_cancelled())
        })
        .unwrap();
    let child = told.recv().expect("the parent sends it");
    until("the child runs", || child.status() == Status::Running);
    assert_eq!(child.cancel(), Cancel::Signalled);
    assert_eq!(in_time(|| parent.join().unwrap()), (true, false));
    assert!(pool.close().terminated);
    assert_eq!((pool.stats().cancelled, pool.stats().finished), (1, 1));
}

#[test]
fn the_permit_is_free_while_the_task_runs_in_place() {
    let pool = builder_of(1, 0).queue(Queue::bounded(1)).build().unwrap();
    let was_free = on_worker(&pool, |own| {
        let inner = own.clone();
        let child = own
            .submit(move || inner.execute(|| ()).is_ok())
            .expect("the only place");
        assert!(own.execute(|| ()).unwrap_err().is_full());
        child.join().unwrap()
    });
    assert!(was_free, "the child's place was free");
}

#[test]
fn the_counts_are_exact_in_the_middle_of_an_in_place_run() {
    let pool = pool_of(1, 0);
    let (before, inside, after) = on_worker(&pool, |own| {
        own.execute(|| ()).unwrap();
        let inner = own.clone();
        let child = own.submit(move || inner.stats()).unwrap();
        let before = own.stats();
        let inside = child.join().unwrap();
        (before, inside, own.stats())
    });
    for stats in [&before, &inside, &after] {
        assert_sums(stats);
        assert_eq!((stats.submitted, stats.threads, stats.idle), (3, 1, 0));
    }
    assert_eq!((before.queued, before.active, before.finished), (2, 1, 0));
    assert_eq!((inside.queued, inside.active, inside.finished), (1, 2, 0));
    assert_eq!((after.queued, after.active, after.finished), (1, 1, 1));
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
    assert_eq!((pool.stats().taken, pool.stats().finished), (3, 3));
}

#[test]
fn an_idle_worker_is_idle_although_another_is_in_the_middle_of_two_tasks() {
    let pool = pool_of(2, 0);
    let held = crate::support::hold(&pool);
    let own = pool.clone();
    let (tell, told) = channel();
    let (open, gate) = channel::<()>();
    let parent = pool
        .submit(move || {
            let child = own
                .submit(move || {
                    tell.send(()).expect("the test waits for this");
                    let _ = gate.recv();
                })
                .unwrap();
            child.join().unwrap();
        })
        .unwrap();
    told.recv().expect("the child runs in place");
    drop(held);
    until("the other worker has nothing to do", || pool.stats().active == 2);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.idle), (2, 1), "{stats:?}");
    drop(open);
    parent.join().unwrap();
}

#[test]
fn the_order_of_the_others_is_untouched() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let order = Arc::new(Mutex::new(Vec::new()));
    let note = {
        let order = order.clone();
        move |n: u32| {
            let order = order.clone();
            move || order.lock().unwrap().push(n)
        }
    };
    let parent = pool
        .submit(move || {
            let tasks: Vec<TaskHandle<()>> = (0..6).map(|n| own.submit(note(n)).unwrap()).collect();
            let mut tasks: Vec<Option<_>> = tasks.into_iter().map(Some).collect();
            for taken in [3, 1] {
                tasks[taken].take().unwrap().join().unwrap();
            }
        })
        .unwrap();
    in_time(|| parent.join().unwrap());
    assert!(pool.close().terminated);
    assert_eq!(*order.lock().unwrap(), [3, 1, 0, 2, 4, 5]);
}

#[test]
fn a_panic_stays_in_the_task_that_runs_in_place() {
    let failures = Arc::new(Mutex::new(0));
    let count = failures.clone();
    let pool = builder_of(1, 0)
        .on_failure(move |_, _| *count.lock().unwrap() += 1)
        .build()
        .unwrap();
    let text = on_worker(&pool, |own| {
        let child: TaskHandle<()> = own.submit(|| quiet_panic("no luck")).unwrap();
        let error = child.join().unwrap_err();
        *error.into_panic().unwrap().downcast::<&str>().unwrap()
    });
    assert_eq!(text, "no luck");
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.finished, stats.threads_started), (1, 1, 1));
    assert_eq!(*failures.lock().unwrap(), 0, "it was read");
}

#[test]
fn a_child_that_was_cancelled_before_is_not_run() {
    let pool = pool_of(1, 0);
    on_worker(&pool, |own| {
        let child = own.submit(|| quiet_panic("it was cancelled")).unwrap();
        assert_eq!(child.cancel(), Cancel::Removed);
        let () = child
            .join()
            .map_err(|error| assert!(error.is_cancelled()))
            .unwrap_err();
    });
}

#[test]
fn what_a_child_returns_is_dropped_once_however_it_was_run() {
    let drops = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let pool = pool_of(1, 0);
    let (own, count) = (pool.clone(), drops.clone());
    let parent = pool
        .submit(move || {
            for _ in 0..10 {
                let value = crate::support::Dropped(count.clone());
                drop(own.submit(move || value).unwrap().join().unwrap());
            }
        })
        .unwrap();
    in_time(|| parent.join().unwrap());
    assert_eq!(drops.load(std::sync::atomic::Ordering::SeqCst), 10);
}
