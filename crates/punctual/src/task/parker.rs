//! A future driven by a thread that sleeps between the polls.
//!
//! In: a poll, a clock, and a way to sleep on a word. Out: the value, or nothing if the sleep was called off. A wake that comes
//! during a poll is noted in the word, and the next sleep ends at once.

use super::alarm::Keeping;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::sync::{Arc, WaitWord};
use crate::task::{budget, here};
use crate::time::{Clock, Tick, Wait};
use std::task::{Context, Poll, Wake, Waker};

/// The bit that a waker sets.
pub(crate) const WOKEN: u32 = 1;

struct Parker {
    word: WaitWord,
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // Release: the poll that follows sees what was done before the wake. One wake-up for many wakes.
        if self.word.0.fetch_or(WOKEN, AcqRel) & WOKEN == 0 {
            self.word.wake_all();
        }
    }
}

/// Polls until there is a value. What sleeps inside of the future goes by this clock: `sleep` is told when the next of it is due,
/// and returns then, or when the word is woken; or it says that it will not wait: `None`.
pub(crate) fn drive_with<R>(
    clock: &Clock,
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
    mut sleep: impl FnMut(&WaitWord, Option<Tick>) -> bool,
) -> Option<R> {
    let parker = Arc::new(Parker {
        word: WaitWord::new(0),
    });
    let waker = Waker::from(parker.clone());
    let mut context = Context::from_waker(&waker);
    let keeping = Keeping::begin(clock);
    loop {
        if let Poll::Ready(value) = budget::with_a_new_one(|| poll(&mut context)) {
            return Some(value);
        }
        // Also if it was woken: of a future that wakes itself in each poll, what sleeps inside is told here alone.
        let next = keeping.look();
        if parker.word.load() & WOKEN == 0 && !sleep(&parker.word, next) {
            return None;
        }
        parker.word.0.fetch_and(!WOKEN, Acquire);
    }
}

/// As [`drive_with`], for as long as it takes.
pub(crate) fn drive<R>(clock: &Clock, poll: impl FnMut(&mut Context<'_>) -> Poll<R>) -> R {
    let value = drive_with(clock, poll, |word, deadline| {
        let wait = Wait {
            word,
            mask: WOKEN,
            expected: 0,
            interrupt: None,
            deadline,
        };
        here(|here| clock.wait(&wait, here.place()));
        true
    });
    value.expect("it never says that it will not wait")
}
