//! Faults 18 and 10: more than fits, under every policy, and submissions of every kind that race the end of a pool that
//! grows and is resized.
//!
//! `PUNCTUAL_OVERLOAD_SECONDS` sets how long the load lasts.

use crate::support::{LONG, Random, assert_all_settled, assert_books_balance, env_number, in_time};
use punctual::{Answer, Pool, Queue, Reason, Reject, TaskHandle};
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const PRODUCERS: u64 = 3;
const WORKERS: usize = 2;
const PLACES: usize = 50;

/// What became of the tasks, as those who offered them saw it.
#[derive(Debug, Default)]
struct Seen {
    offered: AtomicU64,
    /// Not refused: a handle, or `Ok`.
    let_in: AtomicU64,
    came_back: AtomicU64,
    ran: AtomicU64,
    ran_by_caller: AtomicU64,
    /// Handles that say so.
    rejected: AtomicU64,
    evicted: AtomicU64,
}

fn count(counter: &AtomicU64) {
    counter.fetch_add(1, SeqCst);
}

/// Offers tasks as fast as it can.
fn produce(pool: &Pool, seen: &Arc<Seen>, over: &AtomicBool) {
    let me = std::thread::current().id();
    let mut tasks: Vec<TaskHandle<()>> = Vec::new();
    let settle = |tasks: &mut Vec<TaskHandle<()>>| {
        for task in tasks.drain(..) {
            match task.join() {
                Ok(()) => {}
                Err(error) if error.is_evicted() => count(&seen.evicted),
                Err(error) if error.is_rejected() => count(&seen.rejected),
                Err(error) => panic!("{error}"),
            }
        }
    };
    while !over.load(SeqCst) {
        let mine = seen.clone();
        let body = move || {
            count(&mine.ran);
            if std::thread::current().id() == me {
                count(&mine.ran_by_caller);
            }
            // So long that offering is ten times as fast.
            (0..20_000).for_each(|_| std::hint::spin_loop());
        };
        count(&seen.offered);
        match pool.submit(body) {
            Ok(task) => {
                count(&seen.let_in);
                tasks.push(task);
            }
            Err(back) => {
                assert!(back.is_full(), "{back:?}");
                count(&seen.came_back);
            }
        }
        if tasks.len() == 1_000 {
            settle(&mut tasks);
        }
    }
    settle(&mut tasks);
}

/// Overloads a pool with this policy for a while; every number has to fit every other.
fn overload(reject: &Reject) {
    let seconds = env_number("PUNCTUAL_OVERLOAD_SECONDS").map_or(0.4, |seconds| seconds as f64);
    let pool = Pool::builder("overload")
        .core_threads(WORKERS)
        .queue(Queue::bounded(PLACES))
        .on_full(reject.clone())
        .build()
        .expect("valid");
    let (seen, over) = (Arc::<Seen>::default(), Arc::new(AtomicBool::new(false)));
    let producers: Vec<_> = (0..PRODUCERS)
        .map(|_| {
            let (pool, seen, over) = (pool.clone(), seen.clone(), over.clone());
            std::thread::spawn(move || produce(&pool, &seen, &over))
        })
        .collect();
    let begin = Instant::now();
    while begin.elapsed().as_secs_f64() < seconds {
        let stats = pool.stats();
        assert_books_balance(&stats);
        assert!(
            stats.queued <= PLACES + WORKERS,
            "bounded means bounded: {stats:?}"
        );
        std::thread::yield_now();
    }
    over.store(true, SeqCst);
    for producer in producers {
        producer.join().expect("its checks hold");
    }
    assert!(pool.close().terminated);
    let stats = pool.stats();
    assert_all_settled(&stats);
    let rejected = stats.rejected;
    let read = |counter: &AtomicU64| counter.load(SeqCst);
    assert_eq!(
        rejected.full + stats.submitted + rejected.caller_ran + rejected.discarded,
        read(&seen.offered),
        "{reject:?}: {stats:?}"
    );
    assert_eq!(rejected.full, read(&seen.came_back), "{reject:?}");
    assert_eq!(
        stats.submitted + rejected.caller_ran + rejected.discarded,
        read(&seen.let_in),
        "{reject:?}"
    );
    assert_eq!(
        stats.finished + rejected.caller_ran,
        read(&seen.ran),
        "{reject:?}"
    );
    assert_eq!(rejected.caller_ran, read(&seen.ran_by_caller), "{reject:?}");
    assert_eq!(rejected.discarded, read(&seen.rejected), "{reject:?}");
    assert_eq!(stats.evicted, read(&seen.evicted), "{reject:?}");
    let refused = rejected.full + rejected.caller_ran + rejected.discarded + stats.evicted;
    assert!(refused > 0, "{reject:?}: it was no overload");
    println!("{reject:?}: {seen:?}");
}

#[test]
fn fault_18_what_does_not_fit_comes_back() {
    overload(&Reject::Abort);
}

#[test]
fn fault_18_what_does_not_fit_is_run_by_its_submitter() {
    overload(&Reject::CallerRuns);
}

#[test]
fn fault_18_what_does_not_fit_is_discarded_and_its_handle_says_so() {
    overload(&Reject::Discard);
}

#[test]
fn fault_18_what_has_waited_longest_makes_room_and_its_handle_says_so() {
    overload(&Reject::DiscardOldest);
}

#[test]
fn fault_18_whoever_waits_for_room_in_vain_gets_the_task_back() {
    overload(&Reject::Block(Duration::from_micros(200)));
}

#[test]
fn fault_18_a_rule_that_answers_differently_each_time_loses_nothing() {
    let asked = AtomicU64::new(0);
    overload(&Reject::custom(move |_| match asked.fetch_add(1, SeqCst) % 5 {
        0 => Answer::Abort,
        1 => Answer::CallerRuns,
        2 => Answer::Discard,
        3 => Answer::DiscardOldest,
        _ => Answer::Wait(Duration::from_micros(200)),
    }));
}

/// One submitter of the race below: what it offered, the handles it got, and what came back.
#[derive(Default)]
struct Submitted {
    tasks: Vec<TaskHandle<u64>>,
    shut_down: u64,
    full: u64,
}

/// Submits until it has been told often enough that the pool is closed.
fn submit_until_closed(pool: &Pool, ran: &Arc<AtomicU64>, kind: u64, random: &mut Random) -> Submitted {
    let mut submitted = Submitted::default();
    while submitted.shut_down < 3 {
        let ran = ran.clone();
        let body = move || ran.fetch_add(1, SeqCst);
        let answer = match kind {
            // By the policy: waits in line.
            0 | 1 => pool.submit(body),
            2 => pool.submit_timeout(Duration::from_micros(random.below(50)), body),
            _ => crate::support::block_on(pool.submit_async(body)),
        };
        match answer {
            Ok(task) => submitted.tasks.push(task),
            Err(back) => match back.reason() {
                Reason::ShutDown => submitted.shut_down += 1,
                Reason::Full { .. } if kind == 2 => submitted.full += 1,
                other => panic!("{other:?}"),
            },
        }
    }
    submitted
}

#[test]
fn fault_10_a_stop_among_waiting_submissions_and_resizes_leaves_nobody_behind() {
    const ROUNDS: u64 = 256;
    const SUBMITTERS: u64 = 4;
    let mut random = Random::printed("stop among waiting submissions");
    in_time(move || {
        for round in 0..ROUNDS {
            let pool = Pool::builder("stopped")
                .core_threads(1)
                .max_threads(4)
                .keep_alive(Duration::ZERO)
                .queue(if round % 4 == 3 {
                    Queue::handoff()
                } else {
                    Queue::bounded(2)
                })
                .on_full(Reject::Block(LONG))
                .build()
                .expect("valid");
            let begin = Arc::new(Barrier::new(SUBMITTERS as usize + 2));
            let ran = Arc::new(AtomicU64::new(0));
            let submitters: Vec<_> = (0..SUBMITTERS)
                .map(|kind| {
                    let (pool, begin, ran) = (pool.clone(), begin.clone(), ran.clone());
                    let mut random = Random::from_seed(random.next());
                    std::thread::spawn(move || {
                        begin.wait();
                        submit_until_closed(&pool, &ran, kind, &mut random)
                    })
                })
                .collect();
            let resizer = {
                let (pool, begin) = (pool.clone(), begin.clone());
                let mut random = Random::from_seed(random.next());
                std::thread::spawn(move || {
                    begin.wait();
                    while pool.state() == punctual::State::Running {
                        let max = 1 + random.below(6) as usize;
                        pool.resize(random.below(1 + max as u64) as usize, max)
                            .expect("valid");
                    }
                })
            };
            begin.wait();
            random.dawdle(20_000);
            let unrun = pool.stop();
            let (mut accepted, mut shut_down, mut full) = (0, 0, 0);
            let (mut values, mut cancelled) = (0, 0);
            for submitter in submitters {
                let submitted = submitter.join().expect("its checks hold");
                accepted += submitted.tasks.len() as u64;
                shut_down += submitted.shut_down;
                full += submitted.full;
                for task in submitted.tasks {
                    match task.join() {
                        Ok(_) => values += 1,
                        Err(error) if error.is_cancelled() => cancelled += 1,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            resizer.join().expect("its checks hold");
            assert!(pool.close().terminated);
            let stats = pool.stats();
            assert_all_settled(&stats);
            assert_eq!((stats.submitted, stats.rejected.shutdown), (accepted, shut_down));
            assert_eq!(stats.rejected.full, full);
            assert_eq!((stats.finished, stats.finished), (values, ran.load(SeqCst)));
            assert_eq!((stats.returned, stats.returned), (cancelled, unrun.len() as u64));
        }
    });
}
