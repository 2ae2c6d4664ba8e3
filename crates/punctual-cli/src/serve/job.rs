//! [`Job`]: a schedule that is in force, and what one of its runs does.

use crate::batch::job::{self, Attempt, Why};
use crate::file::plan::{SchedulePlan, TaskPlan, When};
use crate::serve::engine::Event;
use crate::serve::history::RunRecord;
use punctual::{Executor, Run, Schedule, ScheduleHandle, task};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc::SyncSender;
use std::time::Instant;

/// One schedule.
pub(crate) struct Job {
    pub(crate) name: Arc<str>,
    pub(crate) handle: ScheduleHandle,
    shared: Arc<Shared>,
}

struct Shared {
    running: AtomicUsize,
    /// No more runs; the one that is going on may end.
    retired: AtomicBool,
}

impl Job {
    /// Puts it in force: from now on it runs.
    pub(crate) fn start(
        plan: &SchedulePlan,
        task: Arc<TaskPlan>,
        place: &Executor,
        to: SyncSender<Event>,
    ) -> Result<Job, String> {
        let priority = task.priority;
        let shared = Arc::new(Shared {
            running: AtomicUsize::new(0),
            retired: AtomicBool::new(false),
        });
        let (name, inside) = (plan.name.clone(), shared.clone());
        let body = move |run: &Run| -> Result<(), Why> {
            if inside.retired.load(SeqCst) {
                return Ok(());
            }
            inside.running.fetch_add(1, SeqCst);
            let record = perform(&name, &task, run);
            let result = record.result.clone();
            inside.running.fetch_sub(1, SeqCst);
            // Nobody hears it when the program ends, and nobody needs to.
            let _ = to.send(Event::Ran(Box::new(record)));
            result
        };
        let handle = place
            .at_priority(priority)
            .schedule(schedule(plan), body)
            .map_err(|refused| format!("schedule {:?}: {refused}", plan.name))?;
        Ok(Job {
            name: plan.name.clone(),
            handle,
            shared,
        })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.shared.running.load(SeqCst) > 0
    }

    /// No more runs. One that is going on ends by itself; its handle is cancelled when it has.
    pub(crate) fn retire(&self) {
        self.shared.retired.store(true, SeqCst);
        self.handle.pause();
        if !self.is_running() {
            let _ = self.handle.cancel();
        }
    }
}

/// When, as the library wants it.
fn schedule(plan: &SchedulePlan) -> Schedule {
    let schedule = match &plan.when {
        When::Cron(cron, _) => (**cron).clone(),
        When::Every(period) => Schedule::every(*period),
        When::Delay(delay) => Schedule::with_delay(*delay),
        When::At(at) => Schedule::once_at(*at),
    };
    schedule
        .named(plan.name.to_string())
        .missed(plan.missed)
        .overlap(plan.overlap)
        .on_failure(plan.on_failure)
        .jitter(plan.jitter)
}

/// One run: attempts, until one succeeds or none is left.
fn perform(name: &Arc<str>, plan: &TaskPlan, run: &Run) -> RunRecord {
    let began = Instant::now();
    let mut attempts = 0;
    let last: Attempt = loop {
        attempts += 1;
        let attempt = job::attempt(plan, attempts);
        let is_last = match &attempt.result {
            Ok(()) | Err(Why::Stopped) => true,
            Err(_) => attempts > plan.retries || task::sleep(plan.backoff.before(attempts + 1, 0.5)).is_err(),
        };
        if is_last {
            break attempt;
        }
    };
    RunRecord {
        schedule: name.clone(),
        task: plan.name.clone(),
        scheduled: run.scheduled,
        started: run.actual,
        took: began.elapsed(),
        attempts: attempts as usize,
        missed: run.missed,
        output: RunRecord::keep_output(&last),
        result: last.result,
    }
}
