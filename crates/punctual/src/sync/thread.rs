//! What the system knows of the calling thread, and can be asked for it.
//!
//! In: a niceness, or a question. Out: what was granted; how long the thread has computed, and how long it was ready to
//! while others did. `None` where a system does not say.

#![allow(unsafe_code)]

use std::time::Duration;

/// Asks for a niceness, and says which one the thread has after that: another if the request was refused.
pub(crate) fn set_nice(value: i32) -> Option<i32> {
    imp::set_nice(value)
}

/// How long the thread has computed so far.
pub(crate) fn computed() -> Option<Duration> {
    imp::computed()
}

/// How long the thread was kept waiting for a processor so far.
pub(crate) fn kept_waiting() -> Option<Duration> {
    imp::kept_waiting()
}

#[cfg(all(target_os = "linux", not(any(loom, shuttle))))]
mod imp {
    use super::Duration;

    pub(super) fn set_nice(value: i32) -> Option<i32> {
        // On Linux these are a thread's own, and 0 is the calling one.
        // SAFETY: both calls take plain numbers and touch no memory of ours.
        unsafe {
            libc::setpriority(libc::PRIO_PROCESS, 0, value);
            // -1 can be an answer, so an error shows in `errno` alone; of the calling thread there is none.
            Some(libc::getpriority(libc::PRIO_PROCESS, 0))
        }
    }

    pub(super) fn computed() -> Option<Duration> {
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the place is a local.
        let answer = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
        (answer == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
    }

    pub(super) fn kept_waiting() -> Option<Duration> {
        // Computed, kept waiting (both in nanoseconds), and how often.
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        let waiting = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
        Some(Duration::from_nanos(waiting))
    }
}

#[cfg(not(all(target_os = "linux", not(any(loom, shuttle)))))]
mod imp {
    use super::Duration;

    pub(super) fn set_nice(_: i32) -> Option<i32> {
        None
    }

    pub(super) fn computed() -> Option<Duration> {
        None
    }

    pub(super) fn kept_waiting() -> Option<Duration> {
        None
    }
}
