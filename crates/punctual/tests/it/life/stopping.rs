//! Ending a pool: what still runs, what comes back, who is told, and how long a wait for the end may take.

use super::{listening, pool_on, running, settle};
use crate::support::{LONG, hold, single};
use punctual::task::{self, Cancelled};
use punctual::{Cancel, Clock, Pool, State};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{TryRecvError, channel};
use std::thread;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(10);
const MOMENT: Duration = Duration::from_nanos(1);

#[test]
fn life_03_shutdown_lets_running_and_queued_tasks_finish() {
    let pool = Pool::fixed(2).expect("valid settings");
    let (first, open_first) = running(&pool, 1);
    let (second, open_second) = running(&pool, 2);
    let queued: Vec<_> = (3..6)
        .map(|n| pool.submit(move || n).expect("accepted"))
        .collect();

    pool.shutdown();
    assert!(pool.submit(|| 6).unwrap_err().is_shutdown());
    drop((open_first, open_second));

    assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 2));
    let values: Vec<i32> = queued.into_iter().map(|task| task.join().unwrap()).collect();
    assert_eq!(values, [3, 4, 5]);
    assert!(pool.await_termination(LONG));
}

#[test]
fn life_04_a_running_pool_is_not_awaited_for_less_or_more_than_the_limit() {
    let clock = Clock::manual();
    let (pool, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1));
    let subject = pool.clone();
    let waiter = watcher
        .submit(move || subject.await_termination(LIMIT))
        .expect("accepted");

    clock.advance(LIMIT - MOMENT);
    assert!(!waiter.is_finished(), "the limit has not come");
    clock.advance(MOMENT);
    assert!(waiter.is_finished(), "the limit has come");
    assert!(!waiter.join().unwrap());
    assert_eq!(pool.state(), State::Running, "waiting changes nothing");
}

#[test]
fn life_04_a_zero_limit_answers_at_once() {
    // The clock stands still: a wait that measured anything would never end.
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    assert!(!pool.await_termination(Duration::ZERO), "it runs");
    let held = hold(&pool);
    pool.shutdown();
    assert!(!pool.await_termination(Duration::ZERO), "a task still runs");
    drop(held);
}

#[test]
fn life_04_after_shutdown_the_end_is_reached() {
    let pool = single();
    let held = hold(&pool);
    pool.shutdown();
    drop(held);
    assert!(pool.await_termination(LONG));
    assert_eq!(pool.state(), State::Terminated);
    assert!(pool.await_termination(Duration::ZERO), "and stays reached");
}

#[test]
fn life_05_stop_returns_exactly_the_queued_tasks() {
    let pool = Pool::fixed(2).expect("valid settings");
    let (first, second) = (listening(&pool), listening(&pool));
    let runs = Arc::new(AtomicUsize::new(0));
    let count = || {
        let runs = runs.clone();
        move || {
            runs.fetch_add(1, Ordering::Relaxed);
        }
    };
    let named = pool.task(count()).name("named").submit().expect("accepted");
    pool.execute(count()).expect("accepted");
    let plain = pool.submit(count()).expect("accepted");
    let plain_id = plain.task_ref().id();

    let unrun = pool.stop();
    assert_eq!(pool.stats().queued, 0);
    assert_eq!(unrun.len(), 3);
    assert_eq!(unrun[0].name(), Some("named"), "in the order of the queue");
    assert_eq!(unrun[2].id(), plain_id, "the very tasks");
    assert!(named.join().unwrap_err().is_cancelled());
    assert!(plain.join().unwrap_err().is_cancelled());
    assert_eq!(runs.load(Ordering::Relaxed), 0, "none of them has run");

    // They were told to stop, and their handles still get what they returned.
    assert_eq!(first.join().unwrap(), Err(Cancelled));
    assert_eq!(second.join().unwrap(), Err(Cancelled));
    assert!(pool.await_termination(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.returned, stats.cancelled), (2, 3, 0));

    for task in unrun {
        task.run().expect("no panic");
    }
    assert_eq!(runs.load(Ordering::Relaxed), 3, "what came back can still be run");
}

#[test]
fn life_05_a_task_that_ends_because_of_the_stop_makes_no_room_for_a_queued_one() {
    // A worker that is freed by the stop must find nothing to take; a race, so it is run often.
    for _ in 0..100 {
        let pool = single();
        let (begun, has_begun) = channel();
        let own = pool.clone();
        let busy = pool
            .submit(move || {
                begun.send(()).expect("the test waits for this");
                while own.state() < State::Stop {
                    std::hint::spin_loop();
                }
            })
            .expect("accepted");
        has_begun.recv().expect("the task runs");
        let queued = pool.submit(|| ()).expect("accepted");
        assert_eq!(pool.stop().len(), 1, "it was queued when the stop began");
        assert!(queued.join().unwrap_err().is_cancelled());
        busy.join().expect("finished");
    }
}

#[test]
fn life_07_stop_signals_a_running_task_however_it_was_submitted() {
    let pool = Pool::fixed(5).expect("valid settings");
    let (begun, has_begun) = channel();
    let (ended, has_ended) = channel();
    let listen = |how: &'static str| {
        let (begun, ended) = (begun.clone(), ended.clone());
        move || {
            begun.send(()).expect("the test waits for this");
            ended
                .send((how, task::sleep(LONG)))
                .expect("the test waits for this");
        }
    };
    pool.execute(listen("execute")).expect("accepted");
    pool.execute_all([listen("execute_all")]).expect("accepted");
    pool.task(listen("task.execute")).execute().expect("accepted");
    let submitted = pool.submit(listen("submit")).expect("accepted");
    let valued = listen("submit with a value");
    let valued = pool
        .submit(move || {
            valued();
            7
        })
        .expect("accepted");
    for _ in 0..5 {
        has_begun.recv().expect("all five run");
    }

    assert!(pool.stop().is_empty());
    let mut told: Vec<_> = (0..5).map(|_| has_ended.recv().expect("all five end")).collect();
    told.sort_unstable_by_key(|(how, _)| *how);
    let expected = [
        "execute",
        "execute_all",
        "submit",
        "submit with a value",
        "task.execute",
    ];
    assert_eq!(told, expected.map(|how| (how, Err(Cancelled))));
    submitted.join().expect("a signal is no outcome");
    assert_eq!(valued.join().unwrap(), 7);
}

#[test]
fn life_07_shutdown_wakes_idle_workers_and_leaves_running_tasks_alone() {
    let (left, has_left) = channel();
    let pool = Pool::builder("two")
        .core_threads(2)
        .on_thread_stop(move || left.send(()).expect("the test waits for this"))
        .build()
        .expect("valid settings");
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let busy = pool
        .submit(move || {
            let token = task::current().expect("inside a task").token();
            begun.send(()).expect("the test waits for this");
            let _ = gate.recv();
            token.is_cancelled()
        })
        .expect("accepted");
    has_begun.recv().expect("the task runs");
    pool.submit(|| ())
        .expect("accepted")
        .join()
        .expect("on the second worker");

    pool.shutdown();
    has_left.recv_timeout(LONG).expect("the idle worker leaves");
    assert_eq!(
        has_left.try_recv(),
        Err(TryRecvError::Empty),
        "the busy one stays"
    );
    drop(open);
    assert!(!busy.join().unwrap(), "its token never fired");
    has_left
        .recv_timeout(LONG)
        .expect("the busy worker leaves when it is done");
}

#[test]
fn life_08_a_task_that_ignores_the_signal_keeps_the_pool_terminating() {
    let pool = single();
    let ended = Arc::new(AtomicBool::new(false));
    let (begun, has_begun) = channel();
    let (told, was_told) = channel();
    let (open, gate) = channel::<()>();
    let mark = ended.clone();
    let deaf = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            told.send(task::sleep(LONG)).expect("the test waits for this");
            let _ = gate.recv();
            mark.store(true, Ordering::Release);
        })
        .expect("accepted");
    has_begun.recv().expect("the task runs");

    assert!(pool.stop().is_empty());
    assert_eq!(was_told.recv(), Ok(Err(Cancelled)), "the signal came");
    assert_eq!(pool.state(), State::Stop);
    assert!(!pool.await_termination(Duration::ZERO));
    assert!(pool.submit(|| ()).unwrap_err().is_shutdown());
    thread::scope(|scope| {
        let waiter = scope.spawn(|| (pool.await_termination(LONG), ended.load(Ordering::Acquire)));
        drop(open);
        assert_eq!(
            waiter.join().unwrap(),
            (true, true),
            "not before the task has ended"
        );
    });
    deaf.join().expect("a signal is no outcome");
}

#[test]
fn life_08_a_wait_for_a_stopping_pool_takes_its_whole_limit() {
    let clock = Clock::manual();
    let (pool, slow, watcher) = (pool_on(&clock, 1), pool_on(&clock, 1), pool_on(&clock, 1));
    let _detached = slow.submit(|| task::sleep(LIMIT * 10)).expect("accepted");
    let stubborn = pool
        .submit(move || {
            let told = task::sleep(LIMIT * 20);
            // A wait that the task's own token does not end: deaf, but asleep where the clock sees it.
            assert!(slow.close().terminated);
            told
        })
        .expect("accepted");
    settle(&clock);
    assert!(pool.stop().is_empty());
    let subject = pool.clone();
    let waiter = watcher
        .submit(move || subject.await_termination(LIMIT))
        .expect("accepted");

    clock.advance(LIMIT - MOMENT);
    assert!(!waiter.is_finished(), "the limit has not come");
    clock.advance(MOMENT);
    assert!(!waiter.join().unwrap(), "the task still runs");
    assert_eq!(pool.state(), State::Stop);
    clock.advance(LIMIT * 9);
    assert_eq!(stubborn.join().unwrap(), Err(Cancelled));
    assert!(pool.await_termination(LONG));
}

#[test]
fn life_14_a_signal_does_not_leak_into_the_next_task() {
    let pool = single();
    let worker = pool
        .submit(|| thread::current().id())
        .expect("accepted")
        .join()
        .unwrap();
    let told = listening(&pool);
    assert_eq!(told.cancel(), Cancel::Signalled);

    let next = pool
        .submit(|| {
            let token = task::current().expect("inside a task").token();
            (
                token.is_cancelled(),
                task::sleep(Duration::ZERO),
                thread::current().id(),
            )
        })
        .expect("accepted");
    assert_eq!(
        next.join().unwrap(),
        (false, Ok(()), worker),
        "the same worker, a clean token"
    );

    let (tell, said) = channel();
    let told = listening(&pool);
    assert_eq!(told.cancel(), Cancel::Signalled);
    pool.execute(move || {
        let token = task::current().expect("inside a task").token();
        tell.send((token.is_cancelled(), task::sleep(Duration::ZERO)))
            .expect("the test waits for this");
    })
    .expect("accepted");
    assert_eq!(said.recv(), Ok((false, Ok(()))), "also without a handle");
}

#[test]
fn life_14_a_stopping_pool_signals_also_a_task_that_asks_late() {
    let pool = single();
    let (begun, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let late = pool
        .submit(move || {
            begun.send(()).expect("the test waits for this");
            let _ = gate.recv();
            // Nobody had asked for this token when the pool was stopped.
            let token = task::current().expect("inside a task").token();
            (token.is_cancelled(), task::sleep(LONG))
        })
        .expect("accepted");
    has_begun.recv().expect("the task runs");
    assert!(pool.stop().is_empty());
    drop(open);
    assert_eq!(late.join().unwrap(), (true, Err(Cancelled)));
}
