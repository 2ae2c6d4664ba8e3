//! The clock that is moved by hand: it steps from deadline to deadline, and waits for what it set in motion.

use crate::support::{LONG, in_time};
use punctual::{Cancel, Clock, ManualClock, Pool, Queue, task};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, SystemTime};

const HOUR: Duration = Duration::from_secs(3_600);

fn pool_on(clock: &ManualClock, threads: usize) -> Pool {
    Pool::builder("manual")
        .core_threads(threads)
        .queue(Queue::unbounded())
        .clock(clock)
        .build()
        .unwrap()
}

#[test]
fn two_sleepers_due_at_one_instant_can_meet() {
    in_time(|| {
        let clock = Clock::manual();
        let pool = pool_on(&clock, 2);
        for _ in 0..200 {
            let meeting = Arc::new(Barrier::new(2));
            let sleepers: Vec<_> = (0..2)
                .map(|_| {
                    let meeting = meeting.clone();
                    pool.submit(move || {
                        task::sleep(HOUR).unwrap();
                        meeting.wait();
                    })
                    .unwrap()
                })
                .collect();
            clock.advance(HOUR);
            // Nothing runs any more when `advance` returns: the outcome is there, or the sleeper was not woken.
            assert!(
                sleepers
                    .iter()
                    .all(|sleeper| sleeper.wait_timeout(Duration::ZERO))
            );
        }
    });
}

#[test]
fn sleepers_wake_at_their_own_time_in_order() {
    let begin = SystemTime::UNIX_EPOCH;
    let clock = Clock::manual_at(begin);
    let pool = pool_on(&clock, 4);
    let woken: Arc<Mutex<Vec<(u64, Duration)>>> = Arc::default();
    for seconds in [30, 10, 40, 20] {
        let (woken, clock) = (woken.clone(), clock.clone());
        pool.execute(move || {
            task::sleep(Duration::from_secs(seconds)).unwrap();
            let now = clock.now().duration_since(begin).unwrap();
            woken.lock().unwrap().push((seconds, now));
        })
        .unwrap();
    }
    clock.advance(Duration::from_secs(9));
    assert_eq!(woken.lock().unwrap().len(), 0, "never early");
    clock.advance(HOUR);
    let expected = [10, 20, 30, 40].map(|seconds| (seconds, Duration::from_secs(seconds)));
    assert_eq!(*woken.lock().unwrap(), expected);
    assert_eq!(clock.now(), begin + HOUR + Duration::from_secs(9));
}

#[test]
fn a_sleeper_that_sleeps_again_is_met_again_on_the_way() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    let naps = pool
        .submit(|| {
            let mut naps = 0_u32;
            while naps < 100 && task::sleep(Duration::from_secs(36)).is_ok() {
                naps += 1;
            }
            naps
        })
        .unwrap();
    clock.advance(HOUR);
    assert!(naps.is_finished(), "a hundred times 36 seconds are an hour");
    assert_eq!(naps.join().unwrap(), 100);
}

#[test]
fn rea_22_concurrent_advances_add_up() {
    in_time(|| {
        let begin = SystemTime::UNIX_EPOCH;
        let clock = Clock::manual_at(begin);
        let pool = pool_on(&clock, 1);
        let sleeper = pool.submit(|| task::sleep(Duration::from_secs(400))).unwrap();
        let drivers: Vec<_> = (0..4)
            .map(|_| {
                let clock = clock.clone();
                std::thread::spawn(move || (0..100).for_each(|_| clock.advance(Duration::from_secs(1))))
            })
            .collect();
        drivers.into_iter().for_each(|driver| driver.join().unwrap());
        assert_eq!(clock.now(), begin + Duration::from_secs(400));
        assert_eq!(sleeper.join().unwrap(), Ok(()));
    });
}

#[test]
fn waiters_go_by_the_clock_of_the_pool() {
    in_time(|| {
        let clock = Clock::manual();
        let pool = pool_on(&clock, 1);
        let sleeper = pool.submit(|| task::sleep(Duration::MAX)).unwrap();
        let (tell, told) = channel();
        let waiting = std::thread::spawn({
            let pool = pool.clone();
            move || {
                let mut queued = pool.submit(|| ()).unwrap();
                tell.send(()).unwrap();
                // Both run out after an hour of the pool's time, whatever the real one.
                let joined = queued.join_timeout(HOUR);
                (
                    joined.is_err_and(|error| error.is_timeout()),
                    pool.wait_idle(Duration::from_secs(1)),
                )
            }
        });
        told.recv().unwrap();
        // A step at a time: the waiter may not have begun to wait when the first comes.
        while !waiting.is_finished() {
            clock.advance(Duration::from_secs(1));
        }
        assert_eq!(waiting.join().unwrap(), (true, false));
        assert_eq!(sleeper.cancel(), Cancel::Signalled);
    });
}

#[test]
fn a_task_that_joins_another_holds_nobody_up() {
    in_time(|| {
        let clock = Clock::manual();
        let pool = pool_on(&clock, 2);
        let joiner = pool
            .submit(|| {
                let executor = task::current_executor().unwrap();
                let child = executor.submit(|| task::sleep(HOUR)).unwrap();
                child.join().unwrap()
            })
            .unwrap();
        clock.advance(HOUR);
        assert_eq!(joiner.join().unwrap(), Ok(()));
    });
}

#[test]
fn a_jump_of_the_wall_moves_the_wall_only() {
    let clock = Clock::manual_at(SystemTime::UNIX_EPOCH + HOUR);
    let pool = pool_on(&clock, 1);
    let (begun, has_begun) = channel();
    let sleeper = pool
        .submit(move || {
            begun.send(()).unwrap();
            task::sleep(HOUR)
        })
        .unwrap();
    has_begun.recv().unwrap();
    let far = SystemTime::UNIX_EPOCH + 1_000_000 * HOUR;
    clock.jump_wall(far);
    assert_eq!(clock.now(), far);
    clock.advance(HOUR - Duration::from_nanos(1));
    assert!(!sleeper.is_finished(), "a delay does not notice the wall");
    clock.jump_wall(SystemTime::UNIX_EPOCH + HOUR);
    clock.advance(Duration::from_nanos(1));
    assert!(sleeper.is_finished());
    assert_eq!(
        clock.now(),
        SystemTime::UNIX_EPOCH + HOUR + Duration::from_nanos(1)
    );
    assert_eq!(Clock::from(&clock).now(), clock.now(), "one clock, two names");
    assert_eq!(sleeper.join().unwrap(), Ok(()));
}

#[test]
fn the_wall_can_be_put_to_any_instant_that_the_system_can_tell() {
    let clock = Clock::manual();
    clock.advance(HOUR);
    let most = Duration::from_secs(i64::MAX as u64);
    for instant in [
        SystemTime::UNIX_EPOCH.checked_sub(most),
        SystemTime::UNIX_EPOCH.checked_add(most),
    ] {
        // Not every system can tell one so far away.
        let instant = instant.unwrap_or(SystemTime::UNIX_EPOCH);
        clock.jump_wall(instant);
        assert_eq!(clock.now(), instant);
        // It goes on from there, or stands still at the end of all time.
        clock.advance(HOUR);
        assert_eq!(clock.now(), instant.checked_add(HOUR).unwrap_or(instant));
    }
}

#[test]
fn advancing_from_inside_a_task_is_refused_at_once() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    let mine = clock.clone();
    let error = pool
        .submit(move || mine.advance(HOUR))
        .unwrap()
        .join()
        .unwrap_err();
    assert!(error.to_string().contains("from inside a task"), "{error}");
    clock.advance(HOUR);
}

/// Takes the ten seconds that `advance` has patience for; the only test that does.
#[test]
#[should_panic(expected = "still running: [stubborn]")]
fn advance_names_the_task_that_blocks_outside_the_library() {
    let clock = Clock::manual();
    let pool = pool_on(&clock, 1);
    let (open, gate) = channel::<()>();
    let (begun, has_begun) = channel();
    pool.task(move || {
        begun.send(()).unwrap();
        let _ = gate.recv();
    })
    .name("stubborn")
    .execute()
    .unwrap();
    has_begun.recv_timeout(LONG).unwrap();
    // Opened while the panic unwinds, or the pool's drop would wait for ever.
    let _open = open;
    clock.advance(HOUR);
}
