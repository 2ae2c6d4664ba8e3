//! JSON, written by hand: small, and the one place that knows how a text is escaped.
//!
//! In: names and values, in order. Out: a text that any parser reads. Objects and lists are closures, so they are closed; a
//! number that JSON does not have (infinite, not a number) is `null`. Not here: reading.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A text being written: the inside of an object or of a list.
pub(crate) struct Json {
    text: String,
    is_empty: bool,
}

/// What can be written as one value.
pub(crate) trait Value {
    fn write(&self, json: &mut Json);
}

impl Json {
    /// One object.
    pub(crate) fn object(fill: impl FnOnce(&mut Json)) -> String {
        let mut json = Json {
            text: String::new(),
            is_empty: true,
        };
        json.within('{', '}', fill);
        json.text
    }

    fn within(&mut self, open: char, close: char, fill: impl FnOnce(&mut Json)) {
        self.text.push(open);
        self.is_empty = true;
        fill(self);
        self.text.push(close);
        self.is_empty = false;
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_empty) {
            self.text.push(',');
        }
    }

    fn key(&mut self, name: &str) {
        self.separate();
        self.string(name);
        self.text.push(':');
    }

    fn string(&mut self, text: &str) {
        self.text.push('"');
        for each in text.chars() {
            match each {
                '"' => self.text.push_str("\\\""),
                '\\' => self.text.push_str("\\\\"),
                '\n' => self.text.push_str("\\n"),
                '\r' => self.text.push_str("\\r"),
                '\t' => self.text.push_str("\\t"),
                // Also what would end a script element, or a line of JavaScript, if somebody puts the text into a page.
                '<' | '>' | '&' | '\u{2028}' | '\u{2029}' | '\0'..='\u{1f}' | '\u{7f}' => {
                    let _ = write!(self.text, "\\u{:04x}", u32::from(each));
                }
                _ => self.text.push(each),
            }
        }
        self.text.push('"');
    }

    /// A field.
    pub(crate) fn field(&mut self, name: &str, value: &(impl Value + ?Sized)) {
        self.key(name);
        value.write(self);
    }

    /// A field that is an object.
    pub(crate) fn object_field(&mut self, name: &str, fill: impl FnOnce(&mut Json)) {
        self.key(name);
        self.within('{', '}', fill);
    }

    /// A field that is a list of objects.
    pub(crate) fn list_field<T>(
        &mut self,
        name: &str,
        items: impl IntoIterator<Item = T>,
        fill: impl Fn(&mut Json, T),
    ) {
        self.key(name);
        self.within('[', ']', |json| {
            for item in items {
                json.separate();
                json.within('{', '}', |json| fill(json, item));
            }
        });
    }

    /// A field that is a list of pairs of numbers.
    pub(crate) fn pairs_field(&mut self, name: &str, pairs: impl IntoIterator<Item = (f64, u64)>) {
        self.key(name);
        self.within('[', ']', |json| {
            for (one, two) in pairs {
                json.separate();
                json.within('[', ']', |json| {
                    json.separate();
                    one.write(json);
                    json.separate();
                    two.write(json);
                });
            }
        });
    }
}

impl Value for str {
    fn write(&self, json: &mut Json) {
        json.string(self);
    }
}

impl Value for String {
    fn write(&self, json: &mut Json) {
        json.string(self);
    }
}

impl Value for bool {
    fn write(&self, json: &mut Json) {
        json.text.push_str(if *self { "true" } else { "false" });
    }
}

macro_rules! whole_numbers {
    ($($type:ty),*) => {$(
        impl Value for $type {
            fn write(&self, json: &mut Json) {
                let _ = write!(json.text, "{self}");
            }
        }
    )*};
}
whole_numbers!(u32, u64, usize, i32);

impl Value for f64 {
    fn write(&self, json: &mut Json) {
        if self.is_finite() {
            let _ = write!(json.text, "{self}");
        } else {
            json.text.push_str("null");
        }
    }
}

/// In seconds.
impl Value for Duration {
    fn write(&self, json: &mut Json) {
        self.as_secs_f64().write(json);
    }
}

/// In seconds since 1970; before that, less than 0.
impl Value for SystemTime {
    fn write(&self, json: &mut Json) {
        match self.duration_since(UNIX_EPOCH) {
            Ok(since) => since.write(json),
            Err(before) => (-before.duration().as_secs_f64()).write(json),
        }
    }
}

impl<T: Value> Value for Option<T> {
    fn write(&self, json: &mut Json) {
        match self {
            Some(value) => value.write(json),
            None => json.text.push_str("null"),
        }
    }
}

impl<T: Value + ?Sized> Value for &T {
    fn write(&self, json: &mut Json) {
        T::write(self, json);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn values_and_their_separators_are_as_json_has_them() {
        let text = Json::object(|json| {
            json.field("name", "web");
            json.field("none", &None::<u64>);
            json.field("yes", &true);
            json.field("seconds", &Duration::from_millis(1500));
            json.field("endless", &f64::INFINITY);
            json.object_field("empty", |_| ());
            json.list_field("list", [1_u64, 2], |json, n| json.field("n", &n));
            json.pairs_field("pairs", [(0.5, 1), (2.0, 3)]);
            json.field("last", &-3);
        });
        assert_eq!(
            text,
            concat!(
                r#"{"name":"web","none":null,"yes":true,"seconds":1.5,"endless":null,"empty":{},"#,
                r#""list":[{"n":1},{"n":2}],"pairs":[[0.5,1],[2,3]],"last":-3}"#
            )
        );
    }

    #[test]
    fn texts_are_escaped_also_for_a_page() {
        let text = Json::object(|json| json.field("a\"\\\n", "</script>\u{1}\u{2028}ü"));
        assert_eq!(
            text,
            "{\"a\\\"\\\\\\n\":\"\\u003c/script\\u003e\\u0001\\u2028ü\"}"
        );
    }
}
