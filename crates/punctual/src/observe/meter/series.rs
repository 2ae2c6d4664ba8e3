//! [`Series`]: under which name, kind, labels and condition a metric shows a figure.
//!
//! In: calls in the tables of figures. Out: what [`Labelled::series`](super::Labelled::series) adds. Families that several
//! figures share have a function here, so that their name and help are written once.

use super::{About, Kind};

/// One metric of a table `T`.
pub(crate) struct Series<T> {
    pub(super) about: About,
    pub(super) labels: Vec<(&'static str, &'static str)>,
    /// What the label with the level is called, in a table of levels.
    pub(super) level: &'static str,
    /// Another value than the field's.
    pub(super) value: Option<fn(&T) -> f64>,
    pub(super) when: Option<fn(&T) -> bool>,
}

impl<T> Series<T> {
    fn new(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Series {
            about: (name, kind, help),
            labels: Vec::new(),
            level: "priority",
            value: None,
            when: None,
        }
    }

    pub(crate) fn with(mut self, label: &'static str, value: &'static str) -> Self {
        self.labels.push((label, value));
        self
    }

    pub(crate) fn level_as(mut self, label: &'static str) -> Self {
        self.level = label;
        self
    }

    pub(crate) fn of(mut self, value: fn(&T) -> f64) -> Self {
        self.value = Some(value);
        self
    }

    pub(crate) fn when(mut self, is_shown: fn(&T) -> bool) -> Self {
        self.when = Some(is_shown);
        self
    }
}

pub(crate) fn counter<T>(name: &'static str, help: &'static str) -> Series<T> {
    Series::new(name, Kind::Counter, help)
}

pub(crate) fn gauge<T>(name: &'static str, help: &'static str) -> Series<T> {
    Series::new(name, Kind::Gauge, help)
}

pub(crate) fn histogram<T>(name: &'static str, help: &'static str) -> Series<T> {
    Series::new(name, Kind::Histogram, help)
}

pub(crate) fn state<T>(state: &'static str) -> Series<T> {
    gauge("executor_state", "1 for the state the pool is in.").with("state", state)
}

pub(crate) fn largest<T>(since: &'static str) -> Series<T> {
    let help = "The most live workers there were, since the pool was built and since its last resize.";
    gauge("executor_pool_largest_threads", help).with("since", since)
}

pub(crate) fn started<T>(reason: &'static str) -> Series<T> {
    counter("executor_workers_started_total", "Worker threads started.").with("reason", reason)
}

pub(crate) fn stopped<T>(reason: &'static str) -> Series<T> {
    counter("executor_workers_stopped_total", "Worker threads that ended.").with("reason", reason)
}

/// What has a time has no level before it has come.
pub(crate) fn submitted<T>(kind: &'static str) -> Series<T> {
    let help = "Tasks that were accepted; delayed are those with a time, but for runs of schedules, which count when they begin.";
    counter("executor_submitted_tasks_total", help).with("kind", kind)
}

/// By level where there are some; what ended before its time had come has none.
pub(crate) fn completed<T>(outcome: &'static str) -> Series<T> {
    let help = "Accepted tasks that have come to their end, by its kind.";
    counter("executor_completed_tasks_total", help).with("outcome", outcome)
}

pub(crate) fn rejected<T>(policy: &'static str, reason: &'static str) -> Series<T> {
    let help = "Tasks for which there was no room or no pool, by what became of them and why.";
    let series = counter("executor_rejected_tasks_total", help);
    series.with("policy", policy).with("reason", reason)
}

pub(crate) fn queued<T>() -> Series<T> {
    gauge("executor_queued_tasks", "Tasks that wait.")
}

pub(crate) fn oldest_wait<T>() -> Series<T> {
    let help = "How long the oldest waiting task has waited, at most; 0 if none waits.";
    gauge("executor_queue_oldest_wait_seconds", help)
}

pub(crate) fn queue_wait<T>() -> Series<T> {
    histogram(
        "executor_queue_wait_seconds",
        "From acceptance to start, sampled.",
    )
}
