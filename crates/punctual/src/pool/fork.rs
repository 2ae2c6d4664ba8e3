//! What happens to pools in a fork.
//!
//! In: a fork, as the system tells of it. Out: a [`generation`] that is another in the child, and nothing there that waits for the parent's
//! threads. Threads are not copied by a fork, so a pool's
//! copy in the child can run nothing; every call on it answers with an error instead of waiting for ever. A handler
//! registered with the system counts the forks, because asking for the process number costs a system call each time.

#![allow(unsafe_code)]

#[cfg(all(unix, not(any(loom, shuttle))))]
use super::waits;
#[cfg(all(unix, not(any(loom, shuttle))))]
use crate::sync::process::begin_generation;
pub(crate) use crate::sync::process::generation;
#[cfg(all(unix, not(any(loom, shuttle))))]
use crate::task::{recycle, visit};

/// Makes sure that forks are counted.
#[cfg(all(unix, not(any(loom, shuttle))))]
pub(crate) fn watch() {
    use std::sync::Once;
    static ONCE: Once = Once::new();
    extern "C" fn before() {
        waits::hold_for_fork();
        recycle::hold_for_fork();
    }
    extern "C" fn in_parent() {
        recycle::let_go_after_fork();
        waits::let_go_after_fork();
    }
    extern "C" fn in_child() {
        recycle::let_go_after_fork();
        waits::let_go_after_fork();
        visit::clear_after_fork();
        begin_generation();
    }
    ONCE.call_once(|| {
        // SAFETY: the first handler takes locks, as one is meant to; those that run after the copy only touch atomics,
        // which is allowed between fork and exec. If the system has no memory for the registration, forks go unnoticed, as they would without this module.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    });
}

/// No forks here.
#[cfg(not(all(unix, not(any(loom, shuttle)))))]
pub(crate) fn watch() {}
