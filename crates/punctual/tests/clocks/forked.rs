//! Fault 25 with timers: in a forked child every timed verb answers, and nothing waits for threads that are not there.

#![allow(unsafe_code)]

use crate::process::alone;
use crate::second::in_fork;
use crate::support::LONG;
use punctual::{Cancel, Pool, Queue, Reason, Rejected, Schedule, ScheduleHandle, TaskHandle};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

fn is_forked<T, F>(answer: Result<T, Rejected<F>>) -> bool {
    answer.is_err_and(|refused| matches!(refused.reason(), Reason::Forked))
}

struct Parents {
    pool: Pool,
    delayed: TaskHandle<u32>,
    appointed: TaskHandle<u32>,
    expiring: TaskHandle<u32>,
    schedule: ScheduleHandle,
}

/// The number of the first answer that is wrong, or 0.
fn every_timed_verb(parents: Parents) -> i32 {
    let Parents {
        pool,
        mut delayed,
        appointed,
        expiring,
        schedule,
    } = parents;
    let checks = [
        is_forked(pool.after(HOUR, || ())),
        is_forked(pool.after(Duration::ZERO, || ())),
        is_forked(pool.at(SystemTime::now(), || ())),
        is_forked(pool.task(|| ()).expires_in(HOUR).submit()),
        is_forked(pool.task(|| ()).expires_in(HOUR).execute()),
        is_forked(pool.task(|| ()).time_limit(HOUR).after(HOUR)),
        is_forked(pool.task(|| ()).slow_after(HOUR).at(SystemTime::now())),
        is_forked(pool.schedule(Schedule::every(HOUR), |_| ())),
        is_forked(pool.schedule_overlapping(Schedule::every(HOUR), 2, |_| ())),
        delayed.join_timeout(LONG).is_err_and(|error| error.is_forked()),
        delayed.task_ref().remaining().is_some(),
        delayed.cancel() == Cancel::TooLate,
        delayed.join().is_err_and(|error| error.is_forked()),
        appointed.join().is_err_and(|error| error.is_forked()),
        expiring.cancel() == Cancel::TooLate,
        // It may have run before the fork.
        expiring
            .join()
            .map_or_else(|error| error.is_forked(), |value| value == 3),
        schedule.cancel() == Cancel::TooLate,
        schedule.next_run().is_none(),
        schedule.reschedule(Schedule::every(HOUR)).is_err(),
        schedule.run_now().is_err(),
    ];
    if let Some(wrong) = checks.iter().position(|right| !right) {
        return wrong as i32 + 1;
    }
    // These have no answer that could say so; they return.
    schedule.pause();
    schedule.resume();
    let _ = (schedule.stats(), schedule.is_finished(), schedule.name());
    let _ = schedule.wait_timeout(Duration::from_millis(1));
    pool.set_delayed_at_shutdown(punctual::AtShutdown::Run);
    pool.set_repeating_at_shutdown(punctual::AtShutdown::Run);
    let _ = (pool.stats(), pool.close(), pool.stop());
    drop(schedule);
    drop(pool);
    let new = Pool::fixed(1).expect("valid");
    let later = new.after(Duration::from_millis(1), || 7).expect("a new pool");
    if later.join().ok() != Some(7) || !new.close().terminated {
        return 50;
    }
    0
}

fn parents(name: &str) -> Parents {
    let pool = Pool::builder(name.to_owned())
        .core_threads(1)
        .queue(Queue::unbounded());
    let pool = pool.build().unwrap();
    pool.submit(|| ()).unwrap().join().unwrap();
    pool.pause();
    Parents {
        delayed: pool.after(HOUR, || 1).unwrap(),
        appointed: pool.at(SystemTime::now() + HOUR, || 2).unwrap(),
        expiring: pool.task(|| 3).expires_in(HOUR).submit().unwrap(),
        schedule: pool
            .schedule(Schedule::every(HOUR).starting_in(HOUR), |_| ())
            .unwrap(),
        pool,
    }
}

#[test]
fn fault_25_in_a_forked_child_every_timed_verb_answers() {
    alone(
        || {
            let parents = std::mem::ManuallyDrop::new(parents("parent"));
            let code = in_fork(|| {
                // SAFETY: this is the child; its copy is read once.
                every_timed_verb(unsafe { std::ptr::read(&raw const *parents) })
            });
            assert_eq!(code, Some(0), "the number is that of the answer that was wrong");
            let parents = std::mem::ManuallyDrop::into_inner(parents);
            // The parent goes on as if nothing had been.
            parents.pool.resume();
            assert_eq!(parents.expiring.join().unwrap(), 3);
            assert_eq!(parents.delayed.cancel(), Cancel::Removed);
            assert_eq!(parents.schedule.cancel(), Cancel::Removed);
            assert_eq!(parents.pool.close().cancelled_delayed, 1);
        },
        |_| (),
    );
}

/// Forks while other threads are in the middle of every timed verb: what they hold stays held in the child.
#[test]
fn fault_25_a_fork_in_the_middle_of_timers_hangs_nobody() {
    alone(
        || {
            let over = Arc::new(AtomicBool::new(false));
            let held = parents("busy");
            held.pool.resume();
            let users: Vec<_> = (0..3)
                .map(|user| {
                    let (pool, over) = (held.pool.clone(), over.clone());
                    let schedule = held.schedule.clone();
                    std::thread::spawn(move || {
                        while !over.load(SeqCst) {
                            let tasks: Vec<_> = (0..100_u64)
                                .map(|n| {
                                    pool.task(|| ())
                                        .expires_in(HOUR)
                                        .after(Duration::from_micros(n))
                                        .unwrap()
                                })
                                .collect();
                            if user == 0 {
                                tasks.iter().for_each(|task| _ = task.cancel());
                            }
                            let _ = (schedule.next_run(), schedule.run_now(), pool.stats());
                        }
                    })
                })
                .collect();
            let held = std::mem::ManuallyDrop::new(held);
            for round in 0..30 {
                let code = in_fork(|| {
                    // SAFETY: this is the child; its copy is read once.
                    every_timed_verb(unsafe { std::ptr::read(&raw const *held) })
                });
                if code != Some(0) {
                    over.store(true, SeqCst);
                    panic!("round {round}: {code:?} (none: the child hung)");
                }
            }
            over.store(true, SeqCst);
            for user in users {
                user.join().unwrap();
            }
            drop(std::mem::ManuallyDrop::into_inner(held).pool.stop());
        },
        |_| (),
    );
}
