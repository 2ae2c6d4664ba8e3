//! Fault 17: `Duration::MAX` and zero are limits like any other.

use crate::support::{LONG, hold, in_time, single};
use punctual::{Cancel, Clock, Pool, task};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

/// The edges, and their neighbours on the nanosecond scale that the library counts in.
const LONGEST: [Duration; 4] = [
    Duration::MAX,
    Duration::from_secs(u64::MAX),
    Duration::from_nanos(u64::MAX),
    Duration::from_nanos(u64::MAX - 1),
];

#[test]
fn fault_17_a_limit_without_end_waits_for_the_event() {
    in_time(|| {
        for limit in LONGEST {
            let pool = Pool::fixed(2).unwrap();
            let held = hold(&pool);
            let mut task = pool.submit(|| 3).unwrap();
            assert_eq!(task.join_timeout(limit).unwrap(), 3);
            let task = pool.submit(|| 4).unwrap();
            assert!(task.wait_timeout(limit));
            let letting_go = std::thread::spawn(move || drop(held));
            assert!(pool.wait_idle(limit));
            letting_go.join().unwrap();
            pool.execute(|| ()).unwrap();
            assert!(pool.close_timeout(limit).terminated);
            assert!(pool.await_termination(limit));
        }
    });
}

#[test]
fn fault_17_a_sleep_without_end_is_ended_by_its_token() {
    in_time(|| {
        for limit in LONGEST {
            let pool = single();
            let (begun, has_begun) = channel();
            let sleeper = pool
                .submit(move || {
                    begun.send(()).unwrap();
                    task::sleep(limit)
                })
                .unwrap();
            has_begun.recv().unwrap();
            assert_eq!(sleeper.cancel(), Cancel::Signalled);
            assert!(sleeper.join().unwrap_err().is_cancelled());
            // A stopped pool fires the token too, and the handle gets what the sleep said.
            let (begun, has_begun) = channel();
            let sleeper = pool
                .submit(move || {
                    begun.send(()).unwrap();
                    task::sleep(limit)
                })
                .unwrap();
            has_begun.recv().unwrap();
            assert!(pool.stop().is_empty());
            assert!(sleeper.join().unwrap().is_err());
        }
    });
}

#[test]
fn fault_17_no_time_at_all_is_an_answer_at_once() {
    in_time(|| {
        let pool = single();
        let held = hold(&pool);
        let mut task = pool.submit(|| 5).unwrap();
        assert!(task.join_timeout(Duration::ZERO).unwrap_err().is_timeout());
        assert!(!task.wait_timeout(Duration::ZERO));
        assert!(!pool.wait_idle(Duration::ZERO));
        assert!(!pool.await_termination(Duration::ZERO));
        let report = pool.close_timeout(Duration::ZERO);
        assert_eq!(
            (report.terminated, report.dropped, report.still_running),
            (false, 1, 1)
        );
        assert!(task.join().unwrap_err().is_cancelled());
        drop(held);
        assert!(pool.await_termination(LONG));
        assert!(pool.await_termination(Duration::ZERO));
        assert!(pool.wait_idle(Duration::ZERO), "a pool that has ended is idle");
        assert_eq!(task::sleep(Duration::ZERO), Ok(()));
        let other = single();
        assert_eq!(
            other
                .submit(|| task::sleep(Duration::ZERO))
                .unwrap()
                .join()
                .unwrap(),
            Ok(())
        );
        let mut ended = other.submit(|| 6).unwrap();
        ended.wait();
        assert_eq!(
            ended.join_timeout(Duration::ZERO).unwrap(),
            6,
            "no time is needed for what is there"
        );
        assert!(ended.join_timeout(Duration::ZERO).unwrap_err().is_taken());
    });
}

#[test]
fn fault_17_a_manual_clock_can_be_moved_to_its_end_and_stands_there() {
    in_time(|| {
        let clock = Clock::manual_at(SystemTime::UNIX_EPOCH);
        let pool = Pool::builder("end")
            .core_threads(1)
            .clock(&clock)
            .build()
            .unwrap();
        clock.advance(Duration::ZERO);
        assert_eq!(clock.now(), SystemTime::UNIX_EPOCH);
        let sleeper = pool
            .submit(|| task::sleep(Duration::from_nanos(u64::MAX - 1)))
            .unwrap();
        clock.advance(Duration::MAX);
        assert_eq!(
            sleeper.join().unwrap(),
            Ok(()),
            "the last instant of the clock has come"
        );
        clock.advance(Duration::MAX);
        clock.jump_wall(SystemTime::UNIX_EPOCH);
        let _ = clock.now();
        let (begun, has_begun) = channel();
        let never = pool
            .submit(move || {
                begun.send(()).unwrap();
                task::sleep(Duration::from_nanos(1))
            })
            .unwrap();
        has_begun.recv().unwrap();
        assert_eq!(
            never.cancel(),
            Cancel::Signalled,
            "beyond the horizon nothing comes due"
        );
    });
}
