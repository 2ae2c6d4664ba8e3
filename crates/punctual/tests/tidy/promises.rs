//! docs/guarantees-tests.md, from a promise to the tests that hold it: generated from `promises.txt`.
//!
//! Every promise of docs/guarantees.md and every trap of docs/coming-from.md has a section there, and the other way round.

use crate::documents::{functions, write_or_compare};
use crate::must_be_empty;
use crate::sources::read;
use std::collections::{BTreeMap, BTreeSet};

const LIST: &str = include_str!("promises.txt");
const DOCUMENT: &str = "docs/guarantees-tests.md";

const INTRODUCTION: &str = "<!-- generated -->\n# The tests of the guarantees\n\nGenerated from \
    `crates/punctual/tests/tidy/promises.txt`: add a name there, then\n\
    `PUNCTUAL_BLESS=1 cargo test -p punctual --test tidy`. Files called `models` are explored by loom, \
    `scenarios` by shuttle.\n";

/// A section: `1.` or `Trap 1.`, and the names below it.
type Section = (&'static str, Vec<&'static str>);

fn sections() -> Vec<Section> {
    let mut found: Vec<Section> = Vec::new();
    let lines = LIST
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty());
    for line in lines {
        match line.strip_suffix('.') {
            Some(heading) => found.push((heading, Vec::new())),
            None => found.last_mut().expect("a heading comes first").1.push(line),
        }
    }
    found
}

/// The numbers and titles of a document's items that begin so: `**1. Title.**` or `1. **Title.**`.
fn titles(document: &str, before: &str, between: &str) -> BTreeMap<String, String> {
    let text = read(document);
    let items = text.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix(before)?.split_once(between)?;
        let (title, _) = rest.split_once("**")?;
        number.parse::<u32>().ok()?;
        Some((number.to_owned(), title.trim_end_matches(['.', ',']).to_owned()))
    });
    items.collect()
}

/// The file to name for a test: the library's, if crates have tests of the same name.
fn place(files: &BTreeSet<String>) -> Option<String> {
    let of_library = files.iter().find(|file| file.starts_with("crates/punctual/"));
    of_library.or(files.first()).cloned()
}

#[test]
fn every_promise_and_every_trap_has_a_test() {
    let tests: BTreeMap<String, String> = functions()
        .into_iter()
        .filter_map(|(name, files)| Some((name, place(&files)?)))
        .collect();
    let mut said: BTreeMap<String, String> = titles("docs/guarantees.md", "**", ". ");
    for (number, title) in titles("docs/coming-from.md", "", ". **") {
        said.insert(format!("Trap {number}"), title);
    }
    let (mut broken, mut text) = (Vec::new(), INTRODUCTION.to_owned());
    for (heading, names) in sections() {
        let Some(title) = said.remove(heading) else {
            broken.push(format!("{heading} is listed and no promise or trap"));
            continue;
        };
        if names.is_empty() {
            broken.push(format!("{heading} has no test"));
        }
        text += &format!("\n## {heading}. {title}\n\n");
        let mut files: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for name in names {
            match tests.get(name) {
                Some(file) => drop(files.entry(file).or_default().insert(name)),
                None => broken.push(format!("{heading}: `{name}` is no test")),
            }
        }
        for (file, names) in files {
            let names: Vec<&str> = names.into_iter().collect();
            let file = file.strip_prefix("crates/").unwrap_or(file);
            text += &format!("- {file}: `{}`\n", names.join("`, `"));
        }
    }
    broken.extend(
        said.keys()
            .map(|heading| format!("{heading} is not in promises.txt")),
    );
    must_be_empty("promises.txt, guarantees.md and coming-from.md", &broken);
    write_or_compare(DOCUMENT, &text);
}
