//! [`Dump`]: a pool at one moment, and the last things that happened in it, to be kept or sent.
//!
//! In: what a pool knows about itself. Out: plain data, and the same as JSON. Nothing in here holds the pool, or any task.

use super::event::Event;
use super::json::Json;
use super::stats::bound;
use super::{LaneCounts, Lint, Stats};
use crate::Size;
use crate::queue::Capacity;
use crate::sync::Arc;
use std::panic::Location;
use std::time::{Duration, SystemTime};

/// The version of the JSON: it changes when a reader must.
const VERSION: u32 = 1;

/// Everything a pool can tell about itself at one moment; made by [`Pool::dump`](crate::Pool::dump). Plain data: it can be
/// kept, and holds neither the pool nor any task.
///
/// ```
/// let pool = punctual::Pool::builder("web").core_threads(1).recorder(1_000).build()?;
/// pool.submit(|| ())?.join()?;
/// let text = pool.dump().to_json();
/// assert!(text.starts_with("{\"punctual_dump\":1,"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Dump {
    /// The pool's name.
    pub name: Arc<str>,
    /// When it was made, by the pool's clock.
    pub at: SystemTime,
    /// The same on the clock by which [`Event::at`] is measured; zero without a recorder.
    pub now: Duration,
    /// Its settings, as far as they can be told in words.
    pub settings: Vec<(&'static str, String)>,
    /// Its figures.
    pub stats: Stats,
    /// Lanes that have something to do.
    pub lanes: LaneCounts,
    /// For how long nothing has ended although tasks wait and every worker is busy; see [`Control::stalled`](crate::Control::stalled).
    pub stalled: Option<Duration>,
    /// What is often a mistake in its settings.
    pub lints: Vec<Lint>,
    /// What its figures say about its size, as a sentence.
    pub advice: String,
    /// What its workers are at.
    pub workers: Vec<DumpedWorker>,
    /// The first tasks that wait, and why.
    pub queued: Vec<DumpedTask>,
    /// Its schedules.
    pub schedules: Vec<DumpedSchedule>,
    /// The last tasks that were not accepted.
    pub rejected: Vec<RejectedTask>,
    /// Whether it keeps events.
    pub records: bool,
    /// Those it has kept, by time.
    pub events: Vec<Event>,
}

/// A worker in a [`Dump`].
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct DumpedWorker {
    /// Counts the threads of its part of the pool from 1.
    pub number: usize,
    /// The part of the pool.
    pub part: Arc<str>,
    /// Tasks that it has run to their end.
    pub ended: u64,
    /// What it runs, from the outermost in.
    pub running: Vec<DumpedTask>,
}

/// A task in a [`Dump`].
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct DumpedTask {
    /// Its number, if it has a handle.
    pub id: Option<u64>,
    /// Its name.
    pub name: Option<String>,
    /// The type of its closure or future.
    pub type_name: &'static str,
    /// Where in the source it was made: file and line, without its folder.
    pub site: Option<String>,
    /// How urgent it is: 0 is the most.
    pub priority: Option<u8>,
    /// The view it belongs to.
    pub view: Option<Arc<str>>,
    /// How long ago it was made, if that was noted.
    pub age: Option<Duration>,
    /// Of one that runs: for at least so long.
    pub running_for: Option<Duration>,
    /// Of one that waits: why, as a sentence.
    pub why: Option<String>,
}

/// A schedule in a [`Dump`].
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct DumpedSchedule {
    /// Its number in its part of the pool.
    pub id: u64,
    /// Its name.
    pub name: Option<String>,
    /// Its plan, as a sentence.
    pub plan: String,
    /// The zone on whose clocks it runs, of a plan by the calendar.
    pub zone: Option<String>,
    /// Whether it is paused.
    pub paused: bool,
    /// Runs that have begun, and those that failed.
    pub runs: u64,
    /// Runs that panicked or returned `Err`.
    pub failures: u64,
    /// Times without a run, because none could start in time.
    pub missed: u64,
    /// Times without a run, because one was in progress.
    pub skipped: u64,
    /// How the last run went: `none`, `running`, `succeeded` or `failed`.
    pub outcome: &'static str,
    /// The text of the last failure.
    pub last_error: Option<String>,
    /// The next runs.
    pub upcoming: Vec<SystemTime>,
}

/// A task that was not accepted, and how the pool was at that moment. The last hundred are kept; in a storm of them one for
/// each millisecond stands for the others.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct RejectedTask {
    /// When, by the pool's clock.
    pub at: SystemTime,
    /// The part of the pool: its own name, or that of its blocking or reserved threads.
    pub part: Arc<str>,
    /// Why.
    pub reason: String,
    /// What became of it: `refused`, `caller_ran` or `discarded`.
    pub answer: &'static str,
    /// Its name.
    pub task: Option<String>,
    /// The type of its closure or future.
    pub type_name: &'static str,
    /// Where in the source it was made, of one from [`Executor::task`](crate::Executor::task) with a name: file and line, without its
    /// folder.
    pub site: Option<String>,
    /// How urgent it was: 0 is the most.
    pub priority: u8,
    /// The level it would have waited in, in a queue with levels.
    pub level: Option<usize>,
    /// Tasks that waited.
    pub queued: usize,
    /// How many may wait.
    pub capacity: Capacity,
    /// Live threads.
    pub threads: usize,
    /// The configured threads.
    pub size: Size,
    /// Tasks that ran.
    pub active: usize,
    /// How long the oldest waiting task had waited, at most.
    pub oldest_wait: Option<Duration>,
    /// Others that were refused within a millisecond after it, and only counted.
    pub like_it: u64,
}

impl Dump {
    /// All of it as one JSON object. Times are seconds; what is not known is `null` or left out.
    #[must_use]
    pub fn to_json(&self) -> String {
        Json::object(|json| {
            json.field("punctual_dump", &VERSION);
            json.field("name", &*self.name);
            json.field("at", &self.at);
            json.field("now", &self.now);
            json.object_field("settings", |json| {
                for (name, value) in &self.settings {
                    json.field(name, value);
                }
            });
            json.object_field("stats", |json| self.stats.fill(json));
            json.object_field("lanes", |json| {
                json.field("running", &self.lanes.running);
                json.field("waiting", &self.lanes.waiting);
                json.field("oldest_wait", &self.stats.oldest_in_line);
            });
            json.field("stalled", &self.stalled);
            json.list_field("lints", &self.lints, |json, lint| {
                json.field("code", lint.code);
                json.field("text", &lint.text);
            });
            json.field("advice", &self.advice);
            json.list_field("workers", &self.workers, |json, worker| {
                json.field("number", &worker.number);
                json.field("part", &*worker.part);
                json.field("ended", &worker.ended);
                json.list_field("running", &worker.running, |json, task| task.write(json));
            });
            json.list_field("queued", &self.queued, |json, task| task.write(json));
            json.list_field("schedules", &self.schedules, |json, schedule| {
                schedule.write(json)
            });
            json.list_field("rejected", &self.rejected, |json, task| task.write(json));
            json.field("records", &self.records);
            json.list_field("events", &self.events, |json, event| event.write(json));
        })
    }
}

impl DumpedTask {
    pub(crate) fn of_type(type_name: &'static str) -> Self {
        DumpedTask {
            id: None,
            name: None,
            type_name,
            site: None,
            priority: None,
            view: None,
            age: None,
            running_for: None,
            why: None,
        }
    }

    fn write(&self, json: &mut Json) {
        json.field("id", &self.id);
        json.field("name", &self.name);
        json.field("type", self.type_name);
        json.field("site", &self.site);
        json.field("priority", &self.priority.map(u32::from));
        json.field("view", &self.view.as_deref());
        json.field("age", &self.age);
        json.field("running_for", &self.running_for);
        json.field("why", &self.why);
    }
}

impl DumpedSchedule {
    fn write(&self, json: &mut Json) {
        json.field("id", &self.id);
        json.field("name", &self.name);
        json.field("plan", &self.plan);
        json.field("zone", &self.zone);
        json.field("paused", &self.paused);
        json.field("runs", &self.runs);
        json.field("failures", &self.failures);
        json.field("missed", &self.missed);
        json.field("skipped", &self.skipped);
        json.field("outcome", self.outcome);
        json.field("last_error", &self.last_error);
        json.list_field("upcoming", &self.upcoming, |json, at| json.field("at", at));
    }
}

impl RejectedTask {
    /// One JSON object, as in a [`Dump`].
    #[must_use]
    pub fn to_json(&self) -> String {
        Json::object(|json| self.write(json))
    }

    fn write(&self, json: &mut Json) {
        json.field("at", &self.at);
        json.field("part", &*self.part);
        json.field("reason", &self.reason);
        json.field("answer", self.answer);
        json.field("task", &self.task);
        json.field("type", self.type_name);
        json.field("site", &self.site);
        json.field("priority", &u32::from(self.priority));
        json.field("level", &self.level);
        json.field("queued", &self.queued);
        json.field("capacity", &bound(self.capacity));
        json.field("threads", &self.threads);
        json.field("core", &self.size.core);
        json.field("max", &self.size.max);
        json.field("active", &self.active);
        json.field("oldest_wait", &self.oldest_wait);
        json.field("like_it", &self.like_it);
    }
}

/// File and line. The folder says little, and may say whose machine it was built on.
pub(crate) fn site_in_words(site: &'static Location<'static>) -> String {
    let file = site.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{file}:{}", site.line())
}
