//! `stop` gives back what has not started: run it here, or look at it and drop it.

use punctual::Pool;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::channel;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(1)?;
    let (tell, told) = channel();
    let running = pool.submit(move || {
        tell.send(()).expect("main waits for this");
        punctual::task::sleep(Duration::from_secs(3_600)).is_err()
    })?;
    told.recv()?;

    let written = Arc::new(AtomicUsize::new(0));
    let mut waiting = Vec::new();
    for page in 1..=3 {
        let written = written.clone();
        let task = pool.task(move || written.fetch_add(page, Relaxed));
        waiting.push(task.name(format!("page {page}")).submit()?);
    }

    let rest = pool.stop();
    // The running task was asked to stop and keeps its result: yes, its sleep was cut short.
    assert!(running.join()?);

    // The handles of the others say cancelled, whatever happens to the closures now.
    let names: Vec<String> = rest
        .iter()
        .map(|task| task.name().unwrap_or("-").to_owned())
        .collect();
    assert_eq!(names, ["page 1", "page 2", "page 3"]);
    for task in rest {
        task.run().expect("writing a page does not panic");
    }
    assert!(
        waiting
            .into_iter()
            .all(|handle| handle.join().unwrap_err().is_cancelled())
    );
    assert_eq!(written.load(Relaxed), 1 + 2 + 3);

    assert!(pool.await_termination(Duration::from_secs(60)));
    assert_eq!(pool.stats().returned, 3);
    println!("{} tasks came back and were run here", names.len());
    Ok(())
}
