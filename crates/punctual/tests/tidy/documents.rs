//! The map and the list of unsafe files in ARCHITECTURE.md are exact, and documents name tests that exist.

use crate::must_be_empty;
use crate::sources::{everything, leaves, library, read};
use std::collections::{BTreeMap, BTreeSet};

/// The items "- `path.rs`: .." of a section of ARCHITECTURE.md.
fn listed(section: &str) -> BTreeSet<String> {
    let document = read("ARCHITECTURE.md");
    let heading = format!("\n## {section}\n");
    let (_, rest) = document
        .split_once(&heading)
        .unwrap_or_else(|| panic!("no section {section}"));
    let body = rest.split("\n## ").next().unwrap_or_default();
    let mut items = BTreeSet::new();
    for line in body.lines().filter_map(|line| line.strip_prefix("- `")) {
        let Some((path, words)) = line.split_once("`: ") else {
            continue;
        };
        assert!(words.len() > 5, "{path} is listed in {section} without a word");
        assert!(
            items.insert(path.to_owned()),
            "{path} is listed twice in {section}"
        );
    }
    items
}

fn differences(there: &BTreeSet<String>, listed: &BTreeSet<String>) -> Vec<String> {
    let missing = there
        .difference(listed)
        .map(|path| format!("{path} is not listed"));
    let gone = listed
        .difference(there)
        .map(|path| format!("{path} is listed but not so"));
    missing.chain(gone).collect()
}

#[test]
fn the_map_names_every_file_and_no_other() {
    let all = library().into_iter().chain(leaves());
    let there = all.map(|source| source.path).collect();
    must_be_empty(
        "ARCHITECTURE.md, The map",
        &differences(&there, &listed("The map")),
    );
}

#[test]
fn the_unsafe_list_is_exact() {
    let allowed = library()
        .into_iter()
        .filter(|source| source.text.contains("allow(unsafe_code)"));
    let there = allowed.map(|source| source.path).collect();
    must_be_empty(
        "ARCHITECTURE.md, Unsafe code",
        &differences(&there, &listed("Unsafe code")),
    );
}

/// The names of all functions of the library's sources and tests, and whether each is a test.
pub(crate) fn functions() -> BTreeMap<String, bool> {
    let mut found = BTreeMap::new();
    for source in everything() {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            let Some((_, rest)) = line
                .split_once("fn ")
                .filter(|(before, _)| !before.contains("//"))
            else {
                continue;
            };
            let name: String = rest.chars().take_while(|c| is_word(*c)).collect();
            // The attributes directly above, or the macro that makes tests of its arguments.
            let above = lines[..index].iter().rev();
            let is_test = above
                .take_while(|line| line.starts_with("#["))
                .any(|line| line.contains("test]"));
            let known = found.entry(name).or_insert(false);
            *known |= is_test;
        }
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_'
}

/// What stands in backticks and looks like a function: `name`, `module::name`.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted
        .map(|text| text.rsplit_once("::").map_or(text, |(_, name)| name))
        .filter(|name| name.contains('_') && name.chars().all(is_word))
}

#[test]
fn documents_name_tests_that_exist() {
    let functions = functions();
    let mut broken = Vec::new();
    let mut held = 0;
    for document in ["docs/guarantees.md", "docs/conformance.md"] {
        let text = read(document);
        for (index, line) in text.lines().enumerate() {
            // Whatever follows this mark is a list of tests, however short their names.
            let tests: BTreeSet<&str> = line
                .split_once("Held by")
                .map(|(_, rest)| named(rest).collect())
                .unwrap_or_default();
            held += tests.len();
            for name in named(line) {
                let is_long = name.matches('_').count() > 1;
                let at = format!("{document}:{}", index + 1);
                match functions.get(name) {
                    Some(false) if tests.contains(name) => broken.push(format!("{at}: `{name}` is no test")),
                    None if tests.contains(name) || is_long => {
                        broken.push(format!("{at}: there is no `{name}`"))
                    }
                    _ => {}
                }
            }
        }
    }
    must_be_empty("a document names what is not there", &broken);
    assert!(held > 0, "docs/guarantees.md names no test");
}
