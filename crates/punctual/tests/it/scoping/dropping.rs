//! When the brace returns, closures and values are gone, whatever became of their tasks.

use super::builder;
use crate::support::{Dropped, quiet_panic, single, until};
use punctual::Pool;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::channel;

fn counter() -> Arc<AtomicUsize> {
    Arc::new(AtomicUsize::new(0))
}

#[test]
fn scope_closures_are_dropped_before_the_brace_returns() {
    // A race between the brace and the end of the last closure, so it is run often.
    let pool = Pool::fixed(2).unwrap();
    for _ in 0..200 {
        let drops = counter();
        pool.scope(|s| {
            for _ in 0..5 {
                let captured = Dropped(drops.clone());
                s.execute(move || {
                    let _kept_to_the_end = &captured;
                });
            }
        });
        assert_eq!(drops.load(SeqCst), 5);
        assert_eq!(Arc::strong_count(&drops), 1, "nobody holds one any more");
    }
}

#[test]
fn scope_values_that_nobody_took_are_dropped_before_the_brace_returns() {
    let pool = Pool::fixed(2).unwrap();
    for round in 0..200 {
        let drops = counter();
        pool.scope(|s| {
            for n in 0..4 {
                let value = Dropped(drops.clone());
                let task = s.submit(move || value);
                if (n + round) % 2 == 0 {
                    until("it ends", || task.is_finished());
                }
                drop(task);
            }
        });
        assert_eq!(drops.load(SeqCst), 4);
        assert_eq!(Arc::strong_count(&drops), 1);
    }
}

#[test]
fn scope_value_of_a_handle_dropped_while_the_task_runs_is_dropped_once() {
    let pool = single();
    let drops = counter();
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    pool.scope(|s| {
        let value = Dropped(drops.clone());
        let task = s.submit(move || {
            begin.send(()).expect("the scope waits for this");
            let _ = gate.recv();
            value
        });
        begun.recv().expect("it runs");
        drop(task);
        assert_eq!(drops.load(SeqCst), 0, "the task goes on");
        drop(open);
    });
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn scope_value_that_was_taken_is_the_takers() {
    let pool = single();
    let drops = counter();
    let value = pool.scope(|s| {
        let value = Dropped(drops.clone());
        s.submit(move || value).join().unwrap()
    });
    assert_eq!(drops.load(SeqCst), 0);
    drop(value);
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn scope_ends_although_a_handle_was_leaked() {
    let pool = Pool::fixed(2).unwrap();
    for _ in 0..50 {
        let (drops, mut done) = (counter(), false);
        pool.scope(|s| {
            let captured = Dropped(drops.clone());
            let done = &mut done;
            std::mem::forget(s.submit(move || {
                drop(captured);
                *done = true;
            }));
        });
        assert!(done, "the brace waited");
        assert_eq!(drops.load(SeqCst), 1);
    }
}

#[test]
fn scope_closure_that_panics_is_dropped_before_the_brace_returns() {
    let pool = Pool::fixed(2).unwrap();
    let drops = counter();
    pool.scope(|s| {
        let captured = Dropped(drops.clone());
        let task = s.submit(move || {
            let _captured = captured;
            quiet_panic("no luck")
        });
        let outcome: Result<(), _> = task.join();
        assert!(outcome.unwrap_err().is_panic());
    });
    assert_eq!(drops.load(SeqCst), 1);
}

#[test]
fn scope_closure_that_was_taken_out_is_dropped_before_the_brace_returns() {
    // Of a pool that is drained: the closures never run and never leave.
    let pool = builder(1).build().unwrap();
    let held = crate::support::hold(&pool);
    let drops = counter();
    let (drained, dropped) = pool.scope(|s| {
        for _ in 0..3 {
            let captured = Dropped(drops.clone());
            s.execute(move || {
                let _captured = captured;
                quiet_panic("it was drained");
            });
        }
        let drained = pool.drain().len();
        let dropped = drops.load(SeqCst);
        drop(held);
        (drained, dropped)
    });
    assert_eq!(drained, 0, "scoped tasks are never given out");
    assert_eq!(dropped, 3, "they are dropped in place");
    assert_eq!(pool.stats().cancelled, 3);
}

#[test]
fn scope_waits_for_a_closure_that_runs_on_while_the_pool_stops() {
    let pool = Pool::fixed(1).unwrap();
    let drops = counter();
    let (open, gate) = channel::<()>();
    let (begin, begun) = channel();
    pool.scope(|s| {
        let captured = Dropped(drops.clone());
        s.execute(move || {
            begin.send(()).expect("the scope waits for this");
            let _ = gate.recv();
            std::thread::yield_now();
            drop(captured);
        });
        begun.recv().expect("it runs");
        assert!(pool.stop().is_empty());
        drop(open);
    });
    assert_eq!(drops.load(SeqCst), 1);
}
