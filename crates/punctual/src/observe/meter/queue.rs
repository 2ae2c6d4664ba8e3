//! Figures of what waits, of the whole queue and of each of its levels.

use super::Pool;
use crate::observe::{Histogram, Stats};
use crate::queue::Capacity;
use std::time::Duration;

impl Pool<'_> {
    pub(super) fn waiting(&mut self, stats: &Stats) {
        if let Capacity::Bounded(capacity) = stats.capacity {
            let left = capacity.saturating_sub(stats.queued);
            self.gauge(
                "executor_queue_capacity_tasks",
                "How many tasks may wait.",
                &[],
                capacity as f64,
            );
            self.gauge(
                "executor_queue_remaining_tasks",
                "How many more may wait.",
                &[],
                left as f64,
            );
        }
        if stats.levels.is_empty() {
            self.queue(&[], stats.queued, stats.oldest_wait, &stats.wait);
        }
        self.gauge(
            "executor_queued_local_tasks",
            "Of those that wait, how many lie in workers' deques.",
            &[],
            stats.queued_local as f64,
        );
        self.gauge(
            "executor_lane_oldest_wait_seconds",
            "How long the oldest task in a view's line has waited, at most; 0 if none does.",
            &[],
            stats.oldest_in_line.unwrap_or_default().as_secs_f64(),
        );
    }

    fn queue(
        &mut self,
        labels: &[(&'static str, &str)],
        queued: usize,
        oldest: Option<Duration>,
        wait: &Histogram,
    ) {
        self.gauge("executor_queued_tasks", "Tasks that wait.", labels, queued as f64);
        self.gauge(
            "executor_queue_oldest_wait_seconds",
            "How long the oldest waiting task has waited, at most; 0 if none waits.",
            labels,
            oldest.unwrap_or_default().as_secs_f64(),
        );
        self.times(
            "executor_queue_wait_seconds",
            "From acceptance to start, sampled.",
            labels,
            wait,
        );
    }

    pub(super) fn levels(&mut self, stats: &Stats) {
        for (number, level) in stats.levels.iter().enumerate() {
            let priority = number.to_string();
            let labels = [("priority", &*priority)];
            self.queue(&labels, level.queued, level.oldest_wait, &level.wait);
            self.gauge(
                "executor_queue_nonempty_seconds",
                "For at least how long tasks have waited without a break; 0 if none waits.",
                &labels,
                level.nonempty_for.unwrap_or_default().as_secs_f64(),
            );
            self.counter(
                "executor_aged_promotions_total",
                "Tasks that their wait brought before more urgent ones.",
                &[("from", &priority)],
                level.promoted as f64,
            );
            if let Some(target) = level.share_target {
                self.gauge(
                    "executor_share_target_ratio",
                    "The share it is meant to get.",
                    &labels,
                    target,
                );
                if let Some(actual) = level.share_lately {
                    self.gauge(
                        "executor_share_actual_ratio",
                        "The share it got in about the last minute; absent if nothing was taken.",
                        &labels,
                        actual,
                    );
                }
            }
        }
    }
}
