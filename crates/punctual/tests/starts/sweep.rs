//! Faults 6 and 7, `TPE-35`: the start after k starts fails, for every k from none to twice the threads and every shape
//! of pool. The clock stands still: with somebody alive a pool then tries once, with nobody it tries every time.

use crate::process::{Gate, alone, large, room_for, room_for_all, threads};
use crate::support::{assert_all_settled, until};
use punctual::{Clock, Growth, ManualClock, OnDrop, Pool, PoolBuilder, Queue, Reason, TaskHandle};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

const MAX: usize = 4;
const OFFERED: usize = 16;

/// Tasks that hold their workers at a gate, as many as are accepted.
struct Load {
    gate: Gate,
    ran: Arc<AtomicUsize>,
    tasks: Vec<TaskHandle<usize>>,
    full: usize,
    no_thread: usize,
}

impl Load {
    fn on(pool: &Pool) -> Load {
        let mut load = Load {
            gate: Gate::default(),
            ran: Arc::default(),
            tasks: Vec::new(),
            full: 0,
            no_thread: 0,
        };
        for number in 0..OFFERED {
            let (gate, ran) = (load.gate.clone(), load.ran.clone());
            let body = move || {
                gate.pass();
                ran.fetch_add(1, SeqCst);
                number
            };
            match pool.submit(body) {
                Ok(task) => load.tasks.push(task),
                Err(refused) => match refused.reason() {
                    Reason::Full { .. } => load.full += 1,
                    Reason::NoThread => load.no_thread += 1,
                    other => panic!("{other:?}"),
                },
            }
            // Until somebody who is free has taken it, it waits in a place of the queue.
            until("it is taken, or all are at work", || {
                let stats = pool.stats();
                stats.queued == 0 || stats.active == stats.threads
            });
        }
        load
    }

    /// Every accepted task runs, once; says how many that were.
    fn run(self) -> usize {
        self.gate.open();
        let accepted = self.tasks.len();
        for task in self.tasks {
            task.join().expect("accepted, so it runs");
        }
        assert_eq!(self.ran.load(SeqCst), accepted, "and what was refused never does");
        accepted
    }
}

/// One shape of pool, whose queue has so many places.
fn sweep(places: usize, shape: fn(PoolBuilder) -> PoolBuilder) {
    for k in 0..=2 * MAX {
        let clock: ManualClock = Clock::manual();
        let pool = shape(large("sweep").clock(clock.clone())).build().expect("valid");
        room_for(k);
        let workers = k.min(MAX);
        let fit = (workers + places).min(OFFERED);

        let load = Load::on(&pool);
        let stats = pool.stats();
        assert_eq!(stats.threads, workers, "k = {k}");
        if k == 0 {
            assert_eq!((load.tasks.len(), load.no_thread), (0, OFFERED), "k = 0");
            assert_eq!(stats.failed_starts, OFFERED as u64, "each of them tried");
        } else {
            assert_eq!((load.tasks.len(), load.full), (fit, OFFERED - fit), "k = {k}");
            assert_eq!(
                stats.failed_starts,
                u64::from(k < MAX),
                "k = {k}: then it backs off"
            );
        }
        let (full, no_thread) = (load.full, load.no_thread);
        let first = load.run();

        // There is room again, and the back-off is over: the pool becomes as large as it may.
        room_for_all();
        clock.advance(Duration::from_millis(1));
        let load = Load::on(&pool);
        let stats = pool.stats();
        assert_eq!((stats.threads, stats.largest), (MAX, MAX), "k = {k}");
        assert_eq!(load.tasks.len(), (MAX + places).min(OFFERED), "k = {k}");
        assert_eq!(load.no_thread, 0, "k = {k}");
        let full = full + load.full;
        let accepted = (first + load.run()) as u64;

        assert!(pool.close().terminated);
        let stats = pool.stats();
        assert_all_settled(&stats);
        assert_eq!((stats.submitted, stats.finished), (accepted, accepted), "k = {k}");
        assert_eq!(stats.rejected.full, full as u64, "k = {k}");
        assert_eq!(stats.rejected.no_thread, no_thread as u64, "k = {k}");
        assert_eq!(stats.threads_started, stats.threads_stopped, "k = {k}");
        println!("k = {k}: {accepted} accepted, {full} full, {no_thread} without a thread");
    }
}

#[test]
fn tpe_35_a_start_that_fails_hangs_no_task_of_a_fixed_pool() {
    alone(|| sweep(OFFERED, |pool| pool.core_threads(MAX).queue(Queue::unbounded())));
}

#[test]
fn tpe_35_a_start_that_fails_hangs_no_task_of_a_pool_that_grows_when_full() {
    alone(|| {
        sweep(3, |pool| {
            pool.core_threads(1).max_threads(MAX).queue(Queue::bounded(3))
        });
    });
}

#[test]
fn tpe_35_a_start_that_fails_hangs_no_task_of_a_pool_without_a_queue() {
    alone(|| {
        sweep(0, |pool| {
            pool.core_threads(0).max_threads(MAX).queue(Queue::handoff())
        });
    });
}

#[test]
fn tpe_35_a_start_that_fails_hangs_no_task_of_a_pool_whose_threads_come_first() {
    alone(|| {
        sweep(3, |pool| {
            pool.core_threads(1)
                .max_threads(MAX)
                .growth(Growth::ThreadsFirst)
                .queue(Queue::bounded(3))
        });
    });
}

#[test]
fn tpe_35_a_pool_with_starts_that_failed_still_closes() {
    alone(|| {
        for k in 0..=2 * MAX {
            let pool = large("closing")
                .core_threads(MAX)
                .queue(Queue::unbounded())
                .build();
            let pool = pool.expect("valid");
            room_for(k);
            let load = Load::on(&pool);
            pool.shutdown();
            load.run();
            assert!(pool.close().terminated, "k = {k}");
            drop(pool);
            room_for_all();
        }
    });
}

#[test]
fn fault_06_a_build_whose_threads_cannot_start_fails_and_leaves_none_behind() {
    alone(|| {
        let before = threads();
        for k in 0..=2 * MAX {
            let started = Arc::new(AtomicUsize::new(0));
            let stopped = Arc::new(AtomicUsize::new(0));
            let (on_start, on_stop) = (started.clone(), stopped.clone());
            room_for(k);
            let built = large("prestarted")
                .core_threads(MAX)
                .prestart(true)
                .on_thread_start(move || _ = on_start.fetch_add(1, SeqCst))
                .on_thread_stop(move || _ = on_stop.fetch_add(1, SeqCst))
                .build();
            match built {
                Ok(pool) => {
                    assert!(k >= MAX, "{k} threads are not {MAX}");
                    assert_eq!(pool.stats().threads, MAX);
                    drop(pool);
                }
                Err(error) => {
                    assert!(k < MAX, "there was room for {k}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("prestart"), "{text}");
                    assert!(text.contains(&format!("after {k} of {MAX}")), "{text}");
                }
            }
            let all = k.min(MAX);
            assert_eq!(
                (started.load(SeqCst), stopped.load(SeqCst)),
                (all, all),
                "k = {k}"
            );
            // A joined thread may still be on its way out of the kernel's list.
            until("no thread is left", || threads() == before);
            room_for_all();
        }
    });
}

#[test]
fn fault_06_a_build_that_fails_waits_for_its_threads_whatever_a_drop_would_do() {
    alone(|| {
        for on_drop in [OnDrop::Close, OnDrop::Stop, OnDrop::Detach] {
            let stopped = Arc::new(AtomicUsize::new(0));
            let on_stop = stopped.clone();
            room_for(1);
            let built = large("detached")
                .core_threads(2)
                .prestart(true)
                .on_drop(on_drop)
                .on_thread_stop(move || {
                    // Long enough for a build that does not wait to be gone before.
                    (0..1_000).for_each(|_| std::thread::yield_now());
                    on_stop.fetch_add(1, SeqCst);
                })
                .build();
            assert!(built.is_err());
            assert_eq!(stopped.load(SeqCst), 1, "{on_drop:?}");
            room_for_all();
        }
    });
}
