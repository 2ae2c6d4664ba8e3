//! Threads that nobody else uses: urgent work runs at once although the pool is saturated and its queue is full; and tasks
//! that block have threads of their own.

use punctual::{Pool, Queue, task};
use std::sync::mpsc::channel;
use std::sync::{Arc, Barrier, Mutex};
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done<()> {
    let pool = Pool::builder("reports")
        .core_threads(2)
        .blocking_threads(8)
        .queue(Queue::bounded(100))
        .build()?;
    let urgent = pool.reserve(4)?;

    // The pool's own threads are busy, and its queue is full.
    let (open, gate) = channel::<()>();
    let gate = Arc::new(Mutex::new(gate));
    loop {
        let gate = gate.clone();
        let report = move || drop(gate.lock().map(|gate| gate.recv()));
        if let Err(refused) = pool.execute(report) {
            assert!(refused.is_full());
            break;
        }
    }

    // Four urgent tasks meet each other all the same: each has a thread.
    let begin = Instant::now();
    let meeting = Arc::new(Barrier::new(4));
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let meeting = meeting.clone();
            urgent.submit(move || meeting.wait().is_leader())
        })
        .collect::<Result<_, _>>()?;
    let leaders = tasks
        .into_iter()
        .map(|task| task.join())
        .filter(|is| *is.as_ref().unwrap_or(&false));
    assert_eq!(leaders.count(), 1);
    println!(
        "four urgent tasks: {:?} beside {} that wait",
        begin.elapsed(),
        pool.stats().queued
    );

    // Blocking tasks do not cost the pool its parallelism.
    let blocking = pool.blocking()?;
    let naps: Vec<_> = (0..8)
        .map(|_| blocking.submit(|| task::sleep(Duration::from_millis(20)).is_ok()))
        .collect::<Result<_, _>>()?;
    for nap in naps {
        assert!(nap.join()?);
    }

    let stats = pool.stats();
    println!(
        "{} threads: 2 of the pool, up to 4 reserved, up to 8 for what blocks",
        stats.threads
    );
    assert!(stats.threads <= 2 + 4 + 8);
    drop(open);
    assert!(pool.close().terminated); // the reserve and the blocking threads too
    assert_eq!(pool.stats().finished, pool.stats().submitted);
    Ok(())
}
