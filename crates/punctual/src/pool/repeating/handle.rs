//! [`ScheduleHandle`]: what can be done with a schedule from outside.

use super::progress::Phase;
use super::{Repeating, now};
use crate::handle::Cancel;
#[cfg(any(feature = "prometheus", feature = "metrics"))]
use crate::observe::{Histogram, Recorder};
use crate::pool::fork;
use crate::sync::Arc;
use crate::task::{contain, here};
use crate::time::{Plan, Schedule, ScheduleError, ScheduleExt, Wait, Waked, deadline_after};
use crate::worker::spare::{self, Awaits, Sleep};
use crate::{Reason, Rejected};
use std::fmt;
use std::time::{Duration, SystemTime};

/// A schedule that runs on a pool. Dropping the handle detaches: the schedule goes on.
///
/// ```
/// use punctual::{Clock, Pool, Schedule};
/// use std::time::Duration;
///
/// let clock = Clock::manual();
/// let pool = Pool::builder("p").clock(&clock).build()?;
/// let flush = pool.schedule(Schedule::every(Duration::from_secs(5)), |_| ())?;
/// clock.advance(Duration::from_secs(10)); // at 0 s, 5 s and 10 s
/// flush.reschedule(Schedule::every(Duration::from_secs(60)).starting_in(Duration::from_secs(60)))?;
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(flush.stats().runs, 4);
/// flush.cancel();
/// assert_eq!(flush.next_run(), None);
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[derive(Clone)]
pub struct ScheduleHandle {
    repeating: Arc<Repeating>,
}

/// What a schedule has done; a snapshot.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScheduleStats {
    /// Runs that have begun.
    pub runs: u64,
    /// Runs that panicked or returned `Err`.
    pub failures: u64,
    /// Failures since the last run that went well.
    pub failures_in_a_row: u32,
    /// Ticks that came due while no run was in progress, and could not start in time.
    pub missed: u64,
    /// Those among them that a later run made up for ([`Run::missed`](crate::Run::missed)).
    pub coalesced: u64,
    /// Ticks that came due while a run was in progress, or in the pause after a failure, and were left out.
    pub skipped: u64,
    /// Runs that are in progress.
    pub running: usize,
    /// How the last run to begin went.
    pub last_outcome: RunOutcome,
    /// The text of the last failure, however long ago.
    pub last_error: Option<String>,
    /// When the last run was due.
    pub last_scheduled: Option<SystemTime>,
    /// When it began.
    pub last_actual: Option<SystemTime>,
    /// When the last run that has ended did so.
    pub last_completed: Option<SystemTime>,
    /// When the last run that went well ended.
    pub last_success: Option<SystemTime>,
}

/// How a schedule's last run went.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RunOutcome {
    /// There was none yet.
    None,
    /// It is in progress.
    Started,
    /// It went well.
    Succeeded,
    /// It panicked or returned `Err`.
    Failed(String),
}

impl ScheduleHandle {
    pub(super) fn of(repeating: Arc<Repeating>) -> Self {
        ScheduleHandle { repeating }
    }

    /// A forked child has a copy of the schedule, but not of the pool's threads, and locks may be held for ever.
    fn is_elsewhere(&self) -> bool {
        self.repeating.fork != fork::generation()
    }

    /// Ends the schedule: nothing runs any more. [`Cancel::Removed`]: no run was in progress (but the one that asks, which
    /// may just return). [`Cancel::Signalled`]: one was, and its token has fired; it may finish.
    pub fn cancel(&self) -> Cancel {
        if self.is_elsewhere() {
            return Cancel::TooLate;
        }
        match self.repeating.end(true) {
            None => Cancel::TooLate,
            Some(false) => Cancel::Removed,
            Some(true) => Cancel::Signalled,
        }
    }

    /// Whether it has ended, and no run is in progress.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.repeating.word.load() & Repeating::OVER != 0
    }

    /// When the next run is due, before jitter. `None`: the schedule has ended or is paused, or that is only known when the
    /// run in progress has ended.
    #[must_use]
    pub fn next_run(&self) -> Option<SystemTime> {
        if self.is_elsewhere() {
            return None;
        }
        let engine = self.repeating.engine.upgrade()?;
        let progress = self.repeating.progress.lock();
        if progress.phase != Phase::Going || !progress.has_runs_left() {
            return None;
        }
        let now = now(&engine);
        let mut plan = progress.plan.clone();
        plan.look_past(&progress.schedule, &now, progress.jitter);
        plan.next().map(|due| now.wall_at(due))
    }

    /// Another plan from now on. A run in progress ends first; what was counted stays, `times` begins anew.
    ///
    /// # Errors
    ///
    /// If the new schedule cannot be, or this one has ended.
    pub fn reschedule(&self, schedule: Schedule) -> Result<(), ScheduleError> {
        schedule.check()?;
        let ended = |why: &'static str| {
            schedule.refuse("reschedule", why, "give the new schedule to Executor::schedule")
        };
        if self.is_elsewhere() {
            return Err(ended("this process was forked from the one whose pool runs it"));
        }
        let Some(engine) = self.repeating.engine.upgrade() else {
            return Err(ended("its pool is gone"));
        };
        // A trigger is asked here: without the lock.
        let plan = Plan::new(&schedule, &now(&engine));
        let (replaced, old) = {
            let mut progress = self.repeating.progress.lock();
            if progress.phase == Phase::Ended {
                return Err(ended("it has ended"));
            }
            let schedule = schedule.clone().or_named(progress.schedule.name());
            let old = progress.schedule.clone();
            progress.replace(schedule, plan);
            (progress.waiting.take(), old)
        };
        self.repeating.arm_instead(replaced);
        // The old trigger may hold anything: dropped without a lock.
        contain(|| drop(old));
        Ok(())
    }

    /// No run begins until [`ScheduleHandle::resume`]. One in progress goes on; what comes due meanwhile is forgotten.
    pub fn pause(&self) {
        if self.is_elsewhere() {
            return;
        }
        let waiting = {
            let mut progress = self.repeating.progress.lock();
            if progress.phase != Phase::Going {
                return;
            }
            progress.phase = Phase::Paused;
            progress.waiting.take()
        };
        if let Some(waiting) = waiting {
            waiting.handle.cancel();
        }
    }

    /// Goes on with the next tick after now.
    pub fn resume(&self) {
        let engine = match self.repeating.engine.upgrade() {
            Some(engine) if !self.is_elsewhere() => engine,
            _ => return,
        };
        {
            let mut progress = self.repeating.progress.lock();
            if progress.phase != Phase::Paused {
                return;
            }
            progress.phase = Phase::Going;
            let schedule = progress.schedule.clone();
            progress.plan.resume(&schedule, &now(&engine));
        }
        self.repeating.arm_next();
    }

    /// One run now, beside the plan, also if it is paused; after the one in progress if there is one and runs may not
    /// overlap. A run that is asked for and has not begun is one run, however often it was asked for.
    ///
    /// # Errors
    ///
    /// If the schedule or its pool has ended.
    pub fn run_now(&self) -> Result<(), Rejected<()>> {
        if self.is_elsewhere() {
            return Err(Rejected::new((), Reason::Forked));
        }
        if self.repeating.run_now() {
            Ok(())
        } else {
            Err(Rejected::new((), Reason::ShutDown))
        }
    }

    /// Waits until the schedule has ended and no run is in progress. From inside one of its runs, where that cannot
    /// happen, the answer is at once; so it is when the task that waits is told to stop, and on a worker that must not block
    /// ([`PoolBuilder::on_blocking`](crate::PoolBuilder::on_blocking)).
    pub fn wait(&self) {
        self.wait_until(None);
    }

    /// As [`ScheduleHandle::wait`], at most `limit` on the pool's clock; says whether it has ended.
    #[must_use]
    pub fn wait_timeout(&self, limit: Duration) -> bool {
        self.wait_until(Some(limit))
    }

    fn wait_until(&self, limit: Option<Duration>) -> bool {
        if self.is_finished() {
            return true;
        }
        let engine = match self.repeating.engine.upgrade() {
            Some(engine) if !self.is_elsewhere() => engine,
            _ => return self.is_finished(),
        };
        here(|here| {
            let token = here.token();
            let is_inside = |token: &crate::task::Token| {
                let progress = self.repeating.progress.lock();
                progress.running.iter().any(|each| each.is_same(token))
            };
            if token.as_ref().is_some_and(is_inside)
                || limit == Some(Duration::ZERO)
                || !spare::may_block(here)
            {
                return false;
            }
            let wait = Wait {
                word: &self.repeating.word,
                mask: Repeating::OVER,
                expected: 0,
                interrupt: token.as_ref(),
                deadline: limit.and_then(|limit| deadline_after(engine.clock.tick(), limit)),
            };
            let _lent = spare::lend(
                here,
                Sleep {
                    part: Some(engine.identity()),
                    awaits: Awaits::Unknown,
                    wait: &wait,
                    over: 0,
                    taken: None,
                    alarm: None,
                },
            );
            engine.clock.wait(&wait, here.place()) == Waked::Ready
        })
    }

    /// What it has done.
    #[must_use]
    pub fn stats(&self) -> ScheduleStats {
        let elsewhere = self.is_elsewhere();
        if elsewhere {
            return ScheduleStats::of_nothing();
        }
        let progress = self.repeating.progress.lock();
        let counts = &progress.counts;
        // Those that a run in progress holds up are counted when it ends; whoever looks meanwhile sees them too.
        let held_up = match self.repeating.engine.upgrade() {
            Some(engine) if !progress.running.is_empty() => {
                let mut plan = progress.plan.clone();
                plan.look_past(&progress.schedule, &now(&engine), progress.jitter)
            }
            _ => 0,
        };
        let last_outcome = match counts.last_failed {
            None if counts.runs == 0 => RunOutcome::None,
            None => RunOutcome::Started,
            Some(false) => RunOutcome::Succeeded,
            Some(true) => RunOutcome::Failed(counts.last_error.clone().unwrap_or_default()),
        };
        ScheduleStats {
            runs: counts.runs,
            failures: counts.failures,
            failures_in_a_row: counts.failures_in_a_row,
            missed: counts.missed,
            coalesced: counts.coalesced,
            skipped: counts.skipped + held_up,
            running: progress.running.len(),
            last_outcome,
            last_error: counts.last_error.clone(),
            last_scheduled: progress.last.scheduled,
            last_actual: progress.last.actual,
            last_completed: progress.last.completed,
            last_success: counts.last_success,
        }
    }

    /// The name it was given.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.schedule().name().map(ToString::to_string)
    }

    /// Whether it is paused.
    #[must_use]
    pub fn is_paused(&self) -> bool {
        !self.is_elsewhere() && self.repeating.progress.lock().phase == Phase::Paused
    }

    /// Tells the schedules of one pool apart.
    #[must_use]
    pub fn id(&self) -> u64 {
        self.repeating.number
    }

    /// The times of the next `n` runs by its plan as it is now, before jitter: fewer if it ends before, none if it has ended. A
    /// paused one answers as if it were resumed now. One with a delay between its runs is answered as if each took no time; of
    /// one with a trigger only the next time is known, nobody is asked.
    ///
    /// ```
    /// use punctual::{Clock, Pool, Schedule};
    /// use std::time::Duration;
    ///
    /// let clock = Clock::manual();
    /// let pool = Pool::builder("p").clock(&clock).build()?;
    /// let flush = pool.schedule(Schedule::every(Duration::from_secs(5)).times(4), |_| ())?;
    /// clock.advance(Duration::from_secs(7)); // it ran at 0 s and 5 s
    /// let next = flush.next_run().unwrap();
    /// assert_eq!(flush.upcoming(10), [next, next + Duration::from_secs(5)]);
    /// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
    /// ```
    #[must_use]
    pub fn upcoming(&self, n: usize) -> Vec<SystemTime> {
        let engine = match self.repeating.engine.upgrade() {
            Some(engine) if !self.is_elsewhere() => engine,
            _ => return Vec::new(),
        };
        let (schedule, first, left) = {
            let progress = self.repeating.progress.lock();
            if progress.phase == Phase::Ended || !progress.has_runs_left() {
                return Vec::new();
            }
            let now = now(&engine);
            let mut plan = progress.plan.clone();
            if progress.phase == Phase::Paused {
                plan.resume(&progress.schedule, &now);
            } else {
                plan.look_past(&progress.schedule, &now, progress.jitter);
            }
            let first = plan.next().map(|due| now.wall_at(due));
            (progress.schedule.clone(), first, progress.runs_left())
        };
        let most = left.map_or(n, |left| n.min(usize::try_from(left).unwrap_or(n)));
        let most = if schedule.is_trigger() { most.min(1) } else { most };
        schedule.runs_from(first, most)
    }

    /// The plan it follows now.
    #[must_use]
    pub fn schedule(&self) -> Schedule {
        if self.is_elsewhere() {
            return Schedule::with_delay(Duration::ZERO).times(0);
        }
        (*self.repeating.progress.lock().schedule).clone()
    }
}

#[cfg(any(feature = "prometheus", feature = "metrics"))]
impl ScheduleHandle {
    /// How late runs began, without their jitter and without those that were asked for: of all runs after the first call.
    pub(crate) fn lag(&self) -> Histogram {
        if self.is_elsewhere() {
            return Recorder::new().snapshot();
        }
        let mut progress = self.repeating.progress.lock();
        let lag = progress.lag.get_or_insert_with(|| Box::new(Recorder::new()));
        lag.snapshot()
    }
}

impl ScheduleStats {
    fn of_nothing() -> Self {
        ScheduleStats {
            runs: 0,
            failures: 0,
            failures_in_a_row: 0,
            missed: 0,
            coalesced: 0,
            skipped: 0,
            running: 0,
            last_outcome: RunOutcome::None,
            last_error: None,
            last_scheduled: None,
            last_actual: None,
            last_completed: None,
            last_success: None,
        }
    }
}

impl fmt::Debug for ScheduleHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.is_finished() { "ended" } else { "running" };
        write!(f, "ScheduleHandle({}, {state})", self.repeating.number)
    }
}
