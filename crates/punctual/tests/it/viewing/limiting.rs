//! At most n at a time, and really n.

use super::{Meter, Notes, hold_in, pool_of};
use crate::support::{LONG, assert_all_settled, hold, in_time, quiet_panic, until};
use punctual::{Executor, Outcome, Pool, Queue, Status};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};
use std::sync::{Arc, Barrier};

#[test]
fn kot_22_a_panic_inside_a_view_reaches_the_sink_and_view_and_worker_go_on() {
    let told = Arc::new(AtomicUsize::new(0));
    let count = told.clone();
    let pool = Pool::builder("p")
        .core_threads(1)
        .on_failure(move |_, outcome| {
            assert!(matches!(outcome, Outcome::Panicked(_)));
            count.fetch_add(1, SeqCst);
        })
        .build()
        .unwrap();
    let view = pool.limit(1).unwrap();
    for _ in 0..100 {
        view.execute(|| quiet_panic("in a view")).unwrap();
    }
    assert_eq!(view.submit(|| 7).unwrap().join().unwrap(), 7);
    assert_eq!(told.load(SeqCst), 100);
    assert_eq!(pool.stats().threads_started, 1, "the worker lives");
    assert_eq!((view.view_stats().queued, view.view_stats().taken), (0, 101));
}

#[test]
fn kot_23_a_limit_of_zero_is_an_error_that_says_what_to_do_and_the_largest_is_fine() {
    let pool = pool_of(1);
    let error = pool.limit(0).unwrap_err().to_string();
    assert!(
        error.contains("limit") && error.contains('0') && error.contains("1 or more"),
        "{error}"
    );
    let view = pool.limit(usize::MAX).unwrap();
    assert_eq!(view.submit(|| 7).unwrap().join().unwrap(), 7);
}

/// Many tasks through a view: how many were inside at once.
fn crowd(threads: usize, limit: usize, tasks: usize) -> usize {
    let pool = pool_of(threads);
    let most = crowd_in(&pool, &pool.limit(limit).unwrap(), tasks);
    assert_all_settled(&pool.stats());
    most
}

/// The same of a view that has met before.
fn crowd_in(pool: &Pool, view: &Executor, tasks: usize) -> usize {
    assert!(pool.wait_idle(LONG));
    let before = view.view_stats().taken;
    let meter = Arc::new(Meter::default());
    for _ in 0..tasks {
        let meter = meter.clone();
        view.execute(move || meter.pass(|| std::hint::black_box(())))
            .unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(view.view_stats().taken - before, tasks as u64);
    meter.most()
}

#[test]
fn kot_24_never_more_than_n_of_a_hundred_thousand_run_at_once() {
    for limit in 1..=4 {
        let most = crowd(4, limit, 100_000);
        assert!(most <= limit, "{most} at once in limit({limit})");
    }
}

#[test]
fn kot_24_n_tasks_meet_at_a_barrier_inside_limit_n_a_thousand_times() {
    in_time(|| {
        for n in 1..=4 {
            let pool = pool_of(n + 1);
            meet(&pool.limit(n).unwrap(), n, 1_000);
        }
    });
}

/// So many tasks at a barrier, so often.
fn meet(view: &Executor, n: usize, rounds: usize) {
    for _ in 0..rounds {
        let barrier = Arc::new(Barrier::new(n));
        let tasks: Vec<_> = (0..n)
            .map(|_| {
                let barrier = barrier.clone();
                view.submit(move || barrier.wait().is_leader()).unwrap()
            })
            .collect();
        let leaders = tasks.into_iter().map(|task| task.join().unwrap());
        assert_eq!(leaders.filter(|leads| *leads).count(), 1);
    }
}

#[test]
fn kot_24_a_limit_of_the_blocking_threads_is_kept_and_reached() {
    in_time(|| {
        let pool = Pool::builder("p")
            .core_threads(1)
            .blocking_threads(6)
            .queue(Queue::unbounded())
            .build()
            .unwrap();
        let blocking = pool.blocking().unwrap();
        for n in 1..=4 {
            let view = blocking.limit(n).unwrap();
            meet(&view, n, 100);
            let most = crowd_in(&pool, &view, 10_000);
            assert!(most <= n, "{most} at once in limit({n})");
        }
    });
}

#[test]
fn kot_24_a_full_view_leaves_the_other_workers_to_the_pool() {
    let pool = pool_of(2);
    let view = pool.limit(1).unwrap();
    let held = hold_in(&view);
    let notes = Notes::default();
    for number in 0..10 {
        view.execute(notes.writes(number)).unwrap();
    }
    assert_eq!(
        in_time({
            let task = pool.submit(|| "past them").unwrap();
            move || task.join().unwrap()
        }),
        "past them"
    );
    assert_eq!(notes.read(), [0; 0], "the view's only slot is held");
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..10).collect::<Vec<_>>());
}

#[test]
fn kot_24_a_view_inside_a_view_keeps_both_limits() {
    let pool = pool_of(4);
    let outer = pool.limit(3).unwrap();
    let inner = outer.limit(2).unwrap();
    let (all, some) = (Arc::new(Meter::default()), Arc::new(Meter::default()));
    for number in 0..20_000 {
        let (all, some) = (all.clone(), some.clone());
        if number % 3 == 0 {
            outer.execute(move || all.pass(|| ())).unwrap();
        } else {
            inner.execute(move || all.pass(|| some.pass(|| ()))).unwrap();
        }
    }
    assert!(pool.wait_idle(LONG));
    assert!(
        all.most() <= 3 && some.most() <= 2,
        "{} and {}",
        all.most(),
        some.most()
    );
    assert_eq!((outer.view_stats().taken, outer.view_stats().queued), (20_000, 0));
    let barrier = Arc::new(Barrier::new(3));
    for view in [&inner, &inner, &outer] {
        let barrier = barrier.clone();
        view.execute(move || _ = barrier.wait()).unwrap();
    }
    assert!(pool.wait_idle(LONG), "no slot was lost: three meet");
}

#[test]
fn kot_25_a_view_of_one_is_sequential_with_happens_before_on_any_thread() {
    let pool = pool_of(4);
    let view = pool.limit(1).unwrap();
    let sum = Arc::new(AtomicUsize::new(0));
    for _ in 0..50_000 {
        let sum = sum.clone();
        // In two steps, now and then far apart, and relaxed: what orders them is the view.
        let add = move || {
            let before = sum.load(Relaxed);
            if before.is_multiple_of(64) {
                std::thread::yield_now();
            }
            sum.store(before + 1, Relaxed);
        };
        view.execute(add).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(sum.load(Relaxed), 50_000);
    // Two tasks of the view on two threads: of each other worker's time somebody else disposes.
    let (two, thread) = (pool_of(2), || std::thread::current().id());
    let view = two.limit(1).unwrap();
    let first = hold(&two);
    let one = view.submit(thread).unwrap().join().unwrap();
    let second = hold(&two);
    drop(first);
    let other = view.submit(thread).unwrap().join().unwrap();
    assert_ne!(one, other);
    drop(second);
    // And what waits for something else does not keep the others out.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let late = pool.submit(move || gate.recv().is_ok()).unwrap();
    let waits = view.spawn(late).unwrap();
    until("it waits", || waits.task_ref().status() == Status::Suspended);
    assert_eq!(view.submit(|| 7).unwrap().join().unwrap(), 7);
    drop(open);
    assert!(!waits.join().unwrap().unwrap());
}

#[test]
fn kot_27_a_view_whose_last_task_has_ended_leaves_nothing_behind_in_the_pool() {
    let pool = pool_of(2);
    let view = pool.limit(1).unwrap();
    for _ in 0..100 {
        view.execute(|| ()).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!(
        (stats.submitted, stats.taken),
        (100, 100),
        "no pump of its own was counted"
    );
    // Nor is anybody woken: while one of two workers is at the view's last task, the other sleeps on. (Now and then one is called
    // to give memory back that other pools have left, and while other tests leave much of it more often: one time in peace is enough.)
    let is_left_in_peace = (0..10).any(|_| {
        let in_vain = pool.stats().spurious_wakeups;
        for _ in 0..50 {
            until("both sleep", || pool.stats().idle == 2);
            let held = hold_in(&view);
            let parks = pool.stats().parks;
            drop(held);
            until("its worker sleeps", || pool.stats().parks > parks);
        }
        pool.stats().spurious_wakeups - in_vain < 25
    });
    assert!(is_left_in_peace, "somebody was woken for nothing, ten times over");
    assert!(pool.close().terminated, "and nothing is waited for");
    assert!(view.execute(|| ()).unwrap_err().is_shutdown());
}

#[test]
fn kot_33_a_limit_above_the_pools_behaves_like_the_pool_and_stays_when_that_grows() {
    let pool = Pool::builder("web")
        .core_threads(1)
        .max_threads(1)
        .queue(Queue::bounded(100))
        .build()
        .unwrap();
    let view = pool.limit(2).unwrap();
    assert_eq!(view.submit(|| 7).unwrap().join().unwrap(), 7);
    pool.resize(4, 4).unwrap();
    let (one, two) = (hold_in(&view), hold_in(&view));
    let third = view.submit(|| ()).unwrap();
    assert_eq!(
        pool.submit(|| 8).unwrap().join().unwrap(),
        8,
        "a third worker is free"
    );
    assert!(!third.is_finished(), "and the view's limit still two");
    drop((one, two));
    third.join().unwrap();
}

#[test]
fn kot_33_names_compose() {
    let pool = Pool::builder("web").core_threads(1).build().unwrap();
    let database = pool.limit(4).unwrap().named("database");
    let names = [
        pool.view_stats().name,
        pool.limit(4).unwrap().view_stats().name,
        database.view_stats().name,
        database.sequential().view_stats().name,
        database.keyed(7).limit(2).unwrap().view_stats().name,
        pool.lane().view_stats().name,
        pool.lane().named("mail").view_stats().name,
    ];
    let expected = [
        "web",
        "web/limit(4)",
        "web/limit(4)/database",
        "web/limit(4)/database/sequential",
        "web/limit(4)/database/keyed/limit(2)",
        "web/lane",
        "web/lane/mail",
    ];
    assert_eq!(names.map(|name| name.to_string()), expected);
}

#[test]
fn trap_57_a_limit_is_a_subset_of_the_pool_and_adds_no_threads() {
    let pool = pool_of(2);
    let views: Vec<_> = (0..10).map(|_| pool.limit(5).unwrap()).collect();
    for view in &views {
        for _ in 0..100 {
            view.execute(|| ()).unwrap();
        }
    }
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!((stats.threads_started, stats.spare), (2, 0));
}

#[test]
fn trap_59_no_slot_is_lost_to_panics_cancels_or_refusals() {
    let pool = Pool::builder("p")
        .core_threads(2)
        .queue(Queue::bounded(4))
        .build()
        .unwrap();
    let view = pool.limit(2).unwrap();
    for round in 0..2_000 {
        // Some are refused by a full pool, some panic, some are cancelled on the way.
        let tasks: Vec<_> = (0..8)
            .filter_map(|number| {
                view.submit(move || {
                    if (round + number) % 3 == 0 {
                        quiet_panic("now and then");
                    }
                })
                .ok()
            })
            .collect();
        for (index, task) in tasks.into_iter().enumerate() {
            if index % 2 == 0 {
                let _ = task.cancel();
            }
            let _ = task.join();
        }
    }
    until("quiet", || {
        view.view_stats().queued + view.view_stats().active == 0
    });
    let barrier = Arc::new(Barrier::new(2));
    let meet = |barrier: Arc<Barrier>| view.submit(move || _ = barrier.wait()).unwrap();
    let (one, two) = (meet(barrier.clone()), meet(barrier));
    in_time(move || {
        one.join().unwrap();
        two.join().unwrap();
    });
    assert_all_settled(&pool.stats());
}
