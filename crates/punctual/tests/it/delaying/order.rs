//! Which of several comes first.

use super::{Notes, SECOND, at, books, builder, pool, seconds};
use crate::life::{begun, settle};
use crate::support::Random;
use punctual::{Queue, Schedule, task};
use std::sync::{Arc, Barrier};
use std::time::Duration;

#[test]
fn stpe_08_equal_times_are_taken_in_the_order_of_submission_and_the_rest_is_known() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    for number in 0..1_000_u64 {
        let millis = number * 7_919 % 100;
        let note = notes.noting((millis, number));
        drop(pool.after(Duration::from_millis(millis), note).unwrap());
    }
    let last = pool.after(2 * SECOND, || ()).unwrap();
    assert_eq!(last.task_ref().remaining(), Some(2 * SECOND));
    clock.advance(SECOND);
    assert_eq!(last.task_ref().remaining(), Some(SECOND));
    let order = notes.take();
    assert_eq!(order.len(), 1_000);
    assert!(order.is_sorted());
    clock.advance(2 * SECOND);
    assert_eq!(last.task_ref().remaining(), Some(Duration::ZERO));
    assert_eq!(pool.submit(|| ()).unwrap().task_ref().remaining(), None);
}

#[test]
fn stpe_08_equal_times_of_delays_and_instants_are_taken_in_the_order_of_submission() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    for number in 0..100 {
        let note = notes.noting(number);
        if number % 3 == 0 {
            drop(pool.at(at(5), note).unwrap());
        } else {
            drop(pool.after(5 * SECOND, note).unwrap());
        }
    }
    clock.advance(5 * SECOND);
    assert_eq!(notes.take(), (0..100).collect::<Vec<_>>());
}

#[test]
fn stpe_08_equal_times_of_tasks_and_schedules_are_taken_in_the_order_of_submission() {
    let (pool, clock) = pool(1);
    let notes = Notes::default();
    let repeat = |note: &'static str| {
        let notes = notes.clone();
        let every = Schedule::every(10 * SECOND).starting_in(10 * SECOND);
        pool.schedule(every, move |_| notes.add(note)).unwrap()
    };
    let first = repeat("first");
    drop(pool.after(10 * SECOND, notes.noting("task")).unwrap());
    let second = repeat("second");
    drop(pool.after(10 * SECOND, notes.noting("last")).unwrap());
    drop(pool.after(20 * SECOND, notes.noting("before them")).unwrap());
    clock.advance(10 * SECOND);
    assert_eq!(notes.take(), ["first", "task", "second", "last"]);
    clock.advance(10 * SECOND);
    assert_eq!(
        notes.take(),
        ["before them", "first", "second"],
        "a run gets its time when the one before has ended"
    );
    drop((first, second));
}

#[test]
fn dq_05_tasks_run_in_the_order_of_their_times_each_exactly_then() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::bounded(1)).build().unwrap();
    let notes = Notes::default();
    let mut random = Random::printed("dq_05");
    for number in 0..5_000_u64 {
        let (delay, notes, wall) = (random.below(600), notes.clone(), clock.clone());
        let note = move || notes.add((delay, number, seconds(wall.now())));
        // More than the queue's capacity, and no wait: the store has no bound.
        drop(pool.after(Duration::from_secs(delay), note).unwrap());
    }
    assert!(books(&pool).pending_timers > 4_000);
    clock.advance(600 * SECOND);
    let notes = notes.take();
    assert_eq!(notes.len(), 5_000);
    assert!(notes.is_sorted_by_key(|(delay, number, _)| (*delay, *number)));
    assert!(
        notes.iter().all(|(delay, _, ran)| delay == ran),
        "neither early nor late"
    );
    let stats = books(&pool);
    assert_eq!((stats.rejected.full, stats.finished), (0, 5_000));
}

#[test]
fn dq_06_drain_takes_what_is_due_in_order_and_leaves_the_rest() {
    let (pool, clock) = pool(1);
    let busy = begun(&pool, || task::sleep(10 * SECOND));
    let queued = pool.task(|| ()).name("queued").submit().unwrap();
    let delays = [("third", 3), ("first", 1), ("far", 100), ("second", 2)];
    let tasks = delays.map(|(name, delay)| pool.task(|| ()).name(name).after(delay * SECOND).unwrap());
    clock.advance(5 * SECOND);
    let drained = pool.drain();
    let names: Vec<_> = drained.iter().filter_map(|task| task.name()).collect();
    assert_eq!(names, ["first", "second", "third", "queued"]);
    let stats = books(&pool);
    assert_eq!((stats.pending_timers, stats.queued, stats.returned), (1, 0, 4));
    clock.advance(95 * SECOND);
    assert!(tasks[2].is_finished());
    let ends = tasks.map(|task| task.join().is_ok());
    assert_eq!(ends, [false, false, true, false]);
    assert!(queued.join().unwrap_err().is_cancelled());
    busy.join().unwrap().unwrap();
}

#[test]
fn two_tasks_that_are_due_together_can_meet() {
    let (pool, clock) = pool(2);
    for _ in 0..100 {
        let barrier = Arc::new(Barrier::new(2));
        let tasks =
            [barrier.clone(), barrier].map(|barrier| pool.after(SECOND, move || _ = barrier.wait()).unwrap());
        clock.advance(SECOND);
        assert!(tasks.iter().all(|task| task.is_finished()));
    }
}

#[test]
fn a_due_task_goes_before_the_backlog() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::unbounded()).build().unwrap();
    let notes = Notes::default();
    let sleeper = begun(&pool, || task::sleep(2 * SECOND));
    pool.execute(notes.noting("backlog")).unwrap();
    let due = pool.after(SECOND, notes.noting("due")).unwrap();
    let appointment = pool.at(at(1), notes.noting("due")).unwrap();
    clock.advance(2 * SECOND);
    sleeper.join().unwrap().unwrap();
    assert!(due.is_finished() && appointment.is_finished());
    assert_eq!(notes.take(), ["due", "due", "backlog"]);
}

#[test]
fn after_61_due_tasks_in_a_row_one_of_the_queue_passes() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::unbounded()).build().unwrap();
    let notes = Notes::default();
    let sleeper = begun(&pool, || task::sleep(2 * SECOND));
    for _ in 0..5 {
        pool.execute(notes.noting("queued")).unwrap();
    }
    for _ in 0..200 {
        drop(pool.after(SECOND, notes.noting("due")).unwrap());
    }
    clock.advance(2 * SECOND);
    sleeper.join().unwrap().unwrap();
    let order = notes.take();
    let queued: Vec<_> = (0..order.len())
        .filter(|place| order[*place] == "queued")
        .collect();
    assert_eq!(queued, [61, 123, 185, 203, 204]);
}

#[test]
fn a_pool_that_is_full_takes_due_work_all_the_same() {
    let (builder, clock) = builder(1);
    let pool = builder.queue(Queue::bounded(1)).build().unwrap();
    let sleeper = begun(&pool, || task::sleep(10 * SECOND));
    pool.execute(|| ()).unwrap();
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    let tasks: Vec<_> = (0..10).map(|_| pool.after(SECOND, || ()).unwrap()).collect();
    let schedule = pool.schedule(Schedule::every(SECOND).times(3), |_| ()).unwrap();
    clock.advance(20 * SECOND);
    sleeper.join().unwrap().unwrap();
    assert!(tasks.iter().all(|task| task.is_finished()));
    assert!(schedule.stats().runs > 0);
    let stats = books(&pool);
    assert_eq!(
        (stats.rejected.full, stats.evicted),
        (1, 0),
        "the one that was told"
    );
}

#[test]
fn a_due_task_waits_while_the_pool_is_paused() {
    let (pool, clock) = pool(1);
    pool.pause();
    let notes = Notes::default();
    let due = pool.after(SECOND, notes.noting("due")).unwrap();
    pool.execute(notes.noting("queued")).unwrap();
    clock.advance(5 * SECOND);
    assert_eq!(notes.take(), Vec::<&str>::new(), "nothing is taken");
    let stats = books(&pool);
    assert_eq!((stats.pending_timers, stats.queued), (0, 2), "its time has come");
    pool.resume();
    settle(&clock);
    assert_eq!(notes.take(), ["due", "queued"]);
    assert!(due.is_finished());
}

#[test]
fn a_task_that_waits_for_a_delayed_one_lets_a_spare_watch_the_clock() {
    let (builder, clock) = builder(1);
    let pool = builder.spare_threads(1).build().unwrap();
    let inner = pool.clone();
    let parent = pool
        .submit(move || inner.after(SECOND, || 5).unwrap().join().unwrap())
        .unwrap();
    clock.advance(SECOND);
    assert_eq!(parent.join().unwrap(), 5);
}

#[test]
fn a_held_pool_is_late_and_says_so() {
    let (pool, clock) = pool(1);
    let sleeper = begun(&pool, || task::sleep(5 * SECOND));
    let task = pool.after(SECOND, || 1).unwrap();
    clock.advance(5 * SECOND);
    sleeper.join().unwrap().unwrap();
    assert_eq!(task.join().unwrap(), 1);
    let lateness = books(&pool).lateness;
    assert_eq!(lateness.count(), 1);
    let (least, most) = (3 * SECOND, 5 * SECOND);
    let late = lateness.quantile(1.0).unwrap();
    assert!(
        least <= late && late <= most,
        "four seconds, to the width of a bucket: {late:?}"
    );
}
