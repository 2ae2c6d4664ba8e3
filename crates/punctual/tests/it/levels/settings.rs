//! Settings, refused ones, bounds.

use super::{STEP, queue};
use punctual::{Capacity, Pool, Priority, PriorityQueue, Queue};
use std::time::Duration;

fn error_of(queue: PriorityQueue) -> String {
    let built = Pool::builder("p").core_threads(1).queue(queue).build();
    built.map(drop).unwrap_err().to_string()
}

#[test]
fn wrong_settings_are_refused_with_field_value_limit_and_fix() {
    for (queue, parts) in [
        (queue().levels(0), ["levels", "0", "1 to 8"]),
        (queue().levels(9), ["levels", "9", "1 to 8"]),
        (
            queue().strict().aging(STEP),
            ["queue", "strict() and aging(1s)", "one of them"],
        ),
        (
            queue().strict().shares([1, 1, 1, 1]),
            ["queue", "strict() and shares([1, 1, 1, 1])", "one of them"],
        ),
        (
            queue().aging(STEP).shares([1, 1, 1, 1]),
            ["queue", "aging(1s) and shares", "one of them"],
        ),
        (
            queue().aging(Duration::ZERO),
            ["aging", "0 ns", "longer than zero"],
        ),
        (queue().shares([1, 2, 3]), ["shares", "[1, 2, 3]", "4 levels"]),
        (
            queue().levels(2).shares([1, 2, 3]),
            ["shares", "[1, 2, 3]", "2 levels"],
        ),
        (
            queue().shares([0, 0, 0, 0]),
            ["shares", "[0, 0, 0, 0]", "larger than 0"],
        ),
        (queue().shares(Vec::new()), ["shares", "[]", "4 levels"]),
    ] {
        let error = error_of(queue);
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

#[test]
fn every_number_of_levels_from_one_to_eight_works_with_every_rule() {
    for levels in 1..=8_usize {
        let queue = || Queue::priority(Capacity::Unbounded).levels(levels);
        for queue in [queue().strict(), queue(), queue().shares(vec![1; levels])] {
            let pool = Pool::builder("p").core_threads(2).queue(queue).build().unwrap();
            let tasks: Vec<_> = (0..64_u8)
                .map(|number| {
                    pool.task(move || number)
                        .priority(Priority::level(number))
                        .submit()
                        .unwrap()
                })
                .collect();
            let sum: u32 = tasks
                .into_iter()
                .map(|task| u32::from(task.join().unwrap()))
                .sum();
            assert_eq!(sum, 64 * 63 / 2);
            assert_eq!(pool.stats().levels.len(), levels);
        }
    }
}

#[test]
fn a_handoff_queue_may_have_levels() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::priority(0))
        .build()
        .unwrap();
    assert_eq!(pool.submit(|| 1).unwrap().join().unwrap(), 1);
    let _held = crate::support::hold(&pool);
    assert!(
        pool.at_priority(Priority::URGENT)
            .execute(|| ())
            .unwrap_err()
            .is_full()
    );
}

#[test]
fn the_wait_bound_is_the_documented_arithmetic() {
    let ms = Duration::from_millis;
    let bound = |queue: PriorityQueue, level, ahead| queue.wait_bound(level, ahead, ms(10), 2);
    // (ahead + 2) / 2 runs.
    assert_eq!(bound(queue().strict(), Priority::URGENT, 4), Some(ms(30)));
    assert_eq!(bound(queue().strict(), Priority::HIGH, 4), None);
    assert_eq!(
        bound(queue().aging(ms(100)), Priority::NORMAL, 4),
        Some(ms(200 + 30))
    );
    assert_eq!(bound(queue(), Priority::level(99), 4), Some(ms(3_000 + 30)));
    // Of its own level 0; of the others 1 + 50 / 5, 1 + 30 / 5, 1 + 15 / 5.
    let shares = || queue().shares([50, 30, 15, 5]);
    assert_eq!(
        bound(shares(), Priority::LOW, 0),
        Some(ms(10) * (11 + 7 + 4 + 2) / 2)
    );
    assert_eq!(bound(queue().shares([1, 1, 1, 0]), Priority::LOW, 0), None);
    assert_eq!(bound(queue().levels(0), Priority::LOW, 0), None, "wrong settings");
    assert_eq!(queue().wait_bound(Priority::LOW, 0, ms(1), 0), None, "no threads");
}
