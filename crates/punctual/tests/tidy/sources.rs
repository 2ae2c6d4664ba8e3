//! The sources of the workspace as text, and which lines of them are code of the product.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A source file: its path as documents write it, and its text.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) text: String,
}

impl Source {
    /// The lines that are code of the product, with their numbers: no comments, nothing compiled for tests only.
    /// (A test module in a file is its last item: clippy holds that, `items_after_test_module`.)
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
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

pub(crate) fn workspace() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors()
        .nth(2)
        .expect("the crate lies two folders down")
        .to_owned()
}

pub(crate) fn read(path: &str) -> String {
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

pub(crate) fn library() -> Vec<Source> {
    sources("crates/punctual/src")
}

/// The crates that the library is built on.
const LEAVES: [&str; 2] = ["punctual-cron", "punctual-timer"];

/// The sources of the leaf crates, with paths that begin with the crate's name.
pub(crate) fn leaves() -> Vec<Source> {
    let of = |name: &&str| {
        let files = sources(&format!("crates/{name}/src")).into_iter();
        let named = files.map(|source| Source {
            path: format!("{name}/src/{}", source.path),
            ..source
        });
        named.collect::<Vec<_>>()
    };
    LEAVES.iter().flat_map(of).collect()
}

/// The library without the files that are compiled for tests only (`#[cfg(.. test ..)] mod name;`).
pub(crate) fn product() -> Vec<Source> {
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
    // And what lies inside of them.
    let is_test = |path: &str| {
        let inside = |file: &String| path.starts_with(&file.replace(".rs", "/"));
        test_only.contains(path) || test_only.iter().any(inside)
    };
    all.into_iter().filter(|source| !is_test(&source.path)).collect()
}

/// The sources of the whole workspace, with paths from its root.
pub(crate) fn everything() -> Vec<Source> {
    let mut all = Vec::new();
    for folder in ["crates", "examples"] {
        all.extend(sources(folder).into_iter().map(|source| Source {
            path: format!("{folder}/{}", source.path),
            ..source
        }));
    }
    all
}
