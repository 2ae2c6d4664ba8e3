//! The outer process of `serve`: starts the inner one, passes signals on, and cleans up after it.

use crate::args::ServeArgs;
use crate::child::household;
use crate::interrupt::{self, Request};
use crate::outcome::{Failure, Outcome, TASK_FAILED};
use rustix::process::{Pid, Signal, kill_process};
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::Command;

/// Runs the inner process with the same arguments, and ends as it ends.
pub(crate) fn run(args: &ServeArgs) -> Outcome {
    household::adopt()?;
    // The writing end stays here and is never written to: it closes when this process ends, whatever ends it.
    let (inner_end, _our_end) = io::pipe()?;
    let mut words: Vec<_> = std::env::args_os().skip(1).collect();
    let verb = words.iter().position(|word| word == "serve");
    let verb = verb.ok_or_else(|| Failure::usage("`serve` has to be written out"))?;
    words[verb] = "serve-inside".into();
    let mut inner = Command::new(std::env::current_exe()?)
        .args(words)
        .stdin(inner_end)
        // A terminal's Ctrl-C comes to us only, and from us to it: once.
        .process_group(0)
        .spawn()
        .map_err(|error| {
            Failure::new(
                TASK_FAILED,
                format!("cannot start {}: {error}", args.file.display()),
            )
        })?;
    let process = Pid::from_child(&inner);
    let ears = interrupt::listen(true, move |request| {
        let signal = match request {
            Request::End => Signal::TERM,
            Request::Reload => Signal::HUP,
            Request::Tell => Signal::USR1,
            Request::Child => return,
        };
        // It may have ended just now.
        let _ = kill_process(process, signal);
    })?;
    let status = inner.wait()?;
    drop(ears);
    household::sweep();
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(()),
        (Some(code), _) => Err(Failure::silent(u8::try_from(code).unwrap_or(TASK_FAILED))),
        (None, signal) => Err(Failure::new(
            TASK_FAILED,
            format!(
                "the inner process was killed by signal {}; what it had started was ended",
                signal.unwrap_or(0)
            ),
        )),
    }
}
