//! What a snapshot says while tasks wait, run and end, and taking waiting tasks out by their reference.

use super::{Gate, fill, hold_many, pool, size};
use crate::life::running;
use crate::support::{LONG, assert_all_settled, assert_books_balance, hold, single};
use punctual::{Cancel, Pool, State, Status, task};
use std::sync::Arc;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::time::Duration;

#[test]
fn tpe_26_a_running_task_is_active_from_inside_and_outside() {
    let pool = pool(2, 2, 4);
    assert_eq!((pool.stats().active, pool.stats().finished), (0, 0));
    let inside = pool.clone();
    let (tell, told) = channel();
    let (open, gate) = channel::<()>();
    let task = pool
        .submit(move || {
            let stats = inside.stats();
            tell.send((stats.active, stats.finished)).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    assert_eq!(told.recv().unwrap(), (1, 0));
    let stats = pool.stats();
    assert_eq!((stats.active, stats.finished, stats.idle), (1, 0, 0));
    drop(open);
    task.join().unwrap();
    let stats = pool.stats();
    assert_eq!(
        (stats.active, stats.finished),
        (0, 1),
        "whoever has joined finds it counted"
    );
}

#[test]
fn tpe_26_active_is_never_too_many_and_finished_never_becomes_less() {
    let pool = pool(2, 4, 16);
    let (running, done) = (Arc::new(AtomicUsize::new(0)), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut last = 0;
            while !done.load(SeqCst) {
                let stats = pool.stats();
                assert_books_balance(&stats);
                assert!(stats.active <= 4 && stats.threads <= 4, "{stats:?}");
                assert!(stats.finished >= last, "{stats:?}, before: {last}");
                last = stats.finished;
                std::thread::yield_now();
            }
        });
        let mut accepted = 0;
        while accepted < 3_000 {
            let running = running.clone();
            let outcome = pool.execute(move || {
                let now = running.fetch_add(1, SeqCst) + 1;
                assert!(now <= 4, "more at once than threads");
                running.fetch_sub(1, SeqCst);
            });
            match outcome {
                Ok(()) => accepted += 1,
                // Full: the workers need the core more than the next try does.
                Err(_) => std::thread::yield_now(),
            }
        }
        assert!(pool.wait_idle(LONG));
        done.store(true, SeqCst);
        reader.join().unwrap();
        assert_eq!((pool.stats().finished, pool.stats().panicked), (accepted, 0));
    });
}

#[test]
fn tpe_27_the_count_of_tasks_climbs_with_each_and_all_are_completed_in_the_end() {
    let pool = pool(1, 1, 10);
    let held = hold(&pool);
    assert_eq!(pool.stats().submitted, 1);
    for submitted in 2..=4 {
        pool.execute(|| ()).unwrap();
        assert_eq!((pool.stats().submitted, pool.stats().finished), (submitted, 0));
    }
    drop(held);
    assert!(pool.close().terminated);
    assert_eq!((pool.stats().submitted, pool.stats().finished), (4, 4));
}

#[test]
fn tpe_27_the_largest_size_outlives_the_threads() {
    let pool = pool(0, 3, 0);
    for largest in 1..=3 {
        let _held = hold_many(&pool, largest);
        assert_eq!(pool.stats().largest, largest);
        drop(_held);
        assert!(pool.wait_idle(LONG));
    }
    pool.submit(|| ()).unwrap().join().unwrap();
    assert_eq!(pool.stats().largest, 3, "a high-water mark");
    assert!(pool.close().terminated);
    assert_eq!((pool.stats().threads, pool.stats().largest), (0, 3));
}

#[test]
fn tpe_28_an_ended_pool_is_empty_and_its_counts_agree() {
    let pool = pool(2, 4, 3);
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 7);
    drop(gate);
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_all_settled(&stats);
    assert_eq!(
        (stats.state, stats.threads, stats.idle),
        (State::Terminated, 0, 0)
    );
    assert_eq!((stats.submitted, stats.finished), (7, 7));
    assert_eq!((stats.threads_started, stats.threads_stopped), (4, 4));
    assert_eq!(stats.stops.closed, 4);
    assert!(pool.await_termination(Duration::ZERO));
    assert_eq!(pool.state(), State::Terminated, "no longer on its way");
}

#[test]
fn tpe_28_the_line_about_a_pool_names_its_state_sizes_and_counts() {
    let pool = pool(1, 2, 3);
    let held = hold(&pool);
    pool.execute(|| ()).unwrap();
    for state in ["Running", "Shutdown"] {
        let line = format!("{pool:?}");
        for part in [state, "1 of 2 threads", "1 queued", "2 submitted"] {
            assert!(line.contains(part), "{line}");
        }
        pool.shutdown();
    }
    drop(held);
    assert!(pool.close().terminated);
    let line = format!("{pool:?}");
    for part in ["Terminated", "0 of 2 threads", "0 queued", "2 submitted"] {
        assert!(line.contains(part), "{line}");
    }
    let shown = format!("{:?}", pool.stats());
    assert!(
        shown.contains("Terminated") && shown.contains("submitted: 2"),
        "{shown}"
    );
    assert_eq!(pool.stats().size, size(1, 2));
}

#[test]
fn tpe_29_the_queue_holds_the_waiting_tasks_and_not_the_running_one() {
    let pool = single();
    let (first, open) = running(&pool, 0);
    let rest: Vec<_> = (1..5)
        .map(|number| {
            let task = pool.task(move || number).name(format!("task {number}"));
            task.submit().unwrap()
        })
        .collect();
    assert_eq!((pool.stats().queued, pool.stats().active), (4, 1));
    assert_eq!(first.task_ref().status(), Status::Running);
    for task in &rest {
        assert_eq!(task.task_ref().status(), Status::Queued);
    }
    let names: Vec<_> = pool
        .drain()
        .iter()
        .map(|task| task.name().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["task 1", "task 2", "task 3", "task 4"]);
    assert_eq!(pool.stats().queued, 0);
    drop(open);
    assert_eq!(first.join().unwrap(), 0);
}

#[test]
fn tpe_30_a_running_task_is_not_removed_and_not_signalled() {
    let pool = single();
    let (open, gate) = channel::<()>();
    let (begun, has_begun) = channel();
    let task = pool
        .submit(move || {
            begun.send(task::current().unwrap().token()).unwrap();
            let _ = gate.recv();
            task::current().unwrap().token().is_cancelled()
        })
        .unwrap();
    let token = has_begun.recv().unwrap();
    assert!(!task.task_ref().remove());
    assert!(!token.is_cancelled());
    assert_eq!(task.task_ref().status(), Status::Running);
    drop(open);
    assert!(!task.join().unwrap(), "it noticed nothing");
}

#[test]
fn tpe_30_a_waiting_task_is_removed_once_and_never_runs() {
    let pool = single();
    let held = hold(&pool);
    let ran = Arc::new(AtomicBool::new(false));
    let flag = ran.clone();
    let task = pool.submit(move || flag.store(true, SeqCst)).unwrap();
    let reference = task.task_ref();
    assert!(reference.remove());
    assert!(!reference.remove(), "once");
    assert_eq!((pool.stats().queued, pool.stats().cancelled), (0, 1));
    assert!(task.join().unwrap_err().is_cancelled());
    drop(held);
    assert!(pool.close().terminated);
    assert!(!ran.load(SeqCst));
}

#[test]
fn tpe_30_a_task_that_has_ended_is_not_removed() {
    let pool = single();
    let task = pool.submit(|| 3).unwrap();
    task.wait();
    assert!(!task.task_ref().remove());
    assert_eq!(task.join().unwrap(), 3);
}

#[test]
fn tpe_31_a_task_is_removed_by_its_handle_however_it_was_submitted() {
    let pool = single();
    let held = hold(&pool);
    let tasks = [
        pool.submit(|| 1).unwrap(),
        pool.task(|| 1).name("built").submit().unwrap(),
        pool.submit_timeout(LONG, || 1).unwrap(),
    ];
    assert_eq!(pool.stats().queued, 3);
    for (left, task) in [2, 1, 0].into_iter().zip(tasks) {
        assert!(task.task_ref().remove());
        assert_eq!(pool.stats().queued, left);
        assert!(task.join().unwrap_err().is_cancelled());
    }
    drop(held);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().finished, 1, "the one that held the worker");
}

#[test]
fn tpe_32_the_counts_fall_when_a_task_is_cancelled() {
    let pool = pool(1, 1, 4);
    let held = hold(&pool);
    let waiting: Vec<_> = (0..4).map(|_| pool.submit(|| ()).unwrap()).collect();
    let expected = |pool: &Pool| {
        let stats = pool.stats();
        assert_books_balance(&stats);
        (stats.queued, stats.submitted - stats.cancelled)
    };
    assert_eq!(expected(&pool), (4, 5));
    assert_eq!(waiting[1].cancel(), Cancel::Removed);
    assert_eq!(expected(&pool), (3, 4));
    assert_eq!(waiting[3].cancel(), Cancel::Removed);
    assert_eq!(expected(&pool), (2, 3));
    assert_eq!(waiting[3].cancel(), Cancel::TooLate);
    assert_eq!(expected(&pool), (2, 3), "a second time changes nothing");
    let gate = Gate::default();
    assert_eq!(fill(&pool, &gate), 2, "and their places are free at once");
    drop(held);
    assert!(waiting[0].wait_timeout(LONG) && waiting[2].wait_timeout(LONG));
}
