//! Figures of tasks: accepted, ended, rejected, polled and woken, and how long they ran.

use super::Pool;
use crate::observe::{Stats, TaskTimes};

impl Pool<'_> {
    pub(super) fn tasks(&mut self, stats: &Stats) {
        self.submitted(stats);
        self.completed(stats);
        let rejected = &stats.rejected;
        for (policy, reason, value) in [
            ("abort", "full", rejected.full.saturating_sub(rejected.waited)),
            ("block", "full", rejected.waited),
            ("discard_oldest", "full", rejected.displaced),
            ("caller_runs", "full", rejected.caller_ran),
            ("discard", "full", rejected.discarded),
            ("abort", "shutdown", rejected.shutdown),
            ("abort", "no_thread", rejected.no_thread),
            ("block", "would_deadlock", rejected.would_deadlock),
        ] {
            self.counter(
                "executor_rejected_tasks_total",
                "Tasks for which there was no room or no pool, by what became of them and why.",
                &[("policy", policy), ("reason", reason)],
                value as f64,
            );
        }
        for (name, help, value) in [
            (
                "executor_caller_runs_seconds_total",
                "Time that submitters lost by running tasks themselves.",
                stats.caller_ran_for,
            ),
            (
                "executor_worker_busy_seconds_total",
                "Time that workers ran tasks, sampled.",
                stats.run.sum(),
            ),
            (
                "executor_task_cpu_seconds_total",
                "Processor time of tasks, sampled.",
                stats.computed,
            ),
        ] {
            self.counter(name, help, &[], value.as_secs_f64());
        }
        for (name, help, value) in [
            (
                "executor_long_running_tasks",
                "Running tasks beyond their slow limit.",
                stats.slow,
            ),
            (
                "executor_suspended_tasks",
                "Futures that have begun and wait to be woken.",
                stats.suspended,
            ),
            (
                "executor_pending_timers",
                "Delayed tasks whose time has not come.",
                stats.pending_timers,
            ),
        ] {
            self.gauge(name, help, &[], value as f64);
        }
        for (name, help, value) in [
            ("executor_polls_total", "Polls of futures.", stats.polls),
            (
                "executor_wakes_total",
                "How often a suspended future was put into the queue again.",
                stats.wakes,
            ),
        ] {
            self.counter(name, help, &[], value as f64);
        }
        self.times(
            "executor_wake_seconds",
            "From the wake of a future to its poll, sampled.",
            &[],
            &stats.wake,
        );
        self.times(
            "executor_timer_lag_seconds",
            "From the time a delayed task was due to when it was put before the workers.",
            &[],
            &stats.lateness,
        );
    }

    /// What has a time has no level before it has come.
    fn submitted(&mut self, stats: &Stats) {
        let about = "Tasks that were accepted; delayed are those with a time, but for runs of schedules, which count when they begin.";
        let runs = stats.submitted_runs;
        let mut add = |labels: &[(&'static str, &str)], value: u64| {
            self.counter("executor_submitted_tasks_total", about, labels, value as f64);
        };
        for (number, level) in stats.levels.iter().enumerate() {
            let priority = number.to_string();
            add(&[("priority", &*priority), ("kind", "direct")], level.submitted);
        }
        if stats.levels.is_empty() {
            add(&[("kind", "direct")], stats.submitted - stats.submitted_delayed);
        }
        for (kind, value) in [
            (
                "delayed",
                stats.submitted_delayed.saturating_sub(runs.due) + runs.other,
            ),
            ("fixed_rate", runs.fixed_rate),
            ("fixed_delay", runs.fixed_delay),
            ("cron", runs.cron),
        ] {
            add(&[("kind", kind)], value);
        }
    }

    /// By level where there are some; what ended before its time had come has none.
    fn completed(&mut self, stats: &Stats) {
        let about = "Accepted tasks that have come to their end, by its kind.";
        let mut add = |labels: &[(&'static str, &str)], value: u64| {
            self.counter("executor_completed_tasks_total", about, labels, value as f64);
        };
        for (number, level) in stats.levels.iter().enumerate() {
            let priority = number.to_string();
            for (outcome, value) in [
                ("finished", level.finished),
                ("panicked", level.panicked),
                ("cancelled", level.cancelled),
                ("expired", level.expired),
                ("evicted", level.evicted),
                ("returned", level.returned),
            ] {
                add(&[("priority", &*priority), ("outcome", outcome)], value);
            }
        }
        if !stats.levels.is_empty() {
            add(&[("outcome", "cancelled")], stats.cancelled_delayed);
            add(&[("outcome", "returned")], stats.returned_delayed);
            return;
        }
        for (outcome, value) in [
            ("finished", stats.finished),
            ("panicked", stats.panicked),
            ("cancelled", stats.cancelled),
            ("expired", stats.expired),
            ("evicted", stats.evicted),
            ("returned", stats.returned),
        ] {
            add(&[("outcome", outcome)], value);
        }
    }

    pub(super) fn times_of_tasks(&mut self, all: &[TaskTimes]) {
        for times in all {
            let priority = times.level.map(|level| level.to_string());
            let mut labels: Vec<(&'static str, &str)> = Vec::new();
            labels.extend(priority.as_deref().map(|priority| ("priority", priority)));
            labels.extend(times.name.as_deref().map(|name| ("task", name)));
            self.times(
                "executor_seconds",
                "How long tasks run, sampled.",
                &labels,
                &times.run,
            );
        }
    }
}
