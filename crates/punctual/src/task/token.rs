//! [`Token`]: the polite request to stop.
//!
//! In: `cancel()`, from a handle, a group, a closing pool, or the user. Out: everyone who looks sees it, everyone who
//! waits on it wakes: a task that sleeps or joins (through its word), a future (through its waker), child tokens.
//! A token fires once and stays fired. Each task has its own, so a signal never leaks into the next task.

#![allow(unsafe_code)]

use crate::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use crate::sync::atomic::{AtomicBool, fence};
use crate::sync::wait::WordRef;
use crate::sync::{Arc, Lock, WaitWord, Weak};
use crate::task::budget;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

const FIRED: u32 = 1;

/// A cooperative cancellation token: it asks, the task decides.
///
/// ```
/// use punctual::task::Token;
///
/// let parent = Token::new();
/// let child = parent.child();
/// assert!(child.check().is_ok());
/// parent.cancel();
/// assert!(child.is_cancelled());
/// ```
#[derive(Clone)]
pub struct Token {
    shared: Arc<Shared>,
}

struct Shared {
    word: WaitWord,
    /// Whether it ever had one.
    has_children: AtomicBool,
    listeners: Lock<Listeners>,
}

#[derive(Default)]
struct Listeners {
    next_number: u64,
    words: Vec<(u64, WordRef)>,
    wakers: Vec<(u64, Waker)>,
    children: Vec<Weak<Shared>>,
    /// Dead children are swept out when the list reaches this length, which then doubles: amortised constant.
    sweep_at: usize,
}

impl Token {
    /// A token of its own, which no task belongs to yet.
    #[must_use]
    pub fn new() -> Token {
        Token {
            shared: Arc::new(Shared {
                word: WaitWord::new(0),
                has_children: AtomicBool::new(false),
                listeners: Lock::new(Listeners::default()),
            }),
        }
    }

    /// Whether it has fired.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.shared.is_fired()
    }

    /// `Err` once it has fired, for `?` in the middle of a long computation.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() {
            Err(Cancelled)
        } else {
            Ok(())
        }
    }

    /// Resolves once the token fires.
    pub fn cancelled(&self) -> impl Future<Output = ()> + Send + use<> {
        Firing {
            token: self.clone(),
            number: None,
            was_put_off: false,
        }
    }

    /// A token that fires when this one does, and can fire alone.
    #[must_use]
    pub fn child(&self) -> Token {
        let child = Token::new();
        {
            let mut listeners = self.shared.listeners.lock();
            self.shared.has_children.store(true, Relaxed);
            if listeners.children.len() >= listeners.sweep_at.max(8) {
                listeners.children.retain(|child| child.strong_count() > 0);
                listeners.sweep_at = listeners.children.len() * 2;
            }
            listeners.children.push(Arc::downgrade(&child.shared));
        }
        // After the section: a parent that fired before it did not find the child in the list.
        if self.is_cancelled() {
            child.cancel();
        }
        child
    }

    /// Fires the token: once, for good, and for all its children.
    pub fn cancel(&self) {
        let mut family = vec![self.shared.clone()];
        while let Some(shared) = family.pop() {
            shared.fire(&mut family);
        }
    }

    /// Makes a firing nudge `word` too, for as long as the answer lives.
    pub(crate) fn listen<'a>(&self, word: &'a WaitWord) -> Listening<'a> {
        let mut listeners = self.shared.listeners.lock();
        let number = listeners.number();
        // SAFETY: the list is read under its lock, and `Listening`, which borrows the word, takes it out on drop. The
        // type stays inside the crate and nobody forgets one: it lives in a local of `Clock::wait`.
        listeners.words.push((number, unsafe { WordRef::new(word) }));
        Listening {
            token: self.clone(),
            number,
            _word: word,
        }
    }

    /// Whether nobody else has it, it has not fired, and nothing hangs on it: it may be another task's from now on. Asked by one
    /// who has it so many times, and who knows that it is nobody's child: no more can come of it meanwhile.
    pub(crate) fn is_as_new(&self, times: usize) -> bool {
        if Arc::strong_count(&self.shared) != times {
            return false;
        }
        // With the Release of whoever let go of it: what he did to it before is seen.
        fence(Acquire);
        !self.shared.is_fired() && !self.shared.has_children.load(Relaxed)
    }

    /// Whether both are the same token.
    pub(crate) fn is_same(&self, other: &Token) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// The word a token-aware sleep waits on: not zero once fired.
    pub(crate) fn word(&self) -> &WaitWord {
        &self.shared.word
    }

    /// The bit of [`Token::word`] that is set when the token has fired.
    pub(crate) const FIRED: u32 = FIRED;
}

impl Shared {
    fn is_fired(&self) -> bool {
        self.word.load() & FIRED != 0
    }

    /// Wakes everyone; leaves the children to the caller, so that a long chain of tokens is a loop and no recursion.
    fn fire(&self, family: &mut Vec<Arc<Shared>>) {
        if self.word.0.fetch_or(FIRED, AcqRel) & FIRED != 0 {
            return;
        }
        self.word.wake_all();
        let wakers = {
            let mut listeners = self.listeners.lock();
            for (_, word) in &listeners.words {
                word.nudge();
            }
            family.extend(listeners.children.drain(..).filter_map(|child| child.upgrade()));
            std::mem::take(&mut listeners.wakers)
        };
        for (_, waker) in wakers {
            crate::task::contain(|| waker.wake());
        }
    }
}

impl Listeners {
    fn number(&mut self) -> u64 {
        self.next_number += 1;
        self.next_number
    }
}

/// While it lives, the token nudges the word.
pub(crate) struct Listening<'a> {
    token: Token,
    number: u64,
    _word: &'a WaitWord,
}

impl Drop for Listening<'_> {
    fn drop(&mut self) {
        self.token
            .shared
            .listeners
            .lock()
            .words
            .retain(|(number, _)| *number != self.number);
    }
}

/// The future behind [`Token::cancelled`].
struct Firing {
    token: Token,
    number: Option<u64>,
    was_put_off: bool,
}

impl Future for Firing {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.token.is_cancelled() {
            return budget::step(cx, &mut self.was_put_off);
        }
        // Cloned and dropped outside the lock: a waker is user code.
        let waker = cx.waker().clone();
        let mut replaced = None;
        let number = {
            let mut listeners = self.token.shared.listeners.lock();
            let known = self
                .number
                .and_then(|mine| listeners.wakers.iter().position(|(n, _)| *n == mine));
            match known {
                Some(index) => {
                    replaced = Some(std::mem::replace(&mut listeners.wakers[index].1, waker));
                    listeners.wakers[index].0
                }
                None => {
                    let number = listeners.number();
                    listeners.wakers.push((number, waker));
                    number
                }
            }
        };
        drop(replaced);
        self.number = Some(number);
        // A token that fired before the waker was in the list did not find it.
        if self.token.is_cancelled() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }
}

impl Drop for Firing {
    fn drop(&mut self) {
        let Some(mine) = self.number else { return };
        let waker = {
            let mut listeners = self.token.shared.listeners.lock();
            let index = listeners.wakers.iter().position(|(number, _)| *number == mine);
            index.map(|index| listeners.wakers.swap_remove(index))
        };
        drop(waker);
    }
}

impl Default for Token {
    fn default() -> Self {
        Token::new()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cancelled() {
            "Token(fired)"
        } else {
            "Token(quiet)"
        })
    }
}

/// The answer of [`Token::check`] and of [`task::sleep`](crate::task::sleep) when the token has fired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the task's token has fired: it was asked to stop")
    }
}

impl std::error::Error for Cancelled {}
