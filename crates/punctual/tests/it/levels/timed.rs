//! Delayed tasks and schedules at a level: they compete once due.

use super::{STEP, Stepper, queue};
use crate::support::{LONG, Random, until};
use punctual::{Priority, PriorityQueue, Schedule};

/// A delayed LOW task that is due, under a stream of URGENT ones; how many are taken before it, of at most 1000, when a tenth of
/// a step passes between two takes.
fn overtaken(queue: PriorityQueue) -> usize {
    let stepper = Stepper::new(queue);
    let late = stepper
        .pool
        .task(stepper.body("late"))
        .priority(Priority::LOW)
        .after(STEP);
    drop(late.unwrap());
    stepper.clock.advance(STEP);
    (0..1_000)
        .take_while(|_| {
            stepper.submit(Priority::URGENT, "urgent");
            let is_urgent = stepper.next() == "urgent";
            stepper.clock.advance(STEP / 10);
            is_urgent
        })
        .count()
}

#[test]
fn a_due_task_goes_before_its_level_and_less_urgent_ones_and_after_more_urgent_ones() {
    let stepper = Stepper::new(queue().strict());
    let due = stepper
        .pool
        .task(stepper.body("due"))
        .priority(Priority::HIGH)
        .after(STEP);
    drop(due.unwrap());
    for (priority, name) in [
        (Priority::LOW, "low"),
        (Priority::HIGH, "high"),
        (Priority::URGENT, "urgent"),
    ] {
        stepper.submit(priority, name);
    }
    stepper.clock.advance(STEP);
    let taken: Vec<&str> = (0..4).map(|_| stepper.next()).collect();
    assert_eq!(taken, ["urgent", "due", "high", "low"]);
}

#[test]
fn due_tasks_of_several_levels_are_taken_by_level() {
    let stepper = Stepper::new(queue().strict());
    for (priority, name) in [
        (Priority::LOW, "low"),
        (Priority::NORMAL, "normal"),
        (Priority::URGENT, "urgent"),
    ] {
        let due = stepper.pool.at_priority(priority).after(STEP, stepper.body(name));
        drop(due.unwrap());
    }
    stepper.clock.advance(STEP);
    assert_eq!(
        stepper
            .pool
            .stats()
            .levels
            .iter()
            .map(|level| level.queued)
            .collect::<Vec<_>>(),
        [1, 0, 1, 1]
    );
    let taken: Vec<&str> = (0..3).map(|_| stepper.next()).collect();
    assert_eq!(taken, ["urgent", "normal", "low"]);
}

#[test]
fn strictly_a_due_low_task_waits_for_urgent_ones_and_otherwise_it_is_rescued() {
    assert_eq!(overtaken(queue().strict()), 1_000);
    // Due, it has waited for nothing yet: three steps, ten takes each.
    assert_eq!(overtaken(queue().aging(STEP)), 30);
    assert!(overtaken(queue().shares([50, 30, 15, 5])) <= 20);
}

#[test]
fn a_due_task_is_moved_like_a_queued_one() {
    let stepper = Stepper::new(queue().strict());
    let due = |name| {
        let task = stepper.pool.task(stepper.body(name)).priority(Priority::LOW);
        task.after(STEP).unwrap()
    };
    let (raised, first) = (due("raised"), due("first"));
    stepper.submit(Priority::HIGH, "high");
    assert!(
        !raised.task_ref().set_priority(Priority::URGENT),
        "it is not due yet"
    );
    stepper.clock.advance(STEP);
    assert!(raised.task_ref().set_priority(Priority::URGENT));
    assert!(first.task_ref().run_next());
    stepper.submit(Priority::URGENT, "urgent");
    let taken: Vec<&str> = (0..4).map(|_| stepper.next()).collect();
    assert_eq!(taken, ["first", "raised", "urgent", "high"]);
}

/// Whoever looks while the pool is being resumed sees neither room, or compares both.
#[test]
fn a_due_task_goes_before_its_level_also_in_the_moment_of_a_resume() {
    let stepper = Stepper::new(queue().strict());
    let mut random = Random::from_seed(5);
    for _ in 0..500 {
        drop(stepper.pool.after(STEP, stepper.body("due")).unwrap());
        stepper.clock.advance(STEP);
        stepper.submit(Priority::NORMAL, "queued");
        stepper.submit(Priority::URGENT, "urgent");
        // Soon after each: the worker still looks for the next in a pool that was paused a moment ago.
        let taken = [(); 3].map(|()| {
            random.dawdle(2_000);
            stepper.pool.resume();
            stepper.told.recv_timeout(LONG).expect("a task waits")
        });
        assert_eq!(taken, ["urgent", "due", "queued"]);
        until("all have ended", || stepper.pool.stats().active == 0);
    }
}

#[test]
fn what_was_moved_to_the_front_of_the_queue_goes_before_what_is_due() {
    let stepper = Stepper::new(queue());
    drop(
        stepper
            .pool
            .task(stepper.body("due"))
            .priority(Priority::URGENT)
            .after(STEP)
            .unwrap(),
    );
    let queued = stepper.pool.task(stepper.body("front")).priority(Priority::LOW);
    let queued = queued.submit().unwrap();
    stepper.clock.advance(STEP);
    assert!(queued.task_ref().run_next());
    assert_eq!((stepper.next(), stepper.next()), ("front", "due"));
}

#[test]
fn runs_of_a_schedule_have_the_priority_of_whoever_made_it() {
    let stepper = Stepper::new(queue().strict());
    let low = stepper.pool.at_priority(Priority::LOW);
    let (body, tell) = (stepper.pool.clone(), stepper.tell.clone());
    let schedule = low
        .schedule(Schedule::every(STEP).times(2), move |_| {
            body.pause();
            tell.send("run").unwrap();
        })
        .unwrap();
    for _ in 0..2 {
        stepper.submit(Priority::URGENT, "urgent");
        stepper.clock.advance(STEP);
        assert_eq!(stepper.pool.stats().levels[3].queued, 1);
        assert_eq!((stepper.next(), stepper.next()), ("urgent", "run"));
    }
    assert_eq!(schedule.stats().runs, 2);
}
