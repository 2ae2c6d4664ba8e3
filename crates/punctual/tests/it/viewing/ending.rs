//! The end of a lane, and what the end of its pool does to a view's tasks.

use super::{Notes, hold_in, pool_of};
use crate::support::{LONG, assert_all_settled, hold, in_time, until};
use punctual::{Clock, Pool, Queue, Schedule, State, Status, task};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn dispose_cancels_what_waits_signals_what_runs_and_refuses_from_then_on() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let running = lane.submit(|| task::sleep(LONG)).unwrap();
    let waiting: Vec<_> = (0..10).map(|n| lane.submit(move || n).unwrap()).collect();
    until("it runs", || running.task_ref().status() == Status::Running);
    assert_eq!(lane.dispose(), 10);
    assert!(running.join().unwrap_err().is_cancelled());
    for task in waiting {
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    assert!(lane.after(Duration::ZERO, || ()).unwrap_err().is_shutdown());
    assert!(
        lane.schedule(Schedule::every(LONG), |_| ())
            .unwrap_err()
            .is_shutdown()
    );
    assert_eq!(lane.dispose(), 0);
    assert_eq!(pool.submit(|| 7).unwrap().join().unwrap(), 7, "the pool goes on");
    assert_all_settled(&pool.stats());
}

#[test]
fn dispose_reaches_the_task_that_lies_in_the_pools_queue() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold(&pool);
    let waiting = lane.submit(|| ()).unwrap();
    assert_eq!(lane.dispose(), 1);
    assert!(waiting.join().unwrap_err().is_cancelled());
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().cancelled, 1);
}

#[test]
fn dispose_reaches_views_inside_the_lane_and_delayed_tasks() {
    let clock = Clock::manual();
    let pool = Pool::builder("p").core_threads(1).clock(&clock).build().unwrap();
    let lane = pool.lane();
    let inside = lane.limit(1).unwrap();
    let running = inside.submit(|| task::sleep(LONG)).unwrap();
    clock.advance(Duration::from_millis(1));
    let tasks = [
        inside.submit(|| ()).unwrap(),
        inside.submit(|| ()).unwrap(),
        lane.submit(|| ()).unwrap(),
        lane.after(LONG, || ()).unwrap(),
        inside.after(LONG, || ()).unwrap(),
    ];
    let other = pool.after(Duration::from_secs(1), || 7).unwrap();
    let schedule = lane
        .schedule(Schedule::every(LONG).starting_in(LONG), |_| ())
        .unwrap();
    assert_eq!(lane.dispose(), 6, "the run that was to come is one");
    for task in tasks {
        assert!(task.join().unwrap_err().is_cancelled());
    }
    assert!(running.join().unwrap_err().is_cancelled());
    assert!(schedule.is_finished());
    clock.advance(Duration::from_secs(1));
    assert_eq!(other.join().unwrap(), 7);
    assert_all_settled(&pool.stats());
}

#[test]
fn a_task_may_dispose_of_its_own_lane() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let own = lane.clone();
    let (go, goes) = channel::<()>();
    let (tell, told) = channel();
    lane.execute(move || {
        goes.recv().expect("it is sent below");
        tell.send(own.dispose()).expect("the test waits for this");
    })
    .unwrap();
    let waiting = [lane.submit(|| ()).unwrap(), lane.submit(|| ()).unwrap()];
    go.send(()).unwrap();
    assert_eq!(told.recv_timeout(LONG).unwrap(), 2);
    assert!(waiting.into_iter().all(|task| task.join().is_err()));
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    assert!(pool.wait_idle(LONG));
}

#[test]
fn close_timeout_waits_for_the_lanes_tasks_and_refuses_new_ones() {
    let pool = pool_of(2);
    let lane = pool.lane();
    let held = hold_in(&lane);
    let notes = Notes::default();
    for number in 0..10 {
        lane.execute(notes.writes(number)).unwrap();
    }
    assert!(!lane.close_timeout(Duration::ZERO));
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    drop(held);
    assert!(lane.close_timeout(LONG));
    assert_eq!(notes.read().len(), 10);
}

#[test]
fn close_timeout_on_the_pools_only_worker_lets_a_spare_run_the_lane() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold(&pool);
    let notes = Notes::default();
    for number in 0..3 {
        lane.execute(notes.writes(number)).unwrap();
    }
    let own = lane.clone();
    let closing = pool.submit(move || own.close_timeout(LONG)).unwrap();
    // The lane's first task is before it in the queue, the others come behind it.
    drop(held);
    assert!(in_time(move || closing.join().unwrap()));
    assert_eq!(notes.read(), [0, 1, 2]);
}

#[test]
fn close_timeout_inside_the_lane_answers_at_once() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let own = lane.clone();
    let task = lane.submit(move || own.close_timeout(LONG)).unwrap();
    assert!(!in_time(move || task.join().unwrap()));
    assert!(lane.close_timeout(LONG));
}

#[test]
fn stop_gives_back_what_stands_in_lines() {
    let pool = pool_of(1);
    let (lane, outer) = (pool.lane(), pool.limit(1).unwrap());
    let inner = outer.limit(1).unwrap();
    let running = lane.submit(|| task::sleep(LONG).is_ok()).unwrap();
    until("it runs", || running.task_ref().status() == Status::Running);
    let handle = lane.submit(|| 1).unwrap();
    let notes = Notes::default();
    for number in 0..3 {
        lane.execute(notes.writes(number)).unwrap();
        inner.execute(notes.writes(10 + number)).unwrap();
    }
    assert_eq!(pool.stats().queued, 7);
    let unrun = pool.stop();
    assert_eq!(unrun.len(), 7);
    assert!(handle.join().unwrap_err().is_cancelled());
    assert!(
        running.join().is_ok(),
        "the running one's handle gets what it returns"
    );
    for task in unrun {
        task.run().unwrap();
    }
    // First what was in the queue, then what stood in the lines, as it was accepted.
    assert_eq!(notes.read(), [10, 0, 1, 11, 2, 12]);
    assert!(pool.await_termination(LONG));
    assert_eq!(pool.stats().returned, 7);
    assert_all_settled(&pool.stats());
}

#[test]
fn drain_empties_lines_and_the_views_go_on() {
    let pool = pool_of(1);
    let lane = pool.lane();
    let held = hold_in(&lane);
    for _ in 0..10 {
        lane.execute(|| ()).unwrap();
    }
    assert_eq!(pool.drain().len(), 10);
    assert_eq!(lane.view_stats().queued, 0);
    let after = lane.submit(|| 7).unwrap();
    drop(held);
    assert_eq!(in_time(move || after.join().unwrap()), 7);
}

#[test]
fn shutdown_runs_what_stands_in_lines() {
    let pool = pool_of(2);
    let lane = pool.lane();
    let held = hold_in(&lane);
    let notes = Notes::default();
    for number in 0..100 {
        lane.execute(notes.writes(number)).unwrap();
    }
    pool.shutdown();
    assert!(lane.execute(|| ()).unwrap_err().is_shutdown());
    drop(held);
    assert!(pool.await_termination(LONG));
    assert_eq!(notes.read(), (0..100).collect::<Vec<_>>());
    assert_eq!(pool.state(), State::Terminated);
}

#[test]
fn a_pool_that_closes_ends_although_the_slots_of_lines_are_cancelled_meanwhile() {
    for _ in 0..300 {
        let pool = pool_of(2);
        let lanes: Vec<_> = (0..4).map(|_| pool.lane()).collect();
        let tasks: Vec<_> = (0..40)
            .map(|number| lanes[number % 4].submit(|| ()).unwrap())
            .collect();
        let canceller = std::thread::spawn(move || {
            for task in &tasks {
                let _ = task.cancel();
            }
        });
        pool.shutdown();
        assert!(pool.await_termination(LONG), "{pool:?}");
        canceller.join().unwrap();
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn dropping_a_lane_leaves_its_tasks_alone() {
    let pool = pool_of(1);
    let held = hold(&pool);
    let notes = Notes::default();
    {
        let lane = pool.lane();
        for number in 0..10 {
            lane.execute(notes.writes(number)).unwrap();
        }
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(notes.read(), (0..10).collect::<Vec<_>>());
}

#[test]
fn a_lane_keeps_its_pool_open_as_every_executor_does() {
    let pool = Pool::builder("p")
        .core_threads(1)
        .queue(Queue::unbounded())
        .build()
        .unwrap();
    let lane = pool.lane();
    drop(pool);
    assert_eq!(lane.submit(|| 7).unwrap().join().unwrap(), 7);
}
