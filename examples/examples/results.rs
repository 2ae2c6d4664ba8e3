//! Results: `submit` gives a handle; join it, with or without a limit, or drop it.

use punctual::Pool;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(2)?;

    // Submit first, join later: the tasks run side by side.
    let words = ["on", "time", "in", "order"];
    let mut handles = Vec::new();
    for word in words {
        handles.push(pool.submit(move || word.len())?);
    }
    let mut lengths = Vec::new();
    for handle in handles {
        lengths.push(handle.join()?);
    }
    assert_eq!(lengths, [2, 4, 2, 5]);

    // A limit that passes leaves the handle usable; the value can be taken once.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    let mut slow = pool.submit(move || gate.recv().is_ok())?;
    let early = slow.join_timeout(Duration::from_millis(5)).unwrap_err();
    assert!(early.is_timeout());
    open.send(())?;
    assert!(slow.join_timeout(Duration::from_secs(60))?);
    assert!(slow.join_timeout(Duration::ZERO).unwrap_err().is_taken());

    // A panic comes out of the join, as a value. (The standard library's own report of it is switched off here.)
    std::panic::set_hook(Box::new(|_| {}));
    let failing = pool.submit(|| -> u32 { "no number".parse().expect("a number") })?;
    let error = failing.join().unwrap_err();
    assert!(error.is_panic());
    println!("lengths {lengths:?}; and a failure: {error}");
    Ok(())
}
