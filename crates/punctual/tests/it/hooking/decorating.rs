//! Context captured at submission, on the submitter, and put round the run, on whoever runs it.

use super::{Steps, by_the_caller, in_every_way, one_thread, small};
use crate::life::settle;
use crate::support::{Dropped, assert_all_settled, hold};
use punctual::{Clock, Pool, PoolBuilder, Queue, Reject};
use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::thread;

/// A decorator that notes its three moments under a name.
fn named(builder: PoolBuilder, name: &'static str, steps: &Steps) -> PoolBuilder {
    let (capture, around) = noting(name, steps);
    builder.decorate(capture, around)
}

fn noting(
    name: &'static str,
    steps: &Steps,
) -> (
    impl Fn() -> &'static str + Send + Sync + 'static + use<>,
    impl Fn(&mut &'static str, &mut dyn FnMut()) + Send + Sync + 'static + use<>,
) {
    let (captured, round) = (steps.clone(), steps.clone());
    (
        move || {
            captured.add(format!("capture {name}"));
            name
        },
        move |context, run| {
            round.add(format!("enter {context}"));
            run();
            round.add(format!("leave {context}"));
        },
    )
}

#[test]
fn hook_07_a_decorator_covers_every_way_to_submit() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = named(small(&clock), "it", &steps).build().unwrap();
    let expected = ["capture it", "enter it", "body", "leave it"];
    let check = |way: &str| assert_eq!(steps.take(), expected, "{way}");
    in_every_way(&clock, &pool, &steps, check);
    by_the_caller(&clock, &pool, &steps, check);
    assert_all_settled(&pool.stats());
}

#[test]
fn hook_07_a_join_that_runs_its_task_in_place_is_decorated_too() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = named(small(&clock), "it", &steps).build().unwrap();
    let (own, body) = (pool.clone(), steps.body());
    let outer = pool.submit(move || own.submit(body).unwrap().join());
    outer.unwrap().join().unwrap().unwrap();
    settle(&clock);
    let inner = ["capture it", "enter it", "body", "leave it"];
    assert_eq!(steps.take()[2..6], inner, "inside the outer one");
}

thread_local!(static USER: Cell<u32> = const { Cell::new(0) });

#[test]
fn hook_07_capture_runs_on_the_submitter_and_around_on_the_worker() {
    let clock = Clock::manual();
    let pool = one_thread(&clock)
        .decorate(
            || (USER.get(), thread::current().id()),
            |(user, _), run| {
                USER.set(*user);
                run();
                USER.set(0);
            },
        )
        .build()
        .unwrap();
    let submitters: Vec<_> = (1..=3)
        .map(|user| {
            let pool = pool.clone();
            thread::spawn(move || {
                USER.set(user);
                let task = pool.submit(|| (USER.get(), thread::current().id())).unwrap();
                let (seen, ran_at) = task.join().unwrap();
                assert_eq!(seen, user);
                assert_ne!(ran_at, thread::current().id());
            })
        })
        .collect();
    for submitter in submitters {
        submitter.join().unwrap();
    }
    let outside = pool.submit(|| USER.get()).unwrap();
    assert_eq!(outside.join().unwrap(), 0, "nothing stays behind on the worker");
}

#[test]
fn hook_07_each_task_has_a_context_of_its_own() {
    let clock = Clock::manual();
    let next = AtomicUsize::new(0);
    let (tell, told) = std::sync::mpsc::channel();
    let pool = one_thread(&clock)
        .decorate(
            move || next.fetch_add(1, SeqCst),
            move |number, run| {
                run();
                // The context may be changed: it is this task's alone.
                *number += 100;
                tell.send(*number).unwrap();
            },
        )
        .build()
        .unwrap();
    let jobs: Vec<fn()> = vec![|| (), || (), || ()];
    pool.execute_all(jobs).unwrap();
    settle(&clock);
    assert_eq!(told.try_iter().collect::<Vec<_>>(), [100, 101, 102]);
}

#[test]
fn hook_07_a_future_submission_captures_where_it_was_made() {
    let clock = Clock::manual();
    let pool = one_thread(&clock)
        .decorate(
            || USER.get(),
            |user, run| {
                USER.set(*user);
                run();
            },
        )
        .build()
        .unwrap();
    USER.set(7);
    let submission = pool.submit_async(|| USER.get());
    USER.set(8);
    let task = thread::spawn(move || crate::support::block_on(submission).unwrap());
    assert_eq!(task.join().unwrap().join().unwrap(), 7);
}

#[test]
fn hook_07_the_first_registered_is_the_outermost() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let mut builder = small(&clock);
    for name in ["first", "second", "third"] {
        builder = named(builder, name, &steps);
    }
    let pool = builder.build().unwrap();
    pool.submit(steps.body()).unwrap().join().unwrap();
    settle(&clock);
    let captures = ["capture first", "capture second", "capture third"];
    let enters = ["enter first", "enter second", "enter third", "body"];
    let leaves = ["leave third", "leave second", "leave first"];
    assert_eq!(steps.take(), [&captures[..], &enters, &leaves].concat());
}

#[test]
fn hook_07_decorators_are_inside_the_hooks() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let (before, after) = (steps.clone(), steps.clone());
    let pool = named(small(&clock), "it", &steps)
        .before_task(move |_| before.add("before"))
        .after_task(move |_, _| after.add("after"))
        .build()
        .unwrap();
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    assert_eq!(
        steps.take(),
        ["capture it", "before", "enter it", "body", "leave it", "after"]
    );
}

#[test]
fn hook_07_the_same_key_replaces_in_its_old_place_and_another_adds() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let (old_capture, old_around) = noting("old", &steps);
    let (new_capture, new_around) = noting("new", &steps);
    let (last_capture, last_around) = noting("last", &steps);
    let builder = small(&clock).decorate_keyed("user", old_capture, old_around);
    let builder = named(builder, "plain", &steps);
    let pool = builder
        .decorate_keyed("other", last_capture, last_around)
        .decorate_keyed("user", new_capture, new_around)
        .build()
        .unwrap();
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    let steps = steps.take();
    assert_eq!(steps[..3], ["capture new", "capture plain", "capture last"]);
    assert_eq!(steps[3..6], ["enter new", "enter plain", "enter last"]);
}

#[test]
fn hook_07_a_key_can_be_taken_out_again() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let (capture, around) = noting("gone", &steps);
    let builder = small(&clock).decorate_keyed("user", capture, around);
    let pool = named(builder, "stays", &steps)
        .undecorate("user")
        .undecorate("never there")
        .build()
        .unwrap();
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    assert_eq!(
        steps.take(),
        ["capture stays", "enter stays", "body", "leave stays"]
    );
}

#[test]
fn rea_14_a_decorator_that_is_taken_out_or_replaced_is_dropped_and_the_rest_keep_their_order() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let drops = Arc::new(AtomicUsize::new(0));
    let mut builder = small(&clock);
    for (key, name) in [("a", "first"), ("b", "second"), ("c", "third"), ("d", "fourth")] {
        let (capture, around) = noting(name, &steps);
        let held = Dropped(drops.clone());
        let around = move |context: &mut &'static str, run: &mut dyn FnMut()| {
            let _held = &held;
            around(context, run);
        };
        builder = builder.decorate_keyed(key, capture, around);
    }
    let builder = builder.undecorate("a").undecorate("a").undecorate("unknown");
    assert_eq!(drops.load(SeqCst), 1, "taken out");
    let (capture, around) = noting("new third", &steps);
    let builder = builder.decorate_keyed("c", capture, around);
    assert_eq!(drops.load(SeqCst), 2, "replaced");
    // One that comes again is the last.
    let (capture, around) = noting("new first", &steps);
    let pool = builder.decorate_keyed("a", capture, around).build().unwrap();
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    let entered = [
        "enter second",
        "enter new third",
        "enter fourth",
        "enter new first",
    ];
    assert_eq!(steps.take()[4..8], entered);
    drop(pool);
    assert_eq!(drops.load(SeqCst), 4, "and the others with their pool");
}

#[test]
fn rea_14_all_of_them_can_be_taken_out() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let mut builder = small(&clock);
    for key in ["a", "b"] {
        let (capture, around) = noting(key, &steps);
        builder = builder.decorate_keyed(key, capture, around);
    }
    let pool = builder.undecorate("b").undecorate("a").build().unwrap();
    pool.execute(steps.body()).unwrap();
    settle(&clock);
    assert_eq!(steps.take(), ["body"]);
}

#[test]
fn hook_07_a_context_is_dropped_whatever_becomes_of_its_task() {
    let clock = Clock::manual();
    let (made, drops) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (makes, dropped) = (made.clone(), drops.clone());
    let pool = Pool::builder("contexts")
        .core_threads(1)
        .clock(&clock)
        .queue(Queue::bounded(1))
        .decorate(
            move || {
                makes.fetch_add(1, SeqCst);
                Dropped(dropped.clone())
            },
            |_, run| run(),
        )
        .build()
        .unwrap();
    let held = hold(&pool);
    let cancelled = pool.submit(|| ()).unwrap();
    let _ = cancelled.cancel();
    let _queued = pool.submit(|| ()).unwrap();
    drop(pool.submit(|| ()).unwrap_err());
    pool.set_reject(Reject::Discard);
    pool.execute(|| ()).unwrap();
    pool.set_reject(Reject::CallerRuns);
    pool.execute(|| ()).unwrap();
    pool.set_reject(Reject::DiscardOldest);
    pool.execute(|| ()).unwrap();
    drop(pool.drain());
    pool.execute(|| ()).unwrap();
    drop(held);
    drop(cancelled);
    assert!(pool.close().terminated);
    assert_eq!(made.load(SeqCst), 8, "one for each submission");
    drop((_queued, pool));
    assert_eq!(drops.load(SeqCst), 8);
}

#[test]
fn hook_07_a_refused_task_comes_back_without_its_context() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = named(small(&clock), "it", &steps).build().unwrap();
    pool.shutdown();
    let back = pool.submit(steps.body()).unwrap_err();
    assert_eq!(steps.take(), ["capture it"]);
    back.into_task()();
    assert_eq!(steps.take(), ["body"], "the closure itself, and nothing round it");
}

#[test]
fn hook_07_the_batch_of_a_decorated_pool_is_refused_as_a_whole_from_the_first_that_does_not_fit() {
    let clock = Clock::manual();
    let steps = Steps::default();
    let pool = named(small(&clock).on_full(Reject::Abort), "it", &steps)
        .build()
        .unwrap();
    let held = hold(&pool);
    steps.take();
    let back = pool.execute_all((0..3).map(|_| steps.body())).unwrap_err();
    assert!(back.is_full());
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.rejected.full), (1, 2));
    assert_eq!(back.into_task().len(), 2);
    drop(held);
    settle(&clock);
    assert_eq!(steps.take().iter().filter(|step| *step == "body").count(), 1);
}
