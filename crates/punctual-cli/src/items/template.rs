//! A command with places for the item: `{}` the item, `{.}` without its ending, `{/}` without its folder, `{#}` its number.
//!
//! In: the words of the command line. Out: the words for one item. Items are bytes, as file names are.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(Vec<u8>),
    Item,
    WithoutEnding,
    WithoutFolder,
    Number,
}

const MARKS: [(&[u8], Piece); 4] = [
    (b"{}", Piece::Item),
    (b"{.}", Piece::WithoutEnding),
    (b"{/}", Piece::WithoutFolder),
    (b"{#}", Piece::Number),
];

/// A command, cut at its places.
#[derive(Debug, Clone)]
pub(crate) struct Template {
    words: Vec<Vec<Piece>>,
}

impl Template {
    /// Without any place the item is the last word.
    pub(crate) fn new(words: &[OsString]) -> Self {
        let mut words: Vec<Vec<Piece>> = words.iter().map(|word| cut(word.as_bytes())).collect();
        let is_place = |piece: &Piece| !matches!(piece, Piece::Text(_));
        if !words.iter().flatten().any(is_place) {
            words.push(vec![Piece::Item]);
        }
        Template { words }
    }

    /// The words for one item.
    pub(crate) fn fill(&self, item: &[u8], number: u64) -> Vec<OsString> {
        let word = |pieces: &Vec<Piece>| {
            let mut word = Vec::new();
            for piece in pieces {
                match piece {
                    Piece::Text(text) => word.extend_from_slice(text),
                    Piece::Item => word.extend_from_slice(item),
                    Piece::WithoutEnding => word.extend_from_slice(without_ending(item)),
                    Piece::WithoutFolder => word.extend_from_slice(without_folder(item)),
                    Piece::Number => word.extend_from_slice(number.to_string().as_bytes()),
                }
            }
            OsString::from_vec(word)
        };
        self.words.iter().map(word).collect()
    }
}

fn cut(word: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut text = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.first() {
        match MARKS.iter().find(|(mark, _)| rest.starts_with(mark)) {
            Some((mark, piece)) => {
                if !text.is_empty() {
                    pieces.push(Piece::Text(std::mem::take(&mut text)));
                }
                pieces.push(piece.clone());
                rest = &rest[mark.len()..];
            }
            None => {
                text.push(*first);
                rest = &rest[1..];
            }
        }
    }
    if !text.is_empty() || pieces.is_empty() {
        pieces.push(Piece::Text(text));
    }
    pieces
}

/// `a/b.tar.gz` is `a/b.tar`; a leading dot and the dots of folders are no ending.
fn without_ending(item: &[u8]) -> &[u8] {
    let name = without_folder(item);
    let front = item.len() - name.len();
    match name.iter().rposition(|byte| *byte == b'.') {
        Some(dot) if dot > 0 => &item[..front + dot],
        _ => item,
    }
}

fn without_folder(item: &[u8]) -> &[u8] {
    match item.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => &item[slash + 1..],
        None => item,
    }
}

/// An item for people.
pub(crate) fn shown(item: &[u8]) -> String {
    let text = OsStr::from_bytes(item).to_string_lossy();
    let short: String = text.chars().take(80).collect();
    format!("{short:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(words: &[&str], item: &str) -> Vec<String> {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        let filled = Template::new(&words).fill(item.as_bytes(), 7);
        filled
            .into_iter()
            .map(|word| word.into_string().unwrap())
            .collect()
    }

    #[test]
    fn places_are_filled_everywhere() {
        let words = ["cp", "{}", "x{.}y", "{/}", "{#}-{#}", "{?}", "}{"];
        let expected = ["cp", "a/b.tar.gz", "xa/b.tary", "b.tar.gz", "7-7", "{?}", "}{"];
        assert_eq!(filled(&words, "a/b.tar.gz"), expected);
    }

    #[test]
    fn without_a_place_the_item_comes_last() {
        assert_eq!(filled(&["rm", "-f"], "a b"), ["rm", "-f", "a b"]);
    }

    #[test]
    fn endings_are_those_of_the_name() {
        for (item, expected) in [
            ("a.b/c", "a.b/c"),
            (".bashrc", ".bashrc"),
            ("x.", "x"),
            ("", ""),
            ("d/.x.y", "d/.x"),
        ] {
            assert_eq!(filled(&["{.}"], item), [expected], "{item}");
        }
    }

    #[test]
    fn items_need_not_be_utf_8() {
        let words = [OsString::from("{}!")];
        assert_eq!(Template::new(&words).fill(b"\xff", 1)[0].as_bytes(), b"\xff!");
    }
}
