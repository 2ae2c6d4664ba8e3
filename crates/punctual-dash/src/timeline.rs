//! What each worker did in the last minute: bars for the page's chart.
//!
//! In: once a second, while somebody watches, what every worker is at, and, of a pool with a recorder, which tasks it has run
//! since the last look. Out: [`Bar`]s, numbered, so that a client is sent only those that are new; and the open ones, of what
//! runs now, anew each time. Without a recorder a bar is a task that was seen running, or a second in which several ended.
//! Bounded: a minute, and so many bars a look.

use crate::clip::clip;
use crate::registry::Entry;
use crate::runs::{self, Run};
use punctual::{RunningTask, WorkerStats};
use serde::ser::SerializeSeq;
use serde::{Serialize, Serializer};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// How far back the chart goes, in milliseconds.
const MINUTE: u64 = 60_000;

/// Workers that are drawn; more would be thinner than a pixel.
const MOST_WORKERS: usize = 64;

/// A look that is older says nothing about this second, in milliseconds.
const FRESH: u64 = 3_000;

/// Bytes of what a bar says.
const LABEL: usize = 60;

/// What a worker did for a while.
#[derive(Debug, Clone, PartialEq)]
struct Bar {
    /// 0: it goes on.
    id: u64,
    run: Run,
}

/// As it is sent, and there are many of them: its number, the worker, how many milliseconds before the look it began
/// and ended, what it ran, how many tasks ended, how many of them panicked, the part. What is at the end and 0 or empty is left out.
#[derive(Debug)]
pub(crate) struct BarJson {
    bar: Bar,
    looked: u64,
}

impl Serialize for BarJson {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let Bar { id, run } = &self.bar;
        let before = |time: u64| self.looked.saturating_sub(time);
        let length = match (run.ended, run.panicked, &*run.part) {
            (0 | 1, 0, "") => 5,
            (_, 0, "") => 6,
            (_, _, "") => 7,
            _ => 8,
        };
        let mut row = to.serialize_seq(Some(length))?;
        let numbers = [*id, run.worker as u64, before(run.begin), before(run.end)];
        numbers
            .iter()
            .try_for_each(|number| row.serialize_element(number))?;
        row.serialize_element(&run.label)?;
        let counts = [run.ended, run.panicked];
        counts
            .iter()
            .take(length - 5)
            .try_for_each(|count| row.serialize_element(count))?;
        if length == 8 {
            row.serialize_element(&run.part)?;
        }
        row.end()
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
    /// From where on events were read, and where to go on.
    pub(crate) from: u64,
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

/// For who begins to watch a pool: a look at once, unless somebody else watches it already.
pub(crate) fn catch_up(entry: &Entry, now: u64) {
    entry.ask(now);
    if now.saturating_sub(entry.seen().timeline.looked) > FRESH {
        let look = read(entry, now);
        entry.seen().timeline.take(look, now);
    }
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
        from: next,
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
            clipped(worker.part.clone())
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
        if look.runs.is_some() && look.from != self.next {
            // Somebody else looked meanwhile, and has the same events.
            return;
        }
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
        while self.bars.front().is_some_and(|bar| bar.run.end + MINUTE < now) {
            self.bars.pop_front();
        }
    }

    /// The open bar of what a worker runs: the one it had, if it is at the same task.
    fn opened(&self, sight: &Sight, now: u64) -> Option<Bar> {
        let (label, for_long) = sight.running.as_ref()?;
        let label = clipped(Arc::clone(label));
        let begin = now.saturating_sub(*for_long).max(now.saturating_sub(MINUTE));
        let before = self
            .open
            .iter()
            .find(|bar| is_its(bar, sight) && bar.run.label == label);
        let went_on = before.filter(|_| self.ended_since(sight) == 0);
        let run = Run {
            worker: sight.worker,
            part: Arc::clone(&sight.part),
            begin: went_on.map_or(begin, |bar| bar.run.begin.min(begin)),
            end: now,
            label,
            ended: 0,
            panicked: 0,
        };
        Some(Bar { id: 0, run })
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
        if now.saturating_sub(self.looked) > FRESH {
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
            let begin = was_at.as_ref().map_or(before, |bar| bar.run.begin.min(before));
            // Of one task that was seen it is known what it was.
            let label = was_at
                .filter(|_| ended == 1)
                .map_or_else(|| "".into(), |bar| bar.run.label);
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

    fn add_run(&mut self, mut run: Run) {
        run.label = clipped(run.label);
        self.count += 1;
        let id = self.count;
        self.bars.push_back(Bar { id, run });
    }

    /// Bars of the last minute after that number, and what is open.
    pub(crate) fn since(&self, id: u64) -> Vec<BarJson> {
        let new = self.bars.iter().filter(|bar| bar.id > id);
        new.chain(&self.open).map(|bar| self.told(bar)).collect()
    }

    /// What the last look added, and what is open.
    pub(crate) fn news(&self) -> Vec<BarJson> {
        self.since(self.known)
    }

    fn told(&self, bar: &Bar) -> BarJson {
        BarJson {
            bar: bar.clone(),
            looked: self.looked,
        }
    }

    /// When the last look was: bars are told relative to it.
    pub(crate) fn looked(&self) -> u64 {
        self.looked
    }
}

fn clipped(text: Arc<str>) -> Arc<str> {
    match clip(&text, LABEL) {
        Cow::Borrowed(_) => text,
        Cow::Owned(short) => short.into(),
    }
}

fn is_its(bar: &Bar, sight: &Sight) -> bool {
    bar.run.worker == sight.worker && bar.run.part == sight.part
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
        let open = &timeline.open[0].run;
        assert_eq!((open.begin, open.end), (10_000, 12_000));
        timeline.take(look(1, None), 13_000);
        assert!(timeline.open.is_empty());
        let bar = &timeline.bars[0].run;
        assert_eq!((bar.begin, bar.end, &*bar.label), (10_000, 13_000, "long"));
    }

    #[test]
    fn a_second_of_short_tasks_is_one_bar() {
        let mut timeline = Timeline::default();
        timeline.take(look(5, None), 10_000);
        timeline.take(look(45, Some(("next", 0))), 11_000);
        let bar = &timeline.bars[0].run;
        assert_eq!(
            (bar.ended, bar.begin, bar.end, &*bar.label),
            (40, 10_000, 11_000, "")
        );
        assert_eq!(timeline.news().len(), 2);
        timeline.take(look(45, None), 12_000);
        assert_eq!(timeline.news().len(), 0);
    }

    #[test]
    fn bars_are_told_in_few_bytes() {
        let mut timeline = Timeline::default();
        timeline.take(look(5, None), 10_000);
        timeline.take(look(45, Some(("next", 0))), 11_000);
        let json = serde_json::to_string(&timeline.news()).unwrap();
        assert_eq!(json, r#"[[1,1,1000,0,"",40],[0,1,0,0,"next"]]"#);
        timeline.open[0].run.part = "blocking".into();
        let json = serde_json::to_string(&timeline.news()[1]).unwrap();
        assert_eq!(json, r#"[0,1,0,0,"next",0,0,"blocking"]"#);
    }

    #[test]
    fn a_minute_is_kept() {
        let mut timeline = Timeline::default();
        for second in 0..200 {
            timeline.take(look(second, None), second * 1_000);
        }
        assert!(
            (60..=62).contains(&timeline.since(0).len()),
            "{}",
            timeline.since(0).len()
        );
    }

    #[test]
    fn types_become_names() {
        assert_eq!(short_type("app::orders::refresh::{{closure}}"), "orders::refresh");
        assert_eq!(short_type("{{closure}}"), "");
        assert_eq!(short_type("core::pin::Pin<alloc::boxed::Box<x>>"), "pin::Pin");
    }
}
