//! [`Capture`]: what a task wrote, as much of it as is wanted: the beginning and the end.
//!
//! An endless writer costs its cap and no more: the first half of the cap is kept as it came, the second half is a ring of
//! the last bytes.

use super::Sink;
use std::collections::VecDeque;

/// Standard output and standard error, as they came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Capture {
    cap: usize,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    total: u64,
}

impl Capture {
    pub(crate) fn new(cap: usize) -> Self {
        Capture {
            cap,
            ..Capture::default()
        }
    }

    /// How much was written.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// How much of it is not here.
    pub(crate) fn left_out(&self) -> u64 {
        self.total - (self.head.len() + self.tail.len()) as u64
    }

    /// As text; whatever is not UTF-8 becomes a sign that says so, and control characters cannot reach a terminal.
    pub(crate) fn text(&self) -> String {
        let (first, second) = self.tail.as_slices();
        let tail = [first, second].concat();
        let text = if self.left_out() == 0 {
            clean(&[&self.head[..], &tail].concat())
        } else {
            let left_out = self.left_out();
            format!(
                "{}\n[.. {left_out} bytes left out ..]\n{}",
                clean(&self.head),
                clean(&tail)
            )
        };
        text.trim_end().to_owned()
    }
}

fn clean(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let harmless = |c: char| {
        if c.is_control() && !matches!(c, '\n' | '\t') {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.replace("\r\n", "\n").chars().map(harmless).collect()
}

impl Sink for Capture {
    fn take(&mut self, bytes: &[u8], _is_error: bool) {
        self.total += bytes.len() as u64;
        let half = self.cap / 2;
        let room = half.saturating_sub(self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let most = self.cap - half;
        let rest = &rest[rest.len().saturating_sub(most)..];
        let surplus = (self.tail.len() + rest.len()).saturating_sub(most);
        self.tail.drain(..surplus);
        self.tail.extend(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn captured(cap: usize, pieces: &[&[u8]]) -> Capture {
        let mut capture = Capture::new(cap);
        for piece in pieces {
            capture.take(piece, false);
        }
        capture
    }

    #[test]
    fn what_fits_is_kept_whole() {
        let capture = captured(10, &[b"ab", b"", b"cdefgh", b"ij"]);
        assert_eq!((capture.text().as_str(), capture.left_out()), ("abcdefghij", 0));
    }

    #[test]
    fn of_more_the_beginning_and_the_end_are_kept() {
        for pieces in [&[&b"abcdefghijkl"[..]][..], &[b"abc", b"defg", b"hi", b"jkl"]] {
            let capture = captured(6, pieces);
            assert_eq!(capture.text(), "abc\n[.. 6 bytes left out ..]\njkl");
            assert_eq!((capture.total(), capture.left_out()), (12, 6));
        }
    }

    #[test]
    fn nothing_is_kept_under_a_cap_of_nothing() {
        let capture = captured(0, &[b"abc"]);
        assert_eq!(capture.left_out(), 3);
        assert!(capture.text().contains("3 bytes left out"));
    }

    #[test]
    fn binary_output_cannot_reach_the_terminal() {
        let text = captured(100, &[b"a\x1b[2Jb\xff\x00c\td\n"]).text();
        assert_eq!(text, "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\td");
    }
}
