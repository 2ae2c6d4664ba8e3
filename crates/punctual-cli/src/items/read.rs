//! Items from standard input: lines, or what ends with a zero byte.
//!
//! In: a descriptor and a token. Out: items, until the input ends or the token fires. Memory: one buffer and one item;
//! what is too long to be an argument is read over and reported.

use crate::child::wake::Wake;
use punctual::task::Token;
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, Read};
use std::os::fd::AsFd;

/// What the kernel takes for one argument, its zero byte included.
pub(crate) const LONGEST: usize = 128 << 10;

/// One thing that was read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Item {
    Bytes(Vec<u8>),
    /// It cannot be an argument: why.
    Impossible(String),
}

/// Reads items one at a time.
pub(crate) struct Reader<R> {
    input: R,
    stop: Token,
    wake: Wake,
    null: bool,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
    ended: bool,
}

impl<R: Read + AsFd> Reader<R> {
    pub(crate) fn new(input: R, null: bool, stop: &Token) -> io::Result<Self> {
        Ok(Reader {
            input,
            stop: stop.clone(),
            wake: Wake::of(stop)?,
            null,
            buffer: vec![0; 64 << 10],
            at: 0,
            filled: 0,
            ended: false,
        })
    }

    /// The next one; nothing at the end, or when the token has fired.
    pub(crate) fn next(&mut self) -> io::Result<Option<Item>> {
        let end = if self.null { 0 } else { b'\n' };
        loop {
            let mut item = Vec::new();
            let mut length = 0_usize;
            let was_ended = loop {
                if self.at == self.filled && !self.fill()? {
                    break false;
                }
                let piece = &self.buffer[self.at..self.filled];
                let (taken, found) = match piece.iter().position(|byte| *byte == end) {
                    Some(index) => (index, true),
                    None => (piece.len(), false),
                };
                length += taken;
                // Beyond what can be used nothing is kept.
                let room = LONGEST.saturating_sub(item.len()).min(taken);
                item.extend_from_slice(&piece[..room]);
                self.at += taken + usize::from(found);
                if found {
                    break true;
                }
            };
            if self.stop.is_cancelled() {
                return Ok(None);
            }
            if !was_ended && length == 0 {
                return Ok(None);
            }
            // Blank lines are nobody's item; with -0 an empty item was meant.
            if length == 0 && !self.null {
                continue;
            }
            return Ok(Some(checked(item, length)));
        }
    }

    /// Whether there is more.
    fn fill(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        loop {
            let mut fds = [
                PollFd::new(&self.input, PollFlags::IN),
                PollFd::new(&self.wake, PollFlags::IN),
            ];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            if self.stop.is_cancelled() {
                self.ended = true;
                return Ok(false);
            }
            match self.input.read(&mut self.buffer) {
                Ok(length) => {
                    self.at = 0;
                    self.filled = length;
                    self.ended = length == 0;
                    return Ok(length > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

fn checked(item: Vec<u8>, length: usize) -> Item {
    if length >= LONGEST {
        return Item::Impossible(format!("{length} bytes; an argument has at most {}", LONGEST - 1));
    }
    if item.contains(&0) {
        return Item::Impossible(
            "it has a zero byte inside; are the items separated by zero bytes? then add -0".to_owned(),
        );
    }
    Item::Bytes(item)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn items(input: &[u8], null: bool) -> Vec<Item> {
        let (reader, mut writer) = io::pipe().unwrap();
        let input = input.to_vec();
        let writes = std::thread::spawn(move || writer.write_all(&input).unwrap());
        let mut reader = Reader::new(reader, null, &Token::new()).unwrap();
        let mut items = Vec::new();
        while let Some(item) = reader.next().unwrap() {
            items.push(item);
        }
        writes.join().unwrap();
        items
    }

    fn bytes(text: &str) -> Item {
        Item::Bytes(text.as_bytes().to_vec())
    }

    #[test]
    fn lines_and_zero_bytes_separate_items() {
        assert_eq!(
            items(b"a\n\nb c\nlast", false),
            [bytes("a"), bytes("b c"), bytes("last")]
        );
        assert_eq!(items(b"a\n\0\0b\0", true), [bytes("a\n"), bytes(""), bytes("b")]);
        assert_eq!(items(b"", false), []);
        assert_eq!(items(b"\xff\xfe\n", false), [Item::Bytes(vec![0xff, 0xfe])]);
    }

    #[test]
    fn what_cannot_be_an_argument_is_said_and_the_rest_goes_on() {
        let long = vec![b'x'; LONGEST + 100_000];
        let found = items(&[&b"a\n"[..], &long, b"\nb\nc\0d\ne\n"].concat(), false);
        assert_eq!(found.len(), 5);
        assert!(
            matches!(&found[1], Item::Impossible(why) if why.contains("231072 bytes")),
            "{:?}",
            found[1]
        );
        assert_eq!(found[2], bytes("b"));
        assert!(matches!(&found[3], Item::Impossible(why) if why.contains("add -0")));
        assert_eq!(found[4], bytes("e"));
    }

    #[test]
    fn a_token_that_fires_ends_it_although_nothing_comes() {
        let (reader, _writer) = io::pipe().unwrap();
        let stop = Token::new();
        let mut reader = Reader::new(reader, false, &stop).unwrap();
        stop.cancel();
        assert_eq!(reader.next().unwrap(), None);
    }
}
