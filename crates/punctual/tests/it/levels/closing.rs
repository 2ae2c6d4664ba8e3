//! Panics, close, stop: PRI-08.

use super::{Log, NAMED, pool, queue, rules};
use crate::support::{LONG, assert_all_settled, hold, quiet_panic};
use punctual::{Priority, State};

#[test]
fn pri_08_a_panic_does_not_cost_the_worker_its_place() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        for priority in NAMED {
            let task = pool.task(|| quiet_panic("one of many")).priority(priority);
            assert!(task.submit().unwrap().join().unwrap_err().is_panic(), "{rule}");
        }
        assert_eq!(pool.submit(|| 1).unwrap().join().unwrap(), 1, "{rule}");
        let stats = pool.stats();
        assert_eq!((stats.panicked, stats.threads_started), (4, 1), "{rule}");
    }
}

#[test]
fn pri_08_close_runs_what_waits_in_every_level_and_ends_the_workers() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        let held = hold(&pool);
        let log = Log::new();
        for priority in NAMED.into_iter().rev() {
            pool.at_priority(priority).execute(log.writing(priority)).unwrap();
        }
        pool.shutdown();
        assert!(pool.execute(|| ()).unwrap_err().is_shutdown(), "{rule}");
        drop(held);
        let report = pool.close();
        assert!(report.terminated, "{rule}");
        let mut ran = log.words();
        if rule == "shares" {
            // The task that held the worker used up a pick of its level.
            ran.sort_by(|one, other| other.cmp(one));
        }
        assert_eq!(ran, NAMED, "{rule}");
        assert_eq!(
            (pool.state(), pool.stats().threads),
            (State::Terminated, 0),
            "{rule}"
        );
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn pri_08_stop_gives_back_what_waits_in_every_level_the_most_urgent_first() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        let held = hold(&pool);
        let names = ["low", "normal", "high", "urgent"];
        let tasks: Vec<_> = NAMED
            .into_iter()
            .rev()
            .zip(names)
            .map(|(priority, name)| pool.task(|| ()).name(name).priority(priority).submit().unwrap())
            .collect();
        pool.at_priority(Priority::LOW).execute(|| ()).unwrap();
        let unrun = pool.stop();
        let told: Vec<Option<&str>> = unrun.iter().map(punctual::Unrun::name).collect();
        let expected = [Some("urgent"), Some("high"), Some("normal"), Some("low"), None];
        assert_eq!(told, expected, "{rule}");
        drop(held);
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled(), "{rule}");
        }
        let _ = pool.close();
        let stats = pool.stats();
        assert_eq!(stats.returned, 5, "{rule}");
        assert!(stats.levels.iter().all(|level| level.queued == 0), "{rule}");
        assert_all_settled(&stats);
    }
}

#[test]
fn drained_levels_go_on_afterwards() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        let log = Log::new();
        for round in 0..3 {
            let held = hold(&pool);
            for priority in NAMED {
                pool.at_priority(priority).execute(|| ()).unwrap();
            }
            assert_eq!(pool.drain().len(), 4, "{rule}");
            for priority in NAMED.into_iter().rev() {
                pool.at_priority(priority)
                    .execute(log.writing((round, priority)))
                    .unwrap();
            }
            drop(held);
            assert!(pool.wait_idle(LONG));
        }
        let _ = pool.close();
        let mut ran = log.words();
        ran.sort_by_key(|(round, _)| *round);
        assert_eq!(ran.len(), 12, "{rule}");
        assert_eq!(
            pool.stats().levels.iter().map(|level| level.taken).sum::<u64>(),
            12 + 3,
            "{rule}"
        );
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn cancelled_tasks_of_a_level_are_swept_out_and_the_others_keep_their_order() {
    for (rule, queue) in [("strict", queue().strict()), ("aging", queue())] {
        let pool = pool(queue);
        let held = hold(&pool);
        let log = Log::new();
        let mut cancelled = Vec::new();
        for number in 0..6_000_u64 {
            let task = pool
                .task(log.writing(number))
                .priority(Priority::level((number % 4) as u8));
            let task = task.submit().unwrap();
            if number % 8 != 0 && number % 8 != 5 {
                cancelled.push(task);
            }
        }
        // Far more than live ones and 1024: the levels are swept on the way.
        for task in &cancelled {
            task.cancel();
        }
        drop(held);
        let _ = pool.close();
        let of = |rest| (0..6_000).filter(move |number| number % 8 == rest);
        let expected: Vec<u64> = of(0).chain(of(5)).collect();
        if rule == "strict" {
            assert_eq!(log.words(), expected);
        } else {
            let ran = log.words();
            assert!(ran.iter().filter(|number| **number % 4 == 0).is_sorted());
            assert!(ran.iter().filter(|number| **number % 4 == 1).is_sorted());
            assert_eq!(ran.len(), expected.len());
        }
        assert_all_settled(&pool.stats());
    }
}
