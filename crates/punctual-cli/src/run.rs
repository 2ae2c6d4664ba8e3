//! `punctual run FILE`: reads, runs, reports.

use crate::args::{RunArgs, When};
use crate::batch::pools::Places;
use crate::batch::{self, Options};
use crate::check;
use crate::file::{self, Loaded, Plan};
use crate::items;
use crate::outcome::{Failure, INTERRUPTED, Outcome, TASK_FAILED, WRONG_FILE};
use crate::page::Page;
use crate::paint::Paint;
use crate::progress::Display;
use crate::report;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

pub(crate) fn run(args: &RunArgs, json: bool, color: When) -> Outcome {
    let Some(path) = &args.file else {
        return items::run(args, json, Paint::for_talk(color));
    };
    if let Some(flag) = args.only_for_items() {
        return Err(Failure::usage(format!(
            "{flag} is for items: punctual run {flag} -- COMMAND {{}}; a file has no use for it"
        )));
    }
    let mut plan = load(path, Paint::for_talk(color))?;
    if let Some(jobs) = args.jobs {
        for pool in &mut plan.pools {
            pool.core = jobs.into();
            pool.max = jobs.into();
        }
    }
    let refused = |error: punctual::ConfigError| Failure::new(WRONG_FILE, error.to_string());
    let places = Places::new(&plan).map_err(refused)?;
    let page = args
        .dashboard
        .as_deref()
        .map(|address| Page::open(address, &places))
        .transpose()?;
    if let Some(page) = &page {
        let _ = writeln!(io::stderr(), "page {}", page.url());
    }
    let mut display = Display::new(args.progress, args.show, Paint::for_talk(color));
    let options = Options {
        fail_fast: args.fail_fast,
    };
    let done = batch::run(Arc::new(plan), &places, options, &mut display)?;
    let tally = done.tally();
    let drawn = args.svg.as_deref().map(|path| draw(path, &done));
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{:#}", report::json::report(&done, file::cores()))?;
    } else {
        let text = report::text::report(&done, file::cores(), Paint::for_data(color));
        out.write_all(text.as_bytes())?;
        if let (Some(Ok(())), Some(path)) = (&drawn, &args.svg) {
            writeln!(out, "\ndrawn: {}", path.display())?;
        }
    }
    out.flush()?;
    drawn.transpose()?;
    // Also if all had begun, and were stopped.
    if done.interrupted && tally.succeeded < done.batch().count() {
        return Err(Failure::silent(INTERRUPTED));
    }
    if tally.failed > tally.excused || tally.not_run > 0 {
        return Err(Failure::silent(TASK_FAILED));
    }
    Ok(())
}

/// A file without errors; what is wrong with it is said on standard error.
pub(crate) fn load(path: &Path, paint: Paint) -> Result<Plan, Failure> {
    let Loaded {
        source,
        plan,
        problems,
    } = file::load(path);
    for problem in &problems {
        let _ = write!(io::stderr().lock(), "{}", source.show(problem, paint.on));
    }
    plan.ok_or_else(|| Failure::new(WRONG_FILE, check::nothing_was_run(&problems)))
}

fn draw(path: &Path, done: &batch::record::Done) -> Result<(), Failure> {
    std::fs::write(path, report::svg::draw(done)).map_err(|error| {
        Failure::new(
            TASK_FAILED,
            format!(
                "cannot write the drawing to {}: {error}; the batch itself is done",
                path.display()
            ),
        )
    })
}
