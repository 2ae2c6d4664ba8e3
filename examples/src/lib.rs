//! Examples live in `examples/examples`, one feature a file. Here is only what several of them need: a way to keep
//! workers busy, so that a queue fills at a known moment, one to keep planned panics off the terminal, and a chart.

pub mod chart;

use punctual::Executor;
use std::error::Error;
use std::sync::mpsc::{Sender, channel};

/// Busy workers; they are free again when this is dropped.
#[must_use = "dropping it lets the workers go"]
#[derive(Debug)]
pub struct Busy {
    _open: Vec<Sender<()>>,
}

/// Gives `workers` tasks to the executor that only wait, and returns when all of them run.
pub fn keep_busy(executor: &Executor, workers: usize) -> Result<Busy, Box<dyn Error + Send + Sync>> {
    let (tell, told) = channel();
    let mut open = Vec::new();
    for _ in 0..workers {
        let (sender, gate) = channel::<()>();
        open.push(sender);
        let tell = tell.clone();
        executor.execute(move || {
            // Whoever waits for either end may have given up.
            let _ = tell.send(());
            let _ = gate.recv();
        })?;
    }
    for _ in 0..workers {
        told.recv()?;
    }
    Ok(Busy { _open: open })
}

/// Keeps the report of panics whose text has `(on purpose)` in it off the terminal, and leaves all others.
pub fn hide_planned_panics() {
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !info.to_string().contains("(on purpose)") {
            usual(info);
        }
    }));
}
