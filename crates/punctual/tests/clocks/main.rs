//! Clocks that do as they like, with real processes: a wall clock that is put while the process runs (fault 12) or goes on
//! while the process does not know it (15), a process that is frozen (14), and timers in a forked child (25).
//!
//! Each test runs this binary again for itself alone. The wall clock is moved by libfaketime; where it is not installed
//! those tests say so and pass.

#![cfg_attr(not(target_os = "linux"), allow(unused))]

/// Timers of the parent's pool, in the child.
#[cfg(target_os = "linux")]
mod forked;
/// A process that stands still for a while.
#[cfg(target_os = "linux")]
mod frozen;
/// This binary again, with other clocks.
#[cfg(target_os = "linux")]
mod process;
/// What the other binary's tests need, too.
#[allow(dead_code, reason = "each binary uses its part")]
#[path = "../it/support.rs"]
mod support;
/// A wall clock that is put.
#[cfg(target_os = "linux")]
mod wall;

#[cfg(not(target_os = "linux"))]
#[test]
fn clocks_are_moved_on_linux_only() {
    println!("skipped: here nothing moves the clock of one process, and nothing freezes it");
}
