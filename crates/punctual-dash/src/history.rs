//! A pool's last hour: one row a second, made of the difference between two readings.
//!
//! In: a [`Reading`] of the pool's figures. Out: [`Row`]s for charts, with the quantiles of the waits of the last
//! seconds. Plain arithmetic, no clock of its own.

use punctual::{Histogram, Stats};
use std::collections::VecDeque;
use std::time::Duration;

/// An hour at one row a second.
pub(crate) const HOUR: usize = 3600;

/// Waits are sampled, few in a second: quantiles are those of so many seconds.
const WINDOW: usize = 5;

/// What is read of a pool in one look.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reading {
    /// Milliseconds since 1970.
    pub(crate) time: u64,
    pub(crate) queued: usize,
    pub(crate) active: usize,
    pub(crate) threads: usize,
    /// Accepted tasks that have come to their end, whichever.
    pub(crate) ended: u64,
    pub(crate) rejected: u64,
    pub(crate) oldest: Option<Duration>,
    /// Upper bounds and events.
    pub(crate) wait: Vec<(Duration, u64)>,
    pub(crate) levels: Vec<LevelReading>,
}

/// The same of one level of its queue.
#[derive(Debug, Clone, Default)]
pub(crate) struct LevelReading {
    pub(crate) queued: usize,
    pub(crate) oldest: Option<Duration>,
    pub(crate) promoted: u64,
    pub(crate) taken: u64,
}

impl Reading {
    pub(crate) fn of(stats: &Stats, time: u64) -> Reading {
        let level = |level: &punctual::LevelStats| LevelReading {
            queued: level.queued,
            oldest: level.oldest_wait,
            promoted: level.promoted,
            taken: level.taken,
        };
        Reading {
            time,
            queued: stats.queued,
            active: stats.active,
            threads: stats.threads,
            ended: ended(stats),
            rejected: rejected(stats),
            oldest: stats.oldest_wait,
            wait: filled(&stats.wait),
            levels: stats.levels.iter().map(level).collect(),
        }
    }
}

/// Accepted tasks that have come to their end.
pub(crate) fn ended(stats: &Stats) -> u64 {
    stats.finished + stats.panicked + stats.cancelled + stats.expired + stats.evicted + stats.returned
}

/// Tasks that were not accepted, or run by somebody else than a worker.
pub(crate) fn rejected(stats: &Stats) -> u64 {
    let counts = &stats.rejected;
    counts.full
        + counts.shutdown
        + counts.no_thread
        + counts.would_deadlock
        + counts.caller_ran
        + counts.discarded
}

fn filled(histogram: &Histogram) -> Vec<(Duration, u64)> {
    histogram.buckets().collect()
}

/// A duration in a row: milliseconds in four bytes, or none. An hour has many rows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Short(f32);

impl Short {
    fn of(time: Option<Duration>) -> Short {
        // No duration is less than nothing.
        Short(time.map_or(-1.0, |time| time.as_secs_f32() * 1e3))
    }

    pub(crate) fn milliseconds(self) -> Option<f64> {
        (self.0 >= 0.0).then(|| (f64::from(self.0) * 1e3).round() / 1e3)
    }
}

/// A count in a row.
fn small<T: TryInto<u32>>(count: T) -> u32 {
    count.try_into().unwrap_or(u32::MAX)
}

/// One second of a pool.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Row {
    pub(crate) time: u64,
    pub(crate) queued: u32,
    pub(crate) active: u32,
    pub(crate) threads: u32,
    /// Tasks that ended, per second.
    pub(crate) rate: f32,
    /// Tasks rejected since the row before.
    pub(crate) rejected: u32,
    pub(crate) oldest: Short,
    pub(crate) wait_half: Short,
    pub(crate) wait_99: Short,
    pub(crate) levels: Box<[LevelRow]>,
}

/// One second of a level.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct LevelRow {
    pub(crate) queued: u32,
    pub(crate) oldest: Short,
    /// Tasks that their wait lifted since the row before.
    pub(crate) promoted: u32,
    pub(crate) taken: u32,
}

// An hour of a pool with four levels is half a megabyte, as the documents say.
const _: () = assert!(size_of::<Row>() <= 56 && size_of::<LevelRow>() == 16);

/// The rows of an hour, and what the next one needs.
#[derive(Debug, Default)]
pub(crate) struct History {
    rows: VecDeque<Row>,
    last: Option<Reading>,
    /// Waits as they were counted some seconds ago, oldest first.
    waits: VecDeque<Vec<(Duration, u64)>>,
}

impl History {
    /// Takes a reading. The first one gives no row: there is nothing to compare it with.
    pub(crate) fn take(&mut self, reading: Reading) {
        if let Some(last) = self.last.take() {
            let row = self.row(&last, &reading);
            if self.rows.len() == HOUR {
                self.rows.pop_front();
            }
            self.rows.push_back(row);
        }
        if self.waits.len() == WINDOW {
            self.waits.pop_front();
        }
        self.waits.push_back(reading.wait.clone());
        self.last = Some(reading);
    }

    fn row(&self, last: &Reading, reading: &Reading) -> Row {
        let seconds = reading.time.saturating_sub(last.time).max(1) as f64 / 1000.0;
        let nothing = Vec::new();
        let before = self.waits.front().unwrap_or(&nothing);
        let recent = difference(&reading.wait, before);
        let level = |(index, now): (usize, &LevelReading)| {
            let before = last.levels.get(index);
            let since =
                |now: u64, of: fn(&LevelReading) -> u64| small(now.saturating_sub(before.map_or(0, of)));
            LevelRow {
                queued: small(now.queued),
                oldest: Short::of(now.oldest),
                promoted: since(now.promoted, |level| level.promoted),
                taken: since(now.taken, |level| level.taken),
            }
        };
        Row {
            time: reading.time,
            queued: small(reading.queued),
            active: small(reading.active),
            threads: small(reading.threads),
            rate: (reading.ended.saturating_sub(last.ended) as f64 / seconds) as f32,
            rejected: small(reading.rejected.saturating_sub(last.rejected)),
            oldest: Short::of(reading.oldest),
            wait_half: Short::of(quantile(&recent, 0.5)),
            wait_99: Short::of(quantile(&recent, 0.99)),
            levels: reading.levels.iter().enumerate().map(level).collect(),
        }
    }

    pub(crate) fn latest(&self) -> Option<&Row> {
        self.rows.back()
    }

    /// Rows later than `time`, at most the last `most` of them.
    pub(crate) fn since(&self, time: u64, most: usize) -> impl Iterator<Item = &Row> {
        let newer = self.rows.partition_point(|row| row.time <= time);
        let first = newer.max(self.rows.len().saturating_sub(most));
        self.rows.range(first..)
    }

    /// Rows of the last `seconds`, thinned out evenly to at most `most`; the last one is always there.
    pub(crate) fn thinned(&self, seconds: usize, most: usize) -> impl Iterator<Item = &Row> {
        let kept = self.rows.len().min(seconds);
        let step = kept.div_ceil(most.max(1)).max(1);
        let last = kept.saturating_sub(1) % step;
        self.rows.range(self.rows.len() - kept..).skip(last).step_by(step)
    }

    /// Rejects of the last minute.
    pub(crate) fn rejected_lately(&self) -> u64 {
        self.rows
            .iter()
            .rev()
            .take(60)
            .map(|row| u64::from(row.rejected))
            .sum()
    }
}

/// Events that came between two snapshots of one histogram. Empty buckets are left out of both.
fn difference(now: &[(Duration, u64)], before: &[(Duration, u64)]) -> Vec<(Duration, u64)> {
    let mut older = before.iter().peekable();
    let mut rest = Vec::new();
    for (bound, events) in now {
        while older.next_if(|(other, _)| other < bound).is_some() {}
        let known = older
            .next_if(|(other, _)| other == bound)
            .map_or(0, |(_, events)| *events);
        if *events > known {
            rest.push((*bound, events - known));
        }
    }
    rest
}

fn quantile(events: &[(Duration, u64)], q: f64) -> Option<Duration> {
    let count: u64 = events.iter().map(|(_, events)| events).sum();
    let rank = ((q * count as f64).ceil() as u64).max(1);
    let mut below = 0;
    let reached = events.iter().find(|(_, events)| {
        below += events;
        below >= rank
    });
    reached.map(|(bound, _)| *bound)
}

#[cfg(test)]
mod tests;
