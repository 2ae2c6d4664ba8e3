//! What the statistics say of each level.

use super::{NAMED, STEP, Stepper, pool, queue};
use crate::support::{Random, assert_books_balance, hold};
use punctual::{Pool, Priority, Stats};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

fn of_levels<T>(stats: &Stats, number: impl Fn(&punctual::LevelStats) -> T) -> Vec<T> {
    stats.levels.iter().map(number).collect()
}

#[test]
fn each_level_counts_what_waits_there_what_was_taken_and_how_it_left() {
    let stepper = Stepper::new(queue().aging(STEP));
    let pool = &stepper.pool;
    stepper.submit(Priority::LOW, "low");
    let brief = pool.task(|| ()).priority(Priority::HIGH).expires_in(STEP);
    let brief = brief.submit().unwrap();
    let gone = pool.task(|| ()).priority(Priority::NORMAL).submit().unwrap();
    gone.cancel();
    stepper.clock.advance(STEP * 3);
    stepper.submit(Priority::URGENT, "urgent");
    assert!(brief.join().unwrap_err().is_expired());
    let stats = pool.stats();
    assert_eq!(of_levels(&stats, |level| level.queued), [1, 0, 0, 1]);
    assert_eq!(of_levels(&stats, |level| level.expired), [0, 1, 0, 0]);
    let waits = [Some(Duration::ZERO), None, None, Some(STEP * 3)];
    assert_eq!(of_levels(&stats, |level| level.oldest_wait), waits);
    assert_eq!(stats.oldest_wait, Some(STEP * 3));
    assert_eq!((stepper.next(), stepper.next()), ("low", "urgent"));
    let stats = pool.stats();
    assert_eq!(of_levels(&stats, |level| level.taken), [1, 0, 0, 1]);
    // It was taken before one of a more urgent level, by its age.
    assert_eq!(of_levels(&stats, |level| level.promoted), [0, 0, 0, 1]);
    assert!(
        of_levels(&stats, |level| level.share_target)
            .iter()
            .all(Option::is_none)
    );
    assert_books_balance(&stats);
}

#[test]
fn who_waits_in_the_line_of_a_view_waits_in_its_level_too() {
    let stepper = Stepper::new(queue().strict());
    let one = stepper.pool.limit(1).unwrap();
    // The first has the slot, and its record lies in the queue; the other stands in line, and has none.
    one.at_priority(Priority::HIGH).execute(|| ()).unwrap();
    stepper.clock.advance(STEP);
    one.at_priority(Priority::LOW).execute(|| ()).unwrap();
    stepper.clock.advance(STEP);
    let stats = stepper.pool.stats();
    assert_eq!(of_levels(&stats, |level| level.queued), [0, 1, 0, 1]);
    let waits = [None, Some(STEP * 2), None, Some(STEP)];
    assert_eq!(of_levels(&stats, |level| level.oldest_wait), waits);
    assert_eq!(stats.oldest_wait, Some(STEP * 2));
}

#[test]
fn shares_say_their_target_and_what_was_served() {
    let pool = pool(queue().shares([50, 30, 15, 5]));
    let held = hold(&pool);
    assert_eq!(
        of_levels(&pool.stats(), |level| level.share_target),
        [0.5, 0.3, 0.15, 0.05].map(Some)
    );
    for priority in NAMED {
        pool.at_priority(priority)
            .execute_all((0..100).map(|_| || ()))
            .unwrap();
    }
    drop(held);
    let _ = pool.close();
    let stats = pool.stats();
    let actual = of_levels(&stats, |level| level.share_actual.unwrap());
    assert!((actual.iter().sum::<f64>() - 1.0).abs() < 1e-9);
    // Everything was served in the end: a hundred each, and the one that held the worker.
    assert!((actual[0] - 100.0 / 401.0).abs() < 1e-9 && (actual[2] - 101.0 / 401.0).abs() < 1e-9);
}

#[test]
fn waits_are_sampled_for_each_level() {
    const TASKS: u64 = 12_800;
    for (rule, queue) in super::rules() {
        let pool = pool(queue);
        let held = hold(&pool);
        for number in 0..TASKS {
            let level = if number % 4 == 0 {
                Priority::URGENT
            } else {
                Priority::LOW
            };
            pool.at_priority(level).execute(|| ()).unwrap();
        }
        drop(held);
        let _ = pool.close();
        let stats = pool.stats();
        let counts = of_levels(&stats, |level| level.wait.count());
        for (level, expected) in [(0, TASKS / 4), (3, TASKS * 3 / 4)] {
            let (least, most) = (expected * 9 / 10, expected * 11 / 10);
            assert!((least..=most).contains(&counts[level]), "{rule}: {counts:?}");
        }
        assert_eq!(counts[1], 0, "{rule}");
    }
}

/// A snapshot never contradicts itself: the levels add up to the whole, whoever submits, takes, moves and cancels.
#[test]
fn the_levels_add_up_in_every_snapshot() {
    for (rule, queue) in super::rules() {
        let pool = Pool::builder("levels")
            .core_threads(2)
            .queue(queue)
            .build()
            .unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for seed in 1..=2 {
                let (pool, is_over) = (&pool, &is_over);
                scope.spawn(move || {
                    let mut random = Random::from_seed(seed);
                    for _ in 0..3_000 {
                        let level = Priority::level(random.below(4) as u8);
                        let task = pool.task(|| ()).priority(level).submit().unwrap();
                        match random.below(4) {
                            0 => drop(task.cancel()),
                            1 => drop(
                                task.task_ref()
                                    .set_priority(Priority::level(random.below(4) as u8)),
                            ),
                            2 => drop(task.task_ref().run_next()),
                            _ => {}
                        }
                    }
                    is_over.store(true, SeqCst);
                });
            }
            while !is_over.load(SeqCst) {
                let stats = pool.stats();
                assert_books_balance(&stats);
                let queued: usize = of_levels(&stats, |level| level.queued).iter().sum();
                let taken: u64 = of_levels(&stats, |level| level.taken).iter().sum();
                assert_eq!((queued, taken), (stats.queued, stats.taken), "{rule}: {stats:?}");
            }
        });
    }
}
