//! `time_limit`: running tasks that take too long.

/// Slow tasks, and who is told of them.
mod telling;

use super::{NANO, SECOND, Told, builder};
use crate::support::{LONG, assert_all_settled, hold, in_time, until};
use punctual::task::{self, Token};
use punctual::{Pool, PoolBuilder, Queue, Reject, Schedule};
use std::cell::Cell;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(20);

fn my_token() -> Token {
    task::current().expect("inside a task").token()
}

/// Works, without a wait inside the library, until its token fires; how long that took.
fn works_until_told() -> Duration {
    let (begin, token) = (Instant::now(), my_token());
    while !token.is_cancelled() {
        assert!(begin.elapsed() < LONG, "nobody tells it to stop");
        std::thread::yield_now();
    }
    begin.elapsed()
}

/// Notes the name of each slow task and how long it had run.
fn noting(builder: PoolBuilder) -> (PoolBuilder, Told) {
    let told = Told::default();
    let hook = told.clone();
    let tell = move |task: &punctual::TaskInfo<'_>, ran| {
        hook.tell(format!("{} {ran:?}", task.name.unwrap_or("-")));
    };
    (builder.on_slow(tell), told)
}

#[test]
fn limit_fires_the_token_while_every_worker_is_stuck_and_the_handle_gets_the_value() {
    let pool = Pool::builder("stuck").core_threads(2).build().unwrap();
    let _held = hold(&pool);
    let begin = Instant::now();
    let task = pool.task(works_until_told).time_limit(SHORT).submit().unwrap();
    in_time(move || task.join().unwrap());
    assert!(begin.elapsed() >= SHORT);
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.cancelled), (1, 0), "it is no cancel");
}

#[test]
fn limit_fires_at_its_time_and_not_before() {
    let (builder, clock) = builder(1);
    let pool = builder.build().unwrap();
    let ended = move |clock: &punctual::ManualClock| {
        let (clock, begin) = (clock.clone(), clock.now());
        move || {
            assert!(task::sleep(100 * SECOND).is_err());
            clock.now().duration_since(begin).unwrap()
        }
    };
    let task = pool.task(ended(&clock)).time_limit(5 * SECOND).submit().unwrap();
    clock.advance(5 * SECOND - NANO);
    assert!(!task.is_finished());
    clock.advance(SECOND);
    assert_eq!(task.join().unwrap(), 5 * SECOND);
    // Of a delayed task it counts from its start.
    let task = pool
        .task(ended(&clock))
        .time_limit(SECOND)
        .after(3 * SECOND)
        .unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(task.join().unwrap(), 4 * SECOND);
}

#[test]
fn limit_of_no_time_at_all_fires_at_once_and_one_without_end_never() {
    let (builder, clock) = builder(2);
    let pool = builder.time_limit(Duration::MAX).build().unwrap();
    let sleeps = || task::sleep(1_000 * SECOND).is_ok();
    let at_once = pool.task(sleeps).time_limit(Duration::ZERO).submit().unwrap();
    let never = pool.submit(sleeps).unwrap();
    clock.advance(Duration::ZERO);
    assert!(!at_once.join().unwrap());
    clock.advance(1_000 * SECOND);
    assert!(never.join().unwrap());
}

#[test]
fn limit_of_the_task_replaces_the_pools_shorter_or_longer() {
    let (builder, clock) = builder(3);
    let pool = builder.time_limit(5 * SECOND).build().unwrap();
    let begin = clock.now();
    let body = |clock: punctual::ManualClock| {
        move || {
            let told = task::sleep(100 * SECOND).is_err();
            (told, clock.now().duration_since(begin).unwrap())
        }
    };
    let pools = pool.submit(body(clock.clone())).unwrap();
    let shorter = pool.task(body(clock.clone())).time_limit(2 * SECOND).submit();
    let longer = pool.task(body(clock.clone())).time_limit(9 * SECOND).submit();
    clock.advance(100 * SECOND);
    let told = |after: u32| (true, after * SECOND);
    assert_eq!(shorter.unwrap().join().unwrap(), told(2));
    assert_eq!(pools.join().unwrap(), told(5));
    assert_eq!(longer.unwrap().join().unwrap(), told(9));
}

#[test]
fn limit_holds_for_closures_without_a_handle() {
    let (builder, clock) = builder(1);
    let pool = builder.time_limit(2 * SECOND).build().unwrap();
    let (tell, told) = channel();
    let (begin, now) = (clock.now(), clock.clone());
    let body = move |number: u32| {
        let (tell, now) = (tell.clone(), now.clone());
        move || {
            let was_told = task::sleep(10 * SECOND).is_err();
            let at = now.now().duration_since(begin).unwrap();
            tell.send((number, was_told, at)).unwrap();
        }
    };
    pool.execute(body(1)).unwrap();
    pool.execute_all([body(2)]).unwrap();
    pool.task(body(3)).time_limit(3 * SECOND).execute().unwrap();
    clock.advance(20 * SECOND);
    let times: Vec<_> = told.try_iter().collect();
    assert_eq!(
        times,
        [
            (1, true, 2 * SECOND),
            (2, true, 4 * SECOND),
            (3, true, 7 * SECOND)
        ]
    );
}

#[test]
fn limit_of_a_task_that_runs_in_place_fires_its_own_token_only() {
    let (builder, clock) = builder(1);
    let pool = builder.build().unwrap();
    let inner = pool.clone();
    let parent = pool.submit(move || {
        let child = || task::sleep(100 * SECOND).is_err();
        let child = inner.task(child).time_limit(2 * SECOND).submit().unwrap();
        (child.join().unwrap(), my_token().is_cancelled())
    });
    clock.advance(2 * SECOND - NANO);
    let parent = parent.unwrap();
    assert!(!parent.is_finished());
    clock.advance(NANO);
    assert_eq!(parent.join().unwrap(), (true, false));
}

#[test]
fn limit_of_the_parent_fires_while_a_child_runs_in_place() {
    let (builder, clock) = builder(1);
    let pool = builder.build().unwrap();
    let inner = pool.clone();
    let body = move || {
        let child = inner.submit(|| task::sleep(10 * SECOND).is_ok()).unwrap();
        (child.join().is_ok_and(|slept| slept), my_token().is_cancelled())
    };
    let parent = pool.task(body).time_limit(2 * SECOND).submit().unwrap();
    clock.advance(10 * SECOND);
    let (child_slept, parent_told) = parent.join().unwrap();
    assert!(parent_told);
    assert!(child_slept, "the child has no limit");
}

#[test]
fn limit_holds_for_a_task_that_its_submitter_runs() {
    let pool = Pool::builder("full").core_threads(1).queue(Queue::bounded(1));
    let (pool, told) = noting(pool.time_limit(SHORT).slow_after(SHORT / 2));
    let pool = pool.on_full(Reject::CallerRuns).build().unwrap();
    // Both the worker and the place in the queue are taken.
    let _held = hold(&pool);
    pool.execute(|| ()).unwrap();
    let here = std::thread::current().id();
    let body = move || (std::thread::current().id() == here, works_until_told());
    let begin = Instant::now();
    let task = pool.task(body).name("mine").submit().unwrap();
    let (is_here, _) = task.join().unwrap();
    assert!(is_here && begin.elapsed() >= SHORT);
    until("the hook is told", || {
        told.all().iter().any(|text| text.starts_with("mine "))
    });
}

#[test]
fn limit_of_each_run_of_a_schedule_is_its_own() {
    let (builder, clock) = builder(1);
    let (builder, slow) = noting(builder.time_limit(2 * SECOND).slow_after(SECOND));
    let pool = builder.build().unwrap();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let (notes, now) = (runs.clone(), clock.clone());
    let sleeps = move |run: &punctual::Run| {
        let fresh = !run.token.is_cancelled() && !my_token().is_cancelled();
        let stopped = task::sleep(9 * SECOND).is_err() && run.token.is_cancelled();
        let took = now.now().duration_since(run.actual).unwrap();
        notes.lock().unwrap().push((fresh, stopped, took));
    };
    let every = Schedule::every(10 * SECOND).times(3).named("slow one");
    let handle = pool.schedule(every, sleeps).unwrap();
    clock.advance(100 * SECOND);
    assert_eq!(*runs.lock().unwrap(), [(true, true, 2 * SECOND); 3]);
    assert_eq!((handle.stats().runs, handle.stats().failures), (3, 0));
    assert_eq!(slow.all(), ["slow one 1s"; 3]);
}

#[test]
fn limit_waits_for_a_free_worker_where_there_is_no_spare_thread() {
    let (builder, clock) = builder(1);
    let (builder, slow) = noting(builder.spare_threads(0).slow_after(2 * SECOND));
    let pool = builder.time_limit(4 * SECOND).build().unwrap();
    let long = pool
        .task(|| task::sleep(10 * SECOND).is_ok())
        .name("long")
        .submit();
    let long = long.unwrap();
    let next = pool
        .task(|| task::sleep(1 * SECOND).is_ok())
        .name("next")
        .submit();
    clock.advance(10 * SECOND - NANO);
    assert_eq!((slow.all().len(), pool.stats().keepers), (0, 0));
    clock.advance(20 * SECOND);
    assert!(long.join().unwrap(), "nobody was there to fire its token");
    assert!(next.unwrap().join().unwrap());
    assert!(slow.all().is_empty(), "nothing is told of a task that has ended");
    assert_all_settled(&pool.stats());
}

#[test]
fn limit_is_seen_to_by_an_idle_worker_where_there_is_no_spare_thread() {
    let (builder, clock) = builder(2);
    let (builder, slow) = noting(builder.spare_threads(0));
    let pool = builder
        .time_limit(4 * SECOND)
        .slow_after(2 * SECOND)
        .build()
        .unwrap();
    pool.prestart();
    let long = pool
        .task(|| task::sleep(10 * SECOND).is_err())
        .name("long")
        .submit();
    clock.advance(4 * SECOND);
    assert!(long.unwrap().join().unwrap());
    assert_eq!(slow.all(), ["long 2s"]);
}

thread_local! {
    /// When this thread's task was about to begin.
    static BEGAN: Cell<Option<Instant>> = const { Cell::new(None) };
}

#[test]
fn limits_of_many_tasks_on_the_systems_clock_are_all_kept_and_none_is_early() {
    const TASKS: usize = 60;
    let pool = Pool::builder("many").core_threads(4).queue(Queue::unbounded());
    let (pool, slow) = noting(pool.slow_after(Duration::from_millis(2)));
    // The hook comes before the measuring begins, the body may come long after on a busy machine.
    let pool = pool.before_task(|_| BEGAN.set(Some(Instant::now())));
    let pool = pool.build().unwrap();
    let tasks: Vec<_> = (0..TASKS)
        .map(|number| {
            let limit = Duration::from_millis(4 + number as u64 % 7);
            let body = || {
                works_until_told();
                BEGAN.get().map(|began| began.elapsed())
            };
            (limit, pool.task(body).time_limit(limit).submit().unwrap())
        })
        .collect();
    in_time(move || {
        for (limit, task) in tasks {
            let took = task.join().unwrap().expect("the hook was called");
            assert!(took >= limit, "{took:?} {limit:?}");
        }
    });
    assert!(pool.close().terminated);
    assert_eq!(slow.all().len(), TASKS);
}
