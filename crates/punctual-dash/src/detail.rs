//! One pool in full: charts, levels, workers, tasks, rejects, advice.
//!
//! In: a pool's control and a snapshot. Out: [`Detail`]: with everything for who comes first, and after that, once a second, only what
//! is new, within a few kilobytes. What does not go into those is asked for, through its own route: all tasks, bars, rejects,
//! the advice. Not here: the rows of tasks (`tasks.rs`).

use crate::assets::fingerprint;
use crate::clip::fit;
use crate::frame::{FIRST_ROWS, RowJson, millis};
use crate::registry::Entry;
use crate::tasks::{self, RejectRow, TaskRow, is_zero};
use crate::timeline::BarJson;
use punctual::Stats;
use serde::Serialize;

/// Tasks of each list in a frame, at most.
const SHORT_LIST: usize = 10;

/// Everything the page of a pool shows beside its row in the overview.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    pub(crate) rows: Vec<RowJson>,
    pub(crate) levels: Vec<Level>,
    pub(crate) bars: Vec<BarJson>,
    /// What the bars' times are counted back from, in milliseconds since 1970.
    pub(crate) bars_at: u64,
    /// There are more new bars than a frame has room for, and so none: they have to be asked for.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) bars_cut: bool,
    pub(crate) running: Vec<TaskRow>,
    pub(crate) queued: Vec<TaskRow>,
    /// The last that were rejected; only in a first frame.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rejects: Option<Vec<RejectRow>>,
    pub(crate) totals: Totals,
    /// Whether the pool has a flight recorder.
    pub(crate) records: bool,
    /// Changes when the advice or the lints do.
    pub(crate) advice_key: u32,
    /// Only in a first frame.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub(crate) advice: Option<AdvicePart>,
}

/// What the pool's figures say, and its lints.
#[derive(Debug, Serialize)]
pub(crate) struct AdvicePart {
    pub(crate) advice: String,
    pub(crate) lints: Vec<Lint>,
}

/// A level of its queue.
#[derive(Debug, Serialize)]
pub(crate) struct Level {
    pub(crate) queued: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<f64>,
    pub(crate) taken: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) promoted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) expired: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) evicted: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_target: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) share_lately: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_99: Option<f64>,
}

/// A setting that is often a mistake.
#[derive(Debug, Serialize)]
pub(crate) struct Lint {
    pub(crate) code: &'static str,
    pub(crate) text: String,
}

/// Counts since the pool began.
#[derive(Debug, Serialize)]
pub(crate) struct Totals {
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) submitted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) finished: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) panicked: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) cancelled: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) expired: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) evicted: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) returned: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) full: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) shutdown: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) no_thread: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) would_deadlock: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) caller_ran: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) discarded: u64,
    pub(crate) largest: usize,
    pub(crate) largest_since_resize: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) spare: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) suspended: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) steals: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) queued_local: usize,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) spurious: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) parks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_half: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) wait_99: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_half: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) run_99: Option<f64>,
}

/// For who has seen the history up to `since`; 0: nothing of it.
pub(crate) fn first(entry: &Entry, stats: &Stats, since: u64) -> Detail {
    let (rows, bars, bars_at) = {
        let seen = entry.seen();
        let rows = seen.history.since(since, FIRST_ROWS).map(RowJson::of).collect();
        (rows, seen.timeline.since(0), seen.timeline.looked())
    };
    let (advice_key, advice) = advice(entry);
    Detail {
        rows,
        bars,
        bars_at,
        running: tasks::running(entry, SHORT_LIST, ""),
        queued: tasks::queued(entry, SHORT_LIST, ""),
        rejects: Some(tasks::rejects(entry)),
        advice: Some(advice),
        ..bare(entry, stats, advice_key)
    }
}

/// For who has seen all but the last look: what is short in any case. The lists come after it ([`Detail::fill`]), when it is known
/// how much room there is for them.
pub(crate) fn news(entry: &Entry, stats: &Stats) -> Detail {
    let (advice_key, _) = advice(entry);
    let seen = entry.seen();
    let rows = seen.history.latest().map(RowJson::of).into_iter().collect();
    let bars_at = seen.timeline.looked();
    drop(seen);
    Detail {
        rows,
        bars_at,
        ..bare(entry, stats, advice_key)
    }
}

fn bare(entry: &Entry, stats: &Stats, advice_key: u32) -> Detail {
    Detail {
        rows: Vec::new(),
        levels: stats.levels.iter().map(level).collect(),
        bars: Vec::new(),
        bars_at: 0,
        bars_cut: false,
        running: Vec::new(),
        queued: Vec::new(),
        rejects: None,
        totals: totals(stats),
        records: entry.control.records(),
        advice_key,
        advice: None,
    }
}

impl Detail {
    /// Puts the lists into so many bytes: bars may take half of them, running tasks a third of what is left.
    pub(crate) fn fill(&mut self, entry: &Entry, bytes: usize) {
        // It is said, too.
        let bytes = bytes.saturating_sub(",\"bars_cut\":true".len());
        let short = |rows: Vec<TaskRow>| rows.into_iter().map(TaskRow::shortened).collect();
        self.bars = entry.seen().timeline.news();
        if !fit(&mut self.bars, bytes / 2) {
            // Part of them would be a false picture.
            self.bars.clear();
            self.bars_cut = true;
        }
        let left = bytes - crate::frame::json(&self.bars).len().min(bytes);
        self.running = short(tasks::running(entry, SHORT_LIST, ""));
        fit(&mut self.running, left / 3);
        let left = left - crate::frame::json(&self.running).len().min(left);
        self.queued = short(tasks::queued(entry, SHORT_LIST, ""));
        tasks::leave_out_repeated(&mut self.queued);
        fit(&mut self.queued, left);
    }
}

/// What the pool is advised, and a number that changes when that does.
pub(crate) fn advice(entry: &Entry) -> (u32, AdvicePart) {
    let advice = entry.control.advice();
    let lint = |lint: &punctual::Lint| Lint {
        code: lint.code,
        text: lint.text.clone(),
    };
    let lints = advice.iter().flat_map(|advice| advice.lints()).map(lint);
    let part = AdvicePart {
        lints: lints.collect(),
        advice: advice.map(|advice| advice.to_string()).unwrap_or_default(),
    };
    let texts: Vec<&str> = part.lints.iter().map(|lint| &*lint.text).collect();
    let key = fingerprint(&[&part.advice, &texts.concat()]);
    // What a script can hold exactly.
    (key as u32, part)
}

fn level(level: &punctual::LevelStats) -> Level {
    Level {
        queued: level.queued,
        oldest: level.oldest_wait.map(millis),
        taken: level.taken,
        promoted: level.promoted,
        expired: level.expired,
        evicted: level.evicted,
        share_target: level.share_target,
        share_lately: level.share_lately,
        wait_99: level.wait.quantile(0.99).map(millis),
    }
}

fn totals(stats: &Stats) -> Totals {
    Totals {
        submitted: stats.submitted,
        finished: stats.finished,
        panicked: stats.panicked,
        cancelled: stats.cancelled,
        expired: stats.expired,
        evicted: stats.evicted,
        returned: stats.returned,
        full: stats.rejected.full,
        shutdown: stats.rejected.shutdown,
        no_thread: stats.rejected.no_thread,
        would_deadlock: stats.rejected.would_deadlock,
        caller_ran: stats.rejected.caller_ran,
        discarded: stats.rejected.discarded,
        largest: stats.largest,
        largest_since_resize: stats.largest_since_resize,
        spare: stats.spare,
        suspended: stats.suspended,
        steals: stats.steals,
        queued_local: stats.queued_local,
        spurious: stats.spurious_wakeups,
        parks: stats.parks,
        wait_half: stats.wait.quantile(0.5).map(millis),
        wait_99: stats.wait.quantile(0.99).map(millis),
        run_half: stats.run.quantile(0.5).map(millis),
        run_99: stats.run.quantile(0.99).map(millis),
    }
}
