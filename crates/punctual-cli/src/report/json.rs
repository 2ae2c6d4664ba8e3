//! A report for programs. The shape is described in docs/program.md, and a test holds it.

use super::figures::{self, Level};
use crate::batch::record::{Done, Fate, Record};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The version of the shape: it changes when something is renamed or removed.
const SHAPE: u32 = 1;

fn seconds(time: Duration) -> f64 {
    // Microseconds are enough for anybody who reads it.
    (time.as_secs_f64() * 1e6).round() / 1e6
}

/// The whole report.
pub(crate) fn report(done: &Done, cores: usize) -> Value {
    let tally = done.tally();
    json!({
        "punctual": SHAPE,
        "ok": tally.failed == tally.excused && tally.skipped == 0 && tally.not_run == 0,
        "interrupted": done.interrupted,
        "seconds": seconds(done.took),
        "counts": {
            "succeeded": tally.succeeded, "failed": tally.failed, "skipped": tally.skipped,
            "not_run": tally.not_run, "retries": tally.retries,
        },
        "pools": (0..done.pools.len()).map(|pool| one_pool(done, pool, cores)).collect::<Vec<_>>(),
        "critical_path": figures::critical_path(done).iter().map(|link| json!({
            "task": &*done.plan.tasks[link.task].name,
            "waited_seconds": seconds(link.waited), "ran_seconds": seconds(link.ran),
        })).collect::<Vec<_>>(),
        "tasks": done.batch().map(|(task, record)| one_task(done, task, record)).collect::<Vec<_>>(),
    })
}

fn one_pool(done: &Done, pool: usize, cores: usize) -> Value {
    let plan = &done.plan.pools[pool];
    let record = &done.pools[pool];
    json!({
        "name": &*plan.name, "core": plan.core, "max": plan.max, "queue": plan.queue,
        "largest": record.stats.largest, "rejected": record.stats.rejected.full, "held_back": record.held,
        "utilisation": (figures::utilisation(done, pool) * 1e4).round() / 1e4,
        "levels": figures::levels(done, pool).iter().map(one_level).collect::<Vec<_>>(),
        "advice": super::text::advice(done, pool, cores),
    })
}

fn one_level(level: &Level) -> Value {
    let times = |sorted: &[Duration]| {
        json!({
            "p50": figures::quantile(sorted, 0.5).map(seconds),
            "p99": figures::quantile(sorted, 0.99).map(seconds),
            "max": sorted.last().copied().map(seconds),
        })
    };
    json!({
        "level": level.level, "name": figures::level_name(level.level),
        "succeeded": level.succeeded, "failed": level.failed, "aged_up": level.promoted,
        "wait_seconds": times(&level.waits), "run_seconds": times(&level.runs),
    })
}

fn one_task(done: &Done, task: usize, record: &Record) -> Value {
    let plan = &done.plan.tasks[task];
    let (status, reason) = match &record.fate {
        Fate::Succeeded => ("succeeded", None),
        Fate::Failed(why) => ("failed", Some(why.to_string())),
        Fate::Skipped(culprit) => (
            "skipped",
            Some(format!("{} failed", done.plan.tasks[*culprit].name)),
        ),
        Fate::NotRun | Fate::Open => ("not_run", None),
    };
    let since = |time: Instant| seconds(time.saturating_duration_since(done.began));
    let output = record.attempts.last().map(|attempt| &attempt.output);
    json!({
        "name": &*plan.name, "status": status, "reason": reason, "may_fail": plan.may_fail,
        "work": figures::work(&plan.work),
        "pool": &*done.plan.pools[plan.pool].name, "level": plan.level,
        "attempts": record.attempts.iter().zip(&record.waits).map(|(attempt, wait)| json!({
            "worker": attempt.worker, "start_seconds": since(attempt.started), "end_seconds": since(attempt.ended),
            "wait_seconds": seconds(*wait), "cpu_seconds": attempt.cpu.map(seconds),
            "error": attempt.result.as_ref().err().map(ToString::to_string),
        })).collect::<Vec<_>>(),
        "output": output.map(|output| output.text()),
        "output_bytes": output.map_or(0, |output| output.total()),
        "output_left_out": output.map_or(0, |output| output.left_out()),
    })
}
