//! Fire-and-forget closures that do not fit into the queue's records: too long, or aligned to more than a word.

use crate::support::{Dropped, LONG, hold, single};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

#[repr(align(64))]
#[derive(Clone, Copy)]
struct Line(u8);

#[repr(align(128))]
#[derive(Clone, Copy)]
struct TwoLines(u8);

fn is_aligned<T>(value: &T) -> bool {
    std::ptr::from_ref(value).addr().is_multiple_of(align_of::<T>())
}

#[test]
fn large_and_over_aligned_closures_are_executed_and_dropped_once() {
    let pool = single();
    let dropped = Arc::new(AtomicUsize::new(0));
    let ran = Arc::new(AtomicUsize::new(0));
    let captured = || (Dropped(dropped.clone()), ran.clone());
    for _ in 0..50 {
        let ((drops, ran), bulk) = (captured(), [3_u64; 6]);
        pool.execute(move || {
            ran.fetch_add(bulk[5] as usize, SeqCst);
            drop(drops);
        })
        .unwrap();
        let ((drops, ran), bulk) = (captured(), [4_u64; 1_000]);
        pool.execute(move || {
            ran.fetch_add(bulk[999] as usize, SeqCst);
            drop(drops);
        })
        .unwrap();
        let ((drops, ran), line) = (captured(), Line(5));
        pool.execute(move || {
            let line = line;
            assert!(is_aligned(&line));
            ran.fetch_add(line.0.into(), SeqCst);
            drop(drops);
        })
        .unwrap();
        let ((drops, ran), lines) = (captured(), TwoLines(6));
        let job = move || {
            let lines = lines;
            assert!(is_aligned(&lines));
            ran.fetch_add(lines.0.into(), SeqCst);
            drop(drops);
        };
        assert_eq!(pool.execute_all([job]).unwrap(), 1);
    }
    assert!(pool.wait_idle(LONG));
    assert_eq!(ran.load(SeqCst), 50 * (3 + 4 + 5 + 6));
    assert_eq!(dropped.load(SeqCst), 200);
    assert_eq!(pool.stats().panicked, 0);
}

#[test]
fn a_large_closure_that_is_refused_or_taken_out_is_whole() {
    let pool = single();
    let held = hold(&pool);
    let ran = Arc::new(AtomicUsize::new(0));
    let (mine, bulk) = (ran.clone(), [7_u64; 100]);
    let job = move || _ = mine.fetch_add(bulk[99] as usize, SeqCst);
    pool.execute(job.clone()).unwrap();
    let mut unrun = pool.drain();
    assert_eq!(unrun.len(), 1);
    unrun.pop().unwrap().run().unwrap();
    pool.shutdown();
    pool.execute(job.clone()).unwrap_err().into_task()();
    let rest = pool.execute_all([job.clone(), job]).unwrap_err().into_task();
    rest.into_iter().for_each(|job| job());
    assert_eq!(ran.load(SeqCst), 4 * 7);
    drop(held);
}
