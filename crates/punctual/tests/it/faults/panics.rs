//! Faults 1 and 2: a panic stays in its task, its hook or its waker.

use crate::support::{LONG, assert_all_settled, block_on, hold, poll_once, quiet_panic, single};
use punctual::{Cancel, Pool, PoolBuilder, Queue, TaskHandle};
use std::panic::panic_any;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::task::{Wake, Waker};

/// So many workers, unbounded queue.
pub(super) fn pool_of(threads: usize) -> PoolBuilder {
    Pool::builder("panics")
        .core_threads(threads)
        .queue(Queue::unbounded())
}

/// Proves that the pool still does its work: each of its workers, at the same time.
pub(super) fn assert_all_workers_work(pool: &Pool, threads: usize) {
    let meeting = Arc::new(std::sync::Barrier::new(threads));
    let tasks: Vec<TaskHandle<()>> = (0..threads)
        .map(|_| {
            let meeting = meeting.clone();
            pool.submit(move || _ = meeting.wait()).unwrap()
        })
        .collect();
    for mut task in tasks {
        task.join_timeout(LONG)
            .expect("as many live workers as were configured");
    }
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.threads_stopped), (threads, 0), "{stats:?}");
}

#[test]
fn fault_01_a_tenth_of_the_tasks_panic_and_every_worker_lives() {
    const TASKS: usize = 40_000;
    let pool = pool_of(4).build().unwrap();
    let mut kept = Vec::new();
    for index in 0..TASKS {
        let panics = index % 10 == 3;
        let body = move || {
            if panics {
                quiet_panic("one of many");
            }
            index
        };
        match index % 3 {
            0 => pool.execute(move || _ = body()).unwrap(),
            1 => drop(pool.submit(body).unwrap()),
            _ => kept.push((index, panics, pool.submit(body).unwrap())),
        }
    }
    for (index, panics, task) in kept {
        match task.join() {
            Ok(value) => assert!(!panics && value == index),
            Err(error) => assert!(panics && error.to_string() == "the task panicked: one of many"),
        }
    }
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(stats.panicked, (TASKS / 10) as u64);
    assert_eq!(stats.finished, (TASKS - TASKS / 10) as u64);
    assert_all_settled(&stats);
    assert_all_workers_work(&pool, 4);

    let ran = Arc::new(AtomicUsize::new(0));
    for _ in 0..10_000 {
        let ran = ran.clone();
        pool.execute(move || _ = ran.fetch_add(1, SeqCst)).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(ran.load(SeqCst), 10_000);
}

#[test]
fn fault_01_the_message_of_a_real_panic_reaches_the_handle() {
    let pool = single();
    let named = 7;
    let error = pool
        .submit(move || panic!("number {named}"))
        .unwrap()
        .join()
        .unwrap_err();
    assert_eq!(error.to_string(), "the task panicked: number 7");
    let payload = pool
        .submit(|| panic_any(42_u8))
        .unwrap()
        .join()
        .unwrap_err()
        .into_panic();
    assert_eq!(payload.unwrap().downcast_ref(), Some(&42_u8));
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Callback {
    Before,
    After,
    Failure,
    ThreadStart,
    ThreadStop,
    Terminated,
}

#[test]
fn fault_02_every_callback_may_panic_and_is_counted() {
    use Callback::{After, Before, Failure, Terminated, ThreadStart, ThreadStop};
    const TASKS: u64 = 200;
    for callback in [Before, After, Failure, ThreadStart, ThreadStop, Terminated] {
        let panicking = move |this: Callback| {
            move || {
                if this == callback {
                    quiet_panic("a callback");
                }
            }
        };
        let (before, after, failure) = (panicking(Before), panicking(After), panicking(Failure));
        let pool = pool_of(2)
            .before_task(move |_| before())
            .after_task(move |_, _| after())
            .on_failure(move |_, _| failure())
            .on_thread_start(panicking(ThreadStart))
            .on_thread_stop(panicking(ThreadStop))
            .on_terminated(panicking(Terminated))
            .build()
            .unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        for index in 0..TASKS {
            let ran = ran.clone();
            let body = move || {
                ran.fetch_add(1, SeqCst);
                if index == 10 || index == 11 {
                    quiet_panic("a task");
                }
            };
            // One failure each without a handle and with a handle that is dropped.
            if index % 2 == 0 {
                pool.execute(body).unwrap();
            } else {
                drop(pool.submit(body).unwrap());
            }
        }
        assert!(pool.wait_idle(LONG));
        assert_all_workers_work(&pool, 2);
        assert!(pool.close().terminated, "{callback:?}");
        assert_eq!(ran.load(SeqCst) as u64, TASKS, "{callback:?}");
        let expected = match callback {
            Before | After => TASKS + 2,
            Failure | ThreadStart | ThreadStop => 2,
            Terminated => 1,
        };
        let stats = pool.stats();
        assert_eq!(stats.hook_panics, expected, "{callback:?}");
        assert_eq!((stats.panicked, stats.finished), (2, TASKS), "{callback:?}");
    }
}

struct PanickingWaker;

impl Wake for PanickingWaker {
    fn wake(self: Arc<Self>) {
        quiet_panic("a waker");
    }
}

#[test]
fn fault_02_a_waker_may_panic_wherever_it_is_woken() {
    let pool = pool_of(2).build().unwrap();
    let waker = Waker::from(Arc::new(PanickingWaker));
    // On the worker, at the end of the task.
    let held = hold(&pool);
    let gate = hold(&pool);
    let mut ends = pool.submit(|| 5).unwrap();
    assert!(poll_once(&mut ends, &waker).is_pending());
    // On the canceller of a task that waits, and of one that runs.
    let mut waits = pool.submit(|| 6).unwrap();
    assert!(poll_once(&mut waits, &waker).is_pending());
    assert_eq!(waits.cancel(), Cancel::Removed);
    assert!(block_on(waits).unwrap_err().is_cancelled());
    drop((held, gate));
    assert_eq!(block_on(ends).unwrap(), 5);

    let (begun, has_begun) = std::sync::mpsc::channel();
    let mut runs = pool
        .submit(move || {
            let token = punctual::task::current().unwrap().token();
            begun.send(token.clone()).unwrap();
            block_on(token.cancelled());
        })
        .unwrap();
    let token = has_begun.recv().unwrap();
    assert!(poll_once(&mut runs, &waker).is_pending());
    let mut listening = Box::pin(token.cancelled());
    assert!(poll_once(&mut listening, &waker).is_pending());
    assert_eq!(runs.cancel(), Cancel::Signalled);
    assert!(runs.join().unwrap_err().is_cancelled());
    assert!(pool.wait_idle(LONG));
    assert_all_workers_work(&pool, 2);
}
