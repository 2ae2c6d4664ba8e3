//! Workers that must not block: every wait for tasks there is answered, or counted, by the pool's policy. `REA-20`.

use crate::support::{LONG, hold, in_time, until};
use punctual::{AnyError, OnBlocking, Pool, PoolBuilder, Schedule};
use std::sync::mpsc::channel;
use std::time::Duration;

fn pool() -> PoolBuilder {
    Pool::builder("pool").core_threads(1)
}

/// What a task on such a pool gets that joins one which runs.
fn join_of_a_running_task(policy: OnBlocking) -> (Pool, Result<(), punctual::JoinError>) {
    let pool = pool().core_threads(2).on_blocking(policy).build().unwrap();
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let (tell, told) = std::sync::mpsc::channel();
    let runs = pool
        .submit(move || {
            tell.send(()).unwrap();
            let _ = gate.recv();
        })
        .unwrap();
    told.recv().unwrap();
    let (begun, has_begun) = std::sync::mpsc::channel();
    let asks = pool
        .submit(move || {
            begun.send(()).unwrap();
            runs.join()
        })
        .unwrap();
    has_begun.recv().unwrap();
    if policy == OnBlocking::Error {
        let answer = in_time(|| asks.join().unwrap());
        drop(open);
        return (pool, answer);
    }
    until("it waits", || {
        pool.stats().spare > 0 || pool.stats().blocking_waits > 0 || policy == OnBlocking::Allow
    });
    drop(open);
    let answer = in_time(|| asks.join().unwrap());
    (pool, answer)
}

#[test]
fn rea_20_a_join_on_a_worker_that_must_not_block_is_an_error() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Error);
    let error = answer.unwrap_err();
    assert!(
        error.is_blocking() && error.to_string().contains("must not block"),
        "{error}"
    );
    assert_eq!(pool.stats().blocking_waits, 1);
}

#[test]
fn rea_20_or_it_is_counted_and_allowed() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Warn);
    answer.unwrap();
    assert_eq!(pool.stats().blocking_waits, 1);
}

#[test]
fn rea_20_by_default_and_outside_it_is_allowed() {
    let (pool, answer) = join_of_a_running_task(OnBlocking::Allow);
    answer.unwrap();
    assert_eq!(pool.stats().blocking_waits, 0);
    // Outside a worker nobody is held up.
    let guarded = self::pool().on_blocking(OnBlocking::Error).build().unwrap();
    guarded.submit(|| ()).unwrap().join().unwrap();
}

#[test]
fn rea_20_what_still_waits_in_the_queue_is_run_in_place_which_is_no_wait() {
    let pool = pool().on_blocking(OnBlocking::Error).build().unwrap();
    let inside = pool.executor();
    let both = pool.submit(move || inside.submit(|| 2).unwrap().join()).unwrap();
    assert_eq!(both.join().unwrap().unwrap(), 2);
    assert_eq!(pool.stats().blocking_waits, 0);
}

/// Another pool, whose only worker is busy until the second is dropped: what is waited for there goes on.
fn busy() -> (Pool, crate::support::Held) {
    let other = self::pool().build().unwrap();
    let held = hold(&other);
    (other, held)
}

/// What `waits` answers in a task whose worker must not block, at once; and that it is counted once. Where it is only warned of
/// it waits, and is counted once too.
fn answer_of<T: Send + 'static>(waits: fn(&Pool) -> T) -> T {
    let start = |policy| {
        let guarded = pool().on_blocking(policy).build().unwrap();
        let (other, held) = busy();
        // A pool of its own: the last owner's drop would wait for the end.
        let inside = other.clone();
        let asks = guarded.submit(move || waits(&inside)).unwrap();
        (guarded, (held, other), asks)
    };
    let (strict, held, asks) = start(OnBlocking::Error);
    let answer = in_time(|| asks.join().unwrap());
    assert_eq!(strict.stats().blocking_waits, 1);
    drop(held);
    let (lenient, held, asks) = start(OnBlocking::Warn);
    until("it waits", || lenient.stats().blocking_waits > 0);
    assert!(!asks.is_finished());
    drop(held);
    in_time(|| drop(asks.join().unwrap()));
    assert_eq!(lenient.stats().blocking_waits, 1);
    answer
}

#[test]
fn rea_20_the_next_of_a_group_is_not_waited_for_and_stays_in_it() {
    let (error, left) = answer_of(|other| {
        let mut group = other.group();
        group.submit(|| ()).unwrap();
        let next = group.next().unwrap().1;
        (next, group.len())
    });
    assert!(error.unwrap_err().is_blocking());
    assert_eq!(left, 1);
    let limited = answer_of(|other| {
        let mut group = other.group();
        group.submit(|| ()).unwrap();
        // A look is no wait.
        assert!(group.next_timeout(Duration::ZERO).is_err());
        group.next_timeout(LONG).unwrap().unwrap().1
    });
    assert!(limited.unwrap_err().is_blocking());
}

#[test]
fn rea_20_neither_is_the_first_of_several_nor_all_of_them() {
    let first = answer_of(|other| other.any([|| Ok::<_, ()>(1)]));
    assert!(matches!(first, Err(AnyError::Join(error)) if error.is_blocking()));
    let all = answer_of(|other| other.all([|| 1]).unwrap().pop().unwrap());
    assert!(all.unwrap_err().is_blocking());
}

#[test]
fn rea_20_waits_without_an_error_say_not_yet() {
    let is_finished = answer_of(|other| {
        let task = other.submit(|| ()).unwrap();
        task.wait();
        task.is_finished()
    });
    assert!(!is_finished);
    assert!(!answer_of(|other| other
        .submit(|| ())
        .unwrap()
        .wait_timeout(LONG)));
    assert!(!answer_of(|other| {
        let lane = other.lane();
        lane.execute(|| ()).unwrap();
        lane.close_timeout(LONG)
    }));
    assert!(!answer_of(|other| {
        let once = Schedule::every(LONG).times(1);
        other.schedule(once, |_| ()).unwrap().wait_timeout(LONG)
    }));
}

#[test]
fn rea_20_what_borrows_is_waited_for_all_the_same_and_counted() {
    let waits: [fn(&Pool); 2] = [
        |other| other.scope(|scope| scope.execute(|| ())),
        |other| _ = other.join(|| (), || ()),
    ];
    for waits in waits {
        let guarded = pool().on_blocking(OnBlocking::Error).build().unwrap();
        let (other, held) = busy();
        let (tell, told) = channel();
        guarded
            .execute(move || {
                waits(&other);
                tell.send(()).unwrap();
            })
            .unwrap();
        until("it waits", || guarded.stats().blocking_waits > 0);
        assert!(told.try_recv().is_err(), "what borrows has not ended");
        drop(held);
        told.recv_timeout(LONG).unwrap();
        assert_eq!(guarded.stats().blocking_waits, 1);
    }
}

#[test]
fn rea_20_a_scoped_task_whose_join_was_refused_still_panics_at_the_brace() {
    let guarded = pool().on_blocking(OnBlocking::Error).build().unwrap();
    let (other, held) = busy();
    let (tell, told) = channel();
    let asks = guarded
        .submit(move || {
            other.scope(|scope| {
                let fails = scope.submit(|| crate::support::quiet_panic("at the brace"));
                let refused: Result<(), _> = fails.join();
                tell.send(refused.unwrap_err().is_blocking()).unwrap();
            });
        })
        .unwrap();
    assert_eq!(told.recv_timeout(LONG), Ok(true));
    drop(held);
    let panic = in_time(|| asks.join().unwrap_err().into_panic().unwrap());
    // Its own, and not the text that is left of one that nobody can join.
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"at the brace"));
}
