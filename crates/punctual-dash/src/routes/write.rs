//! What is changed. Each change goes to the audit with what came of it, also if nothing did.

use super::{App, Known, input, json};
use crate::access::Refusal;
use crate::audit::{self, milliseconds};
use crate::registry::Entry;
use crate::schedules;
use crate::server::Peer;
use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::Response;
use punctual::{Cancel, ScheduleHandle, Size, TaskRef};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::SystemTime;

type From = Option<Extension<Peer>>;

/// A change that was asked for, about to be made.
struct Action<'a> {
    app: &'a App,
    entry: &'a Arc<Entry>,
    from: From,
    action: &'static str,
    what: String,
}

#[derive(Serialize)]
struct Done<'a> {
    outcome: &'a str,
    /// The sizes before a resize: sent back, they undo it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<Sizes>,
}

/// The sizes of a pool.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sizes {
    core: usize,
    max: usize,
}

impl Action<'_> {
    fn note(&self, outcome: &str, done: bool) {
        self.app.shared.audit.note(audit::Entry {
            number: 0,
            time: milliseconds(SystemTime::now()),
            from: self
                .from
                .as_ref()
                .map_or_else(|| "mounted".to_owned(), |from| from.0.0.to_string()),
            action: self.action,
            pool: self.entry.name().to_string(),
            what: self.what.clone(),
            outcome: outcome.to_owned(),
            done,
        });
    }

    fn done(&self, outcome: &str) -> Result<Response, Refusal> {
        self.note(outcome, true);
        Ok(json(&Done {
            outcome,
            before: None,
        }))
    }

    fn failed(&self, status: StatusCode, code: &'static str, outcome: String) -> Result<Response, Refusal> {
        self.note(&outcome, false);
        Err(Refusal::new(status, code, outcome))
    }

    fn too_late(&self) -> Result<Response, Refusal> {
        let outcome = format!("{} is too late: it has moved on", self.action);
        self.failed(StatusCode::CONFLICT, "too_late", outcome)
    }
}

fn action<'a>(
    app: &'a App,
    entry: &'a Arc<Entry>,
    from: From,
    action: &'static str,
    what: String,
) -> Action<'a> {
    Action {
        app,
        entry,
        from,
        action,
        what,
    }
}

pub(super) async fn resize(
    State(app): Known,
    Path(pool): Path<String>,
    from: From,
    headers: HeaderMap,
    content: Body,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let to: Sizes = input::parsed(&app, &headers, content).await?;
    let what = format!("core {} max {}", to.core, to.max);
    let action = action(&app, &entry, from, "resize", what);
    let gone = "the pool has ended";
    let Some(Size { core, max, .. }) = entry.control.stats().map(|stats| stats.size) else {
        return action.failed(StatusCode::CONFLICT, "pool_is_gone", gone.to_owned());
    };
    match entry.control.resize(to.core, to.max) {
        Ok(_) => {
            let outcome = format!("was core {core} max {max}");
            action.note(&outcome, true);
            let before = Some(Sizes { core, max });
            Ok(json(&Done {
                outcome: &outcome,
                before,
            }))
        }
        Err(error) => action.failed(StatusCode::BAD_REQUEST, "bad_size", error.to_string()),
    }
}

pub(super) async fn pause(
    State(app): Known,
    Path(pool): Path<String>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    entry.control.pause();
    action(&app, &entry, from, "pause", String::new()).done("nothing is taken until it is resumed")
}

pub(super) async fn resume(
    State(app): Known,
    Path(pool): Path<String>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    entry.control.resume();
    action(&app, &entry, from, "resume", String::new()).done("goes on")
}

/// The task of a path: it may have ended since the page was drawn.
fn task(entry: &Entry, id: &str) -> Result<TaskRef, Refusal> {
    let found = id.parse().ok().and_then(|id| entry.control.task(id));
    found.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "no_such_task",
            "no task of that number runs or waits here: it has ended, or is too far back in the queue",
        )
    })
}

fn described(task: &TaskRef) -> String {
    match task.name() {
        Some(name) => format!("task {} {name}", task.id()),
        None => format!("task {}", task.id()),
    }
}

pub(super) async fn cancel(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let task = task(&entry, &id)?;
    let action = action(&app, &entry, from, "cancel", described(&task));
    match task.cancel() {
        Cancel::Removed => action.done("removed: it will not start"),
        Cancel::Signalled => action.done("asked to stop: it runs until it looks at its token"),
        Cancel::TooLate => action.too_late(),
    }
}

pub(super) async fn run_next(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let task = task(&entry, &id)?;
    let action = action(&app, &entry, from, "run next", described(&task));
    if task.run_next() {
        action.done("moved to the front")
    } else {
        action.too_late()
    }
}

/// The schedule of a path.
pub(super) fn schedule(entry: &Entry, id: &str) -> Result<ScheduleHandle, Refusal> {
    let found = id.parse().ok().and_then(|id| schedules::find(entry, id));
    found.ok_or_else(|| {
        Refusal::new(
            StatusCode::NOT_FOUND,
            "no_such_schedule",
            "no schedule of that number goes on in this pool",
        )
    })
}

fn schedule_action<'a>(
    app: &'a App,
    entry: &'a Arc<Entry>,
    from: From,
    action: &'static str,
    handle: &ScheduleHandle,
) -> Action<'a> {
    let name = handle.name().unwrap_or_else(|| handle.schedule().to_string());
    self::action(app, entry, from, action, format!("schedule {name}"))
}

pub(super) async fn run_now(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let handle = schedule(&entry, &id)?;
    let action = schedule_action(&app, &entry, from, "run now", &handle);
    match handle.run_now() {
        Ok(()) => action.done("one run, beside the plan"),
        Err(error) => action.failed(StatusCode::CONFLICT, "too_late", error.to_string()),
    }
}

pub(super) async fn pause_schedule(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let handle = schedule(&entry, &id)?;
    handle.pause();
    schedule_action(&app, &entry, from, "pause schedule", &handle).done("no run begins until it is resumed")
}

pub(super) async fn resume_schedule(
    State(app): Known,
    Path((pool, id)): Path<(String, String)>,
    from: From,
) -> Result<Response, Refusal> {
    let entry = input::entry(&app, &pool)?;
    let handle = schedule(&entry, &id)?;
    handle.resume();
    schedule_action(&app, &entry, from, "resume schedule", &handle).done("goes on with its next tick")
}
