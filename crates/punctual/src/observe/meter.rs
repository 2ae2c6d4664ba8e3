//! A pool's figures as metrics: names, labels and values, before they are written down.
//!
//! In: controls; of each the statistics are read once, then its schedules, names, lanes and prices. Out: families, for the
//! text of Prometheus and for the `metrics` facade: both show the same. What a pool counts comes from the table of figures
//! (`stats.rs`), each in the order in which it is named there first.
//! Names are those of Micrometer where the meaning is the same, so that boards made for it work. Gauges are read at this
//! moment; counters begin at 0; durations are seconds, in histograms and never as quantiles. The label `name` is the pool's,
//! `priority` the level, where the queue has levels. Neither pools nor schedules need have names of their own, and no two
//! series may be the same: the second of a name is `name#2`.

mod schedules;
pub(crate) mod series;

use self::series::Series;
use super::named::MOST_NAMES;
use super::{Figure, Histogram, TaskTimes};
use crate::Control;
use std::collections::BTreeSet;

/// All that have one name.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) help: &'static str,
    pub(crate) samples: Vec<Sample>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One of them.
pub(crate) struct Sample {
    pub(crate) labels: Vec<(&'static str, String)>,
    pub(crate) value: Value,
}

pub(crate) enum Value {
    Number(f64),
    Times(Histogram),
}

/// Families, each where it was named first.
#[derive(Default)]
struct Meter {
    families: Vec<Family>,
}

/// What a family is, apart from its samples.
type About = (&'static str, Kind, &'static str);

impl Meter {
    fn add(&mut self, (name, kind, help): About, labels: Vec<(&'static str, String)>, value: Value) {
        let sample = Sample { labels, value };
        match self.families.iter_mut().find(|family| family.name == name) {
            Some(family) => family.samples.push(sample),
            None => self.families.push(Family {
                name,
                kind,
                help,
                samples: vec![sample],
            }),
        }
    }
}

/// One pool's figures on their way into the meter, or those of one level.
pub(crate) struct Labelled<'a> {
    meter: &'a mut Meter,
    name: &'a str,
    level: Option<String>,
}

impl Labelled<'_> {
    /// A metric of a table of figures.
    pub(crate) fn series<T>(&mut self, series: Series<T>, table: &T, figure: &impl Figure) {
        if series.when.is_some_and(|is_shown| !is_shown(table)) {
            return;
        }
        let value = match series.value {
            Some(value) => Some(Value::Number(value(table))),
            None => figure.value(),
        };
        let Some(value) = value else { return };
        let level = self.level.as_deref().map(|level| (series.level, level));
        let labels: Vec<_> = level.into_iter().chain(series.labels).collect();
        let labels = self.labels(&labels);
        self.meter.add(series.about, labels, value);
    }

    /// What `measure` adds is of this level.
    pub(crate) fn at_level(&mut self, level: usize, measure: impl FnOnce(&mut Self)) {
        self.level = Some(level.to_string());
        measure(self);
        self.level = None;
    }

    fn labels(&self, more: &[(&'static str, &str)]) -> Vec<(&'static str, String)> {
        let own = std::iter::once(("name", self.name.to_owned()));
        own.chain(more.iter().map(|(name, value)| (*name, (*value).to_owned())))
            .collect()
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, more: &[(&'static str, &str)], value: f64) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Gauge, help), labels, Value::Number(value));
    }

    fn counter(&mut self, name: &'static str, help: &'static str, more: &[(&'static str, &str)], value: f64) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Counter, help), labels, Value::Number(value));
    }

    fn times(
        &mut self,
        name: &'static str,
        help: &'static str,
        more: &[(&'static str, &str)],
        times: &Histogram,
    ) {
        let labels = self.labels(more);
        self.meter
            .add((name, Kind::Histogram, help), labels, Value::Times(times.clone()));
    }

    fn times_of_tasks(&mut self, all: &[TaskTimes]) {
        for times in all {
            let priority = times.level.map(|level| level.to_string());
            let mut labels: Vec<(&'static str, &str)> = Vec::new();
            labels.extend(priority.as_deref().map(|priority| ("priority", priority)));
            labels.extend(times.name.as_deref().map(|name| ("task", name)));
            self.times(
                "executor_seconds",
                "How long tasks run, sampled.",
                &labels,
                &times.run,
            );
        }
    }
}

/// Names that are taken.
#[derive(Default)]
struct Names(BTreeSet<String>);

impl Names {
    /// The name; or, if somebody has it, one with a number after it.
    fn own(&mut self, name: &str) -> String {
        let numbered = (2_u64..).map(|number| format!("{name}#{number}"));
        let mut candidates = std::iter::once(name.to_owned()).chain(numbered);
        let free = candidates.find(|candidate| self.0.insert(candidate.clone()));
        free.unwrap_or_default()
    }
}

/// All families of these pools. One that is gone is left out.
pub(crate) fn families<'a>(controls: impl IntoIterator<Item = &'a Control>) -> Vec<Family> {
    let mut meter = Meter::default();
    let build = ("executor_build_info", Kind::Gauge, "The version of the library.");
    let version = vec![("version", env!("CARGO_PKG_VERSION").to_owned())];
    meter.add(build, version, Value::Number(1.0));
    let mut schedules = 0;
    let mut pools = Names::default();
    for control in controls {
        let Some(stats) = control.stats() else { continue };
        let name = pools.own(&control.name());
        let mut pool = Labelled {
            meter: &mut meter,
            name: &name,
            level: None,
        };
        stats.measure(&mut pool);
        pool.times_of_tasks(&control.task_times());
        let lanes = control.lanes();
        for (state, value) in [("running", lanes.running), ("waiting", lanes.waiting)] {
            pool.gauge(
                "executor_lanes",
                "Lanes of which a task runs, and those in whose line somebody waits.",
                &[("state", state)],
                value as f64,
            );
        }
        let cost = control.cost().map(|cost| cost.total).unwrap_or_default();
        pool.counter(
            "executor_overhead_seconds_total",
            "Time that counting, timing and recording took, estimated.",
            &[],
            cost.as_secs_f64(),
        );
        let stalled = control.stalled().unwrap_or_default();
        pool.gauge(
            "executor_stalled_seconds",
            "For how long no task has ended while tasks wait and every worker is busy.",
            &[],
            stalled.as_secs_f64(),
        );
        let mut names = Names::default();
        for schedule in control.schedules() {
            if schedules == MOST_NAMES {
                break;
            }
            schedules += 1;
            let given = schedule.name();
            let given = given.unwrap_or_else(|| format!("{}/{}", control.name(), schedule.id()));
            pool.schedule(&schedule, &names.own(&given));
        }
    }
    meter.families
}
