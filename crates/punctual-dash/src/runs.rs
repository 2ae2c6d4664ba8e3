//! What a recorder's events say about workers: who ran what, from when to when.
//!
//! In: events, two for each run. Out: [`Run`]s, brought together until there are few enough to send: neighbours of one kind
//! first, then whatever is near. Plain arithmetic.

use crate::timeline::short_type;
use punctual::{Ending, Event, EventKind, Recent};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Bars of one look: a frame stays within a few kilobytes.
const MOST: usize = 20;

/// Of a look at a longer time (the first one, at what the recorder has kept) so many for each second.
const MOST_A_SECOND: usize = 24;

/// Nothing older is drawn.
const MINUTE: u64 = 60_000;

/// Neighbours that are so near, in milliseconds, are brought together; each is tried in turn.
const GAPS: [u64; 5] = [2, 10, 50, 250, 2_000];

/// A run, or several of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Run {
    pub(crate) worker: usize,
    /// The part of the pool, where it is not the pool's own.
    pub(crate) part: Arc<str>,
    /// Milliseconds since 1970.
    pub(crate) begin: u64,
    pub(crate) end: u64,
    /// What ran. Empty: tasks of several kinds.
    pub(crate) label: Arc<str>,
    /// Tasks that ended in it, and those of them that panicked.
    pub(crate) ended: u64,
    pub(crate) panicked: u64,
}

/// A run as two events tell it.
pub(crate) struct Pair<'a> {
    pub(crate) begin: Duration,
    pub(crate) end: &'a Event,
    /// A task ran it inside of itself.
    pub(crate) is_inner: bool,
}

/// The runs that have ended among these events: of each worker what it took last ends first.
pub(crate) fn pairs(events: &[Event]) -> Vec<Pair<'_>> {
    let mut open: BTreeMap<(&str, usize), Vec<Duration>> = BTreeMap::new();
    let mut pairs = Vec::new();
    for event in events {
        let Some(worker) = event.worker else { continue };
        let begun = open.entry((&*event.part, worker)).or_default();
        match event.kind {
            EventKind::Taken => begun.push(event.at),
            EventKind::Ended(_) => pairs.extend(begun.pop().map(|begin| Pair {
                begin,
                end: event,
                is_inner: !begun.is_empty(),
            })),
            _ => {}
        }
    }
    pairs
}

/// The runs among these events, seen at `now`. What a task runs inside of itself is part of it.
pub(crate) fn of(recent: &Recent, pool: &Arc<str>, now: u64) -> Vec<Run> {
    let at = |time: Duration| {
        let ago = recent.now.saturating_sub(time);
        now.saturating_sub(u64::try_from(ago.as_millis()).unwrap_or(u64::MAX))
    };
    let run = |pair: &Pair<'_>| {
        let part = if pair.end.part == *pool {
            "".into()
        } else {
            Arc::clone(&pair.end.part)
        };
        Some(Run {
            worker: pair.end.worker?,
            part,
            begin: at(pair.begin),
            end: at(pair.end.at),
            label: label(pair.end),
            ended: 1,
            panicked: u64::from(pair.end.kind == EventKind::Ended(Ending::Panicked)),
        })
    };
    let outer = pairs(&recent.events).into_iter().filter(|pair| !pair.is_inner);
    outer.filter_map(|pair| run(&pair)).collect()
}

pub(crate) fn label(event: &Event) -> Arc<str> {
    match (&event.name, event.type_name) {
        (Some(name), _) => Arc::clone(name),
        (None, Some(type_name)) => short_type(type_name).into(),
        (None, None) => "".into(),
    }
}

/// Few enough to send, of the last minute before `now`.
pub(crate) fn merged(mut runs: Vec<Run>, now: u64) -> Vec<Run> {
    runs.retain(|run| run.end + MINUTE > now);
    let first = runs.iter().map(|run| run.end).min().unwrap_or(now);
    let seconds = now.saturating_sub(first) / 1_000;
    let workers: BTreeSet<(&Arc<str>, usize)> = runs.iter().map(|run| (&run.part, run.worker)).collect();
    let most = MOST
        .max(MOST_A_SECOND * usize::try_from(seconds).unwrap_or(0))
        .max(workers.len());
    runs.sort_by(|one, other| {
        (&one.part, one.worker, one.begin).cmp(&(&other.part, other.worker, other.begin))
    });
    for (turn, gap) in GAPS.into_iter().enumerate() {
        if runs.len() <= most {
            break;
        }
        runs = joined(runs, gap, turn > 0);
    }
    // A worker whose runs lie far apart has several bars; no more than that.
    runs.truncate(2 * most);
    runs
}

fn joined(runs: Vec<Run>, gap: u64, mixes: bool) -> Vec<Run> {
    let mut fewer: Vec<Run> = Vec::new();
    for run in runs {
        match fewer.last_mut() {
            Some(last)
                if last.worker == run.worker
                    && last.part == run.part
                    && run.begin <= last.end + gap
                    && (mixes || last.label == run.label) =>
            {
                last.end = last.end.max(run.end);
                last.ended += run.ended;
                last.panicked += run.panicked;
                if last.label != run.label {
                    last.label = "".into();
                }
            }
            _ => fewer.push(run),
        }
    }
    fewer
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(worker: usize, begin: u64, end: u64, label: &str) -> Run {
        Run {
            worker,
            part: "".into(),
            begin,
            end,
            label: label.into(),
            ended: 1,
            panicked: 0,
        }
    }

    #[test]
    fn few_are_left_alone() {
        let runs = vec![run(1, 0, 5, "a"), run(1, 5, 9, "a")];
        assert_eq!(merged(runs.clone(), 1_000), runs);
    }

    #[test]
    fn neighbours_of_one_kind_are_brought_together_first() {
        let kind = |n: u64| if n < 60 { "a" } else { "b" };
        let runs: Vec<Run> = (0..100).map(|n| run(1, n * 10, n * 10 + 10, kind(n))).collect();
        let few = merged(runs, 1_000);
        assert_eq!(few.len(), 2);
        assert_eq!((few[0].ended, &*few[0].label, few[0].end), (60, "a", 600));
        assert_eq!((few[1].ended, &*few[1].label), (40, "b"));
    }

    #[test]
    fn then_whatever_is_near_and_nothing_is_lost() {
        let runs: Vec<Run> = (0..1000)
            .map(|n| {
                run(
                    n as usize % 2,
                    n * 40,
                    n * 40 + 20,
                    ["a", "b", "c"][n as usize % 3],
                )
            })
            .collect();
        let few = merged(runs, 1_000);
        assert!(few.len() <= MOST, "{}", few.len());
        assert_eq!(few.iter().map(|run| run.ended).sum::<u64>(), 1000);
        assert!(few.iter().all(|run| run.label.is_empty()));
    }

    /// A real pool's events, with a task that runs another in place.
    #[test]
    fn events_of_a_pool_become_runs() {
        let pool = punctual::Pool::builder("p")
            .core_threads(1)
            .recorder(100)
            .build()
            .unwrap();
        let inner = pool.executor();
        let outer = pool
            .task(move || drop(inner.submit(|| ()).unwrap().join()))
            .name("outer")
            .submit()
            .unwrap();
        outer.join().unwrap();
        assert!(pool.wait_idle(std::time::Duration::from_secs(60)));
        let runs = of(&pool.control().recent(0), &"p".into(), 1_000_000);
        let names: Vec<&str> = runs.iter().map(|run| &*run.label).collect();
        assert!(names.contains(&"outer"), "{names:?}");
        assert!(
            runs.iter()
                .all(|run| run.begin <= run.end && run.end <= 1_000_000)
        );
    }
}
