//! A rule of your own: it sees the task's facts and answers; it never holds the closure, so it cannot lose it.

use punctual::{Answer, Pool, Queue, Reject};
use punctual_examples::keep_busy;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("shop")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .on_full(Reject::custom(|refusal| match refusal.task.name {
            Some("report") => Answer::Discard,
            Some("payment") => Answer::CallerRuns,
            Some("search") => Answer::Wait(Duration::from_millis(5)),
            _ => Answer::Abort,
        }))
        .build()?;
    let busy = keep_busy(&pool, 1)?;
    pool.execute(|| ())?;

    let report = pool.task(|| "report").name("report").submit()?;
    assert!(report.join().unwrap_err().is_rejected());
    let payment = pool.task(|| "paid").name("payment").submit()?;
    assert_eq!(payment.join()?, "paid");
    let search = pool.task(|| ()).name("search").submit().unwrap_err();
    assert!(search.is_full(), "no room within five milliseconds");
    assert!(pool.submit(|| ()).unwrap_err().is_full());
    drop(busy);

    let counts = pool.stats().rejected;
    assert_eq!((counts.discarded, counts.caller_ran, counts.full), (1, 1, 2));
    println!("{counts:?}");
    Ok(())
}
