//! Fault 7 where submissions wait for room: a start that fails leaves nobody in line behind, and nobody who submits
//! waits for a start that somebody else has put off.

use crate::process::{alone, large, occupy, room_for, room_for_all, threads};
use crate::starved::pin_to_one_core;
use crate::support::{Random, assert_all_settled, block_on, hold, poll_once, until};
use punctual::{Clock, Pool, Queue, Reason, Reject, Rejected, TaskHandle};
use std::future::Future;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier};
use std::task::Waker;
use std::time::Duration;

/// Only a hang takes this long, and it is told with the state of the pool before the whole process is ended.
const HANG: Duration = Duration::from_secs(20);

/// No queue, up to `max` threads, and none that stays.
fn fleeting(max: usize) -> Pool {
    large("fleeting")
        .core_threads(0)
        .max_threads(max)
        .keep_alive(Duration::ZERO)
        .queue(Queue::handoff())
        .build()
        .expect("valid")
}

/// A pool whose only worker has nothing to do any more, and a submission that may have been promised another one and has
/// not been polled since.
macro_rules! promised {
    ($pool:ident, $first:ident) => {
        let before = threads();
        let $pool = fleeting(1);
        let held = hold(&$pool);
        let mut $first = Box::pin($pool.submit_async(|| 1));
        assert!(poll_once(&mut $first, Waker::noop()).is_pending(), "full");
        $pool.resize(0, 2).expect("valid");
        drop(held);
        until("the worker sleeps, or has left and its stack is free", || {
            let sleeps = !format!("{:?}", $pool).contains(" 0 asleep");
            $pool.stats().active == 0 && (sleeps || threads() == before)
        });
    };
}

/// What it submitted has run, or came back for want of a thread.
fn settles(submission: impl Future<Output = Result<TaskHandle<i32>, Rejected<impl FnOnce() -> i32>>>) {
    match block_on(submission) {
        Ok(task) => assert!(task.join().is_ok(), "accepted, so it runs"),
        Err(refused) => assert!(matches!(refused.reason(), Reason::NoThread), "{refused:?}"),
    }
}

#[test]
fn fault_07_a_start_that_fails_is_told_to_everybody_in_line() {
    alone(|| {
        promised!(pool, first);
        let mut second = Box::pin(pool.submit_async(|| 2));
        // Perhaps it has to wait for what becomes of the first.
        let answer = poll_once(&mut second, Waker::noop());
        room_for(0);
        settles(first);
        if answer.is_pending() {
            settles(second);
        }
        room_for_all();
        assert_eq!(pool.submit(|| 3).expect("a thread").join().expect("it runs"), 3);
    });
}

#[test]
fn fault_07_nobody_waits_for_a_start_that_a_future_has_put_off() {
    alone(|| {
        promised!(pool, first);
        // On one thread this would have to return before the future is polled.
        let (tell, told) = channel();
        let submitter = pool.clone();
        std::thread::spawn(move || tell.send(submitter.submit(|| 3)));
        let answer = told.recv_timeout(HANG);
        let task = answer.unwrap_or_else(|_| panic!("submit does not return: {pool:?}"));
        assert_eq!(task.expect("two threads fit").join().expect("it runs"), 3);
        settles(first);
    });
}

/// A pool that may have one worker: its worker runs until `held` is dropped, `queued` waits behind it, and `promised`
/// has been promised a second worker that the pool no longer wants.
macro_rules! promised_in_vain {
    ($pool:ident, $held:ident, $queued:ident, $promised:ident) => {
        let before = threads();
        let $pool = large("shrunk").core_threads(1).queue(Queue::bounded(1)).build();
        let $pool = $pool.expect("valid");
        let $held = hold(&$pool);
        let $queued = $pool.submit(|| 1).expect("a place");
        let mut $promised = Box::pin($pool.submit_async(|| 2));
        assert!(poll_once(&mut $promised, Waker::noop()).is_pending(), "full");
        $pool.resize(1, 2).expect("valid");
        $pool.resize(1, 1).expect("valid");
        drop($held);
        // Either it runs what waits now, or it has left.
        until("the worker is free", || {
            $queued.is_finished() || threads() == before
        });
    };
}

#[test]
fn fault_07_a_start_that_fails_strands_nobody_who_was_accepted_before() {
    alone(|| {
        promised_in_vain!(pool, held, queued, promised);
        room_for(0);
        let answer = poll_once(&mut promised, Waker::noop());
        assert!(queued.wait_timeout(HANG), "stranded: {pool:?}");
        drop(answer);
        room_for_all();
        assert!(pool.close().terminated);
    });
}

#[test]
fn fault_07_a_start_that_is_given_up_strands_nobody_who_was_accepted_before() {
    alone(|| {
        promised_in_vain!(pool, held, queued, promised);
        drop(promised);
        assert!(queued.wait_timeout(HANG), "stranded: {pool:?}");
        assert!(pool.close().terminated);
    });
}

#[test]
fn fault_07_whoever_gets_in_line_while_a_worker_is_being_started_is_served() {
    const ROUNDS: usize = 2_000;
    alone(|| {
        // On one core the new worker often runs before its starter goes on.
        pin_to_one_core();
        for round in 0..ROUNDS {
            let pool = Pool::builder("starting").core_threads(1).build().expect("valid");
            let (starter, begin) = (pool.clone(), Arc::new(Barrier::new(2)));
            let both = begin.clone();
            let starter = std::thread::spawn(move || {
                both.wait();
                starter.prestart_one()
            });
            begin.wait();
            let (tell, told) = channel();
            let submitter = pool.clone();
            let submitter = std::thread::spawn(move || {
                let task = block_on(submitter.submit_async(|| 1)).expect("there is room");
                tell.send(task.join().expect("it runs"))
            });
            let answer = told.recv_timeout(HANG);
            assert!(answer.is_ok(), "round {round}: still in line: {pool:?}");
            submitter.join().expect("no panic").expect("told");
            starter.join().expect("no panic");
        }
    });
}

#[test]
fn fault_07_a_pool_that_shrinks_while_a_start_fails_keeps_somebody_for_its_tasks() {
    const ROUNDS: u64 = 1_000;
    alone(|| {
        let mut random = Random::printed("shrinking while a start fails");
        let clock = Clock::manual();
        let pool = large("shrinking").core_threads(1).queue(Queue::unbounded());
        let pool = pool.clock(clock.clone()).build().expect("valid");
        room_for(1);
        for round in 0..ROUNDS {
            // Longer than any back-off.
            clock.advance(Duration::from_secs(2));
            let begin = Arc::new(Barrier::new(2));
            let (resizer, both) = (pool.clone(), begin.clone());
            let mut their = Random::from_seed(random.next());
            let resizer = std::thread::spawn(move || {
                both.wait();
                for size in [2, 1, 2, 1] {
                    their.dawdle(300);
                    resizer.resize(size, size).expect("valid");
                }
            });
            begin.wait();
            // Each may try to start a second worker, in vain, while others wait.
            let tasks: Vec<_> = (0..6)
                .map(|_| {
                    random.dawdle(300);
                    pool.submit(|| (0..2_000).for_each(|_| std::hint::spin_loop()))
                })
                .collect();
            resizer.join().expect("its checks hold");
            for task in tasks.into_iter().flatten() {
                until(&format!("round {round}: it runs on {pool:?}"), || {
                    task.is_finished()
                });
            }
        }
        println!("{} failed starts", pool.stats().failed_starts);
        assert!(pool.close().terminated);
        assert_all_settled(&pool.stats());
    });
}

#[test]
fn fault_07_starts_that_fail_at_random_hang_nobody() {
    const SUBMITTERS: usize = 4;
    const ROUNDS: usize = 400;
    alone(|| {
        let mut random = Random::printed("starts that fail at random");
        let pool = fleeting(2);
        pool.set_reject(Reject::Block(Duration::MAX));
        room_for(2);
        let (over, ran) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let submitters: Vec<_> = (0..SUBMITTERS)
            .map(|_| {
                let (pool, ran) = (pool.clone(), ran.clone());
                let mut random = Random::from_seed(random.next());
                std::thread::spawn(move || {
                    let (mut accepted, mut refused) = (0_u64, 0_u64);
                    for _ in 0..ROUNDS {
                        let ran = ran.clone();
                        match pool.submit(move || ran.fetch_add(1, SeqCst)) {
                            Ok(task) if random.below(2) == 0 => {
                                accepted += 1;
                                task.join().expect("accepted, so it runs");
                            }
                            Ok(_) => accepted += 1,
                            Err(back) => {
                                assert!(matches!(back.reason(), Reason::NoThread), "{back:?}");
                                refused += 1;
                            }
                        }
                        random.dawdle(2_000);
                    }
                    (accepted, refused)
                })
            })
            .collect();
        let occupier = {
            let over = over.clone();
            std::thread::spawn(move || {
                let mut places = Vec::new();
                while !over.load(SeqCst) {
                    match random.below(3) {
                        0 => _ = places.pop(),
                        _ => places.extend(occupy()),
                    }
                    random.dawdle(20_000);
                }
            })
        };
        let (mut accepted, mut refused) = (0, 0);
        for submitter in submitters {
            let (ours, back) = submitter.join().expect("its checks hold");
            accepted += ours;
            refused += back;
        }
        over.store(true, SeqCst);
        occupier.join().expect("no panic");
        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!((stats.submitted, stats.finished), (accepted, accepted));
        assert_eq!(stats.rejected.no_thread, refused);
        assert_eq!(ran.load(SeqCst) as u64, accepted);
        println!(
            "{accepted} accepted, {refused} refused, {} failed starts",
            stats.failed_starts
        );
    });
}
