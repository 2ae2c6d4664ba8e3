//! The bar: what ours must reach and what it wants to reach. In: the samples of a run. Out: one [`Verdict`] for each
//! demand on a scenario that was measured. Not here: exit codes, and anything absolute in a test.

use crate::{
    catalog::{Kind, Peer, Scenario},
    samples::Samples,
    stats,
};

/// What ours is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Against {
    /// At least so many times better than the best median among the Rust peers.
    BestRust,
    /// The same against everybody.
    Best,
    /// The same against one.
    One(Peer),
    /// Absolute, no peer involved; 0 can only be met by 0.
    AtMost,
    Below,
}

#[derive(Debug, Clone, Copy)]
struct Demand {
    scenario: Scenario,
    metric: &'static str,
    against: Against,
    must: Option<f64>,
    goal: Option<f64>,
}

const fn demand(
    scenario: Scenario,
    metric: &'static str,
    against: Against,
    must: Option<f64>,
    goal: Option<f64>,
) -> Demand {
    Demand {
        scenario,
        metric,
        against,
        must,
        goal,
    }
}

const FJP: Against = Against::One(Peer::JFjp);

/// "Must" closes the work on a scenario, "goal" is what it is for.
const BAR: [Demand; 15] = [
    demand(Scenario::A, "warm", Against::BestRust, Some(4.0), Some(9.0)),
    demand(Scenario::A, "warm", FJP, Some(1.3), Some(2.5)),
    demand(Scenario::A2, "warm", Against::BestRust, Some(4.0), Some(9.0)),
    demand(Scenario::A2, "warm", FJP, Some(1.3), Some(2.5)),
    demand(Scenario::B, "warm", Against::BestRust, Some(3.0), Some(5.0)),
    demand(Scenario::B, "warm", FJP, Some(1.2), Some(2.5)),
    demand(Scenario::C, "warm", Against::BestRust, Some(4.0), Some(8.0)),
    demand(Scenario::C, "warm", FJP, None, Some(1.5)),
    demand(Scenario::E, "busy_p50", Against::Best, Some(5.0), Some(15.0)),
    demand(Scenario::E, "busy_p99", Against::Below, Some(5.0), Some(1.0)),
    demand(Scenario::E, "parked_p50", Against::Best, Some(0.9), Some(1.1)),
    demand(Scenario::F, "warm", Against::Best, Some(0.95), Some(1.05)),
    demand(Scenario::K, "switches", Against::AtMost, Some(0.0), Some(0.0)),
    demand(
        Scenario::LExecute,
        "execute",
        Against::AtMost,
        Some(32.0),
        Some(16.0),
    ),
    demand(
        Scenario::LSubmit,
        "submit",
        Against::AtMost,
        Some(112.0),
        Some(89.0),
    ),
];

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
            .filter(|peer| peer.kind() == Kind::Ours);
        ours.map(|ours| self.judge_config(samples, ours)).collect()
    }

    fn judge_config(self, samples: &Samples, ours: Peer) -> Verdict {
        let (scenario, metric) = (self.scenario, self.metric);
        let our_median = samples.median(scenario, ours, metric);
        let rival = match self.against {
            Against::BestRust => samples.best(scenario, metric, |peer| peer.kind() == Kind::Rust),
            Against::Best => samples.best(scenario, metric, |peer| {
                matches!(peer.kind(), Kind::Rust | Kind::Jvm)
            }),
            Against::One(one) => samples.best(scenario, metric, |peer| peer == one),
            Against::AtMost | Against::Below => None,
        };
        let (value, measured) = match (self.is_absolute(), our_median, rival) {
            (true, Some(value), _) => (Some(value), format!("{value:.2}")),
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
            Against::AtMost => value <= limit,
            Against::Below => value < limit,
            Against::BestRust | Against::Best | Against::One(_) => value >= limit,
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
            Against::One(peer) => format!("{limit}x {}", peer.name()),
            Against::AtMost => format!("at most {limit}"),
            Against::Below => format!("below {limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::filled;

    fn standings(scenario: Scenario, value: impl Fn(Peer) -> f64) -> Vec<Standing> {
        judge(&filled(scenario, value), &[scenario])
            .into_iter()
            .map(|verdict| verdict.standing)
            .collect()
    }

    fn ours_and(ours: f64, rust: f64, jvm: f64) -> impl Fn(Peer) -> f64 {
        move |peer| match peer.kind() {
            Kind::Ours | Kind::Control => ours,
            Kind::Rust => rust,
            Kind::Jvm => jvm,
        }
    }

    #[test]
    fn ratios_are_judged_for_each_configuration() {
        use Standing::{Goal, Met, Missed};
        assert_eq!(standings(Scenario::A, ours_and(10.0, 90.0, 25.0)), [Goal; 4]);
        assert_eq!(standings(Scenario::A, ours_and(10.0, 40.0, 13.0)), [Met; 4]);
        assert_eq!(standings(Scenario::A, ours_and(10.0, 39.9, 12.9)), [Missed; 4]);
        let bounded_is_slow = |peer| {
            if peer == Peer::OursBounded {
                20.0
            } else {
                ours_and(10.0, 40.0, 25.0)(peer)
            }
        };
        assert_eq!(
            standings(Scenario::A2, bounded_is_slow),
            [Met, Missed, Goal, Missed]
        );
    }

    #[test]
    fn the_best_rust_peer_counts_and_the_jvm_is_no_rust_peer() {
        let one_is_fast = |peer| match peer {
            Peer::Crossbeam => 29.0,
            other => ours_and(10.0, 300.0, 1.0)(other),
        };
        assert_eq!(
            standings(Scenario::B, one_is_fast),
            [Standing::Missed, Standing::Missed]
        );
        let verdict = &judge(&filled(Scenario::B, one_is_fast), &[Scenario::B])[0];
        assert!(
            verdict.measured.contains("crossbeam") && verdict.measured.starts_with("2.90x"),
            "{verdict:?}"
        );
    }

    #[test]
    fn the_best_of_all_counts_where_the_bar_says_so() {
        let f = |rust, jvm| standings(Scenario::F, ours_and(100.0, rust, jvm));
        assert_eq!(f(105.0, 200.0), [Standing::Goal]);
        assert_eq!(f(200.0, 95.0), [Standing::Met]);
        assert_eq!(f(94.9, 200.0), [Standing::Missed]);
    }

    #[test]
    fn a_mere_goal_cannot_be_missed() {
        assert_eq!(
            standings(Scenario::C, ours_and(10.0, 40.0, 5.0)),
            [Standing::Met, Standing::NotYet]
        );
    }

    #[test]
    fn absolute_limits_need_no_peer() {
        assert_eq!(standings(Scenario::K, |_| 0.0), [Standing::Goal]);
        assert_eq!(standings(Scenario::K, |_| 0.34), [Standing::Missed]);
        assert_eq!(standings(Scenario::LExecute, |_| 32.0), [Standing::Met]);
        assert_eq!(standings(Scenario::LSubmit, |_| 112.1), [Standing::Missed]);
    }

    #[test]
    fn the_strict_limit_of_the_ping_tail_is_strict() {
        let verdicts = judge(&filled(Scenario::E, |_| 5.0), &[Scenario::E]);
        let tail = verdicts.iter().find(|verdict| verdict.what.contains("busy_p99"));
        assert_eq!(tail.map(|verdict| verdict.standing), Some(Standing::Missed));
    }

    #[test]
    fn what_was_not_measured_is_said_and_not_asked_for_is_silent() {
        let nothing = Samples::default();
        let verdicts = judge(&nothing, &[Scenario::K]);
        assert_eq!(
            verdicts
                .iter()
                .map(|verdict| verdict.standing)
                .collect::<Vec<_>>(),
            [Standing::NotMeasured]
        );
        assert_eq!(judge(&nothing, &[Scenario::D]), []);
    }
}
