//! A task in a deque is a task like any other.

use super::{Log, gated, inside, pool, with, within};
use crate::support::{LONG, hold, in_time, quiet_panic, until};
use punctual::{Cancel, Capacity, Clock, Pool, Queue, Status, TaskHandle, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;
use std::time::Duration;

/// A pool of one worker that is held inside a task, and the handle of a task that lies in its deque.
fn waiting(pool: &Pool) -> (TaskHandle<u32>, std::sync::mpsc::Sender<()>) {
    let (gate, has_begun, open) = gated();
    let (tell, told) = channel();
    pool.execute(move || {
        tell.send(inside().submit(|| 7).unwrap()).unwrap();
        gate();
    })
    .unwrap();
    has_begun.recv().unwrap();
    (told.recv().unwrap(), open)
}

#[test]
fn fjp_01_after_its_tasks_a_pool_is_quiet_and_still_runs() {
    let pool = pool(2);
    within(&pool, |pool| {
        for _ in 0..100 {
            pool.execute(|| ()).unwrap();
        }
    });
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(
        (stats.queued, stats.active, stats.state),
        (0, 0, punctual::State::Running)
    );
    assert_eq!(stats.finished, 101);
}

#[test]
fn fjp_02_waiting_for_quiet_ends_when_the_last_local_task_has_ended() {
    let pool = pool(1);
    let (task, open) = waiting(&pool);
    assert!(!pool.wait_idle(Duration::from_millis(1)));
    drop(open);
    assert!(pool.wait_idle(LONG));
    assert!(task.is_finished());
    pool.submit(|| ()).unwrap().join().unwrap();
}

#[test]
fn fjp_04_resize_gives_the_old_size_and_refuses_zero() {
    let pool = pool(2);
    let old = pool.resize(3, 3).unwrap();
    assert_eq!((old.core, old.max), (2, 2));
    assert!(pool.resize(0, 0).is_err());
    assert_eq!(pool.stats().size.max, 3);
}

#[test]
fn fjp_05_tasks_that_declare_blocking_complete_with_fixed_parallelism() {
    let pool = pool(1);
    let done = within(&pool, |pool| {
        let (tell, told) = channel();
        pool.execute(move || tell.send(()).unwrap()).unwrap();
        task::blocking_section(|| told.recv_timeout(LONG).is_ok())
    });
    assert!(done);
}

#[test]
fn a_task_in_a_deque_is_cancelled_and_its_closure_dropped_at_once() {
    let pool = pool(1);
    let (task, open) = waiting(&pool);
    let before = pool.stats();
    assert_eq!(task.cancel(), Cancel::Removed);
    let after = pool.stats();
    assert_eq!((before.queued, after.queued, after.cancelled), (1, 0, 1));
    drop(open);
    let _ = in_time(move || pool.close());
    assert!(task.join().unwrap_err().is_cancelled());
}

#[test]
fn a_task_in_a_deque_is_removed_and_explained() {
    let pool = pool(1);
    let (task, open) = waiting(&pool);
    let reference = task.task_ref();
    assert_eq!(reference.status(), Status::Queued);
    assert_eq!(reference.explain().at_most_before(), Some(0));
    assert!(reference.remove());
    assert!(!reference.remove());
    drop(open);
}

#[test]
fn a_task_in_a_deque_expires_in_time() {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::stealing(Capacity::Unbounded))
        .clock(&clock)
        .build()
        .unwrap();
    let (tell, told) = channel();
    let busy = pool
        .submit(move || {
            let quote = inside()
                .task(|| "price")
                .expires_in(Duration::from_secs(5))
                .submit();
            tell.send(quote.unwrap()).unwrap();
            task::sleep(Duration::from_secs(60))
        })
        .unwrap();
    let quote = told.recv().unwrap();
    clock.advance(Duration::from_secs(5));
    assert!(quote.join().unwrap_err().is_expired());
    assert_eq!(pool.stats().expired, 1);
    drop(busy);
    drop(pool.stop());
}

#[test]
fn a_manual_clock_waits_for_local_tasks() {
    let clock = Clock::manual();
    let pool = Pool::builder("p")
        .core_threads(2)
        .queue(Queue::stealing(Capacity::Unbounded))
        .clock(&clock)
        .build()
        .unwrap();
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let handle = pool
        .after(Duration::from_secs(1), move || {
            for _ in 0..100 {
                let count = count.clone();
                inside().execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
            }
        })
        .unwrap();
    clock.advance(Duration::from_secs(1));
    assert_eq!(ran.load(SeqCst), 100);
    handle.join().unwrap();
}

#[test]
fn a_joined_local_task_runs_in_place() {
    let pool = pool(1);
    let (same, value) = within(&pool, |pool| {
        let child = pool.submit(|| (std::thread::current().id(), 7)).unwrap();
        let (thread, value) = child.join().unwrap();
        (thread == std::thread::current().id(), value)
    });
    assert!(same);
    assert_eq!(value, 7);
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.queued), (2, 0));
}

/// Dead records in a deque never exceed the live ones by more than the slack, whoever makes them.
#[test]
fn a_worker_that_submits_and_joins_for_ever_does_not_fill_the_memory() {
    let pool = pool(1);
    let own = pool.clone();
    let most = within(&pool, move |pool| {
        let mut most = 0;
        for number in 0..20_000 {
            assert_eq!(pool.submit(move || number).unwrap().join().unwrap(), number);
            if number % 100 == 0 {
                most = most.max(own.stats().queued_local);
            }
        }
        most
    });
    assert_eq!(most, 0, "what is dead does not count as waiting");
    let _ = pool.close();
    let stats = pool.stats();
    assert_eq!((stats.submitted, stats.finished), (20_001, 20_001));
}

#[test]
fn a_panic_of_a_local_task_stays_in_it() {
    let pool = pool(1);
    let child = within(&pool, |pool| pool.submit(|| quiet_panic("oh")).unwrap());
    assert!(in_time(|| child.join()).unwrap_err().is_panic());
    assert_eq!(within(&pool, |_| 7), 7);
    assert_eq!(pool.stats().panicked, 1);
}

#[test]
fn scoped_tasks_inside_a_worker_all_end_at_the_brace() {
    let pool = pool(2);
    let sum = within(&pool, |pool| {
        let numbers: Vec<usize> = (0..100).collect();
        let sum = AtomicUsize::new(0);
        pool.scope(|scope| {
            for number in &numbers {
                scope.execute(|| _ = sum.fetch_add(*number, SeqCst));
            }
        });
        sum.into_inner()
    });
    assert_eq!(sum, 4950);
}

#[test]
fn nothing_is_taken_from_deques_while_the_pool_is_paused() {
    let pool = pool(2);
    let ran = Arc::new(AtomicUsize::new(0));
    let count = ran.clone();
    let own = pool.clone();
    let seen = within(&pool, move |pool| {
        own.pause();
        let before = own.stats().taken;
        for _ in 0..100 {
            let count = count.clone();
            pool.execute(move || _ = count.fetch_add(1, SeqCst)).unwrap();
        }
        (before, own.stats().taken)
    });
    assert_eq!(seen.0, seen.1);
    until("the worker has nothing to do", || pool.stats().active == 0);
    assert_eq!((ran.load(SeqCst), pool.stats().queued), (0, 100));
    pool.resume();
    assert!(pool.wait_idle(LONG));
    assert_eq!(ran.load(SeqCst), 100);
}

/// A pause is exact: once it has returned, nothing more is taken.
#[test]
fn a_pause_meets_workers_that_take_from_their_deques() {
    let pool = pool(2);
    let own = pool.clone();
    in_time(move || {
        // Not many more: on a crowded machine each turn that is given away takes milliseconds.
        for _ in 0..100 {
            let task = |own: &Pool| {
                let own = own.clone();
                own.clone().execute(move || {
                    for _ in 0..200 {
                        own.execute(|| ()).unwrap();
                    }
                })
            };
            task(&own).unwrap();
            task(&own).unwrap();
            own.pause();
            let taken = own.stats().taken;
            for _ in 0..10 {
                std::thread::yield_now();
            }
            assert_eq!(own.stats().taken, taken);
            own.resume();
            assert!(own.wait_idle(LONG));
        }
    });
    let stats = pool.stats();
    assert_eq!(stats.submitted, stats.finished);
}

#[test]
fn a_worker_that_is_one_too_many_hands_its_tasks_over() {
    let pool = pool(2);
    let held = hold(&pool);
    let log = Log::new();
    let (tasks, own) = ((0..100).map(|n| log.task(n)).collect::<Vec<_>>(), pool.clone());
    within(&pool, move |pool| {
        for task in tasks {
            pool.execute(task).unwrap();
        }
        own.resize(1, 1).unwrap();
    });
    until("it has left", || pool.stats().threads == 1);
    assert_eq!((log.read().len(), pool.stats().queued), (0, 100));
    drop(held);
    assert!(pool.wait_idle(LONG));
    // Their oldest first, now that they lie in the shared queue.
    assert!(log.read().is_sorted());
    assert_eq!(pool.stats().submitted, 102);
}

#[test]
fn what_a_task_submits_in_a_view_of_its_pool_keeps_the_rule_of_the_view() {
    let pool = pool(3);
    let log = Log::new();
    let tasks: Vec<_> = (0..100).map(|number| log.task(number)).collect();
    within(&pool, move |pool| {
        let lane = pool.lane();
        for task in tasks {
            lane.execute(task).unwrap();
        }
    });
    assert!(pool.wait_idle(LONG));
    assert!(log.read().is_sorted());
}

#[test]
fn snapshots_never_contradict_themselves_while_workers_steal() {
    let pool = with(3, Queue::stealing(Capacity::Unbounded));
    let own = pool.clone();
    pool.execute(move || {
        for _ in 0..20_000 {
            own.execute(|| ()).unwrap();
        }
    })
    .unwrap();
    loop {
        let stats = pool.stats();
        let ended = stats.finished + stats.panicked + stats.cancelled + stats.returned;
        assert_eq!(stats.submitted, stats.queued as u64 + stats.active as u64 + ended);
        assert!(stats.queued_local <= stats.queued);
        if stats.finished == 20_001 {
            break;
        }
    }
}

#[test]
fn kot_01_settings_that_cannot_be_are_refused() {
    let build = |core, max, queue| {
        Pool::builder("p")
            .core_threads(core)
            .max_threads(max)
            .queue(queue)
            .build()
    };
    let unbounded = || Queue::stealing(Capacity::Unbounded);
    assert!(build(1, 0, unbounded()).is_err());
    assert!(build(2, 1, unbounded()).is_err());
    assert!(build(1, 1 << 20, Queue::stealing(10)).is_err());
    assert!(
        build(1, 4, unbounded()).is_err(),
        "no more than core would ever start"
    );
    assert!(build(1, 4, Queue::stealing(10)).is_ok());
    let keep_alive = Pool::builder("p").queue(unbounded()).keep_alive(Duration::ZERO);
    assert!(keep_alive.core_timeout(true).build().is_err());
}

/// A worker whose task blocks elsewhere gives its place away; what is blocking does not wait behind what computes.
#[test]
fn kot_07_blocking_work_is_found_while_the_order_of_the_rest_stays() {
    let pool = pool(1);
    let log = Log::new();
    let (first, second) = (log.task(1), log.task(2));
    let held = hold(&pool);
    pool.execute(first).unwrap();
    pool.execute(second).unwrap();
    let blocking = pool.blocking().unwrap().submit(|| 7).unwrap();
    assert_eq!(in_time(|| blocking.join().unwrap()), 7);
    assert!(log.read().is_empty());
    drop(held);
    let _ = pool.close();
    assert_eq!(log.read(), [1, 2]);
}
