//! A future driven by a thread that sleeps between the polls.
//!
//! In: a poll, and a way to sleep on a word. Out: the value, or nothing if the sleep was called off. A wake that comes during
//! a poll is noted in the word, and the next sleep ends at once.

use super::Token;
use crate::sync::atomic::Ordering::{AcqRel, Acquire};
use crate::sync::{Arc, WaitWord};
use crate::task::here;
use crate::time::{Clock, Wait, Waked};
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

/// Polls until there is a value. `sleep` returns when the word is woken, or says that it will not be waited for: `None`.
pub(crate) fn drive_with<R>(
    mut poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
    mut sleep: impl FnMut(&WaitWord) -> bool,
) -> Option<R> {
    let parker = Arc::new(Parker {
        word: WaitWord::new(0),
    });
    let waker = Waker::from(parker.clone());
    let mut context = Context::from_waker(&waker);
    loop {
        if let Poll::Ready(value) = poll(&mut context) {
            return Some(value);
        }
        if parker.word.load() & WOKEN == 0 && !sleep(&parker.word) {
            return None;
        }
        parker.word.0.fetch_and(!WOKEN, Acquire);
    }
}

/// As [`drive_with`], on this clock, until the token fires.
pub(crate) fn drive<R>(
    clock: &Clock,
    token: Option<&Token>,
    poll: impl FnMut(&mut Context<'_>) -> Poll<R>,
) -> Option<R> {
    drive_with(poll, |word| {
        let wait = Wait {
            word,
            mask: WOKEN,
            expected: 0,
            interrupt: token,
            deadline: None,
        };
        here(|here| clock.wait(&wait, here.place())) == Waked::Ready
    })
}
