//! Making a [`Dump`], and what the recorder is told of submissions.
//!
//! In: a pool. Out: everything it knows about itself, as plain data. No lock is held for longer than one of its parts takes.

use super::control::{Control, WorkerStats};
use super::engine::Engine;
use super::{Pool, RunOutcome, ScheduleHandle};
use crate::handle::TaskRef;
use crate::observe::flight::{Recording, Subject};
use crate::observe::{Dump, DumpedSchedule, DumpedTask, DumpedWorker, Recent, RejectedTask, site_in_words};
use crate::sync::Arc;
use crate::task::TaskInfo;
use crate::task::block::Header;
use crate::time::Tick;
use std::time::Duration;

/// Waiting tasks in a dump, and runs to come of each schedule.
const QUEUED: usize = 100;
const UPCOMING: usize = 10;

impl Pool {
    /// Everything the pool can tell about itself at this moment: figures, settings, what runs, what waits and why, the last
    /// refusals, and the last events if it [records](crate::PoolBuilder::recorder) them. To be written to a file when
    /// something is wrong, and looked at later.
    #[must_use]
    pub fn dump(&self) -> Dump {
        let control = self.control();
        dump(self.engine(), &control)
    }
}

impl Control {
    /// As [`Pool::dump`]. `None`: the pool is gone.
    #[must_use]
    pub fn dump(&self) -> Option<Dump> {
        Some(dump(&self.engine()?, self))
    }

    /// The events from number `since` on, as far as they are kept; then ask again with [`Recent::next`]. Nothing where the pool
    /// does not [record](crate::PoolBuilder::recorder), or is gone. What runs still has no event yet.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(1).recorder(1_000).build()?;
    /// let control = pool.control();
    /// pool.execute(|| ())?;
    /// assert!(pool.wait_idle(std::time::Duration::from_secs(60)));
    /// let first = control.recent(0);
    /// assert_eq!(first.events.len(), 3); // submitted, taken, ended
    /// assert!(control.recent(first.next).events.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn recent(&self, since: u64) -> Recent {
        let recent = self.engine().and_then(|engine| {
            let recording = engine.recording.as_ref()?;
            Some(recording.flight.recent(since, engine.clock.tick()))
        });
        recent.unwrap_or_default()
    }

    /// Whether the pool [records](crate::PoolBuilder::recorder).
    #[must_use]
    pub fn records(&self) -> bool {
        self.engine().is_some_and(|engine| engine.recording.is_some())
    }

    /// The last hundred tasks that were not accepted, and how the pool was then. Always kept.
    #[must_use]
    pub fn rejected(&self) -> Vec<RejectedTask> {
        self.engine()
            .map(|engine| engine.refusals.read())
            .unwrap_or_default()
    }
}

fn dump(engine: &Arc<Engine>, control: &Control) -> Dump {
    let mut recent = control.recent(0);
    recent.events.sort_by_key(|event| event.at);
    Dump {
        name: engine.name.clone(),
        at: engine.clock.now(),
        now: recent.now,
        settings: engine.settings_in_words(),
        stats: engine.stats(),
        lanes: control.lanes(),
        stalled: control.stalled(),
        lints: engine.lints(),
        advice: engine.advice().to_string(),
        workers: control.workers().into_iter().map(dumped_worker).collect(),
        queued: control.queued(QUEUED).iter().map(waiting).collect(),
        schedules: control.schedules().iter().map(dumped_schedule).collect(),
        rejected: control.rejected(),
        records: control.records(),
        events: recent.events,
    }
}

fn dumped_worker(worker: WorkerStats) -> DumpedWorker {
    let running = worker.running.iter().map(|running| {
        let mut task = match &running.task {
            Some(task) => dumped_task(task),
            None => DumpedTask::of_type(running.type_name),
        };
        task.running_for = Some(running.at_least);
        task
    });
    DumpedWorker {
        number: worker.number,
        part: worker.part.clone(),
        ended: worker.ended,
        running: running.collect(),
    }
}

fn waiting(task: &TaskRef) -> DumpedTask {
    // What runs is told beside.
    let why = Some(task.explain_with(false).to_string());
    DumpedTask {
        why,
        ..dumped_task(task)
    }
}

fn dumped_task(task: &TaskRef) -> DumpedTask {
    let site = task.site().map(site_in_words);
    DumpedTask {
        id: Some(task.id()),
        name: task.name().map(str::to_owned),
        site,
        priority: Some(task.priority().number()),
        view: task.view(),
        age: task.age(),
        ..DumpedTask::of_type(task.type_name())
    }
}

fn dumped_schedule(schedule: &ScheduleHandle) -> DumpedSchedule {
    let stats = schedule.stats();
    let plan = schedule.schedule();
    DumpedSchedule {
        id: schedule.id(),
        name: schedule.name(),
        plan: plan.to_string(),
        zone: plan.zone_name().map(String::from),
        paused: schedule.is_paused(),
        runs: stats.runs,
        failures: stats.failures,
        missed: stats.missed,
        skipped: stats.skipped,
        outcome: match stats.last_outcome {
            RunOutcome::None => "none",
            RunOutcome::Started => "running",
            RunOutcome::Succeeded => "succeeded",
            RunOutcome::Failed(_) => "failed",
        },
        last_error: stats.last_error,
        upcoming: schedule.upcoming(UPCOMING),
    }
}

impl Engine {
    fn settings_in_words(&self) -> Vec<(&'static str, String)> {
        let config = &self.config;
        let time = |limit: Option<Duration>| limit.map_or("none".to_owned(), |limit| format!("{limit:?}"));
        vec![
            ("growth", format!("{:?}", config.growth)),
            ("keep_alive", format!("{:?}", self.keep_alive())),
            ("core_timeout", self.core_timeout().to_string()),
            ("queue", format!("{:?}", config.queue)),
            ("on_full", format!("{:?}", self.reject())),
            ("on_drop", format!("{:?}", config.on_drop)),
            ("on_blocking", format!("{:?}", config.on_blocking)),
            ("spare_threads", config.spare_threads.to_string()),
            ("blocking_threads", config.blocking_threads.to_string()),
            ("time_limit", time(self.hooks.limits.time_limit)),
            ("slow_after", time(self.hooks.limits.slow_after)),
            ("thread_name", config.thread_name.clone()),
            ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ]
    }

    /// Where the pool records: the present, before a task is let in. Afterwards it may be running, or over.
    pub(crate) fn record_tick(&self) -> Option<Tick> {
        self.recording.as_ref().map(|_| self.clock.tick())
    }

    /// Where the pool records: a task was accepted, which was brought at that time.
    pub(crate) fn note_submitted(&self, at: Option<Tick>, subject: impl FnOnce(&Recording) -> Subject) {
        if let (Some(recording), Some(at)) = (&self.recording, at) {
            recording.submitted(subject(recording), at);
        }
    }
}

impl Recording {
    /// The caller holds a share of the block.
    pub(crate) fn subject_of_block(&self, task: &Header, level: Option<usize>) -> Subject {
        let side = task.side();
        let id = side.map_or(0, |side| side.id);
        let name = side.and_then(|side| side.name.as_deref());
        self.subject(task.type_name(), id, name, level)
    }

    /// Of a task that is told to others anyway.
    pub(super) fn subject_of(&self, task: &TaskInfo<'_>, level: Option<usize>) -> Subject {
        self.subject(task.type_name, task.id, task.name, level)
    }
}
