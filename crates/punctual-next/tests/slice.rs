//! The first slice from outside: a FIFO of tasks with handles, cancelled, refused, awaited; a pool that ends.

#![cfg(not(any(loom, shuttle)))]

use punctual_next::{Cancel, Pool};
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// Counts its drops.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// Holds the only worker until the sender is dropped or sends.
fn held(pool: &Pool) -> std::sync::mpsc::Sender<()> {
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    pool.execute(move || {
        tell.send(()).expect("the test waits for this");
        let _ = gate.recv();
    })
    .expect("open");
    told.recv().expect("it runs");
    open
}

#[test]
fn a_value_comes_back() {
    let pool = Pool::fixed(2).unwrap();
    let tasks: Vec<_> = (0..1_000).map(|n| pool.submit(move || n * 2).unwrap()).collect();
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), n * 2);
    }
    assert!(pool.close());
}

#[test]
fn tasks_begin_in_the_order_in_which_they_came() {
    let pool = Pool::fixed(1).unwrap();
    let open = held(&pool);
    let (tell, told) = channel();
    for n in 0..500 {
        let tell = tell.clone();
        pool.execute(move || tell.send(n).unwrap()).unwrap();
    }
    assert_eq!(pool.queued(), 500);
    drop((open, tell));
    assert!(told.iter().eq(0..500));
    assert!(pool.close());
}

#[test]
fn a_panic_is_the_outcome_of_its_task_alone() {
    let pool = Pool::fixed(1).unwrap();
    pool.execute(|| panic!("unheard")).unwrap();
    let error = pool
        .submit(|| -> u32 { panic!("no luck") })
        .unwrap()
        .join()
        .unwrap_err();
    assert!(error.is_panic());
    assert_eq!(error.to_string(), "the task panicked: no luck");
    assert_eq!(pool.submit(|| 1).unwrap().join().unwrap(), 1);
}

#[test]
fn a_queued_task_is_cancelled_at_once() {
    let pool = Pool::fixed(1).unwrap();
    let open = held(&pool);
    let drops = Arc::new(AtomicUsize::new(0));
    // More than a segment, cancelled in another order than that in which they came.
    let tasks: Vec<_> = (0..200)
        .map(|_| {
            let held = Counted(drops.clone());
            pool.submit(move || drop(held)).unwrap()
        })
        .collect();
    for n in (0..200).map(|n| (n * 77) % 200) {
        assert_eq!(tasks[n].cancel(), Cancel::Removed);
    }
    assert_eq!((pool.queued(), drops.load(SeqCst)), (0, 200));
    for task in tasks {
        assert_eq!(task.cancel(), Cancel::TooLate);
        assert!(task.join().unwrap_err().is_cancelled());
    }
    let after = pool.submit(|| 1).unwrap();
    drop(open);
    assert_eq!(after.join().unwrap(), 1);
}

#[test]
fn a_running_task_is_cancelled_for_its_waiters() {
    let pool = Pool::fixed(1).unwrap();
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    let drops = Arc::new(AtomicUsize::new(0));
    let value = Counted(drops.clone());
    let task = pool
        .submit(move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
            value
        })
        .unwrap();
    told.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(task.join().is_err_and(|error| error.is_cancelled()));
    assert_eq!(drops.load(SeqCst), 0, "its body goes on");
    drop(open);
    assert!(pool.close());
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn a_full_pool_gives_the_closure_back() {
    let pool = Pool::bounded(1, 2).unwrap();
    let open = held(&pool);
    for _ in 0..2 {
        pool.execute(|| ()).unwrap();
    }
    let refused = pool.submit(|| 42).unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_task()(), 42);
    drop(open);
    assert!(pool.close());
    let refused = pool.execute(|| ()).unwrap_err();
    assert!(refused.is_shutdown());
}

#[test]
fn what_was_accepted_runs_before_a_pool_ends() {
    let runs = Arc::new(AtomicUsize::new(0));
    for _ in 0..50 {
        let pool = Pool::fixed(3).unwrap();
        for _ in 0..100 {
            let runs = runs.clone();
            pool.execute(move || _ = runs.fetch_add(1, SeqCst)).unwrap();
        }
        assert!(pool.close());
    }
    assert_eq!(runs.load(SeqCst), 5_000);
    assert!(Pool::fixed(1).unwrap().close(), "also without a thread");
}

#[test]
fn a_detached_value_is_dropped() {
    let drops = Arc::new(AtomicUsize::new(0));
    let pool = Pool::fixed(2).unwrap();
    for _ in 0..1_000 {
        let value = Counted(drops.clone());
        drop(pool.submit(move || value).unwrap());
    }
    assert!(pool.close());
    assert_eq!(drops.load(SeqCst), 1_000);
}

#[test]
fn stop_gives_the_waiting_tasks_back_in_order() {
    let pool = Pool::fixed(1).unwrap();
    let open = held(&pool);
    let (tell, told) = channel();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut handles = Vec::new();
    for n in 0..130 {
        let (tell, value) = (tell.clone(), Counted(drops.clone()));
        let task = pool.submit(move || {
            tell.send(n).unwrap();
            value
        });
        handles.push(task.unwrap());
    }
    // A gap in the middle.
    assert_eq!(handles[70].cancel(), Cancel::Removed);
    let mut unrun = pool.stop();
    assert_eq!((unrun.len(), pool.queued()), (129, 0));
    assert!(format!("{pool:?}").contains("cancelled: 1, returned: 129,"));
    for handle in handles {
        assert_eq!(handle.cancel(), Cancel::TooLate);
        assert!(handle.join().is_err_and(|error| error.is_cancelled()));
    }
    // Half of them run here, the others are dropped.
    let dropped = unrun.split_off(64);
    unrun.into_iter().for_each(|task| task.run().unwrap());
    drop((dropped, tell));
    assert!(told.iter().eq(0..64));
    assert_eq!(drops.load(SeqCst), 130);
    assert!(pool.execute(|| ()).unwrap_err().is_shutdown());
    drop(open);
    assert!(pool.close());
}

#[test]
fn a_drained_pool_goes_on() {
    let pool = Pool::bounded(1, 2).unwrap();
    let open = held(&pool);
    for _ in 0..2 {
        pool.execute(|| panic!("unheard")).unwrap();
    }
    let unrun = pool.drain();
    assert_eq!(unrun.len(), 2);
    for task in unrun {
        let payload = task.run().unwrap_err();
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"unheard"));
    }
    let tasks: Vec<_> = (0..2).map(|n| pool.submit(move || n).unwrap()).collect();
    drop(open);
    for (n, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), n);
    }
    assert!(!pool.await_termination(Duration::ZERO));
    assert!(pool.close());
    assert!(pool.await_termination(Duration::ZERO));
}

struct Flag(AtomicUsize);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

#[test]
fn a_handle_can_be_awaited() {
    let pool = Pool::fixed(1).unwrap();
    let open = held(&pool);
    let mut task = pin!(pool.submit(|| 5).unwrap());
    let flag = Arc::new(Flag(AtomicUsize::new(0)));
    let waker = Waker::from(flag.clone());
    assert!(task.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    drop(open);
    task.wait();
    assert!(pool.close());
    assert_eq!(flag.0.load(SeqCst), 1);
    match task.poll(&mut Context::from_waker(&waker)) {
        Poll::Ready(value) => assert_eq!(value.unwrap(), 5),
        Poll::Pending => panic!("it was woken"),
    }
}

#[test]
fn a_wait_ends_with_its_limit_and_the_value_is_taken_once() {
    let pool = Pool::fixed(1).unwrap();
    let open = held(&pool);
    let mut task = pool.submit(|| 5).unwrap();
    let error = task.join_timeout(Duration::from_millis(1)).unwrap_err();
    assert!(error.is_timeout());
    drop(open);
    task.wait();
    assert_eq!(task.join_timeout(Duration::ZERO).unwrap(), 5);
    assert!(task.join().unwrap_err().is_taken());
}

/// Producers, cancellers and workers at once: every closure is dropped once, and what was not removed has run.
#[test]
fn under_stress_every_task_ends_once() {
    let pool = Pool::bounded(2, 64).unwrap();
    let (runs, drops, removed) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
        AtomicUsize::new(0),
    );
    let made = AtomicUsize::new(0);
    let start = Barrier::new(4);
    std::thread::scope(|threads| {
        for thread in 0..4 {
            let (pool, runs, drops) = (pool.clone(), runs.clone(), drops.clone());
            let (removed, made, start) = (&removed, &made, &start);
            threads.spawn(move || {
                start.wait();
                let mut kept = Vec::new();
                for n in 0..5_000 {
                    let (held, runs) = (Counted(drops.clone()), runs.clone());
                    made.fetch_add(1, SeqCst);
                    let submitted = pool.submit(move || {
                        runs.fetch_add(1, SeqCst);
                        drop(held);
                    });
                    kept.extend(submitted.ok());
                    if n % 7 == thread {
                        for task in kept.drain(..) {
                            if task.cancel() == Cancel::Removed {
                                removed.fetch_add(1, SeqCst);
                            }
                        }
                    }
                }
            });
        }
    });
    assert!(pool.close());
    assert_eq!(drops.load(SeqCst), made.load(SeqCst));
    assert!(runs.load(SeqCst) + removed.load(SeqCst) <= made.load(SeqCst));
}
