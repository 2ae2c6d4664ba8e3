//! Clocks that do as they like, with real processes: a wall clock that is put while the process runs (fault 12) or goes on
//! while the process does not know it (15), a process that is frozen (14), and timers in a forked child (25).
//!
//! Each test runs this binary again for itself alone. The wall clock is moved by libfaketime; where it is not installed
//! those tests say so and pass.

#![cfg(target_os = "linux")]

/// Timers of the parent's pool, in the child.
mod forked;
/// A process that stands still for a while.
mod frozen;
/// This binary again, with other clocks.
mod process;
/// This binary again, for one test alone.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../shared/second.rs"]
mod second;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../it/support.rs"]
mod support;
/// A wall clock that is put.
mod wall;
