//! The end of a pool: what lies in a deque is not forgotten.

use super::{gated, inside, pool, within};
use crate::support::{in_time, until};
use punctual::{Executor, Pool};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};

/// A pool of one worker that is held inside a task, which has submitted `n` tasks before.
fn filled(n: usize) -> (Pool, Arc<AtomicUsize>, std::sync::mpsc::Sender<()>) {
    let pool = pool(1);
    let ran = Arc::new(AtomicUsize::new(0));
    let (gate, has_begun, open) = gated();
    let count = ran.clone();
    pool.execute(move || {
        for _ in 0..n {
            let count = count.clone();
            inside().execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
        gate();
    })
    .unwrap();
    has_begun.recv().unwrap();
    (pool, ran, open)
}

#[test]
fn kot_20_close_runs_what_lies_in_the_deques() {
    let (pool, ran, open) = filled(10);
    pool.shutdown();
    drop(open);
    let _ = in_time(move || pool.close());
    assert_eq!(ran.load(SeqCst), 10);
}

#[test]
fn kot_20_a_pool_that_is_closed_right_after_a_thousand_submissions_drops_none() {
    for threads in 1..=7 {
        let pool = pool(threads);
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..1000 {
            let count = ran.clone();
            pool.execute(move || {
                if number % 2 == 0 {
                    let count = count.clone();
                    // Refused if the pool was closed before.
                    if inside_if_open()
                        .is_none_or(|pool| pool.execute(move || _ = count.fetch_add(1, SeqCst)).is_err())
                    {
                        return;
                    }
                }
                count.fetch_add(1, SeqCst);
            })
            .unwrap();
        }
        let stats = in_time(move || {
            let _ = pool.close();
            pool.stats()
        });
        let ran = ran.load(SeqCst) as u64;
        assert!(
            ran >= 1000 - 500 && stats.finished == stats.submitted,
            "{ran} {stats:?}"
        );
        assert_eq!(stats.submitted, 1000 + (ran - 500) / 2);
    }
}

fn inside_if_open() -> Option<Executor> {
    punctual::task::current_executor()
}

#[test]
fn kot_20_after_the_close_a_task_is_refused_from_inside_too() {
    let (pool, _, open) = filled(0);
    let (tell, told) = channel();
    let own = pool.clone();
    let late = pool.submit(move || {
        tell.send(()).unwrap();
        until("it is shut down", || {
            own.stats().state >= punctual::State::Shutdown
        });
        let refused = own.execute(|| ()).expect_err("it is shut down");
        assert!(refused.is_shutdown());
        own.task(|| ()).shared().execute().is_err()
    });
    drop(open);
    told.recv().unwrap();
    pool.shutdown();
    assert!(in_time(|| late.unwrap().join().unwrap()));
}

#[test]
fn kot_20_a_tree_of_63_tasks_and_a_close_is_clean_on_every_kind_of_executor() {
    fn grow(executor: &Executor, depth: u32, ran: Arc<AtomicUsize>) {
        ran.fetch_add(1, SeqCst);
        if depth > 0 {
            for _ in 0..2 {
                let (own, ran) = (executor.clone(), ran.clone());
                executor.execute(move || grow(&own, depth - 1, ran)).unwrap();
            }
        }
    }
    for kind in 0..3 {
        let pool = pool(3);
        let executor = match kind {
            0 => Executor::clone(&pool),
            1 => pool.limit(2).unwrap(),
            _ => pool.blocking().unwrap(),
        };
        let ran = Arc::new(AtomicUsize::new(0));
        grow(&executor, 5, ran.clone());
        drop(executor);
        until("all have run", || ran.load(SeqCst) == 63);
        let _ = in_time(move || pool.close());
        assert_eq!(ran.load(SeqCst), 63, "kind {kind}");
    }
}

#[test]
fn kot_21_a_pool_is_closed_inside_a_worker_of_another_and_they_share_no_thread() {
    let (a, b) = (pool(1), super::pool(1));
    let thread_of_b = in_time({
        let b = b.clone();
        move || b.submit(|| std::thread::current().id()).unwrap().join().unwrap()
    });
    let thread_of_a = within(&a, move |_| {
        let _ = b.close();
        assert_eq!(b.stats().state, punctual::State::Terminated);
        std::thread::current().id()
    });
    assert_ne!(thread_of_a, thread_of_b);
}

/// What a task of one pool submits to another goes there, and not to the deque of the worker that submits.
#[test]
fn kot_21_a_task_of_one_pool_that_submits_to_another_leaves_its_own_deque_alone() {
    let (a, b) = (pool(1), super::pool(1));
    let held = crate::support::hold(&b);
    let (to, of_a) = (b.clone(), a.clone());
    let task = within(&a, move |_| {
        let task = to.submit(|| std::thread::current().id()).unwrap();
        assert_eq!((of_a.stats().queued, of_a.stats().queued_local), (0, 0));
        assert_eq!(
            (to.stats().queued, to.stats().queued_local),
            (1, 0),
            "from outside"
        );
        task
    });
    drop(held);
    let ran_on = in_time(|| task.join().unwrap());
    let thread_of_b = within(&b, |_| std::thread::current().id());
    assert_eq!(ran_on, thread_of_b);
    assert_eq!((a.stats().submitted, b.stats().submitted), (1, 3));
}

#[test]
fn kot_21_worker_names_carry_the_name_of_the_pool() {
    let pool = pool(2);
    let name = within(&pool, |_| std::thread::current().name().unwrap().to_owned());
    assert!(name.starts_with("steal-"), "{name}");
}

#[test]
fn stop_gives_the_tasks_of_deques_back_and_counts_them() {
    let (pool, ran, open) = filled(10);
    let unrun = pool.stop();
    assert_eq!(unrun.len(), 10);
    for task in unrun {
        task.run().unwrap();
    }
    drop(open);
    let stats = in_time(move || {
        let _ = pool.close();
        pool.stats()
    });
    assert_eq!(ran.load(SeqCst), 10);
    assert_eq!((stats.returned, stats.finished, stats.submitted), (10, 1, 11));
}

#[test]
fn stop_meets_workers_that_go_on_submitting_and_nothing_runs_after_it() {
    for _ in 0..50 {
        let pool = pool(2);
        let (accepted, ran) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let barrier = Arc::new(Barrier::new(3));
        for _ in 0..2 {
            let (accepted, ran, barrier) = (accepted.clone(), ran.clone(), barrier.clone());
            let own = pool.clone();
            pool.execute(move || {
                barrier.wait();
                loop {
                    let ran = ran.clone();
                    match own.execute(move || _ = ran.fetch_add(1, SeqCst)) {
                        Ok(()) => accepted.fetch_add(1, SeqCst),
                        Err(_) => return,
                    };
                }
            })
            .unwrap();
        }
        barrier.wait();
        until("they submit", || accepted.load(SeqCst) > 100);
        let unrun = pool.stop();
        let stats = in_time(move || {
            let _ = pool.close();
            pool.stats()
        });
        assert_eq!(unrun.len() + ran.load(SeqCst), accepted.load(SeqCst));
        assert_eq!(stats.returned, unrun.len() as u64);
        assert_eq!(stats.submitted, accepted.load(SeqCst) as u64 + 2);
    }
}

#[test]
fn fjp_08_what_is_drained_from_deques_and_the_shared_queue_was_not_done() {
    let (pool, ran, open) = filled(5);
    let shared = pool.submit(|| ()).unwrap();
    let unrun = pool.drain();
    assert_eq!((unrun.len(), ran.load(SeqCst)), (6, 0));
    assert!(shared.join().unwrap_err().is_cancelled());
    drop((unrun, open));
    let _ = in_time(move || pool.close());
    assert_eq!(ran.load(SeqCst), 0);
}

#[test]
fn the_last_owner_that_goes_inside_a_task_ends_the_pool_after_its_local_tasks() {
    let ran = Arc::new(AtomicUsize::new(0));
    let (tell, told) = channel::<()>();
    let pool = pool(2);
    let own = pool.clone();
    let count = ran.clone();
    pool.execute(move || {
        for _ in 0..100 {
            let (count, tell) = (count.clone(), tell.clone());
            own.execute(move || {
                count.fetch_add(1, SeqCst);
                drop(tell);
            })
            .unwrap();
        }
        drop(own);
    })
    .unwrap();
    drop(pool);
    // Disconnected when the last of them is gone.
    assert!(in_time(move || told.recv()).is_err());
    assert_eq!(ran.load(SeqCst), 100);
}
