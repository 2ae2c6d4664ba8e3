//! [`Section`]: one table of the file, read key by key.
//!
//! In: a table as parsed, with places. Out: values of the kinds this program knows; whatever is wrong becomes a
//! [`Problem`] with its place, and reading goes on, so that one look shows everything. What nobody asked for is an unknown
//! key, and the nearest known one is named.

use super::problem::{Problem, nearest};
use super::units;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ops::{Range, RangeInclusive};
use std::time::Duration;
use toml_edit::{Item, TableLike, Value};

/// What was found, in the order it was found.
pub(crate) type Problems = RefCell<Vec<Problem>>;

/// Words from elsewhere, and what they are called here.
const ELSEWHERE: [(&str, &str); 20] = [
    ("command", "run"),
    ("cmd", "run"),
    ("argv", "run"),
    ("exec", "run"),
    ("script", "shell"),
    ("needs", "after"),
    ("depends", "after"),
    ("depends_on", "after"),
    ("dir", "cwd"),
    ("directory", "cwd"),
    ("retry", "retries"),
    ("deadline", "timeout"),
    ("time_limit", "timeout"),
    ("tz", "zone"),
    ("timezone", "zone"),
    ("interval", "every"),
    ("misfire", "missed"),
    ("workers", "threads"),
    ("capacity", "queue"),
    ("concurrency", "threads"),
];

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) bytes: Option<Range<usize>>,
}

/// One table.
pub(crate) struct Section<'a> {
    /// As the user wrote it: `task.build`.
    pub(crate) name: String,
    table: &'a dyn TableLike,
    /// Where the section's name stands.
    pub(crate) bytes: Option<Range<usize>>,
    problems: &'a Problems,
    asked: RefCell<Vec<&'static str>>,
}

impl<'a> Section<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        table: &'a dyn TableLike,
        bytes: Option<Range<usize>>,
        problems: &'a Problems,
    ) -> Self {
        Section {
            name: name.into(),
            table,
            bytes,
            problems,
            asked: RefCell::default(),
        }
    }

    pub(crate) fn problem(
        &self,
        code: &'static str,
        bytes: Option<Range<usize>>,
        what: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.problems.borrow_mut().push(Problem {
            code,
            what: what.into(),
            help: help.into(),
            bytes: bytes.or_else(|| self.bytes.clone()),
        });
    }

    /// The value of a key, which is known from now on.
    fn item(&self, key: &'static str) -> Option<&'a Item> {
        self.asked.borrow_mut().push(key);
        self.table.get(key).filter(|item| !item.is_none())
    }

    pub(crate) fn has(&self, key: &'static str) -> bool {
        self.item(key).is_some()
    }

    /// Whether a key has a text; where it may also have something else.
    pub(crate) fn is_text(&self, key: &'static str) -> bool {
        self.item(key).is_some_and(|item| item.as_str().is_some())
    }

    /// Where a key stands.
    pub(crate) fn key_bytes(&self, key: &str) -> Option<Range<usize>> {
        self.table.key(key).and_then(|key| key.span())
    }

    fn wrong_kind(&self, key: &str, item: &Item, wanted: &str, example: &str) {
        let article = match item.type_name() {
            kind @ ("array" | "integer" | "inline table") => format!("an {kind}"),
            "array of tables" => "an array of tables".to_owned(),
            kind => format!("a {kind}"),
        };
        self.problem(
            "E011",
            item.span().or_else(|| self.key_bytes(key)),
            format!("{key} in [{}] is {article}; it has to be {wanted}", self.name),
            format!("for example: {key} = {example}"),
        );
    }

    fn wrong_value(&self, key: &str, item: &Item, what: impl Into<String>, help: impl Into<String>) {
        self.problem(
            "E012",
            item.span(),
            format!("{key} in [{}]: {}", self.name, what.into()),
            help,
        );
    }

    pub(crate) fn text(&self, key: &'static str, example: &str) -> Option<Spanned<String>> {
        let item = self.item(key)?;
        match item.as_str() {
            // No command, path or variable can have it.
            Some(text) if text.contains('\0') => {
                self.wrong_value(key, item, "a zero byte", "leave it out");
                None
            }
            Some(text) => Some(Spanned {
                value: text.to_owned(),
                bytes: item.span(),
            }),
            None => {
                self.wrong_kind(key, item, "text", example);
                None
            }
        }
    }

    pub(crate) fn flag(&self, key: &'static str) -> Option<bool> {
        let item = self.item(key)?;
        let flag = item.as_bool();
        if flag.is_none() {
            self.wrong_kind(key, item, "true or false", "true");
        }
        flag
    }

    pub(crate) fn duration(&self, key: &'static str) -> Option<Duration> {
        let item = self.item(key)?;
        let Some(text) = item.as_str() else {
            self.wrong_kind(key, item, "a duration, as text", "\"30s\"");
            return None;
        };
        match units::duration(text) {
            Ok(duration) => Some(duration),
            Err(error) => {
                self.wrong_value(key, item, error, "for example: \"30s\"");
                None
            }
        }
    }

    /// A duration that is not nothing.
    pub(crate) fn positive(&self, key: &'static str) -> Option<Duration> {
        let duration = self.duration(key)?;
        if duration.is_zero() {
            let item = self.item(key)?;
            self.wrong_value(key, item, "0 is not possible", "leave the key out, or give more");
            return None;
        }
        Some(duration)
    }

    pub(crate) fn size(&self, key: &'static str) -> Option<usize> {
        let item = self.item(key)?;
        let text = match (item.as_str(), item.as_integer()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(number)) => number.to_string(),
            _ => {
                self.wrong_kind(key, item, "a size", "\"64kB\"");
                return None;
            }
        };
        match units::bytes(&text) {
            Ok(size) => Some(size),
            Err(error) => {
                self.wrong_value(key, item, error, "for example: \"64kB\"");
                None
            }
        }
    }

    pub(crate) fn count(&self, key: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let item = self.item(key)?;
        let Some(number) = item.as_integer() else {
            self.wrong_kind(key, item, "a whole number", &range.start().to_string());
            return None;
        };
        let found = u64::try_from(number).ok().filter(|number| range.contains(number));
        if found.is_none() {
            self.wrong_value(
                key,
                item,
                format!("{number} is not between {} and {}", range.start(), range.end()),
                "give a number in that range",
            );
        }
        found
    }

    /// A date and time, as TOML has them or as text.
    pub(crate) fn moment(&self, key: &'static str) -> Option<(String, Option<Range<usize>>)> {
        let item = self.item(key)?;
        let text = match (item.as_str(), item.as_datetime()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(moment)) => moment.to_string(),
            _ => {
                self.wrong_kind(key, item, "a date and time", "\"2027-01-01T09:00\"");
                return None;
            }
        };
        Some((text, item.span()))
    }

    /// A number from 0 to 1.
    pub(crate) fn ratio(&self, key: &'static str) -> Option<f64> {
        let item = self.item(key)?;
        let number = item
            .as_float()
            .or_else(|| item.as_integer().map(|number| number as f64));
        let Some(number) = number else {
            self.wrong_kind(key, item, "a number from 0 to 1", "0.2");
            return None;
        };
        let found = Some(number).filter(|number| (0.0..=1.0).contains(number));
        if found.is_none() {
            self.wrong_value(
                key,
                item,
                format!("{number} is not between 0 and 1"),
                "give a part of one, as in 0.2",
            );
        }
        found
    }

    /// One of a few words.
    pub(crate) fn word<T: Copy>(&self, key: &'static str, words: &[(&str, T)]) -> Option<T> {
        let names = || words.iter().map(|(name, _)| *name);
        let text = self.text(key, &format!("{:?}", names().next().unwrap_or_default()))?;
        let found = words.iter().find(|(name, _)| *name == text.value);
        if found.is_none() {
            let meant = nearest(&text.value, names()).map(|name| format!("did you mean {name:?}? "));
            self.problem(
                "E012",
                text.bytes,
                format!("{key} in [{}]: there is no {:?}", self.name, text.value),
                format!(
                    "{}there are: {}",
                    meant.unwrap_or_default(),
                    names().collect::<Vec<_>>().join(", ")
                ),
            );
        }
        found.map(|(_, value)| *value)
    }

    /// A list of texts, or one text.
    pub(crate) fn texts(&self, key: &'static str, example: &str) -> Option<Vec<Spanned<String>>> {
        let item = self.item(key)?;
        if let (Some(text), "after") = (item.as_str(), key) {
            return Some(vec![Spanned {
                value: text.to_owned(),
                bytes: item.span(),
            }]);
        }
        let Some(array) = item.as_array() else {
            self.wrong_kind(key, item, "a list of texts", example);
            return None;
        };
        let mut texts = Vec::new();
        for value in array {
            match value.as_str() {
                Some(text) if !text.contains('\0') => texts.push(Spanned {
                    value: text.to_owned(),
                    bytes: value.span(),
                }),
                _ => {
                    self.problem(
                        "E011",
                        value.span(),
                        format!(
                            "{key} in [{}] holds {}; it has to hold texts without zero bytes",
                            self.name,
                            kind_of(value)
                        ),
                        format!("for example: {key} = {example}"),
                    );
                    return None;
                }
            }
        }
        Some(texts)
    }

    /// A list of whole numbers.
    pub(crate) fn numbers(&self, key: &'static str, example: &str) -> Option<Vec<u32>> {
        let item = self.item(key)?;
        let numbers = item.as_array().map(|array| {
            let numbers = array.iter().map(|value| u32::try_from(value.as_integer()?).ok());
            numbers.collect::<Option<Vec<u32>>>()
        });
        match numbers {
            Some(Some(numbers)) => Some(numbers),
            _ => {
                self.wrong_kind(key, item, "a list of whole numbers", example);
                None
            }
        }
    }

    /// A table of texts.
    pub(crate) fn environment(&self, key: &'static str) -> BTreeMap<String, String> {
        let mut found = BTreeMap::new();
        let Some(item) = self.item(key) else {
            return found;
        };
        let Some(table) = item.as_table_like() else {
            self.wrong_kind(key, item, "a table of texts", "{ LANG = \"C\" }");
            return found;
        };
        for (name, value) in table.iter() {
            let place = value
                .span()
                .or_else(|| table.key(name).and_then(|key| key.span()));
            let Some(text) = value.as_str() else {
                self.problem(
                    "E011",
                    place,
                    format!("{key}.{name} in [{}] has to be text", self.name),
                    format!("for example: {name} = \"1\""),
                );
                continue;
            };
            if name.is_empty() || name.contains(['=', '\0']) || text.contains('\0') {
                self.problem(
                    "E012",
                    place,
                    format!("{key} in [{}]: {name:?} = {text:?} is no variable", self.name),
                    "a name without '=', and no zero bytes",
                );
                continue;
            }
            found.insert(name.to_owned(), text.to_owned());
        }
        found
    }

    /// The table inside, as a section of its own.
    pub(crate) fn inner(&self, key: &'static str) -> Option<Section<'a>> {
        let item = self.item(key)?;
        let Some(table) = item.as_table_like() else {
            self.wrong_kind(key, item, "a table", "{ .. }");
            return None;
        };
        let name = if self.name.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.name)
        };
        let bytes = self.key_bytes(key).or_else(|| item.span());
        Some(Section::new(name, table, bytes, self.problems))
    }

    /// As [`Section::inner`], for somebody who reads it once more.
    pub(crate) fn inner_quietly(&self, key: &'static str, problems: &'a Problems) -> Option<Section<'a>> {
        let table = self.item(key)?.as_table_like()?;
        Some(Section::new(key, table, None, problems))
    }

    /// The tables inside a table of tables, each under its name: `[task.a]`, `[task.b]`.
    pub(crate) fn named(&self, key: &'static str) -> Vec<(String, Section<'a>)> {
        let Some(outer) = self.inner(key) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (name, item) in outer.table.iter() {
            let bytes = outer.key_bytes(name).or_else(|| item.span());
            let Some(table) = item.as_table_like() else {
                self.problem(
                    "E011",
                    bytes,
                    format!("{key}.{name} has to be a table"),
                    format!("write [{key}.{name}] on a line of its own, and the keys below"),
                );
                continue;
            };
            if name.is_empty() || name.chars().any(char::is_control) {
                self.problem(
                    "E012",
                    bytes.clone(),
                    format!("{name:?} is no name for a {key}"),
                    "give it a name that can be printed",
                );
                continue;
            }
            let section = Section::new(format!("{key}.{name}"), table, bytes, self.problems);
            found.push((name.to_owned(), section));
        }
        found
    }

    /// Whatever nobody has asked for is not known.
    pub(crate) fn finish(&self) {
        let known = self.asked.borrow();
        for (name, _) in self.table.iter().filter(|(name, _)| !known.contains(name)) {
            let elsewhere = ELSEWHERE
                .iter()
                .find(|(word, here)| *word == name && known.contains(here));
            let meant = elsewhere
                .map(|(_, here)| *here)
                .or_else(|| nearest(name, known.iter().copied()));
            let mut all: Vec<&str> = known.clone();
            all.sort_unstable();
            all.dedup();
            let place = if self.name.is_empty() {
                "the file".to_owned()
            } else {
                format!("[{}]", self.name)
            };
            let help = match meant {
                Some(meant) => format!("did you mean {meant:?}?"),
                None => format!("there are: {}", all.join(", ")),
            };
            self.problem(
                "E010",
                self.key_bytes(name),
                format!("there is no key {name:?} in {place}"),
                help,
            );
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value.type_name() {
        "integer" => "an integer",
        "array" => "an array",
        "inline table" => "an inline table",
        "string" => "a text with a zero byte",
        "float" => "a float",
        "boolean" => "a boolean",
        _ => "something else",
    }
}
