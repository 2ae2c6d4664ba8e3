//! Handles, cancelling and groups round threads that are somebody else's: tokio's blocking threads, rayon's pool, this thread.

use punctual::{Executor, RefusedJob};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::SeqCst;

type Done<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// What is written for any place to run work.
fn squares(on: &Executor) -> Done<u64> {
    let all = on.all((1..=10_u64).map(|n| move || n * n))?;
    Ok(all.into_iter().flatten().sum())
}

fn main() -> Done<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .build()?;
    let handle = runtime.handle().clone();
    let tokio = Executor::from_fn(move |job| {
        drop(handle.spawn_blocking(move || job.run()));
        Ok(())
    });

    let pool = Arc::new(rayon::ThreadPoolBuilder::new().num_threads(2).build()?);
    let (waiting, most) = (Arc::new(AtomicUsize::new(0)), 100);
    let rayon = Executor::from_fn(move |job| {
        if waiting.fetch_add(1, SeqCst) >= most {
            waiting.fetch_sub(1, SeqCst);
            let cause = format!("{most} tasks wait for rayon");
            return Err(RefusedJob { job, cause }); // a bound that rayon itself does not have
        }
        let waiting = waiting.clone();
        pool.spawn(move || {
            job.run();
            waiting.fetch_sub(1, SeqCst);
        });
        Ok(())
    });

    for (name, on) in [
        ("tokio", tokio),
        ("rayon", rayon),
        ("here", Executor::immediate()),
    ] {
        let sum = squares(&on)?;
        println!("{name}: {sum}");
        assert_eq!(sum, 385);
    }
    Ok(())
}
