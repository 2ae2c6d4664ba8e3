//! Faults 10 and 11 with timers: threads that insert, cancel and join delayed and expiring tasks, against a pool that ends.

use crate::support::{Random, assert_all_settled, in_time};
use punctual::{AtShutdown, Cancel, Pool, Queue, Schedule, Status, TaskHandle, Unrun};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Barrier};
use std::time::{Duration, SystemTime};

const THREADS: u64 = 4;
const TASKS: u64 = 400;

/// What the threads saw, to be compared with what the pool counted.
#[derive(Debug, Default)]
struct Ledger {
    accepted: AtomicU64,
    refused: AtomicU64,
    ran: AtomicU64,
    removed: AtomicU64,
    finished: AtomicU64,
    cancelled: AtomicU64,
    expired: AtomicU64,
}

impl Ledger {
    fn count(field: &AtomicU64) {
        field.fetch_add(1, SeqCst);
    }

    fn end(&self, task: TaskHandle<()>) {
        match task.join() {
            Ok(()) => Self::count(&self.finished),
            Err(error) if error.is_cancelled() => Self::count(&self.cancelled),
            Err(error) if error.is_expired() => Self::count(&self.expired),
            Err(error) => panic!("{error}"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
enum Ending {
    Stop,
    Close,
    CloseAndRun,
    Drains,
}

fn user(pool: &Pool, ledger: &Arc<Ledger>, mut random: Random) {
    let mut tasks = Vec::new();
    for _ in 0..TASKS {
        let ran = ledger.clone();
        let body = move || Ledger::count(&ran.ran);
        let delay = Duration::from_micros(random.below(3_000));
        let submitted = match random.below(5) {
            0 => pool.after(delay, body),
            1 => pool.at(SystemTime::now() + delay, body),
            2 => pool.task(body).expires_in(delay).submit(),
            3 => pool.task(body).expires_in(delay).after(delay / 2),
            _ => pool.task(body).time_limit(delay).after(Duration::ZERO),
        };
        match submitted {
            Ok(task) => {
                Ledger::count(&ledger.accepted);
                tasks.push(task);
            }
            Err(refused) => {
                assert!(refused.is_shutdown(), "{refused}");
                Ledger::count(&ledger.refused);
            }
        }
        if random.below(3) == 0 && !tasks.is_empty() {
            let task = tasks.swap_remove(random.below(tasks.len() as u64) as usize);
            if random.below(2) == 0 && task.cancel() == Cancel::Removed {
                Ledger::count(&ledger.removed);
            }
            ledger.end(task);
        }
    }
    for task in tasks {
        ledger.end(task);
    }
}

fn end_in_the_middle(ending: Ending, random: &mut Random) {
    let pool = Pool::builder("ends").core_threads(2).queue(Queue::unbounded());
    let policy = match ending {
        Ending::CloseAndRun => AtShutdown::Run,
        _ => AtShutdown::Drop,
    };
    let pool = pool
        .delayed_at_shutdown(policy)
        .on_late(Duration::from_micros(500), |_, _| ());
    let pool = pool.build().unwrap();
    let ledger = Arc::new(Ledger::default());
    let begin = Arc::new(Barrier::new(THREADS as usize + 1));
    let runs = Arc::new(AtomicU64::new(0));
    let inside = runs.clone();
    let every = Schedule::every(Duration::from_micros(200));
    let schedule = pool.schedule(every, move |_| Ledger::count(&inside)).unwrap();
    let users: Vec<_> = (0..THREADS)
        .map(|_| {
            let (pool, ledger, begin) = (pool.clone(), ledger.clone(), begin.clone());
            let random = Random::from_seed(random.next());
            std::thread::spawn(move || {
                begin.wait();
                user(&pool, &ledger, random);
            })
        })
        .collect();
    begin.wait();
    random.dawdle(200_000);
    let mut unrun: Vec<Unrun> = Vec::new();
    match ending {
        Ending::Stop => unrun = pool.stop(),
        Ending::Close | Ending::CloseAndRun => pool.shutdown(),
        Ending::Drains => {
            for _ in 0..20 {
                unrun.extend(pool.drain());
                random.dawdle(10_000);
            }
        }
    }
    for user in users {
        user.join().unwrap();
    }
    assert!(pool.close().terminated);
    assert!(schedule.is_finished());
    schedule.wait();
    let stats = pool.stats();
    assert_all_settled(&stats);
    assert_eq!(
        (stats.pending_timers, stats.schedules, stats.keepers),
        (0, 0, 0),
        "{ending:?}"
    );
    let count = |field: &AtomicU64| field.load(SeqCst);
    assert_eq!(count(&ledger.accepted) + count(&ledger.refused), THREADS * TASKS);
    let ends = count(&ledger.finished) + count(&ledger.cancelled) + count(&ledger.expired);
    assert_eq!(ends, count(&ledger.accepted), "{ending:?}: every handle resolves");
    // The runs of the schedule are tasks too: each ran, or was taken out while it was due.
    let scheduled = stats.submitted - count(&ledger.accepted);
    assert!(scheduled >= count(&runs), "{ending:?} {stats:?}");
    let ran = count(&ledger.ran) + count(&runs);
    assert!(
        ran <= stats.finished + stats.cancelled,
        "{ending:?} {ran} {stats:?}"
    );
    assert!(stats.finished >= count(&ledger.finished), "{ending:?}");
    assert_eq!(stats.expired, count(&ledger.expired), "{ending:?}");
    assert_eq!(stats.returned, unrun.len() as u64, "{ending:?}");
    let gone = stats.cancelled + stats.returned;
    assert!(gone >= count(&ledger.cancelled) && count(&ledger.cancelled) >= count(&ledger.removed));
    if matches!(ending, Ending::CloseAndRun) {
        assert_eq!(stats.returned, 0);
    }
    // What came back has not run, and still can.
    let before = count(&ledger.ran);
    let of_schedules = unrun.iter().filter(|task| task.name().is_some()).count();
    assert_eq!(of_schedules, 0);
    for task in unrun {
        task.run().unwrap();
    }
    assert!(count(&ledger.ran) >= before);
}

#[test]
fn fault_10_timers_against_a_pool_that_ends_lose_nothing() {
    let mut random = Random::printed("timers against the end");
    in_time(move || {
        for round in 0..12 {
            let endings = [Ending::Stop, Ending::Close, Ending::CloseAndRun, Ending::Drains];
            end_in_the_middle(endings[round % 4], &mut random);
        }
    });
}

/// Ways in which the last delayed task of a closed pool goes.
#[test]
fn fault_10_a_pool_whose_last_delayed_task_goes_after_its_shutdown_ends() {
    const FAR: Duration = Duration::from_secs(3_600);
    in_time(|| {
        for round in 0..400 {
            let pool = Pool::builder("last").core_threads(1 + round % 2).build().unwrap();
            let task = pool.after(FAR, || ()).unwrap();
            let other = pool.at(SystemTime::now() + FAR, || ()).unwrap();
            // Not by `close`, which wakes everybody once more.
            match round % 4 {
                0 => pool.shutdown(),
                1 => drop(pool.stop()),
                way => {
                    pool.set_delayed_at_shutdown(AtShutdown::Run);
                    pool.shutdown();
                    assert!(!pool.await_termination(Duration::from_millis(1)));
                    if way == 2 {
                        assert_eq!(
                            (task.cancel(), other.cancel()),
                            (Cancel::Removed, Cancel::Removed)
                        );
                    } else {
                        pool.set_delayed_at_shutdown(AtShutdown::Drop);
                    }
                }
            }
            let has_ended = pool.await_termination(crate::support::LONG / 4);
            assert!(has_ended, "round {round}: {pool:?}");
            assert!(task.join().is_err() && other.join().is_err());
        }
    });
}

#[test]
fn fault_11_a_cancel_that_meets_the_time_has_one_winner() {
    const ROUNDS: u64 = 2_000;
    let mut random = Random::printed("cancel meets the time");
    in_time(move || {
        let pool = Pool::fixed(2).unwrap();
        let ran = Arc::new(AtomicU64::new(0));
        let mut removed = 0;
        for _ in 0..ROUNDS {
            let before = ran.load(SeqCst);
            let inside = ran.clone();
            let delay = Duration::from_micros(random.below(60));
            let body = move || Ledger::count(&inside);
            let task = pool.after(delay, body).unwrap();
            random.dawdle(3_000);
            let watcher = task.task_ref();
            match task.cancel() {
                Cancel::Removed => {
                    removed += 1;
                    assert!(task.join().unwrap_err().is_cancelled());
                    assert_eq!((watcher.status(), ran.load(SeqCst)), (Status::Cancelled, before));
                }
                Cancel::Signalled => assert!(task.join().unwrap_err().is_cancelled()),
                Cancel::TooLate => task.join().unwrap(),
            }
            assert!(pool.wait_idle(crate::support::LONG));
        }
        assert_eq!(ran.load(SeqCst) + removed, ROUNDS);
        let stats = pool.stats();
        assert_eq!((stats.submitted, stats.pending_timers), (ROUNDS, 0));
        assert_all_settled(&stats);
    });
}
