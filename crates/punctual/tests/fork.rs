//! Fault 25: fork without exec. In the child every call on the parent's pool answers instead of waiting for threads
//! that are not there, and a new pool works. A binary of its own: a fork copies the whole process.

#![cfg(unix)]
#![allow(unsafe_code)]

use punctual::{Cancel, Executor, OnDrop, Pool, Queue, Reason, TaskHandle};
use second::in_fork;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use support::{LONG, hold};

/// A test in a fork of this process.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "shared/second.rs"]
mod second;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "it/support.rs"]
mod support;

/// What the child found wrong is its exit code.
const ALL_WELL: i32 = 0;

fn single(name: &str, on_drop: OnDrop) -> Pool {
    Pool::builder(name)
        .core_threads(1)
        .queue(Queue::unbounded())
        .on_drop(on_drop)
        .build()
        .expect("valid")
}

/// Checks in the child, each with a number of its own.
struct Child {
    pool: Pool,
    others: Vec<Pool>,
    waiting: TaskHandle<u32>,
    cancelled: TaskHandle<u32>,
    ended: TaskHandle<u32>,
}

impl Child {
    fn check(self) -> i32 {
        let Child {
            pool,
            others,
            mut waiting,
            cancelled,
            ended,
        } = self;
        match pool.execute(|| ()) {
            Err(refused) if matches!(refused.reason(), Reason::Forked) => {}
            _ => return 1,
        }
        match pool.submit(|| 5) {
            // The closure comes back, as it does from every refusal.
            Err(refused) if matches!(refused.reason(), Reason::Forked) => {
                assert_eq!(refused.into_task()(), 5)
            }
            _ => return 2,
        }
        if !waiting.join_timeout(LONG).is_err_and(|error| error.is_forked()) {
            return 3;
        }
        if !waiting.join().is_err_and(|error| error.is_forked()) {
            return 4;
        }
        if ended.join().ok() != Some(7) {
            // What had ended before the fork was copied with it.
            return 5;
        }
        if !pool.stop().is_empty() || !pool.drain().is_empty() {
            return 6;
        }
        pool.shutdown();
        if pool.close().terminated || pool.close_timeout(LONG).terminated {
            return 7;
        }
        if pool.await_termination(LONG) || pool.wait_idle(LONG) {
            return 8;
        }
        if !format!("{pool:?}").contains("submitted") {
            return 9;
        }
        if !matches!(cancelled.cancel(), Cancel::Removed | Cancel::TooLate) {
            return 10;
        }
        drop(cancelled);
        drop(pool);
        drop(others);
        new_pool_works(11)
    }
}

fn new_pool_works(wrong: i32) -> i32 {
    let new = Pool::fixed(2).expect("valid");
    let tasks: Vec<_> = (0..500_u64).map(|n| new.submit(move || n * 2)).collect();
    let sum: u64 = tasks.into_iter().filter_map(|task| task.ok()?.join().ok()).sum();
    if sum != 499 * 500 || !new.close().terminated {
        return wrong;
    }
    ALL_WELL
}

/// One test at a time: a fork while another one's threads run is a test of its own.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn fault_25_a_forked_child_gets_answers_and_can_make_its_own_pool() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = single("parent", OnDrop::Close);
    let ended = pool.submit(|| 7).unwrap();
    ended.wait();
    let held = hold(&pool);
    let waiting = pool.submit(|| 1).unwrap();
    let cancelled = pool.submit(|| 3).unwrap();
    // Pools of which the child has the only owner it can drop, in every manner of dropping.
    let others: Vec<Pool> = [OnDrop::Close, OnDrop::Stop, OnDrop::Detach]
        .map(|on_drop| {
            let pool = single("other", on_drop);
            pool.submit(|| ()).unwrap().join().unwrap();
            pool
        })
        .into();
    // The parent's copies must stay as they are: the child gets a bitwise copy of the process, so it may consume
    // its own. In the parent the closure comes back untouched, because `in_fork` runs it in the child only.
    let child = Child {
        pool,
        others,
        waiting,
        cancelled,
        ended,
    };
    let child = std::mem::ManuallyDrop::new(child);
    let code = in_fork(|| {
        // SAFETY: this is the child; its copy is read once.
        let child = unsafe { std::ptr::read(&raw const *child) };
        child.check()
    });
    let child = std::mem::ManuallyDrop::into_inner(child);
    assert_eq!(
        code,
        Some(ALL_WELL),
        "the number is that of the check that failed in the child"
    );

    // The parent goes on as if nothing had been.
    drop(held);
    assert_eq!(child.waiting.join().unwrap(), 1);
    assert_eq!(child.cancelled.join().unwrap(), 3);
    assert_eq!(child.ended.join().unwrap(), 7);
    assert!(child.pool.close().terminated);
    for pool in child.others {
        assert!(pool.close().terminated);
    }
}

#[test]
fn fault_25_awaiting_a_parents_task_in_the_child_is_an_error() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = single("parent", OnDrop::Close);
    let held = hold(&pool);
    let mut awaited = pool.submit(|| 2).unwrap();
    let code = in_fork(|| {
        match Pin::new(&mut awaited).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Err(error)) if error.is_forked() => ALL_WELL,
            Poll::Ready(_) => 31,
            // Nobody is left who would ever wake it.
            Poll::Pending => 32,
        }
    });
    assert_eq!(code, Some(ALL_WELL), "31: another answer; 32: pending, for ever");
    drop(held);
    assert_eq!(awaited.join().unwrap(), 2);
}

/// In the child the task returns, and its thread, the last one there, ends: whoever else held the pool's locks is not there to
/// give them back. The pool's only worker is the one that would like to have a lock to itself.
#[test]
fn fault_25_a_task_that_forks_and_returns_in_the_child_ends_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    for round in 0..60 {
        let pool = single("parent", OnDrop::Close);
        // Its worker's first task: it has not had the lock to itself yet.
        pool.control().pause();
        let child = pool.submit(second::fork).unwrap();
        // Who asks for the place of the last holds the locks for as long as it takes to count.
        let waiting: Vec<_> = (0..2000).map(|_| pool.submit(|| ()).unwrap()).collect();
        let last = waiting.last().unwrap().task_ref();
        let over = Arc::new(AtomicBool::new(false));
        let looking = Arc::new(Barrier::new(3));
        let lookers: Vec<_> = (0..2)
            .map(|_| {
                let (last, over, looking) = (last.clone(), over.clone(), looking.clone());
                std::thread::spawn(move || {
                    looking.wait();
                    while !over.load(SeqCst) {
                        let _ = last.explain();
                    }
                })
            })
            .collect();
        looking.wait();
        pool.control().resume();
        let ended = child.join().unwrap().expect("this is the parent").await_end();
        over.store(true, SeqCst);
        lookers.into_iter().for_each(|looker| looker.join().unwrap());
        assert_eq!(ended, Some(ALL_WELL), "round {round}; none: the child hung");
        assert!(pool.close().terminated);
    }
}

/// A child has no thread that would end a visit that one of its parent's was in the middle of: its pools end all the same.
#[test]
fn fault_25_a_fork_in_the_middle_of_cancels_hangs_no_pool_of_the_child() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Pool::fixed(1).unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..2)
        .map(|_| {
            let (pool, over) = (pool.clone(), over.clone());
            std::thread::spawn(move || {
                while !over.load(SeqCst) {
                    let task = pool.after(LONG, || ()).unwrap();
                    assert_eq!(task.cancel(), Cancel::Removed);
                }
            })
        })
        .collect();
    let parents = pool.after(LONG, || ()).unwrap();
    for _ in 0..20 {
        let code = in_fork(|| {
            if parents.cancel() != Cancel::TooLate {
                return 41;
            }
            for _ in 0..20 {
                let new = Pool::fixed(1).expect("valid");
                let task = new.after(LONG, || ()).expect("it is open");
                if task.cancel() != Cancel::Removed || !new.close().terminated {
                    return 42;
                }
            }
            ALL_WELL
        });
        assert_eq!(code, Some(ALL_WELL), "41: the parent's task; 42: the child's own");
    }
    over.store(true, SeqCst);
    users.into_iter().for_each(|user| user.join().unwrap());
    assert_eq!(parents.cancel(), Cancel::Removed);
    assert!(pool.close().terminated);
}

/// Forks while other threads are in the middle of every verb: what they hold stays held in the child.
#[test]
fn fault_25_a_fork_in_the_middle_of_everything_hangs_nobody() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Pool::fixed(2).unwrap();
    // What is set up once per process is there before the first fork.
    pool.submit(|| ()).unwrap().join().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..2)
        .map(|user| {
            let (pool, over) = (pool.clone(), over.clone());
            std::thread::spawn(move || {
                while !over.load(SeqCst) {
                    let tasks: Vec<_> = (0..200).map(|n| pool.submit(move || n).unwrap()).collect();
                    if user == 0 {
                        tasks.iter().for_each(|task| _ = task.cancel());
                    }
                    drop(tasks);
                    let _ = pool.stats();
                }
            })
        })
        .collect();
    for round in 0..40 {
        let code = in_fork(|| {
            if !matches!(pool.execute(|| ()), Err(refused) if matches!(refused.reason(), Reason::Forked)) {
                return 21;
            }
            if pool.close().terminated || !pool.stop().is_empty() {
                return 22;
            }
            new_pool_works(23)
        });
        if code != Some(ALL_WELL) {
            over.store(true, SeqCst);
            panic!("round {round}: {code:?} (none: the child hung)");
        }
    }
    over.store(true, SeqCst);
    for user in users {
        user.join().unwrap();
    }
}

/// A child whose scope, or `join`, waited for a lock that a thread of the parent held would wait for ever: what it submits runs
/// at once, and takes no lock of the pool.
#[test]
fn a_scope_in_a_forked_child_takes_no_lock_that_the_parent_held() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = Pool::builder("parent")
        .core_threads(2)
        .slow_after(LONG)
        .build()
        .expect("valid");
    let lane = pool.lane();
    let over = Arc::new(AtomicBool::new(false));
    let users: Vec<_> = (0..4)
        .map(|user| {
            let (pool, lane, over) = (pool.clone(), lane.clone(), over.clone());
            std::thread::spawn(move || {
                let place: &Executor = if user == 0 { &pool } else { &lane };
                while !over.load(SeqCst) {
                    place.submit(|| ()).unwrap().join().unwrap();
                }
            })
        })
        .collect();
    let mut found = Some(ALL_WELL);
    for _ in 0..600 {
        found = in_fork(|| scopes_work(&[&pool, &lane]));
        if found != Some(ALL_WELL) {
            break;
        }
    }
    over.store(true, SeqCst);
    users.into_iter().for_each(|user| user.join().unwrap());
    assert_eq!(found, Some(ALL_WELL), "none: the child hung");
}

/// The list of a pool's executors with threads of their own has a lock, which threads of the parent take all the time.
#[test]
fn a_forked_child_closes_a_pool_whose_annexes_are_being_looked_at() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let pool = single("annexed", OnDrop::Detach);
    let _blocking = pool.blocking().expect("valid");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|threads| {
        for _ in 0..3 {
            threads.spawn(|| {
                while !is_over.load(SeqCst) {
                    std::hint::black_box(pool.control().lanes());
                }
            });
        }
        let codes: Vec<_> = (0..60)
            .map(|_| {
                in_fork(|| i32::from(pool.close_timeout(std::time::Duration::from_millis(1)).terminated))
            })
            .take_while(|code| *code == Some(ALL_WELL))
            .collect();
        is_over.store(true, SeqCst);
        assert_eq!(codes.len(), 60, "a child hung");
    });
}

fn throw(payload: u8) {
    std::panic::resume_unwind(Box::new(payload));
}

fn scopes_work(places: &[&Executor]) -> i32 {
    for place in places {
        let mut sum = 0;
        let joined = place.scope(|s| {
            s.execute(|| sum += 1);
            let (five, failed) = (s.submit(|| 5), s.submit(|| throw(6)));
            if !five.is_finished() {
                return None;
            }
            let payload = failed.join().unwrap_err().into_panic().ok()?;
            Some((five.join().ok()?, *payload.downcast::<u8>().ok()?))
        });
        if (sum, joined) != (1, Some((5, 6))) {
            return 51;
        }
        if place.join(|| 1, || 2) != (1, 2) {
            return 52;
        }
        let thrown = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            place.scope(|s| {
                s.execute(|| throw(7));
                drop(s.submit(|| throw(8)));
            });
        }));
        if !thrown.is_err_and(|payload| payload.is::<u8>()) {
            return 53;
        }
    }
    ALL_WELL
}
