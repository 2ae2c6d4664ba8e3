//! [`Cost`]: what watching costs a pool.
//!
//! In: how often the pool counted, timed and recorded. Out: those numbers, each times the price of one such step. Prices are
//! measured once in a process, by whoever asks first, on the asker's own thread and for less than a millisecond; so what comes
//! out is an estimate that goes by this machine and by what this pool really did. What it leaves out, `docs/metrics.md` says;
//! `punctual-bench cost` measures the whole, against a build that counts no ends and times nothing.

use super::counters::Counters;
use super::flight::Flight;
use super::{Ending, Recorder};
use crate::sync::unmodelled::OnceLock;
use crate::time::Clock;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// What statistics, and a recorder, cost a pool; made by [`Control::cost`](crate::Control::cost).
///
/// ```
/// let pool = punctual::Pool::builder("web").core_threads(1).recorder(1_000).build()?;
/// for _ in 0..100 {
///     pool.submit(|| ())?.join()?;
/// }
/// let cost = pool.control().cost().expect("the pool is there");
/// assert!(cost.statistics > 0.0 && cost.recorder > Some(0.0));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cost {
    /// Nanoseconds that counting and timing took for each task so far, on average.
    pub statistics: f64,
    /// The same of the recorder. `None`: the pool has none.
    pub recorder: Option<f64>,
    /// All of it, so far.
    pub total: Duration,
}

/// What a pool did to be watched.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Effort {
    /// Tasks that ended on workers: each was counted.
    pub(crate) tasks: u64,
    /// Runs that were timed, and waits.
    pub(crate) runs: u64,
    pub(crate) waits: u64,
    /// Records that were written. `None`: there is no recorder.
    pub(crate) records: Option<u64>,
}

/// What one of each takes here, in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Prices {
    count: f64,
    /// A reading of the clock.
    tick: f64,
    /// A duration put into its bucket.
    sample: f64,
    /// Something the recorder keeps, with the time it needs.
    record: f64,
}

impl Effort {
    /// What it took.
    pub(crate) fn cost(self) -> Cost {
        let prices = prices();
        let run = 2.0 * prices.tick + prices.sample;
        let wait = prices.tick + prices.sample;
        let statistics = self.tasks as f64 * prices.count + self.runs as f64 * run + self.waits as f64 * wait;
        let recorder = self.records.map(|records| records as f64 * prices.record);
        let for_each = |sum: f64| sum / self.tasks.max(1) as f64;
        Cost {
            statistics: for_each(statistics),
            recorder: recorder.map(for_each),
            total: Duration::from_nanos((statistics + recorder.unwrap_or(0.0)) as u64),
        }
    }
}

fn prices() -> Prices {
    static PRICES: OnceLock<Prices> = OnceLock::new();
    *PRICES.get_or_init(measure)
}

fn measure() -> Prices {
    let clock = Clock::system();
    let (counters, recorder) = (Counters::new(), Recorder::new());
    let flight = Flight::new(1_024, 0);
    let recording = flight.recording(&"scratch".into());
    let subject = recording.subject("scratch", 0, None, None);
    Prices {
        count: price(|| black_box(&counters).finish()),
        tick: price(|| {
            black_box(clock.tick());
        }),
        sample: price(|| black_box(&recorder).record(black_box(1_000), 1)),
        record: price(|| recording.ran(1, subject, 0, clock.tick(), Ending::Finished)),
    }
}

/// Nanoseconds of one call: of the best of a few batches, since others use the processor too.
fn price(mut step: impl FnMut()) -> f64 {
    const BATCHES: usize = 6;
    const STEPS: u32 = 256;
    let batch = |_| {
        let begin = Instant::now();
        (0..STEPS).for_each(|_| step());
        begin.elapsed()
    };
    let best = (0..BATCHES).map(batch).min().unwrap_or_default();
    best.as_nanos() as f64 / f64::from(STEPS)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_step_has_its_price() {
        let effort = Effort {
            tasks: 1_000,
            ..Effort::default()
        };
        let counted = effort.cost();
        assert!(counted.recorder.is_none());
        let timed = Effort { runs: 100, ..effort }.cost();
        assert!(timed.statistics > counted.statistics);
        let waited = Effort { waits: 100, ..effort }.cost();
        assert!((counted.statistics..timed.statistics).contains(&waited.statistics));
        let records = Some(2_000);
        let recorded = Effort { records, ..effort }.cost();
        assert_eq!(recorded.statistics, counted.statistics);
        assert!(recorded.recorder > Some(0.0));
        assert!(recorded.total > counted.total);
    }

    #[test]
    fn a_pool_that_did_nothing_has_cost_nothing() {
        let cost = Effort::default().cost();
        assert_eq!(
            (cost.statistics, cost.recorder, cost.total),
            (0.0, None, Duration::ZERO)
        );
    }
}
