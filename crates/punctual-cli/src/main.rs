//! The `punctual` program: batches and schedules from a file.
//!
//! In: arguments, a TOML file, or items on standard input. Out: data on standard output, talk on standard error, an exit
//! code ([`outcome`]). [`args`] reads the command line, [`mod@file`] the file; [`batch`] runs it once and [`report`] tells,
//! [`items`] runs a command for each item, [`serve`] runs schedules. [`child`] is one process. [`tour`] shows the library.
//! Everything runs on the library's own pools.

mod args;
mod batch;
mod bench;
mod check;
mod child;
mod cron;
mod file;
mod interrupt;
mod items;
mod outcome;
mod paint;
mod progress;
mod report;
mod run;
mod serve;
mod show;
mod tour;

use args::{Cli, Command};
use clap::{CommandFactory, Parser};
use outcome::{Failure, Outcome};
use paint::Paint;
use std::io::{self, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match dispatch(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            let message = failure.to_string();
            if !message.is_empty() {
                let word = Paint::for_talk(cli.color).red("error");
                // Nobody hears it: the exit code says it too.
                let _ = writeln!(io::stderr(), "{word}: {message}");
            }
            failure.code()
        }
    }
}

fn dispatch(cli: &Cli) -> Outcome {
    let mut out = io::stdout().lock();
    match &cli.command {
        None => {
            let mut help = Cli::command();
            write!(out, "{}", help.render_help())?;
        }
        Some(Command::Run(args)) => {
            // Workers write too.
            drop(out);
            return run::run(args, cli.json, cli.color);
        }
        Some(Command::Check(args)) => return check::run(args, cli.json, cli.color, &mut out),
        Some(Command::Cron(args)) => return cron::run(args, cli.json, &mut out),
        Some(Command::Bench(args)) => return bench::run(args, cli.json, &mut out),
        Some(Command::Tour) => tour::run(&mut out).map_err(of_tour)?,
        Some(Command::Serve(args)) => return serve::run(args),
        Some(Command::ServeInside(args)) => {
            drop(out);
            return serve::inside(args, cli.json, cli.color);
        }
        Some(Command::Completions { shell }) => {
            clap_complete::generate(*shell, &mut Cli::command(), "punctual", &mut out);
        }
    }
    out.flush()?;
    Ok(())
}

fn of_tour(error: Box<dyn std::error::Error + Send + Sync>) -> Failure {
    match error.downcast::<io::Error>() {
        Ok(error) => (*error).into(),
        Err(error) => Failure::new(outcome::TASK_FAILED, error.to_string()),
    }
}
