//! What a task leaves behind that is moved, and one that is cancelled in a line: dead records, which are swept.

use crate::counting::live;
use crate::support::hold;
use crate::{SLACK, alone};
use punctual::{Cancel, Pool, Priority, Queue};

const ROUNDS: usize = 100_000;

fn pool() -> Pool {
    let builder = Pool::builder("memory").core_threads(1);
    builder.queue(Queue::priority(1_000)).build().unwrap()
}

#[test]
fn a_task_that_is_moved_for_ever_takes_no_memory_that_grows() {
    let _alone = alone();
    let pool = pool();
    let held = hold(&pool);
    let task = pool.submit(|| ()).unwrap();
    let reference = task.task_ref();
    let base = live();
    for round in 0..ROUNDS {
        assert!(reference.set_priority(Priority::level((round % 4) as u8)) && reference.run_next());
    }
    let above = live() - base;
    assert!(above <= SLACK, "{above} bytes above the base line");
    drop(held);
    task.join().unwrap();
}

#[test]
fn cancelled_tasks_of_a_line_take_no_memory_that_grows() {
    let _alone = alone();
    let pool = pool();
    let lane = pool.lane();
    let held = hold(&lane);
    let base = live();
    for _ in 0..ROUNDS {
        assert_eq!(lane.submit(|| ()).unwrap().cancel(), Cancel::Removed);
    }
    let above = live() - base;
    assert!(above <= SLACK, "{above} bytes above the base line");
    drop(held);
    assert_eq!(lane.submit(|| 7).unwrap().join().unwrap(), 7);
}
