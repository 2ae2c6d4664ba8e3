//! Traces: how many files of the core have executed lines while a pool does one thing.
//!
//! A small program ([`PROGRAM`]) is built with `-C instrument-coverage` in `target/traces`, is run once for each trace, and
//! its counters are read with `llvm-profdata` and `llvm-cov`. Those must be as new as the compiler: they are taken from
//! the variables `LLVM_PROFDATA` and `LLVM_COV`, from the toolchain (`rustup component add llvm-tools`), or from the path.

use crate::Measure;
use crate::source::{self, CORE, Result};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

const PROGRAM: &str = include_str!("../traces/program.rs");

/// Measure, title, the program's argument.
const TRACES: [(&str, &str, &str); 4] = [
    (
        "trace-submit",
        "files that run for a submit and its join",
        "submit",
    ),
    ("trace-delayed", "files that run for a delayed task", "delayed"),
    ("trace-keyed", "files that run for a keyed task", "keyed"),
    ("trace-cron", "files that run for a cron run", "cron"),
];

/// The traces without their figures.
pub(crate) fn unmeasured() -> impl Iterator<Item = Measure> {
    TRACES.iter().map(|(name, title, _)| Measure {
        name,
        title,
        figure: None,
        places: Vec::new(),
    })
}

/// Builds the program, runs it for each trace, and fills the figures in.
pub fn trace(root: &Path, measures: &mut [Measure]) -> Result<()> {
    let folder = root.join("target/traces");
    let program = build(root, &folder)?;
    for (name, _, argument) in TRACES {
        let counters = folder.join(format!("{argument}.profraw"));
        run(Command::new(&program)
            .arg(argument)
            .env("LLVM_PROFILE_FILE", &counters))?;
        let profile = counters.with_extension("profdata");
        run(Command::new(tool("llvm-profdata")?)
            .args(["merge", "-sparse", "-o"])
            .args([&profile, &counters]))?;
        let mut export = Command::new(tool("llvm-cov")?);
        export
            .args(["export", "-format=lcov", "-instr-profile"])
            .arg(&profile)
            .arg(&program);
        let files = executed(root, &run(&mut export)?);
        if files.is_empty() {
            return Err(format!("{}: no line of the core was executed", profile.display()));
        }
        for measure in measures.iter_mut().filter(|measure| measure.name == name) {
            measure.figure = Some(files.len() as f64);
            measure.places.clone_from(&files);
        }
    }
    Ok(())
}

/// A package of its own, with the workspace's versions of everything.
fn build(root: &Path, folder: &Path) -> Result<PathBuf> {
    let manifest = format!(
        "[package]\nname = \"trace\"\nedition = \"2024\"\n[[bin]]\nname = \"trace\"\npath = \"program.rs\"\n\
         [dependencies]\npunctual = {{ path = {:?} }}\n[workspace]\n",
        root.join("crates/punctual")
    );
    let lock = source::read(&root.join("Cargo.lock"))?;
    fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for (name, text) in [
        ("Cargo.toml", manifest.as_str()),
        ("Cargo.lock", &lock),
        ("program.rs", PROGRAM),
    ] {
        let path = folder.join(name);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--manifest-path"])
        .arg(folder.join("Cargo.toml"));
    cargo
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTFLAGS", "-C instrument-coverage");
    // What the build itself runs is instrumented too.
    run(cargo.env("LLVM_PROFILE_FILE", folder.join("build.profraw")))?;
    Ok(folder.join("target/debug/trace"))
}

/// Runs a command to its end and gives its output; the error has its own words.
fn run(command: &mut Command) -> Result<String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{name}: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(format!(
        "{name}: {}: {}",
        output.status,
        String::from_utf8_lossy(&output.stderr).trim()
    ))
}

/// Where a tool of LLVM is.
fn tool(name: &str) -> Result<OsString> {
    if let Some(path) = env::var_os(name.replace('-', "_").to_uppercase()) {
        return Ok(path);
    }
    let libraries = run(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let beside = Path::new(libraries.trim()).with_file_name("bin").join(name);
    Ok(if beside.exists() {
        beside.into()
    } else {
        name.into()
    })
}

/// The files of the core that have a line with a count, from a report in lcov's form.
fn executed(root: &Path, report: &str) -> Vec<String> {
    let is_core = |file: &str| {
        CORE.iter()
            .any(|name| file.starts_with(&format!("crates/{name}/src/")))
    };
    let mut files = Vec::new();
    let mut file = String::new();
    for line in report.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            file = source::relative(root, Path::new(path));
        }
        let count = line.strip_prefix("DA:").and_then(|line| line.split(',').nth(1));
        if count.is_some_and(|count| count != "0") && is_core(&file) && files.last() != Some(&file) {
            files.push(file.clone());
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_once_and_only_with_an_executed_line_of_the_core() {
        let core = "SF:/w/crates/punctual/src/a.rs\nDA:1,0\nDA:2,3\nDA:3,1\nend_of_record\n";
        let idle = "SF:/w/crates/punctual/src/b.rs\nDA:1,0\nend_of_record\n";
        let other = "SF:/elsewhere/src/lib.rs\nDA:1,9\nend_of_record\n";
        let files = executed(Path::new("/w"), &[core, idle, other].concat());
        assert_eq!(files, ["crates/punctual/src/a.rs"]);
    }
}
