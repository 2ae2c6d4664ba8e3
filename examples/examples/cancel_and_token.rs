//! Cancelling: a waiting task is removed, a running one is asked to stop through its token.

use punctual::task::{self, Token};
use punctual::{Cancel, Pool, Status};
use std::sync::mpsc::channel;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let pool = Pool::fixed(1)?;

    // Runs until somebody asks it to stop: `sleep` is one of the places that notice.
    let (tell, told) = channel();
    let running = pool.submit(move || {
        tell.send(()).expect("main waits for this");
        task::sleep(Duration::from_secs(3_600))
    })?;
    told.recv()?;

    // Behind it in the queue: never starts.
    let waiting = pool.submit(|| unreachable!("it was removed"))?;
    let watcher = waiting.task_ref();
    assert_eq!(waiting.cancel(), Cancel::Removed);
    assert_eq!(watcher.status(), Status::Cancelled);
    assert!(waiting.join().unwrap_err().is_cancelled());

    // The waiters of a running task are told at once; what it still returns is dropped.
    assert_eq!(running.cancel(), Cancel::Signalled);
    assert_eq!(running.cancel(), Cancel::TooLate);
    assert!(running.join().unwrap_err().is_cancelled());

    // One token for many tasks. It asks, the task decides: this one returns how far it came.
    let all = Token::new();
    let (tell, told) = channel();
    let counting = pool.task(move || {
        tell.send(()).expect("main waits for this");
        let token = task::current().expect("inside a task").token();
        let mut rounds = 0_u64;
        while token.check().is_ok() {
            rounds += 1;
        }
        rounds
    });
    let counting = counting.name("counting").token(&all).submit()?;
    told.recv()?;
    all.cancel();
    println!(
        "one removed, one signalled, one stopped after {} rounds",
        counting.join()?
    );
    Ok(())
}
