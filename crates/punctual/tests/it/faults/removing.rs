//! Faults 11 and 22: a cancel that races anything has exactly one answer, and leaves nothing behind.

use crate::support::{Dropped, LONG, Random, assert_all_settled, env_number, hold, in_time, single};
use punctual::{Cancel, Pool, Queue, TaskRef};
use std::panic::AssertUnwindSafe;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicUsize};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex, Weak};

#[derive(Default)]
struct Body {
    started: AtomicBool,
    ended: AtomicBool,
}

#[test]
fn fault_11_cancel_racing_the_run_answers_what_happened() {
    let rounds = env_number("PUNCTUAL_RACES").unwrap_or(4_000);
    let mut random = Random::printed("cancel racing run");
    let pool = single();
    let [mut removed, mut signalled, mut late] = [0_u64; 3];
    for _ in 0..rounds {
        let body = Arc::new(Body::default());
        let mine = body.clone();
        let work = random.below(200);
        let task = pool
            .submit(move || {
                mine.started.store(true, SeqCst);
                for _ in 0..work {
                    std::hint::spin_loop();
                }
                mine.ended.store(true, SeqCst);
            })
            .unwrap();
        random.dawdle(400);
        let answer = task.cancel();
        let ended_by_then = body.ended.load(SeqCst);
        assert_eq!(
            task.cancel(),
            Cancel::TooLate,
            "the second has nothing left to do"
        );
        let joined = task.join();
        assert!(pool.wait_idle(LONG));
        let started = body.started.load(SeqCst);
        match answer {
            Cancel::Removed => {
                removed += 1;
                assert!(!started, "removed, and yet it started");
                assert!(joined.unwrap_err().is_cancelled());
                assert_eq!(Arc::strong_count(&body), 1, "the closure is gone");
            }
            Cancel::Signalled => {
                signalled += 1;
                // Taken by a worker, which runs it, to its end.
                assert!(started && body.ended.load(SeqCst));
                assert!(joined.unwrap_err().is_cancelled());
            }
            Cancel::TooLate => {
                late += 1;
                assert!(ended_by_then, "too late, and yet it had not ended");
                joined.unwrap();
            }
        }
    }
    let stats = pool.stats();
    assert_eq!((stats.cancelled, stats.finished), (removed + signalled, late));
    assert_eq!(stats.submitted, rounds);
    assert_all_settled(&stats);
    println!("removed {removed}, signalled {signalled}, too late {late}");
}

#[test]
fn fault_11_of_many_cancels_one_at_most_has_an_effect() {
    const ROUNDS: usize = 2_000;
    const CANCELLERS: usize = 3;
    let mut random = Random::printed("cancels racing each other");
    let pool = single();
    let target: Arc<Mutex<Option<TaskRef>>> = Arc::default();
    let meet = Arc::new(Barrier::new(CANCELLERS + 1));
    let answers: Arc<Mutex<Vec<Cancel>>> = Arc::default();
    let cancellers: Vec<_> = (0..CANCELLERS)
        .map(|_| {
            let (target, meet, answers) = (target.clone(), meet.clone(), answers.clone());
            let mut random = Random::from_seed(random.next());
            std::thread::spawn(move || {
                for _ in 0..ROUNDS {
                    meet.wait();
                    let task = target.lock().unwrap().clone().expect("set before the meeting");
                    random.dawdle(100);
                    // A panic is an answer too, the wrong one: without it the barrier would wait for ever.
                    let answer = std::panic::catch_unwind(AssertUnwindSafe(|| task.cancel()));
                    if let Ok(answer) = answer {
                        answers.lock().unwrap().push(answer);
                    }
                    meet.wait();
                }
            })
        })
        .collect();
    let mut ended = 0;
    let mut wrong = None;
    for _ in 0..ROUNDS {
        let started = Arc::new(AtomicBool::new(false));
        let mine = started.clone();
        // Something to drop, so that the cancel takes its time.
        let ballast: Vec<Box<u64>> = (0..random.below(30)).map(Box::new).collect();
        let task = pool
            .submit(move || {
                mine.store(true, SeqCst);
                ballast.len()
            })
            .unwrap();
        *target.lock().unwrap() = Some(task.task_ref());
        meet.wait();
        meet.wait();
        let mut answers = answers.lock().unwrap();
        let effects: Vec<Cancel> = answers
            .iter()
            .copied()
            .filter(|answer| *answer != Cancel::TooLate)
            .collect();
        let joined = task.join();
        assert!(pool.wait_idle(LONG));
        let started = started.load(SeqCst);
        let right = answers.len() == CANCELLERS
            && match effects[..] {
                [] => started && joined.is_ok(),
                [Cancel::Removed] => !started && joined.is_err(),
                [Cancel::Signalled] => started && joined.is_err(),
                _ => false,
            };
        if !right && wrong.is_none() {
            wrong = Some(format!("answers {answers:?}, started {started}"));
        }
        ended += u64::from(effects.is_empty());
        answers.clear();
    }
    for canceller in cancellers {
        canceller.join().unwrap();
    }
    assert_eq!(wrong, None);
    let stats = pool.stats();
    assert_eq!(stats.finished, ended);
    assert_all_settled(&stats);
}

/// Cancels a task when it is dropped, and keeps the answer.
struct CancelsOnDrop {
    target: Arc<Mutex<Option<TaskRef>>>,
    answer: Arc<Mutex<Option<Cancel>>>,
}

impl Drop for CancelsOnDrop {
    fn drop(&mut self) {
        let target = self
            .target
            .lock()
            .unwrap()
            .take()
            .expect("set before anybody cancels");
        *self.answer.lock().unwrap() = Some(target.cancel());
    }
}

#[test]
fn fault_11_a_closure_that_cancels_its_own_task_while_it_is_cancelled_is_too_late() {
    let pool = single();
    let held = hold(&pool);
    let (target, answer) = (Arc::default(), Arc::default());
    let captured = CancelsOnDrop {
        target: Arc::clone(&target),
        answer: Arc::clone(&answer),
    };
    let task = pool.submit(move || drop(captured)).unwrap();
    *target.lock().unwrap() = Some(task.task_ref());
    assert_eq!(task.cancel(), Cancel::Removed);
    assert_eq!(
        *answer.lock().unwrap(),
        Some(Cancel::TooLate),
        "it never ran, so it cannot be signalled"
    );
    assert!(task.join().unwrap_err().is_cancelled());
    drop(held);
    assert!(pool.close().terminated);
    assert_all_settled(&pool.stats());
}

#[test]
fn fault_11_cancel_racing_stop_and_drain_loses_no_task() {
    const TASKS: usize = 40;
    let mut random = Random::printed("cancel racing drain");
    in_time(move || {
        for round in 0..500 {
            let pool = single();
            let held = hold(&pool);
            let ran = Arc::new(AtomicUsize::new(0));
            let tasks: Vec<_> = (0..TASKS)
                .map(|_| {
                    let ran = ran.clone();
                    pool.submit(move || ran.fetch_add(1, SeqCst)).unwrap()
                })
                .collect();
            let refs: Vec<TaskRef> = tasks.iter().map(|task| task.task_ref()).collect();
            let mut theirs = Random::from_seed(random.next());
            let canceller = std::thread::spawn(move || {
                theirs.dawdle(300);
                let answers = refs.iter().map(TaskRef::cancel);
                answers.filter(|answer| *answer == Cancel::Removed).count()
            });
            random.dawdle(300);
            let unrun = if round % 2 == 0 { pool.stop() } else { pool.drain() };
            let removed = canceller.join().expect("a cancel does not panic");
            assert_eq!(removed + unrun.len(), TASKS, "each task went one way");
            drop(unrun);
            for task in tasks {
                assert!(task.join().unwrap_err().is_cancelled());
            }
            drop(held);
            assert!(pool.close().terminated);
            let stats = pool.stats();
            assert_eq!(
                (stats.cancelled, stats.returned),
                (removed as u64, (TASKS - removed) as u64)
            );
            assert_eq!(ran.load(SeqCst), 0);
        }
    });
}

#[repr(align(128))]
struct OverAligned(#[allow(dead_code)] u8);

/// Submits closures of several sizes, each with the sentinel inside.
fn submit_with_sentinel(pool: &Pool, size: usize) -> (punctual::TaskHandle<()>, Weak<u8>) {
    let sentinel = Arc::new(0);
    let weak = Arc::downgrade(&sentinel);
    let task = match size % 3 {
        0 => pool.submit(move || drop(sentinel)),
        1 => {
            let bulk = [0_u64; 40];
            return (pool.submit(move || drop((sentinel, bulk))).unwrap(), weak);
        }
        _ => {
            let aligned = OverAligned(1);
            return (pool.submit(move || drop((sentinel, aligned))).unwrap(), weak);
        }
    };
    (task.unwrap(), weak)
}

#[test]
fn fault_22_what_a_cancelled_task_held_is_gone_when_cancel_returns() {
    const CAPACITY: usize = 300;
    let builder = Pool::builder("cancelled")
        .core_threads(1)
        .queue(Queue::bounded(CAPACITY));
    let pool = builder.build().unwrap();
    let held = hold(&pool);
    let mut random = Random::printed("cancelled");
    for _ in 0..20 {
        let mut tasks: Vec<_> = (0..CAPACITY)
            .map(|size| submit_with_sentinel(&pool, size))
            .collect();
        assert!(pool.execute(|| ()).unwrap_err().is_full());
        while !tasks.is_empty() {
            let (task, weak) = tasks.swap_remove(random.below(tasks.len() as u64) as usize);
            assert!(weak.upgrade().is_some());
            match random.below(3) {
                0 => assert_eq!(task.cancel(), Cancel::Removed),
                1 => assert!(task.task_ref().remove()),
                _ => {
                    let left = task.task_ref();
                    drop(task);
                    assert_eq!(left.cancel(), Cancel::Removed);
                }
            }
            assert!(weak.upgrade().is_none(), "alive after its cancel returned");
            assert_eq!(pool.stats().queued, tasks.len(), "its permit came back");
        }
    }
    drop(held);
    assert!(pool.close().terminated);
}

#[test]
fn fault_22_a_signalled_task_drops_its_result_when_it_ends() {
    let pool = single();
    let dropped = Arc::new(AtomicUsize::new(0));
    let (begun, has_begun) = channel();
    let result = Dropped(dropped.clone());
    let task = pool
        .submit(move || {
            begun.send(()).unwrap();
            let _ = punctual::task::sleep(LONG);
            result
        })
        .unwrap();
    has_begun.recv().unwrap();
    assert_eq!(task.cancel(), Cancel::Signalled);
    assert!(pool.close().terminated);
    assert_eq!(dropped.load(SeqCst), 1, "with the handle still there");
    assert!(task.join().unwrap_err().is_cancelled());
    assert_eq!(dropped.load(SeqCst), 1);
}
