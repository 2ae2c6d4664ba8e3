//! Why is my task waiting?

use super::{hold_in, pool_of};
use crate::support::{LONG, hold, until};
use punctual::{Clock, Pool, Priority, Queue, Status};
use std::time::Duration;

#[test]
fn a_queued_task_is_told_how_many_go_before_it_and_when_it_should_start() {
    let pool = pool_of(1);
    for _ in 0..3 {
        pool.submit(|| std::thread::sleep(Duration::from_millis(2)))
            .unwrap()
            .join()
            .unwrap();
    }
    let held = hold(&pool);
    let tasks: Vec<_> = (0..5).map(|n| pool.submit(move || n).unwrap()).collect();
    let why = tasks[4].task_ref().explain();
    assert_eq!(
        (why.at_most_before(), why.held_by(), why.level()),
        (Some(4), None, None)
    );
    let start = why.expected_start().expect("tasks have run before");
    assert!(start > Duration::ZERO && start < LONG, "{start:?}");
    let text = why.to_string();
    assert!(
        text.contains("waits for a worker") && text.contains("at most 4"),
        "{text}"
    );
    assert!(text.contains("1 tasks run on 1 threads"), "{text}");
    drop(held);
}

#[test]
fn a_task_in_a_line_is_told_which_view_holds_it() {
    let pool = pool_of(4);
    let outer = pool.limit(1).unwrap();
    let lane = outer.lane();
    let held = hold_in(&outer);
    // Has the lane's slot, and stands in the outer line; the other stands in the lane's own.
    let (first, second) = (lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap());
    assert_eq!(first.task_ref().explain().held_by(), Some("p/limit(1)"));
    let why = second.task_ref().explain();
    assert_eq!(why.held_by(), Some("p/limit(1)/lane"));
    assert!(
        why.to_string().contains("in the line of p/limit(1)/lane"),
        "{why}"
    );
    drop(held);
    second.join().unwrap();
    first.join().unwrap();
}

#[test]
fn what_runs_what_is_over_and_what_is_delayed_is_said_so() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    let running = pool
        .submit(|| punctual::task::sleep(Duration::from_secs(5)))
        .unwrap();
    until("it runs", || running.task_ref().status() == Status::Running);
    let delayed = pool.after(Duration::from_secs(9), || ()).unwrap();
    assert_eq!(running.task_ref().explain().to_string(), "it runs");
    assert_eq!(delayed.task_ref().explain().to_string(), "its time comes in 9s");
    assert_eq!(delayed.task_ref().explain().at_most_before(), None);
    let over = running.task_ref();
    clock.advance(Duration::from_secs(5));
    running.join().unwrap().unwrap();
    assert_eq!(over.explain().to_string(), "it is over");
    drop(pool);
    assert_eq!(over.explain().to_string(), "it is over", "after its pool too");
    assert!(delayed.join().unwrap_err().is_cancelled());
}

#[test]
fn a_task_of_a_level_is_told_its_level_and_what_is_more_urgent() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::priority(100).strict())
        .build()
        .unwrap();
    pool.pause();
    let low = pool.task(|| ()).priority(Priority::LOW).submit().unwrap();
    let urgent = pool.task(|| ()).priority(Priority::URGENT).submit().unwrap();
    let (why, first) = (low.task_ref().explain(), urgent.task_ref().explain());
    assert_eq!(
        (why.level(), why.effective_level(), why.at_most_before()),
        (Some(3), Some(3), Some(1))
    );
    assert_eq!((first.level(), first.at_most_before()), (Some(0), Some(0)));
    assert!(
        why.to_string().contains("paused") && why.to_string().contains("its level is 3"),
        "{why}"
    );
    assert_eq!(
        why.expected_start(),
        None,
        "while it is paused there is no telling"
    );
    pool.resume();
}

#[test]
fn a_priority_that_counts_for_nothing_is_said_so() {
    let pool = pool_of(1);
    pool.pause();
    let task = pool.task(|| ()).priority(Priority::URGENT).submit().unwrap();
    let why = task.task_ref().explain();
    assert_eq!((why.level(), why.effective_level()), (None, None));
    assert!(why.to_string().contains("the queue has no levels"), "{why}");
    pool.resume();
}
