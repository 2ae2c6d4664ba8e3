//! Pausing: nothing is taken out of the queue; what runs goes on, and what is submitted waits.

use punctual::Pool;
use punctual_examples::keep_busy;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(2)?;
    let running = keep_busy(&pool, 1)?;
    pool.pause();

    // The second worker is free, and leaves it.
    let mut waiting = pool.submit(|| "ran")?;
    let early = waiting.join_timeout(Duration::from_millis(20));
    assert!(early.unwrap_err().is_timeout());
    assert_eq!((pool.stats().queued, pool.stats().paused), (1, true));

    // What was running ends as usual.
    drop(running);
    while pool.stats().active > 0 {
        std::thread::yield_now();
    }
    assert!(!waiting.is_finished());

    pool.resume();
    assert_eq!(waiting.join()?, "ran");

    // Closing resumes: nothing accepted is lost in a pause.
    pool.pause();
    let last = pool.submit(|| "ran too")?;
    assert!(pool.close().terminated);
    assert_eq!(last.join()?, "ran too");
    assert!(pool.wait_idle(LONG));
    println!("paused, resumed, closed: everything ran");
    Ok(())
}
