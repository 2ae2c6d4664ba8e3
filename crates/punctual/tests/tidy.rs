//! House rules that a compiler does not hold: the map, the list of unsafe files, the direction of imports, and that
//! documents name tests that exist. Each test reads the sources as text and names every line that breaks its rule.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path as documents write it, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    /// The lines that are code of the product, with their numbers: no comments, nothing compiled for tests only.
    /// (A test module in a file is its last item: clippy holds that, `items_after_test_module`.)
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines: Vec<&str> = self.text.lines().collect();
        let is_test_module = |index: usize| {
            is_test_attribute(lines[index]) && lines.get(index + 1).is_some_and(|next| next.contains("mod "))
        };
        // `mod models;` is one line, `mod models {` is the rest of the file.
        let end = (0..lines.len())
            .find(|index| is_test_module(*index) && lines[index + 1].trim_end().ends_with('{'))
            .unwrap_or(lines.len());
        let lines = lines.into_iter().take(end).enumerate();
        lines
            .map(|(index, line)| (index + 1, line))
            .filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

fn is_test_attribute(line: &str) -> bool {
    line.trim_start().starts_with("#[cfg(") && line.contains("test")
}

fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders down")
        .to_owned()
}

fn read(path: &str) -> String {
    let path = workspace().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every `.rs` file below a folder of the workspace, with its path relative to that folder.
fn sources(folder: &str) -> Vec<Source> {
    let root = workspace().join(folder);
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.map(|entry| entry.expect("a readable folder").path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let relative = path.strip_prefix(&root).expect("it is below the root");
                found.push(Source {
                    path: relative.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/"),
                    text: fs::read_to_string(&path).expect("a source file is text"),
                });
            }
        }
    }
    assert!(!found.is_empty(), "no source below {}", root.display());
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn library() -> Vec<Source> {
    sources("crates/punctual/src")
}

/// The library without the files that are compiled for tests only (`#[cfg(.. test ..)] mod name;`).
fn product() -> Vec<Source> {
    let all = library();
    let mut test_only = BTreeSet::new();
    for source in &all {
        let folder = match source.path.rsplit_once('/') {
            Some((folder, "mod.rs")) => format!("{folder}/"),
            None if source.path == "lib.rs" => String::new(),
            _ => format!("{}/", source.path.trim_end_matches(".rs")),
        };
        let lines: Vec<&str> = source.text.lines().collect();
        for pair in lines.windows(2).filter(|pair| is_test_attribute(pair[0])) {
            let name = pair[1]
                .split_once("mod ")
                .and_then(|(_, rest)| rest.strip_suffix(';'));
            test_only.extend(name.map(|name| format!("{folder}{name}.rs")));
        }
    }
    all.into_iter()
        .filter(|source| !test_only.contains(&source.path))
        .collect()
}

/// The sources of the whole workspace, with paths from its root.
fn everything() -> Vec<Source> {
    let mut all = Vec::new();
    for folder in ["crates", "examples"] {
        all.extend(sources(folder).into_iter().map(|source| Source {
            path: format!("{folder}/{}", source.path),
            ..source
        }));
    }
    all
}

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

fn must_be_empty(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
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
    let there = library().into_iter().map(|source| source.path).collect();
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

#[test]
fn every_unsafe_block_has_its_argument() {
    let mut broken = Vec::new();
    for source in library() {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            let is_unsafe = line.contains("unsafe {") || line.contains("unsafe impl");
            if is_unsafe && !line.starts_with("//") && !is_argued(&lines[..index]) {
                broken.push(format!("{}:{}: {line}", source.path, index + 1));
            }
        }
    }
    must_be_empty(
        "no SAFETY comment before the statement with the unsafe block",
        &broken,
    );
}

/// Whether a SAFETY comment stands above, with nothing in between but the beginning of the same statement.
fn is_argued(above: &[&str]) -> bool {
    for (index, line) in above.iter().enumerate().rev() {
        if line.starts_with("//") {
            let block = above[..=index]
                .iter()
                .rev()
                .take_while(|line| line.starts_with("//"));
            return block.into_iter().any(|line| line.contains("SAFETY:"));
        }
        if line.is_empty() || line.ends_with([';', '}', ',']) {
            return false;
        }
    }
    false
}

#[test]
fn every_file_says_what_it_is() {
    let silent = everything()
        .into_iter()
        .filter(|source| !source.text.starts_with("//! "));
    must_be_empty(
        "a file opens with `//! `",
        &silent.map(|source| source.path).collect::<Vec<_>>(),
    );
}

/// Uses of the standard library's threads and locks outside `sync` that are meant: file, what, why.
const DOOR_EXCEPTIONS: [(&str, &str, &str); 3] = [
    (
        "time/clock.rs",
        "std::sync::OnceLock",
        "the birth of the system's clock; the models have no time",
    ),
    (
        "pool/fork.rs",
        "std::sync::Once",
        "registers the handler once per process; the models do not fork",
    ),
    (
        "pool/owner.rs",
        "std::thread::panicking",
        "a question about this thread that needs no order",
    ),
];

#[test]
fn threads_and_locks_come_through_one_door() {
    let mut broken = Vec::new();
    let mut used = BTreeSet::new();
    for source in product() {
        if source.path == "sync.rs" || source.path.starts_with("sync/") {
            continue;
        }
        for (number, line) in source
            .code()
            .filter(|(_, line)| line.contains("std::sync") || line.contains("std::thread"))
        {
            match DOOR_EXCEPTIONS
                .iter()
                .find(|(path, what, _)| source.path == *path && line.contains(what))
            {
                Some(exception) => drop(used.insert(exception)),
                None => broken.push(format!("{}:{number}: {}", source.path, line.trim())),
            }
        }
    }
    for exception in &DOOR_EXCEPTIONS {
        if !used.contains(exception) {
            broken.push(format!("{exception:?} is excepted and not there any more"));
        }
    }
    must_be_empty("std::sync or std::thread outside of `sync`", &broken);
}

#[test]
fn no_file_is_too_long() {
    let mut broken = Vec::new();
    for source in everything() {
        let lines = source.text.lines().count();
        if lines > 800 {
            broken.push(format!("{}: {lines} lines", source.path));
        } else if lines > 500 {
            println!("look twice: {} has {lines} lines", source.path);
        }
    }
    must_be_empty("more than 800 lines", &broken);
}

#[test]
fn nothing_is_left_undone() {
    // In two pieces, so that this file does not break its own rule.
    let words = [
        concat!("to", "do!"),
        concat!("unimple", "mented!"),
        concat!("db", "g!"),
        concat!("#[ig", "nore"),
        concat!("FIX", "ME"),
    ];
    let mut broken = Vec::new();
    for source in everything() {
        for (index, line) in source.text.lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                broken.push(format!("{}:{}: {}", source.path, index + 1, line.trim()));
            }
        }
    }
    must_be_empty("unfinished, or a test that does not run", &broken);
}

/// Which rooms a room must not know, for the product's code: see "What is never there" in ARCHITECTURE.md.
const AGAINST_THE_FLOW: [(&str, &[&str]); 5] = [
    ("queue/", &["pool", "worker", "handle", "executor", "observe"]),
    ("task/", &["pool", "queue", "worker", "handle"]),
    (
        "time/",
        &["pool", "queue", "worker", "handle", "executor", "observe"],
    ),
    ("observe/", &["worker", "handle", "executor", "task"]),
    (
        "sync",
        &[
            "pool", "queue", "worker", "handle", "executor", "observe", "task", "time", "error",
        ],
    ),
];

#[test]
fn nothing_knows_what_is_above_it() {
    let mut broken = Vec::new();
    for source in product() {
        let rooms = AGAINST_THE_FLOW
            .iter()
            .filter(|(room, _)| source.path.starts_with(room));
        for name in rooms.flat_map(|(_, names)| *names) {
            let path = format!("crate::{name}");
            for (number, line) in source.code().filter(|(_, line)| line.contains(&path)) {
                broken.push(format!("{}:{number}: {}", source.path, line.trim()));
            }
        }
    }
    must_be_empty("against the flow", &broken);
}

/// The names of all functions of the library's sources and tests, and whether each is a test.
fn functions() -> BTreeMap<String, bool> {
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
        if document.ends_with("conformance.md") && !workspace().join(document).exists() {
            continue;
        }
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

#[test]
fn the_core_depends_on_libc_and_cron_on_jiff() {
    let manifest = read("crates/punctual/Cargo.toml");
    let mut found = BTreeMap::<&str, Vec<&str>>::new();
    let mut section = "";
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            section = line;
        } else if section.ends_with("dependencies]") && !section.contains("dev-dependencies") {
            let name = line.split_once('=').map(|(name, _)| name.trim());
            found
                .entry(section)
                .or_default()
                .extend(name.filter(|name| !name.starts_with('#')));
        }
    }
    found.retain(|_, names| !names.is_empty());
    let expected = BTreeMap::from([
        ("[dependencies]", vec!["jiff"]),
        ("[target.'cfg(unix)'.dependencies]", vec!["libc"]),
        ("[target.'cfg(loom)'.dependencies]", vec!["loom"]),
        ("[target.'cfg(shuttle)'.dependencies]", vec!["shuttle"]),
    ]);
    assert_eq!(found, expected);
    let is_optional = |line: &str| line.starts_with("jiff = ") && line.contains("optional = true");
    assert!(
        manifest.lines().any(is_optional),
        "jiff belongs to the feature cron"
    );
}
