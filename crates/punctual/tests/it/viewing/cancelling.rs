//! Tasks that leave a view without having run: their slots and places come back, once.

use super::{Notes, hold_in, pool_of};
use crate::support::{LONG, assert_all_settled, in_time};
use punctual::{Cancel, Clock, Pool, Queue, Reject, Status};
use std::sync::{Arc, Weak};
use std::time::Duration;

#[test]
fn a_cancelled_task_of_a_line_is_gone_at_once_with_its_closure_and_its_place() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .build()
        .unwrap();
    let lane = pool.lane();
    let held = hold_in(&lane);
    let kept = Arc::new(());
    let seen: Weak<()> = Arc::downgrade(&kept);
    let first = lane.submit(move || drop(kept)).unwrap();
    let second = lane.submit(|| 2).unwrap();
    assert!(
        lane.execute(|| ()).unwrap_err().is_full(),
        "both hold places of the pool's queue"
    );
    assert_eq!(first.cancel(), Cancel::Removed);
    assert!(seen.upgrade().is_none(), "its closure is dropped");
    assert_eq!(pool.stats().queued, 1);
    assert!(first.join().unwrap_err().is_cancelled());
    let third = lane.submit(|| 3).unwrap();
    drop(held);
    assert_eq!((second.join().unwrap(), third.join().unwrap()), (2, 3));
    assert_all_settled(&pool.stats());
}

#[test]
fn a_cancelled_task_that_has_the_slot_gives_it_to_the_next() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold_in(&pool);
    let notes = Notes::default();
    // The first is in the pool's queue, with the slot.
    let first = lane.submit(notes.writes(1)).unwrap();
    lane.execute(notes.writes(2)).unwrap();
    assert_eq!(first.cancel(), Cancel::Removed);
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), [2]);
    assert_eq!((lane.view_stats().queued, lane.view_stats().active), (0, 0));
}

#[test]
fn a_task_of_a_line_expires_in_its_time() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    let lane = pool.lane();
    let busy = lane
        .submit(|| punctual::task::sleep(Duration::from_secs(60)))
        .unwrap();
    let expires = lane
        .task(|| ())
        .expires_in(Duration::from_secs(5))
        .submit()
        .unwrap();
    let stays = lane.submit(|| 7).unwrap();
    clock.advance(Duration::from_secs(5));
    assert_eq!(expires.task_ref().status(), Status::Expired);
    assert!(expires.join().unwrap_err().is_expired());
    clock.advance(Duration::from_secs(55));
    busy.join().unwrap().unwrap();
    assert_eq!(stays.join().unwrap(), 7);
    assert_eq!(pool.stats().expired, 1);
}

#[test]
fn a_hundred_thousand_cancelled_tasks_of_a_line_leave_the_next_its_turn() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold_in(&lane);
    let tasks: Vec<_> = (0..100_000).map(|n| lane.submit(move || n).unwrap()).collect();
    for task in &tasks {
        assert_eq!(task.cancel(), Cancel::Removed);
    }
    assert_eq!(lane.view_stats().queued, 0);
    let last = lane.submit(|| "last").unwrap();
    drop(held);
    assert_eq!(in_time(move || last.join().unwrap()), "last");
    assert!(
        tasks
            .into_iter()
            .all(|task| task.join().unwrap_err().is_cancelled())
    );
    assert_all_settled(&pool.stats());
}

#[test]
fn the_dead_in_a_line_further_out_give_their_inner_slots_back() {
    let pool = pool_of(2);
    let outer = pool.limit(1).unwrap();
    let (one, two) = (outer.lane(), outer.lane());
    let held = hold_in(&outer);
    let notes = Notes::default();
    // Has its lane's slot, and stands in the outer view's line.
    let dead = one.submit(notes.writes(1)).unwrap();
    one.execute(notes.writes(2)).unwrap();
    two.execute(notes.writes(3)).unwrap();
    assert_eq!(dead.cancel(), Cancel::Removed);
    drop(held);
    assert!(pool.wait_idle(LONG));
    let mut read = notes.read();
    read.sort_unstable();
    assert_eq!(read, [2, 3]);
    for view in [&one, &two] {
        assert_eq!(
            in_time({
                let task = view.submit(|| 7).unwrap();
                move || task.join().unwrap()
            }),
            7
        );
    }
}

#[test]
fn the_oldest_of_a_line_is_thrown_out_when_lines_hold_all_places() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::DiscardOldest)
        .build()
        .unwrap();
    let lane = pool.lane();
    let held = hold_in(&lane);
    let first = lane.submit(|| 1).unwrap();
    let second = lane.submit(|| 2).unwrap();
    let third = pool.submit(|| 3).unwrap();
    assert!(first.join().unwrap_err().is_evicted());
    let fourth = lane.submit(|| 4).unwrap();
    assert!(
        third.join().unwrap_err().is_evicted(),
        "what is in the queue goes first"
    );
    drop(held);
    assert_eq!((second.join().unwrap(), fourth.join().unwrap()), (2, 4));
    let stats = pool.stats();
    assert_eq!((stats.evicted, stats.queued), (2, 0));
    assert_all_settled(&stats);
}

#[test]
fn an_evicted_task_that_had_the_slot_gives_it_to_the_next() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::DiscardOldest)
        .build()
        .unwrap();
    let lane = pool.lane();
    let held = hold_in(&pool);
    let first = lane.submit(|| 1).unwrap();
    let second = lane.submit(|| 2).unwrap();
    let third = lane.submit(|| 3).unwrap();
    assert!(first.join().unwrap_err().is_evicted());
    drop(held);
    assert_eq!((second.join().unwrap(), third.join().unwrap()), (2, 3));
}
