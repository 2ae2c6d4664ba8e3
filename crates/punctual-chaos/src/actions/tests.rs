//! The table and the public API name the same verbs.

use super::{ACTIONS, ENDS};
use std::collections::BTreeSet;
use std::path::Path;

/// The types whose verbs must be in the table.
const TYPES: [&str; 5] = ["Executor", "Pool", "TaskHandle", "TaskRef", "Control"];

fn files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.push(std::fs::read_to_string(&path).expect("a source"));
        }
    }
}

fn sources(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    files(&Path::new(env!("CARGO_MANIFEST_DIR")).join(folder), &mut found);
    found
}

/// The type of an inherent `impl` line: `impl<T> TaskHandle<T> {` is of `TaskHandle`.
fn implemented(line: &str) -> Option<&'static str> {
    let rest = line.strip_prefix("impl")?;
    if rest.contains(" for ") {
        return None;
    }
    let names = rest.split(|c: char| !c.is_alphanumeric() && c != '_');
    let name = names
        .filter(|name| !name.is_empty())
        .find(|name| name.len() > 1)?;
    TYPES.into_iter().find(|known| *known == name)
}

/// `Type::verb` for each public function of those types.
fn public_verbs() -> BTreeSet<String> {
    let mut verbs = BTreeSet::new();
    for source in sources("../punctual/src") {
        let mut inside = None;
        for line in source.lines() {
            if line.starts_with("impl") {
                inside = implemented(line);
            } else if line == "}" {
                inside = None;
            }
            if let Some(name) = inside
                && let Some(rest) = line.trim_start().strip_prefix("pub fn ")
            {
                let verb: String = rest
                    .chars()
                    .take_while(|c| c.is_alphanumeric() || *c == '_')
                    .collect();
                verbs.insert(format!("{name}::{verb}"));
            }
        }
    }
    verbs
}

#[test]
fn every_public_verb_is_in_an_action() {
    let public = public_verbs();
    assert!(public.len() > 100, "the sources were not understood: {public:?}");
    let listed: BTreeSet<String> = ACTIONS
        .iter()
        .chain(ENDS)
        .flat_map(|action| action.verbs.iter().map(|verb| (*verb).to_owned()))
        .collect();
    let missing: Vec<_> = public.difference(&listed).collect();
    assert!(missing.is_empty(), "public verbs in no action: {missing:?}");
    let unknown: Vec<_> = listed.difference(&public).collect();
    assert!(
        unknown.is_empty(),
        "the table names verbs that are not public: {unknown:?}"
    );
}

#[test]
fn every_listed_verb_is_called() {
    let text = sources("src").concat();
    for verb in ACTIONS.iter().chain(ENDS).flat_map(|action| action.verbs) {
        let (name, verb) = verb.split_once("::").expect("Type::verb");
        let is_called = text.contains(&format!(".{verb}(")) || text.contains(&format!("{name}::{verb}("));
        assert!(is_called, "{name}::{verb} is listed, and nothing calls it");
    }
}
