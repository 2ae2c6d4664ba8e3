//! `Reject::Abort`, the default: a full pool refuses, says why, and gives the closure back.

use punctual::{Pool, Queue, Reason, Reject};
use punctual_examples::keep_busy;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("small")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::Abort)
        .build()?;
    let busy = keep_busy(&pool, 1)?;
    pool.execute(|| ())?;
    pool.execute(|| ())?;

    let order = String::from("order 4711");
    let refused = pool.submit(move || order.len()).unwrap_err();
    assert!(refused.is_full());
    assert!(matches!(
        refused.reason(),
        Reason::Full {
            queued: 2,
            capacity: 2,
            threads: 1
        }
    ));
    println!("{refused}");

    // Nothing is lost: the closure, and the order inside it, are ours again. Run it here, keep it, or try later.
    let task = refused.into_task();
    drop(busy);
    assert!(pool.wait_idle(Duration::from_secs(60)));
    assert_eq!(pool.submit(task)?.join()?, 10);
    assert_eq!(pool.stats().rejected.full, 1);
    Ok(())
}
