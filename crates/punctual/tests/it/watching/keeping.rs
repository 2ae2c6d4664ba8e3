//! The keeper: a spare thread that watches the clock while every worker is at work, and only then.

use super::{NANO, SECOND, Told, builder, pool, stick, stick_for};
use crate::support::{LONG, hold, in_time, until};
use punctual::{Clock, Pool, PoolBuilder, Queue, Schedule, task};
use std::time::Duration;

/// The name of the thread that each slow task is told on.
fn telling_threads(builder: PoolBuilder) -> (PoolBuilder, Told) {
    let told = Told::default();
    let hook = told.clone();
    let tell = move |_: &punctual::TaskInfo<'_>, _| {
        hook.tell(std::thread::current().name().unwrap_or("-").to_owned());
    };
    (builder.on_slow(tell), told)
}

#[test]
fn keeper_is_there_while_something_is_awaited_and_every_worker_is_at_work() {
    let (builder, clock) = builder(2);
    let (builder, threads) = telling_threads(builder.slow_after(SECOND));
    let pool = builder.build().unwrap();
    let first = pool.submit(|| task::sleep(10 * SECOND)).unwrap();
    clock.advance(2 * SECOND);
    assert_eq!(pool.stats().keepers, 0, "there was room for a second worker");
    assert_eq!((threads.all().len(), pool.stats().threads), (1, 2));
    assert_ne!(threads.all()[0], "watched-clock");
    let second = pool.submit(|| task::sleep(10 * SECOND)).unwrap();
    clock.advance(SECOND);
    let stats = pool.stats();
    assert_eq!((stats.keepers, stats.threads, stats.spare), (1, 2, 0));
    assert_eq!(threads.all()[1], "watched-clock");
    clock.advance(10 * SECOND);
    first.join().unwrap().unwrap();
    second.join().unwrap().unwrap();
}

#[test]
fn keeper_is_not_needed_while_a_worker_is_idle() {
    let (pool, clock) = pool(2);
    pool.prestart();
    let _stuck = stick(&pool);
    until("the other one sleeps", || {
        format!("{pool:?}").contains("1 asleep, 0 searching")
    });
    pool.pause();
    let expiring = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
    assert_eq!(pool.stats().keepers, 0);
}

#[test]
fn keeper_is_not_needed_without_limits() {
    let (pool, clock) = pool(1);
    let stuck = stick(&pool);
    let delayed = pool.after(SECOND, || 1).unwrap();
    let schedule = pool.schedule(Schedule::every(SECOND), |_| ()).unwrap();
    pool.execute(|| ()).unwrap();
    clock.advance(5 * SECOND);
    assert_eq!((pool.stats().keepers, delayed.is_finished()), (0, false));
    drop(stuck);
    clock.advance(SECOND);
    assert_eq!(delayed.join().unwrap(), 1);
    schedule.cancel();
}

#[test]
fn keeper_never_runs_a_task() {
    let (builder, clock) = builder(1);
    let pool = builder.on_late(100 * SECOND, |_, _| ()).build().unwrap();
    let stuck = stick(&pool);
    let name = || std::thread::current().name().map(str::to_owned);
    let queued = pool.submit(name).unwrap();
    let delayed = pool.after(SECOND, name).unwrap();
    let expiring = pool.task(|| ()).expires_in(2 * SECOND).submit().unwrap();
    clock.advance(5 * SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
    assert_eq!(pool.stats().keepers, 1);
    assert!(!queued.is_finished() && !delayed.is_finished());
    drop(stuck);
    for task in [queued, delayed] {
        assert_eq!(task.join().unwrap().as_deref(), Some("watched-1"));
    }
}

#[test]
fn keeper_goes_home_when_it_was_not_needed_for_the_keep_alive_time() {
    let (builder, clock) = builder(1);
    let pool = builder.keep_alive(30 * SECOND).build().unwrap();
    let _stuck = stick(&pool);
    let expiring = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
    clock.advance(30 * SECOND - NANO);
    assert_eq!(pool.stats().keepers, 1);
    clock.advance(NANO);
    assert_eq!(pool.stats().keepers, 0);
    // And comes back.
    let expiring = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
    assert_eq!(pool.stats().keepers, 1);
}

#[test]
fn keeper_stays_as_long_as_something_is_awaited() {
    let (builder, clock) = builder(1);
    let pool = builder.keep_alive(SECOND).build().unwrap();
    let _stuck = stick(&pool);
    let expiring = pool.task(|| ()).expires_in(600 * SECOND).submit().unwrap();
    clock.advance(599 * SECOND);
    assert_eq!(pool.stats().keepers, 1);
    clock.advance(SECOND);
    assert!(expiring.join().unwrap_err().is_expired());
}

#[test]
fn keeper_that_goes_home_just_when_it_is_needed_again_is_replaced() {
    in_time(|| {
        let pool = Pool::builder("brief").core_threads(1).queue(Queue::unbounded());
        let pool = pool.keep_alive(Duration::ZERO).build().unwrap();
        let held = hold(&pool);
        for round in 0..1_000 {
            let patience = Duration::from_micros(round % 20);
            let expiring = pool.task(|| ()).expires_in(patience).submit().unwrap();
            assert!(
                expiring.wait_timeout(LONG / 4),
                "round {round}: nobody keeps the clock: {pool:?}"
            );
        }
        drop(held);
        assert!(pool.close().terminated);
        assert_eq!(pool.stats().expired, 1_000);
    });
}

#[test]
fn keeper_is_one_of_the_spare_threads() {
    let (builder, clock) = builder(1);
    let pool = builder.spare_threads(1).build().unwrap();
    let elsewhere = Pool::builder("elsewhere").core_threads(1).clock(&clock);
    let elsewhere = elsewhere.build().unwrap();
    // Its worker waits for another pool's task, and the only spare stands in for it: none is left for the clock.
    let awaited = elsewhere.submit(|| task::sleep(Duration::MAX)).unwrap();
    let parent = pool.submit(move || awaited.wait()).unwrap();
    clock.advance(Duration::ZERO);
    let standing_in = stick_for(&pool, 10 * SECOND);
    let expiring = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(10 * SECOND - NANO);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.keepers), (2, 0), "{stats:?}");
    assert!(!expiring.is_finished(), "nobody watched the clock");
    clock.advance(NANO);
    assert!(expiring.join().unwrap_err().is_expired());
    drop((standing_in, elsewhere.stop()));
    parent.join().unwrap();
}

#[test]
fn keeper_does_not_delay_the_end_of_its_pool_and_is_gone_after_it() {
    for awaits_more in [false, true] {
        in_time(move || {
            let name = if awaits_more { "kp-more" } else { "kp-none" };
            let pool = Pool::builder(name).core_threads(1).queue(Queue::unbounded());
            let pool = pool.keep_alive(Duration::MAX).build().unwrap();
            let held = hold(&pool);
            let first = pool.task(|| ()).expires_in(Duration::from_millis(1)).submit();
            assert!(first.unwrap().join().unwrap_err().is_expired());
            assert_eq!((pool.stats().keepers, threads_named(name)), (1, 1));
            let far = pool.task(|| 7).expires_in(3_600 * SECOND).submit().unwrap();
            if !awaits_more {
                far.cancel();
            }
            drop(held);
            let report = pool.close();
            assert!(report.terminated);
            assert_eq!(far.join().is_ok(), awaits_more);
            assert_eq!((pool.stats().keepers, threads_named(name)), (0, 0));
        });
    }
}

/// Threads of this process that keep the clock of a pool of that name.
#[cfg(target_os = "linux")]
fn threads_named(pool: &str) -> usize {
    keepers_of(pool).len()
}

#[cfg(not(target_os = "linux"))]
fn threads_named(pool: &str) -> usize {
    // Not to be seen from here: what the test expects.
    usize::from(pool.is_empty())
}

#[cfg(target_os = "linux")]
fn keepers_of(pool: &str) -> Vec<std::path::PathBuf> {
    let all = std::fs::read_dir("/proc/self/task").expect("this is Linux");
    let is_it = |path: &std::path::PathBuf| {
        let name = std::fs::read_to_string(path.join("comm")).unwrap_or_default();
        name.trim_end() == format!("{pool}-clock")
    };
    all.flatten().map(|thread| thread.path()).filter(is_it).collect()
}

#[cfg(target_os = "linux")]
#[test]
fn keeper_is_not_woken_when_nothing_is_awaited_any_more_or_all_of_it_is_far() {
    let clock = Clock::manual();
    let pool = Pool::builder("calm").core_threads(1).queue(Queue::unbounded());
    let pool = pool.clock(&clock).keep_alive(Duration::MAX).build().unwrap();
    let _stuck = stick(&pool);
    let soon = pool.task(|| ()).expires_in(SECOND).submit().unwrap();
    clock.advance(SECOND);
    assert!(soon.join().unwrap_err().is_expired());
    let keeper = keepers_of("calm").pop().expect("it kept the clock");
    let far: Vec<_> = (0..1_000)
        .map(|_| pool.task(|| ()).expires_in(3_600 * SECOND).submit().unwrap())
        .collect();
    for cancels in [false, true] {
        if cancels {
            far.iter().for_each(|task| _ = task.cancel());
        }
        clock.advance(Duration::ZERO);
        let before = switches(&keeper);
        clock.advance(1_700 * SECOND);
        // It may have been on its way to its bed.
        let woke = switches(&keeper) - before;
        assert!(woke < 5, "it woke up {woke} times for nothing");
    }
    drop(pool.stop());
}

/// How often a thread has gone to sleep.
#[cfg(target_os = "linux")]
fn switches(thread: &std::path::Path) -> u64 {
    let status = std::fs::read_to_string(thread.join("status")).expect("it is alive");
    let line = status
        .lines()
        .find(|line| line.starts_with("voluntary_ctxt_switches"));
    let number = line.and_then(|line| line.split_whitespace().last());
    number.and_then(|number| number.parse().ok()).expect("a number")
}
