//! The flight recorder: what happened in the last moments before something went wrong.

use punctual::{EventKind, Pool, Queue};
use punctual_examples::keep_busy;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::builder("orders")
        .core_threads(1)
        .queue(Queue::bounded(2))
        .recorder(10_000)
        .build()?;
    let busy = keep_busy(&pool, 1)?;
    let first = pool.task(|| ()).name("charge").submit()?;
    let second = pool.task(|| ()).name("ship").submit()?;
    let refused = pool.task(|| ()).name("mail").submit();
    assert!(refused.is_err());

    // While it is stuck: what runs, what waits and why, what was refused and how the pool was then.
    let dump = pool.dump();
    println!(
        "waiting: {:?}: {}",
        dump.queued[0].name,
        dump.queued[0].why.as_deref().unwrap_or("?")
    );
    let rejected = &dump.rejected[0];
    println!(
        "refused: {:?}, {} of {:?} queued",
        rejected.task, rejected.queued, rejected.capacity
    );
    assert_eq!(rejected.task.as_deref(), Some("mail"));

    drop(busy);
    first.join()?;
    second.join()?;
    assert!(pool.wait_idle(Duration::from_secs(60)));

    // Events in order; a page asks again with `next` and gets what is new.
    let recent = pool.control().recent(0);
    for event in &recent.events {
        let name = event.name.as_deref().unwrap_or("-");
        println!("{:>12?} {:10} {name}", event.at, event.kind.name());
    }
    let is_end = |kind: &EventKind| matches!(kind, EventKind::Ended(_));
    assert_eq!(
        recent.events.iter().filter(|event| is_end(&event.kind)).count(),
        3
    );
    assert!(pool.control().recent(recent.next).events.is_empty());

    // All of it as one JSON text: to a file, to be looked at later.
    println!("{} bytes of JSON", pool.dump().to_json().len());
    Ok(())
}
