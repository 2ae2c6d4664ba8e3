//! What views tell of themselves, and what they cost.

use super::{hold_in, pool_of};
use crate::support::{LONG, gate_size, hold, until};
use punctual::{Clock, Pool};
use std::time::Duration;

#[test]
fn a_view_counts_its_queued_active_and_taken_tasks_and_those_of_views_inside_it() {
    let pool = pool_of(2);
    let outer = pool.limit(2).unwrap();
    let inner = outer.named("inner");
    let lane = inner.lane();
    let held = hold_in(&lane);
    lane.execute(|| ()).unwrap();
    inner.execute(|| ()).unwrap();
    until("the second has run", || inner.view_stats().taken == 2);
    until("and has ended", || inner.view_stats().active == 1);
    for (view, queued, active, taken) in [(&*lane, 1, 1, 1), (&inner, 1, 1, 2), (&outer, 1, 1, 2)] {
        let stats = view.view_stats();
        assert_eq!(
            (stats.queued, stats.active, stats.taken),
            (queued, active, taken),
            "{}",
            stats.name
        );
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    until("all has left", || {
        outer.view_stats().queued + outer.view_stats().active == 0
    });
    assert_eq!(outer.view_stats().taken, 3);
    assert_eq!(pool.view_stats().taken, 3);
}

#[test]
fn stats_list_views_with_a_limit_or_a_name_while_they_are_there() {
    let pool = pool_of(1);
    let limit = pool.limit(3).unwrap();
    let named = pool.named("mail");
    let (_lane, _key, _sequential) = (pool.lane(), pool.keyed(1), pool.sequential());
    let names = |pool: &Pool| -> Vec<String> {
        pool.stats()
            .views
            .iter()
            .map(|view| view.name.to_string())
            .collect()
    };
    assert_eq!(names(&pool), ["p/limit(3)", "p/mail"]);
    drop(limit);
    assert_eq!(names(&pool), ["p/mail"]);
    named.execute(|| ()).unwrap();
    drop(named);
    assert!(pool.wait_idle(LONG));
    until("its last task is gone", || names(&pool).is_empty());
}

#[test]
fn a_view_measures_how_long_its_tasks_waited() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(2).clock(&clock).build().unwrap();
    let view = pool.limit(1).unwrap();
    let busy = view
        .submit(|| punctual::task::sleep(Duration::from_secs(10)))
        .unwrap();
    let waits = view.submit(|| ()).unwrap();
    clock.advance(Duration::from_secs(4));
    assert_eq!(view.view_stats().oldest_wait, Some(Duration::from_secs(4)));
    clock.advance(Duration::from_secs(6));
    busy.join().unwrap().unwrap();
    waits.join().unwrap();
    let stats = view.view_stats();
    assert_eq!((stats.wait.count(), stats.oldest_wait), (2, None));
    let longest = stats.wait.quantile(1.0).unwrap();
    assert!((10.0..13.0).contains(&longest.as_secs_f64()), "{longest:?}");
}

#[test]
fn what_stands_in_lines_is_queued_in_the_pools_numbers() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold_in(&lane);
    for _ in 0..10 {
        lane.execute(|| ()).unwrap();
    }
    let stats = pool.stats();
    assert_eq!(
        (stats.submitted, stats.queued, stats.active, stats.taken),
        (11, 10, 1, 1)
    );
    assert!(!pool.wait_idle(Duration::ZERO));
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().finished, 11);
}

/// A million in the gate, elsewhere fewer.
#[test]
fn a_million_live_keys_run_on_two_workers() {
    let keys = gate_size(1_000_000, 200_000);
    let pool = pool_of(2);
    // One key is busy all the time.
    let (busy, held) = (hold_in(&pool.keyed(0_u32)), hold(&pool));
    for key in 0..keys as u32 {
        pool.keyed(key)
            .execute(move || _ = std::hint::black_box(key))
            .unwrap();
    }
    assert_eq!(pool.stats().queued as u64, keys);
    drop(held);
    until("all others have run", || pool.stats().finished == keys);
    assert_eq!(
        (pool.stats().queued, pool.keyed(0_u32).view_stats().queued),
        (1, 1)
    );
    drop(busy);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().finished, keys + 2);
}

#[test]
fn a_hundred_thousand_lanes_share_two_workers() {
    let pool = pool_of(2);
    let lanes: Vec<_> = (0..100_000).map(|_| pool.lane()).collect();
    // So that each has two in line.
    let held = (hold(&pool), hold(&pool));
    for round in 0..3 {
        for lane in &lanes {
            lane.execute(move || _ = std::hint::black_box(round)).unwrap();
        }
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    let stats = pool.stats();
    assert_eq!((stats.finished, stats.threads_started), (300_002, 2));
}

#[test]
fn the_oldest_wait_of_a_view_is_not_that_of_others_in_the_queue() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    pool.pause();
    pool.execute(|| ()).unwrap();
    clock.advance(Duration::from_secs(100));
    let view = pool.limit(2).unwrap();
    view.execute(|| ()).unwrap();
    clock.advance(Duration::from_secs(5));
    assert_eq!(pool.stats().oldest_wait, Some(Duration::from_secs(105)));
    assert_eq!(view.view_stats().oldest_wait, Some(Duration::from_secs(5)));
    pool.resume();
    assert!(pool.wait_idle(LONG));
    assert_eq!(view.view_stats().oldest_wait, None);
}
