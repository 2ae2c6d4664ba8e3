//! Bar charts: one SVG per scenario letter, a panel per metric, a bar per peer with a whisker from the smallest to
//! the largest round. In: samples. Out: SVG text, or files of it. Not here: fonts, styles, scripts; a bar is a `rect`.

use std::{fmt::Write, fs, io, path::Path};

use crate::{
    catalog::{Kind, Metric, Peer, Scenario},
    samples::Samples,
};

const WIDTH: f64 = 860.0;
const LABELS: f64 = 190.0;
const NUMBERS: f64 = 170.0;
const LINE: f64 = 22.0;
const HEAD: f64 = 34.0;

/// The longest bar where all are zero: below every value, and still fit to divide by.
const ALL_ZERO: f64 = 1e-9;

/// Writes `A.svg`, `A2.svg`, ... for what was measured.
pub(crate) fn write_all(dir: &Path, samples: &Samples, scenarios: &[Scenario]) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let mut letters: Vec<&str> = scenarios.iter().map(|scenario| scenario.letter()).collect();
    letters.dedup();
    for letter in letters {
        let parts: Vec<Scenario> = scenarios
            .iter()
            .copied()
            .filter(|scenario| scenario.letter() == letter)
            .collect();
        fs::write(dir.join(format!("{letter}.svg")), chart(samples, &parts))?;
    }
    Ok(())
}

fn chart(samples: &Samples, scenarios: &[Scenario]) -> String {
    let mut body = String::new();
    let mut y = 0.0;
    for scenario in scenarios {
        for metric in samples.metrics(*scenario) {
            y = panel(&mut body, y, samples, *scenario, metric);
        }
    }
    let height = y + LINE;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" \
         viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{body}</svg>\n"
    )
}

/// Draws from `top` downwards and says where it ended.
fn panel(out: &mut String, top: f64, samples: &Samples, scenario: Scenario, metric: Metric) -> f64 {
    let mut bars: Vec<(Peer, f64, (f64, f64))> = Vec::new();
    for peer in scenario.peers() {
        let median = samples.median(scenario, peer, metric.name);
        bars.extend(
            median
                .zip(samples.min_max(scenario, peer, metric.name))
                .map(|(m, range)| (peer, m, range)),
        );
    }
    bars.sort_by(|a, b| a.1.total_cmp(&b.1));
    let longest = bars.iter().map(|(_, _, (_, max))| *max).fold(ALL_ZERO, f64::max);
    let scale = (WIDTH - LABELS - NUMBERS) / longest;

    let title = format!(
        "{} {}: {} ({}, less is better)",
        scenario.letter(),
        metric.name,
        scenario.title(),
        metric.unit
    );
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<text x=\"8\" y=\"{}\" font-weight=\"bold\">{}</text>",
        top + 22.0,
        escaped(&title)
    );
    let mut y = top + HEAD;
    for (peer, median, (min, max)) in bars {
        let text = y + 14.0;
        let label = match peer.kind() {
            Kind::Ours => format!("ours, {}", peer.config(scenario)),
            _ => peer.name().to_owned(),
        };
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"{text}\" text-anchor=\"end\">{}</text>",
            LABELS - 8.0,
            escaped(&label)
        );
        let _ = writeln!(
            out,
            "<rect x=\"{LABELS}\" y=\"{y}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"/>",
            (median * scale).max(1.0),
            LINE - 6.0,
            colour(peer.kind())
        );
        let middle = y + (LINE - 6.0) / 2.0;
        let _ = writeln!(
            out,
            "<line x1=\"{:.1}\" y1=\"{middle}\" x2=\"{:.1}\" y2=\"{middle}\" stroke=\"#222222\"/>",
            LABELS + min * scale,
            LABELS + max * scale
        );
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{text}\">{median:.2} [{min:.2}-{max:.2}]</text>",
            LABELS + max * scale + 6.0
        );
        y += LINE;
    }
    y
}

fn colour(kind: Kind) -> &'static str {
    match kind {
        Kind::Ours => "#1b7f4b",
        Kind::Control => "#8fc9ab",
        Kind::Rust => "#c2703d",
        Kind::Limit => "#999999",
        Kind::Jvm => "#4a6fa5",
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::filled;

    #[test]
    fn a_chart_has_a_bar_and_a_whisker_for_every_peer_in_every_metric() {
        let scenario = Scenario::E;
        let text = chart(&filled(scenario, |_| 3.0), &[scenario]);
        let expected = scenario.peers().len() * scenario.metrics().len();
        assert_eq!(text.matches("<line").count(), expected);
        assert_eq!(text.matches("<rect").count(), expected + 1, "and the background");
        assert!(text.starts_with("<svg") && text.ends_with("</svg>\n"));
        assert!(!text.contains("NaN") && !text.contains("inf"));
    }

    #[test]
    fn zeros_and_nothing_at_all_do_not_divide_by_zero() {
        let text = chart(&filled(Scenario::K, |_| 0.0), &[Scenario::K])
            + &chart(&Samples::default(), &[Scenario::A]);
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b & c>d"), "a&lt;b &amp; c&gt;d");
    }
}
