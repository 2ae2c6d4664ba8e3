//! Scopes on pools that are full, closed, paused, stopping, or somebody else's.

use super::{builder, narrow};
use crate::support::{Dropped, LONG, assert_all_settled, hold, in_time, on_worker, single, until};
use punctual::{Pool, Queue};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn scope_waits_for_room_outside() {
    let pool = narrow(1, 1);
    let held = hold(&pool);
    let submitted = AtomicUsize::new(0);
    thread::scope(|threads| {
        let caller = threads.spawn(|| {
            let runs = AtomicUsize::new(0);
            pool.scope(|s| {
                for _ in 0..10 {
                    s.execute(|| {
                        runs.fetch_add(1, Relaxed);
                    });
                    submitted.fetch_add(1, SeqCst);
                }
            });
            runs.into_inner()
        });
        until("one waits", || pool.stats().queued == 1);
        assert!(submitted.load(SeqCst) <= 1, "the second waits for room");
        drop(held);
        assert_eq!(caller.join().unwrap(), 10);
    });
    let rejected = pool.stats().rejected;
    assert_eq!((rejected.full, rejected.caller_ran), (0, 0));
}

#[test]
fn scope_in_a_worker_of_a_full_pool_runs_its_tasks_itself() {
    let pool = narrow(1, 1);
    let answer = on_worker(&pool, |own| {
        own.execute(|| ()).expect("the only place");
        let (me, mut ids) = (thread::current().id(), [None; 3]);
        own.scope(|s| {
            for id in &mut ids {
                s.submit(move || *id = Some(thread::current().id()))
                    .join()
                    .unwrap();
            }
        });
        (ids == [Some(me); 3], own.stats().rejected.caller_ran)
    });
    assert_eq!(answer, (true, 3));
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn scope_task_that_submits_to_a_full_pool_runs_it_itself() {
    let pool = narrow(1, 1);
    let runs = AtomicUsize::new(0);
    thread::scope(|threads| {
        let caller = threads.spawn(|| {
            pool.scope(|s| {
                s.execute(|| {
                    for _ in 0..5 {
                        s.execute(|| {
                            runs.fetch_add(1, Relaxed);
                        });
                    }
                });
            });
        });
        caller.join().unwrap();
    });
    assert_eq!(runs.into_inner(), 5);
}

#[test]
fn scope_after_shutdown_runs_its_tasks_itself() {
    let pool = single();
    pool.shutdown();
    let (me, mut ids) = (thread::current().id(), [None; 2]);
    let value = pool.scope(|s| {
        let [first, second] = &mut ids;
        s.execute(|| *first = Some(thread::current().id()));
        s.submit(|| {
            *second = Some(thread::current().id());
            7
        })
        .join()
        .unwrap()
    });
    assert_eq!((value, ids), (7, [Some(me); 2]));
    assert_eq!(pool.stats().submitted, 0);
    assert!(pool.close().terminated);
}

#[test]
fn scope_after_shutdown_contains_panics_as_ever() {
    let pool = single();
    pool.shutdown();
    let text = super::panic_of(|| pool.scope(|s| s.execute(|| crate::support::quiet_panic("no luck"))));
    assert_eq!(text, "no luck");
}

#[test]
fn scope_on_a_paused_pool_waits_until_it_is_resumed() {
    let pool = single();
    pool.pause();
    let mut done = false;
    thread::scope(|threads| {
        let caller = threads.spawn(|| pool.scope(|s| s.execute(|| done = true)));
        until("it waits", || pool.stats().queued == 1);
        assert!(!caller.is_finished());
        pool.resume();
        caller.join().unwrap();
    });
    assert!(done);
}

#[test]
fn scope_in_a_worker_of_a_paused_pool_ends() {
    let pool = builder(1).build().unwrap();
    let done = on_worker(&pool, |own| {
        own.pause();
        let mut done = false;
        own.scope(|s| s.execute(|| done = true));
        own.resume();
        done
    });
    assert!(done);
}

#[test]
fn scope_tasks_are_cancelled_by_stop_and_never_given_out_and_the_brace_waits_for_what_runs() {
    let pool = single();
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    let (ended, drops) = (AtomicBool::new(false), Arc::new(AtomicUsize::new(0)));
    thread::scope(|threads| {
        let (pool, ended, drops) = (&pool, &ended, &drops);
        let caller = threads.spawn(move || {
            pool.scope(|s| {
                s.execute(move || {
                    begin.send(()).expect("the test waits for this");
                    let _ = gate.recv();
                    ended.store(true, SeqCst);
                });
                let captured = Dropped(drops.clone());
                let queued = s.submit(move || drop(captured));
                queued.join().unwrap_err().is_cancelled()
            })
        });
        begun.recv().expect("the first runs");
        pool.execute(|| ()).unwrap();
        until("the second waits", || pool.stats().queued == 2);
        let unrun = pool.stop();
        assert_eq!(unrun.len(), 1, "only the one that does not borrow");
        assert_eq!(drops.load(SeqCst), 1);
        assert!(!caller.is_finished(), "the first still runs");
        drop(open);
        assert!(caller.join().unwrap());
        assert!(ended.load(SeqCst));
    });
    assert!(pool.await_termination(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.cancelled, stats.returned), (1, 1, 1));
}

#[test]
fn scope_on_another_pool_does_not_run_in_place() {
    let (pool, other) = (builder(1).build().unwrap(), builder(1).build().unwrap());
    let caller = pool
        .submit(move || {
            let mut id = None;
            other.scope(|s| s.execute(|| id = Some(thread::current().id())));
            id.is_some_and(|id| id != thread::current().id())
        })
        .unwrap();
    assert!(in_time(|| caller.join().unwrap()));
}

#[test]
fn scope_on_a_pool_without_a_queue_waits_for_a_free_hand() {
    let pool = Pool::builder("handoff")
        .core_threads(1)
        .queue(Queue::handoff())
        .build()
        .unwrap();
    let runs = AtomicUsize::new(0);
    pool.scope(|s| {
        for _ in 0..20 {
            s.execute(|| {
                runs.fetch_add(1, Relaxed);
            });
        }
    });
    assert_eq!(runs.into_inner(), 20);
}

#[test]
fn scope_brace_runs_a_child_that_a_child_left_behind() {
    // The other worker is held; a child in place submits another and ends: the brace must run that one too.
    let pool = builder(2).build().unwrap();
    let held = hold(&pool);
    let runs = on_worker(&pool, |own| {
        let runs = AtomicUsize::new(0);
        own.scope(|s| {
            s.execute(|| {
                s.execute(|| {
                    s.execute(|| {
                        runs.fetch_add(1, Relaxed);
                    })
                });
                runs.fetch_add(1, Relaxed);
            });
        });
        runs.into_inner()
    });
    assert_eq!(runs, 2);
    drop(held);
}

#[test]
fn scope_brace_runs_a_child_that_comes_while_it_sleeps() {
    // The child runs on the other worker, submits one more behind a task that ends only after the brace, and ends.
    let pool = builder(2).build().unwrap();
    assert_eq!(pool.prestart(), 2);
    let (after_brace, is_after_brace) = channel::<()>();
    let (begin, begun) = channel::<()>();
    let (go, gone) = channel::<()>();
    let done = on_worker(&pool, move |own| {
        let mut done = false;
        own.scope(|s| {
            let done = &mut done;
            let inner = own.clone();
            s.execute(move || {
                begin.send(()).expect("the scope waits for this");
                gone.recv().expect("the brace is near");
                inner
                    .execute(move || {
                        let _ = is_after_brace.recv();
                    })
                    .unwrap();
                s.execute(move || *done = true);
            });
            begun.recv().expect("the other worker has it");
            go.send(()).expect("the child waits for this");
        });
        drop(after_brace);
        done
    });
    assert!(done);
}
