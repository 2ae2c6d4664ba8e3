//! The `punctual` program: a tour of the library on the machine it is started on.
//!
//! In: arguments. Out: text on standard output and an exit code: 0 when everything was as promised, 1 when it was
//! not, 2 for an argument that does not exist. [`args`] reads the command line, [`tour`] does the work, [`show`]
//! writes numbers for people.

mod args;
mod show;
mod tour;

use args::Command;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let command = match args::parse(std::env::args_os().skip(1)) {
        Ok(command) => command,
        Err(message) => {
            eprintln!("punctual: {message}");
            return ExitCode::from(2);
        }
    };
    let mut out = io::stdout().lock();
    let done = match command {
        Command::Tour => tour::run(&mut out),
        Command::Help => out.write_all(args::HELP.as_bytes()).map_err(Into::into),
        Command::Version => writeln!(out, "punctual {}", env!("CARGO_PKG_VERSION")).map_err(Into::into),
    };
    match done.and_then(|()| out.flush().map_err(Into::into)) {
        Ok(()) => ExitCode::SUCCESS,
        // The reader has seen enough (`punctual | head -1`): no failure of ours.
        Err(error) if is_broken_pipe(&*error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("punctual: {error}");
            ExitCode::FAILURE
        }
    }
}

fn is_broken_pipe(error: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    let error = error.downcast_ref::<io::Error>();
    error.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
