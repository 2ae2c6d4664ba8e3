//! What a batch did, task by task: what the report, the drawing and the JSON are made of.

use super::job::{Attempt, Why};
use crate::file::plan::Plan;
use punctual::{Advice, Stats};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How a task came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Not yet.
    Open,
    Succeeded,
    Failed(Why),
    /// The task whose failure kept it from starting.
    Skipped(usize),
    /// The batch was interrupted, or the task cancelled, before it started.
    NotRun,
}

/// One task.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) fate: Fate,
    /// When its last attempt was put before the pool.
    pub(crate) ready: Option<Instant>,
    /// Waits before attempts, in their order.
    pub(crate) waits: Vec<Duration>,
    pub(crate) attempts: Vec<Attempt>,
}

impl Record {
    pub(crate) fn new() -> Self {
        Record {
            fate: Fate::Open,
            ready: None,
            waits: Vec::new(),
            attempts: Vec::new(),
        }
    }

    /// From the first start to the last end.
    pub(crate) fn span(&self) -> Option<(Instant, Instant)> {
        Some((self.attempts.first()?.started, self.attempts.last()?.ended))
    }
}

/// A pool, when it was over.
#[derive(Debug)]
pub(crate) struct PoolRecord {
    pub(crate) stats: Stats,
    pub(crate) advice: Advice,
    /// Tasks that found its queue full and were held back until there was room.
    pub(crate) held: u64,
}

/// Everything.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) plan: Arc<Plan>,
    pub(crate) tasks: Vec<Record>,
    pub(crate) pools: Vec<PoolRecord>,
    pub(crate) began: Instant,
    pub(crate) took: Duration,
    pub(crate) interrupted: bool,
}

/// How many came out how.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) succeeded: usize,
    pub(crate) failed: usize,
    /// Of the failed ones those that may.
    pub(crate) excused: usize,
    pub(crate) skipped: usize,
    pub(crate) not_run: usize,
    pub(crate) retries: usize,
}

impl Done {
    pub(crate) fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        for (task, record) in self.tasks.iter().enumerate() {
            match record.fate {
                Fate::Succeeded => tally.succeeded += 1,
                Fate::Failed(_) => {
                    tally.failed += 1;
                    tally.excused += usize::from(self.plan.tasks[task].may_fail);
                }
                Fate::Skipped(_) => tally.skipped += 1,
                Fate::NotRun => tally.not_run += 1,
                Fate::Open => {}
            }
            tally.retries += record.attempts.len().saturating_sub(1);
        }
        tally
    }

    /// The tasks that are part of a batch: not those that stand inside schedules.
    pub(crate) fn batch(&self) -> impl Iterator<Item = (usize, &Record)> {
        let of_batch = |(task, _): &(usize, &Record)| !self.plan.tasks[*task].scheduled;
        self.tasks.iter().enumerate().filter(of_batch)
    }
}
