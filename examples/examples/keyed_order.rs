//! Order per key over shared threads: the changes of each account are made one after the other, in the order in which they
//! came, while other accounts go on beside it; and a lane, which has an end of its own.

use punctual::{Pool, Queue};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Done = Result<(), Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Done {
    let pool = Pool::builder("bank")
        .core_threads(4)
        .queue(Queue::unbounded())
        .build()?;
    let histories: Arc<Mutex<HashMap<u32, Vec<u32>>>> = Arc::default();

    // A thousand accounts, ten changes each, submitted round by round.
    for change in 0..10 {
        for account in 0..1_000 {
            let histories = histories.clone();
            pool.keyed(account).execute(move || {
                if let Ok(mut histories) = histories.lock() {
                    histories.entry(account).or_default().push(change);
                }
            })?;
        }
    }
    assert!(pool.wait_idle(Duration::from_secs(60)));
    let histories = histories.lock().map_err(|_| "a task panicked")?;
    assert_eq!(histories.len(), 1_000);
    assert!(
        histories
            .values()
            .all(|changes| changes.iter().copied().eq(0..10))
    );
    println!("1000 accounts, each with its 10 changes in order, on 4 threads");

    // One account has a busy task: the others do not wait for it, and the next in its line can say what holds it.
    let (open, gate) = std::sync::mpsc::channel::<()>();
    pool.keyed(7).execute(move || _ = gate.recv())?;
    let waits = pool.keyed(7).submit(|| "after the busy one")?;
    println!("account 8: {}", pool.keyed(8).submit(|| "at once")?.join()?);
    println!("account 7: {}", waits.task_ref().explain());
    drop(open);
    println!("account 7: {}", waits.join()?);

    // A lane is the same thing with an end of its own.
    let session = pool.lane();
    for step in ["hello", "how are you", "goodbye"] {
        session.execute(move || println!("session: {step}"))?;
    }
    assert!(session.close_timeout(Duration::from_secs(60)));
    assert!(session.execute(|| ()).is_err());
    Ok(())
}
