//! References to tasks and futures that have ended, and what they keep.

use crate::support::{Dropped, LONG, full_size, in_time, until};
use punctual::{Control, Pool, Queue, Status, TaskRef};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// One worker that stops behind the body of each task, where the task is still seen to run, until it is told to go on.
fn stops_behind_the_body() -> (Pool, Receiver<()>, Sender<()>) {
    let (tell, is_there) = channel();
    let (go, may_go) = channel();
    let may_go = Mutex::new(may_go);
    let pool = Pool::builder("stops")
        .core_threads(1)
        .decorate(
            || (),
            move |(), run| {
                run();
                // An error means that the test has failed and is gone.
                let _ = tell.send(());
                let _ = may_go.lock().unwrap().recv();
            },
        )
        .build()
        .expect("valid settings");
    (pool, is_there, go)
}

/// The only task that runs.
fn seen(control: &Control) -> TaskRef {
    let mut running = control.running();
    assert_eq!(running.len(), 1);
    running.remove(0)
}

fn close_in_time(pool: Pool) {
    assert!(pool.close_timeout(LONG).terminated, "the pool never ends");
}

#[test]
fn a_look_at_a_detached_future_that_has_ended_is_over_before_its_worker_goes_on() {
    let (pool, is_there, go) = stops_behind_the_body();
    drop(pool.spawn(async {}).expect("accepted"));
    is_there.recv_timeout(LONG).expect("its poll is over");
    let task = seen(&pool.control());
    assert_eq!(task.status(), Status::Running);
    drop(task);
    go.send(()).expect("the worker waits");
    close_in_time(pool);
}

#[test]
fn a_look_at_a_detached_future_that_has_ended_outlives_it() {
    let (pool, is_there, go) = stops_behind_the_body();
    drop(pool.spawn(async {}).expect("accepted"));
    is_there.recv_timeout(LONG).expect("its poll is over");
    let task = seen(&pool.control());
    go.send(()).expect("the worker waits");
    until("it ends", || task.status() == Status::Finished);
    close_in_time(pool);
    assert!(task.type_name().contains("outlives_it"));
    drop(task);
}

#[test]
fn two_looks_at_a_detached_future_that_has_ended_give_its_block_up_once() {
    let (pool, is_there, go) = stops_behind_the_body();
    drop(pool.spawn(async {}).expect("accepted"));
    is_there.recv_timeout(LONG).expect("its poll is over");
    // The second comes when the first is gone, so it is a new reference.
    drop(seen(&pool.control()));
    let task = seen(&pool.control());
    go.send(()).expect("the worker waits");
    until("it ends", || task.status() == Status::Finished);
    drop(task);
    close_in_time(pool);
}

#[test]
fn somebody_who_looks_at_detached_futures_all_the_time_takes_nothing_from_them() {
    in_time(|| {
        let pool = Pool::builder("p")
            .core_threads(2)
            .queue(Queue::bounded(64))
            .build()
            .expect("valid settings");
        let (control, stop) = (pool.control(), Arc::new(AtomicBool::new(false)));
        let is_over = stop.clone();
        let looker = std::thread::spawn(move || {
            while !is_over.load(SeqCst) {
                drop(control.running());
            }
        });
        let drops = Arc::new(AtomicUsize::new(0));
        let all = full_size(200_000, 20_000) as usize;
        let mut accepted = 0;
        while accepted < all {
            let value = Dropped(drops.clone());
            match pool.spawn(async move { value }) {
                Ok(task) => {
                    drop(task);
                    accepted += 1;
                }
                Err(_) => {
                    // The refused one was dropped here.
                    drops.fetch_sub(1, SeqCst);
                    std::thread::yield_now();
                }
            }
        }
        assert!(pool.wait_idle(LONG), "{pool:?}");
        stop.store(true, SeqCst);
        looker.join().expect("it only looks");
        close_in_time(pool);
        assert_eq!(drops.load(SeqCst), all);
    });
}

#[test]
fn a_panicked_task_is_finished_when_its_outcome_is_there_and_not_before() {
    let (tell, is_there) = channel();
    let (go, may_go) = channel::<()>();
    let may_go = Mutex::new(may_go);
    let pool = Pool::builder("p")
        .core_threads(1)
        .after_task(move |_, _| {
            let _ = tell.send(());
            let _ = may_go.lock().unwrap().recv();
        })
        .build()
        .expect("valid settings");
    let mut task = pool
        .submit(|| -> () { resume_unwind(Box::new("failed")) })
        .expect("accepted");
    is_there.recv_timeout(LONG).expect("its body has ended");
    // The hook looks at the payload, which is the handle's only after that.
    let error = task.join_timeout(Duration::ZERO).expect_err("not there yet");
    assert!(error.is_timeout());
    assert!(!task.is_finished(), "finished, and a join says that it is not");
    go.send(()).expect("the hook waits");
    until("it ends", || task.is_finished());
    let error = task
        .join_timeout(Duration::ZERO)
        .expect_err("the outcome is there");
    assert!(error.is_panic(), "{error}");
}

#[test]
fn a_joiner_that_sees_a_panicked_task_finished_has_its_failure_at_once() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .on_failure(|_, _| ())
        .build()
        .expect("valid settings");
    for round in 0..full_size(30_000, 3_000) {
        let mut task = pool
            .submit(|| -> () { resume_unwind(Box::new("failed")) })
            .expect("accepted");
        until("it ends", || task.is_finished());
        let error = task.join_timeout(Duration::ZERO).expect_err("it has failed");
        assert!(error.is_panic(), "round {round}: {error}");
    }
}
