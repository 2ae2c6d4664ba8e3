//! Executors round somebody else's threads: `REA-04`, `REA-18`.

use crate::support::{Dropped, LONG, in_time, quiet_panic};
use punctual::{Cancel, Executor, Job, Reason, RefusedJob, Schedule};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An executor whose jobs come out of the channel.
fn collecting() -> (Executor, Receiver<Job>) {
    let (send, receive) = channel();
    let send = Mutex::new(send);
    let executor = Executor::from_fn(move |job| {
        let sent = send.lock().unwrap().send(job);
        sent.map_err(|refused| RefusedJob {
            job: refused.0,
            cause: "gone".to_owned(),
        })
    });
    (executor, receive)
}

#[test]
fn a_task_runs_where_its_job_is_run_and_its_handle_gets_the_value() {
    let (executor, jobs) = collecting();
    let task = executor.submit(|| std::thread::current().id()).unwrap();
    assert!(!task.is_finished());
    let job = jobs.recv().unwrap();
    let there = std::thread::spawn(move || {
        job.run();
        std::thread::current().id()
    });
    assert_eq!(task.join().unwrap(), there.join().unwrap());
}

#[test]
fn rea_18_a_refusal_gives_the_closure_back_with_its_cause_and_ends_nothing() {
    let is_full = Arc::new(Mutex::new(true));
    let answer = is_full.clone();
    let executor = Executor::from_fn(move |job| {
        if *answer.lock().unwrap() {
            let cause = "three of three are busy".to_owned();
            return Err(RefusedJob { job, cause });
        }
        job.run();
        Ok(())
    });
    let refused = executor.submit(|| 5).unwrap_err();
    let Reason::Foreign(cause) = refused.reason() else {
        panic!("{refused:?}")
    };
    assert_eq!(cause, "three of three are busy");
    assert_eq!(refused.into_task()(), 5);
    assert!(executor.execute(|| ()).is_err());
    assert_eq!(executor.view_stats().queued, 0);
    *is_full.lock().unwrap() = false;
    assert_eq!(executor.submit(|| 6).unwrap().join().unwrap(), 6);
}

#[test]
fn a_job_that_is_dropped_is_cancelled_and_its_closure_gone() {
    let (executor, jobs) = collecting();
    let drops = Arc::new(AtomicUsize::new(0));
    let held = Dropped(drops.clone());
    let task = executor.submit(move || drop(held)).unwrap();
    drop(jobs.recv().unwrap());
    assert!(in_time(|| task.join()).unwrap_err().is_cancelled());
    assert_eq!(drops.load(SeqCst), 1);
    let next = executor.submit(|| 1).unwrap();
    jobs.recv().unwrap().run();
    assert_eq!(next.join().unwrap(), 1);
}

#[test]
fn of_several_jobs_each_stands_for_its_own_task() {
    let (executor, jobs) = collecting();
    let tasks: Vec<_> = (0..3).map(|n| executor.submit(move || n).unwrap()).collect();
    let mut jobs: Vec<Job> = jobs.try_iter().collect();
    drop(jobs.remove(1));
    jobs.into_iter().rev().for_each(Job::run);
    let ends: Vec<_> = tasks.into_iter().map(|task| task.join().ok()).collect();
    assert_eq!(ends, [Some(0), None, Some(2)]);
}

#[test]
fn a_task_that_is_cancelled_before_its_job_is_run_does_not_run() {
    let (executor, jobs) = collecting();
    let task = executor.submit(|| unreachable!("it was cancelled")).unwrap();
    assert_eq!(task.cancel(), Cancel::Removed);
    jobs.recv().unwrap().run();
    assert!(task.join().unwrap_err().is_cancelled());
}

#[test]
fn a_running_one_is_signalled() {
    let (executor, jobs) = collecting();
    let (tell, told) = channel();
    let task = executor
        .submit(move || {
            tell.send(()).unwrap();
            punctual::task::sleep(2 * LONG)
        })
        .unwrap();
    let runs = std::thread::spawn(move || jobs.recv().unwrap().run());
    told.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    in_time(move || runs.join().unwrap());
}

#[test]
fn a_panic_stays_in_its_task_and_one_of_the_function_in_the_adapter() {
    let calls = AtomicUsize::new(0);
    let executor = Executor::from_fn(move |job| {
        if calls.fetch_add(1, SeqCst) == 0 {
            quiet_panic("not today");
        }
        job.run();
        Ok(())
    });
    let dropped = executor.submit(|| 1).unwrap();
    assert!(dropped.join().unwrap_err().is_cancelled());
    let panics = executor.submit(|| -> u8 { quiet_panic("no luck") }).unwrap();
    assert!(panics.join().unwrap_err().is_panic());
    assert_eq!(executor.submit(|| 2).unwrap().join().unwrap(), 2);
}

#[test]
fn rea_04_what_has_a_time_is_refused_and_comes_back() {
    let here = Executor::immediate();
    let later = here.after(Duration::from_secs(1), || 7).unwrap_err();
    assert!(matches!(later.reason(), Reason::NoTimer));
    assert_eq!(later.into_task()(), 7);
    let repeated = here.schedule(Schedule::every(LONG), |_| ()).unwrap_err();
    assert!(matches!(repeated.reason(), Reason::NoTimer));
    let expires = here.task(|| ()).expires_in(LONG).submit().unwrap_err();
    assert!(matches!(expires.reason(), Reason::NoTimer));
}

#[test]
fn what_needs_threads_of_the_librarys_own_is_refused_and_does_not_hang() {
    let here = Executor::immediate();
    let in_line = here.lane().execute(|| ()).unwrap_err();
    assert!(matches!(in_line.reason(), Reason::Foreign(_)), "{in_line}");
    let future = here.spawn(async { 1 }).unwrap_err();
    assert!(matches!(future.reason(), Reason::Foreign(_)), "{future}");
}

#[test]
fn groups_and_scopes_and_many_at_once_work() {
    let here = Executor::immediate();
    let all = here.all((0..4).map(|n| move || n * n)).unwrap();
    let squares: Vec<_> = all.into_iter().map(Result::unwrap).collect();
    assert_eq!(squares, [0, 1, 4, 9]);
    let mut parts = [1, 2, 3];
    here.scope(|s| parts.iter_mut().for_each(|part| s.execute(move || *part *= 2)));
    assert_eq!(parts, [2, 4, 6]);
    let mut group = here.group();
    drop(group.submit(|| 5).unwrap());
    assert_eq!(group.next().unwrap().1.unwrap(), 5);
}

#[test]
fn an_adapter_whose_executors_are_gone_still_runs_its_jobs() {
    let (executor, jobs) = collecting();
    let task = executor.submit(|| 3).unwrap();
    drop(executor);
    jobs.recv().unwrap().run();
    assert_eq!(in_time(|| task.join().unwrap()), 3);
}

#[test]
fn submit_async_and_a_time_limit_on_room_go_straight_through() {
    let here = Executor::immediate();
    let task = crate::support::block_on(here.submit_async(|| 8)).unwrap();
    assert_eq!(task.join().unwrap(), 8);
    assert_eq!(here.submit_timeout(LONG, || 9).unwrap().join().unwrap(), 9);
}
