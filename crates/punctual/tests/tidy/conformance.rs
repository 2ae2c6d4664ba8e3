//! The table of docs/conformance.md, from an id to the tests that hold it: generated from the names of the tests.
//!
//! A test holds the ids that its name begins with: `tpe_09_..`, `fault_12_and_15_..`, `stpe_25_to_28_..`, `pri_04_and_f67_..`.
//! An id that is in the committed table and in no name keeps its row, which says that it has no test.

use crate::documents::{functions, write_or_compare};
use crate::sources::read;
use std::collections::{BTreeMap, BTreeSet};

/// What an id begins with, and so the name of a test that holds it.
const FAMILIES: [&str; 19] = [
    "cron", "dq", "ecs", "exe", "fault", "fjp", "fut", "hook", "inv", "kot", "life", "pri", "rea", "rej",
    "see", "spr", "stpe", "tpe", "trap",
];

const DOCUMENT: &str = "docs/conformance.md";
const HEADING: &str = "\n<!-- generated -->\n## The tests\n";

fn number(text: &str) -> Option<u32> {
    text.parse().ok()
}

fn id(family: &str, number: u32) -> String {
    format!("{}-{number:02}", family.to_uppercase())
}

/// The ids that a name begins with.
fn ids(name: &str) -> Vec<String> {
    let parts: Vec<&str> = name.split('_').collect();
    let (mut found, mut rest) = (Vec::new(), &parts[..]);
    let mut family = None;
    loop {
        let last = match rest {
            // A trap, as `e61` or `f67`.
            [short, ..]
                if number(short.trim_start_matches(['e', 'f'])).is_some() && number(short).is_none() =>
            {
                rest = &rest[1..];
                found.push(id("trap", number(&short[1..]).unwrap_or_default()));
                None
            }
            [word, digits, ..] if FAMILIES.contains(word) && number(digits).is_some() => {
                rest = &rest[2..];
                family = Some(*word);
                number(digits)
            }
            [digits, ..] if family.is_some() && number(digits).is_some() => {
                rest = &rest[1..];
                number(digits)
            }
            _ => return found,
        };
        if let (Some(family), Some(first)) = (family, last) {
            let end = match rest {
                ["to", end, ..] => number(end),
                _ => None,
            };
            if end.is_some() {
                rest = &rest[2..];
            }
            found.extend((first..=end.unwrap_or(first)).map(|number| id(family, number)));
        }
        match rest {
            ["and", ..] => rest = &rest[1..],
            _ => return found,
        }
    }
}

/// The table, with a row for each known id and for each id of a test.
fn table<'a>(known: impl Iterator<Item = &'a str>, tests: &BTreeSet<String>) -> String {
    let mut rows: BTreeMap<String, Vec<&str>> = known.map(|id| (id.to_owned(), Vec::new())).collect();
    for name in tests {
        for id in ids(name) {
            rows.entry(id).or_default().push(name);
        }
    }
    let mut text = String::from("\n| id | tests |\n| --- | --- |\n");
    for (id, names) in rows {
        let names = match names[..] {
            [] => "no test".to_owned(),
            _ => format!("`{}`", names.join("`, `")),
        };
        text += &format!("| {id} | {names} |\n");
    }
    text
}

fn is_id(text: &&str) -> bool {
    let is_family = |family: &str| FAMILIES.contains(&family.to_lowercase().as_str());
    text.split_once('-')
        .is_some_and(|(family, digits)| is_family(family) && number(digits).is_some())
}

#[test]
fn the_table_of_ids_is_what_the_tests_say() {
    let text = read(DOCUMENT);
    let (before, committed) = text.split_once(HEADING).expect("a section of the tests");
    let known = committed.lines().filter_map(|line| line.split('|').nth(1));
    let tests: BTreeSet<String> = functions()
        .into_iter()
        .filter_map(|(name, files)| (!files.is_empty()).then_some(name))
        .collect();
    let generated = table(known.map(str::trim).filter(is_id), &tests);
    write_or_compare(DOCUMENT, &format!("{before}{HEADING}{generated}"));
}

#[test]
fn a_name_tells_its_ids() {
    for (name, expected) in [
        ("tpe_09_a_pool", &["TPE-09"][..]),
        (
            "stpe_25_to_28_the_matrix",
            &["STPE-25", "STPE-26", "STPE-27", "STPE-28"],
        ),
        ("fault_12_and_15_a_clock", &["FAULT-12", "FAULT-15"]),
        ("pri_04_and_fault_20_on_two_workers", &["PRI-04", "FAULT-20"]),
        ("pri_04_and_f67_with_aging", &["PRI-04", "TRAP-67"]),
        ("e61_less_urgent_levels", &["TRAP-61"]),
        ("cron_the_oracle_agrees", &[]),
        ("life_is_hard", &[]),
        ("see_01_a_pool_and_2_threads", &["SEE-01"]),
    ] {
        assert_eq!(ids(name), expected, "{name}");
    }
}

#[test]
fn an_id_without_a_test_keeps_its_row() {
    let tests = BTreeSet::from(["tpe_02_b".to_owned(), "tpe_02_a".to_owned()]);
    let table = table(["TPE-01"].into_iter(), &tests);
    let rows: Vec<&str> = table.lines().skip(3).collect();
    assert_eq!(
        rows,
        ["| TPE-01 | no test |", "| TPE-02 | `tpe_02_a`, `tpe_02_b` |"]
    );
}
