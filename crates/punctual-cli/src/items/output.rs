//! Where the output of many commands goes: whole commands after each other, in the order of their ends or of their items.
//!
//! Each command's output is kept until its turn has come; one that has more than its cap waits for its turn with a full pipe,
//! and then writes straight through. So memory is bounded, nothing is lost, and no two commands' lines mix. A turn is a
//! number: in any order everybody's is the one that is free.

use crate::child::Sink;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// How much of one command is kept.
const CAP: usize = 64 << 10;

/// The way out.
#[derive(Debug)]
pub(crate) struct Output {
    in_order: bool,
    turn: Mutex<Turn>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Turn {
    /// Whose turn it is, in order.
    number: u64,
    /// Somebody writes straight through.
    taken: bool,
    /// Ended before their turn.
    ready: BTreeMap<u64, Kept>,
    /// What went wrong with writing; nothing is written any more.
    broken: Option<io::Error>,
}

/// What a command wrote.
#[derive(Debug, Default)]
struct Kept {
    out: Vec<u8>,
    error: Vec<u8>,
}

impl Kept {
    fn len(&self) -> usize {
        self.out.len() + self.error.len()
    }
}

impl Output {
    pub(crate) fn new(in_order: bool) -> Self {
        Output {
            in_order,
            turn: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The voice of one command; dropping it is the end of its output.
    pub(crate) fn voice(&self, number: u64) -> Voice<'_> {
        Voice {
            output: self,
            number,
            kept: Kept::default(),
            speaks: false,
        }
    }

    /// What went wrong, once.
    pub(crate) fn broken(&self) -> Option<io::Error> {
        self.lock().broken.take()
    }

    pub(crate) fn is_broken(&self) -> bool {
        self.lock().broken.is_some()
    }

    /// How many before this one have not written yet; only in order.
    pub(crate) fn wait_until_near(&self, number: u64, window: u64) {
        if !self.in_order {
            return;
        }
        let mut turn = self.lock();
        while number.saturating_sub(turn.number) > window && turn.broken.is_none() {
            turn = self.changed.wait(turn).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn is_turn_of(&self, turn: &Turn, number: u64) -> bool {
        !turn.taken && (!self.in_order || turn.number == number)
    }
}

impl Turn {
    fn write(&mut self, kept: &Kept) {
        if self.broken.is_some() {
            return;
        }
        let written = write_to(&mut io::stdout().lock(), &kept.out)
            .and_then(|()| write_to(&mut io::stderr().lock(), &kept.error));
        self.broken = written.err();
    }

    /// Those that are ready and whose turn has come.
    fn write_ready(&mut self) {
        while let Some(kept) = self.ready.remove(&self.number) {
            self.write(&kept);
            self.number += 1;
        }
    }
}

fn write_to(out: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    out.write_all(bytes)?;
    out.flush()
}

/// One command's.
pub(crate) struct Voice<'a> {
    output: &'a Output,
    number: u64,
    kept: Kept,
    /// It is its turn, and it writes straight through.
    speaks: bool,
}

impl Sink for Voice<'_> {
    fn take(&mut self, bytes: &[u8], is_error: bool) {
        let to = if is_error {
            &mut self.kept.error
        } else {
            &mut self.kept.out
        };
        to.extend_from_slice(bytes);
        if self.kept.len() < CAP {
            return;
        }
        let mut turn = self.output.lock();
        if !self.speaks {
            while !self.output.is_turn_of(&turn, self.number) && turn.broken.is_none() {
                turn = self
                    .output
                    .changed
                    .wait(turn)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            turn.taken = true;
            self.speaks = true;
        }
        turn.write(&std::mem::take(&mut self.kept));
    }
}

impl Drop for Voice<'_> {
    fn drop(&mut self) {
        let mut turn = self.output.lock();
        let kept = std::mem::take(&mut self.kept);
        if self.speaks {
            turn.taken = false;
            turn.write(&kept);
        } else if !self.output.in_order {
            // Somebody writes straight through: it is his turn until he ends.
            while turn.taken && turn.broken.is_none() && kept.len() > 0 {
                turn = self
                    .output
                    .changed
                    .wait(turn)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            turn.write(&kept);
            return;
        } else {
            turn.ready.insert(self.number, kept);
            turn.write_ready();
            drop(turn);
            self.output.changed.notify_all();
            return;
        }
        if self.output.in_order {
            turn.number += 1;
            turn.write_ready();
        }
        drop(turn);
        self.output.changed.notify_all();
    }
}
