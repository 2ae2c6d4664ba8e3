//! `Reject::DiscardOldest`: the newest matters most; the one that has waited longest is thrown out for it.

use punctual::{Pool, Queue, Reject};
use punctual_examples::keep_busy;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("prices")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::DiscardOldest)
        .build()?;
    let busy = keep_busy(&pool, 1)?;

    let mut prices = Vec::new();
    for price in [101, 102, 103, 104] {
        prices.push(pool.submit(move || price)?);
    }
    drop(busy);

    // The two latest ran; the handles of the others say what became of them.
    let mut seen = Vec::new();
    for price in prices {
        match price.join() {
            Ok(price) => seen.push(price),
            Err(error) => {
                assert!(error.is_evicted() && error.is_rejected());
                println!("{error}");
            }
        }
    }
    assert_eq!(seen, [103, 104]);
    assert_eq!(pool.stats().evicted, 2);
    Ok(())
}
