//! What makes a frame small enough: texts that are cut, and lists of which the first rows are sent.
//!
//! In: texts and rows of any length. Out: as much of them as goes into so many bytes of JSON. Not here: how many bytes each
//! part of a frame gets (`frame.rs`, `detail.rs`).

use serde::Serialize;
use std::borrow::Cow;

/// The text, or its beginning with an ellipsis if it takes more than so many bytes as JSON. (There a quote takes two bytes and a
/// control character six.)
pub(crate) fn clip(text: &str, bytes: usize) -> Cow<'_, str> {
    let size = |letter: char| match letter {
        '"' | '\\' | '\n' | '\r' | '\t' => 2,
        '\u{0}'..'\u{20}' => 6,
        other => other.len_utf8(),
    };
    let room = bytes.saturating_sub('…'.len_utf8());
    let (mut all, mut kept) = (0, 0);
    for (at, letter) in text.char_indices() {
        all += size(letter);
        if all <= room {
            kept = at + letter.len_utf8();
        }
        if all > bytes {
            return Cow::Owned(format!("{}…", &text[..kept]));
        }
    }
    Cow::Borrowed(text)
}

/// As many of the first rows as go into so many bytes. False: not all do.
pub(crate) fn fit<T: Serialize>(rows: &mut Vec<T>, bytes: usize) -> bool {
    let mut left = bytes;
    let fits = |row: &T| {
        let size = crate::frame::json(row).len() + 1;
        left.checked_sub(size).inspect(|rest| left = *rest).is_some()
    };
    let number = rows.iter().map(fits).take_while(|fits| *fits).count();
    let all = number == rows.len();
    rows.truncate(number);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_takes_no_more_bytes_than_it_may() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("shorter", 6), "sho…");
        for text in [
            "\u{1}\u{2}\u{3}\u{4}\u{5}",
            "\"\\\"\\\"\\\"\\\"",
            "äöüäöüäöüäöü",
            "🦀🦀🦀🦀🦀",
            "plain and long enough",
        ] {
            for bytes in 3..40 {
                let clipped = clip(text, bytes);
                let written = serde_json::to_string(&clipped).unwrap().len() - 2;
                assert!(written <= bytes, "{text:?} in {bytes}: {clipped:?}");
                assert!(clipped == text || clipped.ends_with('…'));
            }
        }
    }

    #[test]
    fn the_first_rows_are_kept_and_none_if_none_fits() {
        let mut rows = vec!["one", "two", "three"];
        assert!(fit(&mut rows, 100));
        assert!(!fit(&mut rows, 12) && rows == ["one", "two"]);
        assert!(!fit(&mut rows, 5) && rows.is_empty());
        assert!(fit(&mut rows, 0));
    }
}
