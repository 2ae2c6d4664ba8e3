//! At its time and not before; and who is woken for it.

use super::{NANO, Notes, SECOND, at, books, builder, pool, seconds};
use crate::life::{calling, pool_on, settle};
use punctual::{Cancel, Pool, Schedule, Status};
use std::time::{Duration, Instant, SystemTime};

#[test]
fn stpe_01_execute_and_submit_are_as_a_delay_of_zero() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    pool.execute(notes.noting("execute")).unwrap();
    settle(&clock);
    let submitted = pool.submit(notes.noting("submit")).unwrap();
    settle(&clock);
    let delayed = pool.after(Duration::ZERO, notes.noting("after")).unwrap();
    settle(&clock);
    assert!(
        submitted.is_finished() && delayed.is_finished(),
        "no time has passed"
    );
    assert_eq!(notes.take(), ["execute", "submit", "after"]);
    assert_eq!(delayed.task_ref().remaining(), Some(Duration::ZERO));
    let stats = books(&pool);
    assert_eq!((stats.submitted, stats.finished), (3, 3));
}

#[test]
fn stpe_02_a_delayed_task_runs_at_its_time_and_not_before() {
    let (pool, clock) = pool(2);
    let task = pool.task(|| 7).name("later").after(3 * SECOND).unwrap();
    let watcher = task.task_ref();
    assert_eq!(
        (watcher.status(), watcher.name()),
        (Status::Delayed, Some("later"))
    );
    clock.advance(3 * SECOND - NANO);
    assert_eq!(
        (watcher.status(), books(&pool).pending_timers),
        (Status::Delayed, 1)
    );
    clock.advance(NANO);
    assert_eq!(watcher.status(), Status::Finished);
    assert_eq!(task.join().unwrap(), 7);
    let stats = books(&pool);
    assert_eq!((stats.submitted, stats.finished, stats.pending_timers), (1, 1, 0));
    assert_eq!((stats.lateness.count(), stats.queued), (1, 0));
}

#[test]
fn stpe_02_a_task_for_an_instant_runs_when_the_wall_shows_it() {
    let (pool, clock) = pool(2);
    let direct = pool.at(at(3), || 7).unwrap();
    let built = pool.task(|| 8).name("appointment").at(at(3)).unwrap();
    assert_eq!(direct.task_ref().remaining(), Some(3 * SECOND));
    clock.advance(3 * SECOND - NANO);
    assert_eq!(direct.task_ref().remaining(), Some(NANO));
    assert_eq!(books(&pool).pending_timers, 2);
    clock.advance(NANO);
    assert_eq!((direct.join().unwrap(), built.join().unwrap()), (7, 8));
}

#[test]
fn stpe_02_a_schedule_does_not_begin_before_its_initial_delay() {
    let (pool, clock) = pool(1);
    let every = Schedule::every(SECOND).starting_in(5 * SECOND);
    let pause = Schedule::with_delay(SECOND).starting_in(5 * SECOND);
    let schedules = [every, pause].map(|schedule| pool.schedule(schedule, |_| ()).unwrap());
    clock.advance(5 * SECOND - NANO);
    assert!(schedules.iter().all(|schedule| schedule.stats().runs == 0));
    clock.advance(NANO);
    assert!(schedules.iter().all(|schedule| schedule.stats().runs == 1));
}

#[test]
fn stpe_02_on_the_systems_clock_nothing_is_early_either() {
    let pool = Pool::fixed(2).unwrap();
    let begin = Instant::now();
    let delays = (0..200).map(|n| Duration::from_millis(n % 20));
    let tasks: Vec<_> = delays
        .map(|delay| (delay, pool.after(delay, Instant::now).unwrap()))
        .collect();
    for (delay, task) in tasks {
        assert!(task.join().unwrap() - begin >= delay);
    }
    assert_eq!(pool.stats().pending_timers, 0);
}

#[test]
fn stpe_10_an_absurd_delay_saturates() {
    let (pool, clock) = pool(1);
    let never = [
        pool.after(Duration::MAX, || ()).unwrap(),
        pool.after(Duration::from_secs(u64::MAX), || ()).unwrap(),
        pool.after(Duration::from_nanos(u64::MAX), || ()).unwrap(),
    ];
    let soon = pool.after(SECOND, || 1).unwrap();
    clock.advance(SECOND);
    assert_eq!(soon.join().unwrap(), 1, "order is not disturbed");
    clock.advance(Duration::from_secs(100 * 365 * 86_400));
    assert_eq!(books(&pool).pending_timers, 3, "a century later they still wait");
    for task in never {
        assert!(task.task_ref().remaining().unwrap() > SECOND);
        assert_eq!(task.cancel(), Cancel::Removed);
    }
}

#[test]
fn stpe_10_an_instant_beyond_the_clocks_horizon_does_not_come() {
    let (pool, clock) = pool(1);
    // Six thousand years.
    let far = SystemTime::UNIX_EPOCH + Duration::from_secs(200_000_000_000);
    let never = pool.at(far, || ()).unwrap();
    let soon = pool.at(at(1), || 1).unwrap();
    clock.advance(3_600 * SECOND);
    assert_eq!(soon.join().unwrap(), 1);
    assert_eq!(never.task_ref().status(), Status::Delayed);
    assert_eq!(never.cancel(), Cancel::Removed);
}

#[test]
fn stpe_10_a_schedule_that_never_starts_can_be_cancelled() {
    let (pool, clock) = pool(1);
    let never = pool
        .schedule(Schedule::with_delay(Duration::MAX).starting_in(SECOND), |_| ())
        .unwrap();
    clock.advance(1_000_000 * SECOND);
    assert_eq!(never.stats().runs, 1, "the second one is beyond the horizon");
    let far = Schedule::every(Duration::from_secs(u32::MAX.into())).starting_in(1_000_000 * SECOND);
    let far = pool.schedule(far, |_| ()).unwrap();
    assert_eq!(far.cancel(), Cancel::Removed);
}

#[test]
fn dq_01_what_is_not_due_is_not_taken_and_a_limited_wait_for_it_ends_in_time() {
    let (pool, clock) = pool(1);
    let waiters = pool_on(&clock, 1);
    let mut task = pool.after(20 * SECOND, || 1).unwrap();
    let (_, answer) = calling(&waiters, move || {
        let waited = task.join_timeout(5 * SECOND);
        (waited.is_err_and(|error| error.is_timeout()), task)
    });
    clock.advance(5 * SECOND - NANO);
    assert!(answer.try_recv().is_err(), "it still waits");
    clock.advance(NANO);
    let (is_timeout, mut task) = answer.try_recv().unwrap();
    assert!(is_timeout);
    assert_eq!(books(&pool).pending_timers, 1);

    let (waiter, answer) = calling(&waiters, move || {
        let waited = task.join_timeout(5 * SECOND);
        (waited.is_err_and(|error| error.is_interrupted()), task)
    });
    settle(&clock);
    assert_eq!(waiter.cancel(), Cancel::Signalled);
    settle(&clock);
    let (is_interrupted, task) = answer.try_recv().unwrap();
    assert!(is_interrupted, "and not a timeout");
    clock.advance(15 * SECOND);
    assert_eq!(task.join().unwrap(), 1);
}

#[test]
fn dq_02_an_earlier_task_takes_the_first_place() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    for delay in [10, 5, 7, 1] {
        let (notes, wall) = (notes.clone(), clock.clone());
        let note = move || notes.add((delay, seconds(wall.now())));
        drop(pool.after(Duration::from_secs(delay), note).unwrap());
        // Somebody sleeps until the first of them, and must be told of an earlier one.
        settle(&clock);
    }
    clock.advance(20 * SECOND);
    assert_eq!(notes.take(), [(1, 1), (5, 5), (7, 7), (10, 10)]);
}

#[test]
fn dq_07_an_earlier_task_wakes_one_worker_and_a_later_one_nobody() {
    let (builder, clock) = builder(8);
    let pool = builder.prestart(true).build().unwrap();
    let far = pool.after(100 * SECOND, || ()).unwrap();
    settle(&clock);
    let parks = || {
        settle(&clock);
        pool.stats().parks
    };
    let before = parks();
    let later = pool.after(200 * SECOND, || ()).unwrap();
    assert_eq!(parks(), before, "the leader has an earlier one to wait for");
    let earlier = pool.after(50 * SECOND, || ()).unwrap();
    assert_eq!(parks(), before + 1, "the leader, and nobody else");
    for task in [far, later, earlier] {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
}

#[test]
fn dq_07_the_leader_that_runs_a_task_leaves_the_clock_to_another() {
    let (pool, clock) = pool(2);
    let notes = Notes::default();
    let long = pool.after(SECOND, || punctual::task::sleep(10 * SECOND)).unwrap();
    for delay in [2, 3, 4] {
        let (notes, wall) = (notes.clone(), clock.clone());
        let note = move || notes.add(seconds(wall.now()));
        drop(pool.after(delay * SECOND, note).unwrap());
    }
    clock.advance(5 * SECOND);
    assert_eq!(notes.take(), [2, 3, 4], "while the first one runs");
    assert_eq!(long.task_ref().status(), Status::Running);
    clock.advance(6 * SECOND);
    assert_eq!(long.join().unwrap(), Ok(()));
}

#[test]
fn stpe_14_one_of_a_hundred_workers_waits_for_the_time() {
    let (builder, clock) = builder(100);
    let pool = builder.prestart(true).build().unwrap();
    settle(&clock);
    let before = pool.stats().parks;
    let ticks = 1_000;
    let every = Schedule::every(Duration::from_millis(10)).times(ticks);
    let schedule = pool.schedule(every, |_| ()).unwrap();
    clock.advance(10 * SECOND);
    assert_eq!(schedule.stats().runs, ticks);
    // The leader's sleep, and that of the one it leaves the clock to: all of them would be a hundred each time.
    let parks = pool.stats().parks - before;
    assert!(parks <= 3 * ticks, "{parks} sleeps for {ticks} runs");
}
