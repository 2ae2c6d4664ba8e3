//! Changing a pool while it runs: both sizes in one call, the room, the policy.

use punctual::{Pool, Queue, Reject, Size};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("web")
        .core_threads(1)
        .queue(Queue::bounded(100))
        .build()?;

    // Four tasks that end only when all four run at once: one thread can never do it.
    let meet = Arc::new(Barrier::new(4));
    for _ in 0..4 {
        let meet = meet.clone();
        pool.task(move || meet.wait()).execute()?;
    }
    assert!(!pool.wait_idle(Duration::from_millis(20)));

    // No order to mind, and the waiting tasks get their threads at once.
    let old = pool.resize(4, 8)?;
    assert_eq!(old, Size { core: 1, max: 1 });
    assert!(pool.wait_idle(LONG));
    assert_eq!(pool.stats().largest, 4);

    // Both or none: an error changes nothing.
    let error = pool.resize(5, 3).unwrap_err();
    println!("{error}");
    assert_eq!(pool.size(), Size { core: 4, max: 8 });

    // Smaller: no running task is disturbed; the surplus leaves as it becomes free.
    pool.resize(1, 1)?;
    while pool.stats().threads > 1 {
        thread::yield_now();
    }
    let stats = pool.stats();
    assert_eq!((stats.largest, stats.stops.surplus), (4, 3));

    // The room and the policy can be changed too.
    pool.set_capacity(2)?;
    pool.set_reject(Reject::CallerRuns);
    println!("{pool:?}");
    Ok(())
}
