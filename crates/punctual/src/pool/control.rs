//! [`Control`]: what a dashboard may do with a pool.
//!
//! In: a pool, which it does not keep open. Out: snapshots, lists of tasks and schedules, and the few verbs that are safe in
//! anybody's hands: resize, pause, resume. What it does to single tasks and schedules it does through their own references.
//! Every list is bounded by the number of threads or by a number that the caller gives, and no lock is held while anything
//! runs that is not the library's. Not here: submitting, closing.

use super::engine::Engine;
use super::{ScheduleHandle, Size, State};
use crate::ConfigError;
use crate::handle::TaskRef;
use crate::observe::cost::Effort;
use crate::observe::{Advice, Cost, LaneCounts, Lint, Stats, TaskTimes};
use crate::sync::{Arc, Weak};
use crate::task::block::Reference;
use std::fmt;
use std::time::Duration;

/// A handle through which a pool is watched and steered. It is no owner: the pool closes when its last owner is dropped,
/// and from then on there is nothing to see.
///
/// ```
/// use punctual::Pool;
///
/// let pool = Pool::builder("web").core_threads(1).max_threads(4).build()?;
/// let control = pool.control();
/// pool.pause();
/// let report = pool.task(|| ()).name("report").submit()?;
/// assert_eq!(control.queued(10)[0].name(), Some("report"));
/// println!("{}", control.preview_resize(2, 8)?);
/// control.resize(2, 8)?;
/// control.resume();
/// report.join()?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct Control {
    name: Arc<str>,
    engine: Weak<Engine>,
}

/// A worker, and what it is at; made by [`Control::workers`].
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct WorkerStats {
    /// Counts the threads of its pool from 1. (0: a thread of another part of the pool, which runs one task here.)
    pub number: usize,
    /// The name of the part of the pool that it belongs to: the pool's own, or that of its blocking or reserved threads.
    pub part: Arc<str>,
    /// Tasks that it has run to their end.
    pub ended: u64,
    /// What it runs, from the outermost in: more than one where a task waits for another and runs it in place. Empty: it is
    /// idle, or between two tasks.
    pub running: Vec<RunningTask>,
}

/// A task on a worker.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct RunningTask {
    /// The task, if it has a handle and does not borrow.
    pub task: Option<TaskRef>,
    /// The type of its closure or future, which tells the function it was written in.
    pub type_name: &'static str,
    /// It has run for at least so long: since somebody looked first and found its worker at the same task.
    pub at_least: Duration,
}

/// What a resize would do; its `Display` is a sentence.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ResizePreview {
    /// As it is.
    pub from: Size,
    /// As it would be.
    pub to: Size,
    /// Idle threads that would end at once.
    pub end_at_once: usize,
    /// Threads that would end when they are done with their task.
    pub end_after_task: usize,
    /// Idle threads that would end after the keep-alive time, being more than core.
    pub end_after_keep_alive: usize,
    /// Threads that could start, when there is work for them, in addition to those there are.
    pub can_start: usize,
}

impl Control {
    /// No list of waiting tasks is longer than this: each of them is found under the queue's locks.
    pub const MOST_LISTED: usize = 1_000;

    pub(super) fn of(engine: &Arc<Engine>) -> Self {
        Control {
            name: engine.name.clone(),
            engine: Arc::downgrade(engine),
        }
    }

    /// The engine, of a pool that is still there. In a forked child nothing is.
    pub(super) fn engine(&self) -> Option<Arc<Engine>> {
        self.engine.upgrade().filter(|engine| !engine.is_forked())
    }

    fn reach(&self) -> Result<Arc<Engine>, ConfigError> {
        let gone = || {
            ConfigError::new(
                "pool",
                format!("{:?}", self.name),
                "the pool is gone: its last owner was dropped, and everything in it has ended",
                "keep a Pool or an Executor for as long as it is to be controlled",
            )
        };
        self.engine.upgrade().ok_or_else(gone)
    }

    /// The pool's name.
    #[must_use]
    pub fn name(&self) -> Arc<str> {
        self.name.clone()
    }

    /// What the pool did and does: one snapshot. `None`: it is gone.
    #[must_use]
    pub fn stats(&self) -> Option<Stats> {
        Some(self.engine()?.stats())
    }

    /// Where it is in its life. `None`: it is gone.
    #[must_use]
    pub fn state(&self) -> Option<State> {
        Some(self.engine()?.state())
    }

    /// As [`Pool::advice`](crate::Pool::advice). `None`: it is gone.
    #[must_use]
    pub fn advice(&self) -> Option<Advice> {
        Some(self.engine()?.advice())
    }

    /// What is often a mistake in its settings as they are now. None if it is gone.
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        self.engine().map(|engine| engine.lints()).unwrap_or_default()
    }

    /// As [`Pool::resize`](crate::Pool::resize).
    ///
    /// # Errors
    ///
    /// If the sizes cannot be, or the pool is gone.
    pub fn resize(&self, core: usize, max: usize) -> Result<Size, ConfigError> {
        self.reach()?.resize(core, max)
    }

    /// What [`Control::resize`] would do at this moment. Nothing is changed.
    ///
    /// # Errors
    ///
    /// If the resize would be refused, the same.
    pub fn preview_resize(&self, core: usize, max: usize) -> Result<ResizePreview, ConfigError> {
        self.reach()?.preview_resize(core, max)
    }

    /// As [`Pool::pause`](crate::Pool::pause).
    pub fn pause(&self) {
        if let Some(engine) = self.engine() {
            engine.pause();
        }
    }

    /// As [`Pool::resume`](crate::Pool::resume).
    pub fn resume(&self) {
        if let Some(engine) = self.engine() {
            engine.resume();
        }
    }

    /// The first tasks that wait, at most so many and at most [`Control::MOST_LISTED`]: what is due by the clock, then the queue in
    /// the order in which it would be taken if nothing else came, then those in the lines of views. Tasks with a handle or a
    /// name only; a fire-and-forget task has no identity outside the queue. Those of a scope are not listed, nor those in the
    /// deques of a [stealing](crate::Queue::stealing) pool's workers. A long queue is looked at for its first thousands.
    #[must_use]
    pub fn queued(&self, at_most: usize) -> Vec<TaskRef> {
        let most = at_most.min(Control::MOST_LISTED);
        let mut listed = Vec::new();
        for engine in self.parts() {
            listed.extend(engine.list_waiting(most - listed.len()));
        }
        listed.into_iter().map(TaskRef::of).collect()
    }

    /// The tasks that are run, or polled, at this moment: those with a handle, and not of a scope. Not those that a full pool
    /// runs on their submitter's thread. (On systems without a way to look at a running thread from outside it is always
    /// empty: Linux before 4.14.)
    #[must_use]
    pub fn running(&self) -> Vec<TaskRef> {
        let running = self.workers().into_iter().flat_map(|worker| worker.running);
        running.filter_map(|running| running.task).collect()
    }

    /// The workers and what they are at, by number; fire-and-forget tasks too, by their type.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// let (hold, held) = std::sync::mpsc::channel::<()>();
    /// let (begin, begun) = std::sync::mpsc::channel();
    /// pool.execute(move || {
    ///     begin.send(()).unwrap();
    ///     drop(held.recv());
    /// })?;
    /// begun.recv()?;
    /// let workers = pool.control().workers();
    /// assert_eq!(workers[0].number, 1);
    /// assert!(workers[0].running[0].type_name.contains("closure"));
    /// # drop(hold);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn workers(&self) -> Vec<WorkerStats> {
        self.parts()
            .iter()
            .flat_map(|engine| engine.list_workers())
            .collect()
    }

    /// For at least how long no task has ended although tasks wait and every worker is busy: busy is not dead, but this may be.
    /// Since the first look that found it so; so look now and then. `None`: it is not so, or the pool is gone.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// assert!(pool.control().stalled().is_none());
    /// # Ok::<(), punctual::ConfigError>(())
    /// ```
    #[must_use]
    pub fn stalled(&self) -> Option<Duration> {
        self.engine()?.stalled()
    }

    /// How long tasks run, by their name, sampled: those without one first, for each level of the queue, then at most two hundred
    /// names, for each level at which they were seen; all others are one, `other`.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// pool.task(|| ()).name("report").submit()?.join()?;
    /// assert!(pool.wait_idle(std::time::Duration::from_secs(60)));
    /// let times = pool.control().task_times();
    /// let report = times.iter().find(|times| times.name.as_deref() == Some("report"));
    /// assert_eq!(report.map(|times| times.run.count()), Some(1));
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn task_times(&self) -> Vec<TaskTimes> {
        self.engine()
            .map(|engine| engine.observed.names.read())
            .unwrap_or_default()
    }

    /// Lanes that have something to do.
    ///
    /// ```
    /// let pool = punctual::Pool::fixed(1)?;
    /// pool.pause();
    /// let lane = pool.lane();
    /// let tasks = [lane.submit(|| ())?, lane.submit(|| ())?];
    /// assert_eq!(pool.control().lanes().waiting, 1);
    /// # pool.resume();
    /// # tasks.into_iter().for_each(|task| task.join().unwrap());
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn lanes(&self) -> LaneCounts {
        let mut sum = LaneCounts::default();
        for engine in self.parts() {
            let counts = engine.lane_counts();
            sum.running += counts.running;
            sum.waiting += counts.waiting;
        }
        sum
    }

    /// What counting, timing and recording cost this pool, by what it did and what that takes on this machine: an estimate. The
    /// first call in a process measures the latter, here, for less than a millisecond. `None`: the pool is gone.
    #[must_use]
    pub fn cost(&self) -> Option<Cost> {
        let engine = self.engine()?;
        let records = engine
            .recording
            .as_ref()
            .map(|recording| recording.flight.written());
        let mut effort = Effort {
            records,
            ..Effort::default()
        };
        self.parts().iter().for_each(|part| part.add_effort(&mut effort));
        Some(effort.cost())
    }

    /// The schedules that have not ended.
    #[must_use]
    pub fn schedules(&self) -> Vec<ScheduleHandle> {
        let parts = self.parts();
        parts
            .iter()
            .flat_map(|engine| engine.schedule_handles())
            .collect()
    }

    /// The task of that number ([`TaskRef::id`]), if it runs or is among those that [`Control::queued`] would list.
    #[must_use]
    pub fn task(&self, id: u64) -> Option<TaskRef> {
        let is_it = |task: &TaskRef| task.id() == id;
        let running = self.running().into_iter().find(is_it);
        running.or_else(|| self.queued(Control::MOST_LISTED).into_iter().find(is_it))
    }

    /// The pool and its annexes.
    pub(super) fn parts(&self) -> Vec<Arc<Engine>> {
        let Some(engine) = self.engine() else {
            return Vec::new();
        };
        let annexes = engine.annexes.all();
        std::iter::once(engine).chain(annexes).collect()
    }
}

impl Engine {
    /// See [`Control::queued`].
    fn list_waiting(&self, most: usize) -> Vec<Arc<Reference>> {
        let mut listed = self.timers.due.list(most);
        listed.extend(self.room.list(most - listed.len()));
        // There may be a hundred thousand of them, each with somebody in line.
        for view in self.crowd.some(Control::MOST_LISTED) {
            if listed.len() == most {
                break;
            }
            listed.extend(view.list_line(most - listed.len()));
        }
        listed
    }

    /// What these threads did to be watched.
    fn add_effort(&self, effort: &mut Effort) {
        let observed = &self.observed;
        effort.tasks += self.staff.lock().read().totals().turns();
        effort.runs += observed.run.samples() + observed.names.samples();
        effort.waits += observed.wait.samples() + observed.wake.samples();
    }

    /// See [`Control::workers`].
    pub(super) fn list_workers(&self) -> Vec<WorkerStats> {
        let posts = self.staff.lock().posts().to_vec();
        let now = self.clock.tick();
        let of = |post: &Arc<super::staff::Post>| {
            let seen = post.visible.stage.look();
            if seen.is_empty() {
                post.is_free();
            }
            let at_least = |is_outermost| {
                // Of what runs in place it is only known that it is inside of that.
                if is_outermost {
                    post.busy_for(now)
                } else {
                    Duration::ZERO
                }
            };
            let running = seen.into_iter().enumerate().map(|(index, sight)| RunningTask {
                task: sight.task.map(TaskRef::of),
                type_name: sight.type_name,
                at_least: at_least(index == 0),
            });
            WorkerStats {
                number: post.number,
                part: self.name.clone(),
                running: running.collect(),
                ended: post.counters.read().turns(),
            }
        };
        let mut workers: Vec<WorkerStats> = posts.iter().map(of).collect();
        workers.sort_by_key(|worker| worker.number);
        workers
    }

    /// See [`Control::stalled`].
    pub(crate) fn stalled(&self) -> Option<Duration> {
        let stats = self.own_stats();
        let ended = stats.finished + stats.panicked + stats.cancelled;
        let is_stuck = stats.queued > 0 && stats.threads > 0 && stats.idle == 0 && !stats.paused;
        let now = self.clock.tick();
        let mut stall = self.stall.lock();
        if !is_stuck {
            *stall = None;
            return None;
        }
        let since = match *stall {
            Some((count, since)) if count == ended => since,
            _ => now,
        };
        *stall = Some((ended, since));
        Some(Duration::from_nanos(now.saturating_sub(since)))
    }

    fn preview_resize(&self, core: usize, max: usize) -> Result<ResizePreview, ConfigError> {
        let to = self.check_resize(core, max)?;
        self.check_here()?;
        let producers = self.room.producers();
        to.check_reachable(producers.capacity(), producers.gate.growth)?;
        let crew = &producers.gate;
        let beyond = |size: Size| {
            crew.live()
                .saturating_sub(size.max + crew.max() - crew.read().size.max)
        };
        let sleepers = self.idle.read().sleepers();
        let surplus = beyond(to);
        let end_at_once = surplus.min(sleepers);
        let stay = crew.live() - surplus;
        let left_idle = sleepers - end_at_once;
        let beyond_core = if crew.core_timeout {
            stay
        } else {
            stay.saturating_sub(to.core)
        };
        Ok(ResizePreview {
            from: crew.read().size,
            to,
            end_at_once,
            end_after_task: surplus - end_at_once,
            end_after_keep_alive: beyond_core.min(left_idle),
            can_start: to.max.saturating_sub(crew.live()),
        })
    }
}

impl fmt::Display for ResizePreview {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = |n: usize| if n == 1 { "thread" } else { "threads" };
        let mut parts = Vec::new();
        if self.end_at_once > 0 {
            parts.push(format!(
                "{} idle {} would end at once",
                self.end_at_once,
                threads(self.end_at_once)
            ));
        }
        if self.end_after_task > 0 {
            parts.push(format!("{} after their task", self.end_after_task));
        }
        if self.end_after_keep_alive > 0 {
            parts.push(format!("{} after the keep-alive time", self.end_after_keep_alive));
        }
        if self.can_start > 0 {
            parts.push(format!("{} more could start", self.can_start));
        }
        if parts.is_empty() {
            parts.push("no thread would start or end".to_owned());
        }
        let (from, to) = (self.from, self.to);
        write!(
            f,
            "core {} to {}, max {} to {}: {}",
            from.core,
            to.core,
            from.max,
            to.max,
            parts.join(", ")
        )
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.engine.upgrade() {
            Some(engine) => write!(f, "Control({engine:?})"),
            None => write!(f, "Control({:?}, gone)", self.name),
        }
    }
}
