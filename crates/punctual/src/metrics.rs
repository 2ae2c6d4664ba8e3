//! A pool's figures for the `metrics` facade; feature `metrics`.
//!
//! In: controls. Out: the same counters and gauges as for Prometheus, told to whatever recorder the program installed. The
//! facade wants to be told, so somebody has to call [`publish`] now and then: a schedule, or whoever answers a scrape. A
//! histogram there is made of single values, which a pool does not keep; of its times the facade gets `_count` and `_sum`.

use crate::Control;
use crate::observe::meter::{Kind, Sample, Value, families};
use ::metrics::{Key, KeyName, Label, Level, Metadata, SharedString, with_recorder};

/// Tells the facade the figures of these pools as they are now. Without a recorder it does nothing; a pool that is gone is left
/// out.
///
/// ```
/// use punctual::{Pool, Schedule};
/// use std::time::Duration;
///
/// let pool = Pool::builder("web").core_threads(1).build()?;
/// let control = pool.control();
/// pool.schedule(Schedule::every(Duration::from_secs(10)).named("metrics"), move |_| {
///     punctual::metrics::publish([&control]);
/// })?;
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
pub fn publish<'a>(controls: impl IntoIterator<Item = &'a Control>) {
    for family in families(controls) {
        for sample in &family.samples {
            match &sample.value {
                Value::Number(number) => tell(family.name, family.help, family.kind, sample, *number),
                Value::Times(times) => {
                    let count = SharedString::from(format!("{}_count", family.name));
                    let sum = SharedString::from(format!("{}_sum", family.name));
                    tell(count, family.help, Kind::Counter, sample, times.count() as f64);
                    // A counter of the facade is whole; seconds are not.
                    tell(sum, family.help, Kind::Gauge, sample, times.sum().as_secs_f64());
                }
            }
        }
    }
}

fn tell(name: impl Into<SharedString>, help: &'static str, kind: Kind, sample: &Sample, value: f64) {
    let name = name.into();
    let labels = sample.labels.iter();
    let labels: Vec<Label> = labels
        .map(|(name, value)| Label::new(*name, value.clone()))
        .collect();
    let key = Key::from_parts(name.clone(), labels);
    let about = Metadata::new("punctual", Level::INFO, Some(module_path!()));
    with_recorder(|recorder| {
        let is_whole = value.fract() == 0.0 && value >= 0.0;
        if kind == Kind::Counter && is_whole && !name.ends_with("_seconds_total") {
            recorder.describe_counter(KeyName::from(name.clone()), None, help.into());
            recorder.register_counter(&key, &about).absolute(value as u64);
        } else {
            recorder.describe_gauge(KeyName::from(name.clone()), None, help.into());
            recorder.register_gauge(&key, &about).set(value);
        }
    });
}
