//! Fault 17 with timers: every verb that takes a time takes any time.

/// What is cancelled.
mod cancelled;

use crate::support::{assert_all_settled, in_time};
use punctual::{Clock, JoinError, ManualClock, OnFailure, Pool, Reason, Schedule, Status, task};
use std::time::{Duration, SystemTime};

const SECOND: Duration = Duration::from_secs(1);

/// The edges, and their neighbours on the nanosecond scale that the library counts in.
const EDGES: [Duration; 9] = [
    Duration::ZERO,
    Duration::from_nanos(1),
    Duration::from_nanos(i64::MAX as u64),
    Duration::from_nanos(u64::MAX - 2),
    Duration::from_nanos(u64::MAX - 1),
    Duration::from_nanos(u64::MAX),
    Duration::from_secs(i64::MAX as u64),
    Duration::from_secs(u64::MAX),
    Duration::MAX,
];

/// Instants at the edges of what the system can say.
fn instants() -> Vec<SystemTime> {
    let epoch = SystemTime::UNIX_EPOCH;
    let now = SystemTime::now();
    let after = EDGES
        .iter()
        .flat_map(|edge| [epoch.checked_add(*edge), now.checked_add(*edge)]);
    let before = EDGES
        .iter()
        .flat_map(|edge| [epoch.checked_sub(*edge), now.checked_sub(*edge)]);
    after.chain(before).flatten().collect()
}

fn pool(threads: usize) -> (Pool, ManualClock) {
    let clock = Clock::manual();
    let pool = Pool::builder("edges").core_threads(threads).clock(&clock);
    (pool.build().expect("valid settings"), clock)
}

fn is_short(edge: Duration) -> bool {
    edge <= Duration::from_nanos(1)
}

#[test]
fn fault_17_any_delay_is_a_delay() {
    in_time(|| {
        for edge in EDGES {
            let (pool, clock) = pool(1);
            let plain = pool.after(edge, || 1).unwrap();
            let built = pool.task(|| 2).name("built").after(edge).unwrap();
            let left = plain.task_ref().remaining().unwrap();
            assert!(left <= edge, "{left:?} {edge:?}");
            clock.advance(SECOND);
            assert_eq!(
                (plain.is_finished(), built.is_finished()),
                (is_short(edge), is_short(edge))
            );
            assert!(pool.close().terminated);
            assert_all_settled(&pool.stats());
        }
    });
}

#[test]
fn fault_17_any_instant_is_an_instant() {
    in_time(|| {
        let (pool, clock) = pool(1);
        let now = clock.now();
        for when in instants() {
            let plain = pool.at(when, || 1).unwrap();
            let built = pool.task(|| 2).expires_in(Duration::MAX).at(when).unwrap();
            let once = pool.schedule(Schedule::once_at(when), |_| ()).unwrap();
            clock.advance(Duration::ZERO);
            let has_come = when <= now;
            let ended = (plain.is_finished(), built.is_finished(), once.is_finished());
            assert_eq!(ended, (has_come, has_come, has_come), "{when:?}");
            plain.cancel();
            built.cancel();
            once.cancel();
        }
        assert_eq!(pool.stats().pending_timers, 0);
    });
}

#[test]
fn fault_17_any_patience_is_a_patience() {
    in_time(|| {
        for edge in EDGES {
            let (pool, clock) = pool(1);
            let stuck = pool.submit(|| task::sleep(100 * SECOND)).unwrap();
            clock.advance(SECOND);
            let waiting = pool.task(|| 1).expires_in(edge).submit().unwrap();
            pool.task(|| ()).expires_in(edge).execute().unwrap();
            let delayed = pool.task(|| 2).expires_in(edge).after(200 * SECOND).unwrap();
            clock.advance(SECOND);
            let expired = |joined: Result<i32, JoinError>| joined.is_err_and(|error| error.is_expired());
            assert_eq!(waiting.is_finished(), is_short(edge), "{edge:?}");
            clock.advance(200 * SECOND);
            stuck.join().unwrap().unwrap();
            assert_eq!(expired(waiting.join()), is_short(edge), "{edge:?}");
            // The worker is free when it comes due: no patience at all is the one that may end before.
            let joined = delayed.join();
            assert!(joined.is_ok() || (is_short(edge) && expired(joined)), "{edge:?}");
        }
    });
}

#[test]
fn fault_17_any_limit_on_a_running_task_is_a_limit() {
    in_time(|| {
        for edge in EDGES {
            let clock = Clock::manual();
            let pool = Pool::builder("limits").core_threads(2).clock(&clock);
            let pool = pool.time_limit(edge).slow_after(edge).on_slow(|_, _| ());
            let pool = pool
                .on_late(edge, |_, _| ())
                .keep_alive(Duration::MAX)
                .build()
                .unwrap();
            let sleeps = || task::sleep(10 * SECOND).is_err();
            let pools = pool.submit(sleeps).unwrap();
            let own = pool
                .task(sleeps)
                .time_limit(edge)
                .slow_after(edge)
                .after(edge.min(SECOND));
            clock.advance(30 * SECOND);
            assert_eq!(pools.join().unwrap(), is_short(edge), "{edge:?}");
            assert_eq!(own.unwrap().join().unwrap(), is_short(edge), "{edge:?}");
            assert!(pool.close().terminated);
        }
    });
}

#[test]
fn fault_17_any_time_in_a_schedule_is_kept_or_refused() {
    in_time(|| {
        for edge in EDGES {
            let schedules = [
                ("every", Schedule::every(edge)),
                ("with_delay", Schedule::with_delay(edge)),
                ("starting_in", Schedule::every(SECOND).starting_in(edge)),
                ("jitter", Schedule::every(SECOND).jitter(edge)),
                ("once", Schedule::once_at(SystemTime::now()).starting_in(edge)),
                (
                    "backoff",
                    Schedule::with_delay(SECOND).on_failure(OnFailure::Backoff {
                        first: edge,
                        max: edge,
                    }),
                ),
            ];
            for (what, schedule) in schedules {
                let (pool, clock) = pool(1);
                // What runs again at once would never let the clock be quiet.
                let schedule = schedule.times(5);
                let text = schedule.to_string();
                let preview = schedule.preview(clock.now(), 3);
                match pool.schedule(schedule, |_| Err("fails")) {
                    Ok(handle) => {
                        assert!(preview.is_ok(), "{what} {edge:?} {text}");
                        clock.advance(3 * SECOND);
                        assert!(handle.stats().runs <= 5, "{what} {edge:?}");
                        let _ = handle.next_run();
                        handle.pause();
                        handle.resume();
                        handle.cancel();
                    }
                    Err(refused) => {
                        let reason = refused.reason();
                        assert!(
                            matches!(reason, Reason::Invalid(_)),
                            "{what} {edge:?}: {reason:?}"
                        );
                    }
                }
                assert!(pool.close().terminated, "{what} {edge:?}");
            }
        }
    });
}

#[test]
fn fault_17_any_instant_in_a_schedule_is_kept() {
    in_time(|| {
        let (pool, clock) = pool(1);
        for when in instants() {
            let schedules = [
                Schedule::every(SECOND).starting_at(when),
                Schedule::every(SECOND).until(when),
                Schedule::with_delay(SECOND).starting_at(when).until(when),
                Schedule::trigger(move |last| last.scheduled.is_none().then_some(when)),
            ];
            for schedule in schedules {
                let _ = (schedule.to_string(), schedule.preview(when, 2));
                let handle = pool.schedule(schedule.times(3), |_| ()).unwrap();
                clock.advance(SECOND);
                let _ = handle.next_run();
                handle.cancel();
                assert!(handle.is_finished());
            }
        }
        assert_eq!((pool.stats().pending_timers, pool.stats().schedules), (0, 0));
    });
}

#[test]
fn fault_17_a_delay_beyond_the_horizon_never_passes() {
    in_time(|| {
        let (pool, clock) = pool(1);
        let last = pool.after(Duration::from_nanos(u64::MAX - 2), || ()).unwrap();
        let never = [
            Duration::from_nanos(u64::MAX),
            Duration::from_secs(u64::MAX),
            Duration::MAX,
        ]
        .map(|delay| pool.after(delay, || ()).unwrap());
        clock.advance(Duration::MAX);
        assert!(last.is_finished(), "the last instants of the clock have come");
        for never in &never {
            assert_eq!(never.task_ref().status(), Status::Delayed);
        }
        clock.advance(Duration::MAX);
        // A clock at its end: what is to be later is never.
        let later = pool.after(SECOND, || ()).unwrap();
        clock.advance(Duration::MAX);
        assert_eq!(later.task_ref().status(), Status::Delayed);
        assert!(pool.close().terminated);
    });
}

#[test]
fn fault_17_a_wall_clock_put_to_its_ends_is_survived() {
    in_time(|| {
        let (pool, clock) = pool(1);
        let begin = clock.now();
        let tasks: Vec<_> = (1..20)
            .map(|n| pool.at(begin + n * 100 * SECOND, || ()).unwrap())
            .collect();
        let delayed = pool.after(1_000 * SECOND, || ()).unwrap();
        for to in instants() {
            clock.jump_wall(to);
            let _ = tasks[0].task_ref().remaining();
            clock.advance(SECOND);
        }
        clock.jump_wall(begin + 3_000 * SECOND);
        clock.advance(1_000 * SECOND);
        assert!(tasks.iter().all(|task| task.is_finished()) && delayed.is_finished());
    });
}
