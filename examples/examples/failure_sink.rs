//! A panic stays in its task. If nobody can read it any more, the failure sink is told, once.

use punctual::{Outcome, Pool};
use std::sync::mpsc::channel;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // The panics below are on purpose; without this the standard library prints each of them.
    std::panic::set_hook(Box::new(|_| {}));

    let (tell, told) = channel();
    let pool = Pool::builder("orders")
        .core_threads(1)
        .on_failure(move |task, outcome| {
            if let Outcome::Panicked(payload) = &outcome {
                let text = payload.downcast_ref::<&str>().copied().unwrap_or("no text");
                tell.send(format!("{}: {text}", task.label())).ok();
            }
        })
        .build()?;

    // Without a handle, or with a handle that is dropped unread: the sink hears of it.
    pool.task(|| panic!("no stock")).name("reserve").execute()?;
    drop(pool.task(|| panic!("no address")).name("ship").submit()?);
    // With a handle that is read: its reader does, and the sink does not.
    let read = pool.submit(|| panic!("no money"))?;
    assert_eq!(
        read.join().unwrap_err().to_string(),
        "the task panicked: no money"
    );

    // The one worker has lived through all three.
    assert_eq!(pool.submit(|| "still here")?.join()?, "still here");
    let stats = pool.stats();
    assert_eq!((stats.panicked, stats.finished, stats.threads_started), (3, 1, 1));

    drop(pool); // and with it the sink, so the list below ends
    let heard: Vec<String> = told.iter().collect();
    assert_eq!(heard, ["reserve: no stock", "ship: no address"]);
    println!("the sink heard {heard:?}");
    Ok(())
}
