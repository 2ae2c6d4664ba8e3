//! House rules that a compiler does not hold: the map, the list of unsafe files, the direction of imports, and that
//! documents name tests that exist. Each test reads the sources as text and names every line that breaks its rule.

/// The generated table of ids and tests.
#[path = "tidy/conformance.rs"]
mod conformance;
/// What the documents say, held against the sources.
#[path = "tidy/documents.rs"]
mod documents;
/// The generated list of promises and tests.
#[path = "tidy/promises.rs"]
mod promises;
/// The sources as text.
#[path = "tidy/sources.rs"]
mod sources;

use sources::{everything, leaves, library, product, read};
use std::collections::{BTreeMap, BTreeSet};

fn must_be_empty(rule: &str, broken: &[String]) {
    assert!(broken.is_empty(), "{rule}:\n  {}", broken.join("\n  "));
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
const DOOR_EXCEPTIONS: [(&str, &str, &str); 4] = [
    (
        "global.rs",
        "std::sync::{Mutex, MutexGuard, OnceLock, PoisonError}",
        "two pools of a process, made once; the models have none",
    ),
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

/// The files in which a thread sleeps, what for, and in how many places. Inside a task of theirs workers sleep nowhere else.
const SLEEPS: [(&str, &str, usize); 13] = [
    ("executor/spawn.rs", "a future that its caller drives", 1),
    ("handle/group.rs", "the next outcome of a group", 1),
    ("handle/scope.rs", "the brace of a scope", 1),
    ("handle/wait.rs", "joins", 3),
    ("pool/keeper.rs", "the keeper, which runs no task", 1),
    ("pool/lanes.rs", "the end of a lane; a slot for a scoped task", 1),
    (
        "pool/life.rs",
        "the end of a pool, on a worker and elsewhere, and its quiet",
        2,
    ),
    (
        "pool/line.rs",
        "room in the queue: Block, submit_timeout, all, any",
        1,
    ),
    ("pool/repeating/handle.rs", "the end of a schedule", 1),
    ("task/current.rs", "task::sleep", 1),
    ("task/parker.rs", "a future that a worker drives inside a task", 1),
    (
        "time/wait.rs",
        "the one way to sleep itself, on a manual clock",
        1,
    ),
    ("worker/rest.rs", "a worker without a task", 1),
];

#[test]
fn nobody_waits_but_where_it_is_said() {
    let mut broken = Vec::new();
    for source in product().iter().filter(|source| !source.path.starts_with("sync")) {
        let sleeps = [".wait(&wait", "clock.wait(wait,", "manual.wait("];
        let is_sleep = |line: &str| sleeps.iter().any(|sleep| line.contains(sleep));
        let found = source.code().filter(|(_, line)| is_sleep(line)).count();
        let said = SLEEPS.iter().find(|(path, ..)| *path == source.path);
        let said = said.map_or(0, |(_, _, places)| *places);
        if found != said {
            broken.push(format!("{}: sleeps in {found} places, not {said}", source.path));
        }
        let others = ["thread::sleep", "thread::park", ".wait_while(", "Condvar"];
        let is_other = |line: &str| others.iter().any(|other| line.contains(other));
        for (number, line) in source.code().filter(|(_, line)| is_other(line)) {
            broken.push(format!("{}:{number}: {}", source.path, line.trim()));
        }
    }
    must_be_empty("a sleep that nobody is told of", &broken);
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

#[test]
fn the_leaf_crates_are_safe_and_read_no_clock_and_know_no_engine() {
    let forbidden = [
        "Instant::now",
        "SystemTime::now",
        "std::thread",
        "Mutex",
        "Condvar",
        "Atomic",
        "use punctual::",
    ];
    let mut broken = Vec::new();
    for source in leaves() {
        if source.path.ends_with("src/lib.rs") && !source.text.contains("#![forbid(unsafe_code)]") {
            broken.push(format!("{}: does not forbid unsafe code", source.path));
        }
        let is_forbidden = |line: &str| forbidden.iter().any(|word| line.contains(word));
        for (number, line) in source.code().filter(|(_, line)| is_forbidden(line)) {
            broken.push(format!("{}:{number}: {}", source.path, line.trim()));
        }
    }
    must_be_empty("a leaf crate is plain data", &broken);
}

#[test]
fn the_core_depends_on_libc_and_a_hash_and_features_on_what_they_are_for() {
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
        (
            "[dependencies]",
            vec![
                "foldhash",
                "punctual-cron",
                "punctual-timer",
                "metrics",
                "tracing",
            ],
        ),
        ("[target.'cfg(unix)'.dependencies]", vec!["libc"]),
        ("[target.'cfg(loom)'.dependencies]", vec!["loom"]),
        ("[target.'cfg(shuttle)'.dependencies]", vec!["shuttle"]),
    ]);
    assert_eq!(found, expected);
    let cron = read("crates/punctual-cron/Cargo.toml");
    for (manifest, name, feature) in [
        (&cron, "jiff", "cron"),
        (&manifest, "metrics", "metrics"),
        (&manifest, "tracing", "tracing"),
    ] {
        let begin = format!("{name} = {{");
        let is_optional = |line: &str| line.starts_with(&begin) && line.contains("optional = true");
        assert!(
            manifest.lines().any(is_optional),
            "{name} belongs to the feature {feature}"
        );
    }
}
