//! Fire and forget: hand a closure over and go on. Dropping the pool waits for everything that was accepted.

use punctual::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let sum = Arc::new(AtomicU64::new(0));

    let pool = Pool::fixed(2)?;
    for number in 1..=1_000 {
        let sum = sum.clone();
        pool.execute(move || {
            sum.fetch_add(number, Relaxed);
        })?;
    }

    // Many at once: the prefix that fits is accepted under one lock, in order.
    let batch = (1_001..=2_000).map(|number| {
        let sum = sum.clone();
        move || {
            sum.fetch_add(number, Relaxed);
        }
    });
    assert_eq!(pool.execute_all(batch)?, 1_000);

    drop(pool); // the last owner: closes, and waits for what was accepted
    assert_eq!(sum.load(Relaxed), 2_000 * 2_001 / 2);
    println!("2000 closures ran, their sum is {}", sum.load(Relaxed));
    Ok(())
}
