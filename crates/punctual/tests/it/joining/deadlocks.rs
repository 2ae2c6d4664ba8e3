//! Waits that could never end: told to exactly one, who is then no longer waited for in vain.

use super::pool_of;
use crate::life::{begun, running};
use crate::support::{LONG, assert_all_settled, hold, in_time, until};
use punctual::{Pool, TaskHandle};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};

/// What a task of a circle says about its join.
#[derive(Debug, PartialEq, Eq)]
enum Said {
    WouldDeadlock,
    Joined,
    /// Told to stop: its group was dropped.
    Interrupted,
}

fn join(handle: TaskHandle<()>) -> Said {
    match handle.join() {
        Ok(()) => Said::Joined,
        Err(error) if error.is_interrupted() => Said::Interrupted,
        Err(error) => {
            assert!(error.is_would_deadlock(), "{error}");
            Said::WouldDeadlock
        }
    }
}

/// `length` tasks, each of which joins the next, the last the first. All of them run before any of them joins.
fn circle(pool: &Pool, length: usize) -> Vec<Said> {
    let (tell, told) = channel();
    let all_run = Arc::new(Barrier::new(length));
    let mut handles = Vec::new();
    let mut others: Vec<Sender<TaskHandle<()>>> = Vec::new();
    for _ in 0..length {
        let (give, get): (_, Receiver<TaskHandle<()>>) = channel();
        let (tell, all_run) = (tell.clone(), all_run.clone());
        others.push(give);
        handles.push(
            pool.submit(move || {
                let next = get.recv().expect("it is sent below");
                all_run.wait();
                tell.send(join(next)).expect("the test waits for this");
            })
            .unwrap(),
        );
    }
    others.rotate_left(length - 1);
    for (give, handle) in others.into_iter().zip(handles) {
        // The n-th is joined by the one before it.
        give.send(handle).expect("the task waits for this");
    }
    heard(&told, length)
}

/// What so many tasks say.
fn heard(told: &Receiver<Said>, tasks: usize) -> Vec<Said> {
    (0..tasks)
        .map(|_| told.recv_timeout(LONG).expect("nobody hangs"))
        .collect()
}

fn assert_one_was_told(said: &[Said]) {
    let told = said.iter().filter(|said| **said == Said::WouldDeadlock).count();
    assert_eq!(told, 1, "{said:?}");
}

/// Of each of many circles of this length one is told, and nothing is left over.
fn assert_circles_are_told(pool: &Pool, length: usize) {
    for _ in 0..20 {
        assert_one_was_told(&circle(pool, length));
    }
    assert!(pool.wait_idle(LONG));
    assert_all_settled(&pool.stats());
}

#[test]
fn fault_09_a_task_that_joins_itself_is_told() {
    let pool = pool_of(2, 2);
    let (give, get) = channel::<TaskHandle<bool>>();
    let (tell, told) = channel();
    let myself = pool
        .submit(move || {
            let mut me = get.recv().expect("it is sent below");
            me.wait();
            assert!(!me.is_finished());
            assert!(!me.wait_timeout(LONG), "no need to wait for that long");
            tell.send(me.join_timeout(LONG).unwrap_err().is_would_deadlock())
                .expect("the test waits for this");
            me.join().unwrap_err().is_would_deadlock()
        })
        .unwrap();
    let reference = myself.task_ref();
    give.send(myself).expect("the task waits for this");
    assert!(told.recv_timeout(LONG).expect("nobody hangs"));
    until("it ends", || reference.status() == punctual::Status::Finished);
}

#[test]
fn fault_09_a_task_that_joins_the_one_it_runs_inside_of_is_told() {
    let pool = pool_of(1, 1);
    let own = pool.clone();
    let (give, get) = channel::<TaskHandle<()>>();
    let (tell, told) = channel();
    let outer = pool
        .submit(move || {
            let child = own
                .submit(move || {
                    let outer = get.recv().expect("it is sent below");
                    join(outer)
                })
                .unwrap();
            tell.send(child.join().unwrap()).expect("the test waits for this");
        })
        .unwrap();
    give.send(outer).expect("the task waits for this");
    assert_eq!(heard(&told, 1), [Said::WouldDeadlock]);
}

#[test]
fn fault_09_of_two_that_join_each_other_one_is_told() {
    for (threads, spares) in [(2, 0), (2, 2), (4, 0), (4, 4)] {
        assert_circles_are_told(&pool_of(threads, spares), 2);
    }
}

#[test]
fn fault_09_of_three_in_a_circle_one_is_told() {
    for (threads, spares) in [(3, 0), (3, 2), (5, 0), (5, 5)] {
        assert_circles_are_told(&pool_of(threads, spares), 3);
    }
}

#[test]
fn fault_09_a_circle_is_seen_through_an_in_place_run() {
    // The first runs the second in place, which joins the third, which joins the first. One more is idle.
    let pool = pool_of(3, 0);
    let own = pool.clone();
    let (give_third, get_third) = channel::<TaskHandle<()>>();
    let (give_first, get_first) = channel::<TaskHandle<()>>();
    let (tell, told) = channel();
    let (begin, begun) = channel::<()>();
    let (is_in_place, in_place) = channel::<()>();
    let tell_third = tell.clone();
    let third = pool
        .submit(move || {
            let first = get_first.recv().expect("it is sent below");
            begin.send(()).expect("the second waits for this");
            tell_third.send(join(first)).expect("the test waits for this");
        })
        .unwrap();
    let held = hold(&pool);
    let first = pool
        .submit(move || {
            let second = own
                .submit(move || {
                    is_in_place.send(()).expect("the test waits for this");
                    begun.recv().expect("the third has begun");
                    join(get_third.recv().expect("it is sent below"))
                })
                .unwrap();
            tell.send(second.join().unwrap())
                .expect("the test waits for this");
        })
        .unwrap();
    // Before that the third would run the first in place.
    in_place.recv().expect("the second runs");
    give_third.send(third).expect("the second waits for this");
    give_first.send(first).expect("the third waits for this");
    assert_one_was_told(&heard(&told, 2));
    drop(held);
}

#[test]
fn fault_09_a_circle_is_seen_through_a_group() {
    // One waits for the only task of its group, and that one for the first. With and without an idle worker.
    for threads in [2, 3] {
        let pool = pool_of(threads, 0);
        let own = pool.clone();
        let (give, get) = channel::<TaskHandle<()>>();
        let (tell, told) = channel();
        let (begin, begun) = channel::<()>();
        let tell_inner = tell.clone();
        let outer = pool
            .submit(move || {
                let mut group = own.group();
                group
                    .submit(move || {
                        begin.send(()).expect("the outer one waits for this");
                        tell_inner
                            .send(join(get.recv().expect("it is sent below")))
                            .expect("the test waits for this");
                    })
                    .unwrap();
                begun.recv().expect("so it is not run in place");
                let said = match group.next().unwrap().1 {
                    Ok(()) => Said::Joined,
                    Err(error) if error.is_would_deadlock() => Said::WouldDeadlock,
                    Err(error) => panic!("{error}"),
                };
                tell.send(said).expect("the test waits for this");
            })
            .unwrap();
        give.send(outer).expect("the inner one waits for this");
        assert_one_was_told(&heard(&told, 2));
    }
}

#[test]
fn fault_09_a_scoped_task_that_joins_the_one_whose_brace_waits_for_it_is_told() {
    for threads in [2, 3] {
        let pool = pool_of(threads, 0);
        let own = pool.clone();
        let (give, get) = channel::<TaskHandle<()>>();
        let (tell, told) = channel();
        let (begin, begun) = channel::<()>();
        let outer = pool
            .submit(move || {
                own.scope(|s| {
                    s.execute(move || {
                        begin.send(()).expect("the outer one waits for this");
                        tell.send(join(get.recv().expect("it is sent below")))
                            .expect("the test waits for this");
                    });
                    begun.recv().expect("so it is not run in place");
                });
            })
            .unwrap();
        give.send(outer).expect("the inner one waits for this");
        assert_eq!(heard(&told, 1), [Said::WouldDeadlock]);
    }
}

#[test]
fn fault_09_when_all_wait_and_no_spare_is_left_everything_still_ends() {
    let pool = pool_of(2, 0);
    for _ in 0..50 {
        assert_one_was_told(&circle(&pool, 2));
        assert_eq!(
            pool.submit(|| 7).unwrap().join().unwrap(),
            7,
            "and the pool goes on"
        );
    }
    assert_eq!(pool.stats().largest, 2);
}

#[test]
fn a_wait_that_is_over_is_not_taken_for_one_that_never_ends() {
    // One waits for the gate's task; when that ends, its worker takes a task that joins the first, which may not
    // have got up yet. That is no circle.
    let pool = pool_of(2, 0);
    for _ in 0..200 {
        let (gate, open) = running(&pool, ());
        let first = begun(&pool, move || join(gate));
        let last = pool.submit(move || first.join()).unwrap();
        drop(open);
        let first = in_time(|| last.join().unwrap());
        assert_eq!(first.expect("it was about to go on"), Said::Joined);
    }
}

#[test]
fn workers_that_wait_for_the_same_task_wait_in_vain_for_nobody() {
    let pool = pool_of(3, 0);
    let (task, open) = running(&pool, ());
    let task = Arc::new(task);
    let waiters = [task.clone(), task.clone()].map(|task| {
        pool.submit(move || {
            task.wait();
            task.is_finished()
        })
        .unwrap()
    });
    until("they run", || pool.stats().active == 3);
    drop(open);
    for waiter in waiters {
        assert!(in_time(|| waiter.join().unwrap()));
    }
}
