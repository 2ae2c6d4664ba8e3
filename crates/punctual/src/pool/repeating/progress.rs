//! How far a schedule has come: what its lock guards.
//!
//! In: runs that begin and end. Out: the plan, the counts, and who is to be told to stop. Nothing here acts or is user
//! code, but the plan of a trigger, which [`repeating`](super) asks outside the lock.

use super::{Alone, What};
use crate::handle::{Status, TaskHandle};
use crate::observe::Recorder;
use crate::pool::engine::Engine;
use crate::sync::Arc;
use crate::sync::unmodelled::Relaxed;
use crate::task::Token;
use crate::time::{LastRun, Now, Plan, Run, Schedule, ScheduleExt, Verdict};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, SystemTime};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    Going,
    Paused,
    Ended,
}

/// See the module's header.
pub(super) struct Progress {
    pub(super) schedule: Arc<Schedule>,
    /// Which schedule it is: counts those that replaced one.
    pub(super) version: u64,
    pub(super) phase: Phase,
    pub(super) plan: Plan,
    /// The body of a schedule whose runs do not overlap, except while it runs.
    pub(super) alone: Option<Alone>,
    /// The run that waits for its time, or for a worker.
    pub(super) waiting: Option<Waiting>,
    /// Of the last one that was armed.
    pub(super) number: u64,
    /// A run that a closed pool did not take; dropped outside the lock.
    pub(super) refused: Option<Box<dyn std::any::Any + Send>>,
    /// Of the runs in progress.
    pub(super) running: Vec<Token>,
    /// Of a run that has ended: if nobody kept it, it is the next one's.
    pub(super) spare: Option<Tokens>,
    /// How much the last run to begin was moved.
    pub(super) jitter: Duration,
    /// Somebody wants a run beside the plan.
    pub(super) is_asked_for: bool,
    /// Runs of the plan that are still to come.
    left: Option<u64>,
    pub(super) last: LastRun,
    pub(super) counts: Counts,
    /// From when runs were due to when they began, since somebody asked for it; most schedules are never asked.
    pub(super) lag: Option<Box<Recorder>>,
    random: u64,
}

/// The token of a run, for each of those who have it while it is in progress: nobody counts it up and down for every run.
pub(super) struct Tokens {
    /// In the [`Run`].
    pub(super) own: Token,
    /// In [`Progress::running`].
    pub(super) listed: Token,
    /// With the worker, where the body finds it as that of its task.
    pub(super) framed: Token,
}

impl Tokens {
    pub(super) fn new() -> Self {
        let own = Token::new();
        Tokens {
            listed: own.clone(),
            framed: own.clone(),
            own,
        }
    }

    /// Whether nobody kept it and it asks for nothing.
    pub(super) fn is_as_new(&self) -> bool {
        self.own.is_as_new(3)
    }
}

/// What is left of a run that has ended.
pub(super) struct Ended {
    pub(super) own: Token,
    /// See [`Tokens::framed`]; if it came back.
    pub(super) framed: Option<Token>,
}

/// See [`Progress::snapshot`].
pub(super) struct Snapshot {
    pub(super) schedule: Arc<Schedule>,
    pub(super) version: u64,
    /// Of a trigger.
    pub(super) plan: Option<Plan>,
    pub(super) last: LastRun,
}

/// What is left to do, without the lock, when a run has ended: its drop, if nothing else.
pub(super) struct Settled {
    replaced: Option<Waiting>,
    _tokens: (Option<Tokens>, Option<Ended>),
}

impl Settled {
    /// After the next run was armed: a closed pool that saw neither would end.
    pub(super) fn cancel_replaced(self) {
        if let Some(waiting) = self.replaced {
            waiting.handle.cancel();
        }
    }
}

/// See [`Progress::waiting`].
pub(super) struct Waiting {
    pub(super) number: u64,
    pub(super) handle: TaskHandle<()>,
}

impl Waiting {
    /// Its time has come.
    pub(super) fn is_due(&self) -> bool {
        self.handle.task_ref().status() != Status::Delayed
    }
}

/// What [`ScheduleStats`](super::ScheduleStats) tells.
#[derive(Debug, Clone, Default)]
pub(super) struct Counts {
    pub(super) runs: u64,
    pub(super) failures: u64,
    pub(super) failures_in_a_row: u32,
    pub(super) missed: u64,
    pub(super) coalesced: u64,
    pub(super) skipped: u64,
    pub(super) last_error: Option<String>,
    pub(super) last_failed: Option<bool>,
    pub(super) last_success: Option<SystemTime>,
}

impl Progress {
    pub(super) fn new(schedule: Schedule, plan: Plan, alone: Option<Alone>) -> Self {
        Progress {
            version: 0,
            phase: Phase::Going,
            plan,
            alone,
            waiting: None,
            number: 0,
            refused: None,
            running: Vec::new(),
            spare: None,
            jitter: Duration::ZERO,
            is_asked_for: false,
            left: schedule.run_limit(),
            last: LastRun::default(),
            counts: Counts::default(),
            lag: None,
            random: RandomState::new().hash_one(0),
            schedule: Arc::new(schedule),
        }
    }

    /// Another plan from now on.
    pub(super) fn replace(&mut self, schedule: Schedule, plan: Plan) {
        self.version += 1;
        self.left = schedule.run_limit();
        self.plan = plan;
        self.schedule = Arc::new(schedule);
    }

    /// Runs of the plan that are still to come, where their number is limited.
    pub(super) fn runs_left(&self) -> Option<u64> {
        self.left
    }

    pub(super) fn has_runs_left(&self) -> bool {
        self.left != Some(0)
    }

    pub(super) fn is_over(&self) -> bool {
        self.phase == Phase::Ended && self.running.is_empty()
    }

    /// The number of the run that is being armed.
    pub(super) fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Takes the run that waits, if it is this one.
    pub(super) fn take_waiting(&mut self, number: u64) -> Option<TaskHandle<()>> {
        let waiting = self.waiting.take_if(|waiting| waiting.number == number)?;
        Some(waiting.handle)
    }

    /// A run begins, unless it came too late for its policy.
    pub(super) fn begin(&mut self, now: &Now, what: What, token: Token, listed: Token) -> Option<Run> {
        let (scheduled, missed) = match what {
            What::Extra => (now.wall, 0),
            What::Tick { jitter } => {
                let begun = self.plan.begin(&self.schedule, now, jitter);
                self.counts.missed += begun.missed;
                if !begun.runs {
                    self.plan.go_on(&self.schedule, now);
                    return None;
                }
                if let Some(left) = &mut self.left {
                    *left = left.saturating_sub(1);
                }
                self.jitter = jitter;
                self.counts.coalesced += begun.missed;
                if let Some(lag) = &self.lag {
                    let late = now.wall.duration_since(begun.scheduled).unwrap_or_default();
                    let late = late.saturating_sub(jitter).as_nanos();
                    lag.record(u64::try_from(late).unwrap_or(u64::MAX), 1);
                }
                (begun.scheduled, begun.missed)
            }
        };
        self.counts.runs += 1;
        self.last.scheduled = Some(scheduled);
        self.last.actual = Some(now.wall);
        self.counts.last_failed = None;
        self.running.push(listed);
        Some(Run {
            scheduled,
            actual: now.wall,
            missed,
            token,
        })
    }

    /// What is to be known of the plan without the lock. A trigger whose schedule has ended is not asked again.
    pub(super) fn snapshot(&self) -> Snapshot {
        let is_asked = self.schedule.is_trigger() && self.phase != Phase::Ended;
        Snapshot {
            schedule: self.schedule.clone(),
            version: self.version,
            plan: is_asked.then(|| self.plan.clone()),
            last: self.last,
        }
    }

    /// A run has ended, or never began: what follows from it, but for the next run's arming.
    pub(super) fn settle(
        &mut self,
        engine: &Engine,
        now: &Now,
        what: What,
        verdict: Verdict,
        ended: Option<Ended>,
    ) -> Settled {
        let same = |ended: &Ended| self.running.iter().position(|each| each.is_same(&ended.own));
        let index = ended.as_ref().and_then(same);
        let listed = index.map(|index| self.running.swap_remove(index));
        if verdict == Verdict::End {
            self.phase = Phase::Ended;
        }
        let (skipped, replaced) = self.go_on(now, what, verdict.pause());
        if skipped > 0 {
            engine.observed.skipped.fetch_add(skipped, Relaxed);
        }
        let tokens = match (ended, listed) {
            (
                Some(Ended {
                    own,
                    framed: Some(framed),
                }),
                Some(listed),
            ) => {
                let spare = Tokens { own, listed, framed };
                (self.spare.replace(spare), None)
            }
            (ended, _) => (None, ended),
        };
        Settled {
            replaced,
            _tokens: tokens,
        }
    }

    /// After a run, finds the next tick if it is not known yet. Says how many were left out, and gives out the run that
    /// waits if it comes too soon after a failure.
    fn go_on(&mut self, now: &Now, what: What, pause: Option<Duration>) -> (u64, Option<Waiting>) {
        let schedule = &self.schedule;
        let jitter = match what {
            What::Tick { jitter } => jitter,
            What::Extra => Duration::ZERO,
        };
        let replaced = self
            .waiting
            .take_if(|_| pause.is_some() && !schedule.is_trigger());
        let skipped = match what {
            _ if schedule.is_trigger() || self.phase == Phase::Ended => 0,
            _ if pause.is_some() => self.plan.end(schedule, &self.last, now, jitter, pause),
            // The next one was armed when this began.
            _ if self.waiting.is_some() => 0,
            What::Extra => self.plan.end_beside(schedule, now),
            What::Tick { .. } if self.plan.next().is_some() => 0,
            What::Tick { .. } => self.plan.end(schedule, &self.last, now, jitter, None),
        };
        self.counts.skipped += skipped;
        (skipped, replaced)
    }

    /// A run has ended; says what follows from how.
    pub(super) fn note_end(&mut self, run: &Run, now: &Now, failure: Option<String>) -> Verdict {
        self.last = LastRun {
            scheduled: Some(run.scheduled),
            actual: Some(run.actual),
            completed: Some(now.wall),
        };
        if failure.is_none() {
            self.counts.last_success = Some(now.wall);
        }
        self.counts.last_failed = Some(failure.is_some());
        match failure {
            None => self.counts.failures_in_a_row = 0,
            Some(text) => {
                self.counts.failures += 1;
                self.counts.failures_in_a_row += 1;
                self.counts.last_error = Some(text);
            }
        }
        Verdict::after(self.counts.failures_in_a_row, self.schedule.failure_policy())
    }

    /// Up to the schedule's jitter, evenly spread. (A step of SplitMix64.)
    pub(super) fn draw_jitter(&mut self) -> Duration {
        let most = self.schedule.max_jitter();
        if most.is_zero() {
            return most;
        }
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.random;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX);
        Duration::from_nanos(((u128::from(mixed) * u128::from(nanos)) >> 64) as u64)
    }
}
