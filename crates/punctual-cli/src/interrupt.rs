//! Signals from the terminal and the system, as messages.
//!
//! In: SIGINT, SIGTERM; in `serve` also SIGHUP, SIGUSR1, SIGCHLD. Out: a call per signal, on a thread that does nothing else; where it says so the signal is
//! not the program's end any more.

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGUSR1};
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
    /// The history should be written.
    Tell,
    /// A process below us has ended.
    Child,
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

/// Calls `told` for each signal. Those of `serve` are heard only there: elsewhere they do what they always do.
pub(crate) fn listen(serves: bool, mut told: impl FnMut(Request) + Send + 'static) -> io::Result<Ears> {
    let signals: &[i32] = if serves {
        &[SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGCHLD]
    } else {
        &[SIGINT, SIGTERM]
    };
    let mut signals = Signals::new(signals)?;
    let handle = signals.handle();
    let hear = move || {
        for signal in signals.forever() {
            told(match signal {
                SIGHUP => Request::Reload,
                SIGUSR1 => Request::Tell,
                SIGCHLD => Request::Child,
                _ => Request::End,
            });
        }
    };
    thread::Builder::new().name("signals".to_owned()).spawn(hear)?;
    Ok(Ears { handle })
}
