//! Fault 14: a process that is stopped and goes on later, so that everything is overdue at once.

#![allow(unsafe_code)]

use crate::process::alone;
use crate::second::{Other, say_ready};
use crate::support::until;
use punctual::{Missed, Overlap, Pool, Queue, Run, Schedule, ScheduleStats};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

const FREEZE: Duration = Duration::from_secs(2);
const PERIOD: Duration = Duration::from_millis(50);

/// Stops the other process, and lets it go on later.
fn freeze(other: &mut Other) {
    other.await_ready();
    // SAFETY: our own child, which has not been waited for.
    unsafe { assert_eq!(libc::kill(other.pid(), libc::SIGSTOP), 0) };
    std::thread::sleep(FREEZE);
    // SAFETY: as above.
    unsafe { assert_eq!(libc::kill(other.pid(), libc::SIGCONT), 0) };
}

#[test]
fn fault_14_after_a_freeze_each_overdue_task_runs_once_in_the_order_of_their_times() {
    const TASKS: u64 = 100;
    alone(
        || {
            let pool = Pool::builder("frozen").core_threads(1).queue(Queue::unbounded());
            let pool = pool.build().unwrap();
            let ran = Arc::new(Mutex::new(Vec::new()));
            let begin = Instant::now();
            let tasks: Vec<_> = (0..TASKS)
                .map(|number| {
                    // All of them within the freeze, in no order.
                    let delay = Duration::from_micros(500_000 + number * 7_919 % TASKS * 10_000);
                    let (ran, submitted) = (ran.clone(), Instant::now());
                    let body = move || {
                        assert!(submitted.elapsed() >= delay, "early");
                        ran.lock().unwrap().push((submitted + delay, number));
                    };
                    pool.after(delay, body).unwrap()
                })
                .collect();
            say_ready();
            for task in tasks {
                task.join().unwrap();
            }
            assert!(begin.elapsed() >= FREEZE, "it was frozen");
            let ran = ran.lock().unwrap();
            assert_eq!(ran.len() as u64, TASKS);
            // The instants are read a moment before the pool reads its own: neighbours ten milliseconds apart do not swap.
            assert!(ran.is_sorted(), "in the order of their times");
            let stats = pool.stats();
            assert_eq!((stats.finished, stats.pending_timers), (TASKS, 0));
        },
        freeze,
    );
}

/// When each run was due, and how many ticks it stands for beside its own.
fn ticks(missed: Missed, overlap: Overlap) -> (Vec<(SystemTime, u64)>, u64) {
    let pool = Pool::fixed(1).unwrap();
    let runs = Arc::new(Mutex::new(Vec::new()));
    let notes = runs.clone();
    let note = move |run: &Run| notes.lock().unwrap().push((run.scheduled, run.missed));
    let every = Schedule::every(PERIOD).missed(missed).overlap(overlap);
    let every = pool.schedule(every, note).unwrap();
    // Not in the middle of a run: what comes due then is skipped, and not missed.
    until("it has run", || {
        let stats = pool.stats();
        stats.finished > 0 && stats.active == 0
    });
    let counted = |stats: &ScheduleStats| stats.runs + stats.missed + stats.skipped;
    let before = counted(&every.stats());
    be_frozen();
    let after = every.stats().runs;
    // What came due meanwhile has run or is counted, and there was a run after it.
    until("it has made up for the freeze", || {
        let now = every.stats();
        now.runs > after + 1 && counted(&now) >= before + 35
    });
    every.cancel();
    drop(pool);
    let runs = runs.lock().unwrap().clone();
    (runs, every.stats().missed)
}

/// Asks for the freeze, and returns when it is over: a thread that always looks at the time sees it.
fn be_frozen() {
    let mut last = Instant::now();
    say_ready();
    until("it was frozen", || {
        let now = Instant::now();
        now - std::mem::replace(&mut last, now) >= FREEZE - PERIOD
    });
}

/// So many periods lie between two ticks; a wall clock that is set meanwhile is not part of this.
fn periods(from: SystemTime, to: SystemTime) -> u64 {
    let apart = to.duration_since(from).unwrap().as_secs_f64();
    (apart / PERIOD.as_secs_f64()).round() as u64
}

#[test]
fn fault_14_after_a_freeze_a_fixed_rate_makes_up_for_all_with_one_run() {
    alone(
        || {
            let (runs, missed) = ticks(Missed::Once, Overlap::Skip);
            let most = runs.iter().map(|(_, missed)| *missed).max().unwrap();
            assert!(most >= 30, "of about 40 ticks in the freeze: {runs:?}");
            assert_eq!(runs.iter().map(|(_, missed)| *missed).sum::<u64>(), missed);
            for pair in runs.windows(2) {
                assert_eq!(periods(pair[0].0, pair[1].0), pair[0].1 + 1, "{pair:?}");
            }
        },
        freeze,
    );
}

#[test]
fn fault_14_after_a_freeze_a_fixed_rate_can_leave_the_missed_ones_out() {
    alone(
        || {
            let (runs, missed) = ticks(Missed::Skip, Overlap::Skip);
            assert!(missed >= 30, "{missed} {runs:?}");
            let gap = runs.windows(2).map(|pair| periods(pair[0].0, pair[1].0)).max();
            assert!(gap.unwrap() >= 30, "{runs:?}");
            let stood_for: u64 = runs.iter().map(|(_, missed)| *missed).sum();
            assert_eq!(stood_for, 0, "no run makes up for them");
        },
        freeze,
    );
}

#[test]
fn fault_14_after_a_freeze_a_fixed_rate_can_run_every_tick() {
    alone(
        || {
            let (runs, missed) = ticks(Missed::Burst, Overlap::Queue);
            assert_eq!(missed, 0);
            assert!(runs.len() >= 35, "{}", runs.len());
            for pair in runs.windows(2) {
                assert_eq!(periods(pair[0].0, pair[1].0), 1, "{pair:?}");
            }
        },
        freeze,
    );
}

#[test]
fn fault_14_after_a_freeze_what_waited_too_long_has_expired_and_what_ran_too_long_is_told() {
    alone(
        || {
            let pool = Pool::builder("frozen").core_threads(1).build().unwrap();
            let limit = Duration::from_millis(500);
            let body = || punctual::task::sleep(Duration::from_secs(60)).is_err();
            let running = pool.task(body).time_limit(2 * limit).submit().unwrap();
            let waiting = pool.task(|| ()).expires_in(limit).submit().unwrap();
            let begin = Instant::now();
            say_ready();
            assert!(waiting.join().unwrap_err().is_expired());
            assert!(begin.elapsed() >= limit);
            assert!(running.join().unwrap(), "its token fired");
        },
        freeze,
    );
}
