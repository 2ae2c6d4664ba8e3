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
    for (core, max) in [(0, 0), (4, 0), (usize::MAX, usize::MAX)] {
        assert!(pool.resize(core, max).is_err());
        let size = pool.stats().size;
        assert_eq!((size.core, size.max), (3, 3), "nothing has changed");
    }
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
                let accepted = own.clone().execute(move || {
                    for _ in 0..200 {
                        own.execute(|| ()).unwrap();
                    }
                });
                accepted.unwrap();
            };
            task(&own);
            task(&own);
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

/// Blocking work is found at once, by a thread that takes none of what waits in deques: the order there stays.
#[test]
fn kot_07_blocking_work_is_found_while_the_order_of_the_rest_stays() {
    let pool = pool(1);
    let log = Log::new();
    let (tasks, seen): (Vec<_>, _) = ((1..=3).map(|number| log.task(number)).collect(), log.clone());
    let blocking = pool.blocking().unwrap();
    let had_run = within(&pool, move |pool| {
        for task in tasks {
            pool.execute(task).unwrap();
        }
        // The only worker is busy, and waits for nothing that the library knows of.
        let (tell, told) = channel();
        blocking.execute(move || tell.send(()).unwrap()).unwrap();
        told.recv_timeout(LONG)
            .expect("blocking work does not wait for it");
        seen.read()
    });
    assert!(had_run.is_empty(), "{had_run:?}");
    let _ = in_time(move || pool.close());
    assert_eq!(log.read(), [3, 2, 1]);
}

/// The same while the worker is in a blocking section: whoever stands in takes its tasks in the order of a thief.
#[test]
fn kot_07_a_worker_in_a_section_is_stood_in_for_and_its_tasks_are_taken_from_the_oldest() {
    let pool = pool(1);
    let log = Log::new();
    let tasks: Vec<_> = (1..=3).map(|number| log.task(number)).collect();
    within(&pool, move |pool| {
        for task in tasks {
            pool.execute(task).unwrap();
        }
        let (tell, told) = channel();
        pool.execute(move || tell.send(()).unwrap()).unwrap();
        task::blocking_section(|| told.recv_timeout(LONG)).expect("somebody stands in");
    });
    let _ = in_time(move || pool.close());
    assert_eq!(log.read(), [1, 2, 3]);
}

#[test]
fn execute_all_inside_a_worker_goes_to_its_deque() {
    let pool = pool(1);
    let (log, own) = (Log::new(), pool.clone());
    let tasks: Vec<_> = (1..=100).map(|number| log.task(number)).collect();
    let counts = within(&pool, move |executor| {
        let accepted = executor.execute_all(tasks).unwrap();
        (accepted, own.stats().queued, own.stats().queued_local)
    });
    assert_eq!(counts, (100, 100, 100));
    let _ = in_time(move || pool.close());
    let mut ran = log.read();
    // From the newest on, but for those whose fair turn it was.
    assert_eq!(ran[..20], (81..=100).rev().collect::<Vec<_>>());
    ran.sort_unstable();
    assert_eq!(ran, (1..=100).collect::<Vec<_>>());
}

#[test]
fn execute_all_inside_a_worker_of_a_bounded_pool_accepts_what_fits() {
    let pool = with(1, Queue::stealing(3));
    let refused = within(&pool, move |pool| {
        let jobs: Vec<fn()> = vec![|| (); 5];
        pool.execute_all(jobs).unwrap_err().into_task().len()
    });
    assert_eq!(refused, 2);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().finished, 4);
}

/// Looks in vain are counted: a worker that is called for a task that somebody else has meanwhile.
#[test]
fn a_look_that_gets_nothing_is_counted() {
    let pool = pool(2);
    assert!(pool.wait_idle(LONG));
    let before = pool.stats();
    // Nothing is ever stolen: what comes from outside lies in the shared queue.
    pool.submit(|| ()).unwrap().join().unwrap();
    until("a worker has looked at the other's deque", || {
        pool.stats().failed_steals > before.failed_steals
    });
    assert_eq!(pool.stats().steals, 0);
}
