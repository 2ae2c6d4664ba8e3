//! Waits inside of tasks that must end or be told.

use crate::life::{running, settle};
use crate::support::{LONG, assert_all_settled, hold, in_time, until};
use punctual::{Clock, Executor, JoinError, Pool, PoolBuilder, Queue, State, TaskHandle, task};
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::task::{Poll, Waker};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// So many workers, and so many spares.
fn builder(threads: usize, spares: usize) -> PoolBuilder {
    Pool::builder("waits")
        .core_threads(threads)
        .max_threads(threads)
        .spare_threads(spares)
        .queue(Queue::unbounded())
}

fn pool(threads: usize, spares: usize) -> Pool {
    builder(threads, spares).build().expect("valid settings")
}

/// A task that joins one of its own pool, which is due in an hour.
fn joins_a_delayed_one(pool: &Pool) -> TaskHandle<Result<u32, JoinError>> {
    let own = pool.executor();
    pool.submit(move || own.after(HOUR, || 7).expect("an open pool").join())
        .expect("a pool with room")
}

/// What it says, without a hang.
fn said<T: Send + 'static>(task: TaskHandle<T>) -> T {
    in_time(|| task.join().expect("it returns what its own join said"))
}

fn is_told<T>(joined: &Result<T, JoinError>) -> bool {
    joined.as_ref().is_err_and(JoinError::is_would_deadlock)
}

/// As deep as `left`: each task submits to the other pool, and joins. The outermost error comes from where the wait could
/// not end.
fn dive(own: Executor, other: Executor, left: u32) -> Result<u32, JoinError> {
    if left == 0 {
        return Ok(0);
    }
    let (there, back) = (other.clone(), own);
    let deeper = other.submit(move || dive(there, back, left - 1));
    Ok(deeper.expect("an open pool").join()?? + 1)
}

/// A dive from a task of the first.
fn dived(own: &Pool, other: &Pool, depth: u32) -> Result<u32, JoinError> {
    let (first, second) = (own.executor(), other.executor());
    said(
        own.submit(move || dive(first, second, depth))
            .expect("an open pool"),
    )
}

#[test]
fn a_wait_is_told_when_a_resize_sends_the_last_free_worker_home() {
    for queue in [Queue::unbounded(), Queue::stealing(punctual::Capacity::Unbounded)] {
        let clock = Clock::manual();
        let pool = builder(2, 0).queue(queue).clock(&clock).build().unwrap();
        assert_eq!(pool.prestart(), 2);
        let outer = joins_a_delayed_one(&pool);
        settle(&clock);
        assert!(!outer.is_finished(), "the other worker is there for the clock");
        pool.resize(1, 1).unwrap();
        assert!(is_told(&said(outer)));
        assert_eq!(said(pool.submit(|| 7).unwrap()), 7, "and the pool goes on");
        clock.advance(HOUR);
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn a_wait_goes_on_after_a_resize_if_a_spare_may_stand_in() {
    let clock = Clock::manual();
    let pool = builder(2, 1).clock(&clock).build().unwrap();
    assert_eq!(pool.prestart(), 2);
    let outer = joins_a_delayed_one(&pool);
    settle(&clock);
    pool.resize(1, 1).unwrap();
    clock.advance(HOUR);
    assert_eq!(said(outer).unwrap(), 7);
}

#[test]
fn a_wait_is_told_when_the_end_of_a_blocking_section_sends_the_last_free_worker_home() {
    let clock = Clock::manual();
    let pool = builder(1, 0).blocking_threads(4).clock(&clock).build().unwrap();
    let (begin, begun) = channel();
    let (end, ended) = channel::<()>();
    // Two threads work for the pool while this lasts.
    let section = pool
        .submit(move || {
            task::blocking_section(|| {
                begin.send(()).expect("the test waits for this");
                ended.recv().is_err()
            })
        })
        .unwrap();
    begun.recv_timeout(LONG).expect("it runs");
    let outer = joins_a_delayed_one(&pool);
    until("it waits", || pool.stats().pending_timers == 1);
    drop(end);
    assert!(said(section));
    assert!(is_told(&said(outer)));
    assert_eq!(said(pool.submit(|| 7).unwrap()), 7, "and the pool goes on");
}

#[test]
fn the_last_worker_that_does_not_wait_stays_for_what_the_others_wait_for() {
    let clock = Clock::manual();
    let pool = builder(1, 0)
        .max_threads(2)
        .queue(Queue::bounded(1))
        .keep_alive(Duration::from_secs(1))
        .clock(&clock)
        .build()
        .unwrap();
    // One at work, one in the queue, and one that brings the second thread.
    let held = hold(&pool);
    let burst = [pool.submit(|| ()).unwrap(), pool.submit(|| ()).unwrap()];
    for task in burst {
        said(task);
    }
    drop(held);
    settle(&clock);
    assert_eq!(pool.stats().threads, 2);
    let outer = joins_a_delayed_one(&pool);
    settle(&clock);
    // Its keep-alive is over, and it is called: there is something sooner.
    clock.advance(Duration::from_secs(30));
    let sooner = pool.after(Duration::from_secs(60), || 1).unwrap();
    clock.advance(HOUR);
    assert_eq!(said(sooner), 1);
    assert_eq!(said(outer).unwrap(), 7);
    clock.advance(HOUR);
    assert_eq!(pool.stats().threads, 1, "then it leaves");
}

#[test]
fn pools_whose_tasks_join_each_other_pass_deep_nesting() {
    let pools = [Pool::fixed(1).unwrap(), Pool::fixed(1).unwrap()];
    for depth in [1, 2, 6, 7, 8, 20, 40] {
        assert_eq!(dived(&pools[0], &pools[1], depth).unwrap(), depth);
    }
    for pool in pools {
        assert!(pool.wait_idle(LONG));
        assert_all_settled(&pool.stats());
    }
}

#[test]
fn pools_whose_tasks_join_each_other_too_deeply_are_told() {
    // Without spares nothing may stand in, and no thread of another pool either.
    let pools = [pool(1, 0), pool(1, 0)];
    assert_eq!(dived(&pools[0], &pools[1], 1).unwrap(), 1);
    for depth in [2, 3, 9] {
        assert!(is_told(&dived(&pools[0], &pools[1], depth)));
    }
    // Deeper than all stacks.
    let pools = [Pool::fixed(1).unwrap(), Pool::fixed(1).unwrap()];
    assert!(is_told(&dived(&pools[0], &pools[1], 1_000)));
    // Only one of them has spares, and they are of no use to the other.
    let pools = [pool(1, 0), pool(1, 8)];
    assert!(is_told(&dived(&pools[0], &pools[1], 2)));
    for pool in pools {
        assert!(pool.wait_idle(LONG));
        assert_all_settled(&pool.stats());
    }
}

/// A task joins one of another pool, which drops the last owner of the first one's pool: the drop would wait for the end of the
/// first task, and that one waits for the drop. Either may begin first.
#[test]
fn the_last_owner_goes_in_a_task_for_which_its_pool_waits() {
    for round in 0..20 {
        let (own, other) = (Pool::fixed(1).unwrap(), Pool::fixed(1).unwrap());
        let (go, gate) = channel::<()>();
        let (last, there, control) = (own.executor(), other.executor(), own.control());
        let joins = own.submit(move || {
            let drops = there.submit(move || {
                let _ = gate.recv();
                drop(last);
                7
            });
            while round % 2 == 1 && control.state() == Some(State::Running) {
                std::thread::yield_now();
            }
            drops.expect("an open pool").join()
        });
        let joins = joins.expect("an open pool");
        drop(own);
        drop(go);
        // The later of the two waits is told; the drop then leaves its pool to its workers.
        let joined = said(joins);
        let is_value = joined.as_ref().is_ok_and(|value| *value == 7);
        assert!(is_value || is_told(&joined), "{joined:?}");
        assert!(in_time(move || other.close().terminated));
    }
}

#[test]
fn what_other_pools_do_meanwhile_keeps_no_wait_from_being_told() {
    // Theirs wait, end, come and go all the time.
    let others = pool(2, 2);
    let is_over = Arc::new(AtomicBool::new(false));
    let (pool_of_others, is_told_to_end) = (others.clone(), is_over.clone());
    let stir = std::thread::spawn(move || {
        while !is_told_to_end.load(SeqCst) {
            let (gate, open) = running(&pool_of_others, ());
            let waiter = crate::life::begun(&pool_of_others, move || gate.join());
            for threads in [1, 4, 1, 4, 1, 4, 1, 4, 1, 2] {
                pool_of_others.resize(threads, threads).expect("valid sizes");
                pool_of_others.prestart();
            }
            drop(open);
            said(waiter).expect("it ends");
        }
    });
    for _ in 0..200 {
        let pools = [pool(1, 0), pool(1, 0)];
        assert!(is_told(&dived(&pools[0], &pools[1], 3)));
        let pools = [pool(1, 1), pool(1, 1)];
        assert_eq!(dived(&pools[0], &pools[1], 9).unwrap(), 9);
    }
    is_over.store(true, SeqCst);
    stir.join().expect("it does not panic");
}

#[test]
fn a_circle_of_joins_across_three_pools_is_told() {
    for spares in [0, 2] {
        let pools = [pool(1, spares), pool(1, spares), pool(1, spares)];
        let (tell, told) = channel();
        let mut handles = Vec::new();
        let mut gives = Vec::new();
        for pool in &pools {
            let (give, get) = channel::<TaskHandle<()>>();
            let tell = tell.clone();
            gives.push(give);
            let (begin, begun) = channel();
            let task = pool.submit(move || {
                begin.send(()).expect("the test waits for this");
                let joined = get.recv().expect("it is sent below").join();
                tell.send(is_told(&joined)).expect("the test waits for this");
            });
            handles.push(task.unwrap());
            begun.recv_timeout(LONG).expect("it runs");
        }
        handles.rotate_left(1);
        for (give, next) in gives.iter().zip(handles) {
            give.send(next).expect("the task waits for this");
        }
        let heard = pools.iter().map(|_| told.recv_timeout(LONG).expect("none hangs"));
        assert_eq!(heard.filter(|is_told| *is_told).count(), 1);
    }
}

#[test]
fn a_wait_across_pools_is_told_when_a_resize_sends_the_last_free_worker_home() {
    let pools = [pool(2, 0), pool(1, 0)];
    assert_eq!(pools[0].prestart(), 2);
    // A gate holds the second worker of the first, until it is one too many.
    let (gate, open) = running(&pools[0], ());
    let (first, second) = (pools[0].executor(), pools[1].executor());
    let (begin, begun) = channel();
    let outer = pools[0]
        .submit(move || {
            let there = second.submit(move || {
                let back = first.submit(|| 7).expect("an open pool");
                begin.send(()).expect("the test waits for this");
                back.join()
            });
            there.expect("an open pool").join()
        })
        .unwrap();
    begun.recv_timeout(LONG).expect("it runs");
    pools[0].resize(1, 1).unwrap();
    drop(open);
    said(gate);
    let outer = said(outer);
    assert!(is_told(&outer) || is_told(&outer.unwrap()), "one of the two");
}

#[test]
fn a_wait_for_another_pool_is_not_told_while_that_one_works() {
    let pools = [pool(1, 0), pool(1, 0)];
    let (gate, open) = running(&pools[1], ());
    let behind = pools[1].submit(|| 7).unwrap();
    let outer = pools[0].submit(move || behind.join()).unwrap();
    until("it waits", || pools[0].stats().active == 1);
    drop(open);
    said(gate);
    assert_eq!(said(outer).unwrap(), 7);
}

#[test]
fn the_last_worker_that_waits_for_a_future_is_not_told_while_a_spare_may_run_it() {
    let pool = pool(1, 1);
    let is_ready = Arc::new(AtomicBool::new(false));
    let (give, take) = channel::<Waker>();
    let ready = is_ready.clone();
    let future = pool
        .spawn(poll_fn(move |context| {
            if ready.load(SeqCst) {
                return Poll::Ready(7);
            }
            give.send(context.waker().clone())
                .expect("the test waits for this");
            Poll::Pending
        }))
        .unwrap();
    let waker = take.recv_timeout(LONG).expect("it is polled");
    until("it rests", || pool.stats().suspended == 1);
    let outer = crate::life::begun(&pool, move || future.join());
    // Awake as soon as it has had the time to be told, or to sleep.
    std::thread::yield_now();
    is_ready.store(true, SeqCst);
    waker.wake();
    assert_eq!(said(outer).unwrap(), 7);
}

#[test]
fn a_brace_that_nothing_could_end_gets_a_thread_of_its_own() {
    // The child comes after another of its lane, for which there is no worker; and a brace cannot be called off.
    let pool = pool(1, 0);
    let own = pool.executor();
    let outer = pool
        .submit(move || {
            let lane = own.lane();
            lane.execute(|| ()).expect("an open pool");
            lane.scope(|s| {
                s.submit(|| 7)
                    .join()
                    .is_err_and(|error| error.is_would_deadlock())
            })
        })
        .unwrap();
    assert!(
        said(outer),
        "its own join is told, and its brace ends all the same"
    );
    until("the thread has left", || pool.stats().threads == 1);
}
