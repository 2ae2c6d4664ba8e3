//! The map and the list of unsafe files in ARCHITECTURE.md are exact, and documents name tests that exist.

use crate::must_be_empty;
use crate::sources::{everything, leaves, library, read, workspace};
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

/// The names of all functions of the library's sources and tests, and the files in which each is a test.
pub(crate) fn functions() -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
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
            let files = found.entry(name).or_default();
            if is_test {
                files.insert(source.path.clone());
            }
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

/// Holds a generated document against its file; `PUNCTUAL_BLESS=1` writes the file instead.
pub(crate) fn write_or_compare(document: &str, generated: &str) {
    let path = workspace().join(document);
    if std::fs::read_to_string(&path).is_ok_and(|committed| committed == generated) {
        return;
    }
    assert!(
        std::env::var_os("PUNCTUAL_BLESS").is_some(),
        "{document} is outdated; write it anew with\n  PUNCTUAL_BLESS=1 cargo test -p punctual --test tidy"
    );
    std::fs::write(path, generated).expect("the document can be written");
}

#[test]
fn documents_name_functions_that_exist() {
    let functions = functions();
    let mut broken = Vec::new();
    for document in ["docs/guarantees.md", "docs/reference.md", "docs/conformance.md"] {
        let text = read(document);
        for (index, line) in text.lines().enumerate() {
            let missing = named(line).filter(|name| !functions.contains_key(*name));
            for name in missing.filter(|name| name.matches('_').count() > 1) {
                broken.push(format!("{document}:{}: there is no `{name}`", index + 1));
            }
        }
    }
    must_be_empty("a document names what is not there", &broken);
}

/// The target of every link in a document: a file that exists and, after `#`, a heading in it.
#[test]
fn documents_link_to_what_is_there() {
    let mut broken = Vec::new();
    for document in documents() {
        let text = read(&document);
        let folder = document.rsplit_once('/').map_or("", |(folder, _)| folder);
        for target in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            if target.starts_with("http") {
                continue;
            }
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let path = match file {
                "" => workspace().join(&document),
                _ => workspace().join(folder).join(file),
            };
            let is_there = match anchor {
                "" => path.exists(),
                _ => {
                    std::fs::read_to_string(&path).is_ok_and(|text| anchors(&text).any(|each| each == anchor))
                }
            };
            if !is_there {
                broken.push(format!("{document}: {target}"));
            }
        }
    }
    must_be_empty("a link leads nowhere", &broken);
}

/// The documents at the root and below docs, by their paths.
fn documents() -> Vec<String> {
    let mut found = Vec::new();
    for folder in ["", "docs/", "docs/decisions/"] {
        let entries = std::fs::read_dir(workspace().join(folder)).expect("a folder of documents");
        let names = entries.map(|entry| entry.expect("a readable folder").file_name());
        let names = names.map(|name| format!("{folder}{}", name.to_string_lossy()));
        found.extend(names.filter(|name| name.ends_with(".md")));
    }
    found.sort();
    found
}

/// What links call the headings of a document.
fn anchors(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let kept = line.trim_start_matches('#').trim().to_lowercase();
        let kept = kept.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.collect::<String>().replace(' ', "-")
    })
}
