//! [`Event`]: one thing that happened in a pool, as plain data.
//!
//! In: what the [recorder](crate::PoolBuilder::recorder) kept. Out: events in order, for a page, a file or a test. Not here:
//! how they are kept ([`flight`](super::flight)).

use super::json::Json;
use crate::Size;
use crate::sync::Arc;
use std::time::Duration;

/// One thing that happened in a pool that [records](crate::PoolBuilder::recorder).
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// Its number, in the order in which events became known: of what one reading found, by time; a run becomes known when it has
    /// ended. Without gaps among those that were kept.
    pub sequence: u64,
    /// When, on the pool's clock, counted from when the pool was built.
    pub at: Duration,
    /// What.
    pub kind: EventKind,
    /// The name of the part of the pool: its own, or that of its blocking or reserved threads.
    pub part: Arc<str>,
    /// The number of the worker, where one did it.
    pub worker: Option<usize>,
    /// The level of the task, in a queue with levels.
    pub level: Option<usize>,
    /// The number of the task, where it has one: a handle that somebody looked at, or a name.
    pub task: Option<u64>,
    /// The name of the task.
    pub name: Option<Arc<str>>,
    /// The type of its closure or future.
    pub type_name: Option<&'static str>,
}

/// What happened.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A task was accepted.
    Submitted,
    /// A worker began it, or a poll of it.
    Taken,
    /// That ended.
    Ended(Ending),
    /// A task was not accepted.
    Rejected,
    /// A worker took a task from another's deque.
    Stolen,
    /// Its wait brought a task before more urgent ones.
    Promoted,
    /// The pool got another size.
    Resized {
        /// As it was.
        from: Size,
        /// As it is.
        to: Size,
    },
    /// Delayed tasks came due.
    Fired {
        /// How many.
        tasks: u64,
        /// How late the first of them was put before the workers.
        late: Duration,
    },
}

/// How a run, or a poll, ended.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It returned.
    Finished,
    /// It panicked.
    Panicked,
    /// It was cancelled while it ran.
    Cancelled,
    /// A future that is not ready: it will be polled again.
    Suspended,
}

impl Ending {
    /// As in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Ending::Finished => "finished",
            Ending::Panicked => "panicked",
            Ending::Cancelled => "cancelled",
            Ending::Suspended => "suspended",
        }
    }
}

impl EventKind {
    /// As in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            EventKind::Submitted => "submitted",
            EventKind::Taken => "taken",
            EventKind::Ended(_) => "ended",
            EventKind::Rejected => "rejected",
            EventKind::Stolen => "stolen",
            EventKind::Promoted => "promoted",
            EventKind::Resized { .. } => "resized",
            EventKind::Fired { .. } => "fired",
        }
    }
}

/// Events since a certain one; made by [`Control::recent`](crate::Control::recent).
#[non_exhaustive]
#[derive(Debug, Clone, Default)]
pub struct Recent {
    /// In the order of their numbers.
    pub events: Vec<Event>,
    /// What to ask for next time.
    pub next: u64,
    /// Some that came before the first of these were no longer kept.
    pub is_cut: bool,
    /// The present, on the clock by which events are measured.
    pub now: Duration,
}

impl Event {
    /// One JSON object, as in a [`Dump`](crate::Dump).
    #[must_use]
    pub fn to_json(&self) -> String {
        Json::object(|json| self.write(json))
    }

    pub(super) fn write(&self, json: &mut Json) {
        json.field("sequence", &self.sequence);
        json.field("at", &self.at);
        json.field("kind", self.kind.name());
        json.field("part", &*self.part);
        match self.kind {
            EventKind::Ended(ending) => json.field("outcome", ending.name()),
            EventKind::Resized { from, to } => {
                for (name, size) in [("from", from), ("to", to)] {
                    json.object_field(name, |json| {
                        json.field("core", &size.core);
                        json.field("max", &size.max);
                    });
                }
            }
            EventKind::Fired { tasks, late } => {
                json.field("tasks", &tasks);
                json.field("late", &late);
            }
            _ => {}
        }
        // What is not known is left out: most events have little, and there are many of them.
        if let Some(worker) = self.worker {
            json.field("worker", &worker);
        }
        if let Some(level) = self.level {
            json.field("level", &level);
        }
        if let Some(task) = self.task {
            json.field("task", &task);
        }
        if let Some(name) = &self.name {
            json.field("name", &**name);
        }
        if let Some(type_name) = self.type_name {
            json.field("type", type_name);
        }
    }
}
