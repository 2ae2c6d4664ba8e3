//! [`History`]: the runs that have ended, as many of the last ones as the file says.

use crate::batch::job::{Attempt, Why};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How much of a run's output is remembered.
const OUTPUT: usize = 4 << 10;

/// One run that has ended.
#[derive(Debug, Clone)]
pub(crate) struct RunRecord {
    pub(crate) schedule: Arc<str>,
    pub(crate) task: Arc<str>,
    pub(crate) scheduled: SystemTime,
    pub(crate) started: SystemTime,
    pub(crate) took: Duration,
    pub(crate) attempts: usize,
    pub(crate) result: Result<(), Why>,
    pub(crate) missed: u64,
    pub(crate) output: String,
}

impl RunRecord {
    /// Of the last of its attempts.
    pub(crate) fn keep_output(attempt: &Attempt) -> String {
        let text = attempt.output.text();
        let from = text.len().saturating_sub(OUTPUT);
        let from = (from..=text.len())
            .find(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        text[from..].to_owned()
    }

    pub(crate) fn to_json(&self) -> Value {
        json!({
            "event": "run", "schedule": &*self.schedule, "task": &*self.task,
            "scheduled": instant(self.scheduled), "started": instant(self.started), "seconds": self.took.as_secs_f64(),
            "attempts": self.attempts, "missed": self.missed,
            "status": if self.result.is_ok() { "succeeded" } else { "failed" },
            "reason": self.result.as_ref().err().map(ToString::to_string),
            "output": self.output,
        })
    }
}

/// An instant for people and programs.
pub(crate) fn instant(time: SystemTime) -> String {
    Timestamp::try_from(time).map_or_else(
        |_| "-".to_owned(),
        |time| time.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
    )
}

/// The last ones.
#[derive(Debug)]
pub(crate) struct History {
    most: usize,
    runs: VecDeque<RunRecord>,
    /// All there ever were.
    total: u64,
}

impl History {
    pub(crate) fn new(most: usize) -> Self {
        History {
            most,
            runs: VecDeque::new(),
            total: 0,
        }
    }

    pub(crate) fn resize(&mut self, most: usize) {
        self.most = most;
        self.trim();
    }

    pub(crate) fn add(&mut self, run: RunRecord) {
        self.runs.push_back(run);
        self.total += 1;
        self.trim();
    }

    fn trim(&mut self) {
        while self.runs.len() > self.most {
            self.runs.pop_front();
        }
    }

    pub(crate) fn to_json(&self) -> Value {
        let runs: Vec<Value> = self.runs.iter().map(RunRecord::to_json).collect();
        json!({ "event": "history", "total": self.total, "kept": runs.len(), "runs": runs })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str) -> RunRecord {
        RunRecord {
            schedule: name.into(),
            task: name.into(),
            scheduled: SystemTime::UNIX_EPOCH,
            started: SystemTime::UNIX_EPOCH,
            took: Duration::ZERO,
            attempts: 1,
            result: Ok(()),
            missed: 0,
            output: String::new(),
        }
    }

    #[test]
    fn the_last_ones_are_kept() {
        let mut history = History::new(3);
        for number in 0..10 {
            history.add(run(&number.to_string()));
        }
        let names = |history: &History| {
            history
                .runs
                .iter()
                .map(|run| run.schedule.to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(names(&history), ["7", "8", "9"]);
        history.resize(1);
        assert_eq!(names(&history), ["9"]);
        assert_eq!(
            (
                history.to_json()["total"].as_u64(),
                history.to_json()["kept"].as_u64()
            ),
            (Some(10), Some(1))
        );
    }
}
