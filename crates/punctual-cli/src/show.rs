//! Numbers for people: durations with a fitting unit, counts in groups of three, a pool's statistics as a table.

use punctual::{Histogram, Stats};
use std::fmt::Write;
use std::time::Duration;

/// Three digits and a unit: `14.2 ns`, `3.07 ms`.
pub(crate) fn time(duration: Duration) -> String {
    nanoseconds(duration.as_nanos() as f64)
}

/// The share of one in `count`.
pub(crate) fn each(duration: Duration, count: u64) -> String {
    nanoseconds(duration.as_nanos() as f64 / count.max(1) as f64)
}

fn nanoseconds(nanoseconds: f64) -> String {
    let (value, unit) = match nanoseconds {
        ns if ns < 1e3 => (ns, "ns"),
        ns if ns < 1e6 => (ns / 1e3, "us"),
        ns if ns < 1e9 => (ns / 1e6, "ms"),
        ns => (ns / 1e9, "s"),
    };
    let digits = match value {
        value if value < 10.0 => 2,
        value if value < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}")
}

/// `1 000 000`.
pub(crate) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

/// What a pool did.
pub(crate) fn table(stats: &Stats) -> String {
    let ends = [
        ("finished", stats.finished),
        ("panicked", stats.panicked),
        ("cancelled", stats.cancelled),
        ("returned", stats.returned),
    ];
    let ends = ends.map(|(name, number)| format!("{name} {}", count(number)));
    let rejected = stats.rejected;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "  tasks    submitted {} = {}",
        count(stats.submitted),
        ends.join(" + ")
    );
    let _ = writeln!(
        out,
        "  refused  queue full {}, shut down {}, no thread {}",
        rejected.full, rejected.shutdown, rejected.no_thread
    );
    let _ = writeln!(
        out,
        "  threads  started {}, stopped {}, at most {} at a time, went to sleep {} times",
        stats.threads_started,
        stats.threads_stopped,
        stats.largest,
        count(stats.parks)
    );
    let _ = writeln!(
        out,
        "  {:<7} {:>10} {:>10} {:>10} {:>16}",
        "times", "p50", "p99", "mean", "about"
    );
    for (name, histogram) in [("waited", &stats.wait), ("ran", &stats.run)] {
        let _ = writeln!(out, "{}", row(name, histogram));
    }
    out
}

fn row(name: &str, histogram: &Histogram) -> String {
    let cell = |duration: Option<Duration>| duration.map_or_else(|| "-".to_owned(), time);
    format!(
        "  {name:<7} {:>10} {:>10} {:>10} {:>10} tasks",
        cell(histogram.quantile(0.5)),
        cell(histogram.quantile(0.99)),
        cell(histogram.mean()),
        count(histogram.count())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_digits_and_a_unit() {
        for (nanoseconds, text) in [
            (0, "0.00 ns"),
            (14, "14.0 ns"),
            (999, "999 ns"),
            (1_234, "1.23 us"),
            (20_971_520, "21.0 ms"),
            (3_600_000_000_000, "3600 s"),
        ] {
            assert_eq!(time(Duration::from_nanos(nanoseconds)), text);
        }
        assert_eq!(each(Duration::from_millis(14), 1_000_000), "14.0 ns");
        assert_eq!(each(Duration::from_nanos(5), 0), "5.00 ns");
    }

    #[test]
    fn counts_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1 000"), (1_234_567, "1 234 567")] {
            assert_eq!(count(number), text);
        }
    }
}
