//! A 32-bit word that threads sleep on.

use super::atomic::AtomicU32;
use super::atomic::Ordering::Acquire;
use super::futex;
use std::time::Duration;

/// See the module.
#[derive(Debug)]
pub(crate) struct WaitWord(pub(crate) AtomicU32);

impl WaitWord {
    pub(crate) fn new(value: u32) -> Self {
        WaitWord(AtomicU32::new(value))
    }

    #[inline]
    pub(crate) fn load(&self) -> u32 {
        self.0.load(Acquire)
    }

    /// Sleeps until the word differs from `seen`. May return early.
    pub(crate) fn sleep(&self, seen: u32, limit: Option<Duration>) {
        futex::wait(&self.0, seen, limit);
    }

    pub(crate) fn wake_all(&self) {
        futex::wake_all(&raw const self.0);
    }
}
