//! `[schedule.*]`: when `serve` runs what.

use super::plan::{Plan, SchedulePlan, When};
use super::pools::named;
use super::section::Section;
use super::tasks::{self, Groups};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use punctual::{CronDialect, Missed, OnFailure, Overlap, Schedule};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub(super) fn schedules(root: &Section<'_>, folder: &Path, groups: &Groups, plan: &mut Plan) {
    for (name, section) in root.named("schedule") {
        let Some(task) = task(&name, root, &section, folder, groups, plan) else {
            // Said already; its other keys are looked at when this is mended.
            continue;
        };
        let words = [
            ("once", Missed::Once),
            ("skip", Missed::Skip),
            ("delay", Missed::Delay),
            ("burst", Missed::Burst),
        ];
        let missed = section.word("missed", &words).unwrap_or(Missed::Once);
        let words = [("skip", Overlap::Skip), ("queue", Overlap::Queue)];
        let overlap = section.word("overlap", &words).unwrap_or(Overlap::Skip);
        let on_failure = on_failure(&section);
        let spread = section.duration("spread").unwrap_or_default();
        let when = when(&section);
        section.finish();
        let Some((when, print)) = when else {
            continue;
        };
        let bytes = section.bytes.clone();
        plan.schedules.push(SchedulePlan {
            print: format!("{print}, missed {missed:?}, overlap {overlap:?}, on failure {on_failure:?}, spread {spread:?}"),
            name: Arc::from(name),
            task,
            when,
            missed,
            overlap,
            on_failure,
            jitter: spread,
            bytes,
        });
    }
}

/// The task a schedule names, or the one it has inside.
fn task(
    name: &str,
    root: &Section<'_>,
    section: &Section<'_>,
    folder: &Path,
    groups: &Groups,
    plan: &mut Plan,
) -> Option<usize> {
    let Some(task) = section.text("task", "\"backup\"") else {
        let mut task = tasks::inline(name, root, section, folder, plan);
        task.name = Arc::from(format!("schedule.{name}"));
        task.group = task.name.clone();
        // What a schedule has inside is its own: `run` leaves it out.
        task.scheduled = true;
        plan.tasks.push(Arc::new(task));
        return Some(plan.tasks.len() - 1);
    };
    named(section, "task", &task, groups.keys().map(String::as_str))?;
    let group = groups[&task.value].clone();
    if group.len() > 1 {
        section.problem(
            "E013",
            task.bytes,
            format!(
                "[{}] names {:?}, which stands for {} tasks",
                section.name,
                task.value,
                group.len()
            ),
            "a schedule runs one task: name one without repeat and items",
        );
        return None;
    }
    Some(group.start)
}

fn on_failure(section: &Section<'_>) -> OnFailure {
    if section.is_text("on_failure") || !section.has("on_failure") {
        let words = [("continue", OnFailure::Continue), ("stop", OnFailure::Stop)];
        return section.word("on_failure", &words).unwrap_or(OnFailure::Continue);
    }
    let Some(inner) = section.inner("on_failure") else {
        return OnFailure::Continue;
    };
    let after = inner.count("stop_after", 1..=u64::from(u32::MAX));
    let first = inner.positive("backoff");
    let most = inner.positive("max");
    inner.finish();
    match (after, first) {
        (Some(after), None) => OnFailure::StopAfter(after as u32),
        (None, Some(first)) => OnFailure::Backoff {
            first,
            max: most.unwrap_or(Duration::from_secs(3_600)).max(first),
        },
        _ => {
            section.problem(
                "E013",
                section.key_bytes("on_failure"),
                format!(
                    "on_failure in [{}] is neither a count nor a backoff",
                    section.name
                ),
                "give \"continue\", \"stop\", { stop_after = 3 } or { backoff = \"1m\", max = \"1h\" }",
            );
            OnFailure::Continue
        }
    }
}

fn when(section: &Section<'_>) -> Option<(When, String)> {
    let cron = section.text("cron", "\"0 3 * * *\"");
    let zone = section.text("zone", "\"Europe/Berlin\"");
    let dialect = section.word(
        "dialect",
        &[("unix", CronDialect::Unix), ("spring", CronDialect::Spring)],
    );
    let every = section.positive("every");
    let delay = section.positive("delay");
    let at = section.moment("at");
    let keys = ["cron", "every", "delay", "at"];
    let given: Vec<&str> = keys.into_iter().filter(|key| section.has(key)).collect();
    if given.len() != 1 {
        section.problem(
            "E013",
            given.get(1).and_then(|key| section.key_bytes(key)),
            if given.is_empty() {
                format!("[{}] does not say when", section.name)
            } else {
                format!(
                    "[{}] has {}: that is more than one time",
                    section.name,
                    given.join(" and ")
                )
            },
            "give one of cron = \"0 3 * * *\", every = \"5m\", delay = \"5m\", at = \"2027-01-01T09:00\"",
        );
        return None;
    }
    if zone.is_some() && !section.has("cron") && !section.has("at") {
        section.problem(
            "E013",
            section.key_bytes("zone"),
            format!("[{}] has a zone and no time of day", section.name),
            "a zone belongs to cron or at; leave it out",
        );
    }
    let zone_name = zone.as_ref().map(|zone| zone.value.clone());
    let print = |kind: &str, what: &dyn std::fmt::Debug| format!("{kind} {what:?} {zone_name:?} {dialect:?}");
    if let Some(text) = cron {
        let schedule = Schedule::cron(&text.value)
            .and_then(|schedule| match dialect {
                Some(dialect) => schedule.dialect(dialect),
                None => Ok(schedule),
            })
            .map_err(|error| (text.bytes.clone(), error))
            .and_then(|schedule| match &zone {
                Some(zone) => schedule
                    .zone(&zone.value)
                    .map_err(|error| (zone.bytes.clone(), error)),
                None => Ok(schedule),
            });
        return match schedule {
            Ok(schedule) => {
                // The library has looked it up already, and goes by UTC without one.
                let zone = zone_name.as_deref().and_then(|name| TimeZone::get(name).ok());
                let when = When::Cron(Box::new(schedule), zone.unwrap_or(TimeZone::UTC));
                Some((when, print("cron", &text.value)))
            }
            Err((bytes, error)) => {
                section.problem(
                    "E030",
                    bytes,
                    format!("{error}"),
                    format!("`punctual cron {:?}` says what a cron text means", text.value),
                );
                None
            }
        };
    }
    if let Some((text, bytes)) = at {
        return match moment(&text, zone_name.as_deref()) {
            Ok(at) => Some((When::At(at), print("at", &text))),
            Err(error) => {
                section.problem(
                    "E012",
                    bytes,
                    format!("at in [{}]: {error}", section.name),
                    "for example: at = \"2027-01-01T09:00\" with zone = \"Asia/Seoul\", or at = 2027-01-01T09:00:00Z",
                );
                None
            }
        };
    }
    if let Some(every) = every {
        return Some((When::Every(every), print("every", &every)));
    }
    delay.map(|delay| (When::Delay(delay), print("delay", &delay)))
}

/// An instant: with an offset of its own, or a local time in a zone.
fn moment(text: &str, zone: Option<&str>) -> Result<SystemTime, String> {
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Ok(instant.into());
    }
    let local: DateTime = text
        .parse()
        .map_err(|_| format!("{text:?} is no date and time"))?;
    let zone = match zone {
        Some(name) => TimeZone::get(name).map_err(|_| format!("there is no zone {name:?}"))?,
        None => TimeZone::UTC,
    };
    let zoned = local
        .to_zoned(zone)
        .map_err(|error| format!("{text:?}: {error}"))?;
    Ok(zoned.timestamp().into())
}
