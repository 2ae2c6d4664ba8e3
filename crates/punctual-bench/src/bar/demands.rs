//! The table of demands, which is section 6 of the second edition's page row by row, and what each holds ours against.
//! In: nothing. Out: [`BAR`]. Not here: judging.

use crate::catalog::{Kind, Peer, Scenario};

/// What ours is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Against {
    /// At least so many times better than the best median among the Rust peers.
    BestRust,
    /// The same against all peers.
    Best,
    /// The same against the Rust peers that keep a closure and give a handle back, as ours does.
    BestRustOwner,
    /// The same against all peers that do.
    BestOwner,
    /// The same against one.
    One(Peer),
    /// At most so many times what a bare thread with the least slack shows, which is the limit of the machine.
    LeastSlack,
    /// At most so much more than one, in the metric's unit.
    Above(Peer),
    /// Absolute, no peer involved; 0 can only be met by 0.
    AtMost,
    Below,
    /// Absolute, for faults: one round with more is enough to miss it.
    NeverAbove,
}

impl Against {
    /// Whether this peer's number in this metric is one to be held against.
    pub(super) fn takes(self, peer: Peer, scenario: Scenario, metric: &str) -> bool {
        let comparable = peer.is_rival() && scenario.compares(metric, peer);
        let is_rust = peer.kind() == Kind::Rust;
        match self {
            Against::BestRust => comparable && is_rust,
            Against::Best => comparable,
            Against::BestRustOwner => comparable && is_rust && peer.owns_closure(scenario),
            Against::BestOwner => comparable && peer.owns_closure(scenario),
            Against::One(one) | Against::Above(one) => peer == one,
            Against::LeastSlack => matches!(peer, Peer::BareNanosleepSlack1 | Peer::BareFutexSlack1),
            Against::AtMost | Against::Below | Against::NeverAbove => false,
        }
    }

    /// Judged by ours alone.
    pub(super) fn is_alone(self) -> bool {
        matches!(self, Against::AtMost | Against::Below | Against::NeverAbove)
    }

    /// Whether more of the judged value is better: ratios have a least value, everything else has a largest one.
    pub(super) fn wants_more(self) -> bool {
        !matches!(
            self,
            Against::LeastSlack | Against::Above(_) | Against::AtMost | Against::Below | Against::NeverAbove
        )
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) scenario: Scenario,
    pub(super) metric: &'static str,
    /// The configurations of ours it is for, each judged by itself.
    pub(super) ours: &'static [Peer],
    pub(super) against: Against,
    pub(super) must: f64,
    pub(super) goal: Option<f64>,
}

/// A demand before its limits are said.
struct On {
    scenario: Scenario,
    metric: &'static str,
    ours: &'static [Peer],
    against: Against,
}

impl On {
    const fn must(self, limit: f64) -> Demand {
        Demand {
            scenario: self.scenario,
            metric: self.metric,
            ours: self.ours,
            against: self.against,
            must: limit,
            goal: None,
        }
    }
}

impl Demand {
    const fn on(scenario: Scenario, metric: &'static str, ours: &'static [Peer], against: Against) -> On {
        On {
            scenario,
            metric,
            ours,
            against,
        }
    }

    const fn goal(self, limit: f64) -> Self {
        Demand {
            goal: Some(limit),
            ..self
        }
    }
}

const PLAIN: &[Peer] = &[Peer::Ours];
const PLAIN_AND_BOUNDED: &[Peer] = &[Peer::Ours, Peer::OursBounded];
const STEALING: &[Peer] = &[Peer::OursStealing];
const STRICT: &[Peer] = &[Peer::OursStrict];
const SHARES: &[Peer] = &[Peer::OursShares];
const AGING: &[Peer] = &[Peer::OursAging];
const STRICT_AND_SHARES: &[Peer] = &[Peer::OursStrict, Peer::OursShares];
const EVERY_RULE: &[Peer] = &[Peer::OursStrict, Peer::OursAging, Peer::OursShares];
const KEYED: &[Peer] = &[Peer::OursKeyed];
const LANES: &[Peer] = &[Peer::OursLanes];

const FJP: Against = Against::One(Peer::JFjp);
const RAYON: Against = Against::One(Peer::Rayon);
const TOKIO: Against = Against::One(Peer::Tokio);
const HEAP: Against = Against::One(Peer::HeapPool);

/// Milliseconds after the last time at which a pool is done that keeps up with a million a second. Guess: a queue that
/// grows shows hundreds, the machine's own pauses a few.
const KEEPS_UP: f64 = 20.0;

/// "Must" closes the work on a scenario, "goal" is what it is for. A row of the page is a block here.
pub(super) const BAR: &[Demand] = {
    use Against::{Above, AtMost, Below, Best, BestOwner, BestRust, BestRustOwner, LeastSlack, NeverAbove};
    &[
        // A, A2: unbounded, and bounded with room.
        Demand::on(Scenario::A, "warm", PLAIN_AND_BOUNDED, BestRust)
            .must(3.5)
            .goal(6.0),
        Demand::on(Scenario::A, "warm", PLAIN_AND_BOUNDED, FJP)
            .must(1.2)
            .goal(2.0),
        Demand::on(Scenario::A2, "warm", PLAIN_AND_BOUNDED, BestRust)
            .must(3.5)
            .goal(6.0),
        Demand::on(Scenario::A2, "warm", PLAIN_AND_BOUNDED, FJP)
            .must(1.2)
            .goal(2.0),
        // B
        Demand::on(Scenario::B, "warm", PLAIN, BestRust)
            .must(2.2)
            .goal(4.0),
        Demand::on(Scenario::B, "warm", PLAIN, FJP).must(1.1).goal(2.0),
        // C
        Demand::on(Scenario::C, "warm", PLAIN, BestRust)
            .must(5.0)
            .goal(8.0),
        Demand::on(Scenario::C, "warm", PLAIN, FJP).must(1.0).goal(1.5),
        // D
        Demand::on(Scenario::D, "warm", STEALING, RAYON)
            .must(4.0)
            .goal(8.0),
        Demand::on(Scenario::D, "warm", STEALING, FJP).must(1.1).goal(2.0),
        // E
        Demand::on(Scenario::E, "busy_p50", PLAIN, Best)
            .must(8.0)
            .goal(20.0),
        Demand::on(Scenario::E, "busy_p99", PLAIN, Below)
            .must(5.0)
            .goal(1.0),
        Demand::on(Scenario::E, "parked_p50", PLAIN, Best)
            .must(0.95)
            .goal(1.05),
        // F
        Demand::on(Scenario::F, "warm", PLAIN, Best).must(0.95).goal(1.05),
        // G
        Demand::on(Scenario::GInsert, "insert_cold", PLAIN, BestRustOwner)
            .must(1.0)
            .goal(1.2),
        Demand::on(Scenario::GInsert, "insert_warm", PLAIN, BestRustOwner)
            .must(1.2)
            .goal(2.0),
        Demand::on(Scenario::GInsert, "cancel_random", PLAIN, Best)
            .must(0.9)
            .goal(1.3),
        Demand::on(Scenario::GInsert, "cancel_order", PLAIN, Best)
            .must(2.0)
            .goal(4.0),
        Demand::on(Scenario::GBytes, "bytes_without_result", PLAIN, AtMost)
            .must(96.0)
            .goal(64.0),
        Demand::on(Scenario::GGrowth, "flatness", PLAIN, AtMost)
            .must(3.0)
            .goal(2.0),
        // H: its goal is nearness to the bare thread.
        Demand::on(Scenario::H, "p50", PLAIN, Best).must(1.1),
        Demand::on(Scenario::H, "p50", PLAIN, LeastSlack)
            .must(1.3)
            .goal(1.0),
        // I
        Demand::on(Scenario::ISame, "same_wall", PLAIN, BestOwner)
            .must(2.5)
            .goal(5.0),
        Demand::on(Scenario::ISpread, "spread_behind", PLAIN, AtMost).must(KEEPS_UP),
        // J
        Demand::on(Scenario::J, "cpu_tick", PLAIN, Against::One(Peer::TokioInterval))
            .must(0.8)
            .goal(1.3),
        // Not on the page: a tick that is lost is a fault, whatever the others do.
        Demand::on(Scenario::J, "lost", PLAIN, NeverAbove).must(0.0),
        // K
        Demand::on(Scenario::K, "switches", PLAIN, AtMost)
            .must(0.0)
            .goal(0.0),
        Demand::on(Scenario::KTimers, "timer_switches", PLAIN, AtMost)
            .must(0.0)
            .goal(0.0),
        Demand::on(Scenario::KCalendar, "calendar_switches", PLAIN, AtMost)
            .must(1.0)
            .goal(1.0),
        // L
        Demand::on(Scenario::LExecute, "execute", PLAIN, AtMost)
            .must(96.0)
            .goal(72.0),
        Demand::on(Scenario::LSubmit, "submit", PLAIN, AtMost)
            .must(112.0)
            .goal(72.0),
        // M
        Demand::on(Scenario::M, "backlog_100k", STRICT_AND_SHARES, HEAP)
            .must(4.0)
            .goal(8.0),
        Demand::on(Scenario::M, "backlog_100k", AGING, HEAP)
            .must(3.0)
            .goal(5.0),
        // N1 to N5. N3 not against futures, which polls again in place without a look at what waits.
        Demand::on(Scenario::N1, "backlog_100k", EVERY_RULE, HEAP)
            .must(5.0)
            .goal(10.0),
        Demand::on(Scenario::N2, "urgent_p99", STRICT, Best).must(5.0),
        Demand::on(Scenario::N3, "spawn", PLAIN, TOKIO)
            .must(1.5)
            .goal(3.0),
        Demand::on(Scenario::N3, "yield", PLAIN, TOKIO)
            .must(0.8)
            .goal(1.0),
        Demand::on(Scenario::N4, "warm", KEYED, Against::One(Peer::MapInFront))
            .must(2.5)
            .goal(4.0),
        Demand::on(Scenario::N4, "warm", KEYED, Above(Peer::OursUnordered))
            .must(150.0)
            .goal(80.0),
        Demand::on(Scenario::N5, "share_error", SHARES, AtMost).must(5.0),
        // O, as before. "Not slower": a pool that fills all the threads all the time ends with the last nap, and two
        // such pools differ by the noise.
        Demand::on(Scenario::O1, "burst_cold", LANES, Best).must(0.98),
        Demand::on(Scenario::O1, "burst_warm", LANES, Best).must(0.98),
        Demand::on(Scenario::O1, "threads", LANES, AtMost).must(64.0),
        Demand::on(Scenario::O2, "mean_wait", LANES, Against::One(Peer::OursPinned)).must(3.0),
        Demand::on(Scenario::O3, "warm", LANES, Above(Peer::OursUnordered)).must(250.0),
    ]
};
