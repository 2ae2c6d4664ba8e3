//! A pool's figures as metrics: names, labels and values, before anybody writes them down.
//!
//! In: controls, each read once. Out: families, for the text of Prometheus and for the `metrics` facade: both show the same.
//! Names are those of Micrometer where the meaning is the same, so that boards made for it work. Gauges are read at this
//! moment; counters begin at 0; durations are seconds, in histograms and never as quantiles. The label `name` is the pool's,
//! `priority` the level, where the queue has levels.

use super::{Histogram, Stats};
use crate::queue::Capacity;
use crate::{Control, RunOutcome, ScheduleHandle, State};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names of schedules beyond this many are one: `other`.
pub(crate) const MOST_NAMES: usize = 200;

/// All that have one name.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One of them.
pub(crate) struct Sample {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Number(f64),
    Times(Histogram),
}

/// Families, each where it was named first.
#[derive(Default)]
struct Meter {
    families: Vec<Family>,
}

/// What a family is, apart from its samples.
type About = (&'static str, Kind, &'static str);

impl Meter {
    fn add(&mut self, (name, kind, help): About, labels: Vec<(&'static str, String)>, value: Value) {
        let sample = Sample { labels, value };
        match self.families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push(sample),
            None => self.families.push(Family {
                name,
                kind,
                help,
                samples: vec![sample],
            }),
        }
    }
}

/// One pool's figures on their way into the meter.
struct Pool<'a> {
    meter: &'a mut Meter,
    name: &'a str,
}

impl Pool<'_> {
    fn labels(&self, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let own = std::iter::once(("name", self.name.to_owned()));
        own.chain(more.iter().map(|(name, value)| (*name, (*value).to_owned())))
            .collect()
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, more: &[(&'static str, &str)], value: f64) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Gauge, help), labels, Value::Number(value));
    }

    fn counter(&mut self, name: &'static str, help: &'static str, more: &[(&'static str, &str)], value: f64) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Counter, help), labels, Value::Number(value));
    }

    fn times(
        &mut self,
        name: &'static str,
        help: &'static str,
        more: &[(&'static str, &str)],
        times: &Histogram,
    ) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Histogram, help), labels, Value::Times(times.clone()));
    }
}

/// All families of these pools. One that is gone is left out.
pub(crate) fn families<'a>(controls: impl IntoIterator<Item = &'a Control>) -> Vec<Family> {
    let mut meter = Meter::default();
    let build = ("executor_build_info", Kind::Gauge, "The version of the library.");
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    meter.add(build, version, Value::Number(1.0));
    let mut schedules = 0;
    for control in controls {
        let Some(stats) = control.stats() else { continue };
        let name = control.name();
        let mut pool = Pool {
            meter: &mut meter,
            name: &name,
        };
        pool.threads(&stats);
        pool.tasks(&stats);
        pool.waiting(&stats);
        pool.levels(&stats);
        let stalled = control.stalled().unwrap_or_default();
        pool.gauge(
            "executor_stalled_seconds",
            "For how long no task has ended while tasks wait and every worker is busy.",
            &[],
            stalled.as_secs_f64(),
        );
        for schedule in control.schedules() {
            schedules += 1;
            pool.schedule(&schedule, schedules <= MOST_NAMES);
        }
    }
    meter.families
}

impl Pool<'_> {
    fn threads(&mut self, stats: &Stats) {
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
        self.counter(
            "executor_workers_started_total",
            "Worker threads started.",
            &[],
            stats.threads_started as f64,
        );
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
                "executor_steals_total",
                "Tasks that a worker took from another's deque.",
                stats.steals,
            ),
            (
                "executor_steal_failures_total",
                "Looks at all other deques that found nothing.",
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

    fn tasks(&mut self, stats: &Stats) {
        let direct = stats.submitted - stats.submitted_delayed;
        for (kind, value) in [("direct", direct), ("delayed", stats.submitted_delayed)] {
            self.counter(
                "executor_submitted_tasks_total",
                "Tasks that were accepted; delayed are those with a time, runs of schedules too.",
                &[("kind", kind)],
                value as f64,
            );
        }
        for (outcome, value) in [
            ("finished", stats.finished),
            ("panicked", stats.panicked),
            ("cancelled", stats.cancelled),
            ("expired", stats.expired),
            ("evicted", stats.evicted),
            ("returned", stats.returned),
        ] {
            self.counter(
                "executor_completed_tasks_total",
                "Accepted tasks that have come to their end, by its kind.",
                &[("outcome", outcome)],
                value as f64,
            );
        }
        let rejected = &stats.rejected;
        for (policy, reason, value) in [
            ("abort", "full", rejected.full),
            ("caller_runs", "full", rejected.caller_ran),
            ("discard", "full", rejected.discarded),
            ("abort", "shutdown", rejected.shutdown),
            ("abort", "no_thread", rejected.no_thread),
            ("block", "would_deadlock", rejected.would_deadlock),
        ] {
            self.counter(
                "executor_rejected_tasks_total",
                "Tasks that were not accepted, by what became of them and why.",
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
        self.times(
            "executor_seconds",
            "How long tasks run, sampled.",
            &[],
            &stats.run,
        );
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
        self.times(
            "executor_schedule_lag_seconds",
            "From the time a delayed task was due to when it was put before the workers.",
            &[],
            &stats.lateness,
        );
    }

    fn waiting(&mut self, stats: &Stats) {
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

    fn levels(&mut self, stats: &Stats) {
        for (number, level) in stats.levels.iter().enumerate() {
            let priority = number.to_string();
            let labels = [("priority", &*priority)];
            self.queue(&labels, level.queued, level.oldest_wait, &level.wait);
            self.counter(
                "executor_aged_promotions_total",
                "Tasks that their wait brought before more urgent ones.",
                &[("from", &priority)],
                level.promoted as f64,
            );
            if let Some(target) = level.share_target {
                let actual = level.share_actual.unwrap_or_default();
                self.gauge(
                    "executor_share_target_ratio",
                    "The share it is meant to get.",
                    &labels,
                    target,
                );
                self.gauge(
                    "executor_share_actual_ratio",
                    "The share it got so far.",
                    &labels,
                    actual,
                );
            }
        }
    }

    fn schedule(&mut self, schedule: &ScheduleHandle, is_named: bool) {
        let stats = schedule.stats();
        let name = match schedule.name() {
            Some(name) if is_named => name,
            None if is_named => format!("{}/{}", self.name, schedule.id()),
            _ => return,
        };
        let own = [("schedule", &*name)];
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
        for (reason, value) in [("misfire", stats.missed), ("overlap", stats.skipped)] {
            self.counter(
                "executor_schedule_skipped_total",
                "Times of a schedule at which no run began.",
                &[own[0], ("reason", reason)],
                value as f64,
            );
        }
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
