//! Joining from inside a task, in a pool that is too small for it: no starvation, and no silent deadlock.

use punctual::{Executor, JoinError, Pool, TaskHandle, task};
use std::sync::mpsc::channel;

/// Each call is a task that waits for a task.
fn sum_to(n: u64) -> Result<u64, Box<dyn std::error::Error + Send + Sync>> {
    if n == 0 {
        return Ok(0);
    }
    let here: Executor = task::current_executor().ok_or("not in a task")?;
    Ok(n + here.submit(move || sum_to(n - 1))?.join()??)
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // One thread, and twenty tasks each waiting for the next: the joining worker runs what it waits for.
    let one = Pool::single()?;
    assert_eq!(one.submit(|| sum_to(20))?.join()??, 210);
    assert_eq!(one.stats().largest, 1);

    // Awaiting what another worker runs: while one waits, a spare thread stands in, so a third task gets through.
    let pool = Pool::builder("two").core_threads(2).spare_threads(1).build()?;
    let (open, gate) = channel::<()>();
    let slow = pool.submit(move || gate.recv().is_err())?;
    let waiter = pool.submit(move || slow.join())?;
    assert_eq!(pool.submit(|| "through")?.join()?, "through");
    drop(open);
    assert!(waiter.join()??, "its gate was dropped");

    // A wait that could never end is an error, not a hang: here a task joins itself.
    let (give, take) = channel::<TaskHandle<Result<(), JoinError>>>();
    let myself = pool.submit(move || {
        let me = take.recv().expect("main sends it");
        let error = me.join().map(|_| ());
        assert!(error.as_ref().is_err_and(JoinError::is_would_deadlock));
        println!("{}", error.as_ref().unwrap_err());
        error
    })?;
    give.send(myself)?;
    assert!(pool.close().terminated);
    assert_eq!(pool.stats().panicked, 0);
    Ok(())
}
