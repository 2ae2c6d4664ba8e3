//! What a pool says of itself where the system grants it little: a niceness that is refused, a processor that others use too.

#![allow(unsafe_code)]

use crate::process::alone;
use crate::starved::pin_to_one_core;
use crate::support::{LONG, in_time};
use punctual::Pool;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

/// From here on nobody in this process may be less nice than it is.
fn give_up_the_privilege() -> i32 {
    let none = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: plain numbers, and a record that is read. The user number is that of nobody; the C library tells all threads.
    unsafe {
        assert_eq!(libc::setrlimit(libc::RLIMIT_NICE, &raw const none), 0);
        if libc::geteuid() == 0 {
            assert_eq!(libc::setuid(65_534), 0);
        }
        libc::getpriority(libc::PRIO_PROCESS, 0)
    }
}

#[test]
fn a_niceness_that_the_system_refuses_is_not_shown_as_granted() {
    alone(|| {
        let own = give_up_the_privilege();
        let niceness = |n: i32| {
            let pool = Pool::builder("pool").core_threads(1).nice(n).build().unwrap();
            let task = pool.submit(|| ()).unwrap();
            in_time(|| task.join().unwrap());
            pool.stats().nice
        };
        assert_eq!(
            niceness(own - 5),
            Some(own),
            "refused: it stays as nice as before"
        );
        assert_eq!(niceness(19), Some(19), "everybody may be nicer");
    });
}

/// Eight milliseconds of processor time, however long that takes: longer than the system lets one of several run.
fn compute() {
    let now = || {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the place is a local.
        let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        assert_eq!(answer, 0);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let begin = now();
    while now() - begin < Duration::from_millis(8) {}
}

/// Two threads that never rest share the one core with a pool whose tasks compute: for two thirds of their time these are
/// ready and have no processor, which is no waiting.
#[test]
fn a_thread_that_has_no_processor_does_not_wait() {
    const TASKS: usize = 60;
    alone(|| {
        pin_to_one_core();
        let over = Arc::new(AtomicBool::new(false));
        let hogs: Vec<_> = (0..2)
            .map(|_| {
                let over = over.clone();
                std::thread::spawn(move || while !over.load(SeqCst) {})
            })
            .collect();
        let pool = Pool::builder("pool").core_threads(1).build().unwrap();
        for _ in 0..TASKS {
            pool.execute(compute).unwrap();
        }
        assert!(pool.wait_idle(LONG));
        over.store(true, SeqCst);
        hogs.into_iter().for_each(|hog| hog.join().unwrap());
        let run = pool.stats().run.mean().unwrap();
        let advice = pool.advice();
        let (waiting, computing) = (advice.waiting().unwrap(), advice.computing().unwrap());
        // Otherwise nothing was shown: the runs took longer than they computed.
        assert!(run > computing * 3 / 2, "{run:?} for {advice}");
        assert!(waiting < computing / 2, "{run:?} for {advice}");
    });
}
