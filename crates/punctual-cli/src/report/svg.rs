//! Who worked when, as an SVG picture: a row for each worker, a bar for each attempt, coloured by level. Plain text, no
//! script, no font of its own; titles show when a mouse rests on a bar.

use super::figures;
use crate::batch::job::Attempt;
use crate::batch::record::Done;
use crate::show;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

const WIDTH: f64 = 1_160.0;
const LEFT: f64 = 130.0;
const ROW: f64 = 24.0;
const TOP: f64 = 54.0;

/// One for each level, dark enough for white letters.
const COLOURS: [&str; 8] = [
    "#b3261e", "#b25e00", "#2f6f4f", "#2b5d9b", "#6b4c9a", "#5f6368", "#5f6368", "#5f6368",
];

/// The picture.
pub(crate) fn draw(done: &Done) -> String {
    let mut rows: BTreeMap<(usize, String), Vec<(usize, &Attempt)>> = BTreeMap::new();
    for (task, record) in done.batch() {
        for attempt in &record.attempts {
            let row = (done.plan.tasks[task].pool, natural(&attempt.worker));
            rows.entry(row).or_default().push((task, attempt));
        }
    }
    let height = TOP + ROW * rows.len() as f64 + 46.0;
    let scale = (WIDTH - LEFT - 20.0) / done.took.as_secs_f64().max(1e-6);
    let mut out = String::new();
    let tally = done.tally();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        r##"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12">
<style>text{{fill:#222}}.name{{fill:#fff;font-size:11px}}.axis{{stroke:#ddd}}.bad{{stroke:#d00;stroke-width:2}}
@media (prefers-color-scheme: dark){{svg{{background:#16181c}}text{{fill:#ddd}}.axis{{stroke:#333}}}}</style>
<text x="{LEFT}" y="20" font-size="15">{} tasks in {}, {} failed</text>"##,
        tally.succeeded + tally.failed,
        show::time(done.took),
        tally.failed
    );
    legend(&mut out, done);
    axis(&mut out, done.took, scale, height);
    let mut last_pool = None;
    for (index, ((pool, _), attempts)) in rows.iter().enumerate() {
        let y = TOP + ROW * index as f64;
        if last_pool.replace(*pool).is_some_and(|last| last != *pool) {
            let _ = writeln!(
                out,
                r#"<line class="axis" x1="0" x2="{WIDTH}" y1="{y}" y2="{y}"/>"#
            );
        }
        let worker = escaped(&attempts[0].1.worker);
        let _ = writeln!(
            out,
            r#"<text x="{}" y="{}" text-anchor="end">{worker}</text>"#,
            LEFT - 8.0,
            y + 16.0
        );
        for (task, attempt) in attempts {
            bar(&mut out, done, *task, attempt, y, scale);
        }
    }
    out.push_str("</svg>\n");
    out
}

fn bar(out: &mut String, done: &Done, task: usize, attempt: &Attempt, y: f64, scale: f64) {
    let plan = &done.plan.tasks[task];
    let start = attempt.started.saturating_duration_since(done.began);
    let took = attempt.ended - attempt.started;
    let x = LEFT + start.as_secs_f64() * scale;
    let width = (took.as_secs_f64() * scale).max(1.0);
    let colour = COLOURS[plan.level.min(7)];
    let class = if attempt.result.is_err() {
        r#" class="bad""#
    } else {
        ""
    };
    let name = escaped(&plan.name);
    let error = attempt.result.as_ref().err().map(|why| format!(": {why}"));
    let _ = writeln!(
        out,
        r#"<g><title>{name}, {}, from {} for {}{}</title><rect{class} x="{x:.1}" y="{:.1}" width="{width:.1}" height="{:.1}" rx="2" fill="{colour}"/>"#,
        figures::level_name(plan.level),
        show::time(start),
        show::time(took),
        escaped(&error.unwrap_or_default()),
        y + 2.0,
        ROW - 4.0
    );
    // About seven units a letter.
    if width > 7.0 * plan.name.chars().count() as f64 + 6.0 {
        let _ = writeln!(
            out,
            r#"<text class="name" x="{:.1}" y="{:.1}">{name}</text>"#,
            x + 4.0,
            y + 16.0
        );
    }
    out.push_str("</g>\n");
}

fn legend(out: &mut String, done: &Done) {
    let mut levels: Vec<usize> = done
        .batch()
        .map(|(task, _)| done.plan.tasks[task].level)
        .collect();
    levels.sort_unstable();
    levels.dedup();
    for (index, level) in levels.into_iter().enumerate() {
        let x = LEFT + 360.0 + 90.0 * index as f64;
        let _ = writeln!(
            out,
            r#"<rect x="{x}" y="10" width="12" height="12" rx="2" fill="{}"/><text x="{}" y="20">{}</text>"#,
            COLOURS[level.min(7)],
            x + 17.0,
            figures::level_name(level)
        );
    }
}

/// About ten marks, at 1, 2 or 5 of a unit.
fn axis(out: &mut String, took: Duration, scale: f64, height: f64) {
    let rough = took.as_secs_f64().max(1e-6) / 8.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power);
    let step = step.into_iter().find(|step| *step >= rough).unwrap_or(power);
    let mut at = 0.0;
    while at <= took.as_secs_f64() {
        let x = LEFT + at * scale;
        let label = if at == 0.0 {
            "0".to_owned()
        } else {
            show::time(Duration::from_secs_f64(at))
        };
        let _ = writeln!(
            out,
            r#"<line class="axis" x1="{x:.1}" x2="{x:.1}" y1="{}" y2="{}"/><text x="{x:.1}" y="{}" text-anchor="middle">{label}</text>"#,
            TOP - 8.0,
            height - 34.0,
            height - 16.0
        );
        at += step;
    }
}

/// A worker's name so that 2 comes before 10.
fn natural(name: &str) -> String {
    match name.rsplit_once('-') {
        Some((front, number)) if number.chars().all(|c| c.is_ascii_digit()) => {
            format!("{front}-{number:0>8}")
        }
        _ => name.to_owned(),
    }
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless_and_in_order() {
        assert_eq!(escaped("a<b>&\"\u{1}"), "a&lt;b&gt;&amp;&quot;\u{fffd}");
        assert!(natural("io-2") < natural("io-10"));
    }
}
