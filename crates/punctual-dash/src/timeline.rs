//! What each worker did in the last minute: bars for the page's chart.
//!
//! In: once a second, while somebody watches, what every worker is at. Out: [`Bar`]s, each numbered, so that a client is sent
//! only those that are new or have grown. A bar is one task that was seen running, or a second in which a worker ended
//! several. Bounded: a minute, and so many bars.

use crate::registry::Entry;
use punctual::{RunningTask, WorkerStats};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// How far back the chart goes, in milliseconds.
const MINUTE: u64 = 60_000;

/// For a pool of any size: 64 workers that change their task each second.
const MOST: usize = 4096;

/// Workers that are drawn; more would be thinner than a pixel.
const MOST_WORKERS: usize = 64;

/// What a worker did for a while.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Bar {
    pub(crate) id: u64,
    pub(crate) worker: usize,
    /// The part of the pool, where it is not the pool's own.
    pub(crate) part: Arc<str>,
    /// Milliseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    pub(crate) label: Arc<str>,
    /// Tasks that ended meanwhile; none while one is seen running.
    pub(crate) ended: u64,
}

/// What a look saw of one worker.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sight {
    pub(crate) worker: usize,
    pub(crate) part: Arc<str>,
    pub(crate) ended: u64,
    /// What it runs, and for how many milliseconds it has been seen at it.
    pub(crate) running: Option<(Arc<str>, u64)>,
}

/// The minute.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    bars: VecDeque<Bar>,
    last: Vec<Sight>,
    looked: u64,
    count: u64,
    /// Bars from before this look are not sent again, unless they have grown.
    touched: Vec<u64>,
}

/// Looks at a pool's workers. Nothing is locked here.
pub(crate) fn read(entry: &Entry) -> Vec<Sight> {
    let name = entry.name();
    let workers = entry.control.workers();
    let seen = workers.into_iter().take(MOST_WORKERS);
    seen.map(|worker| sight(worker, &name)).collect()
}

fn sight(worker: WorkerStats, pool: &Arc<str>) -> Sight {
    let outermost = worker.running.first();
    let is_own = worker.part == *pool;
    Sight {
        worker: worker.number,
        part: if is_own { "".into() } else { worker.part },
        ended: worker.ended,
        running: outermost.map(|task| (label(task), u64::try_from(task.at_least.as_millis()).unwrap_or(0))),
    }
}

/// A task's name; or the function its closure was written in.
pub(crate) fn label(task: &RunningTask) -> Arc<str> {
    match task.task.as_ref().and_then(|task| task.name()) {
        Some(name) => name.into(),
        None => short_type(task.type_name).into(),
    }
}

/// `app::orders::refresh::{{closure}}` is `orders::refresh`.
pub(crate) fn short_type(name: &str) -> String {
    let plain = name.split('<').next().unwrap_or(name);
    let parts: Vec<&str> = plain.split("::").filter(|part| !part.starts_with("{{")).collect();
    let last = parts.len().saturating_sub(2);
    parts[last..].join("::")
}

impl Timeline {
    /// Takes what a look at `now` saw.
    pub(crate) fn take(&mut self, sights: Vec<Sight>, now: u64) {
        // After a while without anybody watching the last look says nothing about this second.
        let before = if now.saturating_sub(self.looked) > 3_000 { now } else { self.looked };
        self.touched.clear();
        for sight in &sights {
            let last = self.last.iter().find(|last| last.worker == sight.worker && last.part == sight.part);
            let ended = last.map_or(0, |last| sight.ended.saturating_sub(last.ended));
            if ended > 0 && before < now {
                self.add(sight, before, now, format!("{ended} ended").into(), ended);
            }
            if let Some((label, for_long)) = &sight.running {
                let begin = now.saturating_sub(*for_long);
                let is_same = ended == 0 && last.is_some_and(|last| last.running.as_ref().is_some_and(|(same, _)| same == label));
                match self.open_bar(sight).filter(|_| is_same) {
                    Some(bar) => {
                        bar.end = now;
                        let id = bar.id;
                        self.touched.push(id);
                    }
                    None => self.add(sight, begin.max(now.saturating_sub(MINUTE)), now, Arc::clone(label), 0),
                }
            }
        }
        self.last = sights;
        self.looked = now;
        while self.bars.len() > MOST || self.bars.front().is_some_and(|bar| bar.end + MINUTE < now) {
            self.bars.pop_front();
        }
    }

    /// The last bar of that worker, if it shows a task that runs.
    fn open_bar(&mut self, sight: &Sight) -> Option<&mut Bar> {
        let is_its = |bar: &&mut Bar| bar.worker == sight.worker && bar.part == sight.part;
        self.bars.iter_mut().rev().find(is_its).filter(|bar| bar.ended == 0)
    }

    fn add(&mut self, sight: &Sight, begin: u64, end: u64, label: Arc<str>, ended: u64) {
        self.count += 1;
        self.touched.push(self.count);
        self.bars.push_back(Bar {
            id: self.count,
            worker: sight.worker,
            part: Arc::clone(&sight.part),
            begin,
            end,
            label,
            ended,
        });
    }

    /// Everything of the last minute.
    pub(crate) fn all(&self) -> Vec<Bar> {
        self.bars.iter().cloned().collect()
    }

    /// What the last look added or changed.
    pub(crate) fn news(&self) -> Vec<Bar> {
        let is_new = |bar: &&Bar| self.touched.contains(&bar.id);
        self.bars.iter().filter(is_new).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(ended: u64, running: Option<(&str, u64)>) -> Vec<Sight> {
        vec![Sight {
            worker: 1,
            part: "".into(),
            ended,
            running: running.map(|(label, for_long)| (label.into(), for_long)),
        }]
    }

    #[test]
    fn a_task_that_goes_on_is_one_bar_that_grows() {
        let mut timeline = Timeline::default();
        timeline.take(sight(0, Some(("long", 0))), 10_000);
        timeline.take(sight(0, Some(("long", 1_000))), 11_000);
        timeline.take(sight(0, Some(("long", 2_000))), 12_000);
        let bars = timeline.all();
        assert_eq!((bars.len(), bars[0].begin, bars[0].end), (1, 10_000, 12_000));
        assert_eq!(timeline.news(), bars);
    }

    #[test]
    fn a_second_of_short_tasks_is_one_bar() {
        let mut timeline = Timeline::default();
        timeline.take(sight(5, None), 10_000);
        timeline.take(sight(45, Some(("next", 0))), 11_000);
        let bars = timeline.all();
        assert_eq!((&*bars[0].label, bars[0].ended, bars[0].begin), ("40 ended", 40, 10_000));
        assert_eq!((&*bars[1].label, bars[1].begin), ("next", 11_000));
        timeline.take(sight(45, None), 12_000);
        assert_eq!(timeline.news(), []);
    }

    #[test]
    fn a_minute_is_kept() {
        let mut timeline = Timeline::default();
        for second in 0..200 {
            timeline.take(sight(second, None), second * 1_000);
        }
        assert!(timeline.all().len() <= 62);
    }

    #[test]
    fn types_become_names() {
        assert_eq!(short_type("app::orders::refresh::{{closure}}"), "orders::refresh");
        assert_eq!(short_type("{{closure}}"), "");
        assert_eq!(short_type("core::pin::Pin<alloc::boxed::Box<x>>"), "pin::Pin");
    }
}
