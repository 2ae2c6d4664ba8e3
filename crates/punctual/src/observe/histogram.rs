//! Durations, counted in buckets that grow by a quarter.
//!
//! In: sampled durations with a weight (how many events each speaks for). Out: a [`Histogram`], whose quantiles are
//! wrong by at most the width of a bucket, 25 %. Not here: what is sampled, and how often.

use crate::sync::atomic::AtomicU64;
use crate::sync::atomic::Ordering::Relaxed;
use std::fmt;
use std::time::Duration;

/// Two bits below the leading one: four buckets per doubling.
const SUB_BITS: u32 = 2;
/// The last bucket begins at about an hour; longer ones land in it.
const BUCKETS: usize = 42 << SUB_BITS;

/// Where samples are counted while the pool runs.
#[derive(Debug)]
pub(crate) struct Recorder {
    buckets: Vec<AtomicU64>,
    sum: AtomicU64,
    samples: AtomicU64,
}

impl Recorder {
    pub(crate) fn new() -> Self {
        Recorder {
            buckets: (0..BUCKETS).map(|_| AtomicU64::new(0)).collect(),
            sum: AtomicU64::new(0),
            samples: AtomicU64::new(0),
        }
    }

    /// How often something was recorded.
    pub(crate) fn samples(&self) -> u64 {
        self.samples.load(Relaxed)
    }

    pub(crate) fn record(&self, nanoseconds: u64, weight: u64) {
        self.samples.fetch_add(1, Relaxed);
        self.buckets[bucket_of(nanoseconds)].fetch_add(weight, Relaxed);
        self.sum.fetch_add(nanoseconds.saturating_mul(weight), Relaxed);
    }

    pub(crate) fn snapshot(&self) -> Histogram {
        Histogram {
            buckets: self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect(),
            sum: self.sum.load(Relaxed),
        }
    }
}

fn bucket_of(nanoseconds: u64) -> usize {
    let value = nanoseconds.max(1);
    let log = value.ilog2();
    let index = if log < SUB_BITS {
        value as usize
    } else {
        let sub = (value >> (log - SUB_BITS)) & ((1 << SUB_BITS) - 1);
        ((log as usize) << SUB_BITS) + sub as usize
    };
    index.min(BUCKETS - 1)
}

/// The first duration that no longer belongs to the bucket.
fn upper_bound(bucket: usize) -> u64 {
    let next = bucket + 1;
    let log = (next >> SUB_BITS) as u32;
    if log < SUB_BITS {
        return next as u64;
    }
    let sub = (next & ((1 << SUB_BITS) - 1)) as u64;
    ((1 << SUB_BITS) + sub) << (log - SUB_BITS)
}

/// A snapshot of durations.
///
/// Times are sampled (a clock read costs more than a small task) and each sample counts for the events it stands
/// for, so [`Histogram::count`] estimates the number of events.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    sum: u64,
}

impl Histogram {
    pub(super) fn add(&mut self, other: &Histogram) {
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// Events the samples stand for.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// A duration that a share `q` (0 to 1) of the events did not exceed, up to the width of a bucket.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let count = self.count();
        if count == 0 {
            return None;
        }
        let rank = ((q.clamp(0.0, 1.0) * count as f64).ceil() as u64).max(1);
        let mut below = 0;
        for (bucket, events) in self.buckets.iter().enumerate() {
            below += events;
            if below >= rank {
                return Some(Duration::from_nanos(upper_bound(bucket)));
            }
        }
        None
    }

    /// All durations together.
    #[must_use]
    pub fn sum(&self) -> Duration {
        Duration::from_nanos(self.sum)
    }

    /// The mean of the samples.
    #[must_use]
    pub fn mean(&self) -> Option<Duration> {
        self.sum.checked_div(self.count()).map(Duration::from_nanos)
    }

    /// Each non-empty bucket's upper bound and events, from short to long.
    pub fn buckets(&self) -> impl Iterator<Item = (Duration, u64)> + '_ {
        let filled = self.buckets.iter().enumerate().filter(|(_, events)| **events > 0);
        filled.map(|(bucket, events)| (Duration::from_nanos(upper_bound(bucket)), *events))
    }
}

impl fmt::Debug for Histogram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p50, p99] = [0.5, 0.99].map(|q| self.quantile(q).unwrap_or_default());
        write!(f, "Histogram({} events, p50 {p50:?}, p99 {p99:?})", self.count())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_hold_what_they_say() {
        for value in (0..1_000_000_u64)
            .step_by(37)
            .chain([u64::MAX, 1 << 40, 1, 2, 3, 4, 5, 6, 7, 8])
        {
            let bucket = bucket_of(value);
            if bucket < BUCKETS - 1 {
                assert!(
                    value.max(1) < upper_bound(bucket),
                    "{value} is in bucket {bucket}"
                );
            }
            if bucket > 1 {
                assert!(
                    value >= upper_bound(bucket - 1),
                    "{value} is above bucket {}",
                    bucket - 1
                );
            }
        }
    }

    #[test]
    fn quantiles_are_within_a_bucket() {
        let recorder = Recorder::new();
        for value in 1..=10_000 {
            recorder.record(value, 1);
        }
        let snapshot = recorder.snapshot();
        assert_eq!(snapshot.count(), 10_000);
        let median = snapshot.quantile(0.5).unwrap().as_nanos() as f64;
        assert!((5_000.0..=6_250.0).contains(&median), "{median}");
        assert_eq!(snapshot.mean(), Some(Duration::from_nanos(5_000)));
        assert_eq!(
            snapshot.quantile(0.0),
            snapshot.buckets().next().map(|(bound, _)| bound)
        );
    }

    #[test]
    fn weights_count_as_events() {
        let recorder = Recorder::new();
        recorder.record(100, 64);
        recorder.record(1_000_000, 1);
        let snapshot = recorder.snapshot();
        assert_eq!(snapshot.count(), 65);
        assert!(snapshot.quantile(0.5).unwrap() < Duration::from_nanos(200));
        assert!(snapshot.quantile(1.0).unwrap() >= Duration::from_millis(1));
    }

    #[test]
    fn an_empty_one_knows_nothing() {
        let snapshot = Recorder::new().snapshot();
        assert_eq!(
            (snapshot.count(), snapshot.quantile(0.5), snapshot.mean()),
            (0, None, None)
        );
    }
}
