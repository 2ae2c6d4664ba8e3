//! Idle threads: who leaves, who stays, and when. Time is a manual clock: never early is a fact, not a guess.

use super::{meet, nap, once_active, size, sized};
use crate::life::settle;
use punctual::{Clock, ManualClock, Pool, StopCounts};
use std::time::Duration;

const NANO: Duration = Duration::from_nanos(1);
const MINUTE: Duration = Duration::from_secs(60);

fn pool_on(clock: &ManualClock, core: usize, max: usize, keep_alive: Duration) -> Pool {
    let builder = sized(core, max, 0).keep_alive(keep_alive).clock(clock);
    builder.build().unwrap()
}

/// Live threads, and those that left because they were idle.
fn threads(pool: &Pool) -> (usize, u64) {
    let stats = pool.stats();
    assert_eq!(
        stats.threads_stopped, stats.stops.idle,
        "none left for another reason"
    );
    assert_eq!(
        stats.threads_started - stats.threads_stopped,
        stats.threads as u64
    );
    (stats.threads, stats.stops.idle)
}

#[test]
fn tpe_19_a_shorter_keep_alive_time_is_in_force_at_once_and_not_shorter() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2, 6, 3 * MINUTE);
    meet(&pool, 6);
    settle(&clock);
    let short = Duration::from_millis(7);
    pool.set_keep_alive(short).unwrap();
    assert_eq!(pool.keep_alive(), short);
    clock.advance(short - NANO);
    assert_eq!(threads(&pool), (6, 0), "never early");
    clock.advance(NANO);
    assert_eq!(threads(&pool), (2, 4), "down to core");
}

#[test]
fn tpe_19_threads_that_were_idle_for_longer_leave_at_once() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1, 3, 3 * MINUTE);
    meet(&pool, 3);
    clock.advance(2 * MINUTE);
    pool.set_keep_alive(MINUTE).unwrap();
    settle(&clock);
    assert_eq!(threads(&pool), (1, 2));
}

#[test]
fn tpe_19_a_longer_keep_alive_time_keeps_those_that_wait() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1, 3, MINUTE);
    meet(&pool, 3);
    clock.advance(MINUTE / 2);
    pool.set_keep_alive(3 * MINUTE).unwrap();
    clock.advance(2 * MINUTE + MINUTE / 2 - NANO);
    assert_eq!(threads(&pool), (3, 0));
    clock.advance(NANO);
    assert_eq!(threads(&pool), (1, 2), "counted from when they became idle");
}

#[test]
fn tpe_20_the_pool_shrinks_to_core_and_stays_there() {
    let clock = Clock::manual();
    let keep_alive = Duration::from_millis(12);
    let pool = pool_on(&clock, 4, 8, keep_alive);
    meet(&pool, 8);
    settle(&clock);
    clock.advance(keep_alive - NANO);
    assert_eq!(threads(&pool), (8, 0), "never early");
    clock.advance(NANO);
    assert_eq!(threads(&pool), (4, 4), "and done when `advance` returns");
    for _ in 0..5 {
        clock.advance(keep_alive);
        assert_eq!(threads(&pool), (4, 4));
    }
    assert_eq!(pool.stats().largest, 8);
    meet(&pool, 8);
    assert_eq!(pool.stats().threads, 8, "and grows again");
}

#[test]
fn tpe_20_work_in_between_begins_the_idle_time_anew() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 0, 1, MINUTE);
    for _ in 0..5 {
        pool.submit(|| ()).unwrap().join().unwrap();
        clock.advance(MINUTE - NANO);
        assert_eq!(threads(&pool), (1, 0));
    }
    clock.advance(NANO);
    assert_eq!(threads(&pool), (0, 1));
}

#[test]
fn tpe_20_a_thread_at_work_does_not_leave() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 0, 2, MINUTE);
    pool.execute(nap(10 * MINUTE)).unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    clock.advance(5 * MINUTE);
    assert_eq!(threads(&pool), (1, 1), "the idle one left");
    assert_eq!(once_active(&pool, 1), (1, 1, 0));
    clock.advance(5 * MINUTE);
    assert_eq!((threads(&pool), pool.stats().finished), ((1, 1), 2));
    clock.advance(MINUTE);
    assert_eq!(threads(&pool), (0, 2));
}

#[test]
fn tpe_20_without_a_keep_alive_time_idle_threads_beyond_core_leave_at_once() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1, 4, Duration::ZERO);
    meet(&pool, 4);
    settle(&clock);
    assert_eq!(threads(&pool), (1, 3));
}

#[test]
fn tpe_20_a_keep_alive_time_without_end_keeps_them() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1, 3, Duration::MAX);
    meet(&pool, 3);
    clock.advance(Duration::from_secs(100 * 365 * 86_400));
    assert_eq!(threads(&pool), (3, 0));
}

#[test]
fn tpe_21_with_core_timeout_the_pool_empties_and_without_it_core_stays() {
    for (on, left) in [(true, 0), (false, 2)] {
        let clock = Clock::manual();
        let builder = sized(2, 2, 10).keep_alive(MINUTE).core_timeout(on);
        let pool = builder.clock(&clock).build().unwrap();
        meet(&pool, 2);
        settle(&clock);
        clock.advance(MINUTE - NANO);
        assert_eq!(pool.stats().threads, 2, "never early");
        clock.advance(NANO);
        assert_eq!(threads(&pool), (left, 2 - left as u64));
        clock.advance(10 * MINUTE);
        assert_eq!(pool.stats().threads, left);
        assert_eq!(pool.submit(|| 5).unwrap().join().unwrap(), 5, "as good as new");
    }
}

#[test]
fn tpe_22_core_threads_that_are_idle_leave_when_core_timeout_is_switched_on() {
    let clock = Clock::manual();
    let builder = sized(3, 3, 10).keep_alive(MINUTE).prestart(true);
    let pool = builder.clock(&clock).build().unwrap();
    clock.advance(10 * MINUTE);
    assert_eq!(threads(&pool), (3, 0));
    pool.set_core_timeout(true).unwrap();
    clock.advance(MINUTE);
    assert_eq!(threads(&pool), (0, 3));
    pool.shutdown();
    assert!(pool.core_timeout(), "also afterwards");
}

#[test]
fn tpe_22_core_threads_stay_when_core_timeout_is_switched_off_in_time() {
    let clock = Clock::manual();
    let builder = sized(3, 3, 10).keep_alive(MINUTE).core_timeout(true);
    let pool = builder.prestart(true).clock(&clock).build().unwrap();
    clock.advance(MINUTE - NANO);
    pool.set_core_timeout(false).unwrap();
    clock.advance(10 * MINUTE);
    assert_eq!(threads(&pool), (3, 0));
}

#[test]
fn a_lowered_core_lets_idle_threads_leave_after_the_keep_alive_time() {
    let clock = Clock::manual();
    let builder = sized(4, 4, 10).keep_alive(MINUTE).prestart(true);
    let pool = builder.clock(&clock).build().unwrap();
    settle(&clock);
    assert_eq!(pool.resize(1, 4).unwrap(), size(4, 4));
    clock.advance(MINUTE - NANO);
    assert_eq!(threads(&pool), (4, 0), "four may be there");
    clock.advance(NANO);
    assert_eq!(threads(&pool), (1, 3));
}

#[test]
fn a_pool_without_core_threads_empties_and_starts_again() {
    let clock = Clock::manual();
    let builder = sized(0, 2, 4).keep_alive(MINUTE).clock(&clock);
    let pool = builder.build().unwrap();
    for round in 1..=3 {
        assert_eq!(pool.submit(move || round).unwrap().join().unwrap(), round);
        clock.advance(MINUTE);
        assert_eq!(threads(&pool), (0, round));
        assert_eq!(pool.stats().threads_started, round);
    }
}

#[test]
fn threads_that_stopped_are_counted_by_their_reason() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 2, 9, MINUTE);
    meet(&pool, 9);
    pool.resize(2, 5).unwrap();
    settle(&clock);
    assert_eq!((pool.stats().threads, pool.stats().stops.surplus), (5, 4));
    clock.advance(MINUTE);
    assert_eq!((pool.stats().threads, pool.stats().stops.idle), (2, 3));
    pool.shutdown();
    settle(&clock);
    let StopCounts {
        closed,
        idle,
        surplus,
        ..
    } = pool.stats().stops;
    assert_eq!((closed, idle, surplus), (2, 3, 4));
    assert_eq!(
        (pool.stats().threads_started, pool.stats().threads_stopped),
        (9, 9)
    );
}
