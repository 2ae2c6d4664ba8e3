//! Growth and rejection from outside: threads come and go by the rules, and a full pool answers by its policy.

#![cfg(not(any(loom, shuttle)))]

use punctual_next::{Answer, Capacity, Growth, Pool, PoolBuilder, Reason, Reject, TaskHandle};
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

/// Longer than any of these tests.
const FOREVER: Duration = Duration::from_secs(3600);

/// Tasks that run until the test lets them go.
struct Held {
    begun: Receiver<()>,
    tell: Sender<()>,
    gate: Arc<std::sync::Mutex<Receiver<()>>>,
    open: Sender<()>,
}

impl Held {
    fn new() -> Self {
        let (tell, begun) = channel();
        let (open, gate) = channel();
        let gate = Arc::new(std::sync::Mutex::new(gate));
        Held {
            begun,
            tell,
            gate,
            open,
        }
    }

    /// A task that says that it has begun, and waits to be let go.
    fn task(&self) -> impl FnOnce() + Send + use<> + 'static {
        let (tell, gate) = (self.tell.clone(), self.gate.clone());
        move || {
            tell.send(()).expect("the test waits for this");
            let _ = gate.lock().unwrap().recv();
        }
    }

    fn await_begun(&self, tasks: usize) {
        (0..tasks).for_each(|_| self.begun.recv().expect("it begins"));
    }

    fn release(&self, tasks: usize) {
        (0..tasks).for_each(|_| self.open.send(()).expect("the gate is there"));
    }
}

fn bounded(core: usize, max: usize, capacity: usize) -> PoolBuilder {
    Pool::builder("growth")
        .core_threads(core)
        .max_threads(max)
        .capacity(Capacity::Bounded(capacity))
}

/// Until the pool has so many threads; a worker leaves after its last look at the queue, which no signal tells.
fn await_threads(pool: &Pool, threads: usize) {
    while pool.threads() != threads {
        thread::yield_now();
    }
}

#[test]
fn tpe_01_impossible_sizes_are_refused_by_name() {
    let error = |builder: PoolBuilder| builder.build().unwrap_err();
    assert_eq!(error(bounded(0, 0, 1)).field(), "max_threads");
    assert_eq!(error(bounded(3, 2, 1)).field(), "core_threads");
    assert_eq!(error(bounded(1, 1, 0)).field(), "capacity");
    let never_full = Pool::builder("growth").core_threads(1).max_threads(2);
    assert!(error(never_full).to_string().contains("ThreadsFirst"));
    let at_once = bounded(1, 1, 1).keep_alive(Duration::ZERO).core_timeout(true);
    assert_eq!(error(at_once).field(), "keep_alive");
}

#[test]
fn tpe_09_each_of_the_first_submissions_starts_a_thread_although_others_are_idle() {
    let pool = bounded(3, 3, 8).build().unwrap();
    assert_eq!(pool.threads(), 0);
    for threads in 1..=3 {
        pool.submit(|| ()).unwrap().join().unwrap();
        assert_eq!(pool.threads(), threads);
    }
    pool.submit(|| ()).unwrap().join().unwrap();
    assert_eq!(pool.threads(), 3);
    assert!(pool.close());
}

#[test]
fn tpe_10_core_queue_and_max_fill_to_the_exact_number() {
    let (pool, held) = (bounded(2, 4, 3).build().unwrap(), Held::new());
    for _ in 0..7 {
        pool.execute(held.task()).unwrap();
    }
    held.await_begun(4);
    assert_eq!((pool.threads(), pool.queued()), (4, 3));
    let refused = pool.execute(held.task()).unwrap_err();
    assert!(refused.is_full());
    held.release(7);
    held.await_begun(3);
    assert!(pool.close());
}

#[test]
fn tpe_10_producers_that_race_fill_to_the_same_number() {
    let (pool, held) = (bounded(1, 3, 2).build().unwrap(), Held::new());
    let (accepted, start) = (AtomicUsize::new(0), Barrier::new(4));
    thread::scope(|scope| {
        for _ in 0..4 {
            let tasks: Vec<_> = (0..4).map(|_| held.task()).collect();
            scope.spawn(|| {
                start.wait();
                for task in tasks {
                    accepted.fetch_add(usize::from(pool.execute(task).is_ok()), SeqCst);
                }
            });
        }
    });
    assert_eq!(accepted.load(SeqCst), 5);
    held.release(5);
    held.await_begun(5);
    assert!(pool.close());
}

fn one() -> i32 {
    1
}

#[test]
fn tpe_12_a_task_is_handed_to_a_free_thread_or_to_a_new_one() {
    let builder = Pool::builder("handoff").core_threads(0).max_threads(2);
    let (pool, held) = (builder.capacity(Capacity::Handoff).build().unwrap(), Held::new());
    pool.execute(held.task()).unwrap();
    pool.execute(held.task()).unwrap();
    held.await_begun(2);
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    held.release(2);
    // A thread is free when its task has ended, which nothing tells of a task without a handle.
    let free = loop {
        match pool.submit(one) {
            Ok(task) => break task,
            Err(_) => thread::yield_now(),
        }
    };
    assert_eq!(free.join().unwrap(), 1);
    assert_eq!(
        pool.submit(|| 2).unwrap().join().unwrap(),
        2,
        "it is free after a join"
    );
    assert_eq!(pool.threads(), 2);
    assert!(pool.close());
}

#[test]
fn tpe_13_without_core_threads_a_bounded_queue_fills_before_the_second_worker() {
    let (pool, held) = (bounded(0, 2, 2).build().unwrap(), Held::new());
    pool.execute(held.task()).unwrap();
    held.await_begun(1);
    pool.execute(held.task()).unwrap();
    pool.execute(held.task()).unwrap();
    assert_eq!((pool.threads(), pool.queued()), (1, 2));
    pool.execute(held.task()).unwrap();
    held.await_begun(1);
    assert_eq!(pool.threads(), 2);
    held.release(4);
    held.await_begun(2);
    assert!(pool.close());
}

#[test]
fn tpe_11_with_threads_first_a_thread_starts_when_none_is_free() {
    let builder = Pool::builder("first").core_threads(1).max_threads(3);
    let (pool, held) = (builder.growth(Growth::ThreadsFirst).build().unwrap(), Held::new());
    for threads in 1..=3 {
        pool.execute(held.task()).unwrap();
        held.await_begun(1);
        assert_eq!((pool.threads(), pool.queued()), (threads, 0));
    }
    pool.execute(held.task()).unwrap();
    assert_eq!((pool.threads(), pool.queued()), (3, 1));
    held.release(4);
    held.await_begun(1);
    assert!(pool.close());
}

#[test]
fn tpe_14_a_raised_max_lets_the_next_submissions_start_threads() {
    let (pool, held) = (bounded(1, 1, 1).build().unwrap(), Held::new());
    pool.execute(held.task()).unwrap();
    held.await_begun(1);
    pool.execute(held.task()).unwrap();
    assert!(pool.execute(|| ()).unwrap_err().is_full());
    pool.resize(1, 2).unwrap();
    pool.execute(held.task()).unwrap();
    held.await_begun(1);
    assert_eq!(pool.threads(), 2);
    held.release(3);
    held.await_begun(1);
    assert!(pool.close());
}

#[test]
fn tpe_15_threads_beyond_a_lowered_max_leave_as_their_tasks_end() {
    let (pool, held) = (bounded(3, 3, 8).build().unwrap(), Held::new());
    for _ in 0..3 {
        pool.execute(held.task()).unwrap();
    }
    held.await_begun(3);
    pool.resize(1, 1).unwrap();
    assert_eq!(pool.threads(), 3, "a task that runs is not disturbed");
    held.release(3);
    await_threads(&pool, 1);
    assert_eq!(pool.submit(|| 4).unwrap().join().unwrap(), 4);
    assert!(pool.close());
}

#[test]
fn tpe_15_idle_threads_beyond_a_lowered_max_leave_at_once() {
    let pool = bounded(3, 3, 8).build().unwrap();
    assert_eq!(pool.prestart(), 3);
    pool.resize(1, 1).unwrap();
    await_threads(&pool, 1);
    assert!(pool.resize(2, 1).is_err());
    assert_eq!(pool.submit(|| 4).unwrap().join().unwrap(), 4);
    assert!(pool.close());
}

#[test]
fn tpe_17_a_raised_core_starts_threads_for_the_waiting_tasks_at_once() {
    let (pool, held) = (bounded(1, 4, 8).build().unwrap(), Held::new());
    for _ in 0..4 {
        pool.execute(held.task()).unwrap();
    }
    held.await_begun(1);
    pool.resize(4, 4).unwrap();
    held.await_begun(3);
    assert_eq!(pool.threads(), 4);
    held.release(4);
    assert!(pool.close());
}

#[test]
fn tpe_20_the_pool_shrinks_to_core_and_stays_there() {
    let builder = bounded(1, 3, 1).keep_alive(Duration::from_millis(1));
    let (pool, held) = (builder.build().unwrap(), Held::new());
    for _ in 0..4 {
        pool.execute(held.task()).unwrap();
    }
    held.await_begun(3);
    assert_eq!(pool.threads(), 3);
    held.release(4);
    held.await_begun(1);
    await_threads(&pool, 1);
    assert_eq!(pool.submit(|| 4).unwrap().join().unwrap(), 4);
    assert_eq!(pool.threads(), 1);
    assert!(pool.close());
}

#[test]
fn tpe_20_without_a_keep_alive_time_idle_threads_beyond_core_leave_at_once() {
    let builder = bounded(0, 2, 4).keep_alive(Duration::ZERO);
    let pool = builder.build().unwrap();
    for n in 0..20 {
        assert_eq!(pool.submit(move || n).unwrap().join().unwrap(), n);
        await_threads(&pool, 0);
    }
    assert!(pool.close());
}

#[test]
fn tpe_21_with_core_timeout_the_pool_empties() {
    let builder = bounded(2, 2, 4)
        .keep_alive(Duration::from_millis(1))
        .core_timeout(true);
    let pool = builder.build().unwrap();
    for _ in 0..2 {
        pool.submit(|| ()).unwrap().join().unwrap();
    }
    await_threads(&pool, 0);
    assert_eq!(pool.submit(|| 7).unwrap().join().unwrap(), 7);
    assert!(pool.close());
}

/// A pool of one thread that is at work, with one task that waits; it is full.
fn full_pool(reject: Reject) -> (Pool, Held, TaskHandle<&'static str>) {
    let (pool, held) = (bounded(1, 1, 1).on_full(reject).build().unwrap(), Held::new());
    pool.execute(held.task()).unwrap();
    held.await_begun(1);
    let waiting = pool.submit(|| "waited").unwrap();
    (pool, held, waiting)
}

#[test]
fn rej_03_the_default_policy_gives_the_task_back_and_never_runs_it() {
    let (pool, held, waiting) = full_pool(Reject::default());
    let refused = pool.submit(|| 1).unwrap_err();
    assert!(matches!(
        refused.reason(),
        Reason::Full {
            capacity: 1,
            threads: 1,
            ..
        }
    ));
    assert_eq!(refused.into_task()(), 1);
    held.release(1);
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(pool.close());
}

#[test]
fn rej_04_a_discarded_task_never_runs_and_its_handle_says_so() {
    let (pool, held, waiting) = full_pool(Reject::Discard);
    let (tell, told) = channel::<()>();
    let discarded = pool.submit(move || tell.send(())).unwrap();
    assert!(discarded.join().unwrap_err().is_rejected());
    assert!(told.recv().is_err(), "the closure is gone");
    held.release(1);
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(format!("{pool:?}").contains("discarded: 1"));
    assert!(pool.close());
}

#[test]
fn rej_05_the_caller_runs_what_does_not_fit_and_nothing_after_shutdown() {
    let (pool, held, waiting) = full_pool(Reject::CallerRuns);
    let ran_on = pool.submit(|| thread::current().id()).unwrap();
    assert_eq!(ran_on.join().unwrap(), thread::current().id());
    let panicked = pool.submit(|| panic!("on purpose")).unwrap();
    assert!(panicked.join().unwrap_err().is_panic());
    pool.shutdown();
    assert!(pool.submit(|| 1).unwrap_err().is_shutdown());
    held.release(1);
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(pool.close());
}

#[test]
fn rej_06_the_oldest_task_that_waits_makes_room() {
    let (pool, held, waiting) = full_pool(Reject::DiscardOldest);
    let second = pool.submit(|| 2).unwrap();
    assert!(waiting.join().unwrap_err().is_evicted());
    let third = pool.submit(|| 3).unwrap();
    assert!(second.join().unwrap_err().is_evicted());
    held.release(1);
    assert_eq!(third.join().unwrap(), 3);
    assert!(pool.close());
}

#[test]
fn rej_02_a_rule_is_asked_once_per_refused_task() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let (pool, held, waiting) = full_pool(Reject::custom(move |refusal| {
        assert!(matches!(refusal.reason, Reason::Full { .. }));
        match counter.fetch_add(1, SeqCst) {
            0 => Answer::Discard,
            _ => Answer::Abort,
        }
    }));
    assert!(pool.submit(|| 1).unwrap().join().unwrap_err().is_rejected());
    assert!(pool.submit(|| 1).unwrap_err().is_full());
    assert_eq!(asked.load(SeqCst), 2);
    pool.set_on_full(Reject::Abort);
    assert_eq!(Arc::strong_count(&asked), 1, "a replaced rule is dropped");
    held.release(1);
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(pool.close());
}

#[test]
fn rej_07_submitters_that_wait_for_room_get_it_in_their_order() {
    let (pool, held, waiting) = full_pool(Reject::Block(FOREVER));
    let (tell, told) = channel();
    thread::scope(|scope| {
        for n in 0..5 {
            let (pool, tell) = (&pool, tell.clone());
            let waiters = pool.waiting_submitters();
            scope.spawn(move || pool.execute(move || tell.send(n).unwrap()).unwrap());
            // The next one comes when this one stands in line.
            while pool.waiting_submitters() == waiters {
                thread::yield_now();
            }
        }
        held.release(1);
    });
    drop(tell);
    assert!(told.iter().eq(0..5));
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(pool.close());
}

#[test]
fn rej_07_a_wait_for_room_ends_with_its_limit_or_with_the_pool() {
    let (pool, held, waiting) = full_pool(Reject::Block(Duration::from_millis(1)));
    assert!(pool.submit(|| 1).unwrap_err().is_full());
    assert_eq!(pool.waiting_submitters(), 0);
    pool.set_on_full(Reject::Block(FOREVER));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| pool.submit(|| 1));
        while pool.waiting_submitters() == 0 {
            thread::yield_now();
        }
        pool.shutdown();
        assert!(waiter.join().unwrap().unwrap_err().is_shutdown());
    });
    held.release(1);
    assert_eq!(waiting.join().unwrap(), "waited");
    assert!(pool.close());
}

#[test]
fn rej_07_a_cancelled_task_makes_room_for_a_submitter_that_waits() {
    let (pool, held, waiting) = full_pool(Reject::Block(FOREVER));
    thread::scope(|scope| {
        let waiter = scope.spawn(|| pool.submit(|| 1).unwrap());
        while pool.waiting_submitters() == 0 {
            thread::yield_now();
        }
        waiting.cancel();
        let accepted = waiter.join().unwrap();
        held.release(1);
        assert_eq!(accepted.join().unwrap(), 1);
    });
    assert!(pool.close());
}
