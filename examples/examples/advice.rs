//! How many threads? A pool that is too small measures its own tasks, of two kinds, and says what it would have. That is checked
//! here: half as many threads take longer, and twice as many are not twice as fast.

use punctual::{Lanes, Pool};
use std::time::{Duration, Instant};

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const REQUESTS: u64 = 4_000;

/// Three of four requests are answered from memory, by computing alone; the fourth has to ask somebody else, and waits.
fn request(n: u64) -> u64 {
    let sum = (0..20_000).fold(n, |sum, each| std::hint::black_box(sum ^ each));
    if n.is_multiple_of(4) {
        std::thread::sleep(Duration::from_micros(800));
    }
    sum
}

/// How long they take.
fn serve(lanes: &Lanes, requests: u64) -> Done<Duration> {
    let begin = Instant::now();
    for n in 0..requests {
        lanes.execute(move || {
            std::hint::black_box(request(n));
        })?;
    }
    assert!(lanes.wait_idle(Duration::from_secs(60)));
    Ok(begin.elapsed())
}

/// How long all requests take on so many threads, and the part of the processors that they had.
fn on(threads: usize) -> Done<(Duration, f64)> {
    let lanes = Lanes::builder("requests").max_threads(threads).build()?;
    let took = serve(&lanes, REQUESTS)?;
    let cores = std::thread::available_parallelism()?.get();
    let part = lanes.stats().computed.as_secs_f64() / took.as_secs_f64() / cores as f64;
    Ok((took, part))
}

fn main() -> Done<()> {
    let guess = Lanes::builder("guess").max_threads(1).build()?;
    let before = serve(&guess, REQUESTS)?;
    let advice = guess.advice();
    println!("with 1 thread: {before:.1?}\n\n{advice}");
    let threads = advice.threads().expect("thousands of tasks are enough");

    let (fewer, more) = (threads.div_ceil(2), 2 * threads);
    let (mut is_right, mut is_disturbed) = (false, true);
    for _ in 0..5 {
        let ((half, _), (advised, _), (double, part)) = (on(fewer)?, on(threads)?, on(more)?);
        println!("{fewer} threads: {half:.1?}, {threads}: {advised:.1?}, {more}: {double:.1?}");
        // With more threads than enough the requests have the processors, unless somebody else has them.
        is_disturbed &= part < 0.7;
        // Half as many leave processors idle; twice as many find few that are.
        is_right |= advised < half * 9 / 10 && advised < double * 2;
        if is_right {
            break;
        }
    }
    if is_disturbed && !is_right {
        println!("the processors are busy with something else: that says nothing about the advice");
    } else {
        assert!(
            is_right,
            "half as many do as well, or twice as many do twice as well"
        );
    }

    println!("\nand what a builder says before anything has run:");
    for lint in Pool::builder("mail").queue(punctual::Queue::unbounded()).lints() {
        println!("  {lint}");
    }
    Ok(())
}
