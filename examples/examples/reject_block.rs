//! `Reject::Block`: the submitter waits for room, first come first served, for as long as the policy says.

use punctual::{Pool, Queue, Reason, Reject, task};
use punctual_examples::keep_busy;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("import")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::Block(LONG))
        .build()?;

    // The worker is there (until it is, the queue holds one task more for it).
    pool.submit(|| ())?.join()?;

    // A producer that is faster than the pool: it is held back, and nothing is refused.
    let mut sum = 0;
    let mut rows = Vec::new();
    for row in 0..1_000_u64 {
        rows.push(pool.submit(move || row)?);
        assert!(pool.stats().queued <= 2);
    }
    for row in rows {
        sum += row.join()?;
    }
    assert_eq!(sum, 499_500);

    // The wait has a limit; then the task comes back.
    pool.set_reject(Reject::Block(Duration::from_millis(10)));
    let busy = keep_busy(&pool, 1)?;
    pool.execute(|| ())?;
    pool.execute(|| ())?;
    let refused = pool.submit(|| "still here").unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_task()(), "still here");
    drop(busy);
    assert!(pool.wait_idle(LONG));

    // A worker that waited for room in its own pool might wait for itself: it is told at once instead.
    pool.set_reject(Reject::Block(LONG));
    let told = pool.submit(|| {
        let own = task::current_executor().expect("this is a task");
        let refusals = (0..3).filter_map(|_| own.execute(|| ()).err());
        refusals
            .map(|refused| refused.reason().clone())
            .collect::<Vec<_>>()
    })?;
    let reasons = told.join()?;
    assert!(matches!(reasons[..], [Reason::WouldDeadlock]));
    println!("from its own worker: {}", reasons[0]);
    Ok(())
}
