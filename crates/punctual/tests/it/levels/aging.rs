//! Waiting makes urgent: PRI-04, PRI-05, F67.

use super::{NAMED, STEP, Stepper, queue};
use punctual::{Priority, PriorityQueue};
use std::time::Duration;

/// One LOW task under a stream of URGENT ones, of which one comes before each take; how many are taken before it, of at
/// most 1000, when so much time passes between two takes.
fn overtaken(queue: PriorityQueue, between: Duration) -> usize {
    let stepper = Stepper::new(queue);
    stepper.submit(Priority::LOW, "low");
    (0..1_000)
        .take_while(|_| {
            stepper.submit(Priority::URGENT, "urgent");
            let is_urgent = stepper.next() == "urgent";
            stepper.clock.advance(between);
            is_urgent
        })
        .count()
}

#[test]
fn pri_04_strictly_a_low_task_waits_for_as_long_as_urgent_ones_come() {
    assert_eq!(overtaken(queue().strict(), STEP), 1_000);
}

#[test]
fn pri_04_and_f67_with_aging_a_low_task_is_overtaken_for_three_steps_and_not_once_more() {
    // At 0, 1 and 2 steps; at the third it counts as urgent, and is the oldest.
    assert_eq!(overtaken(queue().aging(STEP), STEP), 3);
    assert_eq!(overtaken(queue().aging(STEP), STEP / 10), 30);
}

#[test]
fn pri_04_the_default_is_aging_with_a_step_of_a_second() {
    assert_eq!(overtaken(queue(), Duration::from_millis(500)), 6);
}

#[test]
fn pri_04_and_f67_with_shares_a_low_task_gets_its_turn_among_urgent_ones() {
    // 50 to 5: one pick in eleven is its own.
    assert!(overtaken(queue().shares([50, 30, 15, 5]), Duration::ZERO) <= 11);
}

#[test]
fn pri_04_a_wait_under_aging_ends_within_the_bound() {
    let (queue, run) = (queue().aging(STEP), STEP / 4);
    let bound = queue.wait_bound(Priority::LOW, 0, run, 1).unwrap();
    // A take every quarter of a step is a worker whose tasks run that long.
    let waited = run * overtaken(queue, run) as u32;
    assert!(waited <= bound, "{waited:?}, and the bound is {bound:?}");
    assert!(
        waited + run * 2 >= bound,
        "the bound is no more than one run too long"
    );
}

#[test]
fn pri_05_with_each_step_a_task_passes_one_more_level() {
    let names = ["urgent", "high", "normal"];
    for steps in 0..=3_u32 {
        let stepper = Stepper::new(queue().aging(STEP));
        stepper.submit(Priority::LOW, "old");
        stepper.clock.advance(STEP * steps);
        // Younger ones of every other level: those that are still more urgent are taken before the old one.
        for (priority, name) in NAMED.into_iter().zip(names) {
            stepper.submit(priority, name);
        }
        let taken: Vec<&str> = (0..4).map(|_| stepper.next()).collect();
        let mut expected = names.to_vec();
        expected.insert(3 - steps as usize, "old");
        assert_eq!(taken, expected, "after {steps} steps");
    }
}

#[test]
fn pri_05_two_of_one_level_never_change_places_whatever_their_age() {
    let stepper = Stepper::new(queue().aging(STEP));
    stepper.submit(Priority::LOW, "first");
    stepper.clock.advance(STEP * 2);
    stepper.submit(Priority::LOW, "second");
    stepper.submit(Priority::NORMAL, "third");
    stepper.clock.advance(STEP);
    stepper.submit(Priority::LOW, "fourth");
    stepper.clock.advance(STEP * 10);
    let taken: Vec<&str> = (0..4).map(|_| stepper.next()).collect();
    assert_eq!(taken, ["first", "second", "third", "fourth"]);
}

#[test]
fn pri_05_of_one_instant_aged_tasks_are_taken_in_the_order_of_submission() {
    let stepper = Stepper::new(queue().aging(STEP));
    for (priority, name) in [
        (Priority::LOW, "1"),
        (Priority::URGENT, "2"),
        (Priority::NORMAL, "3"),
        (Priority::HIGH, "4"),
        (Priority::LOW, "5"),
    ] {
        stepper.submit(priority, name);
    }
    stepper.clock.advance(STEP * 3);
    let taken: Vec<&str> = (0..5).map(|_| stepper.next()).collect();
    assert_eq!(taken, ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_task_that_is_cancelled_at_the_head_of_its_level_makes_room_for_the_next() {
    let stepper = Stepper::new(queue().aging(STEP));
    let old = stepper.pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    stepper.submit(Priority::LOW, "low");
    stepper.clock.advance(STEP * 3);
    stepper.submit(Priority::URGENT, "urgent");
    old.cancel();
    assert_eq!(stepper.next(), "low", "it is older than the urgent one, and aged");
    assert_eq!(stepper.next(), "urgent");
}

#[test]
fn a_task_of_a_view_ages_from_when_it_has_its_slot() {
    let stepper = Stepper::new(queue().aging(STEP));
    let lane = stepper.pool.at_priority(Priority::LOW).lane();
    for name in ["first", "second"] {
        lane.execute(stepper.body(name)).unwrap();
    }
    stepper.clock.advance(STEP * 3);
    stepper.submit(Priority::URGENT, "urgent");
    assert_eq!(stepper.next(), "first");
    // It has waited as long, but in line: its age begins now.
    assert_eq!(stepper.next(), "urgent");
    stepper.clock.advance(STEP * 3 - Duration::from_nanos(1));
    for name in ["in time", "too late"] {
        stepper.submit(Priority::URGENT, name);
    }
    assert_eq!(stepper.next(), "in time");
    stepper.clock.advance(Duration::from_nanos(1));
    assert_eq!(
        stepper.next(),
        "second",
        "three steps later nothing goes before it"
    );
    assert_eq!(stepper.next(), "too late");
}
