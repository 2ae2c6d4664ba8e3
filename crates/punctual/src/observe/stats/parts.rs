//! Tables of what [`Stats`](super::Stats) is made of: counts by reason, levels, views.

use crate::observe::json::Json;
#[cfg(any(feature = "prometheus", feature = "metrics"))]
use crate::observe::meter::Labelled;
use crate::observe::{Figure, Histogram, figures};
use crate::sync::Arc;
use std::time::Duration;

figures! {
    /// Tasks that were not accepted, by what became of them.
    #[non_exhaustive]
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct RejectCounts {
        /// The queue was full.
        pub full: u64 = sum,
            rejected("abort", "full").of(|counts| counts.full.saturating_sub(counts.waited) as f64);
        /// The pool had been shut down.
        pub shutdown: u64 = sum, rejected("abort", "shutdown");
        /// No worker was alive and none could be started.
        pub no_thread: u64 = sum, rejected("abort", "no_thread");
        /// Waiting for room from the pool's own worker could never have ended.
        pub would_deadlock: u64 = sum, rejected("block", "would_deadlock");
        /// Run by the submitting thread ([`Reject::CallerRuns`](crate::Reject), or `all`, `any` and `scope` from a worker of a
        /// full pool).
        pub caller_ran: u64 = sum, rejected("caller_runs", "full");
        /// Dropped by [`Reject::Discard`](crate::Reject).
        pub discarded: u64 = sum, rejected("discard", "full");
        /// Those among `full` that had waited for room, in vain ([`Reject::Block`](crate::Reject), or a submission with a
        /// limit).
        pub waited: u64 = sum, rejected("block", "full");
        /// Accepted by [`Reject::DiscardOldest`](crate::Reject), each in the place of a task that was thrown out: no refusal,
        /// but the pool was as full as for one.
        pub displaced: u64 = sum, rejected("discard_oldest", "full");
    }
}

figures! {
    /// Worker threads that have ended, by reason.
    #[non_exhaustive]
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct StopCounts {
        /// The pool had ended.
        pub closed: u64 = sum, stopped("shutdown");
        /// Idle for the keep-alive time.
        pub idle: u64 = sum, stopped("keep_alive");
        /// More than the pool may have: it was resized, or a spare was no longer needed.
        pub surplus: u64 = sum, stopped("resize");
    }
}

impl StopCounts {
    pub(crate) fn sum(self) -> u64 {
        self.closed + self.idle + self.surplus
    }
}

figures! {
    /// Worker threads ever started, by what for. A thread is core as long as there are no more than stay, a spare beyond
    /// those that there may be, and otherwise one of a burst.
    #[non_exhaustive]
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct StartCounts {
        /// To stay.
        pub core: u64 = sum, started("core");
        /// For a while: there was more to do.
        pub burst: u64 = sum, started("burst");
        /// To stand in for workers whose task waits.
        pub spare: u64 = sum, started("spare");
    }
}

figures! {
    /// Runs of schedules: how many came due, and how many of them a worker took, by the kind of schedule.
    #[non_exhaustive]
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
    pub struct RunCounts {
        /// Came due, and so were accepted as tasks.
        pub due: u64 = sum;
        /// Taken, of schedules that keep their pace: [`Schedule::every`](crate::Schedule::every).
        pub fixed_rate: u64 = sum, submitted("fixed_rate");
        /// Taken, of those with a pause between runs: [`Schedule::with_delay`](crate::Schedule::with_delay).
        pub fixed_delay: u64 = sum, submitted("fixed_delay");
        /// Taken, of those by the calendar.
        pub cron: u64 = sum, submitted("cron");
        /// Taken, of the others: at one instant, or when a trigger says.
        pub other: u64 = sum;
    }
}

figures! {
    /// One level of the queue.
    #[non_exhaustive]
    #[derive(Debug, Clone)]
    pub struct LevelStats {
        /// Tasks that wait here.
        pub queued: usize = sum, queued();
        /// How long the oldest of them has waited, at most.
        pub oldest_wait: Option<Duration> = max, oldest_wait();
        /// For at least how long tasks have waited here without a break: since the oldest of them came, or since the first
        /// look at the pool's statistics after the level was last empty. `None`: none waits.
        pub nonempty_for: Option<Duration> = max,
            gauge(
                "executor_queue_nonempty_seconds",
                "For at least how long tasks have waited without a break; 0 if none waits."
            );
        /// Tasks without a time that were accepted here.
        pub submitted: u64 = sum, submitted("direct");
        /// Tasks of this level that returned; these three are counted a moment after the task's end is known.
        pub finished: u64 = sum, completed("finished");
        /// Those that panicked.
        pub panicked: u64 = sum, completed("panicked");
        /// Those that were cancelled, before they started or while they ran; not those whose time had not come.
        pub cancelled: u64 = sum, completed("cancelled");
        /// Those that `stop` and `drain` gave back; not those whose time had not come.
        pub returned: u64 = sum, completed("returned");
        /// Tasks that a worker took from here, or that a thread which waited for them ran in place.
        pub taken: u64 = sum;
        /// Those among them that their wait brought before a more urgent one.
        pub promoted: u64 = sum,
            counter("executor_aged_promotions_total", "Tasks that their wait brought before more urgent ones.")
                .level_as("from");
        /// Tasks that waited here for longer than they were meant to.
        pub expired: u64 = sum, completed("expired");
        /// Tasks that were thrown out of here for others.
        pub evicted: u64 = sum, completed("evicted");
        /// The part of all picks that its weight asks for, where the queue has shares.
        pub share_target: Option<f64> = own,
            gauge("executor_share_target_ratio", "The share it is meant to get.");
        /// The part of all tasks taken so far that came from here, where the queue has shares.
        pub share_actual: Option<f64> = own;
        /// The same of about the last minute: since a look at the pool's statistics that was half a minute to a minute ago,
        /// or the last one before this, or the beginning. `None` also if no task was taken since.
        pub share_lately: Option<f64> = own,
            gauge(
                "executor_share_actual_ratio",
                "The share it got in about the last minute; absent if nothing was taken."
            );
        /// From acceptance to start, sampled.
        pub wait: Histogram = sum, queue_wait();
    }
}

impl Figure for Vec<LevelStats> {
    fn nothing() -> Self {
        Vec::new()
    }

    fn add(&mut self, child: &Self) {
        for (own, childs) in self.iter_mut().zip(child) {
            own.add(childs);
        }
        let all: u64 = self.iter().map(|level| level.taken).sum();
        for level in self {
            let is_shared = level.share_target.is_some() && all > 0;
            level.share_actual = is_shared.then(|| level.taken as f64 / all as f64);
        }
    }

    fn write(&self, name: &str, json: &mut Json) {
        json.list_field(name, self, |json, level| level.fill(json));
    }

    #[cfg(any(feature = "prometheus", feature = "metrics"))]
    fn measure(&self, to: &mut Labelled<'_>) {
        for (number, level) in self.iter().enumerate() {
            to.at_level(number, |to| level.measure(to));
        }
    }
}

figures! {
    /// One view of a pool. A task counts in its own view and in all that this one is inside of.
    ///
    /// ```
    /// let pool = punctual::Pool::builder("web").core_threads(4).build()?;
    /// let database = pool.limit(2)?.named("database");
    /// database.submit(|| ())?.join()?;
    /// let stats = database.view_stats();
    /// assert_eq!(&*stats.name, "web/limit(2)/database");
    /// assert_eq!((stats.queued, stats.taken), (0, 1));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[non_exhaustive]
    #[derive(Debug, Clone)]
    pub struct ViewStats {
        /// The pool's name, then the view's, then that of the view inside it: `web/limit(2)/database`.
        pub name: Arc<str> = own;
        /// Tasks that wait: for a slot of the view, or for a worker.
        pub queued: usize = sum;
        /// Tasks that run now.
        pub active: usize = sum;
        /// How long the oldest of the waiting ones has waited, at most: arrivals are noted by samples.
        pub oldest_wait: Option<Duration> = max;
        /// Tasks that began to run.
        pub taken: u64 = sum;
        /// From acceptance to start, sampled. Empty for a lane or a key without a name.
        pub wait: Histogram = sum;
    }
}

impl Figure for Vec<ViewStats> {
    fn nothing() -> Self {
        Vec::new()
    }

    fn add(&mut self, child: &Self) {
        self.extend_from_slice(child);
    }

    fn write(&self, name: &str, json: &mut Json) {
        json.list_field(name, self, |json, view| view.fill(json));
    }
}

/// Lanes (also those of keys, and sequential executors) that have something to do; made by
/// [`Control::lanes`](crate::Control::lanes). Those that have not are not counted: they cost nothing, not even that.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Those of which a task runs now.
    pub running: usize,
    /// Those in whose line a task waits; no more than about a thousand are counted.
    pub waiting: usize,
}
