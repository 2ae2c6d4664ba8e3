//! One after the other: sequential views, keys, lanes.

use super::{Meter, Notes, hold_in, pool_of};
use crate::support::{LONG, in_time};
use punctual::task;
use std::collections::HashSet;
use std::sync::Arc;

#[test]
fn a_lane_runs_its_tasks_in_the_order_of_submission_and_never_two_at_once() {
    let pool = pool_of(4);
    let lane = pool.lane();
    let (notes, meter) = (Notes::default(), Arc::new(Meter::default()));
    for number in 0..20_000 {
        let (notes, meter) = (notes.clone(), meter.clone());
        lane.execute(move || meter.pass(|| notes.note(number))).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(meter.most(), 1);
    assert!(notes.read().is_sorted() && notes.read().len() == 20_000);
}

#[test]
fn a_limited_view_takes_its_tasks_first_in_first_out() {
    let pool = pool_of(1);
    let view = pool.limit(2).unwrap();
    let held = hold_in(&pool);
    let notes = Notes::default();
    for number in 0..100 {
        view.execute(notes.writes(number)).unwrap();
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..100).collect::<Vec<_>>());
}

#[test]
fn trap_58_a_sequential_view_is_not_one_thread() {
    in_time(|| {
        let pool = pool_of(2);
        let view = pool.sequential();
        let mut threads = HashSet::new();
        while threads.len() < 2 {
            // One of the two workers is busy, this time or the next the one that ran the last task.
            let _held = hold_in(&pool);
            let task = view.submit(|| std::thread::current().id()).unwrap();
            threads.insert(task.join().unwrap());
        }
    });
}

#[test]
fn tasks_of_one_key_keep_their_order_and_other_keys_do_not_wait_for_them() {
    let pool = pool_of(2);
    let held = hold_in(&pool.keyed("slow"));
    let notes = Notes::default();
    for number in 0..10 {
        pool.keyed("slow").execute(notes.writes(number)).unwrap();
    }
    let others: Vec<_> = (0..100)
        .map(|key| pool.keyed(key).submit(move || key).unwrap())
        .collect();
    in_time(move || {
        for (key, task) in others.into_iter().enumerate() {
            assert_eq!(task.join().unwrap(), key);
        }
    });
    assert_eq!(notes.read(), [0; 0]);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..10).collect::<Vec<_>>());
}

#[test]
fn many_keys_under_several_submitters_each_keep_the_order_of_their_submitter() {
    const KEYS: usize = 50;
    let pool = pool_of(4);
    let notes: Vec<Notes> = (0..KEYS).map(|_| Notes::default()).collect();
    std::thread::scope(|scope| {
        for submitter in 0..4_usize {
            let (pool, notes) = (pool.clone(), notes.clone());
            scope.spawn(move || {
                for round in 0..500 {
                    for (key, notes) in notes.iter().enumerate().filter(|(key, _)| key % 4 == submitter) {
                        pool.keyed(key).execute(notes.writes(round)).unwrap();
                    }
                }
            });
        }
    });
    assert!(pool.wait_idle(LONG));
    for notes in notes {
        assert_eq!(notes.read(), (0..500).collect::<Vec<_>>());
    }
}

#[test]
fn a_key_inside_a_view_is_another_than_the_same_key_of_the_pool() {
    let pool = pool_of(2);
    let view = pool.limit(2).unwrap();
    let _held = hold_in(&pool.keyed(7));
    let task = view.keyed(7).submit(|| "not held").unwrap();
    assert_eq!(in_time(move || task.join().unwrap()), "not held");
}

#[test]
fn a_lane_with_much_to_do_does_not_starve_its_sibling() {
    let pool = pool_of(1);
    let (busy, other) = (pool.lane(), pool.lane());
    let held = hold_in(&pool);
    let notes = Notes::default();
    for number in 0..1_000 {
        busy.execute(notes.writes(number)).unwrap();
    }
    other.execute(notes.writes(7_777)).unwrap();
    drop(held);
    assert!(pool.wait_idle(LONG));
    let place = notes.read().iter().position(|number| *number == 7_777);
    assert_eq!(place, Some(1), "each takes its turn in the pool's queue");
}

#[test]
fn a_task_of_a_view_finds_its_view_as_the_current_executor() {
    let pool = pool_of(2);
    let lane = pool.lane().named("orders");
    let name = |executor: Option<punctual::Executor>| executor.unwrap().view_stats().name.to_string();
    let inside = lane.submit(move || name(task::current_executor())).unwrap();
    assert_eq!(inside.join().unwrap(), "p/lane/orders");
    let weak = lane.downgrade().upgrade();
    assert_eq!(weak.unwrap().view_stats().name.as_ref(), "p/lane/orders");
    let at_root = pool.submit(move || name(task::current_executor())).unwrap();
    assert_eq!(at_root.join().unwrap(), "p");
}
