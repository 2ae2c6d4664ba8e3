//! The table of demands, and what each holds ours against. In: nothing. Out: [`BAR`]. Not here: judging.

use crate::catalog::{Kind, Peer, Scenario};

/// What ours is held against.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Against {
    /// At least so many times better than the best median among the Rust peers.
    BestRust,
    /// The same against everybody.
    Best,
    /// The same against the Rust peers that keep a closure and give a handle back, as ours does.
    BestRustOwner,
    /// The same against everybody who does.
    BestOwner,
    /// The same against one.
    One(Peer),
    /// At most so many times what a bare thread with the least slack shows: nobody can be better.
    LeastSlack,
    /// At most so much more than one, in the metric's unit.
    Above(Peer),
    /// Absolute, no peer involved; 0 can only be met by 0.
    AtMost,
    Below,
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
            Against::AtMost | Against::Below => false,
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Demand {
    pub(super) scenario: Scenario,
    pub(super) metric: &'static str,
    pub(super) against: Against,
    pub(super) must: Option<f64>,
    pub(super) goal: Option<f64>,
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

/// Milliseconds after the last time at which whoever keeps up with a million a second is done. Guess: a queue that
/// grows shows hundreds, the machine's own pauses a few.
const KEEPS_UP: f64 = 20.0;

const FJP: Against = Against::One(Peer::JFjp);

/// Of the queue with deques: at most 1.25 times what the plain one takes.
const PLAIN: Against = Against::One(Peer::Ours);

/// "Must" closes the work on a scenario, "goal" is what it is for.
pub(super) const BAR: &[Demand] = &[
    demand(Scenario::A, "warm", Against::BestRust, Some(4.0), Some(9.0)),
    demand(Scenario::A, "warm", FJP, Some(1.3), Some(2.5)),
    demand(Scenario::A2, "warm", Against::BestRust, Some(4.0), Some(9.0)),
    demand(Scenario::A2, "warm", FJP, Some(1.3), Some(2.5)),
    demand(Scenario::B, "warm", Against::BestRust, Some(3.0), Some(5.0)),
    demand(Scenario::B, "warm", FJP, Some(1.2), Some(2.5)),
    demand(Scenario::C, "warm", Against::BestRust, Some(4.0), Some(8.0)),
    demand(Scenario::C, "warm", FJP, None, Some(1.5)),
    demand(Scenario::A, "warm", PLAIN, Some(0.8), Some(1.0)),
    demand(Scenario::A2, "warm", PLAIN, Some(0.8), Some(1.0)),
    demand(Scenario::B, "warm", PLAIN, Some(0.8), Some(1.0)),
    demand(Scenario::C, "warm", PLAIN, Some(0.8), Some(1.0)),
    demand(Scenario::D, "warm", Against::One(Peer::Rayon), Some(4.0), None),
    demand(Scenario::D, "warm", FJP, None, Some(1.2)),
    demand(Scenario::E, "busy_p50", Against::Best, Some(5.0), Some(15.0)),
    demand(Scenario::E, "busy_p99", Against::Below, Some(5.0), Some(1.0)),
    demand(Scenario::E, "parked_p50", Against::Best, Some(0.9), Some(1.1)),
    demand(Scenario::F, "warm", Against::Best, Some(0.95), Some(1.05)),
    demand(
        Scenario::GInsert,
        "insert_cold",
        Against::BestRustOwner,
        Some(1.0),
        None,
    ),
    demand(Scenario::GInsert, "insert_cold", Against::Best, None, Some(1.0)),
    demand(
        Scenario::GInsert,
        "insert_warm",
        Against::BestRustOwner,
        Some(1.2),
        None,
    ),
    demand(Scenario::GInsert, "insert_warm", Against::Best, None, Some(1.5)),
    demand(
        Scenario::GInsert,
        "cancel_random",
        Against::Best,
        Some(1.3),
        Some(1.6),
    ),
    demand(
        Scenario::GInsert,
        "cancel_order",
        Against::Best,
        Some(3.0),
        Some(4.0),
    ),
    demand(
        Scenario::GBytes,
        "bytes_without_result",
        Against::AtMost,
        Some(96.0),
        Some(73.0),
    ),
    demand(Scenario::GGrowth, "flatness", Against::AtMost, Some(2.0), None),
    demand(Scenario::H, "p50", Against::Best, Some(1.1), None),
    demand(Scenario::H, "p50", Against::LeastSlack, Some(1.3), Some(1.1)),
    demand(Scenario::H, "early", Against::AtMost, Some(0.0), None),
    demand(
        Scenario::ISame,
        "same_wall",
        Against::BestOwner,
        Some(3.0),
        Some(5.0),
    ),
    demand(
        Scenario::ISpread,
        "spread_behind",
        Against::AtMost,
        Some(KEEPS_UP),
        None,
    ),
    // 0.8 of its time is 1.25 the other way round.
    demand(
        Scenario::ISpread,
        "spread_cpu",
        Against::One(Peer::TokioDelayQueue),
        None,
        Some(1.25),
    ),
    demand(
        Scenario::J,
        "cpu_tick",
        Against::One(Peer::TokioInterval),
        Some(1.0),
        Some(3.0),
    ),
    demand(Scenario::J, "lost", Against::AtMost, Some(0.0), None),
    demand(Scenario::K, "switches", Against::AtMost, Some(0.0), Some(0.0)),
    demand(
        Scenario::KTimers,
        "timer_switches",
        Against::AtMost,
        Some(0.0),
        Some(0.0),
    ),
    demand(
        Scenario::KCalendar,
        "calendar_switches",
        Against::AtMost,
        Some(1.0),
        Some(1.0),
    ),
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
    demand(
        Scenario::M,
        "backlog_100k",
        Against::One(Peer::HeapPool),
        Some(5.0),
        Some(10.0),
    ),
    demand(
        Scenario::N1,
        "backlog_100k",
        Against::One(Peer::HeapPool),
        Some(5.0),
        None,
    ),
    demand(Scenario::N2, "urgent_p99", Against::Best, Some(5.0), None),
    demand(Scenario::N3, "spawn", Against::One(Peer::Tokio), Some(1.5), None),
    demand(
        Scenario::N3,
        "spawn",
        Against::One(Peer::AsyncExecutor),
        Some(1.5),
        None,
    ),
    // Not against futures, which polls again in place without a look at what waits.
    demand(Scenario::N3, "yield", Against::One(Peer::Tokio), Some(1.0), None),
    demand(
        Scenario::N3,
        "yield",
        Against::One(Peer::AsyncExecutor),
        Some(1.0),
        None,
    ),
    demand(Scenario::N3Bytes, "suspended", Against::AtMost, Some(160.0), None),
    demand(
        Scenario::N4,
        "warm",
        Against::One(Peer::MapInFront),
        Some(3.0),
        None,
    ),
    demand(
        Scenario::N4,
        "warm",
        Against::Above(Peer::OursUnordered),
        Some(150.0),
        None,
    ),
    demand(Scenario::N5, "share_error", Against::AtMost, Some(5.0), None),
    // "Not slower": who fills all the threads all the time ends with the last nap, and two such differ by the noise.
    demand(Scenario::O1, "burst_cold", Against::Best, Some(0.98), None),
    demand(Scenario::O1, "burst_warm", Against::Best, Some(0.98), None),
    demand(Scenario::O1, "threads", Against::AtMost, Some(64.0), None),
    demand(
        Scenario::O2,
        "mean_wait",
        Against::One(Peer::OursPinned),
        Some(3.0),
        None,
    ),
    demand(
        Scenario::O3,
        "warm",
        Against::Above(Peer::OursUnordered),
        Some(250.0),
        None,
    ),
];
