//! Faults 3 and 5: user code in `Drop` that panics, of a payload, a capture or a result; and no lock is held meanwhile.

use super::panics::{assert_all_workers_work, pool_of};
use crate::support::{LONG, assert_all_settled, block_on, hold, in_time, quiet_panic, single, until};
use punctual::{Cancel, Pool};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

/// Panics when it is dropped, unless a panic is under way: two at once end the process, which is std's rule.
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            quiet_panic("a bomb");
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Fate {
    NoHandle,
    DroppedBefore,
    DroppedAfter,
    Joined,
    Awaited,
    Cancelled,
    RefOnly,
}

const FATES: [Fate; 7] = [
    Fate::NoHandle,
    Fate::DroppedBefore,
    Fate::DroppedAfter,
    Fate::Joined,
    Fate::Awaited,
    Fate::Cancelled,
    Fate::RefOnly,
];

#[test]
fn fault_03_a_payload_whose_drop_panics_ends_nothing() {
    for with_sink in [false, true] {
        let told = Arc::new(AtomicUsize::new(0));
        let mut builder = pool_of(2);
        if with_sink {
            let told = told.clone();
            builder = builder.on_failure(move |_, _| _ = told.fetch_add(1, SeqCst));
        }
        let pool = builder.build().unwrap();
        for fate in FATES {
            let held = [hold(&pool), hold(&pool)];
            let body = || resume_unwind(Box::new(Bomb));
            match fate {
                Fate::NoHandle => {
                    pool.execute(body).unwrap();
                    drop(held);
                }
                Fate::DroppedBefore => {
                    drop(pool.submit(body).unwrap());
                    drop(held);
                }
                Fate::DroppedAfter => {
                    let task = pool.submit(body).unwrap();
                    drop(held);
                    task.wait();
                    drop(task);
                }
                Fate::Joined | Fate::Awaited => {
                    let task = pool.submit(body).unwrap();
                    drop(held);
                    let joined = if matches!(fate, Fate::Joined) {
                        task.join()
                    } else {
                        block_on(task)
                    };
                    let error = joined.unwrap_err();
                    assert!(error.is_panic());
                    // The payload is the test's now, and so is its bomb.
                    assert!(catch_unwind(AssertUnwindSafe(|| drop(error))).is_err());
                }
                Fate::Cancelled => {
                    let (begun, has_begun) = std::sync::mpsc::channel();
                    let (open, gate) = std::sync::mpsc::channel::<()>();
                    let task = pool
                        .submit(move || {
                            begun.send(()).unwrap();
                            let _ = gate.recv();
                            body();
                        })
                        .unwrap();
                    drop(held);
                    has_begun.recv().unwrap();
                    assert_eq!(task.cancel(), Cancel::Signalled);
                    drop(open);
                }
                Fate::RefOnly => {
                    let task = pool.submit(body).unwrap();
                    let left = task.task_ref();
                    drop(task);
                    drop(held);
                    until("the task ends", || left.status() == punctual::Status::Panicked);
                    drop(left);
                }
            }
            assert!(pool.wait_idle(LONG), "{fate:?}");
            assert_all_workers_work(&pool, 2);
        }
        let stats = pool.stats();
        assert_eq!((stats.panicked, stats.cancelled), (6, 1));
        let unread = if with_sink { 4 } else { 0 };
        until("the sink was told of each unread failure", || {
            told.load(SeqCst) == unread
        });
        assert_all_settled(&stats);
    }
}

#[test]
fn fault_05_captures_whose_drop_panics_fail_only_their_task() {
    let pool = single();
    let task = pool
        .submit({
            let bomb = Bomb;
            move || drop(bomb)
        })
        .unwrap();
    assert!(task.join().unwrap_err().is_panic(), "dropped by the body");

    let held = hold(&pool);
    let captured = |big: bool| {
        let (bomb, bulk) = (Bomb, [0_u64; 16]);
        move || {
            let _keep = &bomb;
            assert!(!big || bulk[0] == 0);
        }
    };
    let task = pool.submit(captured(false)).unwrap();
    assert_eq!(task.cancel(), Cancel::Removed);
    drop(pool.submit(captured(true)).unwrap());
    for _ in 0..2 {
        let small = Bomb;
        pool.execute(move || drop(small)).unwrap();
    }
    let unrun = pool.drain();
    assert_eq!(unrun.len(), 3);
    drop(unrun);
    let small = Bomb;
    pool.execute(move || drop(small)).unwrap();
    let refused = {
        pool.shutdown();
        pool.submit(captured(false)).unwrap_err()
    };
    assert!(
        catch_unwind(AssertUnwindSafe(|| drop(refused))).is_err(),
        "given back: the caller's to drop"
    );
    drop(held);
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!(
        (stats.panicked, stats.cancelled, stats.returned, stats.finished),
        (2, 1, 3, 1)
    );
}

#[test]
fn fault_05_a_result_whose_drop_panics_fails_nobody() {
    let pool = pool_of(2).build().unwrap();
    for fate in FATES {
        let held = [hold(&pool), hold(&pool)];
        let task = pool.submit(|| Bomb).unwrap();
        match fate {
            Fate::NoHandle => {
                drop(task);
                pool.task(|| Bomb).name("bomb").execute().unwrap();
                drop(held);
            }
            Fate::DroppedBefore => {
                drop(task);
                drop(held);
            }
            Fate::DroppedAfter => {
                drop(held);
                task.wait();
                drop(task);
            }
            Fate::Joined | Fate::Awaited => {
                drop(held);
                let value = if matches!(fate, Fate::Joined) {
                    task.join()
                } else {
                    block_on(task)
                };
                std::mem::forget(value.unwrap());
            }
            Fate::Cancelled => {
                let (begun, has_begun) = std::sync::mpsc::channel();
                let (open, gate) = std::sync::mpsc::channel::<()>();
                let running = pool
                    .submit(move || {
                        begun.send(()).unwrap();
                        let _ = gate.recv();
                        Bomb
                    })
                    .unwrap();
                drop((held, task));
                has_begun.recv().unwrap();
                assert_eq!(running.cancel(), Cancel::Signalled);
                drop(open);
            }
            Fate::RefOnly => {
                let left = task.task_ref();
                drop(task);
                drop(held);
                until("the task ends", || left.status() == punctual::Status::Finished);
                drop(left);
            }
        }
        assert!(pool.wait_idle(LONG), "{fate:?}");
        assert_all_workers_work(&pool, 2);
    }
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.hook_panics), (0, 0));
    assert_all_settled(&stats);
}

/// In its `Drop` *another* thread uses every verb that takes a lock, and the drop waits for it: a lock held by the
/// dropping thread shows as a hang.
struct UsesPoolElsewhere {
    pool: Pool,
    dropped: Arc<AtomicUsize>,
}

impl Drop for UsesPoolElsewhere {
    fn drop(&mut self) {
        let pool = self.pool.clone();
        let user = std::thread::spawn(move || {
            let task = pool.submit(|| ()).unwrap();
            pool.execute(|| ()).unwrap();
            task.cancel();
            assert!(format!("{pool:?}").contains("submitted"));
            let _ = pool.wait_idle(std::time::Duration::ZERO);
            drop(pool.drain());
            pool.stats().submitted
        });
        assert!(user.join().expect("no verb panics") >= 2);
        self.dropped.fetch_add(1, SeqCst);
    }
}

#[test]
fn fault_05_no_lock_is_held_while_user_code_is_dropped() {
    let dropped = in_time(|| {
        let pool = pool_of(2).build().unwrap();
        let dropped = Arc::new(AtomicUsize::new(0));
        let probe = || UsesPoolElsewhere {
            pool: pool.clone(),
            dropped: dropped.clone(),
        };
        // One probe at a time: each drains the pool, and would take the next one's task out.
        let gone = |count: usize| {
            until("the probe is dropped", || dropped.load(SeqCst) == count);
            assert!(pool.wait_idle(LONG));
        };
        // Captures: dropped by the body, by cancel, with an `Unrun`.
        let capture = probe();
        pool.submit(move || drop(capture)).unwrap().join().unwrap();
        gone(1);
        let (capture, bulk) = (probe(), [1_u64; 32]);
        drop(pool.submit(move || drop((capture, bulk))).unwrap());
        gone(2);
        let held = [hold(&pool), hold(&pool)];
        let capture = probe();
        let task = pool.submit(move || drop(capture)).unwrap();
        assert_eq!(task.cancel(), Cancel::Removed);
        let capture = probe();
        pool.execute(move || drop(capture)).unwrap();
        drop(pool.drain());
        drop(held);
        gone(4);
        // Results: dropped by the worker, by the handle, by the last reference, by a signalled task.
        let result = probe();
        drop(pool.submit(move || result).unwrap());
        gone(5);
        let result = probe();
        let task = pool.submit(move || result).unwrap();
        task.wait();
        drop(task);
        gone(6);
        let result = probe();
        let task = pool.submit(move || result).unwrap();
        let left = task.task_ref();
        drop(task);
        assert!(pool.wait_idle(LONG));
        drop(left);
        gone(7);
        let result = probe();
        let (begun, has_begun) = std::sync::mpsc::channel();
        let task = pool
            .submit(move || {
                begun.send(()).unwrap();
                let _ = punctual::task::sleep(LONG);
                result
            })
            .unwrap();
        has_begun.recv().unwrap();
        assert_eq!(task.cancel(), Cancel::Signalled);
        gone(8);
        // A payload, unread.
        let payload = probe();
        let task = pool.submit(move || resume_unwind(Box::new(payload))).unwrap();
        task.wait();
        drop(task);
        gone(9);
        assert_all_settled(&pool.stats());
        dropped.load(SeqCst)
    });
    assert_eq!(dropped, 9);
}
