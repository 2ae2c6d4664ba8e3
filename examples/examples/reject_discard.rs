//! `Reject::Discard`: what finds no room is dropped. Whoever waits for it is told; nobody hangs.

use punctual::{Pool, Queue, Reject};
use punctual_examples::keep_busy;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("samples")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::Discard)
        .build()?;
    let busy = keep_busy(&pool, 1)?;
    let kept = pool.submit(|| "kept")?;

    // No room. `submit` gives a handle all the same, and it knows already.
    let dropped = pool.submit(|| "never")?;
    assert!(dropped.is_finished());
    let error = dropped.join().unwrap_err();
    assert!(error.is_rejected());
    println!("{error}");

    // Fire and forget means it: no error, only a number.
    pool.execute(|| unreachable!("it never runs"))?;

    drop(busy);
    assert_eq!(kept.join()?, "kept");
    let stats = pool.stats();
    assert_eq!((stats.rejected.discarded, stats.submitted), (2, 2));
    println!(
        "accepted {}, dropped {}",
        stats.submitted, stats.rejected.discarded
    );
    Ok(())
}
