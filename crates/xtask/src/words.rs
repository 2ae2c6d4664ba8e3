//! Words: which files ask about a feature, banned words, and the size of the documents.

use crate::Measure;
use crate::source::{self, Result, Source};
use std::path::{Path, PathBuf};

/// The features of an engine that files ask about: measure, title, identifiers. `*` stands for anything at that end.
///
/// This is the one place that says which words give a file away. A new word for an old idea belongs here in the commit
/// that brings it in.
#[rustfmt::skip]
const QUESTIONS: [(&str, &str, &str); 5] = [
    ("ask-levels", "files that ask about levels", "levels *_levels levels_* *levelled LEVELLED"),
    ("ask-deques", "files that ask about deques",
        "*deque* Deque* *locals Local* *queued_local is_local* *locally* *steal* stolen Stolen"),
    ("ask-forks", "files that ask about forks", "*forked Forked"),
    ("ask-views", "files that ask about views", "*viewed* *_view"),
    ("ask-futures", "files that ask about futures", "future futures *_future*"),
];

/// Words whose subject is a person, in two pieces so that this file does not use them. Two words are a phrase.
const BANNED: [&str; 6] = [
    concat!("who", "ever"),
    concat!("some", "body"),
    concat!("no", "body"),
    concat!("any", "body"),
    concat!("who com", "es"),
    concat!("h", "e"),
];

/// What follows this mark in a document is written by a test, and not kept by hand.
const GENERATED: &str = "<!-- generated -->";

/// Documents with a limit of their own.
const LIMITED: [(&str, &str, &str); 2] = [
    (
        "architecture-lines",
        "lines of ARCHITECTURE.md",
        "ARCHITECTURE.md",
    ),
    ("readme-lines", "lines of README.md", "README.md"),
];

/// The files of the core that ask about each feature.
pub(crate) fn questions(sources: &[Source]) -> Vec<Measure> {
    let mut measures = Vec::new();
    for (name, title, patterns) in QUESTIONS {
        let mut places = Vec::new();
        for source in sources {
            let asks = |word: &&str| patterns.split(' ').any(|pattern| matches(pattern, word));
            let words: Vec<&str> = source.words.iter().map(String::as_str).filter(asks).collect();
            if !words.is_empty() {
                places.push(format!("{}: {}", source.path, words.join(", ")));
            }
        }
        measures.push(Measure::count(name, title, places));
    }
    measures
}

fn matches(pattern: &str, word: &str) -> bool {
    let inner = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        (false, false) => word == inner,
        (false, true) => word.starts_with(inner),
        (true, false) => word.ends_with(inner),
        (true, true) => word.contains(inner),
    }
}

/// The measures of documents, and banned words in documents and sources.
pub(crate) fn documents(root: &Path) -> Result<Vec<Measure>> {
    let is_document = |path: &PathBuf| path.parent() == Some(root) || path.starts_with(root.join("docs"));
    let texts = source::files_below(root, &["css", "html", "java", "js", "md", "rs", "toml"])?;
    let (mut words, mut banned, mut places) = (0, Vec::new(), Vec::new());
    for path in texts {
        let text = source::read(&path)?;
        let name = source::relative(root, &path);
        banned.extend(banned_in(&name, &text));
        if is_document(&path) && name.ends_with(".md") {
            let by_hand = text.split(GENERATED).next().unwrap_or_default();
            let count = by_hand.split_whitespace().count();
            words += count;
            places.push(format!("{name}: {count}"));
        }
    }
    let mut measures = vec![
        Measure::new(
            "document-words",
            "hand-kept documents, words",
            words as f64,
            places,
        ),
        Measure::count("banned-words", "banned words", banned),
    ];
    for (name, title, file) in LIMITED {
        let lines = source::read(&root.join(file))?.lines().count();
        measures.push(Measure::new(name, title, lines as f64, vec![file.to_owned()]));
    }
    let rules = lock_rules(&source::read(&root.join("ARCHITECTURE.md"))?);
    measures.push(Measure::count("lock-rules", "order rules between locks", rules));
    Ok(measures)
}

/// One place for each banned word.
fn banned_in(name: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let words: Vec<&str> = line
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
            .collect();
        let pairs = words.windows(2).map(|pair| pair.join(" "));
        let all = words.iter().map(|word| (*word).to_owned()).chain(pairs);
        let hits = all.filter(|word| BANNED.contains(&word.as_str()));
        found.extend(hits.map(|word| format!("{name}:{}: {word}", index + 1)));
    }
    found
}

/// The list items of the section on locks.
fn lock_rules(architecture: &str) -> Vec<String> {
    let section = architecture
        .lines()
        .skip_while(|line| *line != "## Locks")
        .skip(1);
    let items = section
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| line.strip_prefix("- "));
    items.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_whole_identifiers_and_ends() {
        assert!(matches("*forked", "is_forked") && !matches("*forked", "forked_child"));
        assert!(matches("levels", "levels") && !matches("levels", "level"));
        assert!(matches("*steal*", "next_or_steal_one"));
    }

    #[test]
    fn banned_words_are_whole_words_and_phrases() {
        let text = format!(
            "the thread\n// {} it, {} first: {}_waits",
            BANNED[0].to_uppercase(),
            BANNED[4],
            BANNED[2]
        );
        assert_eq!(banned_in("a.rs", &text).len(), 3);
        assert_eq!(
            banned_in("a.rs", &format!("t{0} {0}", BANNED[5])),
            [format!("a.rs:1: {}", BANNED[5])]
        );
    }

    #[test]
    fn rules_are_the_items_of_one_section() {
        assert_eq!(
            lock_rules("## A\n- x\n## Locks\n\n- a before b:\n  why\n- c\n## B\n- y"),
            ["a before b:", "c"]
        );
    }
}
