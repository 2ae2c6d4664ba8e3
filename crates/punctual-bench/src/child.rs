//! The line between parent and child. A child is this program (or a JVM) started for one scenario with one peer; it
//! answers with one line `result name=value name=value ...` on its standard output. Both ends of that line are here.
//! Not here: starting children, see `spawn`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use crate::{
    catalog::{Metric, Peer, Scenario, Sizes},
    measure,
};

/// What a child of scenario K prints when it is idle.
pub(crate) const READY: &str = "ready";

const PREFIX: &str = "result";

/// The child's side: measure and answer.
pub(crate) fn run(scenario: Scenario, peer: Peer, sizes: Sizes) -> ExitCode {
    match measure::run(scenario, peer, sizes) {
        Ok(figures) => {
            // The parent may be gone; then nobody wants the answer.
            let _ = writeln!(io::stdout(), "{}", answer(&figures));
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("punctual-bench: {message}");
            ExitCode::from(2)
        }
    }
}

/// `ir`: one pass of `tasks` tasks and nothing else, for counting instructions.
pub(crate) fn run_once(scenario: Scenario, peer: Peer, tasks: u64) -> ExitCode {
    run(scenario, peer, Sizes::new(tasks, 1))
}

fn answer(figures: &measure::Figures) -> String {
    figures.iter().fold(PREFIX.to_owned(), |line, (name, value)| {
        format!("{line} {name}={value}")
    })
}

/// The parent's side: the values in the order of `metrics`, `None` for one that was not reported. The error quotes
/// what came instead of an answer.
pub(crate) fn parse_answer(output: &str, metrics: &[Metric]) -> Result<Vec<Option<f64>>, String> {
    let line = output.lines().find_map(|line| line.strip_prefix(PREFIX));
    let line = line.ok_or_else(|| format!("no result line in {output:?}"))?;
    let value = |metric: &Metric| {
        line.split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .find(|(name, _)| *name == metric.name)
            .map(|(_, value)| value.parse::<f64>().map_err(|_| format!("bad value in {line:?}")))
            .transpose()
    };
    metrics.iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_arrives_as_it_was_sent() {
        let metrics = Scenario::A.metrics();
        let line = answer(&vec![("cold", 230.25), ("warm", 14.5)]);
        let noisy = format!("some warning\n{line}\n");
        assert_eq!(parse_answer(&noisy, metrics), Ok(vec![Some(14.5), Some(230.25)]));
    }

    #[test]
    fn a_missing_metric_is_a_hole_and_a_missing_line_an_error() {
        let metrics = Scenario::LExecute.metrics();
        assert_eq!(
            parse_answer("result execute=16", metrics),
            Ok(vec![Some(16.0), None])
        );
        assert!(
            parse_answer("thread panicked", metrics)
                .unwrap_err()
                .contains("thread panicked")
        );
        assert!(
            parse_answer("result execute=many", metrics)
                .unwrap_err()
                .contains("execute=many")
        );
    }
}
