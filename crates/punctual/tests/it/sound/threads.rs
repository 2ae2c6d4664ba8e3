//! Workers that are started, kept, replaced and retired.

use crate::support::{LONG, hold, in_time, until};
use punctual::{Clock, Executor, ManualClock, Pool, PoolBuilder, Queue, Reject, future, task};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

const NOTHING: Duration = Duration::ZERO;
const HOUR: Duration = Duration::from_secs(3600);
const SECOND: Duration = Duration::from_secs(1);
const MOMENT: Duration = Duration::from_millis(20);

fn by_hand(core: usize, max: usize) -> (PoolBuilder, ManualClock) {
    let clock = Clock::manual();
    let builder = Pool::builder("sound").core_threads(core).max_threads(max);
    let builder = builder.queue(Queue::unbounded()).keep_alive(MOMENT);
    (builder.clock(&clock), clock)
}

/// A task that waits for a delayed task of `inner`, with a limit that is never reached.
fn waits_for_delayed(inner: &Executor) -> impl FnOnce() -> u8 + Send + use<> {
    let inner = inner.clone();
    move || {
        let mut delayed = inner.after(SECOND, || 7).unwrap();
        delayed.join_timeout(HOUR).expect("a thread comes for it")
    }
}

/// Once the clock's keeper has gone home, the thread that it was runs the task that a worker waits for.
#[test]
fn a_spare_that_the_keeper_gives_back_goes_to_the_worker_that_waits() {
    let (builder, clock) = by_hand(1, 1);
    let pool = builder.spare_threads(1).on_slow(|_, _| ()).build().unwrap();
    let waits = pool.task(waits_for_delayed(&pool)).slow_after(2 * SECOND);
    let waiting = waits.submit().unwrap();
    clock.advance(SECOND);
    let stats = pool.stats();
    assert_eq!((stats.keepers, stats.threads, stats.queued), (1, 1, 1));
    clock.advance(SECOND);
    assert_eq!(pool.stats().keepers, 1, "it may be needed again");
    clock.advance(2 * MOMENT);
    assert_eq!(in_time(|| waiting.join().unwrap()), 7);
    assert_eq!(pool.stats().keepers, 0);
}

/// The same where the worker that waits is one of another part of the pool.
#[test]
fn a_spare_that_the_keeper_gives_back_goes_to_another_part_of_the_pool() {
    let (builder, clock) = by_hand(1, 1);
    let pool = builder.spare_threads(1).on_slow(|_, _| ()).build().unwrap();
    let apart = pool.reserve(1).unwrap();
    let slow = pool.task(|| task::sleep(HOUR)).slow_after(2 * SECOND);
    let slow = slow.submit().unwrap();
    clock.advance(NOTHING);
    assert_eq!(pool.stats().keepers, 1);
    let waiting = apart.submit(waits_for_delayed(&apart)).unwrap();
    clock.advance(2 * SECOND);
    clock.advance(2 * MOMENT);
    assert_eq!(in_time(|| waiting.join().unwrap()), 7);
    slow.cancel();
}

/// The last worker may not leave while something is delayed; the keeper watches the clock; so the worker sleeps.
#[test]
fn the_last_worker_sleeps_beyond_its_keep_alive_time_while_the_keeper_leads() {
    let (builder, clock) = by_hand(0, 1);
    let pool = builder
        .spare_threads(1)
        .on_late(SECOND, |_, _| ())
        .build()
        .unwrap();
    let later = pool.after(HOUR, || 1).unwrap();
    let busy = pool.submit(|| task::sleep(MOMENT)).unwrap();
    clock.advance(MOMENT / 2);
    assert_eq!(pool.stats().keepers, 1, "every worker is at work");
    clock.advance(MOMENT / 2);
    in_time(|| busy.join().unwrap().unwrap());
    clock.advance(NOTHING);
    let parks = pool.stats().parks;
    clock.advance(100 * MOMENT);
    let stats = pool.stats();
    assert_eq!((stats.threads, stats.parks - parks), (1, 0));
    // What it stayed for is gone: its time runs.
    later.cancel();
    clock.advance(NOTHING);
    clock.advance(2 * MOMENT);
    until("nothing keeps the worker", || pool.stats().threads == 0);
    assert!(in_time(move || pool.close().terminated));
}

/// A pool whose watchdog watches the clock while its only worker sleeps: the limit that it came for is gone.
fn watched_while_the_worker_sleeps() -> (Pool, ManualClock) {
    let (builder, clock) = by_hand(1, 1);
    let pool = builder.spare_threads(1).keep_alive(HOUR).build().unwrap();
    let busy = pool.submit(|| task::sleep(SECOND)).unwrap();
    clock.advance(NOTHING);
    let patient = pool.task(|| ()).expires_in(10 * SECOND).submit().unwrap();
    assert_eq!(pool.stats().keepers, 1, "every worker is at work");
    clock.advance(SECOND);
    in_time(|| busy.join().unwrap().unwrap());
    in_time(|| patient.join().unwrap());
    clock.advance(NOTHING);
    assert_eq!(pool.stats().idle, 1);
    (pool, clock)
}

/// The watchdog is called for a time that comes before its own, has nothing to watch any more, and leaves the clock to a worker.
#[test]
fn the_watchdog_leaves_the_clock_to_a_worker_when_a_task_is_delayed() {
    let (pool, clock) = watched_while_the_worker_sleeps();
    let delayed = pool.after(SECOND, || 7).unwrap();
    clock.advance(SECOND);
    assert_eq!(in_time(|| delayed.join().unwrap()), 7);
}

/// The same where the pool is closed, and a future that sleeps keeps it from ending.
#[test]
fn the_watchdog_leaves_the_clock_to_a_worker_when_its_pool_is_closed() {
    let (pool, clock) = watched_while_the_worker_sleeps();
    let sleeps = pool.spawn(future::sleep(20 * SECOND)).unwrap();
    clock.advance(NOTHING);
    pool.shutdown();
    clock.advance(20 * SECOND);
    in_time(|| sleeps.join().unwrap());
    assert!(in_time(move || pool.close().terminated));
}

/// The keeper is not needed any more, its time is not over, and no worker is left that could tell it of the end.
#[test]
fn a_pool_whose_last_worker_left_before_the_keeper_ends() {
    let (builder, clock) = by_hand(0, 1);
    let builder = builder.spare_threads(1).on_late(SECOND, |_, _| ());
    let pool = builder.keep_alive(HOUR).build().unwrap();
    let later = pool.after(HOUR / 2, || 1).unwrap();
    let busy = pool.submit(|| task::sleep(SECOND)).unwrap();
    clock.advance(SECOND);
    in_time(|| busy.join().unwrap().unwrap());
    clock.advance(HOUR / 2);
    in_time(|| later.join().unwrap());
    pool.set_keep_alive(MOMENT).unwrap();
    clock.advance(2 * MOMENT);
    until("nothing keeps the worker", || pool.stats().threads == 0);
    assert_eq!(pool.stats().keepers, 1, "its own time is as it was");
    assert!(in_time(move || pool.close().terminated));
}

/// The same while a thread of another part of the pool runs the task that others of a view wait behind.
#[test]
fn the_last_worker_sleeps_beyond_its_keep_alive_time_while_a_view_waits() {
    let (builder, clock) = by_hand(0, 1);
    let pool = builder.build().unwrap();
    let apart = pool.reserve(1).unwrap();
    let one_by_one = pool.sequential();
    let (begun, has_begun) = channel();
    let held = hold(&pool);
    let first = one_by_one.clone();
    let in_place = apart.submit(move || {
        let body = move || {
            begun.send(()).unwrap();
            task::sleep(HOUR)
        };
        first.submit(body).unwrap().join().unwrap()
    });
    has_begun.recv().unwrap();
    let behind = one_by_one.submit(|| ()).unwrap();
    drop(held);
    clock.advance(NOTHING);
    let parks = pool.stats().parks;
    clock.advance(100 * MOMENT);
    let stats = pool.stats();
    assert_eq!((stats.queued, stats.parks - parks), (1, 0));
    // What it stayed for is gone: its time runs.
    behind.cancel();
    clock.advance(NOTHING);
    clock.advance(2 * MOMENT);
    until("nothing keeps the worker", || pool.stats().threads == 1);
    clock.advance(HOUR);
    in_time(|| in_place.unwrap().join().unwrap().unwrap());
}

/// Counts how many of its tasks run at once.
#[derive(Clone, Default)]
struct AtOnce(Arc<(AtomicUsize, AtomicUsize)>);

impl AtOnce {
    fn task(&self) -> impl FnOnce() + Send + use<> {
        let counts = self.0.clone();
        move || {
            let running = counts.0.fetch_add(1, SeqCst) + 1;
            counts.1.fetch_max(running, SeqCst);
            std::thread::yield_now();
            counts.0.fetch_sub(1, SeqCst);
        }
    }

    fn most(&self) -> usize {
        self.0.1.load(SeqCst)
    }
}

/// A worker that has not begun when the pool is made smaller does not run a task beside the one that stays.
#[test]
fn a_new_worker_that_is_one_too_many_leaves_before_it_takes_a_task() {
    let (open, gate) = channel::<()>();
    let (tell, told) = channel();
    let (gate, starts) = (std::sync::Mutex::new(gate), AtomicUsize::new(0));
    let begin = move || {
        if starts.fetch_add(1, SeqCst) == 1 {
            tell.send(()).unwrap();
            // An error is the signal: the gate's owner is gone.
            let _ = gate.lock().unwrap().recv();
        }
    };
    let pool = Pool::builder("sound").core_threads(2).on_thread_start(begin);
    let pool = pool.build().unwrap();
    let held = hold(&pool);
    let second = pool.submit(|| ()).unwrap();
    told.recv_timeout(LONG).unwrap();
    pool.resize(1, 1).unwrap();
    drop(open);
    until("one of them leaves", || pool.stats().stops.surplus == 1);
    assert!(!second.is_finished(), "the other one is at work");
    drop(held);
    in_time(|| second.join().unwrap());
}

/// What is due goes first, but not on a worker that is one too many.
#[test]
fn a_worker_that_is_one_too_many_leaves_before_it_takes_a_due_task() {
    let (builder, clock) = by_hand(2, 2);
    let pool = builder.build().unwrap();
    let rests = |rest: Duration| pool.submit(move || task::sleep(rest)).unwrap();
    let (short, long) = (rests(2 * SECOND), rests(HOUR));
    let due = pool.after(SECOND, || ()).unwrap();
    clock.advance(SECOND);
    pool.resize(1, 1).unwrap();
    clock.advance(SECOND);
    assert!(short.is_finished() && !due.is_finished());
    assert_eq!((pool.stats().threads, pool.stats().stops.surplus), (1, 1));
    clock.advance(HOUR);
    in_time(|| due.join().unwrap());
    in_time(|| long.join().unwrap().unwrap());
}

/// Of tasks that were submitted after a resize no more run at once than it says, whatever the workers were about.
#[test]
fn after_a_resize_no_more_tasks_run_at_once_than_it_says() {
    for queue in [Queue::unbounded(), Queue::stealing(1024)] {
        let pool = Pool::builder("sound")
            .core_threads(4)
            .queue(queue)
            .build()
            .unwrap();
        for _ in 0..300 {
            pool.resize(4, 4).unwrap();
            (0..4).for_each(|_| pool.execute(|| ()).unwrap());
            pool.resize(1, 1).unwrap();
            let at_once = AtOnce::default();
            (0..4).for_each(|_| pool.execute(at_once.task()).unwrap());
            let inner = pool.executor();
            let children = at_once.clone();
            let parent = move || (0..4).for_each(|_| inner.execute(children.task()).unwrap());
            pool.submit(parent).unwrap().join().unwrap();
            assert!(pool.wait_idle(LONG));
            assert_eq!(at_once.most(), 1);
        }
    }
}

/// The same after a section in which the task blocked.
#[test]
fn after_a_blocking_section_no_more_tasks_run_at_once_than_before() {
    let pool = Pool::builder("sound").core_threads(1).build().unwrap();
    for _ in 0..300 {
        let at_once = AtOnce::default();
        let (inner, tasks) = (pool.executor(), at_once.clone());
        let body = move || {
            let other = inner.submit(|| ()).unwrap();
            // The other one runs meanwhile, on a thread that is one too many after this.
            task::blocking_section(|| {
                while !other.is_finished() {
                    std::thread::yield_now();
                }
            });
            let own = tasks.task();
            (0..4).for_each(|_| inner.execute(tasks.task()).unwrap());
            own();
        };
        pool.submit(body).unwrap().join().unwrap();
        assert!(pool.wait_idle(LONG));
        assert_eq!(at_once.most(), 1);
    }
}

/// Submits when it is dropped, and says whether it was let in.
struct SubmitsAtDrop(Executor, Sender<bool>);

impl Drop for SubmitsAtDrop {
    fn drop(&mut self) {
        let is_in = self.0.execute(|| ()).is_ok();
        self.1.send(is_in).expect("the test waits for this");
    }
}

/// The watchdog drops the closure of a task that expires while every worker is held. What that drop submits to the full pool must
/// not wait for room there: the thread that keeps the clock would wait for it.
#[test]
fn a_drop_on_the_watchdog_does_not_wait_for_room() {
    in_time(|| {
        let clock = Clock::manual();
        let pool = Pool::builder("watched")
            .core_threads(1)
            .max_threads(1)
            .spare_threads(1)
            .queue(Queue::bounded(2))
            .on_full(Reject::Block(HOUR))
            .clock(&clock)
            .build()
            .expect("valid settings");
        // Held inside the library, so that the clock can be moved.
        let (begun, has_begun) = channel();
        let held = pool
            .submit(move || {
                begun.send(()).expect("the test waits for this");
                task::sleep(2 * HOUR)
            })
            .expect("room");
        has_begun.recv().expect("it runs");
        let (tell, told) = channel();
        let submits = SubmitsAtDrop(pool.executor(), tell);
        let expires = pool
            .task(move || drop(submits))
            .expires_in(SECOND)
            .submit()
            .expect("room");
        let other = pool.submit(|| ()).expect("room");
        // Full also when one of the two is gone.
        pool.set_capacity(1).expect("valid");
        clock.advance(2 * SECOND);
        assert!(expires.join().expect_err("it expired").is_expired());
        assert!(!told.recv().expect("dropped on the watchdog"), "there is no room");
        held.cancel();
        other.join().expect("it runs when the worker is free");
        assert!(pool.close().terminated);
    });
}
