//! The memory of a run: per scenario, peer and metric one value for each round, with holes where a child failed.
//! In: values as they come. Out: medians, and the rows that compare. Not here: how a row is shown.

use std::collections::BTreeMap;

use crate::{
    catalog::{Kind, Metric, Peer, Scenario},
    stats,
};

#[derive(Debug, Default)]
pub(crate) struct Samples {
    values: BTreeMap<(Scenario, Peer, &'static str), Vec<Option<f64>>>,
    failures: Vec<Failure>,
}

/// A child that gave no answer.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) scenario: Scenario,
    pub(crate) peer: Peer,
    pub(crate) round: usize,
    pub(crate) reason: String,
}

/// One peer against one configuration of ours, in one metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) scenario: Scenario,
    pub(crate) metric: Metric,
    pub(crate) config: &'static str,
    pub(crate) peer: Peer,
    /// `None` where ours failed, or has no such number.
    pub(crate) ours: Option<f64>,
    pub(crate) theirs: f64,
    /// `None` also where the two are not comparable.
    pub(crate) ratio: Option<f64>,
    pub(crate) spread: Option<(f64, f64)>,
}

impl Row {
    /// A/A is no loss, whatever it shows, and nobody is better than a limit.
    pub(crate) fn is_loss(&self) -> bool {
        self.peer.is_rival() && self.ratio.is_some_and(|ratio| ratio < 1.0)
    }
}

impl Samples {
    pub(crate) fn add(
        &mut self,
        scenario: Scenario,
        peer: Peer,
        round: usize,
        answer: Result<Vec<Option<f64>>, String>,
    ) {
        match answer {
            Ok(values) => {
                for (metric, value) in scenario.metrics().iter().zip(values) {
                    self.set(scenario, peer, metric.name, round, value);
                }
            }
            Err(reason) => self.failures.push(Failure {
                scenario,
                peer,
                round,
                reason,
            }),
        }
    }

    fn set(
        &mut self,
        scenario: Scenario,
        peer: Peer,
        metric: &'static str,
        round: usize,
        value: Option<f64>,
    ) {
        let rounds = self.values.entry((scenario, peer, metric)).or_default();
        if rounds.len() <= round {
            rounds.resize(round + 1, None);
        }
        rounds[round] = value;
    }

    /// The values as they came, with their holes.
    pub(crate) fn rounds(&self, scenario: Scenario, peer: Peer, metric: &'static str) -> &[Option<f64>] {
        self.values
            .get(&(scenario, peer, metric))
            .map_or(&[], Vec::as_slice)
    }

    fn known(&self, scenario: Scenario, peer: Peer, metric: &'static str) -> Vec<f64> {
        self.rounds(scenario, peer, metric)
            .iter()
            .copied()
            .flatten()
            .collect()
    }

    pub(crate) fn median(&self, scenario: Scenario, peer: Peer, metric: &'static str) -> Option<f64> {
        stats::median(&self.known(scenario, peer, metric))
    }

    pub(crate) fn min_max(&self, scenario: Scenario, peer: Peer, metric: &'static str) -> Option<(f64, f64)> {
        stats::min_max(&self.known(scenario, peer, metric))
    }

    /// The smallest median among the rivals that `among` lets in.
    pub(crate) fn best(
        &self,
        scenario: Scenario,
        metric: &'static str,
        among: impl Fn(Peer) -> bool,
    ) -> Option<(Peer, f64)> {
        scenario
            .peers()
            .into_iter()
            .filter(|peer| among(*peer))
            .filter_map(|peer| Some((peer, self.median(scenario, peer, metric)?)))
            .min_by(|a, b| a.1.total_cmp(&b.1))
    }

    pub(crate) fn failures(&self) -> &[Failure] {
        &self.failures
    }

    /// Metrics that at least one peer reported.
    pub(crate) fn metrics(&self, scenario: Scenario) -> Vec<Metric> {
        let reported = |metric: &&Metric| {
            scenario
                .peers()
                .iter()
                .any(|peer| !self.known(scenario, *peer, metric.name).is_empty())
        };
        scenario.metrics().iter().filter(reported).copied().collect()
    }

    /// All comparisons of a scenario: by metric, by configuration of ours, best rival first.
    pub(crate) fn rows(&self, scenario: Scenario) -> Vec<Row> {
        let peers = scenario.peers();
        let is_ours = |peer: &&Peer| peer.kind() == Kind::Ours;
        let mut rows = Vec::new();
        for metric in self.metrics(scenario) {
            for ours in peers.iter().filter(is_ours) {
                let rivals = peers.iter().filter(|peer| peer.kind() != Kind::Ours);
                // The control repeats one configuration; against another it would show more than noise.
                let rivals =
                    rivals.filter(|peer| peer.kind() != Kind::Control || *ours == scenario.controlled());
                let mut block: Vec<Row> = rivals
                    .filter_map(|rival| self.row(scenario, metric, *ours, *rival))
                    .collect();
                block.sort_by(|a, b| a.theirs.total_cmp(&b.theirs));
                rows.append(&mut block);
            }
        }
        rows
    }

    fn row(&self, scenario: Scenario, metric: Metric, ours: Peer, rival: Peer) -> Option<Row> {
        let theirs = self.median(scenario, rival, metric.name)?;
        let our_median = self.median(scenario, ours, metric.name);
        let our_rounds = self.rounds(scenario, ours, metric.name);
        let compares = scenario.compares(metric.name, rival);
        let spread = stats::paired_spread(our_rounds, self.rounds(scenario, rival, metric.name));
        Some(Row {
            scenario,
            metric,
            config: ours.config(scenario),
            peer: rival,
            ours: our_median,
            theirs,
            ratio: our_median
                .filter(|_| compares)
                .map(|ours| stats::ratio(ours, theirs)),
            spread: spread.filter(|_| compares),
        })
    }
}

/// A filled run for the tests of what shows and judges it: every peer in a scenario gets `value(peer)` in each
/// metric, the same in all of three rounds.
#[cfg(test)]
pub(crate) fn filled(scenario: Scenario, value: impl Fn(Peer) -> f64) -> Samples {
    let mut samples = Samples::default();
    for peer in scenario.peers() {
        for round in 0..3 {
            let values = vec![Some(value(peer)); scenario.metrics().len()];
            samples.add(scenario, peer, round, Ok(values));
        }
    }
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_compares_medians_and_spreads_over_the_pairs() {
        let mut samples = Samples::default();
        for (round, (ours, theirs)) in [(10.0, 40.0), (20.0, 50.0), (15.0, 45.0)].into_iter().enumerate() {
            samples.add(Scenario::F, Peer::Ours, round, Ok(vec![Some(ours), None]));
            samples.add(Scenario::F, Peer::Crossbeam, round, Ok(vec![Some(theirs), None]));
        }
        let rows = samples.rows(Scenario::F);
        assert_eq!(rows.len(), 1, "the metric nobody reported has no row");
        let row = &rows[0];
        assert_eq!((row.ours, row.theirs, row.ratio), (Some(15.0), 45.0, Some(3.0)));
        assert_eq!(row.spread, Some((2.5, 4.0)));
        assert!(!row.is_loss());
    }

    #[test]
    fn a_failed_child_leaves_a_hole_and_is_remembered() {
        let mut samples = Samples::default();
        samples.add(Scenario::C, Peer::Ours, 0, Ok(vec![Some(1.0), Some(1.0)]));
        samples.add(Scenario::C, Peer::Ours, 1, Err("died".to_owned()));
        samples.add(Scenario::C, Peer::Tokio, 1, Ok(vec![Some(2.0), Some(2.0)]));
        assert_eq!(samples.failures().len(), 1);
        let row = &samples.rows(Scenario::C)[0];
        assert_eq!((row.ratio, row.spread), (Some(2.0), None), "no round has both");
    }

    #[test]
    fn both_configurations_of_ours_have_rows_and_the_control_only_one() {
        let rows = filled(Scenario::A, |_| 5.0).rows(Scenario::A);
        let count = |peer, config| {
            rows.iter()
                .filter(|row| row.metric.name == "warm" && row.peer == peer && row.config == config)
                .count()
        };
        assert_eq!(count(Peer::Rayon, "unbounded"), 1);
        assert_eq!(count(Peer::Rayon, "bounded with room"), 1);
        assert_eq!(count(Peer::OursAgain, "unbounded"), 1);
        assert_eq!(count(Peer::OursAgain, "bounded with room"), 0);
    }

    #[test]
    fn what_is_not_comparable_is_shown_without_a_ratio_and_is_no_loss() {
        let rows = filled(
            Scenario::GInsert,
            |peer| if peer == Peer::Ours { 5.0 } else { 1.0 },
        )
        .rows(Scenario::GInsert);
        let row = |metric, peer| {
            let found = rows
                .iter()
                .find(|row| row.metric.name == metric && row.peer == peer);
            found.expect("shown all the same")
        };
        assert_eq!(row("cancel_random", Peer::SchedTp).ratio, None);
        assert_eq!(row("cancel_random", Peer::SchedTp).spread, None);
        assert!(!row("cancel_random", Peer::SchedTp).is_loss());
        assert!(row("cancel_random", Peer::TokioSleep).is_loss());
        assert!(row("insert_warm", Peer::SchedTp).is_loss());
        let limits = filled(Scenario::H, |peer| if peer == Peer::Ours { 5.0 } else { 1.0 }).rows(Scenario::H);
        let limit = limits.iter().find(|row| row.peer == Peer::BareFutex);
        assert!(limit.is_some_and(|row| row.ratio == Some(0.2) && !row.is_loss()));
    }

    #[test]
    fn when_ours_failed_the_rivals_are_still_shown() {
        let mut samples = Samples::default();
        samples.add(Scenario::F, Peer::Ours, 0, Err("died".to_owned()));
        samples.add(Scenario::F, Peer::Crossbeam, 0, Ok(vec![Some(600.0), None]));
        let rows = samples.rows(Scenario::F);
        assert!(!rows.is_empty());
        assert!(
            rows.iter()
                .all(|row| row.ours.is_none() && row.ratio.is_none() && !row.is_loss())
        );
    }

    #[test]
    fn the_best_is_the_smallest_median_of_those_let_in() {
        let samples = filled(Scenario::C, |peer| {
            if peer == Peer::JFjp {
                1.0
            } else {
                peer as u8 as f64 + 10.0
            }
        });
        let best_rust = samples.best(Scenario::C, "warm", |peer| peer.kind() == Kind::Rust);
        assert_eq!(best_rust.map(|(peer, _)| peer), Some(Peer::Rayon));
        assert_eq!(
            samples.best(Scenario::C, "warm", |_| true),
            Some((Peer::JFjp, 1.0))
        );
    }
}
