//! [`Stats`]: one reading of a pool, as a table of figures.

mod parts;

pub use parts::{LaneCounts, LevelStats, RejectCounts, RunCounts, StartCounts, StopCounts, ViewStats};

use super::json::Json;
#[cfg(any(feature = "prometheus", feature = "metrics"))]
use super::meter::Value;
use super::{Figure, Histogram, figures};
use crate::pool::{Size, State};
use crate::queue::Capacity;
use crate::sync::Arc;
use std::time::Duration;

figures! {
    /// One snapshot: it may be old, it never contradicts itself.
    ///
    /// A forked child sees zeros: its parent's pool is not there.
    ///
    /// `submitted = queued + active + suspended + pending_timers + finished + panicked + cancelled + expired + evicted + returned`, in
    /// every snapshot.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(2)?;
    /// pool.submit(|| ())?.join()?;
    /// let stats = pool.stats();
    /// assert_eq!((stats.submitted, stats.finished, stats.queued, stats.active), (1, 1, 0, 0));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[non_exhaustive]
    #[derive(Debug, Clone)]
    pub struct Stats {
        /// Where the pool is in its life.
        pub state: State = own,
            state("running").of(|stats| of_state(stats, State::Running)),
            state("shutdown").of(|stats| of_state(stats, State::Shutdown)),
            state("stop").of(|stats| of_state(stats, State::Stop)),
            state("tidying").of(|stats| of_state(stats, State::Tidying)),
            state("terminated").of(|stats| of_state(stats, State::Terminated));
        /// Whether nothing is taken: see [`Pool::pause`](crate::Pool::pause).
        pub paused: bool = own, gauge("executor_paused", "1 while nothing is taken from the queue.");
        /// The configured threads.
        pub size: Size = own,
            gauge("executor_pool_core_threads", "Configured threads that stay.").of(|stats| stats.size.core as f64),
            gauge("executor_pool_max_threads", "Configured threads at most.").of(|stats| stats.size.max as f64);
        /// Live worker threads.
        pub threads: usize = sum, gauge("executor_pool_size_threads", "Live workers.");
        /// Tasks that run now.
        pub active: usize = sum;
        /// Futures that have begun and are not being polled: they wait to be woken, or for a worker after that.
        pub suspended: usize = sum,
            gauge("executor_suspended_tasks", "Futures that have begun and wait to be woken.");
        /// Live workers without a task.
        pub idle: usize = sum,
            gauge("executor_active_threads", "Workers that run a task now.")
                .of(|stats| stats.threads.saturating_sub(stats.idle) as f64);
        /// Live threads beyond `max_threads`: they stand in for workers whose task waits inside the library.
        pub spare: usize = sum,
            gauge("executor_spare_threads", "Threads beyond max that stand in for workers whose task waits.");
        /// The most live workers there ever were.
        pub largest: usize = own, largest("start");
        /// The most live workers since the pool was last resized.
        pub largest_since_resize: usize = own, largest("resize");
        /// Tasks that wait.
        pub queued: usize = sum, queued().when(has_no_levels);
        /// Of the waiting tasks those that lie in workers' deques; the others lie in the shared queue. Only
        /// [`Queue::stealing`](crate::Queue::stealing) has deques.
        pub queued_local: usize = sum,
            gauge("executor_queued_local_tasks", "Of those that wait, how many lie in workers' deques.");
        /// Delayed tasks whose time has not come.
        pub pending_timers: usize = sum,
            gauge("executor_pending_timers", "Delayed tasks whose time has not come.");
        /// Schedules that have not ended.
        pub schedules: usize = sum;
        /// Spare threads that watch the clock while every worker is at work: one or none. Not among `threads`.
        pub keepers: usize = sum;
        /// Running tasks beyond their [`slow_after`](crate::PoolBuilder::slow_after).
        pub slow: usize = sum,
            gauge("executor_long_running_tasks", "Running tasks beyond their slow limit.");
        /// How many may wait.
        pub capacity: Capacity = own,
            gauge("executor_queue_capacity_tasks", "How many tasks may wait."),
            gauge("executor_queue_remaining_tasks", "How many more may wait.")
                .of(|stats| bound(stats.capacity).unwrap_or_default().saturating_sub(stats.queued) as f64)
                .when(|stats| bound(stats.capacity).is_some());
        /// Places of the queue that are taken: what the capacity is compared with. Tasks that wait, but for those that came
        /// due (they need no place), and delayed ones where
        /// [`capacity_covers_delayed`](crate::PoolBuilder::capacity_covers_delayed) says so.
        pub occupied: usize = own;
        /// How long the oldest waiting task has waited, at most: arrivals are noted by samples. What lies in workers' deques
        /// does not count here.
        pub oldest_wait: Option<Duration> = max, oldest_wait().when(has_no_levels);
        /// How long the oldest of those has waited that stand in a view's line (a lane's, a key's, a limit's), at most.
        pub oldest_in_line: Option<Duration> = max,
            gauge(
                "executor_lane_oldest_wait_seconds",
                "How long the oldest task in a view's line has waited, at most; 0 if none does."
            );
        /// Tasks accepted.
        pub submitted: u64 = sum,
            submitted("direct")
                .of(|stats| (stats.submitted - stats.submitted_delayed) as f64)
                .when(has_no_levels);
        /// Those among them that had a time: delayed ones, and runs of schedules.
        pub submitted_delayed: u64 = sum,
            submitted("delayed").of(|stats| {
                let runs = stats.submitted_runs;
                (stats.submitted_delayed.saturating_sub(runs.due) + runs.other) as f64
            });
        /// Runs of schedules among these.
        pub submitted_runs: RunCounts = sum;
        /// Tasks that a worker took.
        pub taken: u64 = sum;
        /// Tasks that returned.
        pub finished: u64 = sum, completed("finished").when(has_no_levels);
        /// Tasks that panicked.
        pub panicked: u64 = sum, completed("panicked").when(has_no_levels);
        /// Tasks that were cancelled, before they started or while they ran.
        pub cancelled: u64 = sum, completed("cancelled").when(has_no_levels);
        /// Those among them whose time had not come.
        pub cancelled_delayed: u64 = sum, completed("cancelled").when(has_levels);
        /// Tasks that waited too long.
        pub expired: u64 = sum, completed("expired").when(has_no_levels);
        /// Tasks thrown out for others.
        pub evicted: u64 = sum, completed("evicted").when(has_no_levels);
        /// Tasks that `stop` and `drain` gave back.
        pub returned: u64 = sum, completed("returned").when(has_no_levels);
        /// Those among them whose time had not come.
        pub returned_delayed: u64 = sum, completed("returned").when(has_levels);
        /// Worker threads ever started.
        pub threads_started: u64 = sum;
        /// Worker threads that have ended.
        pub threads_stopped: u64 = sum;
        /// Starts of worker threads that the system refused.
        pub failed_starts: u64 = sum,
            counter(
                "executor_workers_failed_starts_total",
                "Worker threads that the system refused to start."
            );
        /// How often a worker went to sleep.
        pub parks: u64 = sum, counter("executor_worker_parks_total", "How often a worker went to sleep.");
        /// How often one was called from its sleep, found nothing to do, and went back to it: another thread had been
        /// faster.
        pub spurious_wakeups: u64 = sum,
            counter(
                "executor_worker_spurious_wakeups_total",
                "How often a worker was called from its sleep, found nothing, and went back."
            );
        /// How often a future was polled.
        pub polls: u64 = sum, counter("executor_polls_total", "Polls of futures.");
        /// How often a suspended future was put into the queue again, because it was woken.
        pub wakes: u64 = sum,
            counter("executor_wakes_total", "How often a suspended future was put into the queue again.");
        /// Tasks that a worker took from another's deque.
        pub steals: u64 = sum, counter("executor_steals_total", "Tasks that a worker took from another's deque.");
        /// Looks at all other deques that got nothing: they were empty, or another worker was just taking.
        pub failed_steals: u64 = sum,
            counter("executor_steal_failures_total", "Looks at all other deques that got nothing.");
        /// Ticks of schedules that came due while no run was in progress, and could not start in time.
        pub missed: u64 = sum;
        /// Ticks of schedules that came due while a run was in progress, and were left out.
        pub skipped: u64 = sum;
        /// Callbacks of the user's (hooks, sinks) that panicked. A child pool has the same hooks.
        pub hook_panics: u64 = own;
        /// Waits inside tasks, for other tasks, on workers that were not to block
        /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)): refused, warned of, or, at the end of a scope,
        /// waited all the same.
        pub blocking_waits: u64 = sum;
        /// Tasks that were not accepted.
        pub rejected: RejectCounts = sum;
        /// How long submitters ran tasks themselves, because the pool was full.
        pub caller_ran_for: Duration = sum,
            counter(
                "executor_caller_runs_seconds_total",
                "Time that submitters lost by running tasks themselves."
            );
        /// How long tasks computed, of the time that they ran; sampled.
        pub computed: Duration = sum,
            counter("executor_task_cpu_seconds_total", "Processor time of tasks, sampled.");
        /// Worker threads that have ended, by reason.
        pub stops: StopCounts = sum;
        /// Those ever started, by what for.
        pub starts: StartCounts = sum;
        /// The niceness the system gave to the worker that was started last, if the pool asked for one
        /// ([`PoolBuilder::nice`](crate::PoolBuilder::nice)): another than was asked for if it refused.
        pub nice: Option<i32> = own;
        /// From acceptance to start, sampled.
        pub wait: Histogram = sum, queue_wait().when(has_no_levels);
        /// From start to end, sampled.
        pub run: Histogram = sum,
            counter("executor_worker_busy_seconds_total", "Time that workers ran tasks, sampled.")
                .of(|stats| stats.run.sum().as_secs_f64());
        /// From the time a delayed task was due to the moment it was put before the workers.
        pub lateness: Histogram = sum,
            histogram(
                "executor_timer_lag_seconds",
                "From the time a delayed task was due to when it was put before the workers."
            );
        /// From the wake of a future to its poll, sampled.
        pub wake: Histogram = sum,
            histogram("executor_wake_seconds", "From the wake of a future to its poll, sampled.");
        /// Per level; a plain queue has one.
        pub levels: Vec<LevelStats> = sum;
        /// Views with a limit or a name that are still there. Not lanes and keys, of which there may be many: each tells
        /// its own, [`Executor::view_stats`](crate::Executor::view_stats).
        pub views: Vec<ViewStats> = sum;
    }
}

impl Stats {
    /// What a forked child sees of its parent's pool: nothing of it is there.
    pub(crate) fn of_nothing(state: State, size: Size, capacity: Capacity) -> Self {
        Stats {
            state,
            size,
            capacity,
            ..Stats::nothing()
        }
    }

    /// What a view tells, of all of it.
    pub(crate) fn as_view(&self, name: Arc<str>) -> ViewStats {
        ViewStats {
            name,
            queued: self.queued,
            active: self.active,
            oldest_wait: self.oldest_wait,
            taken: self.taken,
            wait: self.wait.clone(),
        }
    }

    /// All figures as one JSON object; times are seconds, histograms lists of `[upper bound, events]`.
    #[must_use]
    pub fn to_json(&self) -> String {
        Json::object(|json| self.fill(json))
    }
}

#[cfg(any(feature = "prometheus", feature = "metrics"))]
fn has_levels(stats: &Stats) -> bool {
    !stats.levels.is_empty()
}

/// What the levels show, if there are some, the whole queue does not show again.
#[cfg(any(feature = "prometheus", feature = "metrics"))]
fn has_no_levels(stats: &Stats) -> bool {
    !has_levels(stats)
}

#[cfg(any(feature = "prometheus", feature = "metrics"))]
fn of_state(stats: &Stats, state: State) -> f64 {
    f64::from(u8::from(stats.state == state))
}

pub(super) fn bound(capacity: Capacity) -> Option<usize> {
    match capacity {
        Capacity::Bounded(places) => Some(places),
        Capacity::Unbounded => None,
    }
}

impl Figure for State {
    fn nothing() -> Self {
        State::Terminated
    }

    fn add(&mut self, _: &Self) {}

    fn write(&self, name: &str, json: &mut Json) {
        json.field(name, &format!("{self:?}"));
    }
}

impl Figure for Size {
    fn nothing() -> Self {
        Size { core: 0, max: 0 }
    }

    fn add(&mut self, _: &Self) {}

    fn write(&self, _: &str, json: &mut Json) {
        json.field("core", &self.core);
        json.field("max", &self.max);
    }
}

impl Figure for Capacity {
    fn nothing() -> Self {
        Capacity::Bounded(0)
    }

    fn add(&mut self, _: &Self) {}

    fn write(&self, name: &str, json: &mut Json) {
        json.field(name, &bound(*self));
    }

    #[cfg(any(feature = "prometheus", feature = "metrics"))]
    fn value(&self) -> Option<Value> {
        bound(*self).map(|places| Value::Number(places as f64))
    }
}
