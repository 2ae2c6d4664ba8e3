//! Changing a running pool: all of it at once, or an error and nothing.

use super::{Gate, fill, hold_many, once_active, pool, size, sized};
use crate::life::settle;
use crate::support::{LONG, hold, until};
use punctual::{Capacity, Clock, Growth, MAX_THREADS, Pool, Queue, Size, State};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

#[test]
fn tpe_05_core_stays_below_max_and_a_refused_size_changes_nothing() {
    for s in 1..=4 {
        let pool = pool(s, s, 4);
        assert_eq!(pool.resize(s, s - 1).unwrap_err().field(), bad_field(s, s - 1));
        assert_eq!(pool.resize(s + 1, s).unwrap_err().field(), "core_threads");
        assert_eq!((pool.size(), pool.stats().size), (size(s, s), size(s, s)));
    }
}

fn bad_field(_core: usize, max: usize) -> &'static str {
    if max == 0 { "max_threads" } else { "core_threads" }
}

#[test]
fn tpe_06_a_running_pool_refuses_bad_values_and_keeps_the_old_ones() {
    let keep_alive = Duration::from_secs(30);
    let pool = sized(2, 3, 4)
        .keep_alive(keep_alive)
        .core_timeout(true)
        .build()
        .unwrap();
    let held = hold(&pool);
    for (core, max, field) in [
        (0, 0, "max_threads"),
        (2, 0, "max_threads"),
        (4, 3, "core_threads"),
        (2, MAX_THREADS + 1, "max_threads"),
        (usize::MAX, usize::MAX, "max_threads"),
    ] {
        assert_eq!(pool.resize(core, max).unwrap_err().field(), field);
        assert_eq!((pool.size(), pool.stats().size), (size(2, 3), size(2, 3)));
    }
    assert_eq!(
        pool.set_keep_alive(Duration::ZERO).unwrap_err().field(),
        "keep_alive"
    );
    assert_eq!((pool.keep_alive(), pool.core_timeout()), (keep_alive, true));
    assert!(pool.set_capacity(Capacity::Unbounded).is_err());
    assert_eq!(pool.stats().capacity, Capacity::Bounded(4));
    // The old values are those the pool goes by, not only those it tells.
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 6, "two more threads and four places");
    drop(held);
}

#[test]
fn tpe_14_a_raised_max_lets_the_next_submissions_start_threads() {
    let pool = pool(1, 2, 2);
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 4);
    assert_eq!(pool.resize(1, 5).unwrap(), size(1, 2));
    assert_eq!(pool.stats().threads, 2, "not before somebody needs them");
    for threads in 3..=5 {
        pool.execute(gate.task()).unwrap();
        assert_eq!((pool.stats().threads, pool.stats().largest), (threads, threads));
    }
    assert_eq!(fill(&pool, &gate), 0);
    assert_eq!(once_active(&pool, 5), (5, 5, 2));
}

#[test]
fn tpe_15_a_lowered_max_disturbs_nobody_and_threads_leave_as_they_end() {
    let n = 2;
    let pool = pool(n, 4 * n, 3 * n);
    let running = Gate::default();
    assert_eq!(fill(&pool, &running), 7 * n);
    assert_eq!(once_active(&pool, 4 * n), (4 * n, 4 * n, 3 * n));
    assert_eq!(pool.resize(n, 2 * n).unwrap(), size(n, 4 * n));
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.active, stats.threads_stopped), (8, 8, 0));
    assert_eq!((stats.largest, stats.largest_since_resize), (8, 8));
    drop(running);
    assert!(pool.wait_idle(LONG));
    until("those beyond the new max leave", || {
        pool.stats().stops.surplus == 2 * n as u64
    });
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.largest), (2 * n, 4 * n));
    assert_eq!(
        (stats.finished, stats.cancelled),
        (7 * n as u64, 0),
        "all that waited too"
    );
    let _held = hold_many(&pool, 2 * n);
    assert_eq!(
        fill(&pool, &Gate::default()),
        3 * n,
        "the queue, and no thread more"
    );
}

#[test]
fn tpe_15_idle_threads_beyond_a_lowered_max_leave_at_once() {
    let clock = Clock::manual();
    let pool = sized(4, 4, 10).clock(&clock).build().unwrap();
    pool.prestart();
    assert_eq!(pool.resize(1, 2).unwrap(), size(4, 4));
    settle(&clock);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.stops.surplus), (2, 2), "without any time");
    assert_eq!((stats.threads_started, stats.threads_stopped), (4, 2));
}

#[test]
fn tpe_17_a_raised_core_starts_threads_for_the_waiting_tasks_at_once() {
    // (waiting, raised by, started)
    for (waiting, by, started) in [(0, 3, 0), (2, 3, 2), (5, 3, 3), (3, 3, 3)] {
        let pool = sized(1, 1, 0).queue(Queue::unbounded()).build().unwrap();
        let held = hold(&pool);
        let gate = Gate::default();
        for _ in 0..waiting {
            pool.execute(gate.task()).unwrap();
        }
        assert_eq!(pool.resize(1 + by, 1 + by).unwrap(), size(1, 1));
        assert_eq!(pool.stats().threads, 1 + started);
        assert_eq!(
            once_active(&pool, 1 + started),
            (1 + started, 1 + started, waiting - started)
        );
        drop(held);
    }
}

#[test]
fn resize_gives_the_old_size() {
    let pool = pool(1, 2, 8);
    assert_eq!(pool.resize(3, 7).unwrap(), size(1, 2), "both grow");
    assert_eq!(pool.resize(0, 1).unwrap(), size(3, 7), "both shrink");
    assert_eq!(pool.resize(4, 4).unwrap(), size(0, 1));
    assert_eq!(pool.resize(4, 4).unwrap(), size(4, 4));
}

#[test]
fn resizes_that_race_form_one_chain() {
    let pool = pool(1, 1, 8);
    let done = AtomicBool::new(false);
    let (mut set, mut seen) = (HashMap::new(), HashMap::new());
    let count = |map: &mut HashMap<(usize, usize), i32>, size: Size| {
        *map.entry((size.core, size.max)).or_default() += 1;
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            while !done.load(SeqCst) {
                // Each pair that is ever set has this form, so a mixed one shows.
                for Size { core, max } in [pool.size(), pool.stats().size] {
                    assert_eq!(max, core * core, "half of one size, half of another");
                }
            }
        });
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let pool = &pool;
                scope.spawn(move || {
                    let sizes = (0..300).map(|round| 1 + (round * 3 + writer) % 20);
                    sizes
                        .map(|core| (size(core, core * core), pool.resize(core, core * core).unwrap()))
                        .collect::<Vec<_>>()
                })
            })
            .collect();
        for (new, old) in writers.into_iter().flat_map(|writer| writer.join().unwrap()) {
            count(&mut set, new);
            count(&mut seen, old);
        }
        done.store(true, SeqCst);
        reader.join().unwrap();
    });
    // Every size but the last was once the old one of exactly one resize.
    count(&mut set, size(1, 1));
    count(&mut seen, pool.size());
    assert_eq!(set, seen);
}

#[test]
fn largest_since_resize_begins_anew_with_each_resize() {
    let pool = pool(1, 4, 0);
    let held = hold_many(&pool, 4);
    assert_eq!((pool.stats().largest, pool.stats().largest_since_resize), (4, 4));
    pool.resize(0, 2).unwrap();
    assert_eq!(pool.stats().largest_since_resize, 4, "they are still here");
    drop(held);
    assert!(pool.wait_idle(LONG));
    until("the surplus leaves", || pool.stats().threads == 2);
    pool.resize(0, 3).unwrap();
    assert_eq!((pool.stats().largest, pool.stats().largest_since_resize), (4, 2));
    let held = hold_many(&pool, 3);
    assert_eq!((pool.stats().largest, pool.stats().largest_since_resize), (4, 3));
    drop(held);
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_eq!((stats.largest, stats.largest_since_resize), (4, 3));
}

#[test]
fn a_raised_capacity_lets_in_exactly_so_many_more() {
    let pool = pool(1, 1, 2);
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 3);
    pool.set_capacity(5).unwrap();
    assert_eq!(pool.stats().capacity, Capacity::Bounded(5));
    assert_eq!(fill(&pool, &gate), 3);
    assert_eq!(once_active(&pool, 1), (1, 1, 5));
}

#[test]
fn a_lowered_capacity_keeps_what_waits_and_lets_in_nothing_until_there_is_room() {
    let pool = pool(1, 1, 5);
    let held = hold(&pool);
    let waiting: Vec<_> = (0..5)
        .map(|number| pool.submit(move || number).unwrap())
        .collect();
    pool.set_capacity(2).unwrap();
    assert_eq!(
        (pool.stats().queued, pool.stats().capacity),
        (5, Capacity::Bounded(2))
    );
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    for task in &waiting[..3] {
        task.cancel();
        assert!(waiting[0].is_finished());
    }
    assert!(pool.execute(|| ()).unwrap_err().is_full(), "two wait, two may");
    waiting[3].cancel();
    pool.execute(|| ()).unwrap();
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    drop(held);
    let last = waiting.into_iter().next_back().unwrap();
    assert_eq!(last.join().unwrap(), 4, "it was kept");
}

#[test]
fn a_capacity_lowered_to_none_leaves_only_free_hands() {
    let pool = pool(2, 2, 4);
    let gate = Gate::default();
    pool.set_capacity(0).unwrap();
    assert_eq!(fill(&pool, &gate), 2);
    pool.set_capacity(1).unwrap();
    assert_eq!(fill(&pool, &gate), 1, "and back");
    assert_eq!(once_active(&pool, 2), (2, 2, 1));
}

#[test]
fn a_capacity_without_bound_is_refused_only_where_it_would_strand_max() {
    let set = |builder: punctual::PoolBuilder| {
        let pool = builder.build().unwrap();
        pool.set_capacity(Capacity::Unbounded).is_ok()
    };
    assert!(!set(sized(1, 2, 3)));
    assert!(!set(sized(0, 2, 3)));
    assert!(set(sized(2, 2, 3)));
    assert!(set(sized(0, 1, 3)));
    assert!(set(sized(1, 2, 3).growth(Growth::ThreadsFirst)));
    let pool = pool(1, 1, 1);
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 2);
    pool.set_capacity(Capacity::Unbounded).unwrap();
    for _ in 0..2_000 {
        pool.execute(gate.task()).unwrap();
    }
    assert_eq!(once_active(&pool, 1), (1, 1, 2_001));
}

#[test]
fn an_ended_pool_can_be_changed_and_stays_ended() {
    let pool = Pool::fixed(2).unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    assert!(pool.close().terminated);
    assert_eq!(pool.resize(3, 3).unwrap(), size(2, 2));
    pool.set_capacity(3).unwrap();
    pool.set_keep_alive(Duration::from_secs(3)).unwrap();
    pool.pause();
    pool.resume();
    assert_eq!((pool.state(), pool.stats().threads), (State::Terminated, 0));
    assert!(pool.submit(|| ()).unwrap_err().is_shutdown());
}
