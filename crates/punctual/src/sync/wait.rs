//! A word that threads sleep on, with one bit that means nothing.
//!
//! In: state bits of whoever owns the word (a task's state, a parked worker's permit, a token, the pool's life).
//! Out: [`WaitWord::sleep`], and [`WaitWord::nudge`] for those who must wake a sleeper without having anything to
//! say in the word itself: the manual clock when a deadline has come, a token when it interrupts a join. They flip
//! [`NUDGE`]; the sleeper sees another value, wakes, looks at all its reasons, and sleeps again if none holds. No
//! owner ever reads the bit, so a flip changes no meaning, and because the *value* changes, a nudge that comes
//! between a sleeper's last look and its sleep is not lost.

#![allow(unsafe_code)]

use super::atomic::AtomicU32;
use super::atomic::Ordering::{Acquire, Release};
use super::futex;
use std::time::Duration;

/// The bit that belongs to nobody.
pub(crate) const NUDGE: u32 = 1 << 31;

/// See the module's header.
#[derive(Debug)]
pub(crate) struct WaitWord(pub(crate) AtomicU32);

impl WaitWord {
    pub(crate) fn new(value: u32) -> Self {
        WaitWord(AtomicU32::new(value))
    }

    /// The value, with whatever the nudge bit happens to be.
    #[inline]
    pub(crate) fn load(&self) -> u32 {
        self.0.load(Acquire)
    }

    /// Sleeps until the whole word, nudge included, differs from `seen`; may return early.
    pub(crate) fn sleep(&self, seen: u32, limit: Option<Duration>) {
        futex::wait(&self.0, seen, limit);
    }

    /// Makes every sleeper look again. Release pairs with the Acquire in [`WaitWord::load`]: what the nudger wrote
    /// before is seen by the sleeper's next look (model `nudge_is_not_lost`).
    pub(crate) fn nudge(&self) {
        self.0.fetch_xor(NUDGE, Release);
        self.wake_all();
    }

    pub(crate) fn wake_all(&self) {
        futex::wake_all(&raw const self.0);
    }
}

/// A word lent to a list: its life is guarded by the list's lock instead of the compiler.
#[derive(Debug)]
pub(crate) struct WordRef(*const WaitWord);

// SAFETY: a `WaitWord` is an atomic, free to be touched from any thread; `WordRef::new` answers for its life.
unsafe impl Send for WordRef {}

impl WordRef {
    /// # Safety
    /// The list that keeps this reference is only read under a lock, and the lender takes the reference out again,
    /// under that lock, before it stops borrowing the word.
    pub(crate) unsafe fn new(word: &WaitWord) -> Self {
        WordRef(word)
    }
    pub(crate) fn load(&self) -> u32 {
        // SAFETY: the reference is still in its list, so the lender still borrows the word (contract of `new`).
        unsafe { &*self.0 }.load()
    }
    pub(crate) fn nudge(&self) {
        // SAFETY: as in `load`.
        unsafe { &*self.0 }.nudge();
    }
}

#[cfg(all(test, loom))]
mod models {
    use super::*;
    use crate::sync::Arc;
    use crate::sync::atomic::AtomicBool;
    use crate::sync::atomic::Ordering::Relaxed;

    /// A nudger raises a flag beside the word; the sleeper must see the flag and end, in every interleaving.
    #[test]
    fn nudge_is_not_lost() {
        crate::models::model(3, || {
            let shared = Arc::new((WaitWord::new(0), AtomicBool::new(false)));
            let other = shared.clone();
            let thread = loom::thread::spawn(move || {
                other.1.store(true, Relaxed);
                other.0.nudge();
            });
            loop {
                let seen = shared.0.load();
                if seen & NUDGE != 0 {
                    assert!(
                        shared.1.load(Relaxed),
                        "the nudge was seen but not what came before it"
                    );
                    break;
                }
                shared.0.sleep(seen, None);
            }
            thread.join().unwrap();
        });
    }
}
