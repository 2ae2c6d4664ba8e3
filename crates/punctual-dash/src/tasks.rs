//! Tasks as rows: what runs, what waits and why, what was rejected and how the pool was then.
//!
//! In: a pool's control, and how many rows are wanted. Out: rows for a frame, where texts are cut, or for who asks for them, in full.

use crate::clip::clip;
use crate::frame::millis;
use crate::registry::Entry;
use crate::timeline::{label, short_type};
use punctual::{Capacity, RejectedTask, Status, TaskRef};
use serde::Serialize;
use std::sync::Arc;
use std::time::SystemTime;

/// Rows of a list that is asked for.
pub(crate) const LONG_LIST: usize = 500;

/// Bytes of a name, and of a sentence, in a frame.
const NAME: usize = 80;
const SENTENCE: usize = 240;

/// A task that runs or waits.
#[derive(Debug, Serialize)]
pub(crate) struct TaskRow {
    /// Absent: a fire-and-forget task, which nothing can be done about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<u64>,
    pub(crate) name: Arc<str>,
    /// Where in the source it was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    /// Milliseconds: how long it has run, at least; or since it was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) age: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) view: Option<Arc<str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) worker: Option<usize>,
    /// Why it waits, as a sentence. Absent in a frame: as the row before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) why: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) cancelled: bool,
}

impl TaskRow {
    /// As it is in a frame.
    pub(crate) fn shortened(mut self) -> TaskRow {
        self.name = clip(&self.name, NAME).into();
        self.view = self.view.map(|view| clip(&view, NAME).into());
        let cut = |text: Option<String>, bytes| text.map(|text| clip(&text, bytes).into_owned());
        self.site = cut(self.site, NAME);
        self.why = cut(self.why, SENTENCE);
        self
    }
}

/// A task that was not accepted, and the pool at that moment.
#[derive(Debug, Serialize)]
pub(crate) struct RejectRow {
    /// Milliseconds since 1970.
    pub(crate) time: f64,
    pub(crate) reason: String,
    pub(crate) answer: &'static str,
    pub(crate) task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) site: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) level: Option<usize>,
    pub(crate) queued: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) capacity: Option<usize>,
    pub(crate) threads: usize,
    pub(crate) max: usize,
    pub(crate) active: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) oldest: Option<f64>,
    /// Others like it, right after it.
    #[serde(skip_serializing_if = "is_zero")]
    pub(crate) like_it: u64,
}

/// What is 0 in a list of counts is left out.
pub(crate) fn is_zero<T: Default + PartialEq>(count: &T) -> bool {
    *count == T::default()
}

/// A text that is the one of the row before is not said again.
pub(crate) fn leave_out_repeated(rows: &mut [TaskRow]) {
    let mut last: Option<String> = None;
    for row in rows {
        if row.why.is_some() && row.why == last {
            row.why = None;
        } else {
            last.clone_from(&row.why);
        }
    }
}

/// What workers run, outermost task first, whose name holds `filter`.
pub(crate) fn running(entry: &Entry, most: usize, filter: &str) -> Vec<TaskRow> {
    let workers = entry.control.workers();
    let tasks = workers.iter().flat_map(|worker| {
        let number = worker.number;
        worker.running.iter().map(move |task| (number, task))
    });
    let row = |(worker, running): (usize, &punctual::RunningTask)| {
        let task = running.task.as_ref();
        TaskRow {
            id: task.map(TaskRef::id),
            name: label(running),
            site: task.and_then(site),
            age: Some(millis(running.at_least)),
            level: None,
            view: task.and_then(TaskRef::view),
            worker: Some(worker),
            why: None,
            cancelled: task.is_some_and(|task| task.status() == Status::Cancelled),
        }
    };
    let rows = tasks.map(row).filter(|row| has(row, filter));
    let mut rows: Vec<TaskRow> = rows.collect();
    // The longest at the top: that is what one looks for.
    rows.sort_by(|one, other| other.age.unwrap_or(0.0).total_cmp(&one.age.unwrap_or(0.0)));
    rows.truncate(most);
    rows
}

/// What waits, in the order in which it would be taken, whose name holds `filter`.
pub(crate) fn queued(entry: &Entry, most: usize, filter: &str) -> Vec<TaskRow> {
    let looked_at = if filter.is_empty() {
        most
    } else {
        punctual::Control::MOST_LISTED
    };
    let tasks = entry.control.queued(looked_at);
    let row = |task: &TaskRef| {
        let why = task.explain();
        TaskRow {
            id: Some(task.id()),
            name: task
                .name()
                .map_or_else(|| short_type(task.type_name()).into(), Into::into),
            site: site(task),
            age: task.age().map(millis),
            level: why.effective_level().or(why.level()),
            view: task.view(),
            worker: None,
            why: Some(why.to_string()),
            cancelled: false,
        }
    };
    let rows = tasks.iter().map(row).filter(|row| has(row, filter));
    rows.take(most).collect()
}

/// What was rejected last, oldest first.
pub(crate) fn rejects(entry: &Entry) -> Vec<RejectRow> {
    let row = |task: RejectedTask| {
        let time = task.at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        RejectRow {
            time: millis(time),
            reason: task.reason,
            answer: task.answer,
            task: task.task.unwrap_or_else(|| short_type(task.type_name)),
            site: task.site,
            level: task.level,
            queued: task.queued,
            capacity: match task.capacity {
                Capacity::Bounded(places) => Some(places),
                _ => None,
            },
            threads: task.threads,
            max: task.size.max,
            active: task.active,
            oldest: task.oldest_wait.map(millis),
            like_it: task.like_it,
        }
    };
    entry.control.rejected().into_iter().map(row).collect()
}

fn site(task: &TaskRef) -> Option<String> {
    let site = task.site()?;
    // The folder says little, and may say whose machine it was built on.
    let file = site.file().rsplit(['/', '\\']).next().unwrap_or_default();
    Some(format!("{file}:{}", site.line()))
}

/// Whether the filter's text is in one of its columns.
fn has(row: &TaskRow, filter: &str) -> bool {
    let filter = filter.to_lowercase();
    let texts = [Some(&*row.name), row.site.as_deref(), row.view.as_deref()];
    filter.is_empty()
        || texts
            .into_iter()
            .flatten()
            .any(|text| text.to_lowercase().contains(&filter))
}
