//! Closures and results of every size and alignment arrive as they were sent, and are dropped once.

use crate::support::{Dropped, LONG, hold, single};
use punctual::{Cancel, Pool};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

#[repr(align(64))]
#[derive(Debug, Clone, Copy, PartialEq)]
struct Line([u8; 64]);

#[repr(align(128))]
#[derive(Debug, Clone, Copy, PartialEq)]
struct TwoLines([u8; 200]);

fn is_aligned<T>(value: &T) -> bool {
    std::ptr::from_ref(value).addr().is_multiple_of(align_of::<T>())
}

/// Sends a value through every way in and out, as a capture and as a result.
fn travels<T: Clone + PartialEq + std::fmt::Debug + Send + 'static>(pool: &Pool, value: T) {
    let sent = value.clone();
    let check = move || {
        let moved = sent;
        assert!(is_aligned(&moved));
        moved
    };
    let same = check.clone();
    assert_eq!(pool.submit(check.clone()).unwrap().join().unwrap(), value);
    assert_eq!(
        crate::support::block_on(pool.submit(check.clone()).unwrap()).unwrap(),
        value
    );
    let mut task = pool.task(check.clone()).name("shaped").submit().unwrap();
    assert_eq!(task.join_timeout(LONG).unwrap(), value);
    drop(pool.submit(check.clone()).unwrap());
    pool.task(check.clone()).name("shaped").execute().unwrap();
    // Refused and given back, taken out and run elsewhere.
    let held = hold(pool);
    let task = pool.submit(check.clone()).unwrap();
    let cancelled = pool.submit(check).unwrap();
    assert_eq!(cancelled.cancel(), Cancel::Removed);
    for unrun in pool.drain() {
        unrun.run().unwrap();
    }
    assert!(task.join().unwrap_err().is_cancelled());
    drop(held);
    let closed = single();
    closed.shutdown();
    assert_eq!(closed.submit(same).unwrap_err().into_task()(), value);
}

#[test]
fn captures_and_results_of_every_shape_arrive_unchanged() {
    let pool = single();
    travels(&pool, ());
    travels(&pool, 7_u8);
    travels(&pool, [1_u64; 3]);
    travels(&pool, [2_u64; 6]);
    travels(&pool, [3_u64; 7]);
    travels(&pool, [4_u8; 49]);
    travels(&pool, [5_u64; 27]);
    travels(&pool, [6_u64; 28]);
    travels(&pool, [7_u64; 2_000]);
    travels(&pool, Line([8; 64]));
    travels(&pool, TwoLines([9; 200]));
    travels(&pool, "text of its own".to_owned());
    travels(&pool, vec![Line([1; 64]); 100]);
    travels(&pool, 3_u128);
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().panicked, 0);
}

#[test]
fn small_captures_of_fire_and_forget_tasks_are_dropped_once() {
    let pool = single();
    let dropped = Arc::new(AtomicUsize::new(0));
    for _ in 0..100 {
        let (a, b) = (Dropped(dropped.clone()), Dropped(dropped.clone()));
        let text = [1_u64, 2, 3, 4];
        pool.execute(move || {
            assert_eq!(text[3], 4);
            drop((a, b));
        })
        .unwrap();
        pool.execute(|| ()).unwrap();
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(dropped.load(SeqCst), 200);
}
