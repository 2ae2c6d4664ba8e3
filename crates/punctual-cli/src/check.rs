//! `punctual check`: what is wrong in files, where, and how to mend it.

use crate::args::{CheckArgs, When};
use crate::file::{self, Problem, Weight};
use crate::outcome::{Failure, Outcome, WRONG_FILE};
use crate::paint::Paint;
use serde_json::json;
use std::io::Write;

pub(crate) fn run(args: &CheckArgs, json: bool, color: When, out: &mut dyn Write) -> Outcome {
    let paint = Paint::for_data(color).on;
    let mut is_wrong = false;
    let mut found = Vec::new();
    for path in &args.files {
        let loaded = file::load(path);
        let source = &loaded.source;
        is_wrong |= loaded.errors() > 0 || (args.strict && loaded.warnings() > 0);
        for problem in &loaded.problems {
            if json {
                let place = problem.bytes.as_ref().map(|bytes| source.place(bytes.start));
                found.push(json!({
                    "file": source.name, "code": problem.code,
                    "weight": if problem.weight() == Weight::Error { "error" } else { "warning" },
                    "line": place.map(|place| place.line), "column": place.map(|place| place.column),
                    "what": problem.what, "help": problem.help,
                }));
            } else {
                write!(out, "{}", source.show(problem, paint))?;
            }
        }
        if let (Some(plan), false) = (&loaded.plan, json) {
            writeln!(
                out,
                "{}: {} tasks, {} schedules, {} pools; {} warnings",
                source.name,
                plan.tasks.len(),
                plan.schedules.len(),
                plan.pools.len(),
                loaded.warnings()
            )?;
        } else if !json {
            writeln!(out, "{}: {}", source.name, counted(&loaded.problems))?;
        }
    }
    if json {
        writeln!(out, "{:#}", json!({ "ok": !is_wrong, "problems": found }))?;
    }
    out.flush()?;
    if is_wrong {
        Err(Failure::silent(WRONG_FILE))
    } else {
        Ok(())
    }
}

fn counted(problems: &[Problem]) -> String {
    let errors = problems
        .iter()
        .filter(|problem| problem.weight() == Weight::Error)
        .count();
    let warnings = problems.len() - errors;
    let plural = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    match warnings {
        0 => plural(errors, "error"),
        _ => format!("{}, {}", plural(errors, "error"), plural(warnings, "warning")),
    }
}

pub(crate) fn nothing_was_run(problems: &[Problem]) -> String {
    format!("{}; nothing was run", counted(problems))
}

pub(crate) fn nothing_was_changed(problems: &[Problem]) -> String {
    format!("{}; the last good file stays in force", counted(problems))
}
