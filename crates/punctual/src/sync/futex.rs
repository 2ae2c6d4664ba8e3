//! Sleeping on a 32-bit word until it changes.
//!
//! In: a word and the value it was seen to have. Out: the thread sleeps while the word keeps that value; a wake on
//! the word ends the sleep. Wake-ups may be spurious, so every caller loops. A wake takes an *address*: the word may
//! be gone already (its last reader freed it), and then the wake meets nobody, or a stranger who looks and sleeps on.
//!
//! Linux asks the kernel. Elsewhere, and under loom and shuttle, a table of condition variables stands in; the
//! models keep one entry for all words, which only adds spurious wake-ups.

#![allow(unsafe_code)]

use super::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word == expected`, at most `limit`. May return early for no reason.
pub(crate) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
    imp::wait(word, expected, limit);
}

/// Nanoseconds on the system's monotonic clock; `None` where only the standard library knows it.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn monotonic() -> Option<u64> {
    imp::monotonic()
}

/// The same in a third of the time, as it was at the system's last tick: some milliseconds ago at most, never ahead.
#[cfg(not(any(loom, shuttle)))]
#[inline]
pub(crate) fn rough_monotonic() -> Option<u64> {
    imp::rough_monotonic()
}

/// From now on timed sleeps of the calling thread end as soon as they can. By default the system may add fifty
/// microseconds, to wake several threads at once.
pub(crate) fn sleep_exactly() {
    imp::sleep_exactly();
}

/// Wakes one sleeper of the word that is, or was, at this address.
pub(crate) fn wake_one(word: *const AtomicU32) {
    imp::wake(word, 1);
}

/// Wakes every sleeper of the word that is, or was, at this address.
pub(crate) fn wake_all(word: *const AtomicU32) {
    imp::wake(word, i32::MAX);
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod imp {
    use super::{AtomicU32, Duration};

    pub(super) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
        let spec = limit.map(|limit| libc::timespec {
            tv_sec: libc::time_t::try_from(limit.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: limit.subsec_nanos() as _,
        });
        let spec = spec.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
        // SAFETY: the word is borrowed for the whole call and `spec` points to a local or is null; FUTEX_WAIT reads
        // both and writes neither. Every outcome (woken, changed, timed out, interrupted) is a return to the caller.
        unsafe {
            libc::syscall(
                libc::SYS_futex,
                word.as_ptr(),
                libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
                expected,
                spec,
            );
        }
    }

    #[inline]
    pub(super) fn monotonic() -> Option<u64> {
        read(libc::CLOCK_MONOTONIC)
    }

    #[inline]
    pub(super) fn rough_monotonic() -> Option<u64> {
        read(libc::CLOCK_MONOTONIC_COARSE)
    }

    #[inline]
    fn read(clock: libc::clockid_t) -> Option<u64> {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the place is a local; every Linux has these clocks, so the call cannot fail.
        unsafe { libc::clock_gettime(clock, &raw mut now) };
        Some(now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64)
    }

    pub(super) fn sleep_exactly() {
        // SAFETY: changes a number of the calling thread; a system that does not know it answers with an error, and
        // sleeps stay as they were.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    }

    pub(super) fn wake(word: *const AtomicU32, count: i32) {
        // SAFETY: FUTEX_WAKE takes the address as a key and never reads or writes through it; an unmapped address
        // is answered with an error, which is as good as "nobody slept there".
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
    use super::{AtomicU32, Duration};
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
    fn entry(address: *const AtomicU32) -> &'static Entry {
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
    fn entry(_: *const AtomicU32) -> &'static Entry {
        loom::lazy_static! {
            static ref ONE: Entry = Entry { lock: Mutex::new(()), changed: Condvar::new() };
        }
        &ONE
    }

    #[cfg(shuttle)]
    fn entry(_: *const AtomicU32) -> &'static Entry {
        shuttle::lazy_static! {
            static ref ONE: Entry = Entry { lock: Mutex::new(()), changed: Condvar::new() };
        }
        &ONE
    }

    pub(super) fn wait(word: &AtomicU32, expected: u32, limit: Option<Duration>) {
        let entry = entry(word);
        let held = entry.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        // Under the entry's lock: a waker changes the word first and takes the lock after, so either this load sees
        // the change or the waker finds this thread asleep.
        if word.load(Acquire) != expected {
            return;
        }
        // The models have no time; a timed sleep there ends by a wake, as the untimed one does.
        match limit {
            Some(limit) if !cfg!(any(loom, shuttle)) => drop(entry.changed.wait_timeout(held, limit)),
            _ => drop(entry.changed.wait(held)),
        }
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn monotonic() -> Option<u64> {
        None
    }

    #[cfg(not(any(loom, shuttle)))]
    pub(super) fn rough_monotonic() -> Option<u64> {
        None
    }

    pub(super) fn sleep_exactly() {}

    pub(super) fn wake(word: *const AtomicU32, _count: i32) {
        let entry = entry(word);
        drop(entry.lock.lock().unwrap_or_else(|poisoned| poisoned.into_inner()));
        // All of them: several words share an entry, and a sleeper that was not meant looks and sleeps on.
        entry.changed.notify_all();
    }
}
