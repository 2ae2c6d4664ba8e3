//! Does it run at all.
use punctual::{Cancel, Clock, Pool, Queue};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

#[test]
fn a_million() {
    let pool = Pool::fixed(2).unwrap();
    let n = Arc::new(AtomicU64::new(0));
    for _ in 0..1_000_000 {
        let n = n.clone();
        pool.execute(move || {
            n.fetch_add(1, Relaxed);
        })
        .unwrap();
    }
    assert!(pool.wait_idle(Duration::from_secs(20)));
    assert_eq!(n.load(Relaxed), 1_000_000);
    let handles: Vec<_> = (0..200_000_u64)
        .map(|i| pool.submit(move || i * 2).unwrap())
        .collect();
    for (i, h) in handles.into_iter().enumerate() {
        assert_eq!(h.join().unwrap(), i as u64 * 2);
    }
    println!("{pool:?} {:#?}", pool.stats());
    assert!(pool.close().terminated);
}

#[test]
fn cancels() {
    let pool = Pool::builder("c")
        .core_threads(1)
        .queue(Queue::bounded(10))
        .build()
        .unwrap();
    let (go, gate) = std::sync::mpsc::channel::<()>();
    let first = pool.submit(move || gate.recv().is_err()).unwrap();
    while pool.stats().active == 0 {
        std::thread::yield_now();
    }
    let hs: Vec<_> = (0..10).map(|i| pool.submit(move || i).unwrap()).collect();
    assert!(pool.submit(|| 1).unwrap_err().is_full());
    for h in &hs {
        assert_eq!(h.cancel(), Cancel::Removed);
    }
    for h in hs {
        assert!(h.join().unwrap_err().is_cancelled());
    }
    for _ in 0..100_000 {
        let h = pool.submit(|| 1).unwrap();
        assert_eq!(h.cancel(), Cancel::Removed);
    }
    drop(go);
    assert!(first.join().unwrap());
}

#[test]
fn manual() {
    let clock = Clock::manual();
    let pool = Pool::builder("m").core_threads(2).clock(&clock).build().unwrap();
    let a = pool
        .submit(|| punctual::task::sleep(Duration::from_secs(60)))
        .unwrap();
    let mut b = pool
        .submit(move || {
            a.join().unwrap().unwrap();
            5
        })
        .unwrap();
    clock.advance(Duration::from_secs(59));
    assert!(!b.is_finished());
    clock.advance(Duration::from_secs(1));
    assert_eq!(b.join_timeout(Duration::from_secs(1)).unwrap(), 5);
}
