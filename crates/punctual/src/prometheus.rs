//! A pool's figures as text for Prometheus; feature `prometheus`.
//!
//! In: controls. Out: one text in the exposition format. Serve it under `/metrics` with
//! [`CONTENT_TYPE`]. Names and meanings are in `docs/metrics.md`, with a board for Grafana and alert rules. Not here: which
//! figures there are (`observe/meter.rs`).

use crate::Control;
use crate::observe::Histogram;
use crate::observe::meter::{Family, Kind, Sample, Value, families};
use std::fmt::Write;
use std::time::Duration;

/// What an answer with this text says it is.
pub const CONTENT_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The upper bounds of the histograms' buckets: four in each power of ten from a microsecond to a hundred seconds.
const BOUNDS: [Duration; 33] = {
    const STEPS: [u64; 4] = [1_000, 2_500, 5_000, 7_500];
    let mut bounds = [Duration::ZERO; 33];
    let mut power = 1;
    let mut index = 0;
    while index < 32 {
        bounds[index] = Duration::from_nanos(STEPS[index % 4] * power);
        if index % 4 == 3 {
            power *= 10;
        }
        index += 1;
    }
    bounds[32] = Duration::from_secs(100);
    bounds
};

/// The figures of these pools, as Prometheus reads them. What a pool counts is one snapshot, so its figures do not contradict each
/// other; times by task name, lanes and schedules are read right after it. The second pool of a name is `name#2`. One that is gone
/// is left out.
///
/// ```
/// let pool = punctual::Pool::builder("web").core_threads(1).build()?;
/// pool.submit(|| ())?.join()?;
/// let text = punctual::prometheus::render([&pool.control()]);
/// assert!(text.contains("executor_completed_tasks_total{name=\"web\",outcome=\"finished\"} 1\n"));
/// # Ok::<(), Box<dyn std::error::Error + Send + Sync>>(())
/// ```
#[must_use]
pub fn render<'a>(controls: impl IntoIterator<Item = &'a Control>) -> String {
    let mut text = String::new();
    for family in families(controls) {
        write_family(&mut text, &family);
    }
    text
}

fn write_family(text: &mut String, family: &Family) {
    let kind = match family.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let name = family.name;
    let _ = writeln!(text, "# HELP {name} {}", family.help);
    let _ = writeln!(text, "# TYPE {name} {kind}");
    for sample in &family.samples {
        match &sample.value {
            Value::Number(number) => write_line(text, name, "", sample, None, *number),
            Value::Times(times) => write_times(text, name, sample, times),
        }
    }
}

fn write_times(text: &mut String, name: &str, sample: &Sample, times: &Histogram) {
    let mut filled = times.buckets().peekable();
    let mut below = 0;
    for bound in BOUNDS {
        // A bucket counts as soon as all of it is below the bound.
        while let Some((_, events)) = filled.next_if(|(upper, _)| *upper <= bound) {
            below += events;
        }
        let le = bound.as_secs_f64().to_string();
        write_line(text, name, "_bucket", sample, Some(&le), below as f64);
    }
    // Of the same buckets: a sum over a reading that is being written must not be smaller than its parts.
    let all = below + filled.map(|(_, events)| events).sum::<u64>();
    write_line(text, name, "_bucket", sample, Some("+Inf"), all as f64);
    write_line(text, name, "_sum", sample, None, times.sum().as_secs_f64());
    write_line(text, name, "_count", sample, None, all as f64);
}

fn write_line(text: &mut String, name: &str, suffix: &str, sample: &Sample, le: Option<&str>, value: f64) {
    text.push_str(name);
    text.push_str(suffix);
    let own = sample.labels.iter().map(|(name, value)| (*name, value.as_str()));
    let mut before = '{';
    for (label, value) in own.chain(le.map(|le| ("le", le))) {
        text.push(before);
        before = ',';
        text.push_str(label);
        text.push_str("=\"");
        escape(text, value);
        text.push('"');
    }
    if before == ',' {
        text.push('}');
    }
    let _ = writeln!(text, " {value}");
}

/// A label's value: three characters are written with a backslash, nothing else needs it.
fn escape(text: &mut String, value: &str) {
    for each in value.chars() {
        match each {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            _ => text.push(each),
        }
    }
}
