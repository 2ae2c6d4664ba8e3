//! A report for people.

use super::figures::{self, Level};
use crate::batch::record::{Done, Fate};
use crate::file::lint;
use crate::paint::Paint;
use crate::show;
use std::fmt::Write;
use std::time::Duration;

/// How many failed tasks are named.
const NAMED: usize = 20;

/// How many links of the critical path are shown.
const LINKS: usize = 8;

/// The whole report.
pub(crate) fn report(done: &Done, cores: usize, paint: Paint) -> String {
    let mut out = String::new();
    let tally = done.tally();
    let mut parts = vec![format!("{} done", show::count(tally.succeeded as u64))];
    let counts = [
        (tally.failed, "failed"),
        (tally.skipped, "skipped"),
        (tally.not_run, "not run"),
        (tally.retries, "retries"),
    ];
    parts.extend(
        counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, word)| format!("{} {word}", show::count(*count as u64))),
    );
    let head = format!("{} in {}", parts.join(", "), show::time(done.took));
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{}", paint.bold(&head));
    for pool in 0..done.pools.len() {
        one_pool(&mut out, done, pool, cores, paint);
    }
    path(&mut out, done);
    failures(&mut out, done, paint);
    out
}

fn one_pool(out: &mut String, done: &Done, pool: usize, cores: usize, paint: Paint) {
    let levels = figures::levels(done, pool);
    if levels.is_empty() {
        return;
    }
    let plan = &done.plan.pools[pool];
    let record = &done.pools[pool];
    let queue = plan
        .queue
        .map_or("unbounded".to_owned(), |places| show::count(places as u64));
    let succeeded: usize = levels.iter().map(|level| level.succeeded).sum();
    let failed: usize = levels.iter().map(|level| level.failed).sum();
    let _ = writeln!(
        out,
        "\n{}  core {} max {} queue {queue}  |  done {}  failed {failed}  rejected {}{}  |  utilisation {:.0} %",
        paint.bold(&format!("pool {:?}", plan.name)),
        plan.core,
        plan.max,
        show::count(succeeded as u64),
        record.stats.rejected.full,
        if record.held > 0 {
            " (queue full; held back, none lost)"
        } else {
            ""
        },
        figures::utilisation(done, pool) * 100.0
    );
    let _ = writeln!(
        out,
        "  {:<8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "level", "done", "wait p50", "p99", "longest", "run p50", "p99"
    );
    for level in &levels {
        let _ = writeln!(out, "{}", row(level));
    }
    for sentence in advice(done, pool, cores) {
        let _ = writeln!(out, "  advice: {sentence}");
    }
}

fn row(level: &Level) -> String {
    let cell = |time: Option<Duration>| time.map_or_else(|| "-".to_owned(), show::time);
    let mut row = format!(
        "  {:<8} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10}",
        figures::level_name(level.level),
        show::count(level.succeeded as u64),
        cell(figures::quantile(&level.waits, 0.5)),
        cell(figures::quantile(&level.waits, 0.99)),
        cell(level.waits.last().copied()),
        cell(figures::quantile(&level.runs, 0.5)),
        cell(figures::quantile(&level.runs, 0.99)),
    );
    if let Some((got, wanted)) = level.shares {
        let _ = write!(row, "  share {:.0}/{:.0} %", got * 100.0, wanted * 100.0);
    }
    if level.promoted > 0 {
        let _ = write!(row, "  aged up: {}", show::count(level.promoted));
    }
    row
}

/// What the figures say about the pool, a sentence each.
pub(crate) fn advice(done: &Done, pool: usize, cores: usize) -> Vec<String> {
    let mut sentences = Vec::new();
    let plan = &done.plan.pools[pool];
    let utilisation = figures::utilisation(done, pool);
    if let Some(sizing) = figures::sizing(done, pool, cores) {
        let measured = format!(
            "wait/compute measured {:.1} over {} runs",
            sizing.ratio,
            show::count(sizing.tasks as u64)
        );
        let formula = if sizing.threads == sizing.cores + 1 {
            format!(
                "{measured} -> {} cores + 1 = {} threads",
                sizing.cores, sizing.threads
            )
        } else {
            format!(
                "{measured} -> {} cores x (1 + {:.1}) = {} threads",
                sizing.cores, sizing.ratio, sizing.threads
            )
        };
        let verdict = match plan.max {
            max if utilisation < 0.5 => format!(
                "max {max} was not the limit, it was busy {:.0} % of the time",
                utilisation * 100.0
            ),
            max if sizing.threads > max + 1 => format!("more than max {max} would help"),
            max if sizing.threads * 2 < max => format!("max {max} is more than they can use"),
            max => format!("max {max} fits"),
        };
        sentences.push(format!("{formula}; {verdict}"));
    }
    let held = done.pools[pool].held;
    if held > 0 {
        sentences.push(format!(
            "the queue was full {held} times; queue = {} would take them all",
            plan.queue.unwrap_or(0) as u64 + held
        ));
    }
    let lints = done.pools[pool].advice.lints();
    sentences.extend(lints.iter().map(ToString::to_string));
    sentences
}

fn path(out: &mut String, done: &Done) {
    let path = figures::critical_path(done);
    if path.is_empty() {
        return;
    }
    let total: Duration = path.iter().map(|link| link.waited + link.ran).sum();
    let part = total.as_secs_f64() / done.took.as_secs_f64().max(1e-9) * 100.0;
    let shown: Vec<String> = path
        .iter()
        .map(|link| {
            let name = &done.plan.tasks[link.task].name;
            if link.waited > Duration::from_millis(1) && link.waited * 20 > link.ran {
                format!(
                    "{name} {} (waited {})",
                    show::time(link.ran),
                    show::time(link.waited)
                )
            } else {
                format!("{name} {}", show::time(link.ran))
            }
        })
        .collect();
    let text = if shown.len() > LINKS {
        let (first, last) = (&shown[..LINKS / 2], &shown[shown.len() - LINKS / 2..]);
        let left = shown.len() - LINKS;
        format!(
            "{} -> .. {left} more .. -> {}",
            first.join(" -> "),
            last.join(" -> ")
        )
    } else {
        shown.join(" -> ")
    };
    let _ = writeln!(
        out,
        "\ncritical path  {} ({part:.0} % of the run): {text}",
        show::time(total)
    );
}

fn failures(out: &mut String, done: &Done, paint: Paint) {
    let mut shown = 0;
    let mut more = 0;
    for (task, record) in done.batch() {
        let plan = &done.plan.tasks[task];
        let line = match &record.fate {
            Fate::Failed(why) => {
                let tries = record.attempts.len();
                let tries = if tries > 1 {
                    format!(" after {tries} attempts")
                } else {
                    String::new()
                };
                let word = if plan.may_fail {
                    "failed (and may)"
                } else {
                    "failed"
                };
                format!("{} {}: {why}{tries}", paint.red(word), plan.name)
            }
            Fate::Skipped(culprit) => {
                format!(
                    "{} {}: {} failed",
                    paint.yellow("skipped"),
                    plan.name,
                    done.plan.tasks[*culprit].name
                )
            }
            _ => continue,
        };
        if shown == NAMED {
            more += 1;
            continue;
        }
        if shown == 0 {
            let _ = writeln!(out);
        }
        shown += 1;
        let _ = writeln!(out, "{line}");
        if let (
            Fate::Failed(crate::batch::job::Why::NotStarted(_)),
            crate::file::plan::Work::Command(command),
        ) = (&record.fate, &plan.work)
            && !lint::exists(&command.argv[0], command.cwd.as_deref())
        {
            let _ = writeln!(
                out,
                "  help: `punctual check` says such things before anything runs"
            );
        }
    }
    if more > 0 {
        let _ = writeln!(out, ".. and {more} more; --json has all of them");
    }
}
