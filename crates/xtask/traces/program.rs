//! The program behind `cargo xtask house --traces`: does one thing with a pool that is there already, and writes down the
//! counters of that thing alone. It is built with `-C instrument-coverage`, in a package of its own.

use punctual::{Pool, Schedule};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

// SAFETY: the first two are the coverage runtime's, without arguments; `_exit` takes any code.
unsafe extern "C" {
    safe fn __llvm_profile_reset_counters();
    safe fn __llvm_profile_write_file() -> i32;
    safe fn _exit(code: i32) -> !;
}

/// Takes so long that the join always has to wait.
fn work() {
    thread::sleep(Duration::from_millis(50));
}

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let what = std::env::args().nth(1).unwrap_or_default();
    let pool = Pool::fixed(1)?;
    // The worker has started, and has parked.
    pool.submit(|| ())?.join()?;
    thread::sleep(Duration::from_millis(200));
    __llvm_profile_reset_counters();
    match what.as_str() {
        "submit" => pool.submit(work)?.join()?,
        "delayed" => pool.after(Duration::from_millis(20), work)?.join()?,
        "keyed" => pool.keyed(7).submit(work)?.join()?,
        "cron" => {
            let (tell, told) = mpsc::channel();
            let every_second = Schedule::cron("* * * * * *")?;
            pool.schedule(every_second, move |_run| tell.send(()))?;
            told.recv()?;
        }
        other => return Err(format!("there is no trace `{other}`").into()),
    }
    // The worker has let go of the task, and has parked again.
    thread::sleep(Duration::from_millis(200));
    // Without the end of the pool, and without a second file at the end of the process.
    _exit(__llvm_profile_write_file())
}
