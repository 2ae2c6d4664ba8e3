//! [`Stats`]: one reading of a pool.

use super::{Histogram, Recorder};
use crate::pool::{Size, State};
use crate::queue::Capacity;
use crate::sync::Arc;
use std::time::Duration;

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
    pub state: State,
    /// The configured threads.
    pub size: Size,
    /// Live worker threads.
    pub threads: usize,
    /// Tasks that run now.
    pub active: usize,
    /// Futures that have begun and are not being polled: they wait to be woken, or for a worker after that.
    pub suspended: usize,
    /// Live workers without a task.
    pub idle: usize,
    /// Live threads beyond `max_threads`: they stand in for workers whose task waits inside the library.
    pub spare: usize,
    /// The most live workers there ever were.
    pub largest: usize,
    /// The most live workers since the pool was last resized.
    pub largest_since_resize: usize,
    /// Whether nothing is taken: see [`Pool::pause`](crate::Pool::pause).
    pub paused: bool,
    /// Tasks that wait.
    pub queued: usize,
    /// How many may wait.
    pub capacity: Capacity,
    /// Places of the queue that are taken: what the capacity is compared with. Tasks that wait, but for those that came due
    /// (they need no place), and delayed ones where
    /// [`capacity_covers_delayed`](crate::PoolBuilder::capacity_covers_delayed) says so.
    pub occupied: usize,
    /// How long the oldest waiting task has waited, at most: arrivals are noted by samples. What lies in workers' deques
    /// does not count here.
    pub oldest_wait: Option<Duration>,
    /// How long the oldest of those has waited that stand in a view's line (a lane's, a key's, a limit's), at most.
    pub oldest_in_line: Option<Duration>,
    /// Tasks accepted.
    pub submitted: u64,
    /// Those among them that had a time: delayed ones, and runs of schedules.
    pub submitted_delayed: u64,
    /// Runs of schedules among these.
    pub submitted_runs: RunCounts,
    /// Tasks that a worker took.
    pub taken: u64,
    /// Tasks that returned.
    pub finished: u64,
    /// Tasks that panicked.
    pub panicked: u64,
    /// Tasks that were cancelled, before they started or while they ran.
    pub cancelled: u64,
    /// Those among them whose time had not come.
    pub cancelled_delayed: u64,
    /// Tasks that waited too long.
    pub expired: u64,
    /// Tasks thrown out for others.
    pub evicted: u64,
    /// Tasks that `stop` and `drain` gave back.
    pub returned: u64,
    /// Those among them whose time had not come.
    pub returned_delayed: u64,
    /// Tasks that were not accepted.
    pub rejected: RejectCounts,
    /// How long submitters ran tasks themselves, because the pool was full.
    pub caller_ran_for: Duration,
    /// How long tasks computed, of the time that they ran; sampled.
    pub computed: Duration,
    /// Running tasks beyond their [`slow_after`](crate::PoolBuilder::slow_after).
    pub slow: usize,
    /// Worker threads ever started.
    pub threads_started: u64,
    /// Worker threads that have ended.
    pub threads_stopped: u64,
    /// The same by reason.
    pub stops: StopCounts,
    /// Those ever started, by what for.
    pub starts: StartCounts,
    /// Starts of worker threads that the system refused.
    pub failed_starts: u64,
    /// How often a worker went to sleep.
    pub parks: u64,
    /// How often one was called from its sleep, found nothing to do, and went back to it: somebody else had been faster.
    pub spurious_wakeups: u64,
    /// How often a future was polled.
    pub polls: u64,
    /// How often a suspended future was put into the queue again, because somebody woke it.
    pub wakes: u64,
    /// From there to its poll, sampled.
    pub wake: Histogram,
    /// Of the waiting tasks those that lie in workers' deques; the others lie in the shared queue. Only
    /// [`Queue::stealing`](crate::Queue::stealing) has deques.
    pub queued_local: usize,
    /// Tasks that a worker took from another's deque.
    pub steals: u64,
    /// Looks at all other deques that got nothing: they were empty, or somebody else was just taking.
    pub failed_steals: u64,
    /// Delayed tasks whose time has not come.
    pub pending_timers: usize,
    /// Schedules that have not ended.
    pub schedules: usize,
    /// Ticks of schedules that came due while no run was in progress, and could not start in time.
    pub missed: u64,
    /// Ticks of schedules that came due while a run was in progress, and were left out.
    pub skipped: u64,
    /// Spare threads that watch the clock while every worker is at work: one or none. Not among `threads`.
    pub keepers: usize,
    /// From the time a delayed task was due to the moment it was put before the workers.
    pub lateness: Histogram,
    /// Callbacks of the user's (hooks, sinks) that panicked.
    pub hook_panics: u64,
    /// From acceptance to start, sampled.
    pub wait: Histogram,
    /// From start to end, sampled.
    pub run: Histogram,
    /// Per level; a plain queue has one.
    pub levels: Vec<LevelStats>,
    /// Views with a limit or a name that are still there. Not lanes and keys, of which there may be many: each tells
    /// its own, [`Executor::view_stats`](crate::Executor::view_stats).
    pub views: Vec<ViewStats>,
    /// The niceness the system gave to the worker that was started last, if the pool asked for one
    /// ([`PoolBuilder::nice`](crate::PoolBuilder::nice)): another than was asked for if it refused.
    pub nice: Option<i32>,
    /// Waits inside tasks, for other tasks, on workers that were not to block
    /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)): refused, warned of, or, at the end of a scope, waited
    /// all the same.
    pub blocking_waits: u64,
}

impl Stats {
    /// What a forked child sees of its parent's pool: nothing of it is there.
    pub(crate) fn of_nothing(state: State, size: Size, capacity: Capacity) -> Self {
        let none = Recorder::new().snapshot();
        Stats {
            state,
            size,
            threads: 0,
            active: 0,
            suspended: 0,
            idle: 0,
            spare: 0,
            largest: 0,
            largest_since_resize: 0,
            paused: false,
            queued: 0,
            capacity,
            occupied: 0,
            oldest_wait: None,
            oldest_in_line: None,
            submitted: 0,
            submitted_delayed: 0,
            submitted_runs: RunCounts::default(),
            taken: 0,
            finished: 0,
            panicked: 0,
            cancelled: 0,
            cancelled_delayed: 0,
            expired: 0,
            evicted: 0,
            returned: 0,
            returned_delayed: 0,
            rejected: RejectCounts::default(),
            caller_ran_for: Duration::ZERO,
            computed: Duration::ZERO,
            slow: 0,
            threads_started: 0,
            threads_stopped: 0,
            stops: StopCounts::default(),
            starts: StartCounts::default(),
            failed_starts: 0,
            parks: 0,
            spurious_wakeups: 0,
            polls: 0,
            wakes: 0,
            wake: none.clone(),
            queued_local: 0,
            steals: 0,
            failed_steals: 0,
            pending_timers: 0,
            schedules: 0,
            missed: 0,
            skipped: 0,
            keepers: 0,
            lateness: none.clone(),
            hook_panics: 0,
            wait: none.clone(),
            run: none,
            levels: Vec::new(),
            views: Vec::new(),
            nice: None,
            blocking_waits: 0,
        }
    }
}

impl Stats {
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

    /// Adds what an annex counted. What is the pool's alone (its state, size, capacity, the most threads it had; the
    /// hooks, which they share) stays.
    pub(crate) fn add(&mut self, annex: &Stats) {
        self.threads += annex.threads;
        self.active += annex.active;
        self.idle += annex.idle;
        self.spare += annex.spare;
        self.queued += annex.queued;
        self.oldest_wait = self.oldest_wait.max(annex.oldest_wait);
        self.oldest_in_line = self.oldest_in_line.max(annex.oldest_in_line);
        self.submitted += annex.submitted;
        self.submitted_delayed += annex.submitted_delayed;
        self.submitted_runs.add(annex.submitted_runs);
        self.caller_ran_for += annex.caller_ran_for;
        self.computed += annex.computed;
        self.slow += annex.slow;
        self.taken += annex.taken;
        self.finished += annex.finished;
        self.panicked += annex.panicked;
        self.cancelled += annex.cancelled;
        self.cancelled_delayed += annex.cancelled_delayed;
        self.expired += annex.expired;
        self.evicted += annex.evicted;
        self.returned += annex.returned;
        self.returned_delayed += annex.returned_delayed;
        self.rejected.add(annex.rejected);
        self.threads_started += annex.threads_started;
        self.threads_stopped += annex.threads_stopped;
        self.stops.add(annex.stops);
        self.starts.add(annex.starts);
        self.failed_starts += annex.failed_starts;
        self.parks += annex.parks;
        self.spurious_wakeups += annex.spurious_wakeups;
        self.suspended += annex.suspended;
        self.polls += annex.polls;
        self.wakes += annex.wakes;
        self.wake.add(&annex.wake);
        self.pending_timers += annex.pending_timers;
        self.schedules += annex.schedules;
        self.missed += annex.missed;
        self.skipped += annex.skipped;
        self.keepers += annex.keepers;
        self.lateness.add(&annex.lateness);
        self.wait.add(&annex.wait);
        self.run.add(&annex.run);
        for (mine, theirs) in self.levels.iter_mut().zip(&annex.levels) {
            mine.add(theirs);
        }
        let all: u64 = self.levels.iter().map(|level| level.taken).sum();
        for level in &mut self.levels {
            let is_shared = level.share_target.is_some() && all > 0;
            level.share_actual = is_shared.then(|| level.taken as f64 / all as f64);
        }
        self.views.extend_from_slice(&annex.views);
    }
}

/// Tasks that were not accepted, by what became of them.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RejectCounts {
    /// The queue was full.
    pub full: u64,
    /// The pool had been shut down.
    pub shutdown: u64,
    /// No worker was alive and none could be started.
    pub no_thread: u64,
    /// Waiting for room from the pool's own worker could never have ended.
    pub would_deadlock: u64,
    /// Run by the submitting thread ([`Reject::CallerRuns`](crate::Reject), or `all`, `any` and `scope` from a worker of a
    /// full pool).
    pub caller_ran: u64,
    /// Dropped by [`Reject::Discard`](crate::Reject).
    pub discarded: u64,
    /// Those among `full` that had waited for room, in vain ([`Reject::Block`](crate::Reject), or a submission with a limit).
    pub waited: u64,
    /// Accepted by [`Reject::DiscardOldest`](crate::Reject), each in the place of a task that was thrown out: no refusal, but
    /// the pool was as full as for one.
    pub displaced: u64,
}

impl RejectCounts {
    fn add(&mut self, other: RejectCounts) {
        self.full += other.full;
        self.shutdown += other.shutdown;
        self.no_thread += other.no_thread;
        self.would_deadlock += other.would_deadlock;
        self.caller_ran += other.caller_ran;
        self.discarded += other.discarded;
        self.waited += other.waited;
        self.displaced += other.displaced;
    }
}

/// Worker threads that have ended, by reason.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StopCounts {
    /// The pool had ended.
    pub closed: u64,
    /// Idle for the keep-alive time.
    pub idle: u64,
    /// More than the pool may have: it was resized, or a spare was no longer needed.
    pub surplus: u64,
}

impl StopCounts {
    pub(crate) fn sum(self) -> u64 {
        self.closed + self.idle + self.surplus
    }

    fn add(&mut self, other: StopCounts) {
        self.closed += other.closed;
        self.idle += other.idle;
        self.surplus += other.surplus;
    }
}

/// Worker threads ever started, by what for. A thread is core as long as there are no more than stay, a spare beyond those
/// that there may be, and otherwise one of a burst.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StartCounts {
    /// To stay.
    pub core: u64,
    /// For a while: there was more to do.
    pub burst: u64,
    /// To stand in for workers whose task waits.
    pub spare: u64,
}

impl StartCounts {
    fn add(&mut self, other: StartCounts) {
        self.core += other.core;
        self.burst += other.burst;
        self.spare += other.spare;
    }
}

/// Runs of schedules: how many came due, and how many of them a worker took, by the kind of schedule.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCounts {
    /// Came due, and so were accepted as tasks.
    pub due: u64,
    /// Taken, of schedules that keep their pace: [`Schedule::every`](crate::Schedule::every).
    pub fixed_rate: u64,
    /// Taken, of those with a pause between runs: [`Schedule::with_delay`](crate::Schedule::with_delay).
    pub fixed_delay: u64,
    /// Taken, of those by the calendar.
    pub cron: u64,
    /// Taken, of the others: at one instant, or when a trigger says.
    pub other: u64,
}

impl RunCounts {
    fn add(&mut self, other: RunCounts) {
        self.due += other.due;
        self.fixed_rate += other.fixed_rate;
        self.fixed_delay += other.fixed_delay;
        self.cron += other.cron;
        self.other += other.other;
    }
}

/// Lanes (also those of keys, and sequential executors) that have something to do; made by
/// [`Control::lanes`](crate::Control::lanes). Those that have not are not counted: they cost nothing, not even that.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LaneCounts {
    /// Those of which a task runs now.
    pub running: usize,
    /// Those in whose line somebody waits; no more than about a thousand are counted.
    pub waiting: usize,
}

/// One level of the queue.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct LevelStats {
    /// Tasks that wait here.
    pub queued: usize,
    /// How long the oldest of them has waited, at most.
    pub oldest_wait: Option<Duration>,
    /// For at least how long tasks have waited here without a break: since the oldest of them came, or since the first look at
    /// the pool's statistics after the level was last empty. `None`: none waits.
    pub nonempty_for: Option<Duration>,
    /// Tasks without a time that were accepted here.
    pub submitted: u64,
    /// Tasks of this level that returned; these three are counted a moment after the task's end is known.
    pub finished: u64,
    /// Those that panicked.
    pub panicked: u64,
    /// Those that were cancelled, before they started or while they ran; not those whose time had not come.
    pub cancelled: u64,
    /// Those that `stop` and `drain` gave back; not those whose time had not come.
    pub returned: u64,
    /// Tasks that a worker took from here, or that somebody who waited for them ran in place.
    pub taken: u64,
    /// Those among them that their wait brought before a more urgent one.
    pub promoted: u64,
    /// Tasks that waited here for longer than they were meant to.
    pub expired: u64,
    /// Tasks that were thrown out of here for others.
    pub evicted: u64,
    /// The part of all picks that its weight asks for, where the queue has shares.
    pub share_target: Option<f64>,
    /// The part of all tasks taken so far that came from here, where the queue has shares.
    pub share_actual: Option<f64>,
    /// The same of about the last minute: since a look at the pool's statistics that was half a minute to a minute ago, or the
    /// last one before this, or the beginning. `None` also if no task was taken since.
    pub share_lately: Option<f64>,
    /// From acceptance to start, sampled.
    pub wait: Histogram,
}

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
    pub name: Arc<str>,
    /// Tasks that wait: for a slot of the view, or for a worker.
    pub queued: usize,
    /// Tasks that run now.
    pub active: usize,
    /// How long the oldest of the waiting ones has waited, at most: arrivals are noted by samples.
    pub oldest_wait: Option<Duration>,
    /// Tasks that began to run.
    pub taken: u64,
    /// From acceptance to start, sampled. Empty for a lane or a key without a name.
    pub wait: Histogram,
}

impl LevelStats {
    fn add(&mut self, other: &LevelStats) {
        self.queued += other.queued;
        self.oldest_wait = self.oldest_wait.max(other.oldest_wait);
        self.nonempty_for = self.nonempty_for.max(other.nonempty_for);
        self.submitted += other.submitted;
        self.finished += other.finished;
        self.panicked += other.panicked;
        self.cancelled += other.cancelled;
        self.returned += other.returned;
        self.taken += other.taken;
        self.promoted += other.promoted;
        self.expired += other.expired;
        self.evicted += other.evicted;
        self.wait.add(&other.wait);
    }
}
