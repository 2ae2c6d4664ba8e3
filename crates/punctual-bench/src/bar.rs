//! The bar: what ours must reach and what it wants to reach. In: the samples of a run. Out: one [`Verdict`] for each
//! demand on a scenario that was measured. Not here: exit codes, and anything absolute in a test.

mod demands;
#[cfg(test)]
mod tests;

use crate::{
    catalog::{Kind, Peer, Scenario},
    samples::Samples,
    stats,
};
use demands::{Against, BAR, Demand};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The goal too.
    Goal,
    Met,
    Missed,
    /// Only a goal, and it is not reached.
    NotYet,
    /// Ours or the peer has no value in this run.
    NotMeasured,
}

impl Standing {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Standing::Goal => "met, goal too",
            Standing::Met => "met",
            Standing::Missed => "MISSED",
            Standing::NotYet => "goal not reached",
            Standing::NotMeasured => "not measured",
        }
    }
}

#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) must: String,
    pub(crate) goal: String,
    pub(crate) measured: String,
    pub(crate) standing: Standing,
}

/// Judges the scenarios in `measured`, each configuration of ours by itself.
pub(crate) fn judge(samples: &Samples, measured: &[Scenario]) -> Vec<Verdict> {
    let demands = BAR.iter().filter(|demand| measured.contains(&demand.scenario));
    demands.flat_map(|demand| demand.judge(samples)).collect()
}

impl Demand {
    fn judge(self, samples: &Samples) -> Vec<Verdict> {
        let ours = self
            .scenario
            .peers()
            .into_iter()
            .filter(|peer| peer.kind() == Kind::Ours && self.concerns(*peer));
        ours.map(|ours| self.judge_config(samples, ours)).collect()
    }

    /// Forking is what stealing is for; everywhere else it is held against the plain queue alone.
    fn concerns(self, ours: Peer) -> bool {
        let is_about_stealing = self.scenario == Scenario::D || self.against == Against::One(Peer::Ours);
        is_about_stealing == (ours == Peer::OursStealing)
    }

    fn judge_config(self, samples: &Samples, ours: Peer) -> Verdict {
        let (scenario, metric) = (self.scenario, self.metric);
        let our_median = samples.median(scenario, ours, metric);
        let rival = match self.against {
            Against::AtMost | Against::Below => None,
            against => samples.best(scenario, metric, |peer| against.takes(peer, scenario, metric)),
        };
        let (value, measured) = match (self.is_absolute(), our_median, rival) {
            (true, Some(value), _) => (Some(value), format!("{value:.2}")),
            (false, Some(ours), Some((peer, theirs))) if self.against == Against::LeastSlack => {
                let times = stats::ratio(theirs, ours);
                (
                    Some(times),
                    format!("{times:.2}x (ours {ours:.2} / {} {theirs:.2})", peer.name()),
                )
            }
            (false, Some(ours), Some((peer, theirs))) if matches!(self.against, Against::Above(_)) => {
                let more = ours - theirs;
                (
                    Some(more),
                    format!("{more:.2} more (ours {ours:.2} - {} {theirs:.2})", peer.name()),
                )
            }
            (false, Some(ours), Some((peer, theirs))) => {
                let ratio = stats::ratio(ours, theirs);
                (
                    Some(ratio),
                    format!("{ratio:.2}x ({} {theirs:.2} / ours {ours:.2})", peer.name()),
                )
            }
            _ => (None, "-".to_owned()),
        };
        Verdict {
            what: format!("{} {metric}, {}", scenario.letter(), ours.config(scenario)),
            must: self.limit(self.must),
            goal: self.limit(self.goal),
            measured,
            standing: self.standing(value),
        }
    }

    fn is_absolute(self) -> bool {
        matches!(self.against, Against::AtMost | Against::Below)
    }

    fn reaches(self, value: f64, limit: f64) -> bool {
        match self.against {
            Against::AtMost | Against::LeastSlack | Against::Above(_) => value <= limit,
            Against::Below => value < limit,
            _ => value >= limit,
        }
    }

    fn standing(self, value: Option<f64>) -> Standing {
        let Some(value) = value else {
            return Standing::NotMeasured;
        };
        let reached = |limit: Option<f64>| limit.map(|limit| self.reaches(value, limit));
        match (reached(self.must), reached(self.goal)) {
            (Some(false), _) => Standing::Missed,
            (_, Some(true)) => Standing::Goal,
            (Some(true), _) => Standing::Met,
            (None, _) => Standing::NotYet,
        }
    }

    fn limit(self, limit: Option<f64>) -> String {
        let Some(limit) = limit else { return "-".to_owned() };
        match self.against {
            Against::BestRust => format!("{limit}x best Rust"),
            Against::Best => format!("{limit}x best peer"),
            Against::BestRustOwner => format!("{limit}x best Rust owner"),
            Against::BestOwner => format!("{limit}x best owner"),
            Against::LeastSlack => format!("within {limit}x of bare"),
            Against::One(peer) => format!("{limit}x {}", peer.name()),
            Against::Above(peer) => format!("{} + {limit}", peer.name()),
            Against::AtMost => format!("at most {limit}"),
            Against::Below => format!("below {limit}"),
        }
    }
}
