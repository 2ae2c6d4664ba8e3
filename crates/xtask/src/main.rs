//! `cargo xtask house`: prints the measures of the workspace, lists what is behind one, and keeps the baseline.

use std::process::ExitCode;
use xtask::{Baseline, Measure, Result};

const USAGE: &str = "\
usage: cargo xtask house [OPTION..]
  (none)          the table: measure, today, baseline, target
  --list MEASURE  the places behind a figure
  --traces        also run four small programs and count the files with executed lines
  --bless         write today's figures to crates/xtask/house.toml, if none has risen
  --raise         with --bless: also those that have risen";

/// The options of `house`.
#[derive(Default)]
struct Options {
    list: Option<String>,
    traces: bool,
    bless: bool,
    raise: bool,
}

fn options(mut words: impl Iterator<Item = String>) -> Result<Options> {
    let mut options = Options::default();
    match words.next().as_deref() {
        Some("house") => {}
        Some(other) => return Err(format!("there is no task `{other}`\n{USAGE}")),
        None => return Err(USAGE.to_owned()),
    }
    while let Some(word) = words.next() {
        match word.as_str() {
            "--list" => options.list = Some(words.next().ok_or("--list needs the name of a measure")?),
            "--traces" => options.traces = true,
            "--bless" => options.bless = true,
            "--raise" => options.raise = true,
            other => return Err(format!("there is no option `{other}`\n{USAGE}")),
        }
    }
    if options.raise && !options.bless {
        return Err("--raise is for --bless".to_owned());
    }
    Ok(options)
}

fn places(measures: &[Measure], name: &str) -> Result<String> {
    let measure = measures.iter().find(|measure| measure.name == name);
    let names = || {
        measures
            .iter()
            .map(|measure| measure.name)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let measure = measure.ok_or_else(|| format!("there is no measure `{name}`; there are {}", names()))?;
    Ok(measure.places.iter().map(|place| format!("{place}\n")).collect())
}

fn run() -> Result<String> {
    let options = options(std::env::args().skip(1))?;
    let root = xtask::root();
    let mut measures = xtask::house(&root)?;
    if options.traces {
        xtask::trace(&root, &mut measures).unwrap_or_else(|reason| eprintln!("traces are skipped: {reason}"));
    }
    if let Some(name) = &options.list {
        return places(&measures, name);
    }
    if options.bless {
        Baseline::read()?.bless(&measures, options.raise)?;
    }
    Ok(Baseline::read()?.table(&measures))
}

fn main() -> ExitCode {
    match run() {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
