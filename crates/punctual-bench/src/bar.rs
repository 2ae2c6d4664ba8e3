//! The bar: what ours must reach and what it wants to reach. In: the samples of a run. Out: one [`Verdict`] for each
//! demand on a scenario that was measured. Not here: exit codes, and anything absolute in a test.
//!
//! A round gives one value, mostly the ratio of that round. A must is missed when even the better quartile of the
//! rounds does not reach it, so that noise alone misses none; a goal is reached by the median. A demand that would be
//! met but whose peers did not all run is not judged: the missing one could have been the best.

mod demands;
#[cfg(test)]
mod tests;

use crate::{
    catalog::{Peer, Scenario},
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
    /// It would be met, but not all it is held against have a value in this run; or ours has none.
    NotJudged,
}

#[derive(Debug, PartialEq)]
pub(crate) struct Verdict {
    pub(crate) what: String,
    pub(crate) must: String,
    pub(crate) goal: String,
    pub(crate) measured: String,
    pub(crate) standing: Standing,
    /// The names of those without a value.
    pub(crate) missing: Vec<&'static str>,
}

impl Verdict {
    pub(crate) fn words(&self) -> String {
        match self.standing {
            Standing::Goal => "met, goal too".to_owned(),
            Standing::Met => "met".to_owned(),
            Standing::Missed => "MISSED".to_owned(),
            Standing::NotJudged => format!("NOT JUDGED (missing: {})", self.missing.join(", ")),
        }
    }

    /// Whether a gate lets it through.
    pub(crate) fn is_met(&self) -> bool {
        matches!(self.standing, Standing::Goal | Standing::Met)
    }
}

/// Judges the scenarios in `measured`, each configuration of ours by itself.
pub(crate) fn judge(samples: &Samples, measured: &[Scenario]) -> Vec<Verdict> {
    let demands = BAR.iter().filter(|demand| measured.contains(&demand.scenario));
    let each = demands.flat_map(|demand| demand.ours.iter().map(move |ours| (demand, *ours)));
    each.map(|(demand, ours)| demand.judge(samples, ours)).collect()
}

/// What the rounds say together.
struct Judged {
    median: f64,
    /// What the must is held against: the better quartile, and of faults the worst round.
    decisive: f64,
}

impl Demand {
    fn judge(self, samples: &Samples, ours: Peer) -> Verdict {
        let (scenario, metric) = (self.scenario, self.metric);
        let takes = |peer: Peer| self.against.takes(peer, scenario, metric);
        let rival = samples.best(scenario, metric, takes);
        let judged = self.judged(&self.values(samples, ours, rival.map(|(peer, _)| peer)));
        let mut missing: Vec<&'static str> = scenario
            .peers()
            .into_iter()
            .filter(|peer| *peer == ours || takes(*peer))
            .filter(|peer| samples.median(scenario, *peer, metric).is_none())
            .map(Peer::name)
            .collect();
        if judged.is_none() && missing.is_empty() {
            missing.push("a round with both");
        }
        Verdict {
            what: format!("{} {metric}, {}", scenario.letter(), ours.config(scenario)),
            must: self.limit(Some(self.must)),
            goal: self.limit(self.goal),
            measured: judged.as_ref().map_or("-".to_owned(), |judged| {
                self.measured(judged, samples.median(scenario, ours, metric), rival)
            }),
            standing: self.standing(judged.as_ref(), missing.is_empty()),
            missing,
        }
    }

    /// One for each round that has all it takes.
    fn values(self, samples: &Samples, ours: Peer, rival: Option<Peer>) -> Vec<f64> {
        let rounds = |peer| samples.rounds(self.scenario, peer, self.metric);
        if self.against.is_alone() {
            return rounds(ours).iter().copied().flatten().collect();
        }
        let theirs = rival.map(rounds).unwrap_or_default();
        let pairs = rounds(ours).iter().zip(theirs);
        let pairs = pairs.filter_map(|(ours, theirs)| Some(((*ours)?, (*theirs)?)));
        pairs
            .map(|(ours, theirs)| match self.against {
                Against::LeastSlack => stats::ratio(theirs, ours),
                Against::Above(_) => ours - theirs,
                _ => stats::ratio(ours, theirs),
            })
            .collect()
    }

    fn judged(self, values: &[f64]) -> Option<Judged> {
        let decisive = match self.against {
            Against::NeverAbove => stats::min_max(values)?.1,
            against if against.wants_more() => stats::upper_quartile(values)?,
            _ => stats::lower_quartile(values)?,
        };
        Some(Judged {
            median: stats::median(values)?,
            decisive,
        })
    }

    fn reaches(self, value: f64, limit: f64) -> bool {
        match self.against {
            Against::Below => value < limit,
            against if against.wants_more() => value >= limit,
            _ => value <= limit,
        }
    }

    fn standing(self, judged: Option<&Judged>, complete: bool) -> Standing {
        match judged {
            // One more peer could only be better, so this one stands.
            Some(judged) if !self.reaches(judged.decisive, self.must) => Standing::Missed,
            Some(judged) if complete => {
                let is_reached = |goal| self.reaches(judged.median, goal);
                if self.goal.is_some_and(is_reached) {
                    Standing::Goal
                } else {
                    Standing::Met
                }
            }
            _ => Standing::NotJudged,
        }
    }

    /// The median of the rounds, what decided on the must, and the two medians it comes from.
    fn measured(self, judged: &Judged, ours: Option<f64>, rival: Option<(Peer, f64)>) -> String {
        let Judged { median, decisive } = judged;
        let by = if self.against == Against::NeverAbove {
            "worst"
        } else {
            "quartile"
        };
        let (Some(ours), Some((peer, theirs))) = (ours, rival) else {
            return format!("{median:.2}, {by} {decisive:.2}");
        };
        let peer = peer.name();
        match self.against {
            Against::LeastSlack => {
                format!("{median:.2}x, {by} {decisive:.2} (ours {ours:.2} / {peer} {theirs:.2})")
            }
            Against::Above(_) => {
                format!("{median:.2} more, {by} {decisive:.2} (ours {ours:.2} - {peer} {theirs:.2})")
            }
            _ => format!("{median:.2}x, {by} {decisive:.2} ({peer} {theirs:.2} / ours {ours:.2})"),
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
            Against::NeverAbove => format!("never above {limit}"),
            Against::Below => format!("below {limit}"),
        }
    }
}
