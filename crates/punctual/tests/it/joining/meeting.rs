//! Joining where other things meet it: other pools, locks, closing, waiters outside.

use super::{builder_of, pool_of};
use crate::life::{begun, running, settle};
use crate::support::{LONG, assert_all_settled, block_on, hold, in_time, on_worker, until};
use punctual::{Clock, State, Status, task};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_task_of_another_pool_is_not_run_in_place() {
    let (pool, other) = (pool_of(1, 0), pool_of(1, 0));
    let held = hold(&other);
    let (tell, told) = channel();
    let joiner = pool
        .submit(move || {
            let child = other.submit(|| thread::current().id()).unwrap();
            tell.send(child.task_ref()).expect("the test waits for this");
            child.join().unwrap() != thread::current().id()
        })
        .unwrap();
    let child = told.recv().expect("it is sent");
    assert_eq!(child.status(), Status::Queued);
    drop(held);
    assert!(in_time(|| joiner.join().unwrap()));
}

#[test]
fn a_worker_that_waits_for_another_pool_is_stood_in_for() {
    let (pool, other) = (pool_of(1, 1), pool_of(1, 0));
    let (busy, open) = running(&other, 1);
    let waiter = pool.submit(move || busy.join().unwrap()).unwrap();
    let next = pool.submit(|| 7).unwrap();
    assert_eq!(in_time(|| next.join().unwrap()), 7);
    drop(open);
    assert_eq!(in_time(|| waiter.join().unwrap()), 1);
    until("the spare goes home", || pool.stats().threads == 1);
}

#[test]
fn all_workers_may_wait_for_another_pool() {
    // Nobody waits in a circle, so nobody is told so, whichever way they wait.
    let clock = Clock::manual();
    let pool = builder_of(3, 0).clock(&clock).build().unwrap();
    let other = builder_of(4, 0).clock(&clock).build().unwrap();
    let sleep = || task::sleep(HOUR);
    let join = {
        let other = other.clone();
        pool.submit(move || other.submit(sleep).unwrap().join().is_ok())
            .unwrap()
    };
    let group = {
        let other = other.clone();
        pool.submit(move || {
            let mut group = other.group();
            group.submit(sleep).unwrap();
            group.next().unwrap().1.is_ok()
        })
        .unwrap()
    };
    let scope = {
        let other = other.clone();
        pool.submit(move || other.scope(|s| s.submit(sleep).join().is_ok()))
            .unwrap()
    };
    settle(&clock);
    for waiter in [&join, &group, &scope] {
        assert!(!waiter.is_finished(), "it waits");
    }
    clock.advance(HOUR);
    for waiter in [join, group, scope] {
        assert!(waiter.join().unwrap());
    }
}

#[test]
fn a_join_inside_an_in_place_run_may_lead_to_another_pool_and_back() {
    let (pool, other) = (pool_of(1, 1), pool_of(1, 1));
    let (own, its) = (pool.clone(), other.clone());
    let first = pool
        .submit(move || {
            let back = own.clone();
            let second = own
                .submit(move || {
                    let third = its
                        .submit(move || back.submit(|| 1).unwrap().join().unwrap() + 1)
                        .unwrap();
                    third.join().unwrap() + 1
                })
                .unwrap();
            second.join().unwrap() + 1
        })
        .unwrap();
    assert_eq!(in_time(|| first.join().unwrap()), 4);
}

#[test]
fn fault_24_only_the_awaited_task_is_run_on_a_stack_that_holds_a_lock() {
    // The queue: one that wants the lock, then the child. Run on the parent's stack, the first would hang.
    let pool = pool_of(1, 0);
    let lock = Arc::new(Mutex::new(Vec::new()));
    let (outer, inner) = (lock.clone(), lock.clone());
    on_worker(&pool, move |own| {
        let mut guard = outer.lock().unwrap();
        own.execute(move || inner.lock().unwrap().push("unrelated"))
            .unwrap();
        let child = own.submit(|| "child").unwrap();
        guard.push(child.join().unwrap());
        guard.push("parent");
    });
    assert!(pool.close().terminated);
    assert_eq!(*lock.lock().unwrap(), ["child", "parent", "unrelated"]);
}

#[test]
fn fault_24_a_wait_for_a_running_task_runs_nothing_else_either() {
    for spares in [0, 1] {
        let pool = pool_of(2, spares);
        let (busy, open) = running(&pool, "busy");
        let lock = Arc::new(Mutex::new(Vec::new()));
        let (outer, inner, own) = (lock.clone(), lock.clone(), pool.clone());
        let (tell, told) = channel();
        let parent = pool
            .submit(move || {
                let mut guard = outer.lock().unwrap();
                // On a spare it waits for the lock; on this stack it would do so for ever.
                own.execute(move || inner.lock().unwrap().push("unrelated"))
                    .unwrap();
                tell.send(()).expect("the test waits for this");
                guard.push(busy.join().unwrap());
            })
            .unwrap();
        told.recv().expect("the parent holds the lock");
        drop(open);
        in_time(|| parent.join().unwrap());
        assert!(pool.close().terminated);
        assert_eq!(*lock.lock().unwrap(), ["busy", "unrelated"]);
    }
}

#[test]
fn a_pool_can_be_closed_from_a_task_that_runs_in_place() {
    let pool = pool_of(1, 0);
    let (closed, queued) = on_worker(&pool, |own| {
        let inner = own.clone();
        let child = own
            .submit(move || {
                let report = inner.close();
                (report.terminated, inner.state())
            })
            .unwrap();
        let queued = own.submit(|| 7).unwrap();
        (child.join().unwrap(), queued)
    });
    assert_eq!(closed, (false, State::Shutdown));
    assert_eq!(in_time(|| queued.join().unwrap()), 7, "what was accepted runs");
    assert!(pool.await_termination(LONG));
    assert_all_settled(&pool.stats());
}

#[test]
fn a_stop_from_a_task_that_runs_in_place_tells_all_that_the_thread_is_in_the_middle_of() {
    let pool = pool_of(1, 0);
    let (child, mine, queued) = on_worker(&pool, |own| {
        let mine = task::current().unwrap().token();
        let inner = own.clone();
        let child = own
            .submit(move || {
                let unrun = inner.stop();
                (unrun.len(), task::current().unwrap().token().is_cancelled())
            })
            .unwrap();
        let queued = own.submit(|| 7).unwrap();
        (child.join().unwrap(), mine.is_cancelled(), queued)
    });
    assert_eq!(child, (1, true));
    assert!(mine, "the parent's token too");
    assert!(queued.join().unwrap_err().is_cancelled());
    assert!(pool.await_termination(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.returned, stats.cancelled), (2, 1, 0));
}

#[test]
fn a_drain_from_a_task_that_runs_in_place_takes_the_others_out() {
    let pool = pool_of(1, 0);
    let drained = on_worker(&pool, |own| {
        let inner = own.clone();
        let child = own.submit(move || inner.drain().len()).unwrap();
        for _ in 0..3 {
            own.execute(|| ()).unwrap();
        }
        child.join().unwrap()
    });
    assert_eq!(drained, 3, "without the child itself");
    assert_eq!(pool.submit(|| 7).unwrap().join().unwrap(), 7);
}

#[test]
fn a_task_that_runs_in_place_counts_neither_itself_nor_its_parent_as_work() {
    let pool = pool_of(1, 0);
    let is_idle = on_worker(&pool, |own| {
        let inner = own.clone();
        own.submit(move || inner.wait_idle(LONG)).unwrap().join().unwrap()
    });
    assert!(is_idle);
}

#[test]
fn a_paused_pool_still_runs_in_place_what_a_running_task_waits_for() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let (open, gate) = channel::<()>();
    let parent = begun(&pool, move || {
        let _ = gate.recv();
        own.submit(|| 7).unwrap().join().unwrap()
    });
    pool.pause();
    drop(open);
    assert_eq!(in_time(|| parent.join().unwrap()), 7);
    pool.resume();
}

#[test]
fn a_manual_clock_drives_a_task_that_runs_in_place() {
    let clock = Clock::manual();
    let pool = builder_of(1, 0).clock(&clock).build().unwrap();
    let own = pool.clone();
    let parent = pool
        .submit(move || {
            let child = own.submit(|| task::sleep(HOUR)).unwrap();
            child.join().unwrap().unwrap();
            task::sleep(HOUR).unwrap();
        })
        .unwrap();
    clock.advance(2 * HOUR - Duration::from_nanos(1));
    assert!(!parent.is_finished());
    clock.advance(Duration::from_nanos(1));
    assert!(parent.is_finished());
    parent.join().unwrap();
}

#[test]
fn an_outside_thread_waits_for_what_a_worker_runs_in_place() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    let parent = pool
        .submit(move || {
            let child = own
                .submit(move || {
                    let _ = gate.recv();
                    thread::current().id()
                })
                .unwrap();
            let child = Arc::new(child);
            tell.send(child.clone()).expect("the test waits for this");
            child.wait();
            thread::current().id()
        })
        .unwrap();
    let child = told.recv().expect("it is sent");
    let reference = child.task_ref();
    until("it runs in place", || reference.status() == Status::Running);
    let about_to_wait = Arc::new(AtomicBool::new(false));
    let outside = {
        let (child, about_to_wait) = (child.clone(), about_to_wait.clone());
        thread::spawn(move || {
            about_to_wait.store(true, SeqCst);
            child.wait();
            child.is_finished()
        })
    };
    until("it waits, or nearly so", || about_to_wait.load(SeqCst));
    drop(open);
    assert!(in_time(|| outside.join().unwrap()));
    let parent = in_time(|| parent.join().unwrap());
    let child = Arc::into_inner(child).expect("both have let go");
    assert_eq!(child.join().unwrap(), parent);
}

#[test]
fn a_future_of_a_task_that_a_worker_runs_in_place_is_woken() {
    let pool = pool_of(1, 0);
    let own = pool.clone();
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    let group_reader = pool
        .submit(move || {
            // A group leaves its own waker; the task it gave out is seen through its reference.
            let mut group = own.group();
            let child = group
                .submit(move || {
                    let _ = gate.recv();
                    7
                })
                .unwrap();
            tell.send(child).expect("the test waits for this");
            group.next().unwrap().1.unwrap()
        })
        .unwrap();
    let child = told.recv().expect("it is sent");
    until("it runs in place", || child.status() == Status::Running);
    drop(open);
    assert_eq!(block_on(group_reader).unwrap(), 7);
}
