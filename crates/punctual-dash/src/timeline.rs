//! What each worker did in the last minute: bars for the page's chart.
//!
//! In: once a second, while somebody watches, what every worker is at, and, of a pool with a recorder, which tasks it has run
//! since the last look. Out: [`Bar`]s, numbered, so that a client is sent only those that are new; and the open ones, of what
//! runs now, anew each time. Without a recorder a bar is a task that was seen running, or a second in which several ended.
//! Bounded: a minute, and so many bars a look.

use crate::registry::Entry;
use crate::runs::{self, Run};
use punctual::{RunningTask, WorkerStats};
use serde::Serialize;
use std::collections::VecDeque;
use std::sync::Arc;

/// How far back the chart goes, in milliseconds.
const MINUTE: u64 = 60_000;

/// Workers that are drawn; more would be thinner than a pixel.
const MOST_WORKERS: usize = 64;

/// What a worker did for a while.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bar {
    pub(crate) id: u64,
    pub(crate) worker: usize,
    /// The part of the pool, where it is not the pool's own.
    pub(crate) part: Arc<str>,
    /// Milliseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What it ran. Empty: tasks of several kinds.
    pub(crate) label: Arc<str>,
    /// Tasks that ended in it, and those of them that panicked.
    pub(crate) ended: u64,
    pub(crate) panicked: u64,
    /// It goes on.
    pub(crate) is_open: bool,
}

/// As it is sent: there are many of them.
#[derive(Debug, Serialize)]
pub(crate) struct BarJson(u64, usize, Arc<str>, u64, u64, Arc<str>, u64, u64, bool);

impl BarJson {
    fn of(bar: &Bar) -> BarJson {
        let Bar {
            id,
            worker,
            begin,
            end,
            ended,
            panicked,
            is_open,
            ..
        } = *bar;
        BarJson(
            id,
            worker,
            Arc::clone(&bar.part),
            begin,
            end,
            Arc::clone(&bar.label),
            ended,
            panicked,
            is_open,
        )
    }
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

/// What a look saw.
#[derive(Debug, Default)]
pub(crate) struct Look {
    pub(crate) sights: Vec<Sight>,
    /// Of a pool that records: what was run since the last look, and where to go on.
    pub(crate) runs: Option<Vec<Run>>,
    pub(crate) next: u64,
}

/// The minute.
#[derive(Debug, Default)]
pub(crate) struct Timeline {
    bars: VecDeque<Bar>,
    open: Vec<Bar>,
    last: Vec<Sight>,
    looked: u64,
    count: u64,
    /// Bars up to this number were there before the last look.
    known: u64,
    /// The first event of the recorder that has not been read.
    next: u64,
}

/// Looks at a pool's workers. Nothing is locked meanwhile.
pub(crate) fn read(entry: &Entry, now: u64) -> Look {
    let name = entry.name();
    let workers = entry.control.workers();
    let seen = workers.into_iter().take(MOST_WORKERS);
    let sights = seen.map(|worker| sight(worker, &name)).collect();
    if !entry.control.records() {
        return Look {
            sights,
            ..Look::default()
        };
    }
    let next = entry.seen().timeline.next;
    let recent = entry.control.recent(next);
    Look {
        sights,
        runs: Some(runs::of(&recent, &name, now)),
        next: recent.next,
    }
}

fn sight(worker: WorkerStats, pool: &Arc<str>) -> Sight {
    let outermost = worker.running.first();
    Sight {
        worker: worker.number,
        part: if worker.part == *pool {
            "".into()
        } else {
            worker.part.clone()
        },
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
    pub(crate) fn take(&mut self, look: Look, now: u64) {
        self.known = self.count;
        match look.runs {
            Some(runs) => runs::merged(runs, now)
                .into_iter()
                .for_each(|run| self.add_run(run)),
            None => self.guess(&look.sights, now),
        }
        let open = |sight: &Sight| self.opened(sight, now);
        self.open = look.sights.iter().filter_map(open).collect();
        (self.last, self.looked, self.next) = (look.sights, now, look.next);
        while self.bars.front().is_some_and(|bar| bar.end + MINUTE < now) {
            self.bars.pop_front();
        }
    }

    /// The open bar of what a worker runs: the one it had, if it is at the same task.
    fn opened(&self, sight: &Sight, now: u64) -> Option<Bar> {
        let (label, for_long) = sight.running.as_ref()?;
        let begin = now.saturating_sub(*for_long).max(now.saturating_sub(MINUTE));
        let before = self
            .open
            .iter()
            .find(|bar| is_its(bar, sight) && bar.label == *label);
        let went_on = before.filter(|_| self.ended_since(sight) == 0);
        Some(Bar {
            id: 0,
            worker: sight.worker,
            part: Arc::clone(&sight.part),
            begin: went_on.map_or(begin, |bar| bar.begin.min(begin)),
            end: now,
            label: Arc::clone(label),
            ended: 0,
            panicked: 0,
            is_open: true,
        })
    }

    /// Tasks that a worker ended since the last look; none if that was long ago.
    fn ended_since(&self, sight: &Sight) -> u64 {
        let is_same = |last: &&Sight| last.worker == sight.worker && last.part == sight.part;
        let last = self.last.iter().find(is_same);
        last.map_or(0, |last| sight.ended.saturating_sub(last.ended))
    }

    /// Bars of a pool without a recorder: the second before, where a worker ended tasks in it.
    fn guess(&mut self, sights: &[Sight], now: u64) {
        // After a while without anybody watching the last look says nothing about this second.
        if now.saturating_sub(self.looked) > 3_000 {
            self.open.clear();
            return;
        }
        let before = self.looked;
        for sight in sights {
            let ended = self.ended_since(sight);
            if ended == 0 {
                continue;
            }
            let was_at = self.open.iter().find(|bar| is_its(bar, sight)).cloned();
            let begin = was_at.as_ref().map_or(before, |bar| bar.begin.min(before));
            // Of one task that was seen it is known what it was.
            let label = was_at
                .filter(|_| ended == 1)
                .map_or_else(|| "".into(), |bar| bar.label);
            self.add_run(Run {
                worker: sight.worker,
                part: Arc::clone(&sight.part),
                begin,
                end: now,
                label,
                ended,
                panicked: 0,
            });
        }
    }

    fn add_run(&mut self, run: Run) {
        self.count += 1;
        self.bars.push_back(Bar {
            id: self.count,
            worker: run.worker,
            part: run.part,
            begin: run.begin,
            end: run.end,
            label: run.label,
            ended: run.ended,
            panicked: run.panicked,
            is_open: false,
        });
    }

    /// Everything of the last minute.
    pub(crate) fn all(&self) -> Vec<BarJson> {
        self.bars.iter().chain(&self.open).map(BarJson::of).collect()
    }

    /// What the last look added, and what is open.
    pub(crate) fn news(&self) -> Vec<BarJson> {
        let new = self.bars.iter().rev().take_while(|bar| bar.id > self.known);
        new.chain(&self.open).map(BarJson::of).collect()
    }
}

fn is_its(bar: &Bar, sight: &Sight) -> bool {
    bar.worker == sight.worker && bar.part == sight.part
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(ended: u64, running: Option<(&str, u64)>) -> Look {
        let sight = Sight {
            worker: 1,
            part: "".into(),
            ended,
            running: running.map(|(label, for_long)| (label.into(), for_long)),
        };
        Look {
            sights: vec![sight],
            ..Look::default()
        }
    }

    #[test]
    fn a_task_that_goes_on_is_one_bar_that_grows() {
        let mut timeline = Timeline::default();
        timeline.take(look(0, Some(("long", 0))), 10_000);
        timeline.take(look(0, Some(("long", 1_000))), 11_000);
        timeline.take(look(0, Some(("long", 2_000))), 12_000);
        assert!(timeline.bars.is_empty());
        assert_eq!((timeline.open[0].begin, timeline.open[0].end), (10_000, 12_000));
        timeline.take(look(1, None), 13_000);
        assert!(timeline.open.is_empty());
        let bar = &timeline.bars[0];
        assert_eq!((bar.begin, bar.end, &*bar.label), (10_000, 13_000, "long"));
    }

    #[test]
    fn a_second_of_short_tasks_is_one_bar() {
        let mut timeline = Timeline::default();
        timeline.take(look(5, None), 10_000);
        timeline.take(look(45, Some(("next", 0))), 11_000);
        let bar = &timeline.bars[0];
        assert_eq!(
            (bar.ended, bar.begin, bar.end, &*bar.label),
            (40, 10_000, 11_000, "")
        );
        assert_eq!(timeline.news().len(), 2);
        timeline.take(look(45, None), 12_000);
        assert_eq!(timeline.news().len(), 0);
    }

    #[test]
    fn a_minute_is_kept() {
        let mut timeline = Timeline::default();
        for second in 0..200 {
            timeline.take(look(second, None), second * 1_000);
        }
        assert!(
            (60..=62).contains(&timeline.all().len()),
            "{}",
            timeline.all().len()
        );
    }

    #[test]
    fn types_become_names() {
        assert_eq!(short_type("app::orders::refresh::{{closure}}"), "orders::refresh");
        assert_eq!(short_type("{{closure}}"), "");
        assert_eq!(short_type("core::pin::Pin<alloc::boxed::Box<x>>"), "pin::Pin");
    }
}
