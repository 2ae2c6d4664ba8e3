//! What a file says, as plain data: pools, limits, tasks, schedules. Names are resolved to positions, every default is
//! filled in, `repeat` and `items` are spread out. Nothing here runs anything.

use jiff::tz::TimeZone;
use punctual::{Growth, Missed, OnFailure, Overlap, Priority};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Everything.
#[derive(Debug, Clone, Default)]
pub(crate) struct Plan {
    /// At least one, if there is a task.
    pub(crate) pools: Vec<PoolPlan>,
    pub(crate) limits: Vec<LimitPlan>,
    pub(crate) tasks: Vec<Arc<TaskPlan>>,
    pub(crate) schedules: Vec<SchedulePlan>,
    pub(crate) serve: ServePlan,
}

/// A pool's settings, as the library's builder wants them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PoolPlan {
    pub(crate) name: Arc<str>,
    pub(crate) core: usize,
    pub(crate) max: usize,
    /// Nothing: without end.
    pub(crate) queue: Option<usize>,
    pub(crate) order: Order,
    pub(crate) growth: Growth,
    pub(crate) keep_alive: Option<Duration>,
    pub(crate) nice: Option<i32>,
}

/// In which order a pool takes what waits.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Order {
    /// First in, first out; priorities do not matter.
    Fifo,
    Strict,
    Aging(Duration),
    Shares(Vec<u32>),
}

/// At most so many at a time, of the tasks that name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LimitPlan {
    pub(crate) name: Arc<str>,
    pub(crate) max: usize,
    /// The pool whose threads it limits.
    pub(crate) pool: usize,
}

/// What a task does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Work {
    Command(CommandPlan),
    /// Waits, and uses no processor.
    Sleep(Duration),
    /// Uses a processor.
    Spin(Duration),
}

/// A process to start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CommandPlan {
    /// Never empty.
    pub(crate) argv: Vec<String>,
    /// As it was written, for people.
    pub(crate) shown: String,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) stdin: Option<PathBuf>,
}

/// One task.
#[derive(Debug, Clone)]
pub(crate) struct TaskPlan {
    /// Unique; `name#3` for the third of several.
    pub(crate) name: Arc<str>,
    /// The name in the file.
    pub(crate) group: Arc<str>,
    pub(crate) work: Work,
    pub(crate) pool: usize,
    pub(crate) priority: Priority,
    /// Its number: 0 is the most urgent.
    pub(crate) level: usize,
    /// Positions of the tasks that have to succeed before.
    pub(crate) after: Vec<usize>,
    pub(crate) timeout: Option<Duration>,
    /// From the polite signal to the other one.
    pub(crate) grace: Duration,
    pub(crate) retries: u32,
    pub(crate) backoff: Backoff,
    pub(crate) limit: Option<usize>,
    /// Tasks with the same key run one after the other, in the order of the file.
    pub(crate) key: Option<String>,
    /// How much of the output is kept.
    pub(crate) output: usize,
    /// Its failure is reported, and is not the batch's.
    pub(crate) may_fail: bool,
    /// It stands inside a schedule: no part of a batch.
    pub(crate) scheduled: bool,
    /// Where it stands in the file.
    pub(crate) bytes: Option<Range<usize>>,
}

/// How long to wait before another attempt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Backoff {
    pub(crate) first: Duration,
    pub(crate) most: Duration,
    /// The part of the wait that is left to chance.
    pub(crate) jitter: f64,
}

impl Backoff {
    /// Before attempt `attempt` (the first retry is attempt 2); `chance` is from 0 to 1.
    pub(crate) fn before(&self, attempt: u32, chance: f64) -> Duration {
        let doubled = self
            .first
            .checked_mul(1_u32.checked_shl(attempt.saturating_sub(2)).unwrap_or(u32::MAX))
            .unwrap_or(self.most)
            .min(self.most);
        doubled.mul_f64(1.0 - self.jitter * chance)
    }
}

/// When a task is run, in `serve`.
#[derive(Debug, Clone)]
pub(crate) struct SchedulePlan {
    pub(crate) name: Arc<str>,
    /// Position in the tasks.
    pub(crate) task: usize,
    pub(crate) when: When,
    pub(crate) missed: Missed,
    pub(crate) overlap: Overlap,
    pub(crate) on_failure: OnFailure,
    pub(crate) jitter: Duration,
    /// As it was read, whole: what two versions of a file are compared by.
    pub(crate) print: String,
    pub(crate) bytes: Option<Range<usize>>,
}

/// The times themselves.
#[derive(Debug, Clone)]
pub(crate) enum When {
    /// With the zone it goes by.
    Cron(Box<punctual::Schedule>, TimeZone),
    Every(Duration),
    Delay(Duration),
    At(SystemTime),
}

/// How `serve` is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ServePlan {
    pub(crate) bind: String,
    /// How many ended runs are remembered.
    pub(crate) history: usize,
}

impl Default for ServePlan {
    fn default() -> Self {
        ServePlan {
            bind: "127.0.0.1:7070".to_owned(),
            history: 1_000,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_the_most() {
        let backoff = Backoff {
            first: Duration::from_millis(100),
            most: Duration::from_millis(350),
            jitter: 0.5,
        };
        let waits = [2, 3, 4, 5, 40].map(|attempt| backoff.before(attempt, 0.0).as_millis());
        assert_eq!(waits, [100, 200, 350, 350, 350]);
        assert_eq!(backoff.before(2, 1.0), Duration::from_millis(50));
    }
}
