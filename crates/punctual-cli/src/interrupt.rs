//! Signals from the terminal and the system, as messages.
//!
//! In: SIGINT, SIGTERM, SIGHUP. Out: a call per signal, on a thread that does nothing else; where it says so the signal is
//! not the program's end any more.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::{Handle, Signals};
use std::io;
use std::thread;

/// A request from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request {
    /// Ctrl-C, or the system's polite end.
    End,
    /// The file should be read again.
    Reload,
}

/// While this is there, signals are heard.
pub(crate) struct Ears {
    handle: Handle,
}

impl Drop for Ears {
    fn drop(&mut self) {
        self.handle.close();
    }
}

/// Calls `told` for each signal. `SIGHUP` is heard only if asked for: elsewhere it ends the program, as usual.
pub(crate) fn listen(reloads: bool, mut told: impl FnMut(Request) + Send + 'static) -> io::Result<Ears> {
    let signals: &[i32] = if reloads { &[SIGINT, SIGTERM, SIGHUP] } else { &[SIGINT, SIGTERM] };
    let mut signals = Signals::new(signals)?;
    let handle = signals.handle();
    let hear = move || {
        for signal in signals.forever() {
            told(if signal == SIGHUP { Request::Reload } else { Request::End });
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(hear)?;
    Ok(Ears { handle })
}
