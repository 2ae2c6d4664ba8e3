//! `Reject::CallerRuns`: who submits to a full pool does the work, and so slows down to what the pool can take.

use punctual::{Pool, Queue, Reject};
use punctual_examples::{hide_planned_panics, keep_busy};
use std::thread;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    hide_planned_panics();
    let pool = Pool::builder("mail")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .on_full(Reject::CallerRuns)
        .build()?;
    let busy = keep_busy(&pool, 1)?;
    let first = pool.submit(|| thread::current().id())?;
    let second = pool.submit(|| thread::current().id())?;

    // No room: this one has run, here, when `submit` returns. Its handle is like any other.
    let third = pool.submit(|| thread::current().id())?;
    assert!(third.is_finished());
    assert_eq!(third.join()?, thread::current().id());
    drop(busy);
    assert_eq!(first.join()?, second.join()?, "the worker ran these");

    // A panic stays in its task here too: the caller is no worse off than a worker.
    let busy = keep_busy(&pool, 1)?;
    pool.execute(|| ())?;
    pool.execute(|| ())?;
    let failed = pool.submit(|| panic!("(on purpose)"))?;
    assert!(failed.join().unwrap_err().is_panic());
    drop(busy);

    // After shutdown nothing is dropped in silence: the task comes back.
    assert!(pool.wait_idle(Duration::from_secs(60)));
    pool.shutdown();
    let refused = pool.submit(|| 6 * 7).unwrap_err();
    assert!(refused.is_shutdown());
    assert_eq!(refused.into_task()(), 42);

    let stats = pool.stats();
    assert_eq!((stats.rejected.caller_ran, stats.rejected.shutdown), (2, 1));
    println!("the caller ran {} tasks", stats.rejected.caller_ran);
    Ok(())
}
