//! [`Problem`]: what is wrong in a file, where, and how to mend it.
//!
//! In: bytes of the text. Out: `file:line:column` and a code. Codes stay; texts may change. `E` is an error, `W` is allowed
//! and often a mistake.

use std::fmt;
use std::ops::Range;

/// How much it matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Weight {
    /// Nothing of the file is run.
    Error,
    /// Said, and run all the same.
    Warning,
}

/// One thing that is wrong.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) code: &'static str,
    pub(crate) what: String,
    /// How to mend it.
    pub(crate) help: String,
    /// Where, as bytes of the text; nothing for the file as a whole.
    pub(crate) bytes: Option<Range<usize>>,
}

impl Problem {
    pub(crate) fn weight(&self) -> Weight {
        if self.code.starts_with('E') {
            Weight::Error
        } else {
            Weight::Warning
        }
    }
}

/// A text and where its lines begin.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// As the user named it.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// A place for people: both count from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Source {
    pub(crate) fn place(&self, byte: usize) -> Place {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
        }
    }

    fn line(&self, number: usize) -> &str {
        self.text.lines().nth(number - 1).unwrap_or_default()
    }

    /// A problem as text: message, place, the line with a mark under it, help.
    pub(crate) fn show(&self, problem: &Problem, paint: bool) -> String {
        Shown {
            source: self,
            problem,
            paint,
        }
        .to_string()
    }
}

struct Shown<'a> {
    source: &'a Source,
    problem: &'a Problem,
    paint: bool,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shown {
            source,
            problem,
            paint,
        } = self;
        let (word, colour) = match problem.weight() {
            Weight::Error => ("error", "\x1b[1;31m"),
            Weight::Warning => ("warning", "\x1b[1;33m"),
        };
        let (on, off) = if *paint { (colour, "\x1b[0m") } else { ("", "") };
        writeln!(f, "{on}{word}[{}]{off}: {}", problem.code, problem.what)?;
        match &problem.bytes {
            Some(bytes) => {
                let place = source.place(bytes.start);
                writeln!(f, "  --> {}:{}:{}", source.name, place.line, place.column)?;
                // A line that is longer than a screen helps nobody.
                let line: String = source.line(place.line).chars().take(160).collect();
                let width = source.text.get(bytes.clone()).map_or(1, |text| {
                    let first = text.lines().next().unwrap_or_default();
                    first.chars().count().clamp(1, 80)
                });
                if place.column <= 160 && !line.trim().is_empty() {
                    let number = place.line.to_string();
                    let pad = " ".repeat(number.len());
                    writeln!(f, "{number} | {line}")?;
                    let indent: String = line
                        .chars()
                        .take(place.column - 1)
                        .map(|c| if c == '\t' { '\t' } else { ' ' })
                        .collect();
                    writeln!(f, "{pad} | {indent}{on}{}{off}", "^".repeat(width))?;
                }
            }
            None => writeln!(f, "  --> {}", source.name)?,
        }
        writeln!(f, "  help: {}", problem.help)
    }
}

/// The one that was probably meant.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let distance = |name: &str| strsim::damerau_levenshtein(&word.to_lowercase(), &name.to_lowercase());
    let scored = known.into_iter().map(|name| (distance(name), name));
    scored
        .filter(|(distance, name)| *distance <= 1 + name.chars().count().max(word.chars().count()) / 4)
        .min()
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let source = Source {
            name: "x.toml".to_owned(),
            text: "a = 1\n\u{e9}\u{e9} = 2\n".to_owned(),
        };
        for (byte, line, column) in [
            (0, 1, 1),
            (4, 1, 5),
            (6, 2, 1),
            (8, 2, 2),
            (9, 2, 2),
            (10, 2, 3),
            (99, 3, 1),
        ] {
            assert_eq!(source.place(byte), Place { line, column }, "{byte}");
        }
    }

    #[test]
    fn the_nearest_key_is_near() {
        let known = ["timeout", "retries", "after", "env"];
        assert_eq!(nearest("timout", known), Some("timeout"));
        assert_eq!(nearest("retry", known), None);
        assert_eq!(nearest("Retires", known), Some("retries"));
        assert_eq!(nearest("evn", known), Some("env"));
        assert_eq!(nearest("banana", known), None);
    }

    #[test]
    fn a_problem_shows_its_line_and_a_mark() {
        let source = Source {
            name: "x.toml".to_owned(),
            text: "[task.a]\nsleeep = \"1s\"\n".to_owned(),
        };
        let problem = Problem {
            code: "E010",
            what: "there is no key \"sleeep\"".to_owned(),
            help: "did you mean \"sleep\"?".to_owned(),
            bytes: Some(9..15),
        };
        let shown = source.show(&problem, false);
        let expected = "error[E010]: there is no key \"sleeep\"\n  --> x.toml:2:1\n2 | sleeep = \"1s\"\n  | ^^^^^^\n  help: did you mean \"sleep\"?\n";
        assert_eq!(shown, expected);
        assert!(source.show(&problem, true).contains("\x1b["));
    }
}
