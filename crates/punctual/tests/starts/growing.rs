//! `TPE-35` and `TPE-38`: after a start that failed. When the next one is tried, who tries it, and what became of the
//! permit that was held for it.

use crate::process::{Gate, alone, large, room_for, room_for_all};
use crate::support::{Random, assert_all_settled, hold, until};
use punctual::{Clock, Executor, ManualClock, Pool, PoolBuilder, Queue, Reason, task};
use std::sync::{Arc, Barrier};
use std::time::Duration;

const MOMENT: Duration = Duration::from_nanos(1);

fn on(clock: &ManualClock, shape: impl FnOnce(PoolBuilder) -> PoolBuilder) -> Pool {
    shape(large("growing").clock(clock.clone()))
        .build()
        .expect("valid")
}

fn run_one(pool: &Pool) {
    pool.submit(|| ())
        .expect("somebody is alive")
        .join()
        .expect("it runs");
}

#[test]
fn tpe_35_the_next_start_is_tried_after_a_back_off_that_doubles_up_to_a_second() {
    alone(|| {
        let clock = Clock::manual();
        let pool = on(&clock, |pool| pool.core_threads(2).queue(Queue::unbounded()));
        room_for(1);
        run_one(&pool);
        // With a free worker a second one is still wanted, until there are as many as stay.
        run_one(&pool);
        assert_eq!(pool.stats().failed_starts, 1);
        let mut back_off = Duration::from_millis(1);
        for failed in 1..15 {
            clock.advance(back_off - MOMENT);
            run_one(&pool);
            assert_eq!(pool.stats().failed_starts, failed, "too early, {back_off:?}");
            clock.advance(MOMENT);
            run_one(&pool);
            assert_eq!(pool.stats().failed_starts, failed + 1, "in time, {back_off:?}");
            back_off = (2 * back_off).min(Duration::from_millis(1_024));
        }
        assert_eq!(back_off, Duration::from_millis(1_024));
        room_for_all();
        clock.advance(back_off);
        run_one(&pool);
        let stats = pool.stats();
        assert_eq!((stats.threads, stats.failed_starts), (2, 15));
    });
}

#[test]
fn tpe_35_a_start_that_succeeds_ends_the_back_off() {
    alone(|| {
        let clock = Clock::manual();
        let pool = on(&clock, |pool| pool.core_threads(3).queue(Queue::unbounded()));
        room_for(1);
        run_one(&pool);
        for back_off in [1, 2, 4] {
            run_one(&pool);
            clock.advance(Duration::from_millis(back_off));
        }
        assert_eq!(pool.stats().failed_starts, 3);
        room_for(1);
        run_one(&pool);
        assert_eq!(pool.stats().threads, 2);
        // The next failure is a first one again.
        run_one(&pool);
        assert_eq!(pool.stats().failed_starts, 4);
        clock.advance(Duration::from_millis(1));
        room_for_all();
        run_one(&pool);
        assert_eq!(pool.stats().threads, 3);
    });
}

#[test]
fn tpe_35_with_nobody_alive_there_is_no_back_off() {
    alone(|| {
        let clock = Clock::manual();
        let pool = on(&clock, |pool| pool.core_threads(2).queue(Queue::unbounded()));
        room_for(0);
        for _ in 0..3 {
            let refused = pool.submit(|| ()).expect_err("nobody to run it");
            assert!(matches!(refused.reason(), Reason::NoThread));
        }
        assert_eq!(pool.stats().failed_starts, 3);
        room_for_all();
        run_one(&pool);
        run_one(&pool);
        assert_eq!(pool.stats().threads, 2);
    });
}

#[test]
fn tpe_35_a_worker_tries_the_start_again_between_two_tasks() {
    alone(|| {
        let clock = Clock::manual();
        let pool = on(&clock, |pool| pool.core_threads(2).queue(Queue::unbounded()));
        room_for(1);
        let first = pool
            .submit(|| task::sleep(Duration::from_millis(1)))
            .expect("a thread");
        // These two can only end together: on two threads.
        let both = Arc::new(Barrier::new(2));
        let pair =
            [both.clone(), both].map(|both| pool.submit(move || _ = both.wait()).expect("somebody is alive"));
        until("the first sleeps", || pool.stats().active == 1);
        let stats = pool.stats();
        assert_eq!((stats.threads, stats.failed_starts, stats.queued), (1, 1, 2));
        room_for_all();
        clock.advance(Duration::from_millis(1));
        first.join().expect("it runs").expect("nobody interrupts it");
        for task in pair {
            task.join().expect("it runs");
        }
        assert_eq!(pool.stats().threads, 2);
    });
}

#[test]
fn tpe_38_a_start_that_fails_once_keeps_no_permit_of_a_pool_with_one_thread() {
    alone(|| {
        let clock = Clock::manual();
        let pool = on(&clock, |pool| {
            pool.core_threads(0).max_threads(1).queue(Queue::handoff())
        });
        room_for(0);
        let refused = pool.submit(|| 5).expect_err("nobody to run it");
        assert!(matches!(refused.reason(), Reason::NoThread));
        room_for_all();
        let task = pool.submit(refused.into_task()).expect("a thread");
        assert_eq!(task.join().expect("it runs"), 5);
        // The first one found nobody; the next finds the one who is there, if nothing is kept from the one that failed.
        assert!(pool.wait_idle(Duration::MAX));
        run_one(&pool);
    });
}

#[test]
fn tpe_38_starts_that_fail_keep_no_place_in_the_queue() {
    alone(|| {
        const PLACES: usize = 3;
        let clock = Clock::manual();
        let pool = on(&clock, |pool| {
            pool.core_threads(1).max_threads(2).queue(Queue::bounded(PLACES))
        });
        let mut tasks = Vec::new();
        let held = hold(&pool);
        tasks.extend((0..PLACES).map(|_| pool.submit(|| ()).expect("a place")));
        room_for(0);
        for _ in 0..10 {
            let refused = pool.submit(|| ()).expect_err("full, and no second thread");
            assert!(refused.is_full(), "{refused:?}");
        }
        assert_eq!(pool.stats().failed_starts, 1);
        drop(held);
        assert!(pool.wait_idle(Duration::MAX));
        // Exactly as many fit as before.
        let held = hold(&pool);
        tasks.extend((0..PLACES).map(|_| pool.submit(|| ()).expect("a place")));
        assert!(pool.submit(|| ()).expect_err("full").is_full());
        drop(held);
        for task in tasks {
            task.join().expect("it runs");
        }
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

#[test]
fn tpe_38_starts_that_fail_with_nobody_alive_keep_no_place_in_the_queue() {
    alone(|| {
        const PLACES: usize = 2;
        let clock = Clock::manual();
        let pool = on(&clock, |pool| {
            pool.core_threads(1).max_threads(1).queue(Queue::bounded(PLACES))
        });
        room_for(0);
        for _ in 0..10 {
            let refused = pool.execute(|| ()).expect_err("nobody to run it");
            assert!(matches!(refused.reason(), Reason::NoThread), "{refused:?}");
        }
        room_for_all();
        let gate = Gate::default();
        for _ in 0..1 + PLACES {
            let gate = gate.clone();
            pool.execute(move || gate.pass()).expect("a thread, or a place");
        }
        assert!(pool.execute(|| ()).expect_err("full").is_full());
        gate.open();
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

#[test]
fn tpe_38_a_start_that_fails_once_keeps_no_slot_of_a_view() {
    alone(|| {
        let views: [fn(&Pool) -> Executor; 4] = [
            |pool| pool.limit(1).expect("a limit"),
            |pool| pool.sequential(),
            |pool| pool.keyed(7),
            |pool| pool.reserve(1).expect("a thread to come"),
        ];
        for view in views {
            let clock = Clock::manual();
            let pool = on(&clock, |pool| {
                pool.core_threads(0).max_threads(1).queue(Queue::bounded(1))
            });
            let view = view(&pool);
            room_for(0);
            let refused = view.submit(|| 5).expect_err("nobody to run it");
            assert!(matches!(refused.reason(), Reason::NoThread), "{refused:?}");
            room_for_all();
            // Its only slot, and the only place, are free again, twice.
            for _ in 0..2 {
                let task = view.submit(|| 5).expect("a thread");
                assert_eq!(task.join().expect("it runs"), 5);
                assert!(pool.wait_idle(Duration::MAX));
            }
            assert!(pool.close().terminated);
            assert_all_settled(&pool.stats());
        }
    });
}

#[test]
fn tpe_35_a_pool_that_shrinks_while_a_thread_starts_is_not_left_too_large() {
    const ROUNDS: u64 = 500;
    alone(|| {
        let mut random = Random::printed("shrinking while a thread starts");
        for round in 0..ROUNDS {
            let pool = Pool::fixed(2).expect("valid");
            assert!(pool.prestart_one());
            let begin = Arc::new(Barrier::new(2));
            let (starter, both) = (pool.clone(), begin.clone());
            let starter = std::thread::spawn(move || {
                both.wait();
                starter.prestart_one()
            });
            begin.wait();
            random.dawdle(3_000);
            pool.resize(1, 1).expect("valid");
            starter.join().expect("no panic");
            until(&format!("round {round}: one thread is left of {pool:?}"), || {
                pool.stats().threads == 1
            });
        }
    });
}
