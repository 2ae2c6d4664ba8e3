//! [`Advice`]: what a pool's own figures say about its settings.
//!
//! In: a snapshot, and what tasks did with their time. Out: two sizes with the numbers they come from, what stands out, and
//! the [`Lint`]s of its settings. Plain arithmetic; whoever asks decides.

use super::split::Parts;
use super::{Histogram, Stats};
use std::fmt;
use std::time::Duration;

/// Below this part of a run, waiting does not call for more threads.
const HARDLY_WAITS: f64 = 0.1;

/// Fewer tasks than these say little.
const FEW: u64 = 100;

/// So much longer than the median is the run of another kind of task.
const OTHER_KIND: u32 = 1000;

/// A busy pool in which nothing has ended for so long may be stuck.
const STALL: Duration = Duration::from_secs(1);

/// A setting that is often a mistake. Codes stay; texts may change.
///
/// ```
/// use punctual::{Pool, Queue};
/// let builder = Pool::builder("mail").core_threads(4).queue(Queue::unbounded());
/// let codes: Vec<_> = builder.lints().iter().map(|lint| lint.code).collect();
/// assert_eq!(codes, ["W001"]);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lint {
    /// `W` and three digits.
    pub code: &'static str,
    /// What is set, what it means, what to do instead.
    pub text: String,
}

impl fmt::Display for Lint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.text)
    }
}

/// What a pool's figures so far say about its size; made by [`Pool::advice`](crate::Pool::advice). `Display` is the whole of
/// it in a few lines.
///
/// Sizes are those of the usual formulas: `cores + 1` for tasks that compute, and `cores * (1 + waiting / computing)` for
/// tasks that wait, with the mean waiting and computing time of this pool's tasks. Times are sampled; what a thread was
/// ready for and had no processor counts as neither, where the system says how long that was. A stall is seen from the second
/// time on that somebody asks, as by [`Control::stalled`](crate::Control::stalled).
#[derive(Debug, Clone)]
pub struct Advice {
    cores: usize,
    threads: usize,
    parts: Parts,
    seen: Vec<String>,
    lints: Vec<Lint>,
}

impl Advice {
    /// `stalled`: for how long nothing has ended, if that stands out.
    pub(crate) fn new(
        cores: usize,
        stats: &Stats,
        stalled: Option<Duration>,
        parts: Parts,
        lints: Vec<Lint>,
    ) -> Self {
        let mut seen = what_stands_out(stats);
        seen.extend(stalled.filter(|stalled| *stalled >= STALL).map(|stalled| {
            format!(
                "nothing has ended for {stalled:.1?} although {} tasks wait: the tasks that run may wait for each other, or for \
                 something that does not come; Control::running names them",
                stats.queued
            )
        }));
        Advice {
            cores,
            threads: stats.size.max,
            parts,
            seen,
            lints,
        }
    }

    /// How many threads, if tasks compute all the time: one more than cores, for the one that is held up.
    #[must_use]
    pub fn for_computing(&self) -> usize {
        self.cores + 1
    }

    /// How many threads keep the cores busy, as often as these tasks wait. `None`: no task has been timed.
    #[must_use]
    pub fn for_waiting(&self) -> Option<usize> {
        let threads = self.cores as f64 * (1.0 + self.waits()?);
        Some((threads.round() as usize).max(1))
    }

    /// The one of both that fits. `None`: too few tasks have been timed.
    #[must_use]
    pub fn threads(&self) -> Option<usize> {
        if self.parts.tasks < FEW {
            return None;
        }
        match self.waits()? {
            ratio if ratio < HARDLY_WAITS => Some(self.for_computing()),
            _ => self.for_waiting(),
        }
    }

    /// Mean time in which a task computes.
    #[must_use]
    pub fn computing(&self) -> Option<Duration> {
        self.mean(self.parts.computing)
    }

    /// Mean time in which a task waits for something else.
    #[must_use]
    pub fn waiting(&self) -> Option<Duration> {
        self.mean(self.parts.waiting)
    }

    /// What stands out in the pool's figures, a sentence each.
    #[must_use]
    pub fn seen(&self) -> &[String] {
        &self.seen
    }

    /// What is often a mistake in its settings.
    #[must_use]
    pub fn lints(&self) -> &[Lint] {
        &self.lints
    }

    fn waits(&self) -> Option<f64> {
        let computing = self.parts.computing.as_secs_f64();
        (computing > 0.0).then(|| self.parts.waiting.as_secs_f64() / computing)
    }

    fn mean(&self, sum: Duration) -> Option<Duration> {
        let nanos = sum.as_nanos().checked_div(u128::from(self.parts.tasks))?;
        Some(Duration::from_nanos(nanos as u64))
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.computing(), self.waiting(), self.waits()) {
            (Some(computing), Some(waiting), Some(ratio)) => {
                writeln!(
                    f,
                    "a task computes for {computing:.1?} and waits for {waiting:.1?} (mean of about {} tasks)",
                    self.parts.tasks
                )?;
                writeln!(
                    f,
                    "threads: {} if it computes ({} cores + 1), {} as it waits ({} cores * (1 + {ratio:.2}))",
                    self.for_computing(),
                    self.cores,
                    self.for_waiting().unwrap_or(self.cores),
                    self.cores,
                )?;
                match self.threads() {
                    Some(threads) if threads == self.threads => writeln!(f, "advice: stay at {threads}")?,
                    Some(threads) => writeln!(f, "advice: {threads} threads, now at most {}", self.threads)?,
                    None => writeln!(f, "advice: none yet, fewer than {FEW} tasks have been timed")?,
                }
            }
            _ => writeln!(f, "no task has been timed yet")?,
        }
        for sentence in &self.seen {
            writeln!(f, "seen: {sentence}")?;
        }
        for lint in &self.lints {
            writeln!(f, "{lint}")?;
        }
        Ok(())
    }
}

/// The signs of a pool that is too small, too large, or set wrong.
fn what_stands_out(stats: &Stats) -> Vec<String> {
    let mut seen = Vec::new();
    let mean_run = stats.run.mean().unwrap_or_default();
    if stats.queued > stats.size.max && stats.active >= stats.threads && stats.threads >= stats.size.max {
        let oldest = stats.oldest_wait.unwrap_or_default();
        seen.push(format!(
            "{} tasks wait, the oldest for {oldest:.1?}, and all {} threads are at work: tasks come faster than they run",
            stats.queued, stats.threads
        ));
    }
    if stats.rejected.full > 0 {
        let part = 100.0 * stats.rejected.full as f64 / (stats.submitted + stats.rejected.full) as f64;
        seen.push(format!(
            "{} tasks ({part:.1} %) were refused because the queue was full",
            stats.rejected.full
        ));
    }
    if stats.rejected.caller_ran > 0 {
        seen.push(format!(
            "{} tasks were run by their submitters because the queue was full",
            stats.rejected.caller_ran
        ));
    }
    if stats.threads_started > 8 * stats.largest as u64 && stats.largest > 0 {
        seen.push(format!(
            "{} threads were started, {} at most were there at once: they come and go, a longer keep_alive or more core threads keep them",
            stats.threads_started, stats.largest
        ));
    }
    for (level, of_level) in stats.levels.iter().enumerate() {
        let (Some(oldest), Some(usual)) = (of_level.oldest_wait, stats.wait.mean()) else {
            continue;
        };
        if oldest > usual.saturating_mul(100).max(Duration::from_secs(1)) {
            seen.push(format!(
                "level {level} starves: its oldest task has waited for {oldest:.1?}, the mean is {usual:.1?}"
            ));
        }
    }
    if stats.failed_starts > 0 {
        seen.push(format!("the system refused {} threads", stats.failed_starts));
    }
    if let Some((short, long)) = two_kinds(&stats.run) {
        seen.push(format!(
            "half of the tasks run for less than {short:.1?}, one in a hundred for more than {long:.1?}: two kinds, which two \
             pools or `blocking()` would keep from each other (mean {mean_run:.1?})"
        ));
    }
    seen
}

fn two_kinds(run: &Histogram) -> Option<(Duration, Duration)> {
    let (short, long) = (run.quantile(0.5)?, run.quantile(0.99)?);
    let is_so = run.count() >= FEW && long > Duration::from_millis(1) && long > short * OTHER_KIND;
    is_so.then_some((short, long))
}
