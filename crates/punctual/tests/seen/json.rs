//! A strict reader of JSON, for texts that the library writes by hand.

use std::collections::BTreeMap;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(BTreeMap<String, Json>),
}

impl Json {
    /// Fails with the place of the first thing that is not JSON.
    pub(crate) fn read(text: &str) -> Json {
        let mut reader = Reader {
            bytes: text.as_bytes(),
            at: 0,
        };
        let value = reader.value();
        assert_eq!(reader.at, text.len(), "something follows: {:?}", reader.rest());
        value
    }

    /// A field of an object.
    pub(crate) fn get(&self, name: &str) -> &Json {
        match self {
            Json::Object(fields) => fields
                .get(name)
                .unwrap_or_else(|| panic!("no {name} in {fields:?}")),
            other => panic!("{name} of {other:?}"),
        }
    }

    pub(crate) fn list(&self) -> &[Json] {
        match self {
            Json::List(items) => items,
            other => panic!("a list: {other:?}"),
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Json::Text(text) => text,
            other => panic!("a text: {other:?}"),
        }
    }

    pub(crate) fn number(&self) -> f64 {
        match self {
            Json::Number(number) => *number,
            other => panic!("a number: {other:?}"),
        }
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> String {
        let end = self.bytes.len().min(self.at + 40);
        String::from_utf8_lossy(&self.bytes[self.at.min(end)..end]).into_owned()
    }

    fn next(&self) -> u8 {
        *self.bytes.get(self.at).expect("more text")
    }

    fn eat(&mut self, word: &str) {
        assert!(
            self.bytes[self.at..].starts_with(word.as_bytes()),
            "{word} at {:?}",
            self.rest()
        );
        self.at += word.len();
    }

    fn value(&mut self) -> Json {
        match self.next() {
            b'n' => {
                self.eat("null");
                Json::Null
            }
            b't' => {
                self.eat("true");
                Json::Bool(true)
            }
            b'f' => {
                self.eat("false");
                Json::Bool(false)
            }
            b'"' => Json::Text(self.text()),
            b'[' => Json::List(self.items(b'[', b']', Self::value)),
            b'{' => {
                let fields = self.items(b'{', b'}', |reader| {
                    let name = reader.text();
                    reader.eat(":");
                    (name, reader.value())
                });
                let count = fields.len();
                let fields: BTreeMap<String, Json> = fields.into_iter().collect();
                assert_eq!(fields.len(), count, "a name twice: {fields:?}");
                Json::Object(fields)
            }
            _ => Json::Number(self.number()),
        }
    }

    fn items<T>(&mut self, open: u8, close: u8, item: impl Fn(&mut Self) -> T) -> Vec<T> {
        assert_eq!(self.next(), open);
        self.at += 1;
        let mut items = Vec::new();
        if self.next() == close {
            self.at += 1;
            return items;
        }
        loop {
            items.push(item(self));
            let next = self.next();
            self.at += 1;
            if next == close {
                return items;
            }
            assert_eq!(next, b',', "before {:?}", self.rest());
        }
    }

    fn number(&mut self) -> f64 {
        let is_part = |byte: &&u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
        let length = self.bytes[self.at..].iter().take_while(is_part).count();
        let text = std::str::from_utf8(&self.bytes[self.at..self.at + length]).unwrap();
        let digits = text.trim_start_matches('-');
        assert!(!digits.starts_with('.') && !digits.ends_with('.'), "{text}");
        assert!(
            digits == "0" || digits.starts_with("0.") || !digits.starts_with('0'),
            "{text}"
        );
        self.at += length;
        text.parse().unwrap_or_else(|_| panic!("a number: {text:?}"))
    }

    fn text(&mut self) -> String {
        self.eat("\"");
        let mut text = Vec::new();
        loop {
            let byte = self.next();
            self.at += 1;
            match byte {
                b'"' => return String::from_utf8(text).expect("valid text"),
                b'\\' => self.escape(&mut text),
                0..=0x1f => panic!("a bare control character before {:?}", self.rest()),
                _ => text.push(byte),
            }
        }
    }

    fn escape(&mut self, text: &mut Vec<u8>) {
        let byte = self.next();
        self.at += 1;
        match byte {
            b'"' | b'\\' | b'/' => text.push(byte),
            b'n' => text.push(b'\n'),
            b'r' => text.push(b'\r'),
            b't' => text.push(b'\t'),
            b'u' => {
                let digits = std::str::from_utf8(&self.bytes[self.at..self.at + 4]).unwrap();
                let code = u32::from_str_radix(digits, 16).expect("four digits");
                self.at += 4;
                let each = char::from_u32(code).expect("no half of a pair");
                text.extend(each.to_string().as_bytes());
            }
            other => panic!("an escape: {other}"),
        }
    }
}
