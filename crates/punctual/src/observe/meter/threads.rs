//! Figures of threads: how many there are, and what they did.

use super::Pool;
use crate::State;
use crate::observe::Stats;

impl Pool<'_> {
    pub(super) fn threads(&mut self, stats: &Stats) {
        let busy = stats.threads.saturating_sub(stats.idle);
        for (name, help, value) in [
            ("executor_active_threads", "Workers that run a task now.", busy),
            ("executor_pool_size_threads", "Live workers.", stats.threads),
            (
                "executor_pool_core_threads",
                "Configured threads that stay.",
                stats.size.core,
            ),
            (
                "executor_pool_max_threads",
                "Configured threads at most.",
                stats.size.max,
            ),
            (
                "executor_spare_threads",
                "Threads beyond max that stand in for workers whose task waits.",
                stats.spare,
            ),
        ] {
            self.gauge(name, help, &[], value as f64);
        }
        for (since, value) in [("start", stats.largest), ("resize", stats.largest_since_resize)] {
            self.gauge(
                "executor_pool_largest_threads",
                "The most live workers there were, since the pool was built and since its last resize.",
                &[("since", since)],
                value as f64,
            );
        }
        for (reason, value) in [
            ("core", stats.starts.core),
            ("burst", stats.starts.burst),
            ("spare", stats.starts.spare),
        ] {
            self.counter(
                "executor_workers_started_total",
                "Worker threads started.",
                &[("reason", reason)],
                value as f64,
            );
        }
        for (reason, value) in [
            ("keep_alive", stats.stops.idle),
            ("resize", stats.stops.surplus),
            ("shutdown", stats.stops.closed),
        ] {
            self.counter(
                "executor_workers_stopped_total",
                "Worker threads that ended.",
                &[("reason", reason)],
                value as f64,
            );
        }
        for (name, help, value) in [
            (
                "executor_workers_failed_starts_total",
                "Worker threads that the system refused to start.",
                stats.failed_starts,
            ),
            (
                "executor_worker_parks_total",
                "How often a worker went to sleep.",
                stats.parks,
            ),
            (
                "executor_worker_spurious_wakeups_total",
                "How often a worker was called from its sleep, found nothing, and went back.",
                stats.spurious_wakeups,
            ),
            (
                "executor_steals_total",
                "Tasks that a worker took from another's deque.",
                stats.steals,
            ),
            (
                "executor_steal_failures_total",
                "Looks at all other deques that got nothing.",
                stats.failed_steals,
            ),
        ] {
            self.counter(name, help, &[], value as f64);
        }
        for state in [
            State::Running,
            State::Shutdown,
            State::Stop,
            State::Tidying,
            State::Terminated,
        ] {
            let label = format!("{state:?}").to_lowercase();
            self.gauge(
                "executor_state",
                "1 for the state the pool is in.",
                &[("state", &label)],
                f64::from(u8::from(stats.state == state)),
            );
        }
        let paused = f64::from(u8::from(stats.paused));
        self.gauge(
            "executor_paused",
            "1 while nothing is taken from the queue.",
            &[],
            paused,
        );
    }
}
