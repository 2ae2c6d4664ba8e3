//! What there is to measure: scenarios, peers, sizes, metrics. Everything else asks here, so a scenario or a peer is
//! added in this file, in `measure` and in `contend` (or `java/Peers.java`), and nowhere else.

use std::{fmt, str::FromStr};

/// One thing a child process can be asked to do. The letter is what users know; L needs two processes because the
/// memory of one measurement would serve the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scenario {
    A,
    A2,
    B,
    C,
    D,
    E,
    F,
    K,
    LExecute,
    LSubmit,
}

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

impl Scenario {
    pub(crate) const ALL: [Scenario; 10] = [
        Scenario::A,
        Scenario::A2,
        Scenario::B,
        Scenario::C,
        Scenario::D,
        Scenario::E,
        Scenario::F,
        Scenario::K,
        Scenario::LExecute,
        Scenario::LSubmit,
    ];

    pub(crate) fn letter(self) -> &'static str {
        match self {
            Scenario::LExecute | Scenario::LSubmit => "L",
            other => other.id(),
        }
    }

    /// The name on a child's command line.
    pub(crate) fn id(self) -> &'static str {
        match self {
            Scenario::A => "A",
            Scenario::A2 => "A2",
            Scenario::B => "B",
            Scenario::C => "C",
            Scenario::D => "D",
            Scenario::E => "E",
            Scenario::F => "F",
            Scenario::K => "K",
            Scenario::LExecute => "L-execute",
            Scenario::LSubmit => "L-submit",
        }
    }

    pub(crate) fn title(self) -> &'static str {
        match self {
            Scenario::A => "1 producer, fire and forget, until all ran",
            Scenario::A2 => "as A with at most 8192 in flight",
            Scenario::B => "4 producers, fire and forget, until all ran",
            Scenario::C => "submit with result, keep the handles, join all in order",
            Scenario::D => "fork tree spawned from inside the workers, no join per task",
            Scenario::E => "ping: submit one, wait for it; busy = back to back, parked = after 1 ms",
            Scenario::F => "bounded(1024), caller-runs, overloaded with ~1 us tasks",
            Scenario::K => "idle pool: context switches and CPU of all its threads",
            Scenario::LExecute => "memory per queued task, fire and forget (JVM: heap after gc)",
            Scenario::LSubmit => "memory per queued task with handle (JVM: heap after gc)",
        }
    }

    pub(crate) fn metrics(self) -> &'static [Metric] {
        const PING: &[Metric] = &[
            metric("busy_p50", "us"),
            metric("busy_p99", "us"),
            metric("parked_p50", "us"),
            metric("parked_p99", "us"),
        ];
        const IDLE: &[Metric] = &[metric("switches", "1/s"), metric("cpu", "us/s")];
        const EXECUTE: &[Metric] = &[metric("execute", "B/task"), metric("execute_heap", "B/task")];
        const SUBMIT: &[Metric] = &[metric("submit", "B/task"), metric("submit_heap", "B/task")];
        match self {
            Scenario::E => PING,
            Scenario::K => IDLE,
            Scenario::LExecute => EXECUTE,
            Scenario::LSubmit => SUBMIT,
            _ => NS_PER_TASK,
        }
    }

    /// Whether the bar judges it; these always get the full number of rounds.
    pub(crate) fn is_gated(self) -> bool {
        self != Scenario::D
    }

    /// All who take part, ours first.
    pub(crate) fn peers(self) -> Vec<Peer> {
        Peer::ALL.into_iter().filter(|peer| self.takes(*peer)).collect()
    }

    fn takes(self, peer: Peer) -> bool {
        match self {
            Scenario::F => matches!(
                peer,
                Peer::Ours | Peer::OursAgain | Peer::Crossbeam | Peer::JFixedLbq | Peer::JFixedAbq
            ),
            Scenario::A | Scenario::A2 => true,
            _ => peer != Peer::OursBounded,
        }
    }

    /// What a reader must know before comparing.
    pub(crate) fn note(self) -> Option<&'static str> {
        match self {
            Scenario::D => {
                Some("ours is the plain queue here: no work stealing yet, so the bar does not judge it")
            }
            _ => None,
        }
    }

    pub(crate) fn sizes(self, quick: bool) -> Sizes {
        let (full, short) = match self {
            Scenario::A | Scenario::A2 | Scenario::B => (Sizes::new(2_000_000, 3), Sizes::new(400_000, 3)),
            Scenario::C => (Sizes::new(1_000_000, 3), Sizes::new(250_000, 3)),
            Scenario::D => (Sizes::new((1 << 21) - 1, 3), Sizes::new((1 << 18) - 1, 3)),
            Scenario::E => (Sizes::new(100_000, 2_000), Sizes::new(20_000, 400)),
            Scenario::F => (Sizes::new(500_000, 3), Sizes::new(100_000, 3)),
            Scenario::K => (Sizes::new(10_000, 1), Sizes::new(10_000, 1)),
            Scenario::LExecute | Scenario::LSubmit => (Sizes::new(1_000_000, 1), Sizes::new(500_000, 1)),
        };
        if quick { short } else { full }
    }

    /// The sizes of one child. A JVM needs a number of tasks to compile its code, not a number of passes, so smaller
    /// sizes give it more warm passes: as many tasks before the last one as three passes of full size. (After 3 warm
    /// passes of 400k its fastest pool still showed twice its time of full size.)
    pub(crate) fn sizes_for(self, peer: Peer, quick: bool, scale: f64) -> Sizes {
        let full = self.sizes(false);
        let sizes = self.sizes(quick).scaled(self, scale);
        if peer.kind() != Kind::Jvm || self.repeats_are_rounds() || full.repeat == 1 {
            return sizes;
        }
        let warm = (JVM_WARM_PASSES * full.count).div_ceil(sizes.count);
        Sizes {
            repeat: (warm + 1).min(MOST_PASSES),
            ..sizes
        }
    }

    /// In E `repeat` is the number of parked rounds, in all others of passes.
    fn repeats_are_rounds(self) -> bool {
        self == Scenario::E
    }
}

/// Of full size.
const JVM_WARM_PASSES: u64 = 3;

/// Ends the growth of the warm passes at sizes that are only good for a test.
const MOST_PASSES: u64 = 40;

impl FromStr for Scenario {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        Scenario::ALL
            .into_iter()
            .find(|scenario| scenario.id() == id)
            .ok_or_else(|| {
                let allowed: Vec<&str> = Scenario::ALL.into_iter().map(Scenario::id).collect();
                format!("unknown scenario '{id}', allowed are {}", allowed.join(", "))
            })
    }
}

/// How much a child does: `count` tasks (E: busy rounds) in `repeat` passes (E: parked rounds).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) count: u64,
    pub(crate) repeat: u64,
}

impl Sizes {
    pub(crate) fn new(count: u64, repeat: u64) -> Self {
        Sizes { count, repeat }
    }

    /// The parked rounds of E are scaled too; the passes of the others are not a size.
    pub(crate) fn scaled(self, scenario: Scenario, factor: f64) -> Self {
        let times = |n: u64| ((n as f64 * factor) as u64).max(16);
        let repeat = if scenario == Scenario::E {
            times(self.repeat)
        } else {
            self.repeat
        };
        Sizes {
            count: times(self.count),
            repeat,
        }
    }
}

impl fmt::Display for Sizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.count, self.repeat)
    }
}

impl FromStr for Sizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parsed = text
            .split_once('x')
            .and_then(|(count, repeat)| Some((count.parse().ok()?, repeat.parse().ok()?)));
        match parsed {
            Some((count, repeat)) if count > 0 => Ok(Sizes { count, repeat }),
            _ => Err(format!(
                "bad sizes '{text}', allowed is COUNTxREPEAT with a count above 0, as 1000x3"
            )),
        }
    }
}

/// Who is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Peer {
    Ours,
    OursBounded,
    /// The control: ours under a second name. What its row shows is noise.
    OursAgain,
    Rayon,
    Tokio,
    TokioBlocking,
    AsyncExecutor,
    Futures,
    Threadpool,
    RustyPool,
    Crossbeam,
    JFixedLbq,
    JFixedAbq,
    JFjp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Ours,
    Control,
    Rust,
    Jvm,
}

impl Peer {
    pub(crate) const ALL: [Peer; 14] = [
        Peer::Ours,
        Peer::OursBounded,
        Peer::OursAgain,
        Peer::Rayon,
        Peer::Tokio,
        Peer::TokioBlocking,
        Peer::AsyncExecutor,
        Peer::Futures,
        Peer::Threadpool,
        Peer::RustyPool,
        Peer::Crossbeam,
        Peer::JFixedLbq,
        Peer::JFixedAbq,
        Peer::JFjp,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Peer::Ours => "ours",
            Peer::OursBounded => "ours-bounded",
            Peer::OursAgain => "ours-again",
            Peer::Rayon => "rayon",
            Peer::Tokio => "tokio",
            Peer::TokioBlocking => "tokio-blocking",
            Peer::AsyncExecutor => "async-executor",
            Peer::Futures => "futures",
            Peer::Threadpool => "threadpool",
            Peer::RustyPool => "rusty_pool",
            Peer::Crossbeam => "crossbeam",
            Peer::JFixedLbq => "j-fixed-lbq",
            Peer::JFixedAbq => "j-fixed-abq",
            Peer::JFjp => "j-fjp",
        }
    }

    pub(crate) fn kind(self) -> Kind {
        match self {
            Peer::Ours | Peer::OursBounded => Kind::Ours,
            Peer::OursAgain => Kind::Control,
            Peer::JFixedLbq | Peer::JFixedAbq | Peer::JFjp => Kind::Jvm,
            _ => Kind::Rust,
        }
    }

    /// The queue ours had, as the rows say it.
    pub(crate) fn config(self, scenario: Scenario) -> &'static str {
        match (self, scenario) {
            (Peer::OursBounded, _) => "bounded with room",
            // Until there is a queue for forking, the row must not pass for one.
            (_, Scenario::D) => "plain queue",
            (_, Scenario::F) => "bounded(1024)",
            _ => "unbounded",
        }
    }
}

impl FromStr for Peer {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Peer::ALL
            .into_iter()
            .find(|peer| peer.name() == name)
            .ok_or_else(|| {
                let allowed: Vec<&str> = Peer::ALL.into_iter().map(Peer::name).collect();
                format!("unknown peer '{name}', allowed are {}", allowed.join(", "))
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_sizes_survive_the_command_line() {
        for scenario in Scenario::ALL {
            assert_eq!(scenario.id().parse(), Ok(scenario));
            let sizes = scenario.sizes(true);
            assert_eq!(sizes.to_string().parse(), Ok(sizes));
        }
        for peer in Peer::ALL {
            assert_eq!(peer.name().parse(), Ok(peer));
        }
    }

    #[test]
    fn bad_names_are_named_with_what_is_allowed() {
        let error = "Z".parse::<Scenario>().unwrap_err();
        assert!(error.contains("'Z'") && error.contains("A2"), "{error}");
        let error = "go".parse::<Peer>().unwrap_err();
        assert!(error.contains("'go'") && error.contains("j-fjp"), "{error}");
        for bad in ["", "x", "5", "0x1", "1x", "-1x2"] {
            assert!(bad.parse::<Sizes>().unwrap_err().contains(&format!("'{bad}'")));
        }
    }

    #[test]
    fn quick_is_smaller_and_scaling_keeps_the_passes() {
        for scenario in Scenario::ALL {
            assert!(scenario.sizes(true).count <= scenario.sizes(false).count);
        }
        assert_eq!(Sizes::new(1000, 4).scaled(Scenario::A, 0.1), Sizes::new(100, 4));
        assert_eq!(
            Sizes::new(1000, 400).scaled(Scenario::E, 0.1),
            Sizes::new(100, 40)
        );
    }

    #[test]
    fn a_jvm_gets_as_many_warm_tasks_in_quick_as_in_full() {
        let sizes = |scenario: Scenario, peer, quick, scale| scenario.sizes_for(peer, quick, scale);
        assert_eq!(
            sizes(Scenario::A, Peer::JFjp, false, 1.0),
            Sizes::new(2_000_000, 4)
        );
        assert_eq!(sizes(Scenario::A, Peer::JFjp, true, 1.0), Sizes::new(400_000, 16));
        assert_eq!(
            sizes(Scenario::A, Peer::JFjp, true, 0.001),
            Sizes::new(400, MOST_PASSES)
        );
        assert_eq!(sizes(Scenario::A, Peer::Rayon, true, 1.0), Sizes::new(400_000, 3));
        assert_eq!(sizes(Scenario::E, Peer::JFjp, true, 1.0), Scenario::E.sizes(true));
        assert_eq!(sizes(Scenario::LSubmit, Peer::JFjp, true, 1.0).repeat, 1);
    }
}
