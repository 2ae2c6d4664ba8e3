//! Waiting for room, one submission at a time and whatever the pool's policy: with a limit, or as a future.

use punctual::{Pool, Queue};
use punctual_examples::keep_busy;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("import")
        .core_threads(1)
        .queue(Queue::bounded(1))
        .build()?;

    // The queue never holds more than one, the producer is held back, and nothing is refused.
    for row in 0..1_000 {
        drop(pool.submit_timeout(LONG, move || row)?);
    }
    assert!(pool.wait_idle(LONG));

    // No room within the limit: the closure comes back, as ever.
    let busy = keep_busy(&pool, 1)?;
    pool.execute(|| ())?;
    let refused = pool
        .submit_timeout(Duration::from_millis(5), || "again")
        .unwrap_err();
    assert!(refused.is_full());
    assert_eq!(refused.into_task()(), "again");

    // As a future: it stands in line from its first poll on, in one line with the threads that wait.
    // (Your runtime polls it when there is room; here that is done by hand.)
    let mut submission = pin!(pool.submit_async(|| 6 * 7));
    let mut context = Context::from_waker(Waker::noop());
    assert!(submission.as_mut().poll(&mut context).is_pending());
    drop(busy);
    let answer = loop {
        match submission.as_mut().poll(&mut context) {
            Poll::Ready(submitted) => break submitted?,
            Poll::Pending => thread::yield_now(),
        }
    };
    assert_eq!(answer.join()?, 42);
    println!("a thousand rows went through a queue of one, and one that came too late was given back");
    Ok(())
}
