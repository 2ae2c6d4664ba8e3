//! The report people read: per scenario and metric a table of medians with spread, the losses, and the bar. In:
//! samples and verdicts. Out: text. Not here: printing.

use std::fmt::Write;

use crate::{
    bar::Verdict,
    catalog::{Kind, Metric, Peer, Scenario},
    samples::{Row, Samples},
};

/// Everything about one scenario.
pub(crate) fn scenario(samples: &Samples, scenario: Scenario) -> String {
    let mut out = format!("\n== {}: {}\n", scenario.id(), scenario.title());
    if let Some(note) = scenario.note() {
        out += &format!("   note: {note}\n");
    }
    let rows = samples.rows(scenario);
    for metric in samples.metrics(scenario) {
        out += &metric_table(samples, scenario, metric, &rows);
    }
    out
}

fn metric_table(samples: &Samples, scenario: Scenario, metric: Metric, rows: &[Row]) -> String {
    let mut entries: Vec<(Peer, f64)> = scenario
        .peers()
        .into_iter()
        .filter_map(|peer| Some((peer, samples.median(scenario, peer, metric.name)?)))
        .collect();
    entries.sort_by(|a, b| a.1.total_cmp(&b.1));
    // In the order of the catalogue, so that the columns stand still from table to table.
    let measured = |peer: &Peer| entries.iter().any(|(entry, _)| entry == peer);
    let ours: Vec<Peer> = scenario
        .peers()
        .into_iter()
        .filter(|peer| peer.kind() == Kind::Ours && measured(peer))
        .collect();

    let mut out = String::new();
    let mut line = format!(
        "\n{:<34}{:>10}  {:<19}",
        format!("{}, {}", metric.name, metric.unit),
        "median",
        "[min-max]"
    );
    for peer in &ours {
        // Writing to a string cannot fail, here and below.
        let _ = write!(line, "  {:<26}", format!("/ ours {}", peer.config(scenario)));
    }
    out += line.trim_end();
    out.push('\n');
    for (peer, median) in entries {
        let (min, max) = samples
            .min_max(scenario, peer, metric.name)
            .unwrap_or((median, median));
        let mut line = format!(
            "  {:<32}{:>10}  {:<19}",
            label(peer, scenario, metric),
            short(median),
            format!("[{}-{}]", short(min), short(max))
        );
        for config in ours.iter().map(|ours| ours.config(scenario)) {
            let row = rows
                .iter()
                .find(|row| row.metric == metric && row.peer == peer && row.config == config);
            let _ = write!(line, "  {:<26}", row.map(ratio).unwrap_or_default());
        }
        out += line.trim_end();
        out.push('\n');
    }
    out
}

fn label(peer: Peer, scenario: Scenario, metric: Metric) -> String {
    match peer.kind() {
        Kind::Rust if !scenario.compares(metric.name, peer) => format!("{} (only marks)", peer.name()),
        Kind::Rust | Kind::Jvm if scenario.is_insertion() && !peer.owns_closure(scenario) => {
            format!("{} (no closure)", peer.name())
        }
        Kind::Limit => format!("{} (limit)", peer.name()),
        Kind::Ours => format!("OURS {}", peer.config(scenario)),
        Kind::Control => "ours again (A/A control)".to_owned(),
        Kind::Rust | Kind::Jvm => peer.name().to_owned(),
    }
}

fn ratio(row: &Row) -> String {
    let (Some(ratio), Some((min, max))) = (row.ratio, row.spread) else {
        return String::new();
    };
    let loss = if row.is_loss() { " LOSS" } else { "" };
    format!("{}x [{}-{}]{loss}", short(ratio), short(min), short(max))
}

/// Three significant digits are more than the noise leaves.
fn short(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// Where somebody else is better, in one place.
pub(crate) fn losses(rows: &[Row]) -> String {
    let mut out = "\n== losses (ratio below 1)\n".to_owned();
    let mut none = true;
    for row in rows.iter().filter(|row| row.is_loss()) {
        none = false;
        let metric = format!(
            "{} {}, ours {}",
            row.scenario.letter(),
            row.metric.name,
            row.config
        );
        let _ = writeln!(out, "  {metric:<42} {:<16} {}", row.peer.name(), ratio(row));
    }
    if none {
        out += "  none\n";
    }
    out
}

pub(crate) fn bar(verdicts: &[Verdict], rounds: usize) -> String {
    let mut out = format!(
        "\n== bar ({rounds} interleaved rounds; a must by the better quartile, a goal by the median)\n"
    );
    let _ = writeln!(
        out,
        "  {:<38}{:<24}{:<24}{:<18}measured",
        "", "must", "goal", "standing"
    );
    for verdict in verdicts {
        let Verdict {
            what,
            must,
            goal,
            measured,
            ..
        } = verdict;
        let standing = verdict.words();
        let _ = writeln!(out, "  {what:<38}{must:<24}{goal:<24}{standing:<18}{measured}");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{bar, samples::filled};

    fn some() -> Samples {
        filled(Scenario::A, |peer| match peer {
            Peer::Ours | Peer::OursAgain => 14.0,
            Peer::OursBounded => 50.0,
            Peer::JFjp => 33.0,
            _ => 145.0,
        })
    }

    #[test]
    fn the_table_shows_all_peers_both_configurations_and_the_control() {
        let text = scenario(&some(), Scenario::A);
        for part in [
            "OURS unbounded",
            "OURS bounded with room",
            "ours again (A/A control)",
            "j-fjp",
            "2.36x",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        assert!(text.contains("0.66x [0.66-0.66] LOSS"), "{text}");
    }

    #[test]
    fn losses_are_listed_or_their_absence_said() {
        let text = losses(&some().rows(Scenario::A));
        assert!(
            text.contains("j-fjp") && !text.contains("rayon") && !text.contains("ours-again"),
            "{text}"
        );
        assert!(losses(&[]).contains("none"));
    }

    #[test]
    fn the_bar_shows_must_goal_measured_and_standing() {
        let text = bar(&bar::judge(&some(), &[Scenario::A]), 6);
        for part in [
            "3.5x best Rust",
            "6x best Rust",
            "1.2x j-fjp",
            "MISSED",
            "met, goal too",
            "10.36x",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
    }

    #[test]
    fn labels_say_who_only_marks_who_keeps_nothing_and_what_is_a_limit() {
        let text = scenario(&filled(Scenario::GInsert, |_| 1.0), Scenario::GInsert);
        for part in [
            "sched-tp (only marks)",
            "tokio-sleep (no closure)",
            "\n  sched-tp  ",
        ] {
            assert!(text.contains(part), "{part} is missing in {text}");
        }
        let text = scenario(&filled(Scenario::H, |_| 1.0), Scenario::H);
        assert!(text.contains("bare-futex-slack1 (limit)"), "{text}");
        assert!(!text.contains("no closure"), "{text}");
    }

    #[test]
    fn a_note_says_what_is_missing() {
        assert!(scenario(&Samples::default(), Scenario::D).contains("plain queue"));
    }
}
