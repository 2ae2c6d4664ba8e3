//! References to tasks and futures that have ended, and what they keep.

use crate::support::{Dropped, LONG, Random, block_on, full_size, hold, in_time, single, until};
use punctual::{Control, Pool, Queue, Status, TaskHandle, TaskRef};
use std::panic::resume_unwind;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};
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

/// How a task with a value ends.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Body {
    Returns,
    Panics,
    /// A future that is ready at its second poll, and whose waker has been cloned.
    Awaits,
    AwaitsAndPanics,
}

/// When its handle goes.
#[derive(Debug, Clone, Copy)]
enum Goes {
    BeforeItBegins,
    WhileItRuns,
    AfterTheEnd,
    AfterAJoinThatTimedOut,
}

fn end_with(value: Dropped, is_panic: bool) -> Dropped {
    if is_panic {
        resume_unwind(Box::new(value));
    }
    value
}

/// A task that ends with `value`, after it has told that it runs and was told to go on.
fn begin(
    pool: &Pool,
    body: Body,
    value: Dropped,
    (tell, gate): (Sender<()>, Receiver<()>),
    kept: &Arc<Mutex<Option<Waker>>>,
) -> TaskHandle<Dropped> {
    let is_panic = matches!(body, Body::Panics | Body::AwaitsAndPanics);
    let run = move || {
        let _ = tell.send(());
        let _ = gate.recv();
        end_with(value, is_panic)
    };
    if matches!(body, Body::Returns | Body::Panics) {
        return pool.submit(run).expect("accepted");
    }
    let (kept, mut run) = (kept.clone(), Some(run));
    pool.spawn(std::future::poll_fn(move |context| {
        let mut kept = kept.lock().unwrap();
        if kept.is_none() {
            // Woken at once: the clone stays.
            let waker = kept.insert(context.waker().clone());
            waker.wake_by_ref();
            return Poll::Pending;
        }
        drop(kept);
        Poll::Ready(run.take().expect("ready once")())
    }))
    .expect("accepted")
}

#[test]
fn neither_a_reference_nor_a_wakers_clone_keeps_a_value_that_no_handle_can_take() {
    let bodies = [Body::Returns, Body::Panics, Body::Awaits, Body::AwaitsAndPanics];
    let times = [
        Goes::BeforeItBegins,
        Goes::WhileItRuns,
        Goes::AfterTheEnd,
        Goes::AfterAJoinThatTimedOut,
    ];
    for with_hooks in [false, true] {
        let told = Arc::new(AtomicUsize::new(0));
        let mut builder = Pool::builder("p").core_threads(1);
        if with_hooks {
            let told = told.clone();
            builder = builder
                .after_task(|_, _| ())
                .on_failure(move |_, _| _ = told.fetch_add(1, SeqCst));
        }
        let pool = builder.build().expect("valid settings");
        for (body, goes) in bodies.iter().flat_map(|body| times.map(|time| (*body, time))) {
            let case = format!("{body:?}, the handle goes {goes:?}, hooks: {with_hooks}");
            let drops = Arc::new(AtomicUsize::new(0));
            let kept = Arc::new(Mutex::new(None));
            let (tell, has_begun) = channel();
            let (open, gate) = channel::<()>();
            let held = hold(&pool);
            let task = begin(&pool, body, Dropped(drops.clone()), (tell, gate), &kept);
            let left = task.task_ref();
            let failures = told.load(SeqCst);
            let mut handle = Some(task);
            if matches!(goes, Goes::BeforeItBegins) {
                handle = None;
            }
            drop(held);
            has_begun.recv_timeout(LONG).expect("it runs");
            match goes {
                Goes::BeforeItBegins | Goes::AfterTheEnd => {}
                Goes::WhileItRuns => handle = None,
                Goes::AfterAJoinThatTimedOut => {
                    let task = handle.as_mut().expect("still here");
                    let error = task.join_timeout(Duration::ZERO).expect_err("it runs");
                    assert!(error.is_timeout(), "{case}: {error}");
                }
            }
            assert_eq!(drops.load(SeqCst), 0, "{case}: it is needed");
            drop(open);
            let is_over = |left: &TaskRef| matches!(left.status(), Status::Finished | Status::Panicked);
            until("it ends", || is_over(&left));
            if let Some(handle) = handle {
                assert!(handle.wait_timeout(LONG), "{case}");
                assert_eq!(drops.load(SeqCst), 0, "{case}: the handle could take it");
                drop(handle);
                assert_eq!(drops.load(SeqCst), 1, "{case}: it goes with the handle");
            } else {
                until(&case, || drops.load(SeqCst) == 1);
            }
            if with_hooks {
                let failed = usize::from(left.status() == Status::Panicked);
                until("the failure is told", || told.load(SeqCst) == failures + failed);
            }
            // Both are still here, and the block with them.
            let waker = kept.lock().unwrap().take();
            assert_eq!(
                waker.is_some(),
                matches!(body, Body::Awaits | Body::AwaitsAndPanics)
            );
            drop((waker, left));
            assert_eq!(drops.load(SeqCst), 1, "{case}: once");
        }
        assert!(pool.wait_idle(LONG));
        let failed = if with_hooks {
            bodies.len() / 2 * times.len()
        } else {
            0
        };
        assert_eq!(told.load(SeqCst), failed, "each failure once");
    }
}

#[test]
fn a_wakers_clone_alone_keeps_no_value_either() {
    let pool = single();
    let drops = Arc::new(AtomicUsize::new(0));
    let kept = Arc::new(Mutex::new(None));
    let (tell, _has_begun) = channel();
    let (open, gate) = channel::<()>();
    drop(open);
    let task = begin(&pool, Body::Awaits, Dropped(drops.clone()), (tell, gate), &kept);
    task.wait();
    assert_eq!(drops.load(SeqCst), 0);
    drop(task);
    assert_eq!(drops.load(SeqCst), 1, "it goes with the handle");
    assert!(kept.lock().unwrap().is_some());
}

#[test]
fn a_value_that_was_taken_or_cancelled_is_dropped_once_although_a_reference_stays() {
    let pool = single();
    let drops = Arc::new(AtomicUsize::new(0));
    let value = || Dropped(drops.clone());
    let taken = value();
    let task = pool.submit(move || taken).expect("accepted");
    let first = task.task_ref();
    let joined = task.join().expect("it returns");
    assert_eq!(drops.load(SeqCst), 0, "it is the joiner's");
    drop(joined);
    assert_eq!(drops.load(SeqCst), 1);
    let awaited = value();
    let task = pool.submit(move || awaited).expect("accepted");
    let second = task.task_ref();
    drop(block_on(task).expect("it returns"));
    assert_eq!(drops.load(SeqCst), 2);
    let (tell, has_begun) = channel();
    let (open, gate) = channel::<()>();
    let signalled = value();
    let task = pool
        .submit(move || {
            let _ = tell.send(());
            let _ = gate.recv();
            signalled
        })
        .expect("accepted");
    let third = task.task_ref();
    has_begun.recv_timeout(LONG).expect("it runs");
    assert_eq!(third.cancel(), punctual::Cancel::Signalled);
    drop((task, open));
    until("its result is dropped", || drops.load(SeqCst) == 3);
    assert!(pool.wait_idle(LONG));
    drop((first, second, third));
    assert_eq!(drops.load(SeqCst), 3);
}

#[test]
fn a_handle_that_goes_just_when_its_task_ends_leaves_no_value_to_a_reference() {
    let mut random = Random::printed("a_handle_that_goes_just_when_its_task_ends");
    for with_hooks in [false, true] {
        let mut builder = Pool::builder("p").core_threads(1);
        if with_hooks {
            builder = builder.after_task(|_, _| ());
        }
        let pool = builder.build().expect("valid settings");
        for round in 0..full_size(20_000, 4_000) {
            let drops = Arc::new(AtomicUsize::new(0));
            let value = Dropped(drops.clone());
            let is_panic = round % 2 == 0;
            let task = if round % 4 < 2 {
                pool.submit(move || end_with(value, is_panic))
            } else {
                let spawned = pool.spawn(async move { end_with(value, is_panic) });
                spawned.map_err(|_| unreachable!("the pool has room"))
            };
            let task = task.expect("accepted");
            let left = task.task_ref();
            random.dawdle(2_000);
            drop(task);
            until("its value is dropped", || drops.load(SeqCst) == 1);
            drop(left);
        }
        close_in_time(pool);
    }
}
