//! Sleeping on a word until it changes.
//!
//! A thread sleeps while the word keeps the value that the thread has seen; a wake on the word ends the sleep. Wake-ups may be
//! spurious, so every caller loops. A wake takes an *address*: the memory may be free already, because its last reader freed it,
//! and the wake then meets no sleeper, or a stranger that looks and sleeps on.
//!
//! The word has 32 bits, or is the low half of one with 64. Linux asks the kernel. Elsewhere, and under loom and shuttle, a
//! table of condition variables takes its place; the models keep one entry for all words, which only adds spurious wake-ups.

#![allow(unsafe_code)]

use super::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// Sleeps while `word == expected`, at most `limit`. May return early.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    imp::wait(word, expected, limit);
}

/// Sleeps while the low half of the word is `expected`, at most `limit`. May return early.
pub(crate) fn wait_low_half(word: &AtomicU64, expected: u32, limit: Option<Duration>) {
    imp::wait_low_half(word, expected, limit);
}

/// Wakes one sleeper of the word that is, or was, at this address.
pub(crate) fn wake_one(word: *const AtomicU32) {
    imp::wake(word.cast(), 1);
}

/// Wakes every sleeper of the word that is, or was, at this address.
pub(crate) fn wake_all(word: *const AtomicU32) {
    imp::wake(word.cast(), i32::MAX);
}

/// Wakes every sleeper of the low half of the word that is, or was, at this address.
pub(crate) fn wake_all_low_half(word: *const AtomicU64) {
    imp::wake(imp::low_half(word), i32::MAX);
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod imp {
    use super::{AtomicU32, AtomicU64, Duration};

    pub(super) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
        sleep(word.as_ptr().cast_const().cast(), expected, limit);
    }

    pub(super) fn wait_low_half(word: &AtomicU64, expected: u32, limit: Option<Duration>) {
        sleep(low_half(word), expected, limit);
    }

    pub(super) fn low_half(word: *const AtomicU64) -> *const () {
        let halves = word.cast::<u32>();
        if cfg!(target_endian = "big") {
            halves.wrapping_add(1).cast()
        } else {
            halves.cast()
        }
    }

    fn sleep(word: *const (), expected: u32, limit: Option<Duration>) {
        let spec = limit.map(|limit| libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos() as _,
        });
        let spec = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the callers borrow the word for the whole call and `spec` points to a local or is null; FUTEX_WAIT reads both
        // and writes neither. Every outcome (woken, changed, timed out, interrupted) is a return to the caller.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word,
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                spec,
            );
        }
    }

    pub(super) fn wake(word: *const (), count: i32) {
        // SAFETY: FUTEX_WAKE takes the address as a key and never reads or writes through it; an unmapped address is answered
        // with an error, which means that no thread slept there.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word,
                libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
                count,
            );
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(loom, shuttle)))))]
mod imp {
    use super::{AtomicU32, AtomicU64, Duration};
    use crate::sync::atomic::Ordering::Acquire;

    #[cfg(loom)]
    use loom::sync::{Condvar, Mutex};
    #[cfg(shuttle)]
    use shuttle::sync::{Condvar, Mutex};
    #[cfg(not(any(loom, shuttle)))]
    use std::sync::{Condvar, Mutex};

    struct Entry {
        lock: Mutex<()>,
        changed: Condvar,
    }

    #[cfg(not(any(loom, shuttle)))]
    fn entry(address: *const ()) -> &'static Entry {
        const SIZE: usize = 64;
        static TABLE: [Entry; SIZE] = [const {
            Entry {
                lock: Mutex::new(()),
                changed: Condvar::new(),
            }
        }; SIZE];
        &TABLE[(address.addr() >> 4) % SIZE]
    }

    #[cfg(loom)]
    fn entry(_: *const ()) -> &'static Entry {
        loom::lazy_static! {
            static ref ONE: Entry = Entry { lock: Mutex::new(()), changed: Condvar::new() };
        }
        &ONE
    }

    #[cfg(shuttle)]
    fn entry(_: *const ()) -> &'static Entry {
        shuttle::lazy_static! {
            static ref ONE: Entry = Entry { lock: Mutex::new(()), changed: Condvar::new() };
        }
        &ONE
    }

    pub(super) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
        let address = std::ptr::from_ref(word).cast();
        sleep(address, || word.load(Acquire) == expected, limit);
    }

    pub(super) fn wait_low_half(word: &AtomicU64, expected: u32, limit: Option<Duration>) {
        let address = std::ptr::from_ref(word).cast();
        sleep(address, || word.load(Acquire) as u32 == expected, limit);
    }

    pub(super) fn low_half(word: *const AtomicU64) -> *const () {
        word.cast()
    }

    fn sleep(address: *const (), is_unchanged: impl Fn() -> bool, limit: Option<Duration>) {
        let entry = entry(address);
        let held = entry.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Under the entry's lock: a waker changes the word first and takes the lock after, so either this look sees the change
        // or the waker finds this thread asleep.
        if !is_unchanged() {
            return;
        }
        // The models have no time; a timed sleep there ends by a wake, as the untimed one does.
        match limit {
            Some(limit) if !cfg!(any(loom, shuttle)) => drop(entry.changed.wait_timeout(held, limit)),
            _ => drop(entry.changed.wait(held)),
        }
    }

    pub(super) fn wake(word: *const (), _count: i32) {
        let entry = entry(word);
        drop(entry.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        // All of them: several words share an entry, and a sleeper that was not meant looks and sleeps on.
        entry.changed.notify_all();
    }
}
