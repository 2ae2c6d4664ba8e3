//! The ratchet: the committed figures of `house.toml`, which may only fall.

use crate::source::{self, Result};
use crate::{Measure, root};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// What `house.toml` opens with.
const HEAD: &str = "# The figures of `cargo xtask house`. They may only fall: `cargo xtask house --bless` lowers them to today's, and\n\
    # `--bless --raise` is for a change whose message says why a figure must rise. Targets are set by hand.\n\n";

/// A figure below this part of its baseline is to be kept; a smaller gain may wait for the next one.
const KEPT: f64 = 0.98;

/// The committed figures: baseline and target by measure.
#[derive(Debug)]
pub struct Baseline {
    rows: BTreeMap<String, (f64, f64)>,
}

impl Baseline {
    /// Where the figures are kept.
    pub fn path() -> PathBuf {
        root().join("crates/xtask/house.toml")
    }

    /// Reads the committed figures.
    pub fn read() -> Result<Self> {
        let path = Self::path();
        Self::parse(&source::read(&path)?).map_err(|error| format!("{}:{error}", path.display()))
    }

    /// Lines of the form `name = { baseline = 1, target = 0 }`.
    fn parse(text: &str) -> Result<Self> {
        let mut rows = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let row = || {
                let (name, rest) = line.split_once(" = { baseline = ")?;
                let (baseline, target) = rest.strip_suffix(" }")?.split_once(", target = ")?;
                Some((name.to_owned(), (baseline.parse().ok()?, target.parse().ok()?)))
            };
            let form = "expected `name = { baseline = NUMBER, target = NUMBER }`";
            let (name, figures) = row().ok_or_else(|| format!("{}: {form}, found `{line}`", index + 1))?;
            rows.insert(name, figures);
        }
        Ok(Baseline { rows })
    }

    /// The text of `house.toml`, with the measures in the order of the table.
    fn text(&self, measures: &[Measure]) -> String {
        let row = |measure: &Measure| {
            let (baseline, target) = self.rows.get(measure.name)?;
            Some(format!(
                "{} = {{ baseline = {baseline}, target = {target} }}\n",
                measure.name
            ))
        };
        HEAD.to_owned() + &measures.iter().filter_map(row).collect::<String>()
    }

    /// What keeps the ratchet from holding, with the places behind each figure; empty if it holds.
    pub fn complaints(&self, measures: &[Measure]) -> Vec<String> {
        let mut found: Vec<String> = measures
            .iter()
            .filter_map(|measure| self.complaint(measure))
            .collect();
        let is_known = |name: &str| measures.iter().any(|measure| measure.name == name);
        let unknown = self.rows.keys().filter(|name| !is_known(name));
        found.extend(
            unknown.map(|name| format!("{name}: house.toml has a line for it, and there is no such measure")),
        );
        found
    }

    fn complaint(&self, measure: &Measure) -> Option<String> {
        let Measure {
            name,
            title,
            figure,
            places,
        } = measure;
        let Some((baseline, _)) = self.rows.get(*name) else {
            return Some(format!("{name}: house.toml has no line for it"));
        };
        let figure = (*figure)?;
        if figure > *baseline {
            let places = places.join("\n    ");
            return Some(format!(
                "{name} ({title}): {figure}, above the baseline {baseline}. Places:\n    {places}"
            ));
        }
        let has_fallen = figure < *baseline * KEPT;
        has_fallen.then(|| format!("{name} ({title}): {figure}, below the baseline {baseline}. Keep it: cargo xtask house --bless"))
    }

    /// Writes today's figures. Unless they may rise, one that has risen is an error, and nothing is written.
    pub fn bless(mut self, measures: &[Measure], may_rise: bool) -> Result<()> {
        self.take(measures, may_rise)?;
        let path = Self::path();
        std::fs::write(&path, self.text(measures)).map_err(|error| format!("{}: {error}", path.display()))
    }

    fn take(&mut self, measures: &[Measure], may_rise: bool) -> Result<()> {
        let mut risen = Vec::new();
        for measure in measures {
            let Some(figure) = measure.figure else { continue };
            // A new measure starts with its own figure as the target, to be set by hand.
            let (baseline, _) = self
                .rows
                .entry(measure.name.to_owned())
                .or_insert((figure, figure));
            if figure > *baseline && !may_rise {
                risen.push(format!("{}: {baseline} -> {figure}", measure.name));
            }
            *baseline = figure;
        }
        match risen.is_empty() {
            true => Ok(()),
            false => Err(format!(
                "figures have risen, which needs --raise:\n  {}",
                risen.join("\n  ")
            )),
        }
    }

    /// The table that `house` prints.
    pub fn table(&self, measures: &[Measure]) -> String {
        let number = |figure: Option<f64>| figure.map_or("-".to_owned(), |figure| figure.to_string());
        let mut text = format!(
            "{:<18} {:<42} {:>8} {:>8} {:>8}\n",
            "measure", "", "today", "baseline", "target"
        );
        for Measure {
            name, title, figure, ..
        } in measures
        {
            let row = self.rows.get(*name);
            let (baseline, target) = (number(row.map(|row| row.0)), number(row.map(|row| row.1)));
            text += &format!(
                "{name:<18} {title:<42} {:>8} {baseline:>8} {target:>8}\n",
                number(*figure)
            );
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measure(figure: f64) -> [Measure; 1] {
        [Measure::new("a", "all of it", figure, vec!["a.rs:7".into()])]
    }

    fn baseline() -> Baseline {
        Baseline::parse("# head\n\na = { baseline = 7.5, target = 4 }\n").expect("it parses")
    }

    #[test]
    fn a_figure_may_neither_rise_nor_fall_unseen() {
        assert!(baseline().complaints(&measure(7.5)).is_empty());
        assert!(baseline().complaints(&measure(7.4)).is_empty(), "a small gain");
        let above = baseline().complaints(&measure(8.0)).concat();
        assert!(
            above.contains("above the baseline 7.5") && above.contains("a.rs:7"),
            "{above}"
        );
        assert!(baseline().complaints(&measure(7.0)).concat().contains("--bless"));
        assert!(baseline().complaints(&[]).concat().contains("no such measure"));
    }

    #[test]
    fn bless_lowers_and_raises_only_when_told() {
        let mut kept = baseline();
        assert!(kept.take(&measure(8.0), false).is_err());
        assert!(baseline().take(&measure(8.0), true).is_ok());
        let mut lowered = baseline();
        assert!(lowered.take(&measure(3.0), false).is_ok());
        assert!(
            lowered
                .text(&measure(3.0))
                .ends_with("\na = { baseline = 3, target = 4 }\n")
        );
    }

    #[test]
    fn a_broken_line_is_named() {
        let error = Baseline::parse("a = 3\n").expect_err("it does not parse");
        assert!(
            error.starts_with("1: expected") && error.ends_with("found `a = 3`"),
            "{error}"
        );
    }
}
