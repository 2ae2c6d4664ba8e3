//! How many threads? A pool that is too small measures its own tasks, says what it would have, and is given that: the same
//! work is done in a fraction of the time.

use punctual::{Lanes, Pool};
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// A request: some computing, and an answer that is waited for.
fn request(n: u64) -> u64 {
    let sum = (0..40_000).fold(n, |sum, each| std::hint::black_box(sum ^ each));
    std::thread::sleep(Duration::from_millis(4));
    sum
}

fn serve(pool: &Pool, requests: u64) -> Done<Duration> {
    let begin = Instant::now();
    for n in 0..requests {
        pool.execute(move || {
            std::hint::black_box(request(n));
        })?;
    }
    assert!(pool.wait_idle(Duration::from_secs(60)));
    Ok(begin.elapsed())
}

fn main() -> Done<()> {
    let guess = Lanes::builder("guess").max_threads(2).build()?;
    let before = serve(&guess, 400)?;
    let advice = guess.advice();
    println!("with 2 threads: {before:.0?}\n\n{advice}");

    let threads = advice.threads().expect("four hundred tasks are enough");
    let advised = Lanes::builder("advised").max_threads(threads.min(64)).build()?;
    let after = serve(&advised, 400)?;
    println!("with {} threads: {after:.0?}", advised.size().max);
    // Loose, for a machine that is busy: the advice is worth a third at least.
    assert!(after < before * 2 / 3, "{before:?} before, {after:?} after");

    println!("\nand what a builder says before anything has run:");
    for lint in Pool::builder("mail").queue(punctual::Queue::unbounded()).lints() {
        println!("  {lint}");
    }
    Ok(())
}
