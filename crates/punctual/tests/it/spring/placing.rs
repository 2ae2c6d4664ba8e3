//! When and where tasks run.

use crate::delaying::{NANO, Notes, SECOND, at, begin, books, builder, pool, seconds};
use crate::life::{begun, settle};
use punctual::{Cancel, Capacity, Pool, Queue, Schedule, task};
use std::time::{Duration, SystemTime};

#[test]
fn spr_01_a_pool_has_as_many_threads_as_the_machine_and_never_none() {
    let cores = std::thread::available_parallelism().unwrap().get();
    let pool = Pool::builder("default").build().unwrap();
    assert_eq!((pool.size().core, pool.size().max), (cores, cores));
    let refused = Pool::builder("none").max_threads(0).build().unwrap_err();
    assert_eq!(refused.field(), "max_threads");
}

#[test]
fn spr_02_an_instant_that_has_passed_means_at_once() {
    let (pool, clock) = pool(1);
    let past = [begin() - 3_600 * SECOND, SystemTime::UNIX_EPOCH, begin()];
    let tasks = past.map(|when| pool.at(when, || ()).unwrap());
    let before_the_epoch = pool.at(SystemTime::UNIX_EPOCH - SECOND, || ()).unwrap();
    let schedule = pool
        .schedule(Schedule::once_at(SystemTime::UNIX_EPOCH), |_| ())
        .unwrap();
    settle(&clock);
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert!(before_the_epoch.is_finished());
    assert_eq!((schedule.stats().runs, schedule.is_finished()), (1, true));
}

#[test]
fn spr_03_the_delay_is_counted_from_the_pools_own_clock() {
    let (pool, clock) = pool(1);
    clock.advance(100 * SECOND);
    let task = pool.at(at(130), || ()).unwrap();
    assert_eq!(task.task_ref().remaining(), Some(30 * SECOND));
    clock.advance(30 * SECOND - NANO);
    assert_eq!(task.task_ref().remaining(), Some(NANO));
    assert!(!task.is_finished());
    clock.advance(NANO);
    assert!(task.is_finished());
}

#[test]
fn spr_04_a_task_for_now_is_done_on_a_thread_of_the_given_name() {
    let (builder, clock) = builder(1);
    let pool = builder.thread_name("scheduler").build().unwrap();
    let name = || std::thread::current().name().map(String::from);
    let task = pool.at(begin(), name).unwrap();
    settle(&clock);
    assert!(task.is_finished());
    assert_eq!(task.join().unwrap().as_deref(), Some("scheduler-1"));
    let unit = pool.at(begin(), || ()).unwrap();
    settle(&clock);
    assert_eq!(unit.join().unwrap(), ());
}

#[test]
fn spr_15_the_next_run_is_known_until_there_is_none() {
    let (pool, clock) = pool(1);
    let once = pool.schedule(Schedule::once_at(at(5)), |_| ()).unwrap();
    let every = pool.schedule(Schedule::every(10 * SECOND), |_| ()).unwrap();
    assert_eq!(once.next_run(), Some(at(5)));
    clock.advance(5 * SECOND);
    assert_eq!((once.next_run(), every.next_run()), (None, Some(at(10))));
    assert_eq!(every.cancel(), Cancel::Removed);
    assert_eq!(every.next_run(), None);
}

#[test]
fn spr_17_a_decorator_surrounds_every_kind_of_task() {
    let (builder, clock) = builder(1);
    let notes = Notes::default();
    let entered = notes.clone();
    let pool = builder
        .decorate(
            || (),
            move |(), run| {
                entered.add("around");
                run();
            },
        )
        .build()
        .unwrap();
    let check = |what: &str| {
        settle(&clock);
        assert_eq!(notes.take(), ["around"], "{what}");
    };
    pool.execute(|| ()).unwrap();
    check("execute");
    drop(pool.submit(|| ()).unwrap());
    check("submit");
    drop(pool.after(Duration::ZERO, || ()).unwrap());
    check("delayed");
    drop(pool.at(begin(), || ()).unwrap());
    check("at an instant");
    drop(pool.schedule(Schedule::every(SECOND).times(1), |_| ()).unwrap());
    check("fixed rate");
    drop(
        pool.schedule(Schedule::with_delay(SECOND).times(1), |_| ())
            .unwrap(),
    );
    check("fixed delay");
    let trigger = Schedule::trigger(|last| last.completed.is_none().then(begin));
    drop(pool.schedule(trigger, |_| ()).unwrap());
    check("trigger");
    let beside = pool.schedule_overlapping(Schedule::every(SECOND).times(1), 2, |_| ());
    drop(beside.unwrap());
    check("overlapping");
}

#[test]
fn spr_22_the_default_queue_has_its_stated_bound_and_zero_is_a_handoff() {
    let pool = Pool::builder("default").build().unwrap();
    assert!(
        matches!(pool.stats().capacity, Capacity::Bounded(n) if n > 0),
        "a bound, and it can be read"
    );
    assert_eq!(pool.stats().queued, 0, "before its first task");
    let zero = Pool::builder("zero")
        .core_threads(1)
        .queue(Queue::bounded(0))
        .build()
        .unwrap();
    let handoff = Pool::builder("handoff")
        .core_threads(1)
        .queue(Queue::handoff())
        .build()
        .unwrap();
    assert_eq!(zero.stats().capacity, handoff.stats().capacity);
    for pool in [zero, handoff] {
        let (running, open) = crate::life::running(&pool, 1);
        assert!(pool.submit(|| ()).unwrap_err().is_full());
        drop(open);
        assert_eq!(running.join().unwrap(), 1);
    }
}

#[test]
fn spr_23_a_second_task_is_refused_where_one_may_run_and_none_may_wait() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::handoff()).build().unwrap();
    let first = begun(&pool, || task::sleep(5 * SECOND));
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    clock.advance(5 * SECOND);
    first.join().unwrap().unwrap();
    settle(&clock);
    assert_eq!(pool.submit(|| 2).unwrap().join().unwrap(), 2);
}

#[test]
fn spr_25_a_fixed_delay_runs_on_any_worker_and_the_handle_follows_its_runs() {
    let (pool, clock) = pool(3);
    let notes = Notes::default();
    let bodies = [0, 1, 2].map(|number| {
        let (notes, wall) = (notes.clone(), clock.clone());
        let body = move |_: &punctual::Run| {
            task::sleep(5 * SECOND).unwrap();
            notes.add((number, seconds(wall.now())));
        };
        pool.schedule(Schedule::with_delay(10 * SECOND).times(2), body)
            .unwrap()
    });
    clock.advance(5 * SECOND);
    let mut first = notes.take();
    first.sort_unstable();
    assert_eq!(first, [(0, 5), (1, 5), (2, 5)], "they do not hold each other up");
    clock.advance(14 * SECOND);
    assert!(
        bodies
            .iter()
            .all(|handle| handle.stats().running == 1 && !handle.is_finished())
    );
    clock.advance(SECOND);
    assert!(
        bodies.iter().all(|handle| handle.is_finished()),
        "when the last run has ended"
    );
    books(&pool);
}
