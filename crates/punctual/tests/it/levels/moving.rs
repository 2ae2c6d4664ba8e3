//! set_priority and run_next: a waiting task that is moved.

use super::{Log, NAMED, STEP, Stepper, pool, queue, rules};
use crate::support::{Dropped, Random, assert_all_settled, hold, single};
use punctual::{Cancel, Pool, Priority, Status, TaskHandle};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

#[test]
fn set_priority_moves_a_waiting_task_to_the_end_of_its_new_level() {
    let pool = pool(queue().strict());
    let held = hold(&pool);
    let log = Log::new();
    let at = |priority, word| pool.task(log.writing(word)).priority(priority).submit().unwrap();
    let moved = at(Priority::LOW, "moved");
    let _high = at(Priority::HIGH, "high");
    let down = at(Priority::URGENT, "down");
    let _urgent = at(Priority::URGENT, "urgent");
    assert!(moved.task_ref().set_priority(Priority::HIGH));
    assert!(down.task_ref().set_priority(Priority::LOW));
    let _later = at(Priority::HIGH, "later");
    let queued: Vec<usize> = pool.stats().levels.iter().map(|level| level.queued).collect();
    assert_eq!(queued, [1, 3, 0, 1]);
    assert_eq!(pool.stats().submitted, 6);
    drop(held);
    let _ = pool.close();
    assert_eq!(log.words(), ["urgent", "high", "moved", "later", "down"]);
    assert_all_settled(&pool.stats());
}

#[test]
fn run_next_goes_before_everything_in_any_queue_first_come_first_served() {
    let plain = ("plain", single());
    let levelled = rules().map(|(rule, queue)| (rule, pool(queue)));
    for (rule, pool) in levelled.into_iter().chain([plain]) {
        let held = hold(&pool);
        let log = Log::new();
        let at = |priority, word| pool.task(log.writing(word)).priority(priority).submit().unwrap();
        let _urgent = at(Priority::URGENT, "urgent");
        let first = at(Priority::LOW, "first");
        let second = at(Priority::NORMAL, "second");
        assert!(
            first.task_ref().run_next() && second.task_ref().run_next(),
            "{rule}"
        );
        let later = at(Priority::URGENT, "later");
        assert!(later.task_ref().run_next(), "{rule}");
        assert_eq!(pool.stats().queued, 4, "{rule}");
        drop(held);
        let _ = pool.close();
        assert_eq!(log.words(), ["first", "second", "later", "urgent"], "{rule}");
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn a_moved_task_counts_as_a_new_arrival_where_age_counts() {
    let stepper = Stepper::new(queue().aging(STEP));
    let old = stepper
        .pool
        .task(stepper.body("moved"))
        .priority(Priority::LOW)
        .submit()
        .unwrap();
    stepper.clock.advance(STEP * 3);
    assert!(old.task_ref().set_priority(Priority::LOW));
    stepper.submit(Priority::URGENT, "urgent");
    assert_eq!(stepper.next(), "urgent");
    assert_eq!(stepper.next(), "moved");
}

#[test]
fn only_a_task_that_waits_in_the_queue_is_moved() {
    let stepper = Stepper::new(queue());
    let refuses = |task: &TaskHandle<()>| {
        let task = task.task_ref();
        !task.set_priority(Priority::URGENT) && !task.run_next()
    };
    let delayed = stepper.pool.after(STEP, || ()).unwrap();
    assert_eq!(delayed.task_ref().status(), Status::Delayed);
    assert!(refuses(&delayed), "delayed");
    let cancelled = stepper.pool.submit(|| ()).unwrap();
    cancelled.cancel();
    assert!(refuses(&cancelled), "cancelled");
    let pool = single();
    let held = hold(&pool);
    let waiting = pool.submit(|| ()).unwrap();
    assert!(!waiting.task_ref().set_priority(Priority::URGENT), "no levels");
    drop(held);
    waiting.wait();
    assert!(refuses(&waiting), "finished");
    let (begun, has_begun) = std::sync::mpsc::channel();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let running = pool
        .submit(move || {
            begun.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    has_begun.recv().unwrap();
    assert!(refuses(&running), "running");
    drop(open);
    let _ = pool.close();
    drop(pool);
    assert!(refuses(&running), "its pool is gone");
}

#[test]
fn a_task_in_the_line_of_a_view_is_not_moved_and_keeps_its_turn() {
    let pool = pool(queue());
    let lane = pool.lane();
    let held = hold(&lane);
    let log = Log::new();
    let in_line: Vec<_> = (0..3)
        .map(|number| lane.submit(log.writing(number)).unwrap())
        .collect();
    let last = in_line[2].task_ref();
    assert!(!last.set_priority(Priority::URGENT) && !last.run_next());
    drop(held);
    let _ = pool.close();
    assert_eq!(log.words(), [0, 1, 2]);
    assert_all_settled(&pool.stats());
}

#[test]
fn a_moved_task_is_told_its_new_priority() {
    let pool = pool(queue());
    let held = hold(&pool);
    let task = pool.task(|| punctual::task::current().unwrap().priority());
    let task = task.priority(Priority::LOW).submit().unwrap();
    assert!(task.task_ref().set_priority(Priority::HIGH));
    drop(held);
    assert_eq!(task.join().unwrap(), Priority::HIGH);
}

#[test]
fn a_moved_task_is_cancelled_returned_joined_and_dropped_like_any_other() {
    for to_front in [false, true] {
        let pool = pool(queue());
        let held = hold(&pool);
        let drops = Arc::new(AtomicUsize::new(0));
        let submit = || {
            let load = Dropped(drops.clone());
            let task = pool
                .task(move || drop(load))
                .priority(Priority::LOW)
                .submit()
                .unwrap();
            for _ in 0..3 {
                let reference = task.task_ref();
                assert!(reference.set_priority(Priority::HIGH) && reference.set_priority(Priority::LOW));
                assert!(!to_front || reference.run_next());
            }
            task
        };
        let (cancelled, returned) = (submit(), submit());
        assert_eq!(cancelled.cancel(), Cancel::Removed);
        assert_eq!(drops.load(SeqCst), 1);
        let unrun = pool.drain();
        assert_eq!((unrun.len(), pool.stats().queued), (1, 0));
        drop(unrun);
        assert_eq!(drops.load(SeqCst), 2);
        assert!(returned.join().unwrap_err().is_cancelled());
        let run = submit();
        drop(held);
        run.join().unwrap();
        let _ = pool.close();
        assert_eq!(drops.load(SeqCst), 3);
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn a_task_that_is_moved_again_and_again_is_counted_once() {
    let pool = pool(queue());
    let held = hold(&pool);
    let task = pool.task(|| ()).submit().unwrap();
    let reference = task.task_ref();
    for _ in 0..20_000 {
        for priority in NAMED {
            assert!(reference.set_priority(priority));
        }
        assert!(reference.run_next());
    }
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.submitted), (1, 2));
    drop(held);
    task.join().unwrap();
    let _ = pool.close();
    assert_all_settled(&pool.stats());
}

#[test]
fn a_join_from_a_worker_runs_a_moved_task_in_place() {
    let pool = pool(queue());
    let own = pool.clone();
    let sum = pool.submit(move || {
        let child = own.submit(|| 40).unwrap();
        let other = own.submit(|| 2).unwrap();
        assert!(child.task_ref().set_priority(Priority::LOW) && other.task_ref().run_next());
        child.join().unwrap() + other.join().unwrap()
    });
    assert_eq!(sum.unwrap().join().unwrap(), 42);
    let _ = pool.close();
    assert_eq!(pool.stats().threads_started, 1, "no spare was needed");
    assert_all_settled(&pool.stats());
}

/// What is moved while it is being taken out is not left behind in the queue, where nobody would look for it.
#[test]
fn a_drain_takes_out_what_is_being_moved() {
    for (rule, queue) in rules() {
        let pool = pool(queue);
        let _held = hold(&pool);
        for round in 0..500 {
            let tasks: Vec<_> = (0..4).map(|_| pool.submit(|| ()).unwrap()).collect();
            let references: Vec<_> = tasks.iter().map(TaskHandle::task_ref).collect();
            let mover = std::thread::spawn(move || {
                for level in 0..4 {
                    for reference in &references {
                        let _ = reference.set_priority(Priority::level(level));
                    }
                }
            });
            Random::from_seed(round).dawdle(2_000);
            let unrun = pool.drain();
            let queued = pool.stats().queued;
            mover.join().unwrap();
            assert_eq!((unrun.len(), queued), (4, 0), "{rule}, round {round}");
        }
    }
}

/// Movers, cancellers and workers at once: every task ends once, and the books balance.
#[test]
fn moves_meet_claims_from_every_side() {
    let mut random = Random::printed("moves_meet_claims_from_every_side");
    for round in 0..30 {
        let queue = rules()[round % 3].1.clone();
        let pool = Pool::builder("levels")
            .core_threads(2)
            .queue(queue)
            .build()
            .unwrap();
        let ran = Arc::new(AtomicUsize::new(0));
        let tasks: Vec<TaskHandle<usize>> = (0..400)
            .map(|_| {
                let (ran, level) = (ran.clone(), random.below(4) as u8);
                let body = move || ran.fetch_add(1, SeqCst);
                pool.task(body).priority(Priority::level(level)).submit().unwrap()
            })
            .collect();
        let seeds: Vec<u64> = (0..3).map(|_| random.next()).collect();
        let cancelled: usize = std::thread::scope(|scope| {
            let threads = seeds.into_iter().map(|seed| {
                let tasks = &tasks;
                scope.spawn(move || {
                    let mut random = Random::from_seed(seed);
                    let mut cancelled = 0;
                    for _ in 0..600 {
                        let task = tasks[random.below(400) as usize].task_ref();
                        match random.below(8) {
                            0 => cancelled += usize::from(task.cancel() == Cancel::Removed),
                            1 | 2 => drop(task.run_next()),
                            _ => drop(task.set_priority(Priority::level(random.below(4) as u8))),
                        }
                    }
                    cancelled
                })
            });
            let threads: Vec<_> = threads.collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        let finished = tasks.into_iter().filter_map(|task| task.join().ok()).count();
        let _ = pool.close();
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!(stats.submitted, 400);
        assert!(finished <= ran.load(SeqCst) && ran.load(SeqCst) + cancelled == 400);
        assert!(stats.levels.iter().all(|level| level.queued == 0));
        assert_eq!(
            stats.levels.iter().map(|level| level.taken).sum::<u64>(),
            stats.taken
        );
    }
}
