//! The `punctual` program: batches and schedules from a file. This is all of it; `main.rs` calls [`main`], and fuzz targets what
//! reads texts from outside ([`fuzz`]).
//!
//! In: arguments, a TOML file, or items on standard input. Out: data on standard output, talk on standard error, an exit
//! code (`outcome`). `args` reads the command line, `file` the file; `batch` runs it once and `report` tells,
//! `items` runs a command for each item, `serve` runs schedules, `page` shows them. `child` is one process. `tour` shows the library.
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
mod page;
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

/// The whole program: reads the command line, does what it says, and gives the exit code.
pub fn main() -> ExitCode {
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

/// For fuzz targets: no text may make these panic.
#[doc(hidden)]
pub mod fuzz {
    use crate::file::{self, Source};
    use std::path::Path;
    use std::time::{Duration, SystemTime};

    /// A text as a file: read, checked, and every problem shown.
    pub fn file(text: &str) {
        let source = Source {
            name: "fuzz.toml".to_owned(),
            text: text.to_owned(),
        };
        let loaded = file::parse(source, Path::new(""));
        assert_eq!(loaded.plan.is_some(), loaded.errors() == 0, "a plan, or an error");
        for problem in &loaded.problems {
            assert!(
                loaded.source.show(problem, true).contains("fuzz.toml"),
                "it has a place"
            );
        }
    }

    /// A text as a cron schedule, in a zone with gaps and folds: its sentence, its next runs, its odd days.
    pub fn cron(text: &str) {
        let Ok(schedule) = punctual::Schedule::cron(text) else {
            return;
        };
        let Ok(schedule) = schedule.zone("America/New_York") else {
            return;
        };
        assert!(!schedule.to_string().is_empty(), "it has a sentence");
        let from = SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000);
        let runs = schedule.preview(from, 20).unwrap_or_default();
        assert!(
            runs.windows(2).all(|pair| pair[0] < pair[1]),
            "one after the other: {text:?}"
        );
        assert!(runs.iter().all(|run| *run > from), "later: {text:?}");
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
        Some(Command::View(args)) => return page::view(args, cli.json, &mut out),
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
