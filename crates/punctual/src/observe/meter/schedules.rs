//! Figures of schedules.

use super::Labelled;
use crate::{RunOutcome, ScheduleHandle};
use std::time::{SystemTime, UNIX_EPOCH};

impl Labelled<'_> {
    /// The name is its own among those of the pool.
    pub(super) fn schedule(&mut self, schedule: &ScheduleHandle, name: &str) {
        let stats = schedule.stats();
        let own = [("schedule", name)];
        let in_progress = stats.running as u64;
        let ended_well = stats
            .runs
            .saturating_sub(stats.failures)
            .saturating_sub(in_progress);
        for (outcome, value) in [("success", ended_well), ("failure", stats.failures)] {
            self.counter(
                "executor_schedule_runs_total",
                "Runs of a schedule that have ended.",
                &[own[0], ("outcome", outcome)],
                value as f64,
            );
        }
        for (reason, value) in [
            ("misfire", stats.missed.saturating_sub(stats.coalesced)),
            ("coalesced", stats.coalesced),
            ("overlap", stats.skipped),
        ] {
            self.counter(
                "executor_schedule_skipped_total",
                "Times of a schedule at which no run began.",
                &[own[0], ("reason", reason)],
                value as f64,
            );
        }
        self.times(
            "executor_schedule_lag_seconds",
            "From the time a run of a schedule was due to when it began, since the first scrape.",
            &own,
            &schedule.lag(),
        );
        let failing = matches!(stats.last_outcome, RunOutcome::Failed(_));
        self.gauge(
            "executor_schedule_failing",
            "1 if the last run failed.",
            &own,
            f64::from(u8::from(failing)),
        );
        for (name, help, at) in [
            (
                "executor_schedule_next_timestamp_seconds",
                "When the next run is due; absent if that is not known.",
                schedule.next_run(),
            ),
            (
                "executor_schedule_last_success_timestamp_seconds",
                "When the last run that went well ended; absent before.",
                stats.last_success,
            ),
        ] {
            if let Some(at) = at {
                self.gauge(name, help, &own, seconds(at));
            }
        }
    }
}

fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}
