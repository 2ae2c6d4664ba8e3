//! The dashboard's map in ARCHITECTURE.md is exact, and its documents name what is there.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn package() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).to_owned()
}

fn document(name: &str) -> String {
    let path = package().join("../..").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn files(folder: &str) -> Vec<String> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(package().join(folder)).unwrap();
    for entry in entries.map(|entry| entry.unwrap()) {
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found
}

#[test]
fn the_map_of_the_dashboard_names_every_file_and_no_other() {
    let document = document("ARCHITECTURE.md");
    let (_, rest) = document.split_once("\n## The dashboard\n").unwrap();
    let body = rest.split("\n## ").next().unwrap();
    let items = body
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.split_once("`: "));
    let listed: BTreeSet<String> = items.map(|(path, _)| path.to_owned()).collect();
    let there: BTreeSet<String> = [files("src"), files("assets")].concat().into_iter().collect();
    assert_eq!(listed, there);
}

/// Each route of the router is a line of the document, and the other way round.
#[test]
fn the_api_document_names_every_route() {
    let document = document("docs/dashboard-api.md");
    let source = std::fs::read_to_string(package().join("src/routes.rs")).unwrap();
    let mut routes = 0;
    for piece in source.split(".route(").skip(1) {
        let path = piece.split('"').nth(1).unwrap();
        if path.starts_with("/assets/") {
            continue;
        }
        routes += 1;
        let last = path.rsplit('/').next().unwrap();
        let is_named = document.contains(&format!(
            "`{}",
            path.trim_start_matches('/')
                .replace("{pool}", "N")
                .replace("{id}", "M")
        )) || document.contains(&format!("`/{last}`"))
            || document.contains(&format!("/{last}`"));
        assert!(is_named, "{path} is not in docs/dashboard-api.md");
    }
    assert!(routes > 15, "{routes} routes");
}

/// Codes of errors are part of the interface.
#[test]
fn the_api_document_names_every_code() {
    let document = document("docs/dashboard-api.md");
    let sources = [
        "src/access.rs",
        "src/routes.rs",
        "src/routes/input.rs",
        "src/routes/read.rs",
        "src/routes/write.rs",
    ];
    let mut codes = BTreeSet::new();
    for file in sources {
        let text = std::fs::read_to_string(package().join(file)).unwrap();
        for quoted in text.split('"').skip(1).step_by(2) {
            let is_code = quoted.contains('_') && quoted.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            if is_code {
                codes.insert(quoted.to_owned());
            }
        }
    }
    let missing: Vec<_> = codes
        .iter()
        .filter(|code| !document.contains(&format!("`{code}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(codes.len() > 10, "{codes:?}");
}
