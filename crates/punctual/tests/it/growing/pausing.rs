//! `pause` and `resume`: nothing is taken meanwhile, and nothing is lost by it.

use super::{Gate, fill, meet, nap, once_active, pool, sized};
use crate::life::{pool_on, running, settle};
use crate::support::{LONG, assert_all_settled, in_time};
use punctual::{Clock, Growth, Pool, Queue, State, Status};
use std::sync::Barrier;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn a_paused_pool_takes_nothing_until_it_is_resumed() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2);
    meet(&pool, 2);
    pool.pause();
    assert!(pool.stats().paused);
    let tasks: Vec<_> = (0..5)
        .map(|number| pool.submit(move || number).unwrap())
        .collect();
    clock.advance(MINUTE);
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.active, stats.taken), (5, 0, 2));
    assert!(!pool.wait_idle(Duration::ZERO));
    pool.resume();
    assert!(!pool.stats().paused);
    let results: Vec<_> = tasks.into_iter().map(|task| task.join().unwrap()).collect();
    assert_eq!(results, [0, 1, 2, 3, 4]);
}

#[test]
fn threads_that_start_while_the_pool_is_paused_take_nothing_either() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2);
    pool.pause();
    let tasks: Vec<_> = (0..4).map(|_| pool.submit(|| ()).unwrap()).collect();
    settle(&clock);
    assert_eq!((pool.stats().queued, pool.stats().taken), (4, 0));
    assert_eq!(tasks[0].task_ref().status(), Status::Queued);
    pool.resume();
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn what_runs_when_the_pool_is_paused_goes_on_and_the_next_stays() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    let first = pool.submit(nap(MINUTE)).unwrap();
    settle(&clock);
    let second = pool.submit(|| ()).unwrap();
    pool.pause();
    clock.advance(10 * MINUTE);
    first.join().unwrap();
    assert_eq!(second.task_ref().status(), Status::Queued);
    pool.resume();
    second.join().unwrap();
}

#[test]
fn pausing_twice_is_pausing_once() {
    let pool = pool(1, 1, 10);
    pool.pause();
    pool.pause();
    assert!(pool.stats().paused);
    let task = pool.submit(|| 4).unwrap();
    pool.resume();
    assert_eq!(task.join().unwrap(), 4);
    pool.resume();
    assert!(!pool.stats().paused);
    assert_eq!(pool.submit(|| 5).unwrap().join().unwrap(), 5);
}

#[test]
fn shutdown_resumes() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2);
    pool.pause();
    let tasks: Vec<_> = (0..4).map(|_| pool.submit(|| ()).unwrap()).collect();
    settle(&clock);
    assert_eq!(pool.stats().taken, 0);
    pool.shutdown();
    assert!(!pool.stats().paused);
    assert!(pool.await_termination(LONG));
    tasks.into_iter().for_each(|task| task.join().unwrap());
}

#[test]
fn a_closing_pool_is_not_paused_again() {
    let pool = pool(1, 1, 10);
    let (first, open) = running(&pool, 1);
    let second = pool.submit(|| 2).unwrap();
    pool.shutdown();
    pool.pause();
    assert!(!pool.stats().paused);
    drop(open);
    assert_eq!((first.join().unwrap(), second.join().unwrap()), (1, 2));
    assert!(pool.await_termination(LONG));
}

#[test]
fn dropping_a_paused_pool_runs_what_was_accepted() {
    let pool = pool(1, 1, 10);
    pool.pause();
    let tasks: Vec<_> = (0..5)
        .map(|number| pool.submit(move || number).unwrap())
        .collect();
    in_time(move || drop(pool));
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), number);
    }
}

#[test]
fn stopping_a_paused_pool_gives_everything_back() {
    for _ in 0..200 {
        let pool = pool(2, 2, 10);
        meet(&pool, 2);
        pool.pause();
        let tasks: Vec<_> = (0..5).map(|_| pool.submit(|| ()).unwrap()).collect();
        assert_eq!(pool.stop().len(), 5, "nothing had been taken");
        for task in tasks {
            assert!(task.join().unwrap_err().is_cancelled());
        }
        assert!(pool.await_termination(LONG));
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn draining_a_paused_pool_gives_everything_back_and_leaves_it_paused() {
    let pool = pool(2, 2, 10);
    meet(&pool, 2);
    pool.pause();
    let _dropped: Vec<_> = (0..5).map(|_| pool.submit(|| ()).unwrap()).collect();
    assert_eq!(pool.drain().len(), 5);
    assert!(pool.stats().paused && pool.wait_idle(LONG));
    let task = pool.submit(|| 6).unwrap();
    assert_eq!(task.task_ref().status(), Status::Queued);
    pool.resume();
    assert_eq!(task.join().unwrap(), 6);
}

#[test]
fn the_bounds_of_a_paused_pool_hold() {
    for growth in [Growth::QueueFirst, Growth::ThreadsFirst] {
        for (core, max) in [(2, 2), (1, 3), (0, 1)] {
            let clock = Clock::manual();
            let builder = sized(core, max, 3).growth(growth).clock(&clock);
            let pool = builder.build().unwrap();
            pool.pause();
            let gate = Gate::default();
            let accepted = fill(&pool, &gate);
            settle(&clock);
            assert_eq!(pool.stats().queued, accepted);
            // A thread is no place: it takes nothing now.
            assert_eq!(accepted, 3, "{growth:?}, core {core}, max {max}");
        }
    }
}

#[test]
fn tasks_that_waited_out_the_keep_alive_time_in_a_paused_pool_run_when_it_resumes() {
    in_time(|| {
        for (core, core_timeout) in [(0, false), (2, true)] {
            let clock = Clock::manual();
            let builder = sized(core, 2, 10).core_timeout(core_timeout).keep_alive(MINUTE);
            let pool = builder.clock(&clock).build().unwrap();
            meet_one_by_one(&pool, 2);
            pool.pause();
            let tasks: Vec<_> = (0..3)
                .map(|number| pool.submit(move || number).unwrap())
                .collect();
            clock.advance(10 * MINUTE);
            pool.resume();
            for (number, task) in tasks.into_iter().enumerate() {
                assert_eq!(task.join().unwrap(), number);
            }
        }
    });
}

#[test]
fn a_pool_that_was_paused_beyond_the_keep_alive_time_can_be_closed() {
    in_time(|| {
        let clock = Clock::manual();
        let builder = sized(0, 1, 10).keep_alive(MINUTE).clock(&clock);
        let pool = builder.build().unwrap();
        pool.pause();
        let task = pool.submit(|| 8).unwrap();
        clock.advance(10 * MINUTE);
        assert!(pool.close().terminated);
        assert_eq!(task.join().unwrap(), 8);
    });
}

fn meet_one_by_one(pool: &Pool, tasks: usize) {
    for _ in 0..tasks {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
}

#[test]
fn a_pause_that_races_the_end_does_not_keep_it_up() {
    in_time(|| {
        for _ in 0..500 {
            let pool = sized(1, 1, 0).queue(Queue::unbounded()).build().unwrap();
            let gate = Gate::default();
            let tasks: Vec<_> = (0..3).map(|_| pool.submit(gate.task()).unwrap()).collect();
            drop(gate);
            let start = Barrier::new(2);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    for _ in 0..20 {
                        pool.pause();
                    }
                });
                start.wait();
                pool.shutdown();
            });
            assert!(pool.await_termination(LONG));
            assert_eq!(pool.state(), State::Terminated);
            tasks.into_iter().for_each(|task| task.join().unwrap());
        }
    });
}

#[test]
fn a_pool_that_is_paused_again_and_again_runs_everything_once() {
    let pool = pool(2, 4, 100_000);
    let tasks: Vec<_> = std::thread::scope(|scope| {
        let submitter = scope.spawn(|| {
            let submit = |number: u64| pool.submit(move || number).unwrap();
            (0..5_000).map(submit).collect::<Vec<_>>()
        });
        while !submitter.is_finished() {
            pool.pause();
            pool.resume();
        }
        submitter.join().unwrap()
    });
    for (number, task) in tasks.into_iter().enumerate() {
        assert_eq!(task.join().unwrap(), number as u64);
    }
    assert_eq!(once_active(&pool, 0), (pool.stats().threads, 0, 0));
    assert_eq!(pool.stats().finished, 5_000);
}
