//! Statistics: one snapshot that may be old but never contradicts itself.

use punctual::{Pool, Queue};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("counted")
        .core_threads(2)
        .queue(Queue::unbounded())
        .build()?;
    for number in 0..100_000_u64 {
        pool.execute(move || {
            std::hint::black_box(number);
        })?;
    }

    // In the middle of the work, and at its end: the books balance in every snapshot.
    for _ in 0..2 {
        let stats = pool.stats();
        let ended = stats.finished + stats.panicked + stats.cancelled + stats.returned;
        assert_eq!(stats.submitted, stats.queued as u64 + stats.active as u64 + ended);
        println!(
            "{} queued, {} active, {} finished",
            stats.queued, stats.active, stats.finished
        );
        assert!(pool.wait_idle(Duration::from_secs(60)));
    }

    let stats = pool.stats();
    assert_eq!((stats.finished, stats.queued, stats.active), (100_000, 0, 0));
    assert!((1..=2).contains(&stats.largest));
    // Times are sampled; each sample counts for the tasks it stands for.
    let [p50, p99] = [0.5, 0.99].map(|q| stats.wait.quantile(q).unwrap_or_default());
    println!(
        "waited: p50 {p50:?}, p99 {p99:?}, over about {} tasks",
        stats.wait.count()
    );

    // The whole pool in one line, for a bug report.
    println!("{pool:?}");
    Ok(())
}
