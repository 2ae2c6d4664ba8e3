//! `cost`: what it costs a task to be counted and measured, and to be recorded. In: the number of tasks and of rounds, and
//! perhaps another build of this program, without the measuring. Out: nanoseconds per task of bench A (one producer, fire and
//! forget), each pass in a process of its own, the two sides in turn; the median of the rounds and the difference. Not
//! here: the peers.
//!
//! ```text
//! cargo build --release -p punctual-bench
//! RUSTFLAGS="--cfg punctual_no_statistics" cargo build --release -p punctual-bench --target-dir target/bare
//! target/release/punctual-bench cost --gate --against target/bare/release/punctual-bench
//! ```
//!
//! With `--gate` the exit code is 1 if a target is missed, and one that could not be measured is missed.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use punctual::Queue;

use crate::contend::Ours;
use crate::measure::throughput::fire;

/// Passes in one process; the last one counts.
const PASSES: u64 = 5;

/// Events that the recorded pool keeps.
const EVENTS: usize = 100_000;

/// What statistics and the recorder may cost, in nanoseconds per task.
const STATISTICS_TARGET: f64 = 12.0;
const RECORDER_TARGET: f64 = 120.0;

/// What they cost.
struct Costs {
    /// Unknown without a build to compare with.
    statistics: Option<f64>,
    recorder: f64,
}

impl Costs {
    /// The targets that are missed, or not known to be met.
    fn missed(&self) -> Vec<&'static str> {
        let is_missed = |cost: Option<f64>, target: f64| cost.is_none_or(|cost| cost > target);
        let targets = [
            ("statistics", self.statistics, STATISTICS_TARGET),
            ("the recorder", Some(self.recorder), RECORDER_TARGET),
        ];
        let missed = targets
            .into_iter()
            .filter(|(_, cost, target)| is_missed(*cost, *target));
        missed.map(|(name, ..)| name).collect()
    }
}

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) tasks: u64,
    pub(crate) rounds: usize,
    /// The same program, built without statistics.
    pub(crate) against: Option<PathBuf>,
    /// Whether a missed target is a failure.
    pub(crate) gate: bool,
    /// Hidden: this process is one side of one round.
    pub(crate) pass: Option<bool>,
}

impl Default for Cost {
    fn default() -> Self {
        Cost {
            tasks: 500_000,
            rounds: 11,
            against: None,
            gate: false,
            pass: None,
        }
    }
}

impl Cost {
    /// Words after `cost`.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut cost = Cost::default();
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("{word} needs a value"));
            let number = |text: String| {
                let number = text.parse::<u64>().ok().filter(|number| *number > 0);
                number.ok_or_else(|| format!("{text:?} is no number above 0"))
            };
            match word.as_str() {
                "--tasks" => cost.tasks = number(value()?)?,
                "--rounds" => cost.rounds = number(value()?)? as usize,
                "--against" => cost.against = Some(PathBuf::from(value()?)),
                "--gate" => cost.gate = true,
                "--pass" => cost.pass = Some(value()? == "recorded"),
                other => {
                    return Err(format!(
                        "cost takes --tasks, --rounds, --against and --gate, not {other:?}"
                    ));
                }
            }
        }
        Ok(cost)
    }

    pub(crate) fn run(&self) -> ExitCode {
        if let Some(is_recorded) = self.pass {
            println!("{}", one(self.tasks, is_recorded));
            return ExitCode::SUCCESS;
        }
        match self.compare() {
            Ok(costs) => {
                let missed = costs.missed();
                if self.gate && !missed.is_empty() {
                    eprintln!("punctual-bench: target missed: {}", missed.join(", "));
                    return ExitCode::FAILURE;
                }
                ExitCode::SUCCESS
            }
            Err(message) => {
                eprintln!("punctual-bench: {message}");
                ExitCode::FAILURE
            }
        }
    }

    fn compare(&self) -> Result<Costs, String> {
        let own = std::env::current_exe().map_err(|error| format!("where this program is: {error}"))?;
        let (mut plain, mut recorded, mut bare) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..self.rounds {
            plain.push(self.child(&own, "plain")?);
            recorded.push(self.child(&own, "recorded")?);
            if let Some(other) = &self.against {
                bare.push(self.child(other, "plain")?);
            }
        }
        let plain = median(plain);
        println!("A, as it is             {plain:8.1} ns per task");
        let mut costs = Costs {
            statistics: None,
            recorder: 0.0,
        };
        if !bare.is_empty() {
            let bare = median(bare);
            let cost = plain - bare;
            println!("A, without statistics   {bare:8.1} ns per task");
            println!("  statistics cost       {cost:8.1} ns per task (target: at most {STATISTICS_TARGET})");
            costs.statistics = Some(cost);
        }
        let recorded = median(recorded);
        costs.recorder = recorded - plain;
        println!("A, recorded             {recorded:8.1} ns per task");
        println!(
            "  the recorder costs    {:8.1} ns per task (target: at most {RECORDER_TARGET})",
            costs.recorder
        );
        Ok(costs)
    }

    fn child(&self, program: &Path, side: &str) -> Result<f64, String> {
        let mut command = Command::new(program);
        command.args(["cost", "--pass", side, "--tasks", &self.tasks.to_string()]);
        let output = command
            .output()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let answer = text.trim().parse();
        answer.map_err(|_| format!("{} answered {text:?}", program.display()))
    }
}

fn one(tasks: u64, is_recorded: bool) -> f64 {
    let pool: &'static Ours = Box::leak(Box::new(if is_recorded {
        Ours::recorded(EVENTS)
    } else {
        Ours::open(Queue::unbounded())
    }));
    let mut last = 0.0;
    for _ in 0..PASSES {
        last = fire(pool, tasks).as_nanos() as f64 / tasks as f64;
    }
    last
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_wrong_ones_named() {
        let words = |text: &str| Cost::parse(text.split(' ').map(str::to_owned));
        let cost = words("--tasks 10 --rounds 3 --gate --against x").unwrap();
        assert_eq!((cost.tasks, cost.rounds, cost.gate), (10, 3, true));
        assert_eq!(cost.against, Some(PathBuf::from("x")));
        assert!(words("--tasks 0").unwrap_err().contains("\"0\""));
        assert!(words("--fast").unwrap_err().contains("--fast"));
        assert!(words("--rounds").unwrap_err().contains("needs a value"));
    }

    #[test]
    fn a_target_that_is_missed_or_not_measured_is_named() {
        let missed = |statistics, recorder| {
            let costs = Costs { statistics, recorder };
            costs.missed()
        };
        assert_eq!(missed(Some(12.0), 120.0), [""; 0]);
        assert_eq!(missed(Some(-1.0), 0.0), [""; 0], "noise may be less than nothing");
        assert_eq!(missed(Some(12.1), 120.0), ["statistics"]);
        assert_eq!(missed(None, 120.1), ["statistics", "the recorder"]);
    }

    #[test]
    fn both_sides_run() {
        assert!(one(1_000, false) > 0.0);
        assert!(one(1_000, true) > 0.0);
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
    }
}
