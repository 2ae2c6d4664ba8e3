//! An orderly end with a limit: wait for the work, then ask it to stop, and read the report.

use punctual::{Pool, State};
use std::sync::mpsc::channel;
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    // Work that ends: `close` waits for all of it.
    let quick = Pool::fixed(2)?;
    for _ in 0..100 {
        quick.execute(|| ())?;
    }
    let report = quick.close();
    assert!(report.terminated);
    assert_eq!((report.still_running, report.dropped), (0, 0));
    assert_eq!(quick.state(), State::Terminated);
    assert!(quick.execute(|| ()).unwrap_err().is_shutdown());

    // Work that does not end by itself: when the limit passes, the waiting task is dropped, the running one is asked.
    let stubborn = Pool::fixed(1)?;
    let (tell, told) = channel();
    let running = stubborn.submit(move || {
        tell.send(()).expect("main waits for this");
        punctual::task::sleep(Duration::from_secs(3_600)).is_err()
    })?;
    told.recv()?;
    let waiting = stubborn.submit(|| ())?;
    let report = stubborn.close_timeout(Duration::from_millis(20));
    assert_eq!(report.dropped, 1);
    assert!(waiting.join().unwrap_err().is_cancelled());
    assert!(running.join()?, "its sleep ended early");

    assert!(stubborn.await_termination(Duration::from_secs(60)));
    println!("the quick pool: everything ran; the stubborn one: {report:?}");
    Ok(())
}
