//! How much each child does. In: a scenario, a peer, quick or full, a factor. Out: [`Sizes`]. Not here: rounds.

use std::{fmt, str::FromStr};

use super::{Kind, Peer, Scenario};

/// How much a child does: `count` tasks (E: busy rounds, G: timers,
/// N2: urgent ones) in `repeat` passes (E: parked rounds, J: ticks).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Sizes {
    pub(crate) count: u64,
    pub(crate) repeat: u64,
}

/// Of full size.
const JVM_WARM_PASSES: u64 = 3;

/// Ends the growth of the warm passes at sizes that are only good for a test.
pub(super) const MOST_PASSES: u64 = 40;

impl Scenario {
    pub(crate) fn sizes(self, quick: bool) -> Sizes {
        let (full, short) = match self {
            Scenario::A | Scenario::A2 | Scenario::B => (Sizes::new(2_000_000, 3), Sizes::new(400_000, 3)),
            Scenario::C => (Sizes::new(1_000_000, 3), Sizes::new(250_000, 3)),
            Scenario::D => (Sizes::new((1 << 21) - 1, 3), Sizes::new((1 << 18) - 1, 3)),
            Scenario::E => (Sizes::new(100_000, 2_000), Sizes::new(20_000, 400)),
            Scenario::F => (Sizes::new(500_000, 3), Sizes::new(100_000, 3)),
            // Not smaller: whether the timers fit into the caches decides.
            Scenario::GInsert | Scenario::GChurn => (Sizes::new(1_000_000, 2), Sizes::new(1_000_000, 2)),
            Scenario::GGrowth => (Sizes::new(10_000_000, 200), Sizes::new(1_000_000, 200)),
            Scenario::H => (Sizes::new(10_000, 1), Sizes::new(4_000, 1)),
            Scenario::ISame | Scenario::ISpread => (Sizes::new(1_000_000, 1), Sizes::new(250_000, 1)),
            Scenario::J => (Sizes::new(10_000, 50), Sizes::new(10_000, 20)),
            Scenario::K => (Sizes::new(10_000, 1), Sizes::new(10_000, 1)),
            Scenario::KTimers => (Sizes::new(1_000, 1), Sizes::new(1_000, 1)),
            Scenario::KCalendar => (Sizes::new(100, 1), Sizes::new(100, 1)),
            Scenario::M | Scenario::N1 => (Sizes::new(1_000_000, 3), Sizes::new(250_000, 3)),
            Scenario::N3 => (Sizes::new(1_000_000, 3), Sizes::new(250_000, 3)),
            Scenario::N3Bytes => (Sizes::new(1_000_000, 1), Sizes::new(500_000, 1)),
            Scenario::N4 => (Sizes::new(1_000_000, 3), Sizes::new(250_000, 3)),
            Scenario::O1 => (Sizes::new(1_000, 3), Sizes::new(1_000, 3)),
            Scenario::O2 => (Sizes::new(8_000, 1), Sizes::new(2_000, 1)),
            Scenario::O3 => (Sizes::new(1_000_000, 3), Sizes::new(1_000_000, 3)),
            // The 99th percentile needs the thousand.
            Scenario::N2 => (Sizes::new(3_000, 1), Sizes::new(1_000, 1)),
            Scenario::N5 => (Sizes::new(500_000, 1), Sizes::new(100_000, 1)),
            Scenario::GBytes | Scenario::LExecute | Scenario::LSubmit => {
                (Sizes::new(1_000_000, 1), Sizes::new(500_000, 1))
            }
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

    /// In E `repeat` is the number of parked rounds, in J of ticks, in the growth of G of batches; in all others of
    /// passes.
    fn repeats_are_rounds(self) -> bool {
        matches!(self, Scenario::E | Scenario::J | Scenario::GGrowth)
    }
}

impl Sizes {
    pub(crate) fn new(count: u64, repeat: u64) -> Self {
        Sizes { count, repeat }
    }

    /// Rounds are scaled too; passes are not a size.
    pub(crate) fn scaled(self, scenario: Scenario, factor: f64) -> Self {
        let times = |n: u64| ((n as f64 * factor) as u64).max(16);
        let repeat = if scenario.repeats_are_rounds() {
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
