//! The numbers each scenario yields. In: a scenario. Out: names and units. Not here: how they are measured.

use super::{Peer, Scenario};

/// A number a scenario yields. For all of them less is better.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Metric {
    pub(crate) name: &'static str,
    pub(crate) unit: &'static str,
}

const fn metric(name: &'static str, unit: &'static str) -> Metric {
    Metric { name, unit }
}

const NS_PER_TASK: &[Metric] = &[metric("warm", "ns/task"), metric("cold", "ns/task")];
const PING: &[Metric] = &[
    metric("busy_p50", "us"),
    metric("busy_p99", "us"),
    metric("parked_p50", "us"),
    metric("parked_p99", "us"),
];
const TIMERS: &[Metric] = &[
    metric("insert_cold", "ns"),
    metric("insert_warm", "ns"),
    metric("cancel_random", "ns"),
    metric("cancel_order", "ns"),
];
const TIMER_BYTES: &[Metric] = &[
    metric("bytes", "B/timer"),
    metric("bytes_without_result", "B/timer"),
    metric("kept", "B/timer"),
    metric("bytes_heap", "B/timer"),
    metric("kept_heap", "B/timer"),
];
const CHURN: &[Metric] = &[metric("churn", "ns/pair"), metric("grown", "B/timer")];
const GROWTH: &[Metric] = &[
    metric("at_10k", "ns/pair"),
    metric("at_100k", "ns/pair"),
    metric("at_1m", "ns/pair"),
    metric("at_10m", "ns/pair"),
    metric("flatness", "max/min"),
];
const LATENESS: &[Metric] = &[
    metric("p50", "us"),
    metric("p99", "us"),
    metric("p999", "us"),
    metric("max", "us"),
    metric("cpu", "ms"),
    metric("early", "timers"),
];
const SAME: &[Metric] = &[
    metric("same_wall", "ms"),
    metric("same_first", "ms"),
    metric("same_cpu", "ms"),
];
const SPREAD: &[Metric] = &[
    metric("spread_wall", "ms"),
    metric("spread_behind", "ms"),
    metric("spread_cpu", "ms"),
];
const PERIODIC: &[Metric] = &[
    metric("cpu_tick", "us/tick"),
    metric("late_2ms", "%"),
    metric("late_10ms", "%"),
    metric("max_late", "ms"),
    metric("lost", "ticks"),
];
const IDLE: &[Metric] = &[metric("switches", "1/s"), metric("cpu", "us/s")];
const IDLE_TIMERS: &[Metric] = &[metric("timer_switches", "1/s"), metric("timer_cpu", "us/s")];
const IDLE_CALENDAR: &[Metric] = &[
    metric("calendar_switches", "1/30s"),
    metric("calendar_cpu", "us/30s"),
];
const EXECUTE: &[Metric] = &[metric("execute", "B/task"), metric("execute_heap", "B/task")];
const SUBMIT: &[Metric] = &[metric("submit", "B/task"), metric("submit_heap", "B/task")];

const PUSH_POP: &[Metric] = &[
    metric("backlog_0", "ns/pair"),
    metric("backlog_1k", "ns/pair"),
    metric("backlog_100k", "ns/pair"),
];
const LEVELS: &[Metric] = &[
    metric("outside", "ns/task"),
    metric("backlog_0", "ns/task"),
    metric("backlog_1k", "ns/task"),
    metric("backlog_100k", "ns/task"),
];
const URGENT: &[Metric] = &[metric("urgent_p50", "us"), metric("urgent_p99", "us")];
const FUTURES: &[Metric] = &[
    metric("spawn", "ns/future"),
    metric("wake", "ns/wake"),
    metric("yield", "ns/yield"),
];
const SUSPENDED: &[Metric] = &[
    metric("suspended", "B/future"),
    metric("suspended_heap", "B/future"),
];
const BURST: &[Metric] = &[
    metric("burst_cold", "ms"),
    metric("burst_warm", "ms"),
    metric("threads", "threads"),
];
const MEAN_WAIT: &[Metric] = &[metric("mean_wait", "us")];
const SHARES: &[Metric] = &[metric("share_error", "%")];

impl Scenario {
    pub(crate) fn metrics(self) -> &'static [Metric] {
        match self {
            Scenario::E => PING,
            Scenario::GInsert => TIMERS,
            Scenario::GBytes => TIMER_BYTES,
            Scenario::GChurn => CHURN,
            Scenario::GGrowth => GROWTH,
            Scenario::H => LATENESS,
            Scenario::ISame => SAME,
            Scenario::ISpread => SPREAD,
            Scenario::J => PERIODIC,
            Scenario::K => IDLE,
            Scenario::KTimers => IDLE_TIMERS,
            Scenario::KCalendar => IDLE_CALENDAR,
            Scenario::LExecute => EXECUTE,
            Scenario::LSubmit => SUBMIT,
            Scenario::M => PUSH_POP,
            Scenario::N1 => LEVELS,
            Scenario::N2 => URGENT,
            Scenario::N3 => FUTURES,
            Scenario::N3Bytes => SUSPENDED,
            Scenario::N5 => SHARES,
            Scenario::O1 => BURST,
            Scenario::O2 => MEAN_WAIT,
            Scenario::A
            | Scenario::A2
            | Scenario::B
            | Scenario::C
            | Scenario::D
            | Scenario::F
            | Scenario::N4
            | Scenario::O3 => NS_PER_TASK,
        }
    }

    /// Whether a peer's number is one to compare with: a mark is no cancellation, see [`Peer::removes_on_cancel`].
    pub(crate) fn compares(self, metric: &str, peer: Peer) -> bool {
        let cancels = metric.starts_with("cancel_") || matches!(self, Scenario::GChurn | Scenario::GGrowth);
        // What is left in memory is just what tells the two apart.
        !cancels || metric == "grown" || peer.removes_on_cancel()
    }
}
